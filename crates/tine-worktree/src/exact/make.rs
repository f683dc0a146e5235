//! A worktree is made again from what is kept of it: every file by its bytes and permissions, the index with what it was told.

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Timespec, Timestamps, mknodat, utimensat};

use super::{Flags, Intended, Note, blobs, files_of};
use crate::changes::Mode;
use crate::diff::differences;
use crate::error::WorktreeError;
use crate::fault;
use crate::git::{Git, joined, parts};
use crate::index::{self, Known};
use crate::making::make_folder;
use crate::repository::Repository;
use crate::scratch::Scratch;
use crate::snapshot::Snapshot;

/// The time by which files are said to be older than their index, so that git need not read them again to know that they are the same.
const BEFORE_INDEX_MS: i64 = 2_000;

/// Most bytes of objects that are asked for at a time, but for one of more.
const BYTES_AT_ONCE: u64 = 64 * 1024 * 1024;

/// Settings with which git writes an index as it is told, whichever files are meant to be there.
const WHOLE: [&str; 4] = ["-c", "core.sparseCheckout=false", "-c", "index.sparse=false"];

/// The mode of a file, and the object of its bytes.
type Content = (Mode, String);

/// A checkout that is filled.
struct Making<'a> {
    repository: &'a Repository,
    git: Git,
    state: &'a Snapshot,
    note: Note,
    files: BTreeMap<PathBuf, Content>,
    scratch: Scratch,
    now_ms: i64,
}

impl Repository {
    /// Fills this checkout, which is new and empty, with a state: files, permissions, index.
    pub(crate) fn fill(&self, state: &Snapshot, now_ms: i64) -> Result<(), WorktreeError> {
        let git = self.git();
        let note = state.exact.as_ref().map(|exact| exact.note.clone()).unwrap_or_default();
        self.set_sparse(note.sparse.as_ref())?;
        let mut files: BTreeMap<PathBuf, Content> =
            files_of(&git, &state.work_tree)?.into_iter().collect();
        // What is not meant to be there, and was not.
        files.retain(|path, _| !is_left_out(&note, path));
        let scratch = Scratch::new()?;
        let making = Making { repository: self, git, state, note, files, scratch, now_ms };
        making.write_files()?;
        self.write_others(&making.note.pipes, &making.note.links)?;
        making.set_permissions()?;
        making.write_index()
    }
}

/// Returns true if a file is told not to be there, and was not.
fn is_left_out(note: &Note, path: &Path) -> bool {
    note.flags.get(path).is_some_and(|flags| flags.is_skipped && !flags.is_there)
}

impl Repository {
    /// Writes what git knows nothing of into this checkout. A `.git` file that would lead to a repository from here is left out.
    pub(crate) fn write_others(
        &self,
        pipes: &BTreeMap<PathBuf, u32>,
        links: &BTreeMap<PathBuf, Vec<u8>>,
    ) -> Result<(), WorktreeError> {
        let make_above = |file: &Path| make_folder(file.parent().unwrap_or(self.top()));
        for (path, mode) in pipes {
            let pipe = self.top().join(path);
            make_above(&pipe)?;
            make_pipe(&pipe, *mode)
                .map_err(|source| WorktreeError::file("make the pipe", &pipe, source))?;
        }
        for (path, content) in links {
            let link = self.top().join(path);
            make_above(&link)?;
            let leads = content.strip_prefix(b"gitdir: ").map(|leads| {
                let leads = crate::git::path(leads.trim_ascii_end());
                link.parent().unwrap_or(self.top()).join(leads)
            });
            if leads.is_some_and(|leads| leads.exists()) {
                tracing::warn!(link = %link.display(), "a .git file is left out: it would lead to a repository");
                continue;
            }
            fault::step()
                .and_then(|()| File::create_new(&link)?.write_all(content))
                .map_err(|source| WorktreeError::file("write", &link, source))?;
        }
        Ok(())
    }
}

impl Making<'_> {
    fn at(&self, path: &Path) -> PathBuf {
        self.repository.top().join(path)
    }

    /// Files that git gives back are written by git, all others by their bytes.
    fn write_files(&self) -> Result<(), WorktreeError> {
        let mut lost = self.state.lost(&self.git)?;
        lost.retain(|path, _| self.files.contains_key(path));
        for (path, (mode, _)) in &self.files {
            if *mode == Mode::Submodule {
                make_folder(&self.at(path))?;
            }
        }
        let by_git = self.files.iter().filter(|(_, (mode, _))| *mode != Mode::Submodule);
        let by_git: Vec<&Path> = by_git
            .map(|(path, _)| path.as_path())
            .filter(|path| !lost.contains_key(*path))
            .collect();
        let mut by_bytes: Vec<(&Path, &str)> =
            lost.iter().map(|(path, object)| (path.as_path(), object.as_str())).collect();
        for path in self.check_out(&by_git)? {
            if let Some((_, object)) = self.files.get(path) {
                by_bytes.push((path, object));
            }
        }
        self.write_bytes(&by_bytes)
    }

    /// Lets git write files. Returns those that it cannot write: a filter may have gone, or fail by now, and what is kept must come back
    /// all the same.
    fn check_out<'a>(&self, paths: &[&'a Path]) -> Result<Vec<&'a Path>, WorktreeError> {
        let git = self.git.with_index(&self.scratch.work());
        git.run(WHOLE.into_iter().chain(["read-tree", self.state.work_tree.as_str()]))?;
        let command = ["checkout-index", "--quiet", "-z", "--stdin"];
        let Err(error) = git.fed(command, &joined(paths)) else {
            return Ok(Vec::new());
        };
        tracing::warn!(%error, "git cannot write all files of a worktree; filters that fail are passed over");
        let missing = |paths: &[&'a Path]| -> Vec<&'a Path> {
            let is_missing = |path: &&&Path| fs::symlink_metadata(self.at(path)).is_err();
            paths.iter().filter(is_missing).copied().collect()
        };
        let rest = missing(paths);
        let lenient = optional_filters(&git)?;
        let lenient = lenient.iter().flat_map(|setting| ["-c", setting.as_str()]);
        match git.fed(lenient.chain(command), &joined(&rest)) {
            Ok(_) => Ok(Vec::new()),
            Err(error) => {
                tracing::warn!(%error, "files of a worktree are written as git keeps them");
                Ok(missing(&rest))
            }
        }
    }

    fn write_bytes(&self, files: &[(&Path, &str)]) -> Result<(), WorktreeError> {
        if files.is_empty() {
            return Ok(());
        }
        let asked: String = files.iter().map(|(_, object)| format!("{object}\n")).collect();
        let said = self.git.fed(["cat-file", "--batch-check=%(objectsize)"], asked.as_bytes())?;
        let said = String::from_utf8_lossy(&said).into_owned();
        let mut sizes = said.lines().map(|line| line.trim().parse::<u64>().unwrap_or(0));
        let (mut group, mut sum) = (Vec::new(), 0_u64);
        for file in files {
            let bytes = sizes.next().unwrap_or(0);
            if !group.is_empty() && sum.saturating_add(bytes) > BYTES_AT_ONCE {
                self.write_group(&group)?;
                (group, sum) = (Vec::new(), 0);
            }
            group.push(*file);
            sum = sum.saturating_add(bytes);
        }
        self.write_group(&group)
    }

    fn write_group(&self, files: &[(&Path, &str)]) -> Result<(), WorktreeError> {
        let objects: Vec<&str> = files.iter().map(|(_, object)| *object).collect();
        for ((path, _), content) in files.iter().zip(blobs(&self.git, &objects)?) {
            let file = self.at(path);
            make_folder(file.parent().unwrap_or(self.repository.top()))?;
            let is_program = self.files.get(*path).is_some_and(|(mode, _)| *mode == Mode::Program);
            let is_link = self.files.get(*path).is_some_and(|(mode, _)| *mode == Mode::Link);
            let write = || {
                fault::step()?;
                if is_link {
                    return symlink(crate::git::path(&content), &file);
                }
                // Only its owner may read it until its permissions are set.
                let mode = if is_program { 0o700 } else { 0o600 };
                let mut open =
                    OpenOptions::new().write(true).create_new(true).mode(mode).open(&file)?;
                open.write_all(&content)
            };
            write().map_err(|source| WorktreeError::file("write", &file, source))?;
        }
        Ok(())
    }

    /// Gives each file its permissions, and the time of a moment before the index.
    fn set_permissions(&self) -> Result<(), WorktreeError> {
        fault::step().map_err(|source| {
            WorktreeError::file("set the mode in", self.repository.top(), source)
        })?;
        let written_ms = self.now_ms.saturating_sub(BEFORE_INDEX_MS);
        let written = Timespec { tv_sec: written_ms.div_euclid(1000), tv_nsec: 0 };
        let times = Timestamps { last_access: written, last_modification: written };
        for (path, (mode, _)) in &self.files {
            let file = self.at(path);
            let set = || {
                let about = fs::symlink_metadata(&file)?;
                let usual = match mode {
                    Mode::Program => self.note.usual.program,
                    Mode::File | Mode::Link | Mode::Submodule => self.note.usual.file,
                };
                let wanted = self.note.modes.get(path).copied().unwrap_or(usual);
                if about.is_file() && about.permissions().mode() & 0o7777 != wanted {
                    fs::set_permissions(&file, Permissions::from_mode(wanted))?;
                }
                if !about.is_dir() {
                    utimensat(CWD, &file, &times, AtFlags::SYMLINK_NOFOLLOW)?;
                }
                Ok(())
            };
            set().map_err(|source| WorktreeError::file("set the mode of", &file, source))?;
        }
        Ok(())
    }

    /// The index as it was, with what it was told, and with what git needs to know of files that are as it has them.
    fn write_index(&self) -> Result<(), WorktreeError> {
        let built = self.scratch.index();
        let git = self.git.with_index(&built);
        git.run(WHOLE.into_iter().chain(["read-tree", self.state.index_tree.as_str()]))?;
        self.intend_to_add(&built)?;
        let known: HashSet<PathBuf> = parts(&git.run(WHOLE.into_iter().chain(["ls-files", "-z"]))?)
            .map(crate::git::path)
            .collect();
        let told = |is_told: &dyn Fn(&Flags) -> bool| -> Vec<PathBuf> {
            let told = self.note.flags.iter().filter(|(_, flags)| is_told(flags));
            told.map(|(path, _)| path.clone()).filter(|path| known.contains(path)).collect()
        };
        for (word, paths) in [
            ("--skip-worktree", told(&|flags| flags.is_skipped)),
            ("--assume-unchanged", told(&|flags| flags.is_assumed)),
        ] {
            if !paths.is_empty() {
                let command = ["update-index", word, "-z", "--stdin"];
                git.fed(WHOLE.into_iter().chain(command), &joined(&paths))?;
            }
        }
        let open = differences(&self.git, &self.state.index_tree, &self.state.work_tree)?;
        let open: HashSet<&Path> = open.iter().map(|found| found.path.as_path()).collect();
        let hash_bytes = self.state.base.as_str().len() / 2;
        let known = |path: &Path| {
            let is_same = !open.contains(path) && self.files.contains_key(path);
            let is_stale = self.note.flags.get(path).is_some_and(|flags| flags.is_stale);
            is_same.then_some(if is_stale { Known::OtherSize } else { Known::Whole })
        };
        index::know(&built, hash_bytes, self.repository.top(), known, &self.repository.index())?;
        // Says no where files are changed, which is what they are meant to be.
        let refresh = ["update-index", "-q", "--refresh", "--force-write-index"];
        self.git.answer(refresh, &[]).map(drop)
    }

    /// Git looks at what kind of file stands there, and at no content; so empty ones stand elsewhere for those that may be gone.
    fn intend_to_add(&self, index: &Path) -> Result<(), WorktreeError> {
        let intended =
            self.note.flags.iter().filter_map(|(path, flags)| Some((path, flags.intended?)));
        let intended: Vec<(&PathBuf, Intended)> = intended.collect();
        if intended.is_empty() {
            return Ok(());
        }
        let top = self.scratch.place("intended");
        for (path, kind) in &intended {
            let file = top.join(path);
            let make = || {
                fault::step()?;
                file.parent().map_or(Ok(()), fs::create_dir_all)?;
                match kind {
                    Intended::Link => symlink("nowhere", &file),
                    Intended::File => File::create_new(&file).map(drop),
                    Intended::Program => {
                        let mut new = OpenOptions::new();
                        new.write(true).create_new(true).mode(0o755).open(&file).map(drop)
                    }
                }
            };
            make().map_err(|source| WorktreeError::file("write", &file, source))?;
        }
        let git = Git::at(&top)
            .with("GIT_DIR", self.repository.git_dir().as_os_str())
            .with("GIT_WORK_TREE", top.as_os_str())
            .with("GIT_LITERAL_PATHSPECS", "1".as_ref())
            .with_index(index);
        let add = ["add", "--intent-to-add", "--force", "--sparse"];
        let listed = ["--pathspec-from-file=-", "--pathspec-file-nul"];
        let names = joined(intended.iter().map(|(path, _)| path));
        let filemode = ["-c", "core.fileMode=true", "-c", "core.symlinks=true"];
        git.fed(WHOLE.into_iter().chain(filemode).chain(add).chain(listed), &names).map(drop)
    }
}

/// Makes a named pipe with exactly these permissions.
pub(crate) fn make_pipe(path: &Path, mode: u32) -> io::Result<()> {
    fault::step()?;
    mknodat(CWD, path, FileType::Fifo, rustix::fs::Mode::RUSR, 0)?;
    fs::set_permissions(path, Permissions::from_mode(mode))
}

/// Settings by which no filter has to succeed.
fn optional_filters(git: &Git) -> Result<Vec<String>, WorktreeError> {
    let (_, said) = git.answer(
        ["config", "--null", "--name-only", "--get-regexp", r"^filter\..*\.required$"],
        &[],
    )?;
    let names = parts(&said).map(|name| String::from_utf8_lossy(name).into_owned());
    Ok(names.map(|name| format!("{name}=false")).collect())
}
