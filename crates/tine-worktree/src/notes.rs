//! A directory of notes as a git repository of its own: what stands in it, and each change of it as a commit.
//!
//! It may lie anywhere, also inside another repository, which is not touched. No settings of the user and no filters count here: what
//! is kept are the bytes of the files.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::WorktreeError;
use crate::filters::ProgramSettings;
use crate::git::{Git, parts};

/// Why notes cannot be kept. They are as they were.
#[derive(Debug, thiserror::Error)]
pub enum NotesError {
    /// Git failed.
    #[error(transparent)]
    Git(#[from] WorktreeError),
    /// The directory cannot be used.
    #[error("cannot keep notes in {}", path.display())]
    Directory {
        /// Which one.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Its repository is somewhere else, or belongs to something else.
    #[error("{} is no directory, so the notes have no repository of their own", .0.display())]
    Foreign(PathBuf),
    /// The settings of its repository run programs.
    #[error("the settings of the notes' repository may run programs: {0}")]
    Settings(String),
    /// There is another repository among the notes, whose files nobody would keep.
    #[error("{} is another repository among the notes", .0.display())]
    Nested(PathBuf),
    /// Later changes stand in the way.
    #[error("later changes of the same notes stand in the way of taking back {0}")]
    Conflict(String),
}

/// A directory of notes.
#[derive(Debug, Clone)]
pub struct NotesRepository {
    directory: PathBuf,
    git: Git,
}

impl NotesRepository {
    /// The notes in a directory, which is made if it is not there, and a repository with a first commit.
    pub fn open(directory: &Path) -> Result<Self, NotesError> {
        let failed = |source| NotesError::Directory { path: directory.to_owned(), source };
        fs::create_dir_all(directory).map_err(failed)?;
        let directory = directory.canonicalize().map_err(failed)?;
        let inside = directory.join(".git");
        let exists = match fs::symlink_metadata(&inside) {
            Ok(found) if found.is_dir() => true,
            Ok(_) => return Err(NotesError::Foreign(inside)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return Err(failed(error)),
        };
        let nothing = OsStr::new("/dev/null");
        let settings = [
            ("commit.gpgSign", "false"),
            ("core.autocrlf", "false"),
            ("core.attributesFile", "/dev/null"),
            ("core.excludesFile", "/dev/null"),
            ("core.bare", "false"),
            ("init.defaultBranch", "main"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let git = Git::at(&directory)
            .with("GIT_DIR", inside.as_os_str())
            .with("GIT_WORK_TREE", directory.as_os_str())
            .with("GIT_CONFIG_GLOBAL", nothing)
            .with("GIT_CONFIG_SYSTEM", nothing)
            .with("GIT_ATTR_NOSYSTEM", OsStr::new("1"))
            .with("GIT_LITERAL_PATHSPECS", OsStr::new("1"))
            .with_settings(Arc::new(ProgramSettings::plain(settings.into())));
        git.require_version()?;
        let notes = Self { directory, git };
        if !exists {
            notes.git.run(["init", "--quiet", "--template="])?;
        }
        notes.check_settings()?;
        if notes.head()?.is_none() {
            notes.commit("The notes begin", true, 0)?;
        }
        Ok(notes)
    }

    /// The directory, without links.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The last commit; `None` before the first.
    pub fn head(&self) -> Result<Option<String>, NotesError> {
        let (is_there, said) =
            self.git.answer(["rev-parse", "--quiet", "--verify", "HEAD^{commit}"], &[])?;
        Ok(is_there.then(|| String::from_utf8_lossy(&said).trim().to_owned()))
    }

    /// The files that are not as in the last commit, deleted and new ones among them, as paths below the directory; sorted.
    pub fn changes(&self) -> Result<Vec<PathBuf>, NotesError> {
        let arguments = ["status", "--porcelain=v1", "-z", "--no-renames", "-uall", "--ignored"];
        let output = self.git.run(arguments)?;
        // Two letters and a blank stand before each path.
        let paths = parts(&output).filter_map(|part| part.get(3..)).map(path);
        let mut paths: Vec<PathBuf> = paths.collect();
        paths.sort();
        paths.dedup();
        Ok(paths)
    }

    /// Refuses settings that run programs for a file, or that stand elsewhere.
    fn check_settings(&self) -> Result<(), NotesError> {
        const RUNNING: [&str; 6] = ["filter.", "merge.", "diff.", "include", "extensions.", "gpg."];
        let output = self.git.run(["config", "--local", "--name-only", "-z", "--list"])?;
        let names = parts(&output).map(|name| String::from_utf8_lossy(name).to_lowercase());
        match names.into_iter().find(|name| RUNNING.iter().any(|begin| name.starts_with(begin))) {
            None => Ok(()),
            Some(name) => Err(NotesError::Settings(name)),
        }
    }

    /// Refuses repositories below the directory.
    fn check_nested(&self) -> Result<(), NotesError> {
        let mut folders = vec![self.directory.clone()];
        while let Some(folder) = folders.pop() {
            let failed = |source| NotesError::Directory { path: folder.clone(), source };
            for entry in fs::read_dir(&folder).map_err(failed)? {
                let entry = entry.map_err(failed)?;
                let is_git = entry.file_name().eq_ignore_ascii_case(".git");
                if is_git && folder != self.directory {
                    return Err(NotesError::Nested(folder));
                }
                if !is_git && entry.file_type().map_err(failed)?.is_dir() {
                    folders.push(entry.path());
                }
            }
        }
        Ok(())
    }

    /// Commits everything that has changed, and returns the commit; `None` where nothing has. The time is in milliseconds since the
    /// Unix epoch.
    pub fn keep(&self, message: &str, now_ms: i64) -> Result<Option<String>, NotesError> {
        self.check_nested()?;
        self.git.run(["add", "--all", "--force", "--", "."])?;
        let (is_same, _) = self.git.answer(["diff", "--cached", "--quiet", "HEAD"], &[])?;
        if is_same {
            return Ok(None);
        }
        self.commit(message, false, now_ms)?;
        self.head()
    }

    /// Puts files back to the last commit; what was not in it is removed.
    pub fn restore(&self, paths: &[PathBuf]) -> Result<(), NotesError> {
        for path in paths {
            let name = path.as_os_str();
            let mut object = OsStr::new("HEAD:").to_owned();
            object.push(name);
            let (is_known, _) = self.git.answer(
                [OsStr::new("rev-parse"), OsStr::new("--quiet"), OsStr::new("--verify"), &object],
                &[],
            )?;
            let arguments: &[&str] = if is_known {
                &["checkout", "--quiet", "--force", "HEAD", "--"]
            } else {
                &["clean", "--quiet", "-ffdx", "--"]
            };
            self.git.run(arguments.iter().map(OsStr::new).chain([name]))?;
        }
        Ok(())
    }

    /// Puts everything back to the last commit.
    pub fn restore_all(&self) -> Result<(), NotesError> {
        self.git.run(["reset", "--quiet", "--hard", "HEAD"])?;
        self.git.run(["clean", "--quiet", "-ffdx"])?;
        Ok(())
    }

    /// The files that a commit has changed, as paths below the directory; sorted.
    pub fn files_of(&self, commit: &str) -> Result<Vec<PathBuf>, NotesError> {
        let output = self.git.run([
            "diff-tree",
            "--root",
            "--no-commit-id",
            "--no-renames",
            "--name-only",
            "-r",
            "-z",
            commit,
        ])?;
        Ok(parts(&output).map(path).collect())
    }

    /// Takes back what a commit has changed, in a new one, which is returned. Everything must be committed.
    pub fn revert(&self, commit: &str, message: &str, now_ms: i64) -> Result<String, NotesError> {
        if !self.changes()?.is_empty() {
            return Err(NotesError::Conflict(commit.to_owned()));
        }
        let taken_back = self.git.answer(["revert", "--no-commit", commit], &[]);
        let made = match taken_back {
            Ok((true, _)) => self.commit(message, true, now_ms).and_then(|()| self.head()),
            Ok((false, _)) => Err(NotesError::Conflict(commit.to_owned())),
            Err(error) => Err(error.into()),
        };
        match made {
            Ok(Some(made)) => Ok(made),
            Ok(None) => Err(NotesError::Conflict(commit.to_owned())),
            Err(error) => {
                self.git.run(["reset", "--quiet", "--hard", "HEAD"])?;
                Err(error)
            }
        }
    }

    fn commit(&self, message: &str, may_be_empty: bool, now_ms: i64) -> Result<(), NotesError> {
        let empty = may_be_empty.then_some("--allow-empty");
        let arguments = ["commit", "--quiet", "--no-verify", "--cleanup=verbatim", "-m", message];
        self.git.as_tine(now_ms).run(arguments.into_iter().chain(empty))?;
        Ok(())
    }
}

fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notes() -> (tempfile::TempDir, NotesRepository) {
        let place = tempfile::tempdir().unwrap();
        let notes = NotesRepository::open(&place.path().join("memory")).unwrap();
        (place, notes)
    }

    fn write(notes: &NotesRepository, name: &str, text: &str) {
        fs::write(notes.directory().join(name), text).unwrap();
    }

    fn names(paths: &[PathBuf]) -> Vec<&str> {
        paths.iter().map(|path| path.to_str().unwrap()).collect()
    }

    #[test]
    fn each_change_is_a_commit_and_all_else_is_put_back() {
        let (_place, notes) = notes();
        assert_eq!(notes.keep("nothing", 1).unwrap(), None);
        write(&notes, "MEMORY.md", "one\n");
        write(&notes, ".gitignore", "*\n");
        let first = notes.keep("first", 1_000).unwrap().unwrap();
        assert_eq!(names(&notes.files_of(&first).unwrap()), [".gitignore", "MEMORY.md"]);
        write(&notes, "MEMORY.md", "two\n");
        write(&notes, "line\nbreak *.md", "odd\n");
        fs::create_dir(notes.directory().join("sub")).unwrap();
        write(&notes, "sub/new", "new\n");
        fs::remove_file(notes.directory().join(".gitignore")).unwrap();
        let changed = notes.changes().unwrap();
        assert_eq!(names(&changed), [".gitignore", "MEMORY.md", "line\nbreak *.md", "sub/new"]);
        notes.restore(&changed[1..3]).unwrap();
        assert_eq!(names(&notes.changes().unwrap()), [".gitignore", "sub/new"]);
        notes.restore_all().unwrap();
        assert_eq!(notes.changes().unwrap(), Vec::<PathBuf>::new());
        assert_eq!(notes.head().unwrap(), Some(first));
    }

    #[test]
    fn a_commit_is_taken_back_unless_later_ones_stand_in_the_way() {
        let (_place, notes) = notes();
        write(&notes, "a", "one\n");
        let first = notes.keep("first", 1).unwrap().unwrap();
        write(&notes, "b", "two\n");
        let second = notes.keep("second", 2).unwrap().unwrap();
        notes.revert(&first, "take back the first", 3).unwrap();
        assert!(!notes.directory().join("a").exists() && notes.directory().join("b").exists());
        write(&notes, "b", "three\n");
        notes.keep("third", 4).unwrap();
        let before = notes.head().unwrap();
        let refused = notes.revert(&second, "no", 5).unwrap_err();
        assert!(matches!(refused, NotesError::Conflict(_)), "{refused}");
        assert_eq!((notes.head().unwrap(), notes.changes().unwrap()), (before, Vec::new()));
    }

    #[test]
    fn another_repository_around_or_in_its_place_is_not_touched() {
        let place = tempfile::tempdir().unwrap();
        let outer = NotesRepository::open(place.path()).unwrap();
        let inner = NotesRepository::open(&place.path().join("inner")).unwrap();
        write(&inner, "note", "mine\n");
        inner.keep("mine", 1).unwrap().unwrap();
        assert_eq!(
            outer.head().unwrap(),
            NotesRepository::open(place.path()).unwrap().head().unwrap()
        );
        let linked = place.path().join("linked");
        fs::create_dir(&linked).unwrap();
        fs::write(linked.join(".git"), "gitdir: ../.git\n").unwrap();
        assert!(matches!(NotesRepository::open(&linked), Err(NotesError::Foreign(_))));
    }

    #[test]
    fn what_would_run_programs_or_be_lost_is_refused() {
        let (_place, notes) = notes();
        write(&notes, "note", "uncommitted\n");
        let head = notes.head().unwrap().unwrap();
        assert!(matches!(notes.revert(&head, "no", 1), Err(NotesError::Conflict(_))));
        assert!(notes.directory().join("note").exists());
        fs::create_dir_all(notes.directory().join("sub/.git")).unwrap();
        assert!(matches!(notes.keep("no", 1), Err(NotesError::Nested(_))));
        notes.git.run(["config", "filter.z.clean", "touch made"]).unwrap();
        let refused = NotesRepository::open(notes.directory());
        assert!(matches!(refused, Err(NotesError::Settings(_))), "{refused:?}");
    }

    #[test]
    fn links_are_kept_as_links_and_never_followed() {
        let (place, notes) = notes();
        let outside = place.path().join("outside");
        fs::write(&outside, "not ours\n").unwrap();
        std::os::unix::fs::symlink(&outside, notes.directory().join("link")).unwrap();
        notes.keep("a link", 1).unwrap().unwrap();
        fs::remove_file(notes.directory().join("link")).unwrap();
        std::os::unix::fs::symlink("/", notes.directory().join("other")).unwrap();
        notes.restore_all().unwrap();
        assert_eq!(fs::read_link(notes.directory().join("link")).unwrap(), outside);
        assert_eq!(fs::read_to_string(&outside).unwrap(), "not ours\n");
    }
}
