//! Notes for people on files that came in and that do more than hold text.

use std::path::Path;

use tine_runtime::FileChange;

use super::{listed, plain};
use crate::output;
use crate::render::change::{shown_path, starts_programs, steers_agents};

/// Says in one line each which files run later, which steer agents, and where links lead.
pub(super) fn say_incoming(files: &[FileChange]) {
    for note in incoming(files) {
        output::say(&format!("note: {note}"));
    }
}

fn incoming(files: &[FileChange]) -> Vec<String> {
    let paths = |is_one: fn(&FileChange) -> bool, is_grave: fn(&Path) -> bool| {
        let paths = files.iter().filter(|file| is_one(file)).map(|file| file.path.as_path());
        let (grave, others): (Vec<&Path>, Vec<&Path>) = paths.partition(|path| is_grave(path));
        let shown = |paths: Vec<&Path>| paths.into_iter().map(shown_path).collect();
        Found { grave: shown(grave), others: shown(others) }
    };
    let running = paths(starts_programs, |_| false);
    let steering = paths(steers_agents, is_followed_by_tine);
    let links = files.iter().filter_map(link);
    let (outside, inside): (Vec<_>, Vec<_>) = links.partition(|(_, is_outside)| *is_outside);
    let texts = |links: Vec<(String, bool)>| links.into_iter().map(|(text, _)| text).collect();
    let links = Found { grave: texts(outside), others: texts(inside) };
    let mut notes = Vec::new();
    if !running.is_empty() {
        notes.push(format!(
            "programs run these files by their names; read them first: {}",
            running.listed()
        ));
    }
    if !steering.is_empty() {
        notes.push(format!(
            "these files tell tine or its agents what to do; read them first: {}",
            steering.listed()
        ));
    }
    if !links.is_empty() {
        notes.push(format!("links came in: {}", links.listed()));
    }
    notes
}

/// Files of one kind that came in.
struct Found {
    /// Those that are always named, and first: decoys with earlier names must not hide them.
    grave: Vec<String>,
    others: Vec<String>,
}

impl Found {
    fn is_empty(&self) -> bool {
        self.grave.is_empty() && self.others.is_empty()
    }

    fn listed(&self) -> String {
        let mut texts = self.grave.clone();
        if !self.others.is_empty() {
            texts.push(listed(&self.others));
        }
        texts.join(", ")
    }
}

/// Returns true for the files that count as settings of tine's, wherever they lie.
fn is_followed_by_tine(path: &Path) -> bool {
    let is_one = |name: &std::ffi::OsStr| {
        name.eq_ignore_ascii_case(".tine") || name.eq_ignore_ascii_case(".mcp.json")
    };
    path.components().any(|part| is_one(part.as_os_str()))
}

/// A link with its target, and whether it leads outside; `None` for other files.
fn link(file: &FileChange) -> Option<(String, bool)> {
    let target = file.link.as_ref()?;
    let folder = file.path.parent().unwrap_or(Path::new(""));
    let is_inside = !target.is_absolute() && plain(&folder.join(target)).is_some();
    let place = if is_inside { "" } else { " (outside the checkout)" };
    let text = format!("{} -> {}{place}", shown_path(&file.path), shown_path(target));
    Some((text, !is_inside))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

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
        let decoys: Vec<FileChange> = (0..9)
            .flat_map(|at| {
                [file(&format!("a{at}/AGENTS.md"), None), file(&format!("b{at}"), Some("c"))]
            })
            .chain([file("web/.tine/config.toml", None), file("z", Some("/outside"))])
            .collect();
        insta::assert_snapshot!(incoming(&decoys).join("\n"), @"
        these files tell tine or its agents what to do; read them first: web/.tine/config.toml, a0/AGENTS.md, a1/AGENTS.md, a2/AGENTS.md, a3/AGENTS.md, a4/AGENTS.md and 4 more
        links came in: z -> /outside (outside the checkout), b0 -> c, b1 -> c, b2 -> c, b3 -> c, b4 -> c and 4 more
        ");
        let gone = FileChange { mode: None, ..file(".tine/config.toml", None) };
        assert!(incoming(&[gone, file("src/lib.rs", None)]).is_empty());
    }
}
