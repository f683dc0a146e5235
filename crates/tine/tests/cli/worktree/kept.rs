//! Kept worktrees and how they go, and what is said of files, repositories and changes that somebody else has touched.

use super::{dirty, forked, git, place, shown};
use std::path::Path;

use crate::support::{Home, Ran};

/// A fork that has written made.txt; its id.
fn written(home: &Home) -> String {
    let made = forked(home, "WRITE it", &["--permission-mode", "accept-edits"]);
    made["agent"].as_str().unwrap().to_owned()
}

/// Returns what orders print and say.
fn told(home: &Home, orders: &[&[&str]]) -> String {
    told_in(home, &home.work(), orders)
}

/// Returns what orders print and say in another directory.
fn told_in(home: &Home, directory: &Path, orders: &[&[&str]]) -> String {
    let said = orders.iter().map(|order| {
        let ran = Ran::of(home.tine(order).current_dir(directory));
        let text = crate::support::without_figures(&shown(home, &ran));
        format!("> {}\n{text}", home.masked(&order.join(" ")))
    });
    said.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_purge_says_what_would_be_lost_and_wants_a_yes() {
    let home = dirty();
    let agent = written(&home);
    let idle = home.done(&["fork", "base", "--worktree", "--quiet"]);
    home.done(&["drop", &agent, idle.trim()]);
    check!(told(&home, &[
        &["worktree", "purge"],
        &["worktree", "purge", "--max-age", "0s", "--dry-run"],
        &["worktree", "purge", "--max-age", "0s"],
        &["worktree", "purge", "--max-age", "soon"],
    ]), @"
    > worktree purge
    code: #
    --- stdout
    --- stderr
    nothing to purge: what is kept of # worktree is younger than 90d
    > worktree purge --max-age 0s --dry-run
    code: #
    --- stdout
    would purge [AGENT8] work, kept for # s [HOME]/work
    --- stderr
    note: git could free # kB on disk then
    > worktree purge --max-age 0s
    code: #
    --- stdout
    --- stderr
    error: what is kept of # worktree would be lost for good
    hint: --dry-run lists it; --yes deletes it for good
    > worktree purge --max-age soon
    code: #
    --- stdout
    --- stderr
    error: --max-age cannot be `soon`
    hint: it is a number and a unit, such as 12h or 30d; 0s takes all
    ");
    let plan = home.json(&["worktree", "purge", &agent, "--dry-run", "--json"]);
    assert_eq!((&plan["purged"][0]["holds"], &plan["dry_run"]), (&"work".into(), &true.into()));
    check!(told(&home, &[
        &["worktree", "purge", &agent, "--yes"],
        &["worktree", "purge", &agent, "--yes"],
        &["worktree", "list", "--all"],
        &["diff", &agent],
        &["recover", &agent],
        &["run", "--resume", &agent, "NOTHING"],
        &["recover", &agent, "--anew"],
        &["recover", idle.trim()],
    ]), @"
    > worktree purge [AGENT-ID] --yes
    code: #
    --- stdout
    purged [AGENT8] work, kept for # s [HOME]/work
    --- stderr
    note: `git gc` frees # kB on disk in two weeks, `git gc --prune=now` at once
    > worktree purge [AGENT-ID] --yes
    code: #
    --- stdout
    --- stderr
    nothing to purge
    > worktree list --all
    code: #
    --- stdout
    AGENT STATE CHANGES AGE PATH
    [AGENT8] removed # file changed, purged 0s [WORKTREE]
    [AGENT8] removed nothing changed 0s [WORKTREE]
    --- stderr
    > diff [AGENT-ID]
    code: #
    --- stdout
    --- stderr
    error: what was kept of the worktree of agent [AGENT-ID] was purged
    hint: its work is gone; `tine worktree recover [AGENT8] --anew` makes a worktree as the checkout stands now
    > recover [AGENT-ID]
    code: #
    --- stdout
    --- stderr
    error: what was kept of the worktree of agent [AGENT-ID] was purged
    hint: its work is gone; `tine worktree recover [AGENT8] --anew` makes a worktree as the checkout stands now
    > run --resume [AGENT-ID] NOTHING
    code: #
    --- stdout
    --- stderr
    agent [AGENT8] · sim/../case.toml
    error: what was kept of the worktree of agent [AGENT-ID] was purged
    hint: its work is gone; `tine worktree recover [AGENT8] --anew` makes a worktree as the checkout stands now
    > recover [AGENT-ID] --anew
    code: #
    --- stdout
    [WORKTREE]
    --- stderr
    note: nothing was kept of it; it begins as its checkout stands now
    > recover [AGENT-ID]
    code: #
    --- stdout
    [WORKTREE]
    --- stderr
    note: nothing was kept of it; it begins as its checkout stands now
    ");
    assert_eq!(
        git(&home.work(), &["for-each-ref", "--format=%(refname)"]).matches("/end").count(),
        0
    );
}

#[test]
fn every_command_that_looks_names_files_that_are_gone() {
    let home = dirty();
    let agent = written(&home);
    let idle = home.done(&["fork", "base", "--worktree", "--quiet"]);
    let idle = idle.trim();
    for path in [place(&home, &agent), place(&home, idle)] {
        std::fs::remove_dir_all(path).unwrap();
    }
    check!(told(&home, &[
        &["diff", &agent, "--name-only"],
        &["apply", &agent],
        &["diff", idle],
        &["apply", idle],
        &["worktree", "list"],
    ]), @"
    > diff [AGENT-ID] --name-only
    code: #
    --- stdout
    made.txt
    --- stderr
    warning: its files were removed without tine; this is what was last kept, and what came after it is gone
    hint: `tine worktree recover [AGENT8]` makes the worktree again, with the commits that git still has
    > apply [AGENT-ID]
    code: #
    --- stdout
    applied # file of [AGENT8] in [HOME]/work
    added made.txt +1 -0
    --- stderr
    warning: its files were removed without tine; this is what was last kept, and what came after it is gone
    hint: `tine worktree recover [AGENT8]` makes the worktree again, with the commits that git still has
    note: `tine apply --undo [AGENT8]` takes it back
    note: told which files changed: [AGENT8]
    > diff [AGENT-ID]
    code: #
    --- stdout
    --- stderr
    error: the files of the worktree of agent [AGENT-ID] are gone, and nothing of them was kept: [WORKTREE]
    hint: `tine worktree recover [AGENT8]` makes it again as it began, with the commits that git still has
    > apply [AGENT-ID]
    code: #
    --- stdout
    --- stderr
    error: the files of the worktree of agent [AGENT-ID] are gone, and nothing of them was kept: [WORKTREE]
    hint: `tine worktree recover [AGENT8]` makes it again as it began, with the commits that git still has
    > worktree list
    code: #
    --- stdout
    AGENT STATE CHANGES AGE PATH
    [AGENT8] gone # file changed 0s [WORKTREE]
    [AGENT8] gone nothing kept 0s [WORKTREE]
    --- stderr
    hint: files of those that are gone were removed without tine; `tine worktree recover AGENT` makes one again, as it was last kept
    ");
    let doctor = home.json(&["doctor", "--json"]);
    let checks = doctor["checks"].as_array().unwrap();
    let worktrees: Vec<&str> = checks
        .iter()
        .filter(|check| check["name"] == "worktrees")
        .map(|check| check["detail"].as_str().unwrap())
        .collect();
    assert_eq!(
        worktrees,
        [
            "0 there, of 2 worktrees that were made",
            "2 worktrees whose files were removed without tine"
        ]
    );
}

#[test]
fn a_renamed_repository_is_found_again() {
    let home = dirty();
    let agent = written(&home);
    let renamed = home.path().join("renamed");
    std::fs::rename(home.work(), &renamed).unwrap();
    let there = renamed.to_str().unwrap();
    // Looked at from elsewhere, nobody knows where it is by now.
    check!(told_in(&home, &home.path(), &[
        &["worktree", "list"],
        &["diff", &agent],
        &["apply", &agent, "--to", "."],
        &["drop", &agent],
        &["recover", &agent],
        &["run", "--resume", &agent, "NOTHING"],
        &["worktree", "repair"],
        &["worktree", "repair", there],
    ]), @"
    > worktree list
    code: #
    --- stdout
    AGENT STATE CHANGES AGE PATH
    [AGENT8] moved ? 0s [WORKTREE]
    --- stderr
    hint: a repository was moved; `tine worktree repair`, run where it is now, finds its worktrees again
    > diff [AGENT-ID]
    code: #
    --- stdout
    --- stderr
    error: the repository of the worktree of agent [AGENT-ID] is no longer at [HOME]/work/.git
    hint: `tine worktree repair`, in the place where it is now, finds it again; nothing is lost
    > apply [AGENT-ID] --to .
    code: #
    --- stdout
    --- stderr
    error: the repository of the worktree of agent [AGENT-ID] is no longer at [HOME]/work/.git
    hint: `tine worktree repair`, in the place where it is now, finds it again; nothing is lost
    > drop [AGENT-ID]
    code: #
    --- stdout
    --- stderr
    error: the repository of the worktree of agent [AGENT-ID] is no longer at [HOME]/work/.git
    hint: `tine worktree repair`, in the place where it is now, finds it again; nothing is lost
    > recover [AGENT-ID]
    code: #
    --- stdout
    --- stderr
    error: the repository of the worktree of agent [AGENT-ID] is no longer at [HOME]/work/.git
    hint: `tine worktree repair`, in the place where it is now, finds it again; nothing is lost
    > run --resume [AGENT-ID] NOTHING
    code: #
    --- stdout
    --- stderr
    agent [AGENT8] · sim/../case.toml
    error: cannot use the scenario `../case.toml`: no scenario `../case.toml`: it is neither a file nor one of the built-in scenarios (echo, demo, tour, worktrees)
    hint: a simulator model is sim/NAME of a built-in scenario, or sim/PATH of a TOML file
    > worktree repair
    code: #
    --- stdout
    --- stderr
    error: `[HOME]` is in no git repository
    hint: `git init` and a first commit make one; without worktrees agents share the directory
    > worktree repair [HOME]/renamed
    code: #
    --- stdout
    found again [AGENT8] [WORKTREE]
    --- stderr
    note: its repository was [HOME]/work/.git
    note: # agent moved along: [AGENT8]
    ");
    // Whoever works in it finds it.
    std::fs::rename(&renamed, home.path().join("again")).unwrap();
    let renamed = home.path().join("again");
    check!(told_in(&home, &renamed, &[
        &["diff", &agent, "--name-only"],
        &["worktree", "repair"],
        &["apply", &agent],
    ]), @"
    > diff [AGENT-ID] --name-only
    code: #
    --- stdout
    made.txt
    --- stderr
    note: the repository was moved here; # worktree found again
    > worktree repair
    code: #
    --- stdout
    --- stderr
    nothing to repair: no worktree of this repository was looked for elsewhere
    > apply [AGENT-ID]
    code: #
    --- stdout
    applied # file of [AGENT8] in [HOME]/again
    added made.txt +1 -0
    --- stderr
    note: `tine apply --undo [AGENT8]` takes it back
    note: told which files changed: [AGENT8]
    ");
    assert_eq!(std::fs::read_to_string(renamed.join("made.txt")).unwrap(), "made\n");
}

#[test]
fn half_a_change_is_mended_by_whoever_looks() {
    let home = dirty();
    let agent = written(&home);
    // As it is when an apply is killed after its first file.
    let cut_short = || {
        let change = home.work().join(".git/tine/change");
        std::fs::create_dir_all(change.join("slots")).unwrap();
        let journal =
            format!("tine change 1\0delete\0a.txt\0add file {}\0b.txt\0end\0", "0".repeat(64));
        std::fs::write(change.join("journal"), journal).unwrap();
        std::fs::write(change.join("slots/1"), "to come\n").unwrap();
        std::fs::rename(home.work().join("a.txt"), change.join("slots/0")).unwrap();
    };
    for order in [&["ps"][..], &["diff", &agent], &["worktree", "list"], &["doctor"]] {
        cut_short();
        let ran = home.ran(order);
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert!(
            said.contains("half changed") || said.contains("half changes"),
            "{order:?}: {said}"
        );
        assert!(said.contains("was taken back first"), "{order:?}: {said}");
        assert_eq!(
            std::fs::read_to_string(home.work().join("a.txt")).unwrap(),
            "one\nand a half\n"
        );
    }
}
