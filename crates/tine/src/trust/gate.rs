//! The gate between a checkout's content and the settings: only trusted content passes.

use std::fs;
use std::path::{Path, PathBuf};

use tine_runtime::worktrees_folder;

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
    /// The content that a person has trusted there; in a worktree of tine's, else that of the checkout that it was made of.
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
        let own = self.records.record(root);
        let record = own.clone().or_else(|| self.origin_record(root));
        let (content, state) = match Content::read(root, &self.own) {
            Ok(content) if content.is_empty() && record.is_none() => return None,
            Ok(content) => {
                let state = self.state(root, &content, (own.as_ref(), record.as_ref()));
                (content, state)
            }
            Err(why) => (Content::default(), TrustState::Unfit(why)),
        };
        Some(Project { root: root.to_owned(), content, record, state })
    }

    /// The trust in a content. `own` is the record of the directory, `record` that or the one of a worktree's origin.
    fn state(
        &self,
        root: &Path,
        content: &Content,
        (own, record): (Option<&Record>, Option<&Record>),
    ) -> TrustState {
        let is_given = self.given.as_ref().is_some_and(|given| {
            (given.directory == root || self.is_worktree(root)) && given.covers(content)
        });
        match record {
            _ if is_given => TrustState::Trusted,
            Some(record) if record.covers(content) => TrustState::Trusted,
            // A worktree of tine's begins with what its origin holds. The content decides, wherever it was trusted.
            _ if own.is_none()
                && self.is_worktree(root)
                && self.records.all().iter().any(|record| record.covers(content)) =>
            {
                TrustState::Trusted
            }
            Some(_) => TrustState::Changed,
            None => TrustState::New,
        }
    }

    /// The record of the directory that one in a worktree of tine's stands for. What was forbidden there holds here as well, whatever an
    /// agent has made of the content. The place of the worktree tells its repository; what stands in the worktree is not asked.
    fn origin_record(&self, root: &Path) -> Option<Record> {
        if !self.is_worktree(root) {
            return None;
        }
        let stands_for = |record: &Record| {
            let (common_dir, below) = repository_around(&record.directory)?;
            let inside = root.strip_prefix(&self.worktrees).ok()?;
            let inside = inside.strip_prefix(worktrees_folder(&common_dir)).ok()?;
            // The first name is that of the worktree.
            let mut names = inside.components();
            names.next()?;
            (names.as_path() == below).then_some(())
        };
        let records = self.records.all().into_iter();
        records.filter(|record| stands_for(record).is_some()).max_by_key(|one| one.trusted_ms)
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

/// The shared folder of the repository that a directory is checked out of, and the directory's path below the checkout's top.
fn repository_around(directory: &Path) -> Option<(PathBuf, PathBuf)> {
    let top = directory.ancestors().find(|above| above.join(".git").exists())?;
    let below = directory.strip_prefix(top).ok()?.to_owned();
    let git = top.join(".git");
    if git.is_dir() {
        return Some((fs::canonicalize(git).ok()?, below));
    }
    // A linked worktree of the user's, or a submodule.
    let own = top.join(fs::read_to_string(git).ok()?.strip_prefix("gitdir: ")?.trim_end());
    let shared = match fs::read_to_string(own.join("commondir")) {
        Ok(path) => own.join(path.trim_end()),
        Err(_) => own,
    };
    Some((fs::canonicalize(shared).ok()?, below))
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
        assert_eq!(case.seen("repo"), "repo trusted", "nothing reads it");
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

    /// The record that stands behind a project.
    fn forbidden_by(case: &Case, directory: &str) -> String {
        let projects = case.gate.projects(&case.path(directory));
        let record = projects.first().and_then(|project| project.record.as_ref());
        let text = record.and_then(|record| record.text(".tine/config.toml"));
        text.unwrap_or_default().to_owned()
    }

    #[test]
    fn in_a_worktree_what_its_origin_forbade_holds_whatever_becomes_of_the_content() {
        let case = Case::new();
        case.write("repo/.git/HEAD", "");
        case.write("repo/.tine/config.toml", "a");
        case.write("repo/sub/.tine/config.toml", "b");
        case.write("other/.tine/config.toml", "c");
        ["repo", "repo/sub", "other"].iter().for_each(|name| case.trust(name));
        let folder = worktrees_folder(&case.path("repo/.git"));
        let tree = format!("own/worktrees/{folder}/w");
        let sub = format!("{tree}/sub");
        case.write(&format!("{tree}/.tine/config.toml"), "a");
        assert_eq!(case.seen(&tree), format!("{tree} trusted"));
        case.write(&format!("{tree}/.tine/config.toml"), "a ");
        assert_eq!(case.seen(&tree), format!("{tree} changed"));
        fs::remove_dir_all(case.path(&tree).join(".tine")).unwrap();
        fs::create_dir_all(case.path(&sub)).unwrap();
        assert_eq!(case.seen(&sub), format!("{sub} changed, {tree} changed"));
        assert_eq!(
            (forbidden_by(&case, &tree), forbidden_by(&case, &sub)),
            ("a".into(), "b".into())
        );
        // Not in a worktree of another repository, nor deeper in it.
        let source = format!("{tree}/src");
        for (name, expected) in [("own/worktrees/other-00000000/w", ""), (source.as_str(), "a")] {
            fs::create_dir_all(case.path(name)).unwrap();
            assert_eq!(forbidden_by(&case, name), expected, "{name}");
        }
        // A linked worktree of the user's has the same repository.
        case.write("repo/.git/worktrees/l/commondir", "../..\n");
        let gitdir = case.path("repo/.git/worktrees/l").display().to_string();
        case.write("linked/.git", &format!("gitdir: {gitdir}\n"));
        assert_eq!(repository_around(&case.path("linked")).unwrap().0, case.path("repo/.git"));
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
