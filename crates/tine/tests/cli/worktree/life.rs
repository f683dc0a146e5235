//! Lists, removal, and the way back.

use std::path::Path;

use serde_json::Value;

use super::{dirty, files, forked, git, place, shown, whole};
use crate::support::Home;

/// A fork that has written a file; its id and its directory.
fn written(home: &Home, options: &[&str]) -> (String, std::path::PathBuf) {
    let options = [options, &["--permission-mode", "accept-edits"]].concat();
    let made = forked(home, "WRITE it", &options);
    let agent = made["agent"].as_str().unwrap().to_owned();
    (agent, made["worktree"]["path"].as_str().unwrap().into())
}

#[test]
fn a_list_says_what_was_done_in_each() {
    let home = dirty();
    check!(home.shown(&home.ran(&["worktree", "list"])), @"
    code: 0
    --- stdout
    --- stderr
    no worktrees
    hint: `tine fork AGENT --worktree` makes one; `--all` lists removed ones too
    ");
    written(&home, &["--name", "writer"]);
    forked(&home, "COMMIT it", &["--allow", "Bash"]);
    home.done(&["fork", "base", "--worktree"]);
    let list = home.ran(&["worktree", "list"]);
    check!(crate::support::without_figures(&shown(&home, &list)), @"
    code: #
    --- stdout
    AGENT NAME STATE CHANGES AGE PATH
    [AGENT8] writer ready # file changed 0s [WORKTREE]
    [AGENT8] ready # file changed, # commit 0s [WORKTREE]
    [AGENT8] ready nothing changed 0s [WORKTREE]
    --- stderr
    ");
    let list = home.json(&["worktree", "list", "--json"]);
    let all = list["worktrees"].as_array().unwrap();
    let done = |at: usize| (all[at]["files"].as_u64(), all[at]["commits"].as_u64());
    assert_eq!(
        [done(0), done(1), done(2)],
        [(Some(1), Some(0)), (Some(1), Some(1)), (Some(0), Some(0))]
    );
    assert_eq!(all[0]["name"], "writer");
    assert_eq!(all[0]["origin"], home.work().to_str().unwrap());
    assert_eq!((&all[0]["state"], &all[0]["in_use"]), (&"ready".into(), &false.into()));
}

#[test]
fn what_is_dropped_comes_back_as_it_was() {
    let home = dirty();
    let (agent, path) = written(&home, &[]);
    let (held, status) = (files(&path), git(&path, &["status", "--porcelain"]));
    let before = whole(&home.work());
    check!(shown(&home, &home.ran(&["drop", &agent])), @"
    code: 0
    --- stdout
    removed [AGENT8]  [WORKTREE]
    --- stderr
    note: refs/tine/[AGENT-ID]/end holds what it held; `tine worktree recover [AGENT8]` brings it back
    ");
    assert!(!path.exists());
    check!(shown(&home, &home.ran(&["drop", &agent])), @"
    code: 42
    --- stdout
    --- stderr
    error: the worktree of agent [AGENT-ID] is removed already
    hint: `tine worktree recover [AGENT8]` brings it back
    ");
    check!(shown(&home, &home.ran(&["worktree", "path", &agent])), @"
    code: 42
    --- stdout
    --- stderr
    error: the worktree of agent [AGENT-ID] is removed already
    hint: `tine worktree recover [AGENT8]` brings it back
    ");
    let gone = home.json(&["worktree", "list", "--json"]);
    assert_eq!(gone["worktrees"], Value::Array(Vec::new()));
    let all = home.json(&["worktree", "list", "--all", "--json"]);
    assert_eq!(
        (&all["worktrees"][0]["state"], &all["worktrees"][0]["agent"]),
        (&"removed".into(), &agent.as_str().into())
    );
    assert_eq!(home.json(&["ps", "--json"])[0]["worktree"]["removed"], true);

    check!(shown(&home, &home.ran(&["recover", &agent])), @"
    code: 0
    --- stdout
    [WORKTREE]
    --- stderr
    ");
    assert_eq!((files(&path), git(&path, &["status", "--porcelain"])), (held.clone(), status));
    check!(shown(&home, &home.ran(&["recover", &agent])), @"
    code: 42
    --- stdout
    --- stderr
    error: the worktree of agent [AGENT-ID] is there: [WORKTREE]
    ");
    let dropped = home.json(&["drop", &agent, "--json"]);
    check!(home.masked(&dropped.to_string()).replace(&path.display().to_string(), "[PATH]"), @r#"{"dropped":[{"agent":"[AGENT-ID]","path":"[HOME]/worktrees/work-[AGENT8]/[AGENT8]","fate":"removed","ref":"refs/tine/[AGENT-ID]/end","error":null,"ignored":[],"made":[]}]}"#);
    let back = home.json(&["recover", &agent, "--json"]);
    assert_eq!(
        (&back["agent"], &back["path"]),
        (&agent.as_str().into(), &path.to_str().unwrap().into())
    );
    assert_eq!(whole(&home.work()), before);
}

#[test]
fn a_run_makes_a_dropped_worktree_again() {
    let home = dirty();
    let (agent, path) = written(&home, &[]);
    let held = files(&path);
    home.done(&["drop", &agent]);
    home.done(&["run", "--resume", &agent, "--quiet", "NOTHING more"]);
    assert_eq!(files(&path), held);
    assert_eq!(place(&home, &agent), path);
}

#[test]
fn an_unchanged_one_is_dropped_without_a_trace() {
    let home = dirty();
    let agent = home.done(&["fork", "base", "--worktree", "--quiet"]);
    check!(shown(&home, &home.ran(&["drop", agent.trim()])), @"
    code: 0
    --- stdout
    removed [AGENT8]  [WORKTREE]: nothing had changed
    --- stderr
    ");
    let path = home.done(&["recover", agent.trim()]);
    assert_eq!(files(Path::new(path.trim())).lines().count(), 4);
}

#[test]
fn a_collection_takes_what_is_old_and_keeps_what_it_held() {
    let home = dirty();
    check!(home.shown(&home.ran(&["worktree", "gc"])), @"
    code: 0
    --- stdout
    --- stderr
    no worktrees
    ");
    let (agent, path) = written(&home, &[]);
    check!(shown(&home, &home.ran(&["worktree", "gc"])), @"
    code: 0
    --- stdout
    --- stderr
    1 worktree kept: in use, changed within 14d, or left by a crash within the last hour; `tine worktree list` lists them
    ");
    let all = ["worktree", "gc", "--max-age", "0s"];
    check!(shown(&home, &home.ran(&[&all[..], &["--dry-run"]].concat())), @"
    code: 0
    --- stdout
    would remove [AGENT8]  [WORKTREE]
    --- stderr
    ");
    assert!(path.exists());
    check!(shown(&home, &home.ran(&all)), @"
    code: 0
    --- stdout
    removed [AGENT8]  [WORKTREE]
    --- stderr
    note: refs/tine/[AGENT-ID]/end holds what it held; `tine worktree recover [AGENT8]` brings it back
    ");
    assert!(!path.exists());
    check!(home.done(&["worktree", "gc", "--max-age", "0s", "--json"]), @r#"{"dry_run":false,"collected":[],"kept":0}"#);
    home.done(&["recover", &agent]);
    let json = home.json(&["worktree", "gc", "--max-age", "0s", "--json"]);
    assert_eq!((&json["collected"][0]["fate"], &json["kept"]), (&"removed".into(), &0.into()));
    let kept = json["collected"][0]["ref"].as_str().unwrap();
    assert!(git(&home.work(), &["show", "--stat", "--format=", kept]).contains("made.txt"));
    home.done(&["recover", &agent]);
    assert!(path.join("made.txt").exists());
}

/// Git says nothing of what is in the empty folder of a submodule.
#[test]
fn what_a_worker_writes_into_the_folder_of_a_submodule_stays_and_is_named() {
    let home = dirty();
    let head = git(&home.work(), &["rev-parse", "HEAD"]);
    let submodule = format!("160000,{},lib", head.trim());
    git(&home.work(), &["update-index", "--add", "--cacheinfo", &submodule]);
    std::fs::create_dir(home.work().join("lib")).unwrap();
    let fan = ["fan", "base", "--worktree", "-d", "SUBMODULE", "--permission-mode", "accept-edits"];
    let reports = shown(&home, &home.ran(&fan));
    let told: Vec<&str> = reports.lines().filter(|line| line.contains("that git sees")).collect();
    let held: Vec<&str> = reports.lines().filter(|line| line.contains("worktree holds")).collect();
    check!([told, held].concat().join("\n"), @"
    [WORKTREE]: nothing changed that git sees
    the worktree holds files of another repository: lib; not part of the work
    ");
    let all = home.json(&["worktree", "list", "--json"]);
    let one = &all["worktrees"][0];
    assert_eq!(one["repositories"], serde_json::json!(["lib"]));
    let agent = one["agent"].as_str().unwrap();
    let written = place(&home, agent).join("lib/made.txt");
    let gc = ["worktree", "gc", "--max-age", "0s"];
    let orders = [
        &["worktree", "list"][..],
        &["diff", agent],
        &["worktree", "rm", agent],
        &[&gc[..], &["--dry-run"]].concat(),
        &gc,
    ];
    let told = orders.map(|order| crate::support::without_figures(&shown(&home, &home.ran(order))));
    check!(told.join("\n"), @"
    code: #
    --- stdout
    AGENT STATE CHANGES AGE PATH
    [AGENT8] ready files of # other repository 0s [WORKTREE]
    --- stderr
    code: #
    --- stdout
    --- stderr
    nothing changed that git sees
    note: the worktree holds files of another repository: lib; not part of the work
    code: #
    --- stdout
    --- stderr
    error: the worktree holds files of other repositories, which a removal would lose: lib
    hint: nothing was removed: move them elsewhere or delete them, and try again; what git does not track in a worktree nobody keeps
    code: #
    --- stdout
    --- stderr
    warning: kept [AGENT8] [WORKTREE]: the worktree holds files of other repositories, which a removal would lose: lib
    # worktree kept: in use, changed within 0s, or left by a crash within the last hour; `tine worktree list` lists them
    code: #
    --- stdout
    --- stderr
    warning: kept [AGENT8] [WORKTREE]: the worktree holds files of other repositories, which a removal would lose: lib
    # worktree kept: in use, changed within 0s, or left by a crash within the last hour; `tine worktree list` lists them
    ");
    assert_eq!(std::fs::read_to_string(&written).unwrap(), "made\n");
    let json = home.json(&[&fan[..], &["--json"]].concat());
    assert_eq!(json["tasks"][0]["worktree"]["repositories"], serde_json::json!(["lib"]));
}

#[test]
fn what_no_diff_shows_is_named_and_kept() {
    let home = dirty();
    home.write("work/.gitignore", "target/\n.env\n");
    home.write("work/.env", "KEY=1\n");
    home.write("work/.worktreeinclude", ".env\n");
    let agent = home.done(&["fork", "base", "--worktree", "--quiet"]);
    let path = place(&home, agent.trim());
    std::fs::write(path.join(".env"), "KEY=2\n").unwrap();
    git(&path, &["init", "-q", "proj"]);
    std::fs::write(path.join("proj/made.txt"), "made\n").unwrap();
    let mut told: Vec<String> = Vec::new();
    for arguments in [&["worktree", "list"][..], &["diff", agent.trim()], &["drop", agent.trim()]] {
        let ran = home.ran(arguments);
        told.push(crate::support::without_figures(&shown(&home, &ran)));
    }
    std::fs::remove_dir_all(path.join("proj")).unwrap();
    told.push(shown(&home, &home.ran(&["drop", agent.trim()])));
    check!(told.join("\n"), @"
    code: #
    --- stdout
    AGENT STATE CHANGES AGE PATH
    [AGENT8] ready # ignored file changed, files of # other repository 0s [WORKTREE]
    --- stderr
    code: #
    --- stdout
    --- stderr
    nothing changed that git sees
    note: # ignored file changed: .env; `tine apply` does not bring it
    note: the worktree holds files of another repository: proj; not part of the work
    code: #
    --- stdout
    --- stderr
    error: the worktree holds files of other repositories, which a removal would lose: proj
    hint: nothing was removed: move them elsewhere or delete them, and try again; what git does not track in a worktree nobody keeps
    code: 0
    --- stdout
    removed [AGENT8]  [WORKTREE]
    --- stderr
    note: 1 ignored file changed: .env; `tine apply` does not bring it
    note: refs/tine/[AGENT-ID]/end holds what it held; `tine worktree recover [AGENT8]` brings it back
    ");
    let all = home.json(&["worktree", "list", "--all", "--json"]);
    let one = &all["worktrees"][0];
    assert_eq!((&one["state"], &one["ignored"][0]), (&"removed".into(), &".env".into()));
    assert!(one["ref"].as_str().unwrap().ends_with("/end"));
    home.done(&["recover", agent.trim()]);
    assert_eq!(std::fs::read_to_string(path.join(".env")).unwrap(), "KEY=2\n");
}

#[test]
fn of_files_that_somebody_else_removed_it_is_said_what_is_left() {
    let home = dirty();
    let (worked, worked_at) = written(&home, &[]);
    let idle = home.done(&["fork", "base", "--worktree", "--quiet"]);
    let idle_at = place(&home, idle.trim());
    let mut told: Vec<String> = Vec::new();
    for path in [&worked_at, &idle_at] {
        std::fs::remove_dir_all(path).unwrap();
    }
    told.push(crate::support::without_figures(&shown(&home, &home.ran(&["worktree", "list"]))));
    for agent in [&worked, idle.trim()] {
        told.push(shown(&home, &home.ran(&["recover", agent])));
    }
    std::fs::remove_dir_all(&worked_at).unwrap();
    told.push(shown(&home, &home.ran(&["drop", &worked])));
    check!(told.join("\n"), @"
    code: #
    --- stdout
    AGENT STATE CHANGES AGE PATH
    [AGENT8] gone # file changed 0s [WORKTREE]
    [AGENT8] gone nothing kept 0s [WORKTREE]
    --- stderr
    hint: files of those that are gone were removed without tine; `tine worktree recover AGENT` makes one again, as it was last kept
    code: 0
    --- stdout
    [WORKTREE]
    --- stderr
    warning: its files had been removed without tine; what was changed after it was last kept is gone

    code: 0
    --- stdout
    [WORKTREE]
    --- stderr
    warning: its files had been removed without tine, and nothing of them was kept; it is as it began

    code: 0
    --- stdout
    cleared away [AGENT8]  [WORKTREE]: the rest of one
    --- stderr
    note: refs/tine/[AGENT-ID]/end holds what was last kept of it; `tine worktree recover [AGENT8]` brings it back
    ");
    home.done(&["recover", &worked]);
    assert!(worked_at.join("made.txt").exists());
}

#[test]
fn a_worktree_without_its_git_file_is_no_dead_end() {
    let home = dirty();
    let (agent, path) = written(&home, &[]);
    let lose = || {
        std::fs::write(path.join("later.txt"), "later\n").unwrap();
        std::fs::remove_file(path.join(".git")).unwrap();
    };
    lose();
    check!(shown(&home, &home.ran(&["recover", &agent])), @"
    code: 0
    --- stdout
    [WORKTREE]
    --- stderr
    note: its files were there and its .git was not; it is there again
    ");
    lose();
    home.done(&["run", "--resume", &agent, "--quiet", "NOTHING more"]);
    lose();
    check!(shown(&home, &home.ran(&["drop", &agent])), @"
    code: 0
    --- stdout
    removed [AGENT8]  [WORKTREE]
    --- stderr
    note: refs/tine/[AGENT-ID]/end holds what it held; `tine worktree recover [AGENT8]` brings it back
    ");
    home.done(&["recover", &agent]);
    assert!(path.join("later.txt").exists());
}
