//! Whoever works in a worktree can write its files and git's own part of it. Nothing of that is obeyed, and nothing else is removed.

use std::fs;

use tine_worktree::{FoundState, Name, Start, Worktree};

use crate::support::{Home, NOW_MS, git, write};

#[test]
fn what_stands_in_a_worktree_makes_git_run_nothing() {
    let home = Home::new();
    let worktree = home.fork("one", Start::State).unwrap();
    let (top, own) =
        (worktree.repository().top().to_owned(), worktree.repository().git_dir().to_owned());
    let trap = home.path().join("sprung");
    let config = format!(
        "[core]\n\trepositoryFormatVersion = 0\n\tfsmonitor = touch {0}\n[filter \"trap\"]\n\tclean = touch {0}; cat\n",
        trap.display()
    );
    write(&top, ".gitattributes", "* filter=trap\n");
    write(&top, "a.txt", "changed\n");
    // A repository of its own making in the place of the shared one.
    let false_common = own.join("false");
    git(&home.path(), &["init", "--quiet", "--bare", &false_common.display().to_string()]);
    fs::write(false_common.join("config"), &config).unwrap();
    fs::write(own.join("commondir"), "false\n").unwrap();
    fs::write(own.join("config.worktree"), &config).unwrap();
    let worktree = home.repository().worktree(&Name::new("one").unwrap()).unwrap();
    let state = worktree.state(NOW_MS).unwrap();
    assert!(!worktree.is_unchanged(&state));
    assert_eq!(worktree.progress(&state).unwrap(), (2, 0));
    worktree.hold(&state).unwrap();
    assert!(!trap.exists(), "a command of the worktree's own settings was run");
    worktree.remove(NOW_MS).unwrap();
    assert!(!trap.exists() && !top.exists());
    assert!(home.repository().kept(&Name::new("one").unwrap()).unwrap().1.is_some());
}

#[test]
fn a_checkout_that_leads_elsewhere_is_no_worktree_of_ours_and_nothing_there_is_removed() {
    for lie in ["precious/.git", "repository/.git"] {
        let home = Home::new();
        let name = Name::new("one").unwrap();
        let worktree = home.fork("one", Start::State).unwrap();
        write(&home.path(), "precious/letters.txt", "dear\n");
        let lie = format!("{}\n", home.path().join(lie).display());
        fs::write(worktree.repository().git_dir().join("gitdir"), lie).unwrap();
        assert!(Worktree::of(home.repository().common_dir(), &name).is_err());
        let found = home.repository().worktrees().unwrap();
        assert_eq!(found[0].state, FoundState::Gone);
        assert!(home.repository().tidy(&name).unwrap());
        assert!(home.path().join("precious/letters.txt").exists());
        assert!(home.top().join("a.txt").exists() && home.top().join(".git/HEAD").exists());
    }
}

#[test]
fn what_a_worktree_says_that_it_began_with_is_not_believed() {
    let home = Home::new();
    let worktree = home.fork("one", Start::State).unwrap();
    let top = worktree.repository().top().to_owned();
    write(&top, "a.txt", "changed\n");
    let state = worktree.state(NOW_MS).unwrap();
    let note = worktree.repository().git_dir().join("tine.json");
    let text = fs::read_to_string(&note).unwrap();
    let (work, tree) = (worktree.start().work.as_str(), worktree.start().work_tree.as_str());
    fs::write(
        &note,
        text.replace(work, state.work.as_str()).replace(tree, state.work_tree.as_str()),
    )
    .unwrap();
    let again = home.repository().worktree(&Name::new("one").unwrap()).unwrap();
    assert!(!again.is_unchanged(&again.state(NOW_MS).unwrap()));
}
