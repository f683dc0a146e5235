//! Runs that may write only below some directories, or must not see secrets.

use crate::support::{House, file, list, search, write};

#[test]
fn only_the_named_directories_are_written_whatever_was_allowed() {
    let mut house = House::new();
    house.place = house.place.fork().with_write_roots(&[house.path("in/sub")]).unwrap();
    house.link("../../out", "in/sub/door");
    let written = |path: &str| house.run_judged("FileWrite", &write(path));
    insta::assert_snapshot!(written("sub/a/b"), @"created `sub/a/b` (1 line)");
    insta::assert_snapshot!(written("top"), @"error: `top` is outside the directories that this run may write to; write below `HOUSE/in/sub` instead");
    insta::assert_snapshot!(written("sub/../top"), @"error: `top` is outside the directories that this run may write to; write below `HOUSE/in/sub` instead");
    insta::assert_snapshot!(written("sub/door/x"), @"error: `sub/door/x` is outside the directories that this run may write to; write below `HOUSE/in/sub` instead");
    insta::assert_snapshot!(written("sub"), @"error: `sub` is a directory; use Glob to list its files");
    let edit = serde_json::json!({ "file_path": house.path("out/f"), "old_string": "out", "new_string": "in" });
    insta::assert_snapshot!(house.run_judged("FileEdit", &edit), @"error: `HOUSE/out/f` is outside the directories that this run may write to; write below `HOUSE/in/sub` instead");
    // Reading is as before.
    insta::assert_snapshot!(house.run_judged("FileRead", &file("sub/door/f")), @"     1	outside");
    assert_eq!(house.names("out"), ["f"]);
}

#[test]
fn a_root_that_is_replaced_is_not_taken_for_the_one_that_was_named() {
    let mut house = House::new();
    house.place = house.place.fork().with_write_roots(&[house.path("in/sub")]).unwrap();
    std::fs::rename(house.path("in/sub"), house.path("in/kept")).unwrap();
    house.link("../out", "in/sub");
    insta::assert_snapshot!(house.run_judged("FileWrite", &write("sub/x")), @"error: `sub/x` is outside the directories that this run may write to; write below `HOUSE/in/sub` instead");
    assert_eq!(house.names("out"), ["f"]);
}

#[test]
fn without_any_root_nothing_is_written() {
    let mut house = House::new();
    house.place = house.place.fork().with_write_roots(&[]).unwrap();
    insta::assert_snapshot!(house.run_judged("FileWrite", &write("a")), @"error: `a` cannot be written: this run may write no file at all");
    let error = house.place.fork().with_write_roots(&[house.path("none")]).err().unwrap();
    assert_eq!(error.to_string(), format!("cannot write below `{}`", house.path("none").display()));
    assert!(house.place.fork().with_write_roots(&["sub".into()]).is_err());
}

#[test]
fn secrets_are_refused_by_their_written_and_by_their_real_name() {
    let mut house = House::new();
    std::fs::write(house.path("in/.env"), "inside=1\n").unwrap();
    std::fs::create_dir(house.path("out/.ssh")).unwrap();
    std::fs::write(house.path("out/.ssh/known"), "outside\n").unwrap();
    house.link(".env", "in/plain");
    house.link("../out/.ssh", "in/door");
    let secrets: tine_tools::Withheld = std::sync::Arc::new(tine_guard::is_secret);
    house.place = house.place.fork().with_secrets_refused(secrets);
    let run = |tool, input| house.run_judged(tool, &input);
    insta::assert_snapshot!(run("FileRead", file(".env")), @"error: `.env` may hold keys or passwords, which this run must not see; go on without it");
    insta::assert_snapshot!(run("FileRead", file("plain")), @"error: `plain` may hold keys or passwords, which this run must not see; go on without it");
    insta::assert_snapshot!(run("FileRead", file("door/known")), @"error: `door/known` may hold keys or passwords, which this run must not see; go on without it");
    insta::assert_snapshot!(run("Grep", search("door")), @"error: `door` may hold keys or passwords, which this run must not see; go on without it");
    insta::assert_snapshot!(run("Glob", list("door")), @"error: `door` may hold keys or passwords, which this run must not see; go on without it");
    let all = serde_json::json!({ "pattern": "inside", "glob": ".*" });
    insta::assert_snapshot!(run("Grep", all), @r"
    no match in `.`
    (1 file that may hold secrets was left out)
    ");
    insta::assert_snapshot!(run("FileRead", file("sub/f")), @"     1	inside");
}

#[test]
fn what_processes_and_the_system_keep_is_refused_by_every_way_to_it() {
    let mut house = House::new();
    let secrets: tine_tools::Withheld = std::sync::Arc::new(tine_guard::is_secret);
    house.place = house.place.fork().with_secrets_refused(secrets);
    house.link("/proc/self/environ", "in/plain");
    let held = std::fs::File::open(house.path("out/f")).unwrap();
    let number = std::os::fd::AsRawFd::as_raw_fd(&held);
    for path in [
        "/proc/self/environ".to_owned(),
        "/proc/self/maps".to_owned(),
        format!("/proc/{}/maps", std::process::id()),
        "/proc/thread-self/status".to_owned(),
        "/proc/self/root/etc/hosts".to_owned(),
        "/proc/kcore".to_owned(),
        format!("/proc/self/fd/{number}"),
        format!("/dev/fd/{number}"),
        "plain".to_owned(),
        "/etc/shadow".to_owned(),
    ] {
        for (tool, input) in [("FileRead", file(&path)), ("Grep", search(&path))] {
            let said = house.run_judged(tool, &input);
            assert!(said.contains("may hold keys or passwords"), "{tool} {path}: {said}");
        }
    }
    // Whatever it is: a pipe, a terminal, or a file that somebody put there.
    assert!(house.run_judged("FileRead", &file("/dev/stdin")).starts_with("error"));
    let said = house.run_judged("Glob", &list("/proc/self/fd"));
    assert!(said.contains("may hold keys or passwords"), "{said}");
    assert!(house.run_judged("FileRead", &file("/proc/meminfo")).contains("MemTotal"));
    assert!(!house.run_judged("FileRead", &file("/etc/hosts")).starts_with("error"));
}
