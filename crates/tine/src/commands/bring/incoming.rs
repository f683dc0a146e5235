//! What people are told of files that came in and that do more than hold text.

use std::path::{Path, PathBuf};

use tine_runtime::FileChange;

use super::{listed, named, plain};
use crate::output;
use crate::render::change::{shown_path, starts_programs, steers_agents};

/// Says in one line each which files run later, which steer agents, and where links lead.
pub(super) fn say_incoming(files: &[FileChange]) {
    for note in incoming(files) {
        output::say(&format!("note: {note}"));
    }
}

fn incoming(files: &[FileChange]) -> Vec<String> {
    let paths = |is_one: fn(&FileChange) -> bool| -> Vec<PathBuf> {
        files.iter().filter(|file| is_one(file)).map(|file| file.path.clone()).collect()
    };
    let (running, steering) = (paths(starts_programs), paths(steers_agents));
    let links: Vec<String> = files.iter().filter_map(link).collect();
    let mut notes = Vec::new();
    if !running.is_empty() {
        notes.push(format!(
            "programs run these files by their names; read them first: {}",
            named(&running)
        ));
    }
    if !steering.is_empty() {
        notes.push(format!(
            "these files tell tine or its agents what to do; read them first: {}",
            named(&steering)
        ));
    }
    if !links.is_empty() {
        notes.push(format!("links came in: {}", listed(&links)));
    }
    notes
}

/// A link and its target; `None` for other files.
fn link(file: &FileChange) -> Option<String> {
    let target = file.link.as_ref()?;
    let folder = file.path.parent().unwrap_or(Path::new(""));
    let is_inside = !target.is_absolute() && plain(&folder.join(target)).is_some();
    let place = if is_inside { "" } else { " (outside the checkout)" };
    Some(format!("{} -> {}{place}", shown_path(&file.path), shown_path(target)))
}

#[cfg(test)]
mod tests {
    use tine_runtime::{ChangeStatus, FileMode};

    use super::*;

    fn file(path: &str, target: Option<&str>) -> FileChange {
        let mode = if target.is_some() { FileMode::Link } else { FileMode::File };
        FileChange {
            path: path.into(),
            from: None,
            status: ChangeStatus::Added,
            lines: None,
            mode_before: None,
            mode: Some(mode),
            link: target.map(PathBuf::from),
        }
    }

    #[test]
    fn files_that_run_later_or_steer_agents_and_links_are_told() {
        let files = [
            file("src/main.rs", None),
            file("Makefile", None),
            file("web/.vscode/tasks.json", None),
            file(".tine/config.toml", None),
            file("docs/AGENTS.md", None),
            file("out", Some("/outside")),
            file("a/b", Some("../../etc")),
            file("a/c", Some("../src\u{1b}[2J")),
        ];
        insta::assert_snapshot!(incoming(&files).join("\n"), @r"
        programs run these files by their names; read them first: Makefile, web/.vscode/tasks.json
        these files tell tine or its agents what to do; read them first: .tine/config.toml, docs/AGENTS.md
        links came in: out -> /outside (outside the checkout), a/b -> ../../etc (outside the checkout), a/c -> ../src\u{1b}[2J
        ");
        let gone = FileChange { mode: None, ..file(".tine/config.toml", None) };
        assert!(incoming(&[gone, file("src/lib.rs", None)]).is_empty());
    }
}
