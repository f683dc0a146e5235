//! What a checkout holds at one moment, as commits that nobody sees.
//!
//! Everything goes through throw-away copies of the index. The copies know which files are as git last saw them, so only
//! what changed is read. The checkout is only looked at; what is written are objects, which git forgets by itself where no ref holds them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Refusal, WorktreeError};
use crate::exact::{Exact, LeftOut, LeftOutKind, Look, Others};
use crate::git::{Git, parts, path};
use crate::ids::{Commit, Tree};
use crate::removing::is_gone;
use crate::repository::Repository;
use crate::scratch::{Scratch, copy_index};

/// What a worktree starts from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Start {
    /// All that the checkout holds: HEAD, what is staged, what is not, and files that git does not know yet.
    #[default]
    State,
    /// HEAD alone.
    Clean,
    /// A commit by any name that git knows it by.
    At(String),
}

/// What a checkout held: three commits, one on the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// HEAD. Without a commit yet, an empty one that only this snapshot knows.
    pub base: Commit,
    /// What was staged.
    pub index: Commit,
    /// Every file as it stood: staged, changed, and new ones that are not ignored. Its parents are `base` and `index`.
    pub work: Commit,
    /// The directory of `base`.
    pub base_tree: Tree,
    /// The directory of `index`.
    pub index_tree: Tree,
    /// The directory of `work`.
    pub work_tree: Tree,
    /// The part of the files that those do not hold; `None` where they hold all. The third parent of `work`.
    pub(crate) exact: Option<Box<Exact>>,
}

/// A snapshot, and the throw-away indexes that it was taken with.
pub(crate) struct Taken {
    pub(crate) snapshot: Snapshot,
    pub(crate) scratch: Scratch,
    /// Every file of the snapshot, relative to the checkout.
    pub(crate) files: Vec<PathBuf>,
    /// Where submodules belong whose files are not there.
    pub(crate) submodules: Vec<PathBuf>,
    /// Entries of the index, as lines, that git was told to overlook and whose files count all the same.
    overlooked: Vec<u8>,
    /// Folders whose files the snapshot has none of: those of submodules, and where files in conflict are taken as they stand those
    /// of other repositories.
    pub(crate) left_out: Vec<PathBuf>,
    /// Things that git knows nothing of.
    pub(crate) others: Others,
}

/// What a checkout holds, without commits.
#[derive(Debug, Clone)]
pub(crate) struct Trees {
    /// What is staged.
    pub(crate) index: Tree,
    /// Every file as it stands.
    pub(crate) work: Tree,
}

/// What is done about files that are in conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Conflicts {
    /// They are refused: a worktree could not be in the same conflict.
    Refuse,
    /// Their files are taken as they stand, and of the index what HEAD has; other repositories inside are left out and named. For
    /// what is kept of somebody's work, whatever they have done to it.
    AsFiles,
}

impl Repository {
    /// Takes a snapshot of what the checkout holds. `now_ms`: milliseconds since the Unix epoch, for the dates of the commits.
    pub fn snapshot(&self, now_ms: i64) -> Result<Snapshot, WorktreeError> {
        Ok(self.take(Conflicts::Refuse, now_ms)?.snapshot)
    }

    /// Files that a merge, or something like it, left in conflict here: relative to the top.
    pub fn in_conflict(&self) -> Result<Vec<PathBuf>, WorktreeError> {
        let scratch = Scratch::new()?;
        scratch.copy_from(self)?;
        let listed = list(&self.git().with_index(&scratch.index()))?;
        Ok(unmerged(&entries(&listed)?))
    }

    pub(crate) fn take(&self, conflicts: Conflicts, now_ms: i64) -> Result<Taken, WorktreeError> {
        let scratch = Scratch::new()?;
        let git = self.git();
        let index = git.with_index(&scratch.index());
        scratch.copy_from(self)?;
        let listed = list(&index)?;
        let before = entries(&listed)?;
        let (base, base_tree) = self.base_and_tree(now_ms)?;
        let unmerged = unmerged(&before);
        if !unmerged.is_empty() {
            match conflicts {
                Conflicts::Refuse => {
                    let operation = self.operation();
                    return Err(Refusal::Unmerged { operation, paths: unmerged }.into());
                }
                Conflicts::AsFiles => settle(&index, &base, &unmerged)?,
            }
        }
        let left_out = match conflicts {
            // A submodule stays at the commit that is staged; whoever forks names those that have files.
            Conflicts::Refuse => self.submodules_with_files(&before),
            Conflicts::AsFiles => self.repositories_inside(&index, &before)?,
        };
        let index_tree = Tree::parse(&index.text(["write-tree"])?)?;
        copy_index(&scratch.index(), &scratch.work())?;
        let work = git.with_index(&scratch.work());
        let overlooked = self.overlooked(&listed);
        look_at(&work, &overlooked)?;
        self.add_all(&work, &left_out)?;
        let after = entries(&list(&work)?)?;
        refuse_embedded(&before, &after)?;
        let work_tree = Tree::parse(&work.text(["write-tree"])?)?;
        let mut others = self.others(&work, &after, &left_out)?;
        let look = Look {
            work: &work,
            scratch: &scratch,
            listed: &listed,
            entries: &after,
            others: &others,
            base: &base,
            work_tree: &work_tree,
            now_ms,
        };
        let exact = self.exact(&look)?;
        if self.find_commit(&self.head()?)?.is_none() {
            let head = LeftOut { path: PathBuf::from("HEAD"), kind: LeftOutKind::UnbornHead };
            others.left_out.push(head);
        }
        let (submodules, files): (Vec<_>, Vec<_>) =
            after.into_iter().partition(Entry::is_repository);
        let [submodules, files] =
            [submodules, files].map(|found| found.into_iter().map(|entry| entry.path).collect());
        let trees = Trees { index: index_tree, work: work_tree };
        let snapshot = commits(&git, (base, base_tree), trees, (exact, now_ms))?;
        Ok(Taken { snapshot, scratch, files, submodules, overlooked, left_out, others })
    }

    /// HEAD of the checkout, as a snapshot in which nothing was changed.
    pub fn snapshot_of_head(&self, now_ms: i64) -> Result<Snapshot, WorktreeError> {
        self.snapshot_of(self.base(now_ms)?, now_ms)
    }

    /// Returns the state with what git's commits do not hold of it. This checkout was just filled with it, and its index has every file.
    pub(crate) fn with_exact(
        &self,
        state: &Snapshot,
        now_ms: i64,
    ) -> Result<Snapshot, WorktreeError> {
        let scratch = Scratch::new()?;
        scratch.copy_from(self)?;
        copy_index(&scratch.index(), &scratch.work())?;
        let (git, work) = (self.git(), self.git().with_index(&scratch.work()));
        let listed = list(&work)?;
        let entries = entries(&listed)?;
        let (base, work_tree) = (&state.base, &state.work_tree);
        let look = Look {
            work: &work,
            scratch: &scratch,
            listed: &listed,
            entries: &entries,
            others: &Others::default(),
            base,
            work_tree,
            now_ms,
        };
        let Some(exact) = self.exact(&look)? else { return Ok(state.clone()) };
        let trees = Trees { index: state.index_tree.clone(), work: work_tree.clone() };
        let base = (base.clone(), state.base_tree.clone());
        commits(&git, base, trees, (Some(exact), now_ms))
    }

    /// The commit that `start` names, as a snapshot in which nothing was changed.
    pub(crate) fn snapshot_of(
        &self,
        commit: Commit,
        now_ms: i64,
    ) -> Result<Snapshot, WorktreeError> {
        let git = self.git();
        let tree = tree_of(&git, &commit)?;
        let trees = Trees { index: tree.clone(), work: tree.clone() };
        commits(&git, (commit, tree), trees, (None, now_ms))
    }

    /// A commit by any name that git knows it by.
    pub(crate) fn commit(&self, name: &str) -> Result<Commit, WorktreeError> {
        let found = self.find_commit(name)?;
        found.ok_or_else(|| Refusal::NoCommit(name.to_owned()).into())
    }

    pub(crate) fn find_commit(&self, name: &str) -> Result<Option<Commit>, WorktreeError> {
        let peeled = format!("{name}^{{commit}}");
        let arguments = ["rev-parse", "--verify", "--quiet", "--end-of-options", &peeled];
        let (found, said) = self.git().answer(arguments, &[])?;
        found.then(|| Commit::parse(&String::from_utf8_lossy(&said))).transpose()
    }

    /// HEAD, or an empty commit where there is none yet.
    pub(crate) fn base(&self, now_ms: i64) -> Result<Commit, WorktreeError> {
        if let Some(head) = self.find_commit(&self.head()?)? {
            return Ok(head);
        }
        let git = self.git();
        let empty = Tree::parse(&git.text(["mktree"])?)?;
        commit(&git, &empty, &[], "nothing yet", now_ms)
    }

    fn base_and_tree(&self, now_ms: i64) -> Result<(Commit, Tree), WorktreeError> {
        let git = self.git();
        // Both at once where there is a commit.
        let head = self.head()?;
        let asked = format!("{head}^{{commit}}\n{head}^{{tree}}\n");
        let said =
            git.fed(["cat-file", "--batch-check=%(objectname)", "--buffer"], asked.as_bytes())?;
        let said = String::from_utf8_lossy(&said);
        let mut lines = said.lines();
        if let (Some(commit), Some(tree)) = (lines.next(), lines.next())
            && let (Ok(commit), Ok(tree)) = (Commit::parse(commit), Tree::parse(tree))
        {
            return Ok((commit, tree));
        }
        let base = self.base(now_ms)?;
        let tree = tree_of(&git, &base)?;
        Ok((base, tree))
    }

    /// What a checkout of our own holds that was forked just now of `taken`: its index is whole, and no other repository is in it.
    pub(crate) fn trees(&self, taken: &Taken) -> Result<Trees, WorktreeError> {
        let scratch = Scratch::new()?;
        copy_index(&self.index(), &scratch.work())?;
        let index = Tree::parse(&self.git().text(["write-tree"])?)?;
        let work = self.git().with_index(&scratch.work());
        look_at(&work, &taken.overlooked)?;
        self.add_all(&work, &[])?;
        let work = Tree::parse(&work.text(["write-tree"])?)?;
        Ok(Trees { index, work })
    }

    /// Of the lines of an index those that it was told to overlook, without their first letter, where that would hide what the
    /// checkout holds. A file that is not meant to be there, and is not, is as the index has it.
    fn overlooked(&self, listed: &[u8]) -> Vec<u8> {
        let mut lines = Vec::new();
        for line in parts(listed) {
            let Some((&[tag, b' '], rest)) = line.split_first_chunk() else { continue };
            let Ok(entry) = entry(rest) else { continue };
            let is_told = tag == b'S' || tag.is_ascii_lowercase();
            let is_sparse = tag.eq_ignore_ascii_case(&b'S');
            let is_there = || fs::symlink_metadata(self.top().join(&entry.path)).is_ok();
            if is_told && entry.stage == 0 && (!is_sparse || is_there()) {
                lines.extend_from_slice(rest);
                lines.push(0);
            }
        }
        lines
    }

    /// Brings every file into the index of `git` but those of `left_out`.
    fn add_all(&self, git: &Git, left_out: &[PathBuf]) -> Result<(), WorktreeError> {
        let mut wanted = b".\0".to_vec();
        for path in left_out {
            wanted.extend_from_slice(b":(top,exclude,literal)");
            wanted.extend_from_slice(path.as_os_str().as_encoded_bytes());
            wanted.push(0);
        }
        let add = ["add", "--all", "--sparse"];
        let listed = ["--pathspec-from-file=-", "--pathspec-file-nul"];
        let added = if left_out.is_empty() {
            git.run(add)
        } else {
            git.fed(add.into_iter().chain(listed), &wanted)
        };
        let Err(error) = added else { return Ok(()) };
        // The usual reason, which git says in many words: a repository that has no commit yet.
        let repositories = self.embedded(git)?;
        if repositories.is_empty() {
            Err(error)
        } else {
            Err(Refusal::Embedded(repositories).into())
        }
    }

    /// Repositories inside that the index of `git` does not know.
    fn embedded(&self, git: &Git) -> Result<Vec<PathBuf>, WorktreeError> {
        let others = git.run(["ls-files", "--others", "--exclude-standard", "-z"])?;
        Ok(parts(&others).filter_map(|found| found.strip_suffix(b"/")).map(path).collect())
    }

    /// All repositories inside that have files, by a look at the index alone.
    pub(crate) fn repositories(&self) -> Result<Vec<PathBuf>, WorktreeError> {
        let scratch = self.take_index()?;
        let git = self.git().with_index(&scratch.index());
        self.repositories_inside(&git, &entries(&list(&git)?)?)
    }

    /// All folders of repositories inside that have files: those that the index knows, and others.
    fn repositories_inside(
        &self,
        git: &Git,
        entries: &[Entry],
    ) -> Result<Vec<PathBuf>, WorktreeError> {
        let mut found = self.submodules_with_files(entries);
        found.extend(self.embedded(git)?);
        found.sort();
        found.dedup();
        Ok(found)
    }

    /// The folders of submodules in which anything is. Git looks into none of them, whether or not a repository is there.
    fn submodules_with_files(&self, entries: &[Entry]) -> Vec<PathBuf> {
        let has_files =
            |entry: &&Entry| entry.is_repository() && is_filled(self.top(), &entry.path);
        entries.iter().filter(has_files).map(|entry| entry.path.clone()).collect()
    }

    /// Submodules of the checkout that have files, of which a fork has none: they stay at the commits that are staged.
    pub fn submodules(&self) -> Result<Vec<PathBuf>, WorktreeError> {
        let scratch = self.take_index()?;
        let git = self.git().with_index(&scratch.index());
        Ok(self.submodules_with_files(&entries(&list(&git)?)?))
    }

    /// Submodules of the checkout that have no files.
    pub fn empty_submodules(&self) -> Result<Vec<PathBuf>, WorktreeError> {
        let scratch = self.take_index()?;
        let git = self.git().with_index(&scratch.index());
        let entries = entries(&list(&git)?)?;
        let filled = self.submodules_with_files(&entries);
        let submodules = entries.into_iter().filter(Entry::is_repository).map(|entry| entry.path);
        Ok(submodules.filter(|path| !filled.contains(path)).collect())
    }
}

/// Whether anything is in a directory below `top`; one that cannot be read counts. A link in its place, or above it, is none: git sees it
/// itself, and what it leads to is elsewhere.
fn is_filled(top: &Path, folder: &Path) -> bool {
    let is_folder = |path: &Path| match fs::symlink_metadata(top.join(path)) {
        Ok(about) => about.is_dir(),
        Err(error) => !is_gone(&error),
    };
    let has_entries = || match fs::read_dir(top.join(folder)) {
        Ok(mut entries) => entries.next().is_some(),
        Err(error) => !is_gone(&error),
    };
    folder.ancestors().all(is_folder) && has_entries()
}

/// One entry of an index.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) mode: String,
    pub(crate) object: String,
    stage: u8,
    pub(crate) path: PathBuf,
}

impl Entry {
    /// Whether it is another repository: a submodule, or one that git was not told of.
    pub(crate) fn is_repository(&self) -> bool {
        self.mode == "160000"
    }
}

/// Every entry of an index as a line: a letter that says what it was told of the file, and what [`entry`] reads.
fn list(git: &Git) -> Result<Vec<u8>, WorktreeError> {
    git.run(["ls-files", "--stage", "-v", "-z"])
}

fn entries(listed: &[u8]) -> Result<Vec<Entry>, WorktreeError> {
    parts(listed).map(|line| entry(line.get(2..).unwrap_or_default())).collect()
}

/// Lets the index of `git` look at these files again: an entry that is set anew was told nothing.
fn look_at(git: &Git, overlooked: &[u8]) -> Result<(), WorktreeError> {
    if overlooked.is_empty() {
        Ok(())
    } else {
        git.fed(["update-index", "-z", "--index-info"], overlooked).map(drop)
    }
}

/// One line of `git ls-files --stage`: mode, object, stage, a tab, path.
pub(crate) fn entry(line: &[u8]) -> Result<Entry, WorktreeError> {
    let wrong = || WorktreeError::Output {
        what: "line of the index",
        text: String::from_utf8_lossy(line).into_owned(),
    };
    let tab = line.iter().position(|byte| *byte == b'\t').ok_or_else(wrong)?;
    let head = std::str::from_utf8(&line[..tab]).map_err(|_| wrong())?;
    let mut words = head.split(' ');
    let (Some(mode), Some(object), Some(stage)) = (words.next(), words.next(), words.next()) else {
        return Err(wrong());
    };
    let stage = stage.parse().map_err(|_| wrong())?;
    let (mode, object) = (mode.to_owned(), object.to_owned());
    Ok(Entry { mode, object, stage, path: path(&line[tab + 1..]) })
}

/// Takes the files in conflict out of the index of `git`, which has of them what `base` has then. All else stays, with what the index
/// was told of it: which files are not meant to be there.
fn settle(git: &Git, base: &Commit, unmerged: &[PathBuf]) -> Result<(), WorktreeError> {
    let nothing = "0".repeat(base.as_str().len());
    let mut lines = Vec::new();
    for path in unmerged {
        lines.extend_from_slice(format!("0 {nothing}\t").as_bytes());
        lines.extend_from_slice(path.as_os_str().as_encoded_bytes());
        lines.push(0);
    }
    for line in parts(&git.run(["ls-tree", "-r", "-z", "--full-tree", base.as_str()])?) {
        let path_at = line.iter().position(|byte| *byte == b'\t').map_or(line.len(), |tab| tab + 1);
        if unmerged.binary_search(&path(&line[path_at..])).is_ok() {
            lines.extend_from_slice(line);
            lines.push(0);
        }
    }
    git.fed(["update-index", "--replace", "-z", "--index-info"], &lines).map(drop)
}

fn unmerged(entries: &[Entry]) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        entries.iter().filter(|entry| entry.stage != 0).map(|entry| entry.path.clone()).collect();
    paths.sort();
    paths.dedup();
    paths
}

/// Refuses repositories that the index did not have before every file came into it.
fn refuse_embedded(before: &[Entry], after: &[Entry]) -> Result<(), WorktreeError> {
    let known =
        |path: &Path| before.iter().any(|entry| entry.is_repository() && entry.path == path);
    let embedded: Vec<PathBuf> = after
        .iter()
        .filter(|entry| entry.is_repository() && !known(&entry.path))
        .map(|entry| entry.path.clone())
        .collect();
    if embedded.is_empty() { Ok(()) } else { Err(Refusal::Embedded(embedded).into()) }
}

/// The commits of a snapshot, one on the other.
pub(crate) fn commits(
    git: &Git,
    (base, base_tree): (Commit, Tree),
    trees: Trees,
    (exact, now_ms): (Option<Exact>, i64),
) -> Result<Snapshot, WorktreeError> {
    let Trees { index: index_tree, work: work_tree } = trees;
    let index = commit(git, &index_tree, &[&base], "what was staged", now_ms)?;
    let parents: Vec<&Commit> =
        [&base, &index].into_iter().chain(exact.as_ref().map(|exact| &exact.commit)).collect();
    let work = commit(git, &work_tree, &parents, "every file as it stood", now_ms)?;
    let exact = exact.map(Box::new);
    Ok(Snapshot { base, index, work, base_tree, index_tree, work_tree, exact })
}

/// Makes a commit that no ref leads to.
pub(crate) fn commit(
    git: &Git,
    tree: &Tree,
    parents: &[&Commit],
    message: &str,
    now_ms: i64,
) -> Result<Commit, WorktreeError> {
    let message = format!("tine: {message}");
    let mut arguments = vec!["commit-tree", tree.as_str(), "-m", message.as_str()];
    for parent in parents {
        arguments.extend(["-p", parent.as_str()]);
    }
    Commit::parse(&git.as_tine(now_ms).text(arguments)?)
}

/// Makes a commit with one parent that no ref leads to, and with this message.
pub(crate) fn message_commit(
    git: &Git,
    tree: &Tree,
    parent: &Commit,
    message: &str,
    now_ms: i64,
) -> Result<Commit, WorktreeError> {
    let arguments = ["commit-tree", tree.as_str(), "-p", parent.as_str(), "-F", "-"];
    let said = git.as_tine(now_ms).fed(arguments, message.as_bytes())?;
    Commit::parse(&String::from_utf8_lossy(&said))
}

pub(crate) fn tree_of(git: &Git, commit: &Commit) -> Result<Tree, WorktreeError> {
    Tree::parse(&git.text(["rev-parse", "--verify", &format!("{commit}^{{tree}}")])?)
}
