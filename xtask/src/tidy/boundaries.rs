//! Invariant 3: only one crate knows provider JSON, only one knows SQL, only one starts processes. And what is
//! published says nothing of the machine it was written on.
//!
//! These rules read text, not syntax: they catch the honest mistake, which is the one that happens.

use super::Violation;
use super::sources::without_tests;
use crate::workspace::SourceFile;

/// Keys that only provider JSON has.
const PROVIDER_KEYS: &[&str] = &["cache_control", "tool_use_id", "stream_options"];

/// Beginnings of SQL statements, and the word that follows them somewhere in the same statement.
const SQL: &[(&str, &str)] =
    &[("SELECT ", "FROM "), ("INSERT INTO ", "("), ("UPDATE ", "SET "), ("DELETE FROM ", "")];

/// Our longest statement has some 20 lines; two words further apart than this belong to no common statement.
const SQL_STATEMENT_BYTES_MAX: usize = 2000;

/// Directories that build machines have, and the systems of users do not or would not name.
const MACHINE_DIRECTORIES: &[&str] = &["build", "builds", "farm", "root", "work", "workspace"];

/// Beginnings of absolute paths that are examples and not a machine's, each with its reason.
const EXAMPLE_PATHS: &[(&str, &str)] = &[
    ("/home/user", "an invented home directory in documents and tests"),
    ("/home/somebody", "an invented home directory in tests"),
];

/// Only `tine-wire` names keys of provider JSON; the simulator speaks the other side of the same wire.
pub(super) fn only_wire_knows_provider_json(files: &[SourceFile]) -> Vec<Violation> {
    let judged = files.iter().filter(|file| is_production(&file.path, &["tine-wire", "tine-sim"]));
    let find = |line: &str| PROVIDER_KEYS.iter().find(|key| line.contains(**key)).copied();
    let hint = "let tine-wire read or write it, and pass a typed value";
    judged.flat_map(|file| lines_with(file, "a key of provider JSON", hint, find)).collect()
}

/// Only `tine-store` contains SQL.
pub(super) fn only_store_knows_sql(files: &[SourceFile]) -> Vec<Violation> {
    let judged = files.iter().filter(|file| is_production(&file.path, &["tine-store"]));
    let mut violations = Vec::new();
    for file in judged {
        let code: Vec<(usize, &str)> = code(file).collect();
        for (at, (number, line)) in code.iter().enumerate() {
            let Some((start, end, column)) = sql_start(line) else { continue };
            let statement: String =
                code[at..].iter().map(|(_, line)| format!("{line}\n")).collect();
            let statement: String =
                statement[column + start.len()..].chars().take(SQL_STATEMENT_BYTES_MAX).collect();
            if statement.contains(end) {
                let hint = "add a method to the `Store` trait";
                violations.push(violation(
                    file,
                    *number,
                    &format!("SQL (`{}`)", start.trim()),
                    hint,
                ));
            }
        }
    }
    violations
}

/// Only `tine-tools` and `tine-worktree` start processes. The binary may start itself again, where it says so with an
/// `#[expect(clippy::disallowed_methods, …)]` in the same file.
pub(super) fn only_tools_start_processes(files: &[SourceFile]) -> Vec<Violation> {
    let re_executes = |file: &SourceFile| {
        file.path.starts_with("crates/tine/src/")
            && file.text.contains("expect(clippy::disallowed_methods")
            && file.text.contains("current_exe()")
    };
    let judged =
        files.iter().filter(|file| is_production(&file.path, &["tine-tools", "tine-worktree"]));
    let find = |line: &str| {
        let imported = line.contains("process::{") && line.contains("Command");
        let named =
            ["tokio::process", "process::Command"].into_iter().find(|name| line.contains(name));
        named.or(imported.then_some("Command"))
    };
    let hint = "call a tool of tine-tools; the binary may re-execute itself under an #[expect] with its reason";
    let judged = judged.filter(|file| !re_executes(file));
    judged.flat_map(|file| lines_with(file, "a child process", hint, find)).collect()
}

/// The faces have no store: what they read and change goes through a method of `Runtime`, where the rules are.
pub(super) fn faces_name_no_store(files: &[SourceFile]) -> Vec<Violation> {
    let is_face = |file: &&SourceFile| {
        let faces = ["crates/tine/src/", "crates/tine-tui/src/"];
        faces.iter().any(|face| file.path.starts_with(face)) && is_production(&file.path, &[])
    };
    let find = |line: &str| [".store()", "tine_store"].into_iter().find(|name| line.contains(name));
    let hint = "add a method to `Runtime`";
    files
        .iter()
        .filter(is_face)
        .flat_map(|file| lines_with(file, "the store", hint, find))
        .collect()
}

/// No file names a directory of the machine it was written on.
pub(super) fn no_paths_of_a_build_machine(files: &[SourceFile]) -> Vec<Violation> {
    let hint = "use a relative path, or one of EXAMPLE_PATHS in xtask/src/tidy/boundaries.rs";
    let mut violations = Vec::new();
    for file in files {
        for (number, line) in (1..).zip(file.text.lines()) {
            if let Some(path) = machine_path(line) {
                violations.push(violation(
                    file,
                    number,
                    &format!("a path of a build machine (`{path}`)"),
                    hint,
                ));
            }
        }
    }
    violations
}

/// The first absolute path in a line that begins like a machine's and is no example.
fn machine_path(line: &str) -> Option<&str> {
    let starts = line.match_indices('/').map(|(at, _)| at).filter(|at| {
        let before = line[..*at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || "_-.~/}*)]>$".contains(c))
    });
    let path_at = |at: usize| {
        let end = line[at..].find(|c: char| !(c.is_alphanumeric() || "/_-.".contains(c)));
        &line[at..end.map_or(line.len(), |end| at + end)]
    };
    starts.map(path_at).find(|path| is_machine_path(path) && !is_example(path))
}

fn is_machine_path(path: &str) -> bool {
    let mut parts = path.split('/').skip(1);
    match (parts.next(), parts.next()) {
        (Some("home"), Some(name)) => !name.is_empty() && parts.next().is_some(),
        (Some(first), Some(_)) => MACHINE_DIRECTORIES.contains(&first),
        _ => false,
    }
}

fn is_example(path: &str) -> bool {
    EXAMPLE_PATHS.iter().any(|(example, _)| path.starts_with(example))
}

/// Whether a file is code that ships, of a crate outside of `exempt`.
fn is_production(path: &str, exempt: &[&str]) -> bool {
    let Some((name, rest)) = path.strip_prefix("crates/").and_then(|path| path.split_once('/'))
    else {
        return false;
    };
    let is_test =
        rest.ends_with("/tests.rs") || rest.ends_with("_tests.rs") || rest.contains("/tests/");
    rest.starts_with("src/")
        && rest.ends_with(".rs")
        && !is_test
        && name != "tine-testkit"
        && !exempt.contains(&name)
}

/// Numbered lines that are neither comments nor unit tests.
fn code(file: &SourceFile) -> impl Iterator<Item = (usize, &str)> {
    (1..).zip(without_tests(&file.text)).filter(|(_, line)| !line.trim_start().starts_with("//"))
}

fn lines_with(
    file: &SourceFile,
    what: &str,
    hint: &str,
    find: impl Fn(&str) -> Option<&'static str>,
) -> Vec<Violation> {
    let found = code(file).filter_map(|(number, line)| Some((number, find(line)?)));
    found
        .map(|(number, sign)| violation(file, number, &format!("{what} (`{sign}`)"), hint))
        .collect()
}

fn violation(file: &SourceFile, line: usize, cause: &str, hint: &str) -> Violation {
    Violation {
        path: file.path.clone(),
        line: Some(line),
        cause: cause.to_owned(),
        hint: hint.to_owned(),
    }
}

fn sql_start(line: &str) -> Option<(&'static str, &'static str, usize)> {
    let word_begins = |at: usize| {
        !line[..at].chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '_')
    };
    let found = SQL.iter().filter_map(|(start, end)| Some((*start, *end, line.find(start)?)));
    found.into_iter().find(|(_, _, at)| word_begins(*at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> SourceFile {
        SourceFile { path: path.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn provider_json_is_found_outside_of_wire_only() {
        let text = "// cache_control in a comment\nlet key = \"cache_control\";\n";
        let check = |path: &str, expected: usize| {
            assert_eq!(
                only_wire_knows_provider_json(&[file(path, text)]).len(),
                expected,
                "{path}"
            );
        };
        check("crates/tine-fork/src/run.rs", 1);
        check("crates/tine-wire/src/marks.rs", 0);
        check("crates/tine-sim/src/cache.rs", 0);
        check("crates/tine-fork/tests/bytes.rs", 0);
        check("crates/tine-fork/src/run_tests.rs", 0);
        check("docs/wire.md", 0);
    }

    #[test]
    fn sql_is_found_across_lines() {
        let check = |text: &str, expected: usize| {
            let found = only_store_knows_sql(&[file("crates/tine-runtime/src/a.rs", text)]);
            assert_eq!(found.len(), expected, "{text}");
        };
        check("\"SELECT id\n FROM agents\"", 1);
        check("\"INSERT INTO agents (id)\"", 1);
        check("\"UPDATE agents SET name = ?\"", 1);
        check("// SELECT id FROM agents", 0);
        check("\"SELECT one of these\"", 0);
        check("\"select it from the list\"", 0);
        check("#[cfg(test)]\nmod tests {\n\"SELECT a FROM b\"\n}\n", 0);
    }

    #[test]
    fn processes_are_started_by_tools_only() {
        let check = |path: &str, text: &str, expected: usize| {
            assert_eq!(
                only_tools_start_processes(&[file(path, text)]).len(),
                expected,
                "{path}: {text}"
            );
        };
        check("crates/tine-fork/src/a.rs", "use std::process::{Command, Stdio};", 1);
        check("crates/tine-fork/src/a.rs", "use tokio::process::Command;", 1);
        check("crates/tine-fork/src/a.rs", "use std::process::ExitCode;", 0);
        check("crates/tine-tools/src/a.rs", "use tokio::process::Command;", 0);
        let again = "#[expect(clippy::disallowed_methods, reason = \"r\")]\nstd::process::Command::new(current_exe()?)";
        check("crates/tine/src/detach.rs", again, 0);
        check("crates/tine-runtime/src/detach.rs", again, 1);
    }

    #[test]
    fn faces_have_no_store() {
        let in_file = |path: &str, text: &str| faces_name_no_store(&[file(path, text)]).len();
        assert_eq!(in_file("crates/tine/src/a.rs", "runtime.store().agent(id)"), 1);
        assert_eq!(in_file("crates/tine-tui/src/a.rs", "use tine_store::MailId;"), 1);
        assert_eq!(in_file("crates/tine-tui/src/a.rs", "runtime.agent(id)"), 0);
        assert_eq!(in_file("crates/tine-runtime/src/a.rs", "runtime.store().agent(id)"), 0);
        assert_eq!(in_file("crates/tine/tests/cli/a.rs", "use tine_store::Store;"), 0);
    }

    #[test]
    fn paths_of_a_machine_are_told_from_examples() {
        let check =
            |line: &str, expected: Option<&str>| assert_eq!(machine_path(line), expected, "{line}");
        let (work, farm, home) = (
            ["", "work", "main"].join("/"),
            ["", "farm", "x"].join("/"),
            ["", "home", "ana", "x"].join("/"),
        );
        check(&format!("see `{work}` there"), Some(work.as_str()));
        check(&farm, Some(farm.as_str()));
        check(&format!("\"{home}\""), Some(home.as_str()));
        check("/srv/app/src and /srv/app2", None);
        check("/home/user/project", None);
        check("src/work/x ~/work/x $HOME/work/x https://host/work/x ../work/x", None);
        check("a / work / b, /works/x, /home", None);
    }
}
