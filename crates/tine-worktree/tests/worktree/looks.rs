//! What a user sees of a checkout.

use std::path::Path;

use crate::support::{files, git};

/// How a checkout looks to its user: every file with its content, and what git says of it and of its index.
pub(crate) fn looks(top: &Path) -> String {
    let mut text = holds(top);
    let index = git(top, &["ls-files", "--stage", "--debug"]);
    // Times, numbers and owners of files belong to the file system, and one flag to a way of keeping the index.
    let of_the_system = ["  ctime:", "  mtime:", "  dev:", "  uid:"];
    for line in index.lines().filter(|line| !of_the_system.iter().any(|of| line.starts_with(of))) {
        text.push_str(&line.replace("flags: 8000000", "flags: 0"));
        text.push('\n');
    }
    for (path, file) in files(top) {
        text.push_str(&format!("{path} {file}\n"));
    }
    text
}

/// What a checkout holds, times and what the index knows of files left out.
pub(crate) fn holds(top: &Path) -> String {
    let mut text = git(top, &["status", "--porcelain=v2", "--untracked-files=all"]);
    for (path, file) in files(top) {
        let without_time =
            file.split_once(' ').and_then(|(mode, rest)| Some((mode, rest.split_once(' ')?.1)));
        let (mode, content) = without_time.unwrap();
        text.push_str(&format!("{path} {mode} {content}\n"));
    }
    text
}
