//! The scenes in which steps fail, what must hold afterwards, and the death of the process at every step.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

use tempfile::TempDir;

use super::fault::{Plan, plan, turn};
use super::support::{Home, NOW_MS, exactly, git, held, untouched, write};
use rustix::process::Signal;

use crate::{FoundState, Name, Repository, Start, WorktreeError};

/// Tells a test in a process of its own where it is to die: `act:step:directory`.
const DEATH: &str = "TINE_WORKTREE_TEST_DEATH";

/// Of the failures that take turns at the steps.
const DEATHS_TURN: usize = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Act {
    /// A worktree is made of a state.
    Fork,
    /// One is made of a commit.
    ForkClean,
    /// One in which was worked is removed.
    Remove,
    /// One in which nothing was done is removed.
    RemoveUnchanged,
    /// One that was removed is made again.
    Recover,
    /// What made one ready becomes its start.
    Begin,
}

impl Act {
    pub(crate) const ALL: [Self; 6] = [
        Self::Fork,
        Self::ForkClean,
        Self::Remove,
        Self::RemoveUnchanged,
        Self::Recover,
        Self::Begin,
    ];
}

/// Everything before the act, and how it looked.
pub(crate) struct Scene {
    home: Home,
    act: Act,
    parent: String,
    /// What the child held that is not to be lost.
    work: Option<String>,
}

/// A scene that is built once for a test, and copied to the same place for each step, since worktrees know their places.
struct Template {
    /// Holds the scene, and beside it the copy that is kept.
    directory: TempDir,
    work: Option<String>,
}

thread_local! {
    static TEMPLATES: RefCell<HashMap<Act, Template>> = RefCell::default();
}

impl Template {
    fn build(act: Act) -> Self {
        let directory = tine_testkit::scratch();
        let place = directory.path().join("scene");
        fs::create_dir(&place).unwrap();
        let work = prepare(&Home::at(&place).first_commit(), act);
        fs::rename(place, directory.path().join("kept")).unwrap();
        Self { directory, work }
    }

    /// The scene as it was built.
    #[expect(clippy::disallowed_methods, reason = "copies times and links as they are")]
    fn restore(&self) -> Home {
        let place = self.directory.path().join("scene");
        fs::remove_dir_all(&place).or_else(ignore_missing).unwrap();
        let kept = self.directory.path().join("kept");
        assert!(Command::new("cp").arg("-a").args([&kept, &place]).status().unwrap().success());
        let home = Home::at(&place);
        // The index knows the files that were copied; a user's knows their own.
        git(&home.top(), &["update-index", "-q", "--refresh"]);
        home
    }
}

fn ignore_missing(error: io::Error) -> io::Result<()> {
    match error.kind() {
        io::ErrorKind::NotFound => Ok(()),
        _ => Err(error),
    }
}

fn name() -> Name {
    Name::new("child").unwrap()
}

fn place(top: &Path) -> PathBuf {
    top.parent().unwrap().join("worktrees/child")
}

/// Does everything before the act. Returns what the child holds then, or held before it was removed.
fn prepare(home: &Home, act: Act) -> Option<String> {
    home.write("a.txt", "staged\n");
    home.git(&["add", "a.txt"]);
    home.write("src/lib.rs", "fn changed() {}\n");
    home.write("new.txt", "new\n");
    // Each of its steps costs a process, so two acts have it.
    if matches!(act, Act::ForkClean | Act::Remove) {
        home.write(".git/info/exclude", "*.env\n");
        home.write("local.env", "KEY=1\n");
        home.write(".worktreeinclude", "*.env\n");
    }
    let child = place(&home.top());
    match act {
        Act::Fork | Act::ForkClean => None,
        Act::RemoveUnchanged => {
            home.fork("child", Start::State).unwrap();
            Some(held(&child))
        }
        Act::Remove | Act::Recover | Act::Begin => {
            let worktree = home.fork("child", Start::State).unwrap();
            write(&child, "work.txt", "work\n");
            git(&child, &["add", "work.txt"]);
            write(&child, "more.txt", "more\n");
            if act == Act::Remove {
                write(&child, "local.env", "KEY=2\n");
            }
            let work = held(&child);
            if act == Act::Recover {
                worktree.remove(NOW_MS).unwrap();
            }
            Some(work)
        }
    }
}

impl Scene {
    pub(crate) fn new(act: Act) -> Self {
        plan(Plan::Count);
        let (home, work) = TEMPLATES.with_borrow_mut(|templates| {
            let template = templates.entry(act).or_insert_with(|| Template::build(act));
            (template.restore(), template.work.clone())
        });
        // The version of git is asked for once in a process, here, and so at no step.
        home.repository();
        let parent = untouched(&home.top());
        Self { home, act, parent, work }
    }

    pub(crate) fn perform(&self) -> Result<(), WorktreeError> {
        perform(self.act, &self.home.top())
    }

    /// What must hold whatever happened in between. `may_leave`: whether nobody could clean up.
    pub(crate) fn check(&self, succeeded: bool, may_leave: bool, what: &str) {
        let (top, child) = (self.home.top(), place(&self.home.top()));
        assert_eq!(untouched(&top), self.parent, "{what}: the parent was touched");
        let repository = self.home.repository();
        let found = repository.worktrees().unwrap();
        assert!(found.len() <= 1, "{what}: {found:?}");
        let state = found.first().map(|found| found.state);
        match state {
            Some(FoundState::Ready) => {}
            Some(state) => {
                let is_removal = matches!(self.act, Act::Remove | Act::RemoveUnchanged);
                assert!(may_leave || is_removal, "{what}: {state:?} is left");
                assert!(repository.tidy(&name(), &child).unwrap(), "{what}");
            }
            None => {}
        }
        git(&top, &["worktree", "prune"]);
        if state != Some(FoundState::Ready) {
            assert!(!child.exists(), "{what}: files are left that nobody finds");
            let known = git(&top, &["worktree", "list", "--porcelain"]);
            assert_eq!(known.matches("worktree ").count(), 1, "{what}: {known}");
        }
        match &self.work {
            Some(work) => {
                self.check_work(&repository, state, work, what);
                self.check_start(&repository, succeeded, what);
            }
            None => self.check_new(&repository, succeeded, state, what),
        }
        assert_eq!(untouched(&top), self.parent, "{what}: the parent was touched");
    }

    /// The work is there, or comes back.
    fn check_work(
        &self,
        repository: &Repository,
        state: Option<FoundState>,
        work: &str,
        what: &str,
    ) {
        let child = place(&self.home.top());
        if state != Some(FoundState::Ready) {
            repository.recover(&name(), child.clone(), NOW_MS).unwrap();
        }
        assert_eq!(held(&child), work, "{what}: work was lost");
    }

    /// What one that was made ready starts from is what it held before, or what it holds now.
    fn check_start(&self, repository: &Repository, succeeded: bool, what: &str) {
        if self.act != Act::Begin {
            return;
        }
        let worktree = repository.worktree(&name(), &place(&self.home.top())).unwrap();
        let progress = worktree.progress(&worktree.state(NOW_MS).unwrap()).unwrap();
        assert!(progress == (0, 0) || !succeeded && progress == (2, 0), "{what}: {progress:?}");
        let (start, end) = repository.kept(&name()).unwrap();
        assert_eq!((&start, end), (worktree.start(), None), "{what}");
    }

    /// What was to be made is whole, or nothing is left of it.
    fn check_new(
        &self,
        repository: &Repository,
        succeeded: bool,
        state: Option<FoundState>,
        what: &str,
    ) {
        let child = place(&self.home.top());
        if state == Some(FoundState::Ready) {
            repository.worktree(&name(), &child).unwrap();
        } else {
            assert!(!succeeded, "{what}");
            assert_eq!(repository.kept_refs().unwrap(), [], "{what}: the name is taken");
            perform(self.act, &self.home.top()).unwrap();
        }
        if self.act == Act::Fork {
            assert_eq!(exactly(&child), exactly(&self.home.top()), "{what}");
        }
    }
}

fn perform(act: Act, top: &Path) -> Result<(), WorktreeError> {
    let repository = Repository::at(top)?;
    let start = match act {
        Act::Fork => Start::State,
        Act::ForkClean => Start::Clean,
        Act::Remove | Act::RemoveUnchanged => {
            return repository.worktree(&name(), &place(top))?.remove(NOW_MS).map(drop);
        }
        Act::Begin => return repository.worktree(&name(), &place(top))?.begin(NOW_MS).map(drop),
        Act::Recover => return repository.recover(&name(), place(top), NOW_MS).map(drop),
    };
    let new = crate::NewWorktree { name: name(), path: place(top), start, now_ms: NOW_MS };
    repository.fork(&new).map(drop)
}

/// Kills a process in the act at its first step, at a later one, and so on; after the last one it lives to the end.
fn dies_at_every_step(number: usize) {
    let act = Act::ALL[number];
    let steps = turn(act, DEATHS_TURN);
    let beyond = steps.last().map(|last| last + 1);
    for at in steps.iter().copied().chain(beyond) {
        let scene = Scene::new(act);
        let survived = ends_in_order(&format!("{number}:{at}:{}", scene.home.top().display()));
        scene.check(survived, true, &format!("{act:?} killed at {at}"));
        let expected = Some(at) == beyond;
        assert_eq!(survived, expected, "{act:?} at {at}: steps are counted differently");
    }
}

#[test]
fn the_death_of_the_process_in_a_fork_leaves_what_is_found() {
    dies_at_every_step(0);
}

#[test]
fn the_death_of_the_process_in_a_removal_loses_nothing() {
    dies_at_every_step(2);
}

#[test]
fn the_death_of_the_process_in_a_recovery_loses_nothing() {
    dies_at_every_step(4);
}

#[test]
fn the_death_of_the_process_in_a_beginning_leaves_a_start() {
    dies_at_every_step(5);
}

/// Runs the test below in a process of its own. Whether it lived.
#[expect(clippy::disallowed_methods, reason = "a process of its own is what dies")]
fn ends_in_order(order: &str) -> bool {
    use std::os::unix::process::ExitStatusExt as _;
    let this = std::env::current_exe().unwrap();
    let output = Command::new(this)
        .args(["--exact", "tests::death::who_is_told_to_die_dies"])
        .env(DEATH, order)
        .output()
        .unwrap();
    let killed = output.status.signal() == Some(Signal::KILL.as_raw());
    assert!(killed || output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let place = order.splitn(3, ':').last().and_then(|top| Path::new(top).parent()).unwrap();
    while somebody_works_below(place) {
        std::thread::yield_now();
    }
    !killed
}

/// Whether a command goes on there that a dead process has started.
fn somebody_works_below(place: &Path) -> bool {
    let place = place.canonicalize().unwrap();
    // Where the system does not say, whatever goes on is over soon.
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut works = processes.filter_map(|process| process.path().join("cwd").read_link().ok());
    works.any(|directory| directory.starts_with(&place))
}

#[test]
fn who_is_told_to_die_dies() {
    let Some(order) = std::env::var_os(DEATH) else { return };
    let order = order.into_string().unwrap();
    let mut parts = order.splitn(3, ':');
    let mut next = || parts.next().unwrap();
    let (act, at): (usize, usize) = (next().parse().unwrap(), next().parse().unwrap());
    let top = Path::new(next());
    // As where the steps were counted.
    Repository::at(top).unwrap();
    plan(Plan::Die(at));
    perform(Act::ALL[act], top).unwrap();
}
