//! Laws over random repositories in random states: a fork is the same state, its parent is left alone, and what is removed comes back.
//!
//! `PROPTEST_CASES` sets the number of cases, `PROPTEST_RNG_SEED` which.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::hash::{BuildHasher as _, RandomState};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestRunner};
use tine_testkit::cases;
use tine_worktree::{Name, Repository, Start};

use crate::support::{Home, NOW_MS, exactly, git, held, untouched};

/// Cases of a usual run, and of one that tests everything: each starts about two hundred processes.
const CASES: (u32, u32) = (4, 12);

/// So many of them, whose seed is told so that they can be had again; a usual number, and one for a run that tests everything.
#[expect(clippy::print_stdout, reason = "a failed test shows it")]
pub(crate) fn config((usual, all): (u32, u32), shrink_iters: u32) -> ProptestConfig {
    let mut config = ProptestConfig::default();
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = cases("random cases", usual, all);
    }
    if config.rng_seed == RngSeed::Random {
        config.rng_seed = RngSeed::Fixed(RandomState::new().hash_one(0));
    }
    println!("PROPTEST_RNG_SEED: {:?}", config.rng_seed);
    config.failure_persistence = None;
    config.max_shrink_iters = shrink_iters;
    config
}

/// Names that are hard on somebody: blanks, quotes, line ends, bytes that are no text, what programs take for options, patterns or
/// comments, and names that are files in one state and directories in another.
const NAMES: [&[u8]; 25] = [
    b"a",
    b"b.txt",
    b"dir",
    b"dir/x",
    b"dir/y",
    b"dir/sub",
    b"dir/sub/z",
    b"with blank",
    b"quo\"te'",
    b"new\nline",
    b"\xff\xfe",
    b"-dash",
    b"glob*[a]?",
    "\u{fc}n\u{ef}".as_bytes(),
    b"tab\there",
    b"back\\slash",
    b":(top)x",
    b"ignored.log",
    b"build/out",
    b"!bang",
    b"#hash",
    b" lead",
    b"trail ",
    b"$HOME",
    b".hidden/deep/er",
];

/// What is done to a checkout, by a user or by an agent.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    Write(usize, Vec<u8>),
    Link(usize, usize),
    Delete(usize),
    Mode(usize, u32),
    Age(usize),
    Move(usize, usize),
    Ignore(bool),
    Stage(usize),
    StageAll,
    Unstage(usize),
    Rename(usize, usize),
    Overlook(usize, &'static str),
    Later(usize),
    Attributes(&'static str),
}

/// Contents of a `.gitattributes`: filters that take something out, that are not idempotent, whose program is missing, or that keep
/// files elsewhere, and line ends. None is required: git itself, by which states are compared, fails where one that is does.
const ATTRIBUTES: [&str; 6] = [
    "",
    "* text=auto\n",
    "b.txt filter=strip\ndir/* filter=plus\n",
    "a ident\ndir/x eol=crlf\n*.txt filter=none\n",
    "a filter=far\ndir/* filter=strip\n",
    "* filter=strip text=auto eol=crlf\n",
];

/// Which files the checkout is meant to have.
const SPARSE: [&[&str]; 3] = [&[], &["--no-cone", "/*", "!/dir/"], &["--cone", "build"]];

#[derive(Debug)]
pub(crate) struct Case {
    /// `core.autocrlf`.
    pub(crate) auto: &'static str,
    pub(crate) sparse: &'static [&'static str],
    /// Each ends with a commit.
    pub(crate) commits: Vec<Vec<Step>>,
    /// Whether git has come to trust what it knows of the files.
    pub(crate) settled: bool,
    pub(crate) state: Vec<Step>,
    /// What the child does.
    pub(crate) work: Vec<Step>,
    pub(crate) commit_work: bool,
}

fn content() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        // Often of one length, so that nothing but the content tells two files apart.
        4 => prop_oneof![Just(b'x'), Just(b'y'), Just(b'z')].prop_map(|byte| vec![byte; 4]),
        1 => Just(Vec::new()),
        1 => Just(b"one\r\ntwo\nthree".to_vec()),
        1 => proptest::collection::vec(any::<u8>(), 1..40),
        1 => Just(vec![b'l'; 100_000]),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let name = || 0..NAMES.len();
    let mode = prop_oneof![Just(0o644), Just(0o755), Just(0o600), Just(0o700), Just(0o444)];
    let told = proptest::sample::select(vec![
        "--skip-worktree",
        "--no-skip-worktree",
        "--assume-unchanged",
        "--no-assume-unchanged",
    ]);
    prop_oneof![
        8 => (name(), content()).prop_map(|(name, content)| Step::Write(name, content)),
        2 => (name(), name()).prop_map(|(name, to)| Step::Link(name, to)),
        2 => name().prop_map(Step::Delete),
        2 => (name(), mode).prop_map(|(name, mode)| Step::Mode(name, mode)),
        1 => name().prop_map(Step::Age),
        2 => (name(), name()).prop_map(|(from, to)| Step::Move(from, to)),
        1 => any::<bool>().prop_map(Step::Ignore),
        3 => name().prop_map(Step::Stage),
        1 => Just(Step::StageAll),
        1 => name().prop_map(Step::Unstage),
        1 => (name(), name()).prop_map(|(from, to)| Step::Rename(from, to)),
        2 => (name(), told).prop_map(|(name, told)| Step::Overlook(name, told)),
        1 => name().prop_map(Step::Later),
        2 => proptest::sample::select(ATTRIBUTES.to_vec()).prop_map(Step::Attributes),
    ]
}

pub(crate) fn case() -> impl Strategy<Value = Case> {
    let steps = |most| proptest::collection::vec(step(), 0..most);
    let commits = proptest::collection::vec(steps(14), 0..3);
    let auto = proptest::sample::select(vec!["false", "false", "input", "true"]);
    // Mostly all.
    let sparse = prop_oneof![3 => Just(SPARSE[0]), 1 => Just(SPARSE[1]), 1 => Just(SPARSE[2])];
    (commits, any::<bool>(), steps(14), steps(8), any::<bool>(), auto, sparse).prop_map(
        |(commits, settled, state, work, commit_work, auto, sparse)| Case {
            auto,
            sparse,
            commits,
            settled,
            state,
            work,
            commit_work,
        },
    )
}

fn path(name: usize) -> &'static OsStr {
    OsStr::from_bytes(NAMES[name])
}

/// Takes away what stands where the file is to be, and makes the directories above it.
fn make_way(top: &Path, name: usize) -> PathBuf {
    let file = top.join(path(name));
    let below: Vec<_> = file.ancestors().take_while(|above| *above != top).collect();
    for above in below.iter().skip(1).rev() {
        if !fs::symlink_metadata(above).is_ok_and(|about| about.is_dir()) {
            fs::remove_file(above).ok();
        }
    }
    delete(&file);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    file
}

fn delete(file: &Path) {
    match fs::symlink_metadata(file) {
        Ok(about) if about.is_dir() => fs::remove_dir_all(file).unwrap(),
        Ok(_) => fs::remove_file(file).unwrap(),
        Err(_) => {}
    }
}

/// A directory above it may be a link by now, and lead anywhere.
fn is_file(top: &Path, name: usize) -> bool {
    let file = top.join(path(name));
    fs::symlink_metadata(&file).is_ok_and(|about| about.is_file())
        && file.canonicalize().unwrap() == file
}

/// Does what a step says, where it can be done.
pub(crate) fn apply(top: &Path, step: &Step) {
    let literally = |command: &[&str], name: usize| {
        let mut arguments: Vec<&OsStr> = vec!["--literal-pathspecs".as_ref()];
        arguments.extend(command.iter().map(OsStr::new));
        arguments.extend(["--".as_ref(), path(name)]);
        crate::support::try_git(top, &arguments).0
    };
    match step {
        Step::Write(name, content) => fs::write(make_way(top, *name), content).unwrap(),
        // Mostly broken, sometimes a loop, sometimes a directory.
        Step::Link(name, to) => symlink(path(*to), make_way(top, *name)).unwrap(),
        Step::Delete(name) => {
            if top.join(path(*name)).parent().unwrap().canonicalize().is_ok() {
                delete(&top.join(path(*name)));
            }
        }
        Step::Mode(name, mode) if is_file(top, *name) => {
            let permissions = Permissions::from_mode(*mode);
            fs::set_permissions(top.join(path(*name)), permissions).unwrap();
        }
        Step::Age(name) if is_file(top, *name) => age(&top.join(path(*name))),
        Step::Move(from, to) if is_file(top, *from) => {
            let content = fs::read(top.join(path(*from))).unwrap();
            fs::remove_file(top.join(path(*from))).unwrap();
            fs::write(make_way(top, *to), content).unwrap();
        }
        Step::Mode(..) | Step::Age(_) | Step::Move(..) => {}
        Step::Ignore(true) => fs::write(top.join(".gitignore"), "*.log\nbuild/\n").unwrap(),
        Step::Ignore(false) => delete(&top.join(".gitignore")),
        Step::Overlook(name, told) => drop(literally(&["update-index", told], *name)),
        Step::Later(name) => drop(literally(&["add", "--intent-to-add"], *name)),
        Step::Attributes(text) => fs::write(top.join(".gitattributes"), text).unwrap(),
        Step::Stage(name) => drop(literally(&["add", "--all"], *name)),
        // Not outside of a sparse checkout.
        Step::StageAll => drop(crate::support::try_git(top, &["add", "--all"])),
        Step::Unstage(name) => drop(literally(&["rm", "-r", "--cached", "--quiet", "-f"], *name)),
        Step::Rename(from, to) => {
            let arguments = ["mv", "-k", "-f", "--"].map(OsStr::new);
            let arguments = arguments.into_iter().chain([path(*from), path(*to)]);
            crate::support::try_git(top, &arguments.collect::<Vec<_>>());
        }
    }
}

/// Long ago.
fn age(file: &Path) {
    let then = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    fs::File::open(file).unwrap().set_modified(then).unwrap();
}

fn settle(top: &Path) {
    for name in (0..NAMES.len()).filter(|name| is_file(top, *name)) {
        age(&top.join(path(name)));
    }
    git(top, &["update-index", "-q", "--refresh"]);
}

pub(crate) fn made(case: &Case) -> Home {
    let home = Home::empty();
    let top = home.top();
    let store = home.path().join("store");
    fs::create_dir(&store).unwrap();
    let store = store.display();
    let far = format!(
        "f=$(mktemp -p {store}); cat >$f; h=$(git hash-object --no-filters $f); mv $f {store}/$h; echo note $h"
    );
    let near = format!("read note h && cat {store}/$h");
    for (name, value) in [
        ("core.autocrlf", case.auto),
        ("filter.strip.clean", "sed /two/d"),
        ("filter.plus.clean", "sed s/^/+/"),
        ("filter.none.clean", "no-such-program-here"),
        ("filter.none.smudge", "no-such-program-here"),
        ("filter.far.clean", &far),
        ("filter.far.smudge", &near),
    ] {
        home.git(&["config", name, value]);
    }
    for steps in &case.commits {
        steps.iter().for_each(|step| apply(&top, step));
        home.git(&["add", "--all"]);
        home.git(&["commit", "--quiet", "--allow-empty", "-m", "some"]);
    }
    if case.settled {
        settle(&top);
    }
    if !case.sparse.is_empty() && !case.commits.is_empty() {
        crate::support::try_git(&top, &[&["sparse-checkout", "set"], case.sparse].concat());
    }
    case.state.iter().for_each(|step| apply(&top, step));
    home
}

/// A fork of the checkout at `top` is the same, and `top` is left alone.
fn fork_is_the_same(home: &Home, top: &Path, name: &str) -> PathBuf {
    let before = untouched(top);
    let new = home.new_worktree(name, Start::State);
    let child = Repository::at(top).unwrap().fork(&new).unwrap();
    assert_eq!(untouched(top), before, "{name}: the parent was touched");
    assert_eq!(exactly(child.repository().top()), exactly(top), "{name}");
    assert_eq!(untouched(top), before, "{name}: looking at the parent touched it");
    child.repository().top().to_owned()
}

fn laws_hold(case: &Case) {
    let home = made(case);
    let child = fork_is_the_same(&home, &home.top(), "child");
    case.work.iter().for_each(|step| apply(&child, step));
    if case.commit_work {
        git(&child, &["commit", "--quiet", "--allow-empty", "-m", "work"]);
    }
    fork_is_the_same(&home, &child, "grandchild");
    let refs = || {
        home.git(&["for-each-ref", "--format=%(refname) %(objectname)", "refs/heads", "refs/tags"])
    };
    let (before, was, kept_refs) = (untouched(&home.top()), held(&child), refs());
    let head = git(&child, &["rev-parse", "HEAD"]);
    let list = crate::support::try_git(&child, &["sparse-checkout", "list"]);
    let name = Name::new("child").unwrap();
    home.repository().worktree(&name, &child).unwrap().remove(NOW_MS).unwrap();
    assert!(!child.exists());
    let back = home.repository().recover(&name, child, NOW_MS).unwrap();
    assert_eq!(held(back.repository().top()), was, "what was removed and came back");
    assert_eq!(git(back.repository().top(), &["rev-parse", "HEAD"]), head);
    assert_eq!(
        crate::support::try_git(back.repository().top(), &["sparse-checkout", "list"]),
        list
    );
    assert_eq!(refs(), kept_refs);
    assert_eq!(untouched(&home.top()), before);
}

#[test]
fn forks_of_random_states_are_the_same_states() {
    TestRunner::new(config(CASES, 300))
        .run(&case(), |case| {
            laws_hold(&case);
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error}"));
}
