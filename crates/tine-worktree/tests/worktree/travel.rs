//! States that go to another machine and come back: exactly, and only what is new.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::test_runner::TestRunner;
use tine_worktree::{
    Arrived, Cache, CacheLimits, Commit, Conventions, Name, Pack, Packed, Repository, Start,
    TravelError, Worktree, WorktreeError,
};

use crate::laws::{Case, Step, apply, case, config, made};
use crate::support::{Home, NOW_MS, git, held, try_git, untouched, write};

/// Cases of a usual run, and of one that tests everything: each starts about two hundred processes.
const CASES: (u32, u32) = (4, 12);

pub(crate) fn name() -> Name {
    Name::new("child").unwrap()
}

/// Packs what the worktree holds.
pub(crate) fn pack(
    worktree: &Worktree,
    into: &Path,
    receiver_has: &[Commit],
) -> Result<Packed, WorktreeError> {
    let end = worktree.state(NOW_MS)?;
    let (name, start) = (worktree.name(), worktree.start());
    let pack = Pack { name, start, end: &end, receiver_has, into, now_ms: NOW_MS };
    worktree.repository().pack(&pack)
}

/// Another machine.
pub(crate) struct Away {
    place: tempfile::TempDir,
}

impl Away {
    pub(crate) fn new() -> Self {
        Self { place: tine_testkit::scratch() }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.place.path().join("cache")
    }

    pub(crate) fn cache(&self, home: &Repository, like: &Commit) -> Cache {
        let conventions = Conventions::of(home).unwrap();
        let base = home.snapshot_of_head(NOW_MS).unwrap().base;
        let project = home.project(&base, &conventions).unwrap();
        Cache::open(&self.root(), &project, (like, &conventions), NOW_MS).unwrap()
    }

    fn project(home: &Repository) -> String {
        let base = home.snapshot_of_head(NOW_MS).unwrap().base;
        home.project(&base, &Conventions::of(home).unwrap()).unwrap()
    }

    /// Makes the worktree there.
    fn unpack(&self, home: &Repository, bundle: &Path, packed: &Packed) -> (Worktree, Arrived) {
        let cache = self.cache(home, &packed.carrier);
        let repository = cache.repository();
        let came = repository.arrive(&name(), bundle, &packed.carrier).unwrap();
        cache.hold(&came).unwrap();
        repository.hold_arrived(&name(), &came).unwrap();
        let place = self.place.path().canonicalize().unwrap().join("worktree");
        repository.recover(&name(), place.clone(), NOW_MS).unwrap();
        (repository.worktree(&name(), &place).unwrap(), came)
    }
}

fn head(top: &Path) -> String {
    git(top, &["rev-parse", "HEAD"])
}

/// Filters do not travel; the rest of a case does.
fn without_filters(steps: &mut [Step]) {
    for step in steps {
        if let Step::Attributes(text) = step
            && text.contains("filter")
        {
            *step = Step::Attributes("a ident\n*.txt text eol=crlf\n");
        }
    }
}

fn travels(mut case: Case) {
    case.commits.iter_mut().for_each(|steps| without_filters(steps));
    without_filters(&mut case.state);
    without_filters(&mut case.work);
    let home = made(&case);
    let before = untouched(&home.top());
    let child = home.fork("child", Start::State).unwrap();
    let top = child.repository().top().to_owned();
    let child = home.repository().worktree(&name(), &top).unwrap();
    let (bundle, back) = (home.path().join("bundle"), home.path().join("back"));
    let packed = pack(&child, &bundle, &[]).unwrap();
    let sent = home.repository().sent(&name()).unwrap().unwrap();
    let away = Away::new();
    let (there, came) = away.unpack(&home.repository(), &bundle, &packed);
    let far = there.repository().top().to_owned();
    assert_eq!((held(&far), head(&far)), (held(&top), head(&top)), "on the way out");
    assert!(there.is_unchanged(&there.state(NOW_MS).unwrap()), "nothing was done there yet");

    case.work.iter().for_each(|step| apply(&far, step));
    if case.commit_work {
        git(
            &far,
            &["-c", "user.name=A", "-c", "user.email=a@b", "commit", "-qm", "w", "--allow-empty"],
        );
    }
    let there = Repository::at(&far).unwrap().worktree(&name(), &far).unwrap();
    let answer = pack(&there, &back, std::slice::from_ref(&came.carrier)).unwrap();
    let repository = home.repository();
    let came = repository.arrive(&name(), &back, &answer.carrier).unwrap();
    assert!(child.exchange(&sent.end, &came, NOW_MS).unwrap());
    assert!(!top.exists());
    repository.recover(&name(), top.clone(), NOW_MS).unwrap();
    assert_eq!((held(&top), head(&top)), (held(&far), head(&far)), "on the way back");
    assert_eq!(untouched(&home.top()), before);
}

#[test]
fn random_states_are_the_same_there_and_back() {
    TestRunner::new(config(CASES, 300))
        .run(&case(), |case| {
            travels(case);
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn line_ends_stay_that_git_read_by_other_attributes() {
    // Git has the file with line feeds, and does not read it again.
    travels(Case {
        auto: "false",
        sparse: &[],
        commits: vec![vec![
            Step::Write(7, b"one\r\ntwo\nthree".to_vec()),
            Step::Attributes("* text=auto\n"),
        ]],
        settled: false,
        state: Vec::new(),
        work: vec![Step::Attributes("")],
        commit_work: false,
    });
}

/// Bytes that no compression makes fewer.
fn noise(seed: u64, bytes: usize) -> Vec<u8> {
    let mut state = seed;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state.to_be_bytes()[0]
    };
    (0..bytes).map(|_| next()).collect()
}

#[test]
fn a_later_bundle_brings_only_what_is_new() {
    let home = Home::new();
    home.write("large", noise(1, 500_000));
    home.git(&["add", "--all"]);
    home.git(&["commit", "--quiet", "-m", "large"]);
    home.write("untracked", noise(2, 300_000));
    let away = Away::new();
    let bundle = home.path().join("bundle");
    let child = home.fork("child", Start::State).unwrap();
    let first = pack(&child, &bundle, &[]).unwrap();
    assert!(first.bytes > 800_000 && first.needed.is_empty(), "{first:?}");
    let (there, _) = away.unpack(&home.repository(), &bundle, &first);
    there.remove(NOW_MS).unwrap();

    home.write("a.txt", "changed\n");
    home.git(&["commit", "--quiet", "-am", "second"]);
    home.write("b.txt", "new\n");
    let second = home.fork("second", Start::State).unwrap();
    let project = Away::project(&home.repository());
    let there = Cache::commits(&away.root(), &project).unwrap();
    let other = Commit::parse(&"1".repeat(40)).unwrap();
    let has: Vec<Commit> = there.into_iter().chain([other]).collect();
    let later = pack(&second, &bundle, &has).unwrap();
    assert!(later.bytes < 10_000 && !later.needed.is_empty(), "{later:?}");
    let cache = away.cache(&home.repository(), &later.carrier);
    let came = cache.repository().arrive(second.name(), &bundle, &later.carrier).unwrap();
    assert_eq!(came.end.work, second.state(NOW_MS).unwrap().work);

    // One that knows nothing of the project says what it lacks.
    let empty = Away::new();
    let cache = empty.cache(&home.repository(), &later.carrier);
    let refused = cache.repository().arrive(second.name(), &bundle, &later.carrier).unwrap_err();
    let WorktreeError::Travel(TravelError::Missing(missing)) = refused else { panic!("{refused}") };
    assert_eq!(missing, later.needed);
}

#[test]
fn what_was_changed_meanwhile_is_left() {
    let home = Home::new();
    let child = home.fork("child", Start::State).unwrap();
    let top = child.repository().top().to_owned();
    let bundle = home.path().join("bundle");
    pack(&child, &bundle, &[]).unwrap();
    let sent = home.repository().sent(&name()).unwrap().unwrap();
    write(&top, "a.txt", "a person's\n");
    assert!(!child.exchange(&sent.end, &sent, NOW_MS).unwrap());
    assert_eq!(fs::read_to_string(top.join("a.txt")).unwrap(), "a person's\n");
    assert!(home.repository().kept(&name()).unwrap().1.is_none());
}

#[test]
fn projects_that_were_not_used_for_long_go_but_none_with_a_worktree() {
    let (one, two) = (Home::new(), Home::new());
    two.git(&["commit", "--quiet", "--amend", "-m", "another"]);
    let away = Away::new();
    let mut made = Vec::new();
    for home in [&one, &two] {
        let bundle = home.path().join("bundle");
        let packed = pack(&home.fork("child", Start::State).unwrap(), &bundle, &[]).unwrap();
        made.push((bundle, packed));
    }
    let (there, _) = away.unpack(&one.repository(), &made[0].0, &made[0].1);
    away.cache(&two.repository(), &made[1].1.carrier);
    let trim = |projects_max, bytes_max| {
        Cache::trim(&away.root(), CacheLimits { projects_max, bytes_max }).unwrap()
    };
    assert_eq!(trim(2, u64::MAX), 0);
    assert_eq!(trim(0, u64::MAX), 1, "the other one has a worktree");
    assert_eq!(trim(2, 0), 0);
    // As where a worker dies: git knows of it still.
    std::fs::remove_dir_all(there.repository().top()).unwrap();
    assert_eq!(trim(2, 0), 1);
    assert_eq!(Cache::commits(&away.root(), &Away::project(&one.repository())).unwrap(), []);
    assert!(Cache::commits(&away.root(), "../..").is_err());
}

#[test]
fn clones_without_their_history_and_hidden_parts_of_files_are_refused() {
    let home = Home::new();
    home.git(&["commit", "--quiet", "--allow-empty", "-m", "second"]);
    let shallow = home.path().join("shallow");
    let url = format!("file://{}", home.top().display());
    let clone = ["clone", "--quiet", "--depth=1", &url, shallow.to_str().unwrap()];
    git(&home.path(), &clone);
    let said =
        |top: &Path| Repository::at(top).unwrap().refuse_to_travel().unwrap_err().to_string();
    insta::assert_snapshot!(said(&shallow), @"the repository is a shallow clone, whose history another machine cannot be given");
    try_git(&home.top(), &["config", "remote.origin.promisor", "true"]);
    insta::assert_snapshot!(said(&home.top()), @"the repository is a partial clone, which lacks objects that another machine needs");
    try_git(&home.top(), &["config", "--unset", "remote.origin.promisor"]);

    home.git(&["config", "filter.strip.clean", "sed /secret/d"]);
    home.write(".gitattributes", "*.txt filter=strip\n");
    home.write("a.txt", "one\nsecret\n");
    let child = home.fork("child", Start::State).unwrap();
    let refused = pack(&child, &home.path().join("bundle"), &[]).unwrap_err();
    insta::assert_snapshot!(refused, @"a filter of git's settings hides a part of these files from git, which would be lost on the way: a.txt");
    write(child.repository().top(), "a.txt", "one\n");
    let packed = pack(&child, &home.path().join("bundle"), &[]).unwrap();
    assert_eq!(packed.filtered, [PathBuf::from("a.txt")]);
}
