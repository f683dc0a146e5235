//! What is refused, in which words, and that nothing is left of it.

use super::{base, dirty, forked, git, shown, whole};
use crate::support::{Home, Ran};

/// What was said to a wrong order.
fn said(home: &Home, arguments: &[&str]) -> String {
    let ran = home.ran(arguments);
    assert_eq!(ran.stdout, "", "{arguments:?}");
    let text = shown(home, &ran);
    let (head, rest) = text.split_once("\n--- stdout\n--- stderr\n").unwrap();
    format!("{}: {head}\n{rest}", arguments.join(" "))
}

#[test]
fn a_git_that_is_too_old_is_named_at_once() {
    let home = base();
    let program = home.write("bin/git", "#!/bin/sh\necho git version 2.37.0\n");
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .unwrap();
    let mut places = vec![home.path().join("bin")];
    places.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap()));
    let path = std::env::join_paths(places).unwrap();
    let ran = |arguments: &[&str]| Ran::of(home.tine(arguments).env("PATH", &path));
    let orders: [&[&str]; 4] = [
        &["fork", "base", "--worktree"],
        &["fan", "base", "-d", "NOTHING", "--worktree"],
        &["task", "start", "base", "NOTHING", "--worktree"],
        &["worktree", "list"],
    ];
    for order in orders {
        let ran = ran(order);
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{order:?}");
        assert_eq!(
            ran.stderr,
            "error: git 2.37.0 is too old: worktrees need 2.38 or later\n\
             hint: `command -v git` names the program; Debian 12, Ubuntu 24.04 and later releases have a later one\n",
            "{order:?}"
        );
    }
    let doctor = ran(&["doctor"]);
    let warning = "warn  worktrees: git: git 2.37.0 is too old: worktrees need 2.38 or later\n";
    assert!(doctor.stdout.contains(warning), "{}", doctor.stdout);
    assert!(!doctor.stdout.contains("fail  "), "{}", doctor.stdout);
}

#[test]
fn orders_that_cannot_be_followed_say_why() {
    let home = base();
    let orders: [&[&str]; 12] = [
        &["fork", "nobody", "--worktree"],
        &["fork", "base", "--base", "nothing"],
        &["fork", "base", "--base", ""],
        &["fork", "base", "--base=--help"],
        &["fork", "base", "--clean", "--base", "main"],
        &["fan", "base", "-d", "NOTHING", "--base", "nothing"],
        &["task", "start", "base", "NOTHING", "--base", "nothing"],
        &["task", "start", "base", "NOTHING", "--resume", "base", "--worktree"],
        &["worktree", "path", "base"],
        &["drop", "base"],
        &["recover", "base"],
        &["worktree", "gc", "--max-age", "x"],
    ];
    let told: Vec<String> = orders.iter().map(|order| said(&home, order)).collect();
    check!(told.join("\n"), @"
    fork nobody --worktree: code: 42
    error: no agent `nobody`
    hint: `tine ps --all` lists all agents

    fork base --base nothing: code: 42
    error: `nothing` names no commit here
    hint: --base takes a branch, a tag or a commit

    fork base --base : code: 42
    error: `` names no commit here
    hint: --base takes a branch, a tag or a commit

    fork base --base=--help: code: 42
    error: `--help` names no commit here
    hint: --base takes a branch, a tag or a commit

    fork base --clean --base main: code: 2
    error: the argument '--clean' cannot be used with '--base <REV>'

    Usage: tine fork --clean <AGENT> [PROMPT]

    For more information, try '--help'.

    fan base -d NOTHING --base nothing: code: 42
    error: `nothing` names no commit here
    hint: --base takes a branch, a tag or a commit

    task start base NOTHING --base nothing: code: 42
    error: `nothing` names no commit here
    hint: --base takes a branch, a tag or a commit

    task start base NOTHING --resume base --worktree: code: 2
    error: the argument '--resume <TASK>' cannot be used with '--worktree'

    Usage: tine task start --resume <TASK> <AGENT> <PROMPT>

    For more information, try '--help'.

    worktree path base: code: 42
    error: agent [AGENT-ID] has no worktree of its own
    hint: `tine worktree list` lists those that have one

    drop base: code: 42
    error: agent [AGENT-ID] has no worktree of its own
    hint: `tine worktree list` lists those that have one

    recover base: code: 42
    error: agent [AGENT-ID] has no worktree of its own
    hint: `tine worktree list` lists those that have one

    worktree gc --max-age x: code: 2
    error: --max-age cannot be `x`
    hint: it is a number and a unit, such as 12h or 30d; 0s takes all that nobody works in
    ");
    assert_eq!(home.json(&["ps", "--all", "--json"]).as_array().unwrap().len(), 1);
    assert_eq!(git(&home.work(), &["for-each-ref", "refs/tine"]), "");
    assert_eq!(git(&home.work(), &["worktree", "list"]).lines().count(), 1);
}

#[test]
fn without_a_repository_or_with_worktrees_turned_off_there_is_none() {
    let home = Home::new();
    let model = home.near_model(super::SCENARIO);
    home.import(&model, "base", 2);
    let mut told = vec![
        said(&home, &["fork", "base", "--worktree"]),
        said(&home, &["fan", "base", "-d", "NOTHING", "--worktree"]),
        said(&home, &["task", "start", "base", "NOTHING", "--worktree"]),
    ];
    home.write("config.toml", "[worktree]\nenabled = false\n");
    told.push(said(&home, &["fork", "base", "--worktree"]));
    home.write("config.toml", "[worktree]\ndirectory = \"near\"\n");
    told.push(said(&home, &["fork", "base", "--worktree"]));
    home.write("work/.tine/config.toml", "[worktree]\nsetup = \"rm -rf /\"\n");
    home.write("config.toml", "");
    told.push(said(&home, &["--trust", "fork", "base", "--worktree"]));
    check!(told.join("\n"), @"
    fork base --worktree: code: 42
    error: `[HOME]/work` is in no git repository
    hint: `git init` and a first commit make one; without worktrees agents share the directory

    fan base -d NOTHING --worktree: code: 42
    error: `[HOME]/work` is in no git repository
    hint: `git init` and a first commit make one; without worktrees agents share the directory

    task start base NOTHING --worktree: code: 42
    error: `[HOME]/work` is in no git repository
    hint: `git init` and a first commit make one; without worktrees agents share the directory

    fork base --worktree: code: 42
    error: worktrees are turned off
    hint: `[worktree] enabled` in config.toml turns them on

    fork base --worktree: code: 42
    error: worktree.directory is `near`, which is relative
    hint: give an absolute path: worktrees of all repositories go below it

    --trust fork base --worktree: code: 42
    error: [HOME]/work/.tine/config.toml may not set worktree.setup
    hint: a project's file can only narrow permissions; put this into your own config.toml
    ");
}

#[test]
fn a_place_that_cannot_be_written_leaves_no_fork() {
    let home = dirty();
    let before = whole(&home.work());
    // A file stands where the directory of all worktrees is to be.
    home.write("worktrees", "in the way\n");
    check!(said(&home, &["fork", "base", "--worktree"]), @"
    fork base --worktree: code: 1
    error: cannot make the directory `[WORKTREE]: Not a directory (os error 20)
    hint: check the disk and the permissions; nothing of the checkout has changed
    ");
    assert_eq!(home.json(&["ps", "--all", "--json"]).as_array().unwrap().len(), 1);
    assert_eq!(git(&home.work(), &["for-each-ref", "refs/tine"]), "");
    assert_eq!(whole(&home.work()), before);
}

#[test]
fn conflicts_are_settled_before_a_fork() {
    let home = base();
    git(&home.work(), &["checkout", "-qb", "side"]);
    home.write("work/a.txt", "side\n");
    git(&home.work(), &["commit", "-qam", "Side"]);
    git(&home.work(), &["checkout", "-q", "main"]);
    home.write("work/a.txt", "main\n");
    git(&home.work(), &["commit", "-qam", "Main"]);
    let mut merge = assert_cmd::Command::new("git");
    merge.current_dir(home.work()).args(["merge", "-q", "side"]);
    assert!(!merge.output().unwrap().status.success());
    check!(said(&home, &["fork", "base", "--worktree"]), @"
    fork base --worktree: code: 42
    error: a.txt is in conflict, in the middle of a merge
    hint: settle the conflicts and `git add` the files, or take the last commit alone with --clean
    ");
    home.done(&["fork", "base", "--clean"]);
}

#[test]
fn what_reaches_beyond_the_worktree_is_refused_and_the_agent_is_told_what_to_do() {
    let home = dirty();
    let before = whole(&home.work());
    let mut told = Vec::new();
    for prompt in ["STASH it", "BRANCH away", "write OUTSIDE"] {
        let made = forked(&home, prompt, &["--permission-mode", "bypass"]);
        assert_eq!(made["outcome"], "completed");
        let text = made["text"].as_str().unwrap();
        let path = made["worktree"]["path"].as_str().unwrap();
        told.push(text.replace(path, "[WORKTREE]"));
    }
    check!(home.masked(&told.join("\n")), @"
    Scope: what was asked
    Result: Denied: `git stash` may change what all worktrees of the repository share. Change and commit your own files in this worktree, whose HEAD is on no branch; leave branches, stashes, tags, remotes and configuration alone.
    Scope: what was asked
    Result: Denied: `git branch -D` may change what all worktrees of the repository share. Change and commit your own files in this worktree, whose HEAD is on no branch; leave branches, stashes, tags, remotes and configuration alone.
    Scope: what was asked
    Result: Denied: `[HOME]/work/a.txt` is outside the directory that may be written. In your worktree this file is `[WORKTREE]/a.txt`; read it there before you change it.
    ");
    assert_eq!(whole(&home.work()), before);
}
