//! Work comes into a checkout that is another agent's worktree. Whoever works there may have written what git would obey.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use tine_worktree::{
    Applied, Apply, CherryPick, Commit, FastForward, MendedAs, Merge, Merged, Name, NewWorktree,
    OnConflict, Outcome, Repository, Start, Uncommitted, Worktree, WorktreeError,
};

use crate::moments::elsewhere;
use crate::support::{Home, NOW_MS, git, untouched, write};

/// A worktree, and one that was forked from it.
struct Nested {
    home: Home,
    one: Worktree,
    two: Worktree,
}

impl Nested {
    fn new() -> Self {
        let home = Home::new();
        let path = home.path().join("worktrees/one");
        Self::with(home, path)
    }

    /// With the first worktree at this place.
    fn with(home: Home, path: PathBuf) -> Self {
        let new = NewWorktree { path, ..home.new_worktree("one", Start::State) };
        home.repository().fork(&new).unwrap();
        let one = home.repository().worktree(&new.name, &new.path).unwrap();
        one.repository().fork(&home.new_worktree("two", Start::State)).unwrap();
        let two =
            home.repository().worktree(&Name::new("two").unwrap(), &home.place("two")).unwrap();
        Self { home, one, two }
    }

    /// The checkout that gets the work.
    fn onto(&self) -> &Repository {
        self.one.repository()
    }

    /// What a worker behind its wall can write of git's.
    fn own(&self) -> &Path {
        self.onto().git_dir()
    }

    fn commit(&self, name: &str) -> Commit {
        let top = self.two.repository().top();
        write(top, name, "of two\n");
        git(top, &["add", name]);
        git(top, &["commit", "--quiet", "-m", name]);
        Commit::parse(&git(top, &["rev-parse", "HEAD"])).unwrap()
    }

    fn head(&self) -> String {
        git(self.onto().top(), &["rev-parse", "HEAD"]).trim().to_owned()
    }

    fn merge(&self) -> Result<Merged, WorktreeError> {
        let (start, end) = (self.two.start(), &self.two.state(NOW_MS)?);
        let (name, label, fast_forward) = (self.two.name(), "two", FastForward::WherePossible);
        let (uncommitted, dry_run, now_ms) = (Uncommitted::Refuse, false, NOW_MS);
        self.onto().merge(&Merge {
            name,
            label,
            start,
            end,
            fast_forward,
            uncommitted,
            dry_run,
            now_ms,
        })
    }

    fn pick(&self) -> Result<Merged, WorktreeError> {
        let (start, end) = (self.two.start(), &self.two.state(NOW_MS)?);
        let (name, commits, dry_run, now_ms) = (self.two.name(), &[], false, NOW_MS);
        let uncommitted = Uncommitted::Refuse;
        self.onto().cherry_pick(&CherryPick {
            name,
            start,
            end,
            commits,
            uncommitted,
            dry_run,
            now_ms,
        })
    }

    fn apply(&self) -> Result<Applied, WorktreeError> {
        let (start, end) = (self.two.start(), &self.two.state(NOW_MS)?);
        let (name, paths, on_conflict) = (self.two.name(), &[], OnConflict::Refuse);
        let (dry_run, now_ms) = (false, NOW_MS);
        self.onto().apply(&Apply { name, start, end, paths, on_conflict, dry_run, now_ms })
    }
}

#[test]
fn commits_move_the_head_of_the_worktree_and_no_branch() {
    let nested = Nested::new();
    let before = untouched(&nested.home.top());
    let first = nested.commit("first.txt");
    let merged = nested.merge().unwrap();
    assert_eq!((merged.outcome, merged.is_fast_forward), (Outcome::Written, true));
    assert_eq!((nested.head().as_str(), &merged.head), (first.as_str(), &first));
    assert_eq!(git(nested.onto().top(), &["status", "--short"]), "");

    // Both go on: a merge commit, with what is not committed beside it.
    write(nested.onto().top(), "mine.txt", "mine\n");
    git(nested.onto().top(), &["add", "mine.txt"]);
    git(nested.onto().top(), &["commit", "--quiet", "-m", "mine"]);
    write(nested.onto().top(), "a.txt", "mine\n");
    nested.commit("second.txt");
    let merged = nested.merge().unwrap();
    assert_eq!((merged.outcome, merged.is_fast_forward), (Outcome::Written, false));
    assert_eq!(nested.head(), merged.head.as_str());
    assert_eq!(git(nested.onto().top(), &["status", "--short"]), " M a.txt\n");

    nested.commit("third.txt");
    let picked = nested.pick().unwrap();
    assert_eq!((picked.outcome, nested.head().as_str()), (Outcome::Written, picked.head.as_str()));
    assert!(nested.onto().top().join("third.txt").exists());
    assert!(!nested.own().join("HEAD.lock").exists() && !nested.own().join("index.lock").exists());
    assert_eq!(untouched(&nested.home.top()), before);
}

#[test]
fn a_head_that_says_it_is_a_branch_moves_none() {
    let nested = Nested::new();
    nested.commit("first.txt");
    let before = untouched(&nested.home.top());
    fs::write(nested.own().join("HEAD"), "ref: refs/heads/main\n").unwrap();
    let error = nested.merge().unwrap_err().to_string();
    assert!(error.starts_with("HEAD of the worktree `") && error.ends_with("` is not detached"));
    assert_eq!(untouched(&nested.home.top()), before);
    assert!(!nested.onto().top().join("first.txt").exists());
}

#[test]
fn a_log_that_leads_elsewhere_gets_nothing() {
    let nested = Nested::new();
    nested.commit("first.txt");
    let precious = nested.home.path().join("precious");
    fs::write(&precious, "dear\n").unwrap();
    let log = nested.own().join("logs/HEAD");
    fs::create_dir_all(log.parent().unwrap()).unwrap();
    fs::remove_file(&log).ok();
    symlink(&precious, &log).unwrap();
    assert_eq!(nested.merge().unwrap().outcome, Outcome::Written);
    assert_eq!(fs::read_to_string(precious).unwrap(), "dear\n");
}

#[test]
fn settings_of_the_worktree_make_git_run_nothing() {
    let nested = Nested::new();
    let trap = nested.home.path().join("sprung");
    let config = format!(
        "[core]\n\trepositoryFormatVersion = 0\n\tfsmonitor = touch {0}\n[filter \"trap\"]\n\tclean = touch {0}; cat\n\tsmudge = touch {0}; cat\n[extensions]\n\tworktreeConfig = true\n",
        trap.display()
    );
    write(nested.two.repository().top(), ".gitattributes", "* filter=trap\n");
    write(nested.two.repository().top(), "work.txt", "work\n");
    // A repository of its own making in the place of the shared one, with all objects that are needed.
    let false_common = nested.own().join("false");
    git(&nested.home.path(), &["init", "--quiet", "--bare", &false_common.display().to_string()]);
    fs::write(false_common.join("config"), &config).unwrap();
    let objects = nested.home.top().join(".git/objects");
    fs::write(false_common.join("objects/info/alternates"), format!("{}\n", objects.display()))
        .unwrap();
    fs::write(nested.own().join("commondir"), "false\n").unwrap();
    fs::write(nested.own().join("config.worktree"), &config).unwrap();
    assert_eq!(nested.apply().unwrap().outcome, Outcome::Written);
    assert_eq!(fs::read_to_string(nested.onto().top().join("work.txt")).unwrap(), "work\n");
    assert!(!trap.exists(), "a command of the worktree's own settings was run");
}

/// Forges a change that was cut short when `file` was deleted and another had not come: it is to be taken back.
fn forge(change: &Path, file: &str) {
    let hash = "0".repeat(64);
    let journal = format!("tine change 1\0delete\0{file}\0add file {hash}\0other\0end\0");
    write(change, "journal", journal);
    write(change, "slots/0", "planted\n");
    write(change, "slots/1", "other\n");
}

#[test]
fn what_a_worktree_says_was_cut_short_is_not_mended() {
    let nested = Nested::new();
    write(nested.two.repository().top(), "work.txt", "work\n");
    let precious = nested.home.path().join("precious");
    fs::create_dir(&precious).unwrap();
    symlink(&precious, nested.onto().top().join("escape")).unwrap();
    forge(&nested.own().join("tine/change"), "escape/planted");
    symlink(precious.join("lock"), nested.own().join("tine/lock")).unwrap();
    let applied = nested.apply().unwrap();
    assert_eq!((applied.outcome, applied.mended), (Outcome::Written, None));
    assert_eq!(fs::read_dir(&precious).unwrap().count(), 0);
    let room = nested.home.top().join(".git/tine/worktrees/one");
    assert_eq!(fs::read_dir(&room).unwrap().count(), 1);
    nested.two.remove(NOW_MS).unwrap();
    nested.one.remove(NOW_MS).unwrap();
    assert!(!room.exists() && precious.exists());
}

#[test]
#[cfg(target_os = "linux")]
fn nor_is_it_where_it_lies_in_the_checkout_itself() {
    let home = Home::new();
    let Some(other) = elsewhere(&home.path()) else { return };
    let nested = Nested::with(home, other.path().canonicalize().unwrap().join("one"));
    write(nested.two.repository().top(), "work.txt", "work\n");
    let beside = nested.onto().top().join(".tine-change");
    forge(&beside.join("change"), "planted");
    let applied = nested.apply().unwrap();
    assert_eq!((applied.outcome, applied.mended), (Outcome::Written, None));
    assert!(nested.onto().top().join("work.txt").exists());
    assert!(!nested.onto().top().join("planted").exists() && !beside.exists());
    // Nor is it where the place is a link.
    symlink(nested.home.path(), &beside).unwrap();
    write(nested.two.repository().top(), "work.txt", "more work\n");
    assert!(nested.apply().unwrap_err().to_string().starts_with("cannot use `"));
}

#[test]
fn a_mend_follows_no_link_that_came_into_the_way() {
    let home = Home::new();
    let precious = home.path().join("precious");
    fs::create_dir(&precious).unwrap();
    symlink(&precious, home.top().join("folder")).unwrap();
    forge(&home.top().join(".git/tine/change"), "folder/deep/file");
    let mended = home.repository().mend().unwrap().unwrap();
    assert_eq!((mended.outcome, mended.kept.len()), (MendedAs::TakenBack, 1));
    let before = mended.kept[0].before.as_ref().unwrap();
    assert_eq!(fs::read_to_string(before).unwrap(), "planted\n");
    assert_eq!(fs::read_dir(&precious).unwrap().count(), 0);
}
