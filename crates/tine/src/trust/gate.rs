//! The gate between a checkout's content and the settings: only trusted content passes.

use std::fs;
use std::path::{Path, PathBuf};

use super::content::Content;
use super::record::{Record, RecordFolder};
use crate::dirs::Dirs;

/// The trust that a person has in the content of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TrustState {
    /// The content is what a person has trusted.
    Trusted,
    /// Nobody has trusted the directory.
    New,
    /// The content differs from what a person has trusted.
    Changed,
    /// The content cannot be trusted at all, and why.
    Unfit(String),
}

/// A directory with content that needs trust.
#[derive(Debug, Clone)]
pub(crate) struct Project {
    /// The directory; a real path.
    pub(crate) root: PathBuf,
    pub(crate) content: Content,
    /// What a person has trusted there.
    pub(crate) record: Option<Record>,
    pub(crate) state: TrustState,
}

/// Decides which content counts.
#[derive(Debug, Clone, Default)]
pub(crate) struct TrustGate {
    records: RecordFolder,
    /// tine's own directories, which are no project's.
    own: Vec<PathBuf>,
    /// The directory that holds tine's worktrees.
    worktrees: PathBuf,
    /// Trust for this process alone.
    given: Option<Record>,
}

impl TrustGate {
    /// The gate of this user. `worktrees` is the directory in which tine makes worktrees.
    pub(crate) fn new(dirs: &Dirs, worktrees: &Path) -> Self {
        let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        Self {
            records: RecordFolder(dirs.trust.clone()),
            own: dirs.own_directories(),
            worktrees: real(worktrees),
            given: None,
        }
    }

    /// Trusts the nearest content of a directory as it is now, for this process alone.
    pub(crate) fn give_once(&mut self, directory: &Path) {
        self.given = self
            .projects(directory)
            .into_iter()
            .next()
            .map(|project| Record::new(&project.root, &project.content, 0));
    }

    /// The directories with content that needs trust, from `directory` upwards. A directory whose trusted content is gone is one
    /// of them.
    pub(crate) fn projects(&self, directory: &Path) -> Vec<Project> {
        directory.ancestors().filter_map(|above| self.project_at(above)).collect()
    }

    /// The directory itself, if it has or had content.
    pub(crate) fn project_at(&self, root: &Path) -> Option<Project> {
        let record = self.records.record(root);
        let (content, state) = match Content::read(root, &self.own) {
            Ok(content) if content.is_empty() && record.is_none() => return None,
            Ok(content) => {
                let state = self.state(root, &content, record.as_ref());
                (content, state)
            }
            Err(why) => (Content::default(), TrustState::Unfit(why)),
        };
        Some(Project { root: root.to_owned(), content, record, state })
    }

    fn state(&self, root: &Path, content: &Content, record: Option<&Record>) -> TrustState {
        let is_given = self.given.as_ref().is_some_and(|given| {
            (given.directory == root || self.is_worktree(root)) && given.covers(content)
        });
        match record {
            _ if is_given => TrustState::Trusted,
            Some(record) if record.covers(content) => TrustState::Trusted,
            Some(_) => TrustState::Changed,
            // A worktree of tine's begins with what its origin holds. The content decides, wherever it was trusted.
            None if self.is_worktree(root)
                && self.records.all().iter().any(|record| record.covers(content)) =>
            {
                TrustState::Trusted
            }
            None => TrustState::New,
        }
    }

    /// Returns true for directories that lie in a worktree of tine's.
    fn is_worktree(&self, root: &Path) -> bool {
        !self.worktrees.as_os_str().is_empty() && root.starts_with(&self.worktrees)
    }

    /// All records.
    pub(crate) fn records(&self) -> Vec<Record> {
        self.records.all()
    }

    /// Keeps a person's trust.
    pub(crate) fn keep(&self, record: &Record) -> std::io::Result<()> {
        self.records.keep(record)
    }

    /// Takes a person's trust back. Returns false where there was none.
    pub(crate) fn forget(&self, directory: &Path) -> std::io::Result<bool> {
        self.records.forget(directory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Case {
        home: tempfile::TempDir,
        gate: TrustGate,
    }

    impl Case {
        fn new() -> Self {
            let home = tempfile::tempdir().unwrap();
            let root = home.path().canonicalize().unwrap();
            let own = root.join("own");
            let variable = |_: &str| Some(own.to_str().unwrap().to_owned());
            let dirs = Dirs::find(&variable).unwrap();
            fs::create_dir_all(&dirs.worktrees).unwrap();
            let gate = TrustGate::new(&dirs, &dirs.worktrees);
            Self { home, gate }
        }

        fn path(&self, name: &str) -> PathBuf {
            self.home.path().canonicalize().unwrap().join(name)
        }

        fn write(&self, name: &str, text: &str) {
            let path = self.path(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn trust(&self, name: &str) {
            let root = self.path(name);
            let content = Content::read(&root, &[]).unwrap();
            self.gate.keep(&Record::new(&root, &content, 1)).unwrap();
        }

        /// The projects above a directory and their state, nearest first.
        fn seen(&self, name: &str) -> String {
            let home = self.path("");
            let line = |project: Project| {
                let below = project.root.strip_prefix(&home).unwrap().display().to_string();
                let state = match project.state {
                    TrustState::Trusted => "trusted",
                    TrustState::New => "new",
                    TrustState::Changed => "changed",
                    TrustState::Unfit(_) => "unfit",
                };
                format!("{below} {state}")
            };
            let projects = self.gate.projects(&self.path(name));
            projects.into_iter().map(line).collect::<Vec<_>>().join(", ")
        }
    }

    #[test]
    fn content_counts_after_it_was_trusted_and_until_it_changes() {
        let case = Case::new();
        case.write("repo/.tine/config.toml", "a");
        case.write("repo/src/main.rs", "");
        assert_eq!(case.seen("repo/src"), "repo new");
        case.trust("repo");
        assert_eq!(case.seen("repo/src"), "repo trusted");
        case.write("repo/src/main.rs", "fn main() {}");
        assert_eq!(case.seen("repo"), "repo trusted");
        case.write("repo/.tine/agents/x.md", "x");
        assert_eq!(case.seen("repo"), "repo changed");
        fs::remove_file(case.path("repo/.tine/agents/x.md")).unwrap();
        assert_eq!(case.seen("repo"), "repo trusted");
        case.write("repo/.mcp.json", "{}");
        assert_eq!(case.seen("repo"), "repo changed");
        fs::remove_file(case.path("repo/.mcp.json")).unwrap();
        fs::remove_dir_all(case.path("repo/.tine")).unwrap();
        assert_eq!(case.seen("repo"), "repo changed");
        case.gate.forget(&case.path("repo")).unwrap();
        assert_eq!(case.seen("repo"), "");
    }

    #[test]
    fn each_directory_on_the_way_up_needs_its_own_trust() {
        let case = Case::new();
        case.write("repo/.tine/config.toml", "a");
        case.write("repo/sub/.tine/config.toml", "a");
        case.trust("repo");
        assert_eq!(case.seen("repo/sub"), "repo/sub new, repo trusted");
    }

    #[test]
    fn a_worktree_counts_as_long_as_it_holds_what_was_trusted() {
        let case = Case::new();
        case.write("repo/.tine/config.toml", "a");
        case.write("own/worktrees/repo/w/.tine/config.toml", "a");
        case.write("elsewhere/.tine/config.toml", "a");
        assert_eq!(case.seen("own/worktrees/repo/w"), "own/worktrees/repo/w new");
        case.trust("repo");
        assert_eq!(case.seen("own/worktrees/repo/w"), "own/worktrees/repo/w trusted");
        assert_eq!(case.seen("elsewhere"), "elsewhere new");
        case.write("own/worktrees/repo/w/.tine/agents/x.md", "x");
        assert_eq!(case.seen("own/worktrees/repo/w"), "own/worktrees/repo/w new");
    }

    #[test]
    fn trust_for_one_run_is_trust_in_the_nearest_content_as_it_was() {
        let mut case = Case::new();
        case.write("repo/.tine/config.toml", "a");
        case.write("repo/sub/.tine/config.toml", "b");
        let sub = case.path("repo/sub");
        case.gate.give_once(&sub);
        assert_eq!(case.seen("repo/sub"), "repo/sub trusted, repo new");
        assert!(case.gate.records().is_empty());
        case.write("repo/sub/.tine/config.toml", "c");
        assert_eq!(case.seen("repo/sub"), "repo/sub new, repo new");
    }

    #[test]
    fn tines_own_directory_is_no_project() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().canonicalize().unwrap();
        let own = root.join(".tine");
        let variable = |_: &str| Some(own.to_str().unwrap().to_owned());
        let dirs = Dirs::find(&variable).unwrap();
        fs::create_dir_all(&own).unwrap();
        fs::write(&dirs.config_file, "").unwrap();
        let gate = TrustGate::new(&dirs, &dirs.worktrees);
        assert!(gate.projects(&root).is_empty());
    }
}
