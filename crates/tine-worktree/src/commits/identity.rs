//! Commits in the user's name: the one that git would take, from its variables or its settings.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use crate::error::WorktreeError;
use crate::git::Git;
use crate::ids::{Commit, Tree};
use crate::obstacle::Obstacle;
use crate::repository::Repository;

/// The user, as git knows them, at one moment.
pub(super) struct Committer {
    git: Git,
}

/// Nobody is guessed from the name of the machine.
const KNOWN: [&str; 2] = ["-c", "user.useConfigOnly=true"];

/// What git takes a person and a time from before it looks at its settings. No other command is given these.
const VARIABLES: [&str; 6] = [
    "GIT_AUTHOR_NAME",
    "GIT_AUTHOR_EMAIL",
    "GIT_AUTHOR_DATE",
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
    "GIT_COMMITTER_DATE",
];

impl Repository {
    pub(super) fn identity(&self, now_ms: i64) -> Result<Committer, WorktreeError> {
        let date = format!("@{} +0000", now_ms.div_euclid(1000));
        let date = OsStr::new(&date);
        let git = self.git().with("GIT_AUTHOR_DATE", date).with("GIT_COMMITTER_DATE", date);
        let given = VARIABLES.iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
        let git = given.fold(git, |git, (name, value)| git.with(name, &value));
        require(&git, "GIT_COMMITTER_IDENT")?;
        Ok(Committer { git })
    }
}

/// Refuses where git knows nobody of this kind.
fn require(git: &Git, who: &str) -> Result<(), WorktreeError> {
    match git.run(KNOWN.iter().chain(&["var", who])) {
        Ok(_) => Ok(()),
        Err(WorktreeError::Git { .. }) => Err(Obstacle::NoIdentity.into()),
        Err(error) => Err(error),
    }
}

impl Committer {
    /// A new commit whose author is the user.
    pub(super) fn commit(
        &self,
        tree: &Tree,
        parents: &[&Commit],
        message: &[u8],
    ) -> Result<Commit, WorktreeError> {
        require(&self.git, "GIT_AUTHOR_IDENT")?;
        write(&self.git, "UTF-8", tree, parents, message)
    }

    /// A commit on another parent: with the author, the author's date and the message of the old one, to the byte.
    pub(super) fn copy(
        &self,
        of: &Commit,
        tree: &Tree,
        parent: &Commit,
    ) -> Result<Commit, WorktreeError> {
        let object = self.git.run(["cat-file", "commit", of.as_str()])?;
        let wrong = || WorktreeError::Output { what: "commit", text: of.to_string() };
        let end = object.windows(2).position(|two| two == b"\n\n").ok_or_else(wrong)?;
        let (head, message) = (&object[..end], &object[end + 2..]);
        let header = |name: &str| {
            let mut lines = head.split(|byte| *byte == b'\n');
            lines.find_map(|line| line.strip_prefix(name.as_bytes())?.strip_prefix(b" "))
        };
        let author = header("author").and_then(parts).ok_or_else(wrong)?;
        let encoding = header("encoding").unwrap_or(b"UTF-8");
        let [name, address, date] = author.map(OsStr::from_bytes);
        let git = self
            .git
            .with("GIT_AUTHOR_NAME", name)
            .with("GIT_AUTHOR_EMAIL", address)
            .with("GIT_AUTHOR_DATE", date);
        write(&git, &String::from_utf8_lossy(encoding), tree, &[parent], message)
    }
}

fn write(
    git: &Git,
    encoding: &str,
    tree: &Tree,
    parents: &[&Commit],
    message: &[u8],
) -> Result<Commit, WorktreeError> {
    let encoding = format!("i18n.commitEncoding={encoding}");
    let mut arguments = KNOWN.to_vec();
    arguments.extend(["-c", &encoding, "commit-tree", tree.as_str(), "-F", "-"]);
    for parent in parents {
        arguments.extend(["-p", parent.as_str()]);
    }
    Commit::parse(&String::from_utf8_lossy(&git.fed(arguments, message)?))
}

/// `name <address> seconds zone`, as a commit has it.
fn parts(author: &[u8]) -> Option<[&[u8]; 3]> {
    let open = author.iter().position(|byte| *byte == b'<')?;
    let close = open + author[open..].iter().position(|byte| *byte == b'>')?;
    let (name, date) = (&author[..open], &author[close + 1..]);
    Some([name.strip_suffix(b" ").unwrap_or(name), &author[open + 1..close], date.trim_ascii()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn authors_are_cut_into_their_parts() {
        let shown = |text: &str| {
            parts(text.as_bytes())
                .map(|parts| parts.map(|part| String::from_utf8_lossy(part).into_owned()))
        };
        let found = shown("A B <a@b> 12 +0200").unwrap();
        assert_eq!(found, ["A B", "a@b", "12 +0200"]);
        assert_eq!(shown("nobody"), None);
        assert_eq!(shown("a < b"), None);
    }
}
