//! Letting go of what is kept of worktrees that are gone, and what others see of it.

use std::fs;

use tine_worktree::{Apply, Holds, KeptRefs, OnConflict, Start, Worktree};

use crate::support::{Home, NOW_MS, git, try_git, write};

fn refs(home: &Home) -> String {
    home.git(&["for-each-ref", "--format=%(refname)", "refs/tine"])
}

fn kept(home: &Home, name: &str) -> KeptRefs {
    let kept = home.repository().kept_refs().unwrap();
    kept.into_iter().find(|kept| kept.name.as_str() == name).unwrap()
}

fn apply(home: &Home, worktree: &Worktree) {
    let (start, end) = (worktree.start(), &worktree.state(NOW_MS).unwrap());
    let (name, paths, on_conflict) = (worktree.name(), &[], OnConflict::Refuse);
    let (dry_run, now_ms) = (false, NOW_MS);
    let apply = Apply { name, start, end, paths, on_conflict, dry_run, now_ms };
    home.repository().apply(&apply).unwrap();
}

#[test]
fn an_unchanged_worktree_leaves_no_ref_also_with_files_that_came_along() {
    let home = Home::new();
    home.write(".gitignore", "*.env\n");
    home.write(".worktreeinclude", "*.env\n");
    home.git(&["add", "--all"]);
    home.git(&["commit", "--quiet", "-m", "second"]);
    home.write("local.env", "KEY=1\n");
    for start in [Start::State, Start::Clean] {
        let worktree = home.fork("one", start).unwrap();
        assert_eq!(refs(&home), "refs/tine/one/included\nrefs/tine/one/start\n");
        assert_eq!(worktree.remove(NOW_MS).unwrap(), None);
        assert_eq!(refs(&home), "");
    }
    // What `undo` goes by stays, and the start with it.
    let worktree = home.fork("two", Start::State).unwrap();
    write(worktree.repository().top(), "work.txt", "work\n");
    apply(&home, &worktree);
    fs::remove_file(worktree.repository().top().join("work.txt")).unwrap();
    let name = worktree.name().clone();
    assert_eq!(worktree.remove(NOW_MS).unwrap(), None);
    assert_eq!(kept(&home, "two").holds, Holds::Undo);
    home.repository().undo(&name, NOW_MS).unwrap();
    assert!(!home.top().join("work.txt").exists());
}

#[test]
fn what_is_purged_is_gone_and_git_can_free_its_space() {
    let home = Home::new();
    // What no compression makes small.
    let noise: Vec<u8> = (0..40_000_u32)
        .flat_map(|at| blake3::hash(&at.to_le_bytes()).as_bytes()[..4].to_vec())
        .collect();
    let [one, two] = ["one", "two"].map(|name| home.fork(name, Start::State).unwrap());
    write(one.repository().top(), "large.bin", noise);
    write(two.repository().top(), "small.txt", "small\n");
    apply(&home, &two);
    for worktree in [one, two] {
        worktree.remove(NOW_MS).unwrap();
    }
    let (one, two) = (kept(&home, "one"), kept(&home, "two"));
    assert_eq!((one.holds, two.holds, one.kept_ms), (Holds::Work, Holds::BroughtWork, NOW_MS));
    let bytes = |kept: &KeptRefs| home.repository().bytes_held(std::slice::from_ref(kept)).unwrap();
    assert!((150_000..250_000).contains(&bytes(&one)), "{}", bytes(&one));
    assert!(bytes(&two) < 2_000, "{}", bytes(&two));
    assert_eq!(home.repository().bytes_held(&[]).unwrap(), 0);

    assert!(home.repository().purge(&one).unwrap());
    assert!(refs(&home).lines().all(|name| name.starts_with("refs/tine/two/")));
    let large = home.git(&["count-objects", "-v"]);
    home.git(&["gc", "--quiet", "--prune=now"]);
    let size = |said: &str, what: &str| -> u64 {
        let line = said.lines().find_map(|line| line.strip_prefix(what)).unwrap();
        line.trim().parse().unwrap()
    };
    let small = home.git(&["count-objects", "-v"]);
    assert!(size(&large, "size:") > 150 && size(&small, "size-pack:") < 20, "{small}");
    // Nothing is left to be purged; what came since is not what was to go.
    assert!(!home.repository().purge(&one).unwrap());
    home.git(&["update-ref", "refs/tine/two/end", "refs/tine/two/start"]);
    assert!(!home.repository().purge(&two).unwrap());
    assert!(refs(&home).contains("refs/tine/two/end"));
}

/// The manual tells people of this, and why nothing better can be had.
#[test]
fn a_mirror_gets_what_is_kept_unless_its_remote_says_otherwise() {
    let home = Home::new();
    let worktree = home.fork("one", Start::State).unwrap();
    write(worktree.repository().top(), "secret.txt", "secret\n");
    worktree.remove(NOW_MS).unwrap();
    let pushed = |remote: &str, push: &[&str]| {
        let place = home.path().join(remote);
        git(&home.path(), &["init", "--quiet", "--bare", place.to_str().unwrap()]);
        home.git(&["remote", "add", remote, place.to_str().unwrap()]);
        for refspec in push {
            home.git(&["config", "--add", &format!("remote.{remote}.push"), refspec]);
        }
        home.git(&["push", "--quiet", "--mirror", remote]);
        git(&place, &["for-each-ref", "--format=%(refname)"])
    };
    let usual = pushed("usual", &[]);
    assert!(usual.contains("refs/tine/one/end"), "git hides them by itself by now: {usual}");
    let hiding = pushed("hiding", &["+:", "^refs/tine/*"]);
    assert!(hiding.contains("refs/heads/main") && !hiding.contains("refs/tine"), "{hiding}");
    assert_eq!(home.repository().open_mirrors().unwrap(), Vec::<String>::new(), "by hand only");
    for remote in ["usual", "hiding"] {
        home.git(&["config", &format!("remote.{remote}.mirror"), "true"]);
    }
    assert_eq!(home.repository().open_mirrors().unwrap(), ["usual"]);
    // Whoever clones or fetches does not get what this setting hides.
    let clone = |name: &str| {
        let place = home.path().join(name);
        let (top, place) = (home.top(), place.to_str().unwrap().to_owned());
        git(&home.path(), &["clone", "--quiet", "--mirror", top.to_str().unwrap(), &place]);
        try_git(place.as_ref(), &["rev-parse", "--verify", "--quiet", "refs/tine/one/end"]).0
    };
    assert!(clone("seen"));
    home.git(&["config", "transfer.hideRefs", "refs/tine"]);
    assert!(!clone("unseen"));
}
