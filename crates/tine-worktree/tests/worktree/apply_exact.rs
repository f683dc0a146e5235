//! Work comes into files whose bytes git would not give back: only the lines change that are others, and an undo gives every byte back.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use tine_worktree::{Applied, Apply, OnConflict, Outcome, Start, Worktree};

use crate::laws::config;
use crate::support::{Home, NOW_MS, files, git, write};

/// Cases of a usual run, and of one that tests everything: each starts about a hundred processes.
const CASES: (u32, u32) = (6, 40);

fn apply(home: &Home, worktree: &Worktree) -> Applied {
    let end = worktree.state(NOW_MS).unwrap();
    let (name, start) = (worktree.name(), worktree.start());
    let on_conflict = OnConflict::Refuse;
    let apply =
        Apply { name, start, end: &end, paths: &[], on_conflict, dry_run: false, now_ms: NOW_MS };
    home.repository().apply(&apply).unwrap()
}

fn undo(home: &Home, worktree: &Worktree) -> Applied {
    home.repository().undo(worktree.name(), NOW_MS).unwrap()
}

/// Every file with its permissions and its bytes.
fn bytes(home: &Home) -> BTreeMap<String, String> {
    let without_time = |shown: String| {
        let mut words = shown.splitn(3, ' ');
        let (mode, _, rest) = (words.next(), words.next(), words.next());
        format!("{} {}", mode.unwrap(), rest.unwrap())
    };
    files(&home.top()).into_iter().map(|(name, shown)| (name, without_time(shown))).collect()
}

fn committed(home: &Home) {
    home.git(&["add", "--all"]);
    home.git(&["commit", "--quiet", "-m", "state"]);
}

/// A file of the user's, what the worker makes of it, and what an apply must make of it.
fn check(settings: &[&[&str]], name: &str, [mine, worked, expected]: [&str; 3]) {
    let home = Home::new();
    settings.iter().for_each(|setting| drop(home.git(setting)));
    home.write(".gitattributes", "*.nb filter=strip\n*.fk filter=plus\n");
    home.write(name, mine);
    committed(&home);
    let before = bytes(&home);
    let worktree = home.fork("one", Start::State).unwrap();
    write(worktree.repository().top(), name, worked);
    let applied = apply(&home, &worktree);
    assert_eq!(applied.outcome, Outcome::Written, "{settings:?} {name}");
    assert_eq!(fs::read_to_string(home.top().join(name)).unwrap(), expected, "{settings:?}");
    assert_eq!(undo(&home, &worktree).outcome, Outcome::Written);
    assert_eq!(bytes(&home), before, "{settings:?} {name}");
}

const INPUT: &[&str] = &["config", "core.autocrlf", "input"];
const AUTO: &[&str] = &["config", "core.autocrlf", "true"];

#[test]
fn line_ends_of_the_user_stay() {
    // The worker's editor writes the one or the other.
    for worked in ["1\r\n2\r\nnew\n", "1\n2\nnew\n", "1\r\n2\r\nnew\r\n"] {
        check(&[INPUT], "x.txt", ["1\r\n2\r\n", worked, "1\r\n2\r\nnew\r\n"]);
        check(&[AUTO], "x.txt", ["1\n2\n", worked, "1\n2\nnew\n"]);
        check(&[AUTO], "x.txt", ["1\r\n2\r\n", worked, "1\r\n2\r\nnew\r\n"]);
    }
    check(&[INPUT], "x.txt", ["1\r\n2\n3\r\n", "1\n3\n", "1\r\n3\r\n"]);
}

#[test]
fn what_a_filter_takes_out_stays_or_is_the_workers() {
    let clean = &["config", "filter.strip.clean", "grep -v OUTPUT"][..];
    check(&[clean], "x.nb", ["1\nOUTPUT a\n2\n", "1\nOUTPUT b\n2\n3\n", "1\nOUTPUT b\n2\n3\n"]);
    let plus = &["config", "filter.plus.clean", "sed s/^/+/"][..];
    check(&[plus], "x.fk", ["a\n", "a\nb\n", "a\nb\n"]);
}

#[test]
fn where_both_changed_a_file_what_a_filter_takes_out_stays_the_users() {
    let home = Home::new();
    home.git(&["config", "filter.strip.clean", "grep -v OUTPUT"]);
    home.write(".gitattributes", "*.nb filter=strip\n");
    home.write("x.nb", "1\nOUTPUT a\n2\n3\n4\n5\n");
    committed(&home);
    let worktree = home.fork("one", Start::State).unwrap();
    write(worktree.repository().top(), "x.nb", "1\nOUTPUT b\n2\n3\n4\nfive\n");
    home.write("x.nb", "one\nOUTPUT c\n2\n3\n4\n5\n");
    let before = bytes(&home);
    assert_eq!(apply(&home, &worktree).outcome, Outcome::Written);
    let text = fs::read_to_string(home.top().join("x.nb")).unwrap();
    assert_eq!(text, "one\nOUTPUT c\n2\n3\n4\nfive\n");
    undo(&home, &worktree);
    assert_eq!(bytes(&home), before);
}

#[test]
fn a_deleted_file_comes_back_with_its_bytes_and_permissions() {
    for setting in [INPUT, AUTO] {
        let home = Home::new();
        home.git(setting);
        home.write("lf.txt", "1\n2\n");
        home.write("crlf.txt", "1\r\n2\r\n");
        home.write("secret.key", "key\n");
        fs::set_permissions(home.top().join("secret.key"), Permissions::from_mode(0o600)).unwrap();
        committed(&home);
        let before = bytes(&home);
        let worktree = home.fork("one", Start::State).unwrap();
        for name in ["lf.txt", "crlf.txt", "secret.key"] {
            fs::remove_file(worktree.repository().top().join(name)).unwrap();
        }
        assert_eq!(apply(&home, &worktree).files.len(), 3);
        assert!(!home.top().join("lf.txt").exists());
        undo(&home, &worktree);
        assert_eq!(bytes(&home), before, "{setting:?}");
    }
}

#[test]
fn what_changed_since_stays_as_the_user_wrote_it() {
    let home = Home::new();
    home.git(INPUT);
    home.write("x.txt", "1\r\n2\r\n3\r\n4\r\n5\r\n");
    committed(&home);
    let worktree = home.fork("one", Start::State).unwrap();
    write(worktree.repository().top(), "x.txt", "1\r\n2\r\n3\r\n4\r\n5\r\nnew\r\n");
    apply(&home, &worktree);
    home.write("x.txt", "one\r\n2\r\n3\r\n4\r\n5\r\nnew\r\n");
    undo(&home, &worktree);
    let text = fs::read_to_string(home.top().join("x.txt")).unwrap();
    assert_eq!(text, "one\r\n2\r\n3\r\n4\r\n5\r\n");
}

const NAMES: [&str; 5] = ["a.txt", "b.nb", "c.id", "d.auto", "e.crlf"];

/// Lines with the one end or the other, some of which a filter takes out.
fn text() -> impl Strategy<Value = String> {
    let line =
        (0..6_u8, prop_oneof![Just("\n"), Just("\r\n")]).prop_map(|(word, end)| match word {
            0 => format!("OUTPUT{end}"),
            1 => format!("$Id$ x{end}"),
            word => format!("{word}{end}"),
        });
    prop::collection::vec(line, 0..8).prop_map(|lines| lines.concat())
}

#[derive(Debug)]
struct Case {
    auto: &'static str,
    begun: Vec<(usize, String)>,
    mine: Vec<(usize, String)>,
    worked: Vec<(usize, Option<String>)>,
}

fn case() -> impl Strategy<Value = Case> {
    let auto = prop::sample::select(vec!["false", "input", "true"]);
    let written = |most| prop::collection::vec((0..NAMES.len(), text()), 0..most);
    let worked = prop::collection::vec((0..NAMES.len(), prop::option::of(text())), 1..5);
    (auto, written(6), written(4), worked).prop_map(|(auto, begun, mine, worked)| Case {
        auto,
        begun,
        mine,
        worked,
    })
}

fn laws_hold(case: &Case) {
    let home = Home::new();
    home.git(&["config", "core.autocrlf", case.auto]);
    home.git(&["config", "filter.strip.clean", "sed /OUTPUT/d"]);
    home.write(
        ".gitattributes",
        "*.nb filter=strip\n*.id ident\n*.auto text=auto\n*.crlf eol=crlf\n",
    );
    case.begun.iter().for_each(|(name, text)| home.write(NAMES[*name], text));
    committed(&home);
    case.mine.iter().for_each(|(name, text)| home.write(NAMES[*name], text));
    let worktree = home.fork("one", Start::State).unwrap();
    let (before, status) = (bytes(&home), home.git(&["status", "--porcelain"]));
    let top = worktree.repository().top().to_owned();
    for (name, text) in &case.worked {
        match text {
            Some(text) => write(&top, NAMES[*name], text),
            None => drop(fs::remove_file(top.join(NAMES[*name]))),
        }
    }
    let applied = apply(&home, &worktree);
    // Nobody else changed anything: git sees in the checkout what it sees in the worktree.
    let seen = |top| git(top, &["diff", "HEAD", "--no-renames"]);
    assert_eq!(seen(&home.top()), seen(&top));
    // Files in which git saw no change are as they were.
    let changed: Vec<_> =
        applied.files.iter().map(|file| file.path.display().to_string()).collect();
    let after = bytes(&home);
    for (name, was) in before.iter().filter(|(name, _)| !changed.contains(name)) {
        assert_eq!(after.get(name), Some(was), "{name}");
    }
    if applied.outcome == Outcome::Written {
        undo(&home, &worktree);
    }
    assert_eq!(bytes(&home), before);
    assert_eq!(home.git(&["status", "--porcelain"]), status);
}

#[test]
fn an_undo_gives_back_every_byte() {
    TestRunner::new(config(CASES, 100))
        .run(&case(), |case| {
            laws_hold(&case);
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error}"));
}
