//! Rules about single source files: their length, their first lines, and what must not be left in them.

use super::Violation;
use crate::workspace::SourceFile;

/// A file longer than this holds more than one responsibility, or is named in [`LONG_FILES`] with a reason.
const FILE_LINES_MAX: usize = 800;

/// From here on a file is worth splitting before it must be.
const FILE_LINES_WARN: usize = 600;

/// Files that may be longer than [`FILE_LINES_MAX`], each with its reason.
const LONG_FILES: &[(&str, &str)] = &[];

/// What must not stand in a source file, what it means, and what to do. Written in pieces so that this file passes.
const UNFINISHED: &[(&str, &str, &str)] = &[
    (concat!("#[", "allow("), "suppresses a lint for ever", "use #[expect(…, reason = \"…\")]"),
    (concat!("#![", "allow("), "suppresses a lint for ever", "use #![expect(…, reason = \"…\")]"),
    (
        concat!("to", "do!("),
        "is not finished",
        "write the code, or leave the feature out and say so",
    ),
    (
        concat!("unimpl", "emented!("),
        "is not finished",
        "write the code, or return an error that says so",
    ),
    (concat!("FIX", "ME"), "is not finished", "fix it, or open an issue and cite it"),
    (concat!("XX", "X"), "is not finished", "fix it, or open an issue and cite it"),
    (
        concat!("#[", "ignore]"),
        "is a test that nobody runs",
        "write #[ignore = \"reason\"], or make it run",
    ),
];

/// No file is longer than [`FILE_LINES_MAX`] without its tests, unless it is listed.
pub(super) fn files_are_short(files: &[SourceFile]) -> Vec<Violation> {
    let violation = |(path, lines): (&str, usize)| Violation {
        path: path.to_owned(),
        line: None,
        cause: format!("{lines} lines without its tests, where {FILE_LINES_MAX} are allowed"),
        hint: "split it by responsibility, or list it with a reason in xtask/src/tidy/sources.rs"
            .to_owned(),
    };
    let long = lengths(files).filter(|(path, lines)| *lines > FILE_LINES_MAX && !is_listed(path));
    long.map(violation).collect()
}

/// Every listed exception still names a long file.
pub(super) fn exceptions_are_needed(files: &[SourceFile]) -> Vec<Violation> {
    let is_long =
        |path: &str| lengths(files).any(|(found, lines)| found == path && lines > FILE_LINES_MAX);
    let violation = |(path, reason): &(&str, &str)| Violation {
        path: "xtask/src/tidy/sources.rs".to_owned(),
        line: None,
        cause: format!("{path} is listed as long ({reason}), which it is not"),
        hint: "remove it from LONG_FILES".to_owned(),
    };
    LONG_FILES.iter().filter(|(path, _)| !is_long(path)).map(violation).collect()
}

/// Files on their way to being too long, as warnings.
pub(super) fn files_that_grow(files: &[SourceFile]) -> Vec<String> {
    let growing =
        lengths(files).filter(|(_, lines)| (FILE_LINES_WARN + 1..=FILE_LINES_MAX).contains(lines));
    growing
        .map(|(path, lines)| format!("{path}: {lines} lines without its tests: split it soon"))
        .collect()
}

/// No source file holds a sign of unfinished work.
pub(super) fn nothing_is_unfinished(files: &[SourceFile]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in files.iter().filter(|file| is_rust(file)) {
        for (number, line) in (1..).zip(file.text.lines()) {
            let found = UNFINISHED.iter().filter(|(sign, ..)| contains_word(line, sign));
            violations.extend(found.map(|(sign, meaning, hint)| Violation {
                path: file.path.clone(),
                line: Some(number),
                cause: format!("`{sign}` {meaning}"),
                hint: (*hint).to_owned(),
            }));
        }
    }
    violations
}

/// Every crate's first line says what the crate is for.
pub(super) fn crates_begin_with_their_purpose(files: &[SourceFile]) -> Vec<Violation> {
    let violation = |file: &SourceFile| Violation {
        path: file.path.clone(),
        line: Some(1),
        cause: "the crate does not begin with its documentation".to_owned(),
        hint: "begin with `//!`: what the crate is for and what it never does".to_owned(),
    };
    let is_root = |path: &str| {
        path.starts_with("crates/")
            && path.matches('/').count() == 3
            && path.ends_with("/src/lib.rs")
    };
    files
        .iter()
        .filter(|file| is_root(&file.path) && !file.text.starts_with("//! "))
        .map(violation)
        .collect()
}

/// The lines above the trailing test module. Clippy's `items_after_test_module` keeps code from hiding below it.
pub(super) fn without_tests(text: &str) -> impl Iterator<Item = &str> {
    let lines: Vec<&str> = text.lines().collect();
    let end = lines.iter().rposition(|line| *line == "#[cfg(test)]").filter(|start| {
        let item = lines[start + 1..].iter().find(|line| !line.starts_with("#["));
        item.is_some_and(|line| line.starts_with("mod ") && line.ends_with('{'))
    });
    text.lines().take(end.unwrap_or(lines.len()))
}

/// Whether `text` holds `word` with no letter or digit attached to it.
fn contains_word(text: &str, word: &str) -> bool {
    let joins = |neighbour: char, edge: Option<char>| {
        (neighbour.is_alphanumeric() || neighbour == '_') && edge.is_some_and(char::is_alphanumeric)
    };
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        !before.is_some_and(|before| joins(before, word.chars().next()))
            && !after.is_some_and(|after| joins(after, word.chars().next_back()))
    })
}

fn lengths(files: &[SourceFile]) -> impl Iterator<Item = (&str, usize)> {
    files
        .iter()
        .filter(|file| is_rust(file))
        .map(|file| (file.path.as_str(), without_tests(&file.text).count()))
}

fn is_listed(path: &str) -> bool {
    LONG_FILES.iter().any(|(listed, _)| *listed == path)
}

fn is_rust(file: &SourceFile) -> bool {
    file.path.ends_with(".rs")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: impl Into<String>) -> SourceFile {
        SourceFile { path: path.to_owned(), text: text.into() }
    }

    #[test]
    fn tests_do_not_count_as_length() {
        let tests =
            format!("#[cfg(test)]\n#[path = \"t.rs\"]\nmod tests {{\n{}}}\n", "\n".repeat(900));
        assert_eq!(without_tests(&format!("fn a() {{}}\n\n{tests}")).count(), 2);
        let elsewhere = "#[cfg(test)]\nmod tests;\n\nfn a() {}\n";
        assert_eq!(without_tests(elsewhere).count(), 4);
        assert!(files_are_short(&[file("a.rs", tests)]).is_empty());
    }

    #[test]
    fn long_files_fail_and_growing_ones_are_named() {
        let files = [
            file("a.rs", "\n".repeat(801)),
            file("b.rs", "\n".repeat(800)),
            file("c.md", "\n".repeat(900)),
        ];
        let found = files_are_short(&files);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].cause, "801 lines without its tests, where 800 are allowed");
        assert_eq!(files_that_grow(&files), ["b.rs: 800 lines without its tests: split it soon"]);
    }

    #[test]
    fn signs_of_unfinished_work_are_words() {
        let check = |text: &str, expected: usize| {
            assert_eq!(nothing_is_unfinished(&[file("a.rs", text)]).len(), expected, "{text}");
        };
        for (sign, ..) in UNFINISHED {
            check(&format!("    {sign}"), 1);
            check(&format!("// ({sign})"), 1);
        }
        check("mktemp -d XXXXXX", 0);
        check("#[ignore = \"needs a key\"]", 0);
        check("#[expect(dead_code, reason = \"r\")]", 0);
        assert!(nothing_is_unfinished(&[file("a.md", concat!("FIX", "ME"))]).is_empty());
    }

    #[test]
    fn a_crate_root_begins_with_its_documentation() {
        let files = [
            file("crates/a/src/lib.rs", "//! What it is for.\n"),
            file("crates/b/src/lib.rs", "mod c;\n"),
            file("crates/b/src/c/lib.rs", "mod c;\n"),
        ];
        let found = crates_begin_with_their_purpose(&files);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].path, "crates/b/src/lib.rs");
    }
}
