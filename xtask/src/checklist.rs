//! `cargo xtask checklist`: what the library and the program promise, and which tests show it.
//!
//! The promises stand in files beside the tests. Tidy checks that every promise has a test and that every test it names exists.

use std::io::Write as _;

use anyhow::Result;

use crate::tidy::Violation;
use crate::workspace::Workspace;

/// Where the promises stand.
const FILES: [&str; 2] =
    ["crates/tine-fork/tests/checklist.txt", "crates/tine/tests/checklist.txt"];

/// One promise.
struct Promise<'a> {
    number: usize,
    section: &'a str,
    text: &'a str,
    tests: Vec<&'a str>,
}

/// Prints the table in Markdown.
pub(crate) fn print() -> Result<()> {
    let workspace = Workspace::load()?;
    let (mut section, mut table) = ("", String::new());
    for promise in FILES.iter().flat_map(|file| promises(workspace.text(file).unwrap_or_default()))
    {
        if promise.section != section {
            section = promise.section;
            table.push_str(&format!("\n## {section}\n\n| what | shown by |\n|---|---|\n"));
        }
        let tests: Vec<String> = promise
            .tests
            .iter()
            .map(|test| format!("`{test}` ({})", home(&workspace, test)))
            .collect();
        table.push_str(&format!("| {} | {} |\n", promise.text, tests.join(", ")));
    }
    // Whoever reads only the beginning may stop.
    Ok(std::io::stdout().write_all(table.as_bytes())?)
}

/// Every promise has a test, and every test that is named exists.
pub(crate) fn promises_are_shown(workspace: &Workspace) -> Vec<Violation> {
    FILES.iter().flat_map(|file| shown_in(workspace, file)).collect()
}

fn shown_in(workspace: &Workspace, file: &str) -> Vec<Violation> {
    let violation = |line: Option<usize>, cause: String| Violation {
        path: file.to_owned(),
        line,
        cause,
        hint: "name a test function that shows it".to_owned(),
    };
    let Some(text) = workspace.text(file) else {
        return vec![violation(None, "the file is gone".to_owned())];
    };
    let mut found = Vec::new();
    for promise in promises(text) {
        let line = Some(promise.number);
        if promise.tests.is_empty() {
            found.push(violation(line, "this line names no test".to_owned()));
        }
        let gone = promise.tests.iter().filter(|test| home(workspace, test).is_empty());
        found.extend(gone.map(|test| violation(line, format!("there is no test `{test}`"))));
    }
    found
}

fn promises(text: &str) -> Vec<Promise<'_>> {
    let mut section = "";
    let mut promises = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if let Some(name) = line.strip_prefix("== ") {
            section = name;
        } else if !line.is_empty() && !line.starts_with('#') {
            let (text, tests) = line.split_once(" => ").unwrap_or((line, ""));
            let tests = tests.split(", ").filter(|test| !test.is_empty()).collect();
            promises.push(Promise { number: index + 1, section, text, tests });
        }
    }
    promises
}

/// The file in which a test stands; empty when there is none.
fn home<'a>(workspace: &'a Workspace, test: &str) -> &'a str {
    let begins = format!("fn {test}(");
    let file = workspace
        .files
        .iter()
        .find(|file| file.path.ends_with(".rs") && file.text.contains(&begins));
    file.map_or("", |file| file.path.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_with_their_section() {
        let read = promises("# x\n== One\na b => t1, t2\n\n== Two\nc");
        let shown: Vec<String> = read
            .iter()
            .map(|p| format!("{} {} {} {:?}", p.number, p.section, p.text, p.tests))
            .collect();
        assert_eq!(shown, [r#"3 One a b ["t1", "t2"]"#, "6 Two c []"]);
    }
}
