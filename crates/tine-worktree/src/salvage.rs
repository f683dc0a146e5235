//! What is kept of worktrees by refs below `refs/tine/`, and how it comes back.

use std::fs::{self, File};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use crate::error::{Refusal, WorktreeError};
use crate::exact::{Exact, over};
use crate::fault;
use crate::git::{Git, parts};
use crate::ids::{Commit, Name, Tree};
use crate::making::{DOT_GIT, Making};
use crate::repository::{Repository, head_in};
use crate::scratch::{Scratch, copy_index};
use crate::snapshot::{Snapshot, commit, tree_of};
use crate::worktree::{NewWorktree, Worktree};

impl Repository {
    /// What a worktree of this name started from, and what it held when it was last kept.
    pub fn kept(&self, name: &Name) -> Result<(Snapshot, Option<Snapshot>), WorktreeError> {
        self.find_kept(name)?.ok_or_else(|| Refusal::Unknown(name.to_string()).into())
    }

    /// Returns the same as [`kept`](Self::kept); `None` where nothing is kept.
    pub fn find_kept(
        &self,
        name: &Name,
    ) -> Result<Option<(Snapshot, Option<Snapshot>)>, WorktreeError> {
        let Some(start) = self.ref_at(&name.start_ref())? else { return Ok(None) };
        let end = self.ref_at(&name.end_ref())?;
        let git = self.git();
        let end = end.map(|end| Snapshot::read(&git, end)).transpose()?;
        Ok(Some((Snapshot::read(&git, start)?, end)))
    }

    /// Where the files of this worktree are there and only the one is lost by which git knows them as its own, writes that one again, so
    /// that the worktree is ready as it stands. Not where git knows of none at `path`, or of several: somebody would have forged one.
    /// Returns whether it was so.
    pub fn link_again(&self, name: &Name, path: &Path) -> Result<bool, WorktreeError> {
        let is_folder = fs::symlink_metadata(path).is_ok_and(|about| about.is_dir());
        let [git_dir] = &self.git_dirs_of(name, path)?[..] else { return Ok(false) };
        if !is_folder {
            return Ok(false);
        }
        let file = path.join(DOT_GIT);
        let text = [b"gitdir: ", git_dir.as_os_str().as_encoded_bytes(), b"\n"].concat();
        // Whatever stands there by now is left.
        let written = fault::step()
            .and_then(|()| File::create_new(&file))
            .and_then(|mut created| created.write_all(&text));
        match written {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
            Err(source) => Err(WorktreeError::file("write", &file, source)),
        }
    }

    /// Makes a worktree that was removed again, as it was when it was last kept. Of one that was removed unchanged nothing is kept: it
    /// begins as this checkout stands now.
    pub fn recover(
        &self,
        name: &Name,
        path: PathBuf,
        now_ms: i64,
    ) -> Result<Worktree, WorktreeError> {
        if self.worktree(name, &path).is_ok() {
            return Err(Refusal::Taken(name.to_string()).into());
        }
        // What this finds is kept as well.
        self.tidy(name, &path)?;
        let kept = self.find_kept(name)?;
        self.refuse_existing(&path)?;
        let new = NewWorktree { name: name.clone(), path, start: Default::default(), now_ms };
        let Some((start, end)) = kept else { return self.fork(&new) };
        self.fork_commit(&new, Making::Again, &start, end.as_ref().unwrap_or(&start))
    }

    /// Forgets what is kept of a worktree. Git removes the objects when it next collects what nothing leads to.
    pub fn forget(&self, name: &Name) -> Result<(), WorktreeError> {
        self.forget_befores(name)?;
        self.delete_ref(&name.end_ref())?;
        self.delete_ref(&name.start_ref())
    }

    /// Holds what git knows of a worktree whose files somebody removed: its commits, and what was staged. What was kept before stays
    /// as it is where it has those commits; otherwise it becomes what is laid over, so that no file of it is lost that was not in git.
    pub(crate) fn hold_rest(&self, name: &Name, git_dir: &Path) -> Result<(), WorktreeError> {
        let Some(start) = self.ref_at(&name.start_ref())? else { return Ok(()) };
        let Some(head) = self.rest_head(git_dir)? else { return Ok(()) };
        let (git, end) = (self.git(), self.ref_at(&name.end_ref())?);
        let has_end = end.is_some();
        let kept = Snapshot::read(&git, end.unwrap_or(start))?;
        let ancestry = ["merge-base", "--is-ancestor", head.as_str(), kept.base.as_str()];
        let has_commits = head == kept.base || git.answer(ancestry, &[])?.0;
        let staged = self.rest_index(git_dir)?;
        let is_same = staged.as_ref().is_none_or(|staged| *staged == kept.index_tree);
        if has_commits && (has_end || is_same) {
            return Ok(());
        }
        let staged = staged.map_or_else(|| tree_of(&git, &head), Ok)?;
        let work = lay_over(&git, &kept, &staged)?;
        // Nobody knows when its files went; not before this.
        let seconds = git.text(["show", "--no-patch", "--format=%ct", head.as_str()])?;
        let made_ms = seconds.trim().parse::<i64>().unwrap_or(0).saturating_mul(1000);
        let index = commit(&git, &staged, &[&head], "what was staged", made_ms)?;
        // By the third parent, what was kept before is found by whoever looks for it.
        let exact = over(&git, &kept, (&work, &head), made_ms)?;
        let exact = exact.iter().map(|exact| &exact.commit);
        let parents: Vec<&Commit> = [&head, &index, &kept.work].into_iter().chain(exact).collect();
        let rest =
            commit(&git, &work, &parents, "what git knew of a worktree that was gone", made_ms)?;
        self.set_ref(&name.end_ref(), &rest)
    }

    /// The commit that HEAD in git's own part of a worktree leads to; `None` where there is none.
    fn rest_head(&self, git_dir: &Path) -> Result<Option<Commit>, WorktreeError> {
        match head_in(git_dir) {
            Ok(head) => self.find_commit(&head),
            Err(error) => {
                tracing::warn!(%error, "HEAD of a worktree that is gone leads nowhere");
                Ok(None)
            }
        }
    }

    /// What the index in git's own part of a worktree has; `None` where there is none, or none that says what a commit could hold.
    fn rest_index(&self, git_dir: &Path) -> Result<Option<Tree>, WorktreeError> {
        let scratch = Scratch::new()?;
        if !git_dir.join("index").exists() {
            return Ok(None);
        }
        let tree = copy_index(&git_dir.join("index"), &scratch.index())
            .and_then(|()| self.git().with_index(&scratch.index()).text(["write-tree"]))
            .and_then(|said| Tree::parse(&said));
        Ok(tree
            .inspect_err(
                |error| tracing::warn!(%error, "passed over the index of a worktree that is gone"),
            )
            .ok())
    }

    pub(crate) fn ref_at(&self, name: &str) -> Result<Option<Commit>, WorktreeError> {
        let (found, said) = self.git().answer(["rev-parse", "--verify", "--quiet", name], &[])?;
        found.then(|| Commit::parse(&String::from_utf8_lossy(&said))).transpose()
    }

    pub(crate) fn set_ref(&self, name: &str, commit: &Commit) -> Result<(), WorktreeError> {
        self.git().run(["update-ref", name, commit.as_str()]).map(drop)
    }

    pub(crate) fn delete_ref(&self, name: &str) -> Result<(), WorktreeError> {
        self.git().run(["update-ref", "-d", name]).map(drop)
    }

    /// A copy of the index of the checkout, and nothing else.
    pub(crate) fn take_index(&self) -> Result<Scratch, WorktreeError> {
        let scratch = Scratch::new()?;
        scratch.copy_from(self)?;
        Ok(scratch)
    }
}

/// The files of `kept`, and over them what `staged` has otherwise than its index had.
fn lay_over(git: &Git, kept: &Snapshot, staged: &Tree) -> Result<Tree, WorktreeError> {
    let scratch = Scratch::new()?;
    let git = git.with_index(&scratch.index());
    git.run(["read-tree", kept.work_tree.as_str()])?;
    let arguments = ["diff-tree", "-r", "--no-renames", "-z", "--no-abbrev"];
    let trees = [kept.index_tree.as_str(), staged.as_str()];
    let said = git.run(arguments.into_iter().chain(trees))?;
    let mut lines = Vec::new();
    let (mut gone, mut fields) = (Vec::new(), parts(&said));
    // `:old-mode new-mode old-object new-object letter`, then the path.
    while let (Some(about), Some(path)) = (fields.next(), fields.next()) {
        let about = String::from_utf8_lossy(about);
        let words: Vec<&str> = about.split(' ').collect();
        let [_, mode, _, object, letter] = words[..] else {
            let text = about.into_owned();
            return Err(WorktreeError::Output { what: "line of differences", text });
        };
        let to = if letter == "D" { &mut gone } else { &mut lines };
        to.extend_from_slice(format!("{} {object}\t", mode.replace("000000", "0")).as_bytes());
        to.extend_from_slice(path);
        to.push(0);
    }
    // What goes goes first: a file may take the place of a directory.
    gone.append(&mut lines);
    git.fed(["update-index", "--replace", "-z", "--index-info"], &gone)?;
    Tree::parse(&git.text(["write-tree"])?)
}

impl Snapshot {
    /// The snapshot that this commit is the last one of.
    pub(crate) fn read(git: &Git, work: Commit) -> Result<Self, WorktreeError> {
        let asked = format!(
            "{work}^1\n{work}^2\n{work}^1^{{tree}}\n{work}^2^{{tree}}\n{work}^{{tree}}\n{work}^3\n{work}^4\n"
        );
        let said = git.fed(["cat-file", "--batch-check=%(objectname)"], asked.as_bytes())?;
        let said = String::from_utf8_lossy(&said).into_owned();
        let mut lines = said.lines();
        let mut next = || lines.next().unwrap_or_default();
        let (base, index) = (Commit::parse(next())?, Commit::parse(next())?);
        let [base_tree, index_tree, work_tree] = [next(), next(), next()].map(Tree::parse);
        let (base_tree, index_tree, work_tree) = (base_tree?, index_tree?, work_tree?);
        // Git says that it is missing where there is none. The third can be what was kept before.
        let mut exact = None;
        for parent in [next(), next()] {
            if let (None, Ok(parent)) = (&exact, Commit::parse(parent)) {
                exact = Exact::read(git, parent)?.map(Box::new);
            }
        }
        Ok(Self { base, index, work, base_tree, index_tree, work_tree, exact })
    }
}
