//! The way back: what was changed, and how it comes into the checkout.

use serde_json::Value;

use super::{base, dirty, forked, git, shown, whole};
use crate::support::{Home, Ran};

/// A fork that has written made.txt; its id.
fn written(home: &Home) -> String {
    let made = forked(home, "WRITE it", &["--permission-mode", "accept-edits"]);
    made["agent"].as_str().unwrap().to_owned()
}

/// A fork that has committed b.txt; its id.
fn committed(home: &Home) -> String {
    let made = forked(home, "COMMIT it", &["--allow", "Bash"]);
    made["agent"].as_str().unwrap().to_owned()
}

/// What an order prints and says, without its name in it.
fn told(home: &Home, arguments: &[&str]) -> String {
    shown(home, &home.ran(arguments))
}

/// The index of the checkout, as bytes.
fn index(home: &Home) -> Vec<u8> {
    std::fs::read(home.work().join(".git/index")).unwrap()
}

#[test]
fn a_diff_is_a_patch_of_what_the_agent_alone_has_changed() {
    let home = dirty();
    let agent = written(&home);
    check!(told(&home, &["diff", &agent]), @"
    code: 0
    --- stdout
    diff --git a/made.txt b/made.txt
    new file mode 100644
    index 0000000000000000000000000000000000000000..c5f1b8eaf85917b894fea0c18c228e380290308a
    --- /dev/null
    +++ b/made.txt
    @@ -0,0 +1 @@
    +made
    --- stderr
    ");
    check!(told(&home, &["diff", &agent, "--stat"]), @"
    code: 0
    --- stdout
     made.txt | 1 +
     1 file changed, 1 insertion(+)
     create mode 100644 made.txt
    --- stderr
    ");
    check!(told(&home, &["diff", &agent, "--name-only"]), @"
    code: 0
    --- stdout
    made.txt
    --- stderr
    ");
    check!(told(&home, &["diff", &agent, "--json"]), @r#"
    code: 0
    --- stdout
    {"agent":"[AGENT-ID]","running":false,"files":[{"path":"made.txt","from":null,"status":"added","added":1,"removed":0}],"commits":[],"uncommitted":["made.txt"],"ignored":[],"filtered":[],"made":[],"repositories":[],"standing":"ready"}
    --- stderr
    "#);
    check!(told(&home, &["diff", &agent, "a.txt"]), @"
    code: 42
    --- stdout
    --- stderr
    error: the work did not change a.txt
    hint: paths are taken from where you are in the checkout, elsewhere from its top; `tine diff` lists what changed
    ");
    assert_eq!(home.done(&["diff", &agent, "./made.txt"]), home.done(&["diff", &agent]));
    check!(told(&home, &["diff", &agent, "../x"]), @"
    code: 42
    --- stdout
    --- stderr
    error: `../x` is outside the checkout
    hint: give paths in the checkout, or none for all
    ");
    check!(told(&home, &["diff", "base"]), @"
    code: 42
    --- stdout
    --- stderr
    error: agent [AGENT-ID] has no worktree of its own
    hint: `tine worktree list` lists those that have one
    ");
    // Another checkout takes the patch, and a removed worktree has it still.
    let patch = home.done(&["diff", &agent]);
    home.done(&["drop", &agent]);
    assert_eq!(home.done(&["diff", &agent]), patch);
    home.write("patch", &patch);
    git(&home.work(), &["apply", "../patch"]);
    assert_eq!(std::fs::read_to_string(home.work().join("made.txt")).unwrap(), "made\n");
}

#[test]
fn files_come_onto_a_checkout_with_changes_and_go_again() {
    let home = dirty();
    let agent = written(&home);
    let before = whole(&home.work());
    let index_before = index(&home);
    check!(told(&home, &["apply", &agent, "--dry-run"]), @"
    code: 0
    --- stdout
    would apply 1 file of [AGENT8] in [HOME]/work
      added  made.txt  +1 -0
    --- stderr
    ");
    assert_eq!(whole(&home.work()), before);
    check!(told(&home, &["apply", &agent]), @"
    code: 0
    --- stdout
    applied 1 file of [AGENT8] in [HOME]/work
      added  made.txt  +1 -0
    --- stderr
    note: `tine apply --undo [AGENT8]` takes it back
    note: told which files changed: [AGENT8]
    ");
    assert_eq!(std::fs::read_to_string(home.work().join("made.txt")).unwrap(), "made\n");
    assert_eq!(index(&home), index_before);
    check!(told(&home, &["apply", &agent]), @"
    code: 0
    --- stdout
    --- stderr
    nothing to apply: [HOME]/work has all of it already
    ");
    // The parent reads of it at its next turn.
    home.done(&["run", "--resume", "base", "--quiet", "hello"]);
    let log = home.done(&["logs", "base", "--json"]);
    assert!(log.contains("This file has changed: made.txt. Read a file again"), "{log}");

    check!(told(&home, &["apply", "--undo", &agent]), @"
    code: 0
    --- stdout
    took the work of [AGENT8] back in [HOME]/work: 1 file
      deleted  made.txt  +0 -1
    --- stderr
    note: told which files changed: [AGENT8]
    ");
    assert_eq!(whole(&home.work()), before);
    check!(told(&home, &["apply", "--undo", &agent]), @"
    code: 42
    --- stdout
    --- stderr
    error: there is no apply of `[AGENT-ID]` here to take back
    hint: only the last apply of a worktree can be undone, and once
    ");
    let applied = home.json(&["apply", &agent, "made.txt", "--json"]);
    check!(home.masked(&applied.to_string()), @r#"{"agent":"[AGENT-ID]","outcome":"written","onto":"[HOME]/work","files":[{"path":"made.txt","from":null,"status":"added","added":1,"removed":0}],"conflicts":[],"mended":null,"running":false,"told":["[AGENT-ID]"]}"#);
}

#[test]
fn a_conflict_changes_nothing_unless_marks_are_asked_for() {
    let home = dirty();
    let agent = written(&home);
    home.write("work/made.txt", "mine\n");
    let before = whole(&home.work());
    check!(told(&home, &["apply", &agent]), @"
    code: 1
    --- stdout
    conflict  made.txt: both added it
    --- stderr
    error: 1 conflict; nothing was changed
    hint: `tine apply [AGENT8] --conflicts` brings the files, with marks at the places
    ");
    let json = home.ran(&["apply", &agent, "--json"]);
    assert_eq!(json.code, 1);
    let json: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(
        (&json["outcome"], &json["files"]),
        (&"conflicts".into(), &Value::Array(Vec::new()))
    );
    let conflict = &json["conflicts"][0];
    assert_eq!(
        (&conflict["path"], &conflict["kind"], &conflict["place"]),
        (&"made.txt".into(), &"add_add".into(), &"files".into())
    );
    assert!(conflict["ours"]["object"].is_string() && conflict["base"].is_null());
    assert_eq!(whole(&home.work()), before);

    check!(told(&home, &["apply", &agent, "--conflicts"]), @"
    code: 1
    --- stdout
    applied 1 file of [AGENT8] in [HOME]/work
      modified  made.txt  +4 -0
    conflict  made.txt: both added it
    --- stderr
    note: `tine apply --undo [AGENT8]` takes it back
    note: told which files changed: [AGENT8]
    error: 1 conflict; marks stand at the places
    hint: settle them; --undo takes everything back
    ");
    check!(std::fs::read_to_string(home.work().join("made.txt")).unwrap(), @"
    <<<<<<< tine/[AGENT-ID]/onto
    mine
    =======
    made
    >>>>>>> tine/[AGENT-ID]/work
    ");
    home.write("work/made.txt", "settled\n");
    check!(told(&home, &["apply", "--undo", &agent]), @"
    code: 1
    --- stdout
    conflict  made.txt: changed since it was applied
    --- stderr
    error: 1 conflict; nothing was changed
    hint: put these files back as they came, or undo by hand
    ");
}

#[test]
fn commits_in_conflict_and_work_without_changes_say_what_can_be_done() {
    let home = base();
    let agent = committed(&home);
    home.write("work/b.txt", "mine\n");
    check!(told(&home, &["merge", &agent]), @"
    code: 1
    --- stdout
    conflict  b.txt: both added it
    --- stderr
    error: 1 conflict; nothing was changed
    hint: `tine apply [AGENT8] --conflicts` brings the files, with marks at the places
    ");
    assert!(told(&home, &["apply", &agent, "--conflicts"]).contains("marks stand at the places"));
    let idle = home.json(&["fork", "base", "--worktree", "--json"]);
    let idle = idle["agent"].as_str().unwrap();
    check!(told(&home, &["apply", idle]), @"
    code: 0
    --- stdout
    --- stderr
    nothing to apply: [AGENT8] has changed nothing
    ");
}

#[test]
fn several_agents_come_one_after_another_each_with_a_check_of_its_own() {
    let home = dirty();
    let (first, second) = (written(&home), committed(&home));
    home.done(&["apply", &first]);
    let merged = home.json(&["merge", &second, "--with-uncommitted", "--json"]);
    assert_eq!((&merged["outcome"], &merged["fast_forward"]), (&"written".into(), &true.into()));
    // What was staged at the fork went into the commit there, as `git commit` has it.
    assert_eq!(
        git(&home.work(), &["status", "--porcelain"]),
        " M a.txt\n?? made.txt\n?? new.txt\n"
    );
    // A third one began before either, and made the same file as the first.
    let third = home.json(&[
        "fan",
        "base",
        "-d",
        "WRITE it",
        "--clean",
        "--permission-mode",
        "accept-edits",
        "--json",
    ]);
    let third = third["tasks"][0]["agent"].as_str().unwrap();
    check!(told(&home, &["apply", third]), @"
    code: 0
    --- stdout
    --- stderr
    nothing to apply: [HOME]/work has all of it already
    ");
}

#[test]
fn commits_come_beside_what_is_not_committed() {
    let home = dirty();
    let agent = committed(&home);
    let before = whole(&home.work());
    // `git commit` there took along what was staged here.
    check!(told(&home, &["merge", &agent, "--dry-run"]), @"
    code: 42
    --- stdout
    --- stderr
    error: these commits hold what was not committed in the checkout when the fork was made: staged.txt
    hint: `tine apply` brings the files without commits; --with-uncommitted brings the commits all the same
    ");
    check!(told(&home, &["cherry-pick", &agent, "--json"]), @r#"
    code: 42
    --- stdout
    {"agent":"[AGENT-ID]","outcome":"refused","obstacle":"uncommitted","reason":"these commits hold what was not committed in the checkout when the fork was made: staged.txt","paths":["staged.txt"]}
    --- stderr
    error: these commits hold what was not committed in the checkout when the fork was made: staged.txt
    hint: `tine apply` brings the files without commits; --with-uncommitted brings the commits all the same
    "#);
    assert_eq!(whole(&home.work()), before);
    check!(told(&home, &["merge", &agent, "--with-uncommitted", "--dry-run"]), @"
    code: 0
    --- stdout
    1 commit of [AGENT8] can be merged in [HOME]/work
      Add b
    --- stderr
    note: with what was not committed here at the fork: staged.txt
    ");
    assert_eq!(whole(&home.work()), before);
    check!(told(&home, &["merge", &agent, "--no-ff", "--with-uncommitted"]), @"
    code: 0
    --- stdout
    merged 1 commit of [AGENT8] in [HOME]/work: HEAD is [AGENT8]
      Add b
    --- stderr
    note: with what was not committed here at the fork: staged.txt
    note: told which files changed: [AGENT8]
    ");
    check!(git(&home.work(), &["log", "--format=%s · %an", "--topo-order"]), @"
    Merge the work of agent [AGENT8] · Ann
    Add b · Ann
    First · Ann
    ");
    check!(git(&home.work(), &["status", "--porcelain"]), @"
     M a.txt
    ?? new.txt
    ");
    check!(told(&home, &["merge", &agent]), @"
    code: 0
    --- stdout
    --- stderr
    nothing to do: [HOME]/work has all commits of [AGENT8] already
    ");
}

#[test]
fn the_users_name_may_stand_in_the_environment_alone() {
    let home = dirty();
    let agent = committed(&home);
    git(&home.work(), &["commit", "-qm", "Mine"]);
    git(&home.work(), &["config", "--remove-section", "user"]);
    let merge = ["merge", &agent];
    check!(told(&home, &merge), @"
    code: 42
    --- stdout
    --- stderr
    error: git knows no name and no address for commits here
    hint: set user.name and user.email with `git config`
    ");
    let mut command = home.tine(&merge);
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_NAME"), "Bea");
        command.env(format!("GIT_{who}_EMAIL"), "bea@example.org");
    }
    command.env("GIT_COMMITTER_DATE", "2025-05-05T05:05:05+0200");
    assert_eq!(Ran::of(&mut command).code, 0);
    check!(git(&home.work(), &["log", "-1", "--format=%an <%ae> · %cn %cI"]), @"Bea <bea@example.org> · Bea 2025-05-05T05:05:05+02:00");
}

#[test]
fn work_in_conflict_does_not_come_before_it_is_settled() {
    let home = base();
    let agent = written(&home);
    let there = super::place(&home, &agent);
    let commit = |text: &str| {
        std::fs::write(there.join("a.txt"), text).unwrap();
        git(&there, &["commit", "-qm", "Mine", "a.txt"]);
        git(&there, &["rev-parse", "HEAD"]).trim().to_owned()
    };
    let side = commit("side\n");
    git(&there, &["reset", "-q", "--soft", "HEAD~1"]);
    commit("main\n");
    git(&there, &["read-tree", "-m", "HEAD~1", "HEAD", &side]);
    assert_eq!(git(&there, &["diff", "--name-only", "--diff-filter=U"]), "a.txt\n");
    let before = whole(&home.work());
    check!(told(&home, &["apply", &agent, "--json"]), @r#"
    code: 42
    --- stdout
    {"agent":"[AGENT-ID]","outcome":"refused","obstacle":"in_conflict","reason":"files of the work are in conflict: a.txt","paths":["a.txt"]}
    --- stderr
    error: files of the work are in conflict: a.txt
    hint: settle them in its worktree first, and `git add` the files; `tine worktree path` says where it is
    "#);
    check!(told(&home, &["merge", &agent, "--dry-run"]), @"
    code: 42
    --- stdout
    --- stderr
    error: files of the work are in conflict: a.txt
    hint: settle them in its worktree first, and `git add` the files; `tine worktree path` says where it is
    ");
    assert_eq!(home.ran(&["cherry-pick", &agent]).code, 42);
    assert_eq!(whole(&home.work()), before);
    home.done(&["apply", &agent, "made.txt"]);
}

#[test]
fn commits_are_picked_by_the_beginnings_of_their_names() {
    let home = dirty();
    let agent = committed(&home);
    git(&home.work(), &["commit", "-qm", "Mine"]);
    let made = home.json(&["diff", &agent, "--json"]);
    let commit = made["commits"][0]["commit"].as_str().unwrap();
    check!(told(&home, &["cherry-pick", &agent, "0123"]), @"
    code: 42
    --- stdout
    --- stderr
    error: `0123` names no commit that agent [AGENT-ID] has made
    hint: `tine diff [AGENT8] --json` lists its commits
    ");
    assert_eq!(home.ran(&["cherry-pick", &agent, &commit[..3]]).code, 42, "too short");
    check!(told(&home, &["cherry-pick", &agent, &commit[..8]]), @"
    code: 0
    --- stdout
    picked 1 commit of [AGENT8] in [HOME]/work: HEAD is [AGENT8]
      Add b
    --- stderr
    note: told which files changed: [AGENT8]
    ");
    check!(git(&home.work(), &["log", "--format=%s · %an"]), @"
    Add b · Ann
    Mine · Ann
    First · Ann
    ");
    let writer = written(&home);
    check!(told(&home, &["merge", &writer]), @"
    code: 42
    --- stdout
    --- stderr
    error: the work has no commits
    hint: apply the files instead
    ");
}

#[test]
fn another_checkout_can_have_the_work() {
    let home = dirty();
    let agent = written(&home);
    git(&home.work(), &["worktree", "add", "-q", "../other", "HEAD"]);
    let before = whole(&home.work());
    check!(told(&home, &["apply", &agent, "--to", "../other"]), @"
    code: 0
    --- stdout
    applied 1 file of [AGENT8] in [HOME]/other
      added  made.txt  +1 -0
    --- stderr
    note: `tine apply --undo [AGENT8] --to [HOME]/other` takes it back
    ");
    assert!(home.path().join("other/made.txt").exists());
    assert_eq!(whole(&home.work()), before);
    check!(told(&home, &["apply", &agent, "--to", "nowhere"]), @"
    code: 42
    --- stdout
    --- stderr
    error: cannot work in [HOME]/work/nowhere: No such file or directory (os error 2)
    hint: --to takes a checkout
    ");
    git(&home.path(), &["init", "-q", "alien"]);
    check!(told(&home, &["apply", &agent, "--to", "../alien"]), @"
    code: 42
    --- stdout
    --- stderr
    error: `[HOME]/alien` is in another repository than the work
    hint: --to takes a checkout of the repository that the worktree is of
    ");
}

#[test]
fn a_path_is_told_to_the_byte_and_one_that_matches_nothing_is_refused() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    let home = dirty();
    let agent = written(&home);
    let worktree = super::place(&home, &agent);
    let odd: [&[u8]; 4] = [b"a\nb", b"bad\xfe", b"bad\xff", b"t\tb"];
    for name in odd {
        std::fs::write(worktree.join(OsStr::from_bytes(name)), "odd\n").unwrap();
    }
    let said = told(&home, &["diff", &agent, "--name-only"]);
    check!(said, @r#"
    code: 0
    --- stdout
    "a\nb"
    "bad\376"
    "bad\377"
    made.txt
    "t\tb"
    --- stderr
    "#);
    let raw = home.tine(&["diff", &agent, "--name-only", "-z"]).output().unwrap().stdout;
    assert_eq!(raw, b"a\nb\0bad\xfe\0bad\xff\0made.txt\0t\tb\0");
    let files = home.json(&["diff", &agent, "--json"])["files"].take();
    let paths: Vec<&Value> = files.as_array().unwrap().iter().map(|file| &file["path"]).collect();
    assert_eq!(paths, ["a\nb", "bad\u{fffd}", "bad\u{fffd}", "made.txt", "t\tb"]);
    assert_eq!(
        (&files[1]["path_bytes"], &files[2]["path_bytes"]),
        (&"626164fe".into(), &"626164ff".into())
    );
    assert!(files[0].get("path_bytes").is_none(), "{files}");
    let one =
        home.tine(&["apply", &agent, "--"]).arg(OsStr::from_bytes(b"bad\xff")).output().unwrap();
    assert!(one.status.success(), "{one:?}");
    assert!(home.work().join(OsStr::from_bytes(b"bad\xff")).exists());
    assert!(!home.work().join(OsStr::from_bytes(b"bad\xfe")).exists());
    let apply = told(&home, &["apply", &agent, "nowhere", "made.txt"]);
    check!(apply, @"
    code: 42
    --- stdout
    --- stderr
    error: the work did not change nowhere
    hint: paths are taken from where you are in the checkout, elsewhere from its top; `tine diff` lists what changed
    ");
    assert_eq!(told(&home, &["diff", &agent, "nowhere", "made.txt"]), apply);
}
