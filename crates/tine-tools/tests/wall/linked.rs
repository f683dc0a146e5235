//! A worker in a linked worktree commits there, and changes nothing that it shares with others, whatever the words were.

use std::collections::BTreeMap;
use std::path::PathBuf;

use tine_testkit::share;
use tine_tools::{Place, Wall, part_linked_worktree};

use super::world::{Seen, World, changes, lacks_perl, lacks_wall, run};

/// Commands that change what all worktrees share, when nothing holds them. `@MAIN` is the main checkout.
const SHARED: [&str; 26] = [
    "echo more >> a && git stash",
    "git branch new",
    "git branch -D other",
    "git branch -f other HEAD~1",
    "git tag v2",
    "git tag -d v1",
    "git config user.name evil",
    "git config --unset user.name",
    "git update-ref refs/heads/main HEAD~1",
    "git update-ref -d refs/heads/other",
    "git worktree add --detach ../more",
    "git gc -q",
    "git pack-refs --all",
    "git reflog delete main@{0}",
    "git remote add x /nowhere",
    "git switch -c mine",
    "git checkout -q -b mine",
    "git notes add -m note",
    "git replace HEAD HEAD~1",
    "git -C @MAIN reset -q --hard HEAD~1",
    "git -C @MAIN commit -qam evil --allow-empty",
    "echo evil > @MAIN/a",
    "echo evil > @MAIN/.git/hooks/pre-commit",
    // The words are hidden.
    "g=git; s=stash; echo more >> a; $g $s",
    "printf 'git br%s -D other' anch > s.sh; sh s.sh",
    "perl -e 'unlink(q(@MAIN/.git/refs/heads/other)) or unlink(q(@MAIN/.git/HEAD))'",
];

/// What a worker does all day.
const OWN: &str = "set -e; echo 2 >> a; echo new > b; git add -A; git status --short; git commit -qm second; \
    echo 3 >> a; git commit -qam third; git reset -q --soft HEAD~1; git restore --staged a; git commit -qam again; \
    git rebase -q --exec true HEAD~2; git revert --no-edit HEAD >/dev/null; git cherry-pick HEAD~1 >/dev/null; \
    git reset -q --hard HEAD~1; git commit -q --amend -m amended; git log --format=%s; git status --short; \
    mkdir below; cd below; echo x > y; git add y; git commit -qm 'from below'; git log -1 --format=%s";

/// A repository `main` with a worktree in `work`, whose HEAD is on no branch.
async fn world() -> World {
    let world = World::new();
    let main = world.path("main");
    std::fs::create_dir(&main).unwrap();
    std::fs::remove_dir_all(world.path("work")).unwrap();
    let work = world.path("work");
    let make = format!(
        "set -e; git init -q -b main .; git config user.email a@b; git config user.name a; \
         echo 1 > a; git add a; git commit -qm zeroth; echo 1 >> a; git commit -qam first; git tag v1; git branch other; \
         git worktree add -q --detach {}",
        work.display()
    );
    let output = run(&Place::new(&main).unwrap(), &make).await;
    assert!(!output.is_error, "{}", output.text);
    part_linked_worktree(&work).unwrap();
    world
}

/// What lies in `main`, but for what a commit in the worktree makes.
fn shared(world: &World) -> BTreeMap<PathBuf, Seen> {
    let own = ["main/.git/objects", "main/.git/worktrees/work"];
    let mut without = vec!["work", "tmp"];
    without.extend(own);
    let mut seen = world.look_around(&without);
    // The times of a directory tell of its entries, which are looked at themselves.
    seen.retain(|path, _| !path.is_dir());
    seen
}

fn fill(world: &World, command: &str) -> String {
    command.replace("@MAIN", world.path("main").to_str().unwrap())
}

#[tokio::test]
async fn each_command_would_change_what_is_shared() {
    if lacks_perl() {
        return;
    }
    for command in share("commands on what is shared", 0, SHARED) {
        let world = world().await;
        let before = shared(&world);
        run(&world.open(), &fill(&world, command)).await;
        assert!(!changes(&before, &shared(&world)).is_empty(), "{command}");
    }
}

#[tokio::test]
async fn a_worker_in_a_worktree_changes_nothing_that_is_shared() {
    if lacks_wall() {
        return;
    }
    for command in share("commands on what is shared", 1, SHARED) {
        let world = world().await;
        let before = shared(&world);
        run(&world.worker(), &fill(&world, command)).await;
        assert_eq!(changes(&before, &shared(&world)), [""; 0].map(PathBuf::from), "{command}");
    }
}

#[tokio::test]
async fn a_worker_in_a_worktree_commits_rebases_and_resets() {
    if lacks_wall() {
        return;
    }
    let world = world().await;
    let before = shared(&world);
    let output = run(&world.worker(), OWN).await;
    insta::assert_snapshot!(output.text, @"
    M  a
    A  b
    amended
    again
    second
    first
    zeroth
    from below
    [exit code 0]
    ");
    assert_eq!(changes(&before, &shared(&world)), [""; 0].map(PathBuf::from));
    // The commits are there for the main checkout, and the branches are where they were.
    let main = Place::new(&world.path("main")).unwrap();
    let output = run(
        &main,
        "git -C ../work rev-parse HEAD | git cat-file --batch-check; git log --format=%s",
    )
    .await;
    assert!(
        output.text.contains(" commit ") && output.text.contains("first\nzeroth\n"),
        "{}",
        output.text
    );
}

#[tokio::test]
async fn a_worker_below_the_top_of_a_worktree_commits_too() {
    if lacks_wall() {
        return;
    }
    let world = world().await;
    let below = world.path("work/below");
    std::fs::create_dir(&below).unwrap();
    let place = Place::new(&below).unwrap();
    let enclosure = Wall::worker(&below).raise(&below, &world.ground()).unwrap();
    let place = place.with_enclosure(enclosure);
    let output =
        run(&place, "echo x > y && git add y && git commit -qm below && git log -1 --format=%s")
            .await;
    assert!(output.text.starts_with("below\n"), "{}", output.text);
    assert!(
        run(&place, "echo x > ../a").await.is_error,
        "the rest of the worktree is not its directory"
    );
}

#[tokio::test]
async fn a_history_that_was_cut_short_ends_there_in_a_worktree_too() {
    if lacks_perl() {
        return;
    }
    let world = world().await;
    let (main, short) = (Place::new(&world.path("main")).unwrap(), world.path("main/short"));
    let make = "git rev-parse HEAD > .git/shallow; git worktree add -q --detach short";
    let output = run(&main, make).await;
    assert!(!output.is_error, "{}", output.text);
    part_linked_worktree(&short).unwrap();
    let output = run(&Place::new(&short).unwrap(), "git log --format=%s").await;
    assert_eq!(output.text, "first\n[exit code 0]");
}

#[tokio::test]
async fn a_git_file_that_lies_opens_nothing() {
    if lacks_wall() {
        return;
    }
    let world = world().await;
    // Another directory that claims to be the worktree of somebody else.
    let liar = world.path("liar");
    std::fs::create_dir(&liar).unwrap();
    std::fs::copy(world.path("work/.git"), liar.join(".git")).unwrap();
    let enclosure = Wall::worker(&liar).raise(&liar, &world.ground()).unwrap();
    let place = Place::new(&liar).unwrap().with_enclosure(enclosure);
    let before = world.look_around(&["tmp", "liar"]);
    run(&place, "echo x > f; git add f; git commit -qm x; git read-tree --empty").await;
    let after = world.look_around(&["tmp", "liar"]);
    assert_eq!(changes(&before, &after), [""; 0].map(PathBuf::from));
}

#[tokio::test]
async fn no_command_in_a_worktree_begins_to_tidy_what_is_shared() {
    if lacks_wall() {
        return;
    }
    let world = world().await;
    let main = Place::new(&world.path("main")).unwrap();
    let command =
        "for key in gc.auto maintenance.auto rerere.enabled; do git config $key || echo none; done";
    for place in [world.open(), world.worker()] {
        assert_eq!(run(&place, command).await.text, "0\nfalse\nfalse\n[exit code 0]");
    }
    assert_eq!(run(&main, command).await.text, "none\nnone\nnone\n[exit code 0]");
}

#[tokio::test]
async fn whoever_is_refused_is_told_what_git_may_do() {
    if lacks_wall() {
        return;
    }
    let world = world().await;
    let output = run(&world.worker(), "git tag v2").await;
    let text = output.text.replace(world.path("").to_str().unwrap(), "/w/");
    insta::assert_snapshot!(text, @"
    fatal: cannot lock ref 'refs/tags/v2': Unable to create '/w/main/.git/worktrees/work/tine-common/refs/tags/v2.lock': Permission denied
    [exit code 128]
    [confined: writes only below /w/work and $TMPDIR, no key stores, no network, git commits here and changes no branch, tag, stash or setting; a person allows more by --network HOST:PORT and confine.writable]
    ");
}
