//! Git's own three-way merge of directories, and what it says of conflicts.

use std::path::PathBuf;

use crate::changes::Mode;
use crate::error::WorktreeError;
use crate::git::{Git, path};
use crate::ids::{Commit, Tree};

/// Something that cannot be merged without somebody's word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The file, relative to the top of the checkout.
    pub path: PathBuf,
    /// Other files that have a part in it: the names of a rename.
    pub others: Vec<PathBuf>,
    /// What it is about.
    pub kind: ConflictKind,
    /// In what it arose.
    pub place: Place,
    /// The file in the state that both sides began with.
    pub base: Option<Stage>,
    /// The file in the checkout that gets the work.
    pub ours: Option<Stage>,
    /// The file in the work.
    pub theirs: Option<Stage>,
    /// One line for people.
    pub explanation: String,
}

/// One side's version of a file in conflict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stage {
    /// What it is.
    pub mode: Mode,
    /// The object that holds its content: `git cat-file -p` shows it.
    pub object: String,
}

/// What was being merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Commits with commits.
    Commits,
    /// Changes with the files of the checkout.
    Files,
    /// Changes with what is staged.
    Index,
}

/// What a conflict is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConflictKind {
    /// Both sides changed the same lines.
    Content,
    /// Both sides added the file, each its own.
    AddAdd,
    /// Both sides changed a file that is not text.
    Binary,
    /// One side changed what the other deleted.
    ModifyDelete,
    /// One side has a file where the other has a directory.
    FileDirectory,
    /// The sides made two kinds of thing of it: a file and a link.
    Mode,
    /// Both sides renamed it, or renamed two files to one name.
    RenameRename,
    /// One side renamed what the other deleted.
    RenameDelete,
    /// One side renamed a directory in which the other works.
    DirectoryRename,
    /// Another repository.
    Submodule,
    /// What this version does not know, in git's words.
    Other(String),
}

/// What came of a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MergeOutput {
    /// The merged directory. Where there are conflicts, files in it have marks at them.
    pub tree: Tree,
    /// What is in conflict; empty where the merge is clean.
    pub conflicts: Vec<Conflict>,
}

/// Which three states are merged. The sides are names of commits.
#[derive(Clone, Copy)]
pub(crate) struct Sides<'a> {
    pub(crate) base: Base<'a>,
    pub(crate) ours: &'a str,
    pub(crate) theirs: &'a str,
}

/// The state that both sides began with.
#[derive(Clone, Copy)]
pub(crate) enum Base<'a> {
    /// The best common ancestors of the sides.
    Ancestors,
    /// This commit, whatever the sides descend from.
    Commit(&'a Commit),
    /// This commit, from which ours descends. That costs one command less.
    OfOurs(&'a Commit),
    /// This commit, from which theirs descends.
    OfTheirs(&'a Commit),
}

/// The date of commits that only a merge sees: 1 January 2100, in milliseconds since the Unix epoch. Git looks for a merge base in the
/// order of dates. After children that are younger than all else it comes to their parent first, and walks through no history.
const CHILD_MS: i64 = 4_102_444_800_000;

/// Merges as `git merge` would.
pub(crate) fn merge(
    git: &Git,
    place: Place,
    sides: Sides<'_>,
) -> Result<MergeOutput, WorktreeError> {
    run(git, place, &["merge-tree"], sides)
}

/// Merges path by path, without a guess at renames.
pub(crate) fn merge_by_path(
    git: &Git,
    place: Place,
    sides: Sides<'_>,
) -> Result<MergeOutput, WorktreeError> {
    let plain = ["-c", "merge.renames=false", "-c", "merge.directoryRenames=false", "merge-tree"];
    run(git, place, &plain, sides)
}

/// Makes a commit of the same files that has one parent and no ref.
///
/// Git merges from any given base since 2.40 (`merge-tree --merge-base`). Two children of a commit, or a child and a descendant, have
/// that commit as their only merge base, which any version finds.
pub(crate) fn child(git: &Git, of: &str, parent: &Commit) -> Result<Commit, WorktreeError> {
    let tree = format!("{of}^{{tree}}");
    let message = "tine: a side of a merge";
    let arguments = ["commit-tree", &tree, "-p", parent.as_str(), "-m", message];
    Commit::parse(&git.as_tine(CHILD_MS).text(arguments)?)
}

fn run(
    git: &Git,
    place: Place,
    command: &[&str],
    sides: Sides<'_>,
) -> Result<MergeOutput, WorktreeError> {
    let child = |side: &str, base: &Commit| child(git, side, base).map(|made| made.to_string());
    let [ours, theirs] = [sides.ours, sides.theirs];
    let [ours, theirs] = match sides.base {
        Base::Ancestors => [ours.to_owned(), theirs.to_owned()],
        Base::Commit(base) => [child(ours, base)?, child(theirs, base)?],
        Base::OfOurs(base) => [ours.to_owned(), child(theirs, base)?],
        Base::OfTheirs(base) => [child(ours, base)?, theirs.to_owned()],
    };
    let arguments = command.iter().copied().chain(["--write-tree", "-z", &ours, &theirs]);
    let (clean, said) = git.answer(arguments, &[])?;
    let mut output = read_merge(&said, place)?;
    // One is never without the other.
    match clean == output.conflicts.is_empty() {
        true => Ok(output),
        false if clean => {
            output.conflicts.clear();
            Ok(output)
        }
        false => Err(wrong(&said)),
    }
}

/// Reads what `git merge-tree --write-tree -z` prints: the directory; of files in conflict their versions; what git says of each.
pub(crate) fn read_merge(said: &[u8], place: Place) -> Result<MergeOutput, WorktreeError> {
    let said = said.strip_suffix(b"\0").unwrap_or(said);
    let mut fields = said.split(|byte| *byte == 0);
    let tree = Tree::parse(&text(fields.next().unwrap_or_default()))?;
    let mut versions = Vec::new();
    for line in fields.by_ref().take_while(|line| !line.is_empty()) {
        versions.push(version(line)?);
    }
    let mut conflicts = Vec::new();
    while let Some(count) = fields.next() {
        let count: usize = text(count).parse().map_err(|_| wrong(count))?;
        let mut paths = Vec::new();
        for _ in 0..count {
            paths.push(path(fields.next().ok_or_else(|| wrong(said))?));
        }
        let (Some(kind), Some(message)) = (fields.next(), fields.next()) else {
            return Err(wrong(said));
        };
        let kind = text(kind);
        // The others say what went well.
        if kind.starts_with("CONFLICT") && !paths.is_empty() {
            conflicts.push(conflict((place, &versions), paths, &kind, &text(message)));
        }
    }
    // Git says of a file that is not text that its contents conflict, too.
    let binary: Vec<PathBuf> = conflicts
        .iter()
        .filter(|conflict| conflict.kind == ConflictKind::Binary)
        .map(|conflict| conflict.path.clone())
        .collect();
    let is_double = |conflict: &Conflict| {
        let kinds = [ConflictKind::Content, ConflictKind::AddAdd];
        kinds.contains(&conflict.kind) && binary.contains(&conflict.path)
    };
    conflicts.retain(|conflict| !is_double(conflict));
    // None is left out, whatever git said of it.
    for (path, ..) in &versions {
        let is_named =
            |conflict: &Conflict| conflict.path == *path || conflict.others.contains(path);
        if !conflicts.iter().any(is_named) {
            let message = "cannot be merged";
            conflicts.push(conflict((place, &versions), vec![path.clone()], message, message));
        }
    }
    Ok(MergeOutput { tree, conflicts })
}

type Version = (PathBuf, u8, Stage);

/// One version of a file in conflict: mode, object, number, a tab, path.
fn version(line: &[u8]) -> Result<Version, WorktreeError> {
    let tab = line.iter().position(|byte| *byte == b'\t').ok_or_else(|| wrong(line))?;
    let head = text(&line[..tab]);
    let mut words = head.split(' ');
    let (Some(mode), Some(object), Some(number)) = (words.next(), words.next(), words.next())
    else {
        return Err(wrong(line));
    };
    let mode = Mode::read(mode).ok_or_else(|| wrong(line))?;
    let number = number.parse().map_err(|_| wrong(line))?;
    Ok((path(&line[tab + 1..]), number, Stage { mode, object: object.to_owned() }))
}

fn conflict(
    (place, versions): (Place, &[Version]),
    mut paths: Vec<PathBuf>,
    kind: &str,
    message: &str,
) -> Conflict {
    let stage = |number: u8| {
        let mine = |(at, of, _): &&Version| paths.first() == Some(at) && *of == number;
        versions.iter().find(mine).map(|(.., stage)| stage.clone())
    };
    let [base, ours, theirs] = [1, 2, 3].map(stage);
    let inner = kind.split_once('(').and_then(|(_, rest)| rest.split_once(')'));
    let kind = match inner.map_or(kind, |(inner, _)| inner) {
        "contents" if base.is_none() => ConflictKind::AddAdd,
        "contents" => ConflictKind::Content,
        "binary" => ConflictKind::Binary,
        "file/directory" => ConflictKind::FileDirectory,
        "distinct modes" => ConflictKind::Mode,
        "modify/delete" => ConflictKind::ModifyDelete,
        "rename/rename" | "rename involved in collision" => ConflictKind::RenameRename,
        "rename/delete" => ConflictKind::RenameDelete,
        inner if inner.contains("directory rename") => ConflictKind::DirectoryRename,
        inner if inner.starts_with("submodule") => ConflictKind::Submodule,
        inner => ConflictKind::Other(inner.to_owned()),
    };
    if kind == ConflictKind::FileDirectory && paths.len() > 1 {
        // Git tells the name that it would give the file before the one that it has.
        paths.swap(0, 1);
    }
    let others = paths.split_off(1);
    let path = paths.pop().unwrap_or_default();
    let explanation = explain(&kind, ours.is_some(), message);
    Conflict { path, others, kind, place, base, ours, theirs, explanation }
}

fn explain(kind: &ConflictKind, is_ours: bool, message: &str) -> String {
    let ours = match kind {
        ConflictKind::Content => "the checkout and the work changed the same lines",
        ConflictKind::AddAdd => "the checkout and the work each have a new file of this name",
        ConflictKind::Binary => "the checkout and the work changed it, and it is not text",
        ConflictKind::ModifyDelete if is_ours => "the checkout changed it, the work deleted it",
        ConflictKind::ModifyDelete => "the work changed it, the checkout deleted it",
        ConflictKind::FileDirectory => "one side has a file here, the other a directory",
        ConflictKind::Mode => "one side made a file of it, the other a link",
        ConflictKind::RenameRename => "the checkout and the work renamed to different places",
        ConflictKind::RenameDelete => "one side renamed it, the other deleted it",
        ConflictKind::DirectoryRename => "one side renamed a directory that the other works in",
        ConflictKind::Submodule => "the checkout and the work changed a submodule",
        // Git's words end with a line feed and may have several lines.
        ConflictKind::Other(_) => message.lines().next().unwrap_or_default(),
    };
    ours.to_owned()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Most bytes of such an output that a message repeats.
const SHOWN_BYTES_MAX: usize = 200;

fn wrong(bytes: &[u8]) -> WorktreeError {
    WorktreeError::Output {
        what: "result of a merge",
        text: text(&bytes[..bytes.len().min(SHOWN_BYTES_MAX)]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

    #[test]
    fn a_clean_merge_is_a_directory() {
        let read = read_merge(format!("{TREE}\0").as_bytes(), Place::Files).unwrap();
        assert_eq!((read.tree.as_str(), read.conflicts.len()), (TREE, 0));
    }

    #[test]
    fn conflicts_have_their_versions_and_a_line_for_people() {
        let stage = |number: u8, path: &str| format!("100644 {TREE} {number}\t{path}\0");
        let said = format!(
            "{TREE}\0{}{}{}{}{}{}\0\
             1\0a\0Auto-merging\0Auto-merging a\n\0\
             1\0a\0CONFLICT (contents)\0CONFLICT (content): Merge conflict in a\n\0\
             1\0b\0CONFLICT (modify/delete)\0CONFLICT (modify/delete): b deleted in x\n\0\
             2\0c\0d\0CONFLICT (new trick)\0CONFLICT (new trick): c and d\nmore\n\0",
            stage(1, "a"),
            stage(2, "a"),
            stage(3, "a"),
            stage(1, "b"),
            stage(3, "b"),
            stage(2, "e"),
        );
        let read = read_merge(said.as_bytes(), Place::Files).unwrap();
        let shown: Vec<String> = read
            .conflicts
            .iter()
            .map(|conflict| {
                let versions = [&conflict.base, &conflict.ours, &conflict.theirs]
                    .map(|stage| if stage.is_some() { '1' } else { '0' });
                let versions = String::from_iter(versions);
                let path = conflict.path.display();
                format!("{path} {:?} {versions}: {}", conflict.kind, conflict.explanation)
            })
            .collect();
        insta::assert_snapshot!(shown.join("\n"), @r#"
        a Content 111: the checkout and the work changed the same lines
        b ModifyDelete 101: the work changed it, the checkout deleted it
        c Other("new trick") 000: CONFLICT (new trick): c and d
        e Other("cannot be merged") 010: cannot be merged
        "#);
    }

    #[test]
    fn what_is_not_such_an_output_is_refused() {
        for broken in ["", "tree\0", "4b825dc642cb6eb9a060e54bf8d69288fbee4904\0x\0"] {
            assert!(read_merge(broken.as_bytes(), Place::Files).is_err(), "{broken}");
        }
        let cut = format!("{TREE}\0\x005\0a\0");
        assert!(read_merge(cut.as_bytes(), Place::Files).is_err());
    }

    #[test]
    fn a_merge_begins_with_the_given_commit_whatever_the_sides_descend_from() {
        let directory = tempfile::tempdir().unwrap();
        let git = Git::at(directory.path());
        git.run(["init", "-q"]).unwrap();
        let commit = |lines: [&str; 3], parents: &[&Commit], now_ms| {
            let said = git.fed(["hash-object", "-w", "--stdin"], lines.join("\n\n\n").as_bytes());
            let blob = String::from_utf8(said.unwrap()).unwrap();
            let line = format!("100644 blob {}\tfile\n", blob.trim());
            let tree = git.fed(["mktree"], line.as_bytes()).unwrap();
            let tree = Tree::parse(&String::from_utf8(tree).unwrap()).unwrap();
            crate::snapshot::commit(&git, &tree, parents, "a state", now_ms).unwrap()
        };
        let content = |tree: &Tree| git.text(["cat-file", "-p", &format!("{tree}:file")]).unwrap();
        // Younger than what comes from it, and than the date of the children.
        let base = commit(["1", "2", "3"], &[], CHILD_MS + 1000);
        let ours = commit(["1", "2", "ours"], &[], 1000);
        let older = commit(["theirs", "2", "ours"], &[&ours], 2000);
        let of_ours = commit(["1", "2", "ours"], &[&base], 1000);
        let of_theirs = commit(["theirs", "2", "3"], &[&base, &older], 3000);
        let merged = |base, ours: &Commit, theirs: &Commit| {
            let sides = Sides { base, ours: ours.as_str(), theirs: theirs.as_str() };
            merge(&git, Place::Files, sides).unwrap()
        };
        for found in [
            merged(Base::Commit(&base), &ours, &of_theirs),
            merged(Base::OfOurs(&base), &of_ours, &of_theirs),
            merged(Base::OfTheirs(&base), &ours, &of_theirs),
        ] {
            assert_eq!(content(&found.tree), "theirs\n\n\n2\n\n\nours");
            assert_eq!(found.conflicts, []);
        }
        // Their common ancestor is the other side itself: nothing of ours is new.
        let found = merged(Base::Ancestors, &ours, &of_theirs);
        assert_eq!(content(&found.tree), "theirs\n\n\n2\n\n\n3");
        let found = merged(Base::Commit(&of_theirs), &ours, &base);
        assert_eq!(content(&found.tree), "1\n\n\n2\n\n\nours");
        let found = merged(Base::Commit(&of_ours), &of_theirs, &older);
        assert_eq!(content(&found.tree), "theirs\n\n\n2\n\n\n3");
    }
}
