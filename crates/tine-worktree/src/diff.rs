//! What git says of the difference between two directories.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::changes::{FileChange, Lines, Mode, Status};
use crate::error::WorktreeError;
use crate::git::{Git, path};
use crate::ids::Tree;

/// One file in which two directories differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Difference {
    pub(crate) before: Side,
    pub(crate) after: Side,
    pub(crate) path: PathBuf,
    /// Where it was, if it was renamed.
    pub(crate) from: Option<PathBuf>,
}

/// A file in one of two directories, as git writes it: mode and object, all zeros where it is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Side {
    pub(crate) mode: String,
    pub(crate) object: String,
}

impl Side {
    pub(crate) fn kind(&self) -> Option<Mode> {
        Mode::read(&self.mode)
    }
}

/// Every file in which two directories differ, without a guess at renames.
pub(crate) fn differences(
    git: &Git,
    one: &Tree,
    other: &Tree,
) -> Result<Vec<Difference>, WorktreeError> {
    if one == other {
        return Ok(Vec::new());
    }
    let arguments = ["diff-tree", "-r", "-z", "--no-renames", "--raw", "--full-index"];
    let said = git.run(arguments.into_iter().chain([one.as_str(), other.as_str()]))?;
    let mut fields = said.split(|byte| *byte == 0);
    raw(&mut fields).map(|(found, _)| found)
}

/// The paths of those files.
pub(crate) fn paths_between(
    git: &Git,
    one: &Tree,
    other: &Tree,
) -> Result<BTreeSet<PathBuf>, WorktreeError> {
    Ok(differences(git, one, other)?.into_iter().map(|found| found.path).collect())
}

/// Every file in which two directories differ, with renames and lines.
pub(crate) fn file_changes(
    git: &Git,
    one: &Tree,
    other: &Tree,
) -> Result<Vec<FileChange>, WorktreeError> {
    if one == other {
        return Ok(Vec::new());
    }
    let arguments = [
        "diff-tree",
        "-r",
        "-z",
        "--find-renames",
        "--raw",
        "--full-index",
        "--numstat",
        "--no-ext-diff",
        "--no-textconv",
    ];
    let said = git.run(arguments.into_iter().chain([one.as_str(), other.as_str()]))?;
    let read = read_file_changes(&said)?;
    let (mut changes, objects): (Vec<FileChange>, Vec<String>) = read.into_iter().unzip();
    read_links(git, &mut changes, &objects)?;
    Ok(changes)
}

/// Longest target of a link, in bytes: no system follows a longer one.
const LINK_BYTES_MAX: u64 = 4_096;

/// Reads the targets of the links among the changes. `objects` holds the object of each change.
fn read_links(
    git: &Git,
    changes: &mut [FileChange],
    objects: &[String],
) -> Result<(), WorktreeError> {
    let is_link = |change: &FileChange| {
        change.mode == Some(Mode::Link) && change.status != Status::ModeChanged
    };
    let links = changes.iter_mut().zip(objects).filter(|(change, _)| is_link(change));
    let mut links: Vec<(&mut FileChange, &String)> = links.collect();
    if links.is_empty() {
        return Ok(());
    }
    let asked: String = links.iter().map(|(_, object)| format!("{object}\n")).collect();
    // A hostile tree may call any object a link: first the sizes, so that nothing large is read.
    let said = git.fed(["cat-file", "--batch-check=%(objectsize)"], asked.as_bytes())?;
    let sizes = String::from_utf8_lossy(&said).into_owned();
    let is_short = |size: &str| size.trim().parse().is_ok_and(|size: u64| size <= LINK_BYTES_MAX);
    let short: Vec<bool> = sizes.lines().map(is_short).collect();
    if short.len() != links.len() {
        return Err(wrong(&said));
    }
    let mut kept = short.into_iter();
    links.retain(|_| kept.next().unwrap_or_default());
    let asked: String = links.iter().map(|(_, object)| format!("{object}\n")).collect();
    let said = git.fed(["cat-file", "--batch=%(objectsize)"], asked.as_bytes())?;
    let mut rest = said.as_slice();
    for (change, _) in links {
        let (target, after) = next_object(rest).ok_or_else(|| wrong(rest))?;
        change.link = Some(path(target));
        rest = after;
    }
    Ok(())
}

/// The first object in what `git cat-file --batch=%(objectsize)` says, and what follows it.
pub(crate) fn next_object(said: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = said.iter().position(|byte| *byte == b'\n')?;
    let size: usize = std::str::from_utf8(&said[..end]).ok()?.parse().ok()?;
    let rest = &said[end + 1..];
    let after = rest.get(size..)?.strip_prefix(b"\n")?;
    Some((&rest[..size], after))
}

/// The output of `git diff-tree -z --raw --numstat`: one list behind the other, in the same order.
/// Gives the object of each file as it is now, too.
fn read_file_changes(said: &[u8]) -> Result<Vec<(FileChange, String)>, WorktreeError> {
    let mut fields = said.split(|byte| *byte == 0);
    let (found, mut next) = raw(&mut fields)?;
    let mut changes = Vec::with_capacity(found.len());
    for difference in found {
        let line = next.take().or_else(|| fields.next()).unwrap_or_default();
        let mut columns = line.splitn(3, |byte| *byte == b'\t');
        let (added, removed) = (columns.next(), columns.next());
        let name = columns.next().ok_or_else(|| wrong(line))?;
        if name.is_empty() {
            // A rename has both its names in fields of their own.
            fields.next();
            fields.next();
        }
        let lines = match (added, removed) {
            (Some(b"-"), Some(b"-")) => None,
            (Some(added), Some(removed)) => {
                let number =
                    |text: &[u8]| -> Option<u64> { std::str::from_utf8(text).ok()?.parse().ok() };
                let (added, removed) = (number(added), number(removed));
                let (Some(added), Some(removed)) = (added, removed) else {
                    return Err(wrong(line));
                };
                Some(Lines { added, removed })
            }
            (_, _) => return Err(wrong(line)),
        };
        let object = difference.after.object.clone();
        changes.push((change(difference, lines), object));
    }
    Ok(changes)
}

/// Reads lines that begin with a colon; gives the first field behind them, too.
fn raw<'a>(
    fields: &mut impl Iterator<Item = &'a [u8]>,
) -> Result<(Vec<Difference>, Option<&'a [u8]>), WorktreeError> {
    let mut found = Vec::new();
    while let Some(head) = fields.next() {
        let Some(words) = head.strip_prefix(b":") else { return Ok((found, Some(head))) };
        let text = std::str::from_utf8(words).map_err(|_| wrong(head))?;
        let words: Vec<&str> = text.split(' ').collect();
        let [before, after, before_object, after_object, status] = words[..] else {
            return Err(wrong(head));
        };
        let side =
            |mode: &str, object: &str| Side { mode: mode.to_owned(), object: object.to_owned() };
        let mut name = || fields.next().filter(|name| !name.is_empty()).map(path);
        let from = if status.starts_with(['R', 'C']) {
            Some(name().ok_or_else(|| wrong(head))?)
        } else {
            None
        };
        let path = name().ok_or_else(|| wrong(head))?;
        let (before, after) = (side(before, before_object), side(after, after_object));
        found.push(Difference { before, after, path, from });
    }
    Ok((found, None))
}

fn change(difference: Difference, lines: Option<Lines>) -> FileChange {
    let Difference { before, after, path, from } = difference;
    let (mode_before, mode) = (before.kind(), after.kind());
    let status = match (mode_before, mode) {
        (None, _) => Status::Added,
        (_, None) => Status::Deleted,
        (Some(_), Some(_)) if from.is_some() => Status::Renamed,
        (Some(one), Some(other)) if one.is_regular() != other.is_regular() => Status::TypeChanged,
        (Some(one), Some(other)) if one != other && before.object == after.object => {
            Status::ModeChanged
        }
        (Some(_), Some(_)) => Status::Modified,
    };
    FileChange { path, from, status, lines, mode_before, mode, link: None }
}

fn wrong(text: &[u8]) -> WorktreeError {
    WorktreeError::Output { what: "difference", text: String::from_utf8_lossy(text).into_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_together() {
        let zero = "0".repeat(40);
        let (one, two) = ("1".repeat(40), "2".repeat(40));
        let said = format!(
            ":000000 100644 {zero} {one} A\0new\tfile\0:100644 100755 {one} {one} M\0run\0\
             :100644 100644 {one} {two} R090\0old name\0new name\0:100644 120000 {one} {two} T\0link\0\
             :100644 000000 {one} {zero} D\0gone\0\
             2\t0\tnew\tfile\00\t0\trun\01\t1\t\0old name\0new name\0-\t-\tlink\00\t3\tgone\0"
        );
        let changes = read_file_changes(said.as_bytes()).unwrap();
        let shown: Vec<String> = changes
            .iter()
            .map(|(change, _)| {
                let from = change.from.as_ref().map(|from| format!(" from {}", from.display()));
                let lines =
                    change.lines.map(|lines| format!("+{} -{}", lines.added, lines.removed));
                format!(
                    "{:?} {}{} {}",
                    change.status,
                    change.path.display(),
                    from.unwrap_or_default(),
                    lines.unwrap_or_else(|| "binary".to_owned())
                )
            })
            .collect();
        insta::assert_snapshot!(shown.join("\n"), @"
        Added new	file +2 -0
        ModeChanged run +0 -0
        Renamed new name from old name +1 -1
        TypeChanged link binary
        Deleted gone +0 -3
        ");
        for broken in [":100644", ":1 2 3 4 M\0", ":1 2 3 4 R\0a\0", ":1 2 3 4 M\0a\0x\ty\ta\0"] {
            assert!(read_file_changes(broken.as_bytes()).is_err(), "{broken}");
        }
    }

    #[test]
    fn the_targets_of_links_are_read_and_what_only_poses_as_one_is_not() {
        let home = tempfile::tempdir().unwrap();
        let git = Git::at(home.path());
        git.run(["init", "-q"]).unwrap();
        let object = |bytes: &[u8]| {
            let said = git.fed(["hash-object", "-w", "--stdin"], bytes).unwrap();
            String::from_utf8(said).unwrap().trim().to_owned()
        };
        let tree = |entries: &[(&str, &str, &[u8])]| {
            let line = |(name, mode, bytes): &(&str, &str, &[u8])| {
                format!("{mode} blob {}\t{name}\n", object(bytes))
            };
            let lines: String = entries.iter().map(line).collect();
            let said = git.fed(["mktree"], lines.as_bytes()).unwrap();
            Tree::parse(String::from_utf8(said).unwrap().trim()).unwrap()
        };
        let long = vec![b'x'; 5_000];
        let before = tree(&[("moved", "120000", b"there"), ("same", "120000", b"/same")]);
        let after = tree(&[
            ("file", "100644", b"text"),
            ("lines", "120000", b"a\n5\nb"),
            ("long", "120000", &long),
            ("moved", "120000", b"/elsewhere"),
            ("same", "120000", b"/same"),
        ]);
        let changes = file_changes(&git, &before, &after).unwrap();
        let shown: Vec<String> =
            changes.iter().map(|one| format!("{} {:?}", one.path.display(), one.link)).collect();
        insta::assert_snapshot!(shown.join("\n"), @r#"
        file None
        lines Some("a\n5\nb")
        long None
        moved Some("/elsewhere")
        "#);
    }
}
