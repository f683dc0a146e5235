//! A repository that was moved finds its worktrees again.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tine_worktree::{Apply, Move, Name, OnConflict, Repository, Start, Worktree};

use crate::support::{Home, NOW_MS, git, held, try_git, write};

/// Moves the repository, and returns where it is then.
fn moved(home: &Home) -> PathBuf {
    let to = home.path().join("renamed");
    fs::rename(home.top(), &to).unwrap();
    to
}

/// Copies a directory with all that is in it.
#[expect(clippy::disallowed_methods, reason = "copies times and links as they are")]
fn copy(from: &Path, to: &Path) {
    assert!(Command::new("cp").arg("-a").args([from, to]).status().unwrap().success());
}

fn relinked(to: &Path, worktree: &Worktree) -> bool {
    let repository = Repository::at(to).unwrap();
    repository.relink(worktree.name(), worktree.repository().top(), to).unwrap()
}

#[test]
fn links_are_mended_once_and_the_worktree_is_as_it_was() {
    let home = Home::new();
    let worktree = home.fork("one", Start::State).unwrap();
    let top = worktree.repository().top().to_owned();
    write(&top, "work.txt", "work\n");
    let before = held(&top);
    let to = moved(&home);
    assert!(!try_git(&top, &["status"]).0, "git does not find it either");
    assert!(Repository::at(&to).unwrap().has_worktree(worktree.name()).unwrap());
    assert_eq!((relinked(&to, &worktree), relinked(&to, &worktree)), (true, false));
    assert_eq!(held(&top), before);
    let found = Repository::at(&to).unwrap().worktree(worktree.name(), &top).unwrap();
    assert_eq!((found.origin(), found.start()), (to.as_path(), worktree.start()));
    // Git itself has nothing to repair.
    assert_eq!(git(&to, &["worktree", "repair"]), "");
}

#[test]
fn worktrees_that_were_moved_are_found_as_well() {
    let home = Home::new();
    let worktree = home.fork("one", Start::State).unwrap();
    let to = moved(&home);
    let (from, place) = (home.path().join("worktrees"), home.path().join("elsewhere"));
    fs::rename(from, &place).unwrap();
    let repository = Repository::at(&to).unwrap();
    let path = place.join("one");
    assert!(repository.relink(worktree.name(), &path, &to).unwrap());
    assert!(!repository.relink(worktree.name(), &path, &to).unwrap());
    assert!(repository.worktree(worktree.name(), &path).is_ok());
    assert_eq!(git(&path, &["status", "--porcelain"]), "");
}

#[test]
fn a_copy_takes_nothing_from_its_original() {
    let home = Home::new();
    let worktree = home.fork("one", Start::State).unwrap();
    let other = home.path().join("copy");
    copy(&home.top(), &other);
    assert!(!relinked(&other, &worktree));
    assert!(home.repository().worktree(worktree.name(), worktree.repository().top()).is_ok());
}

#[test]
fn files_that_name_another_place_are_left() {
    let home = Home::new();
    let worktree = home.fork("one", Start::State).unwrap();
    let top = worktree.repository().top().to_owned();
    let to = moved(&home);
    for text in ["gitdir: /nowhere/worktrees/two\n", "something else\n"] {
        fs::write(top.join(".git"), text).unwrap();
        assert!(!relinked(&to, &worktree), "{text}");
        assert_eq!(fs::read_to_string(top.join(".git")).unwrap(), text);
    }
}

#[test]
fn undo_finds_the_apply_that_was_made_before_the_move() {
    let home = Home::new();
    let worktree = home.fork("one", Start::State).unwrap();
    write(worktree.repository().top(), "work.txt", "work\n");
    let (start, end) = (worktree.start(), &worktree.state(NOW_MS).unwrap());
    let (name, paths, on_conflict) = (worktree.name(), &[], OnConflict::Refuse);
    let apply = Apply { name, start, end, paths, on_conflict, dry_run: false, now_ms: NOW_MS };
    home.repository().apply(&apply).unwrap();
    let from = home.top();
    let to = moved(&home);
    let repository = Repository::at(&to).unwrap();
    let name = Name::new("one").unwrap();
    assert!(repository.undo(&name, NOW_MS).is_err());
    let tops = [Move { from, to: to.clone() }];
    assert_eq!(
        (repository.rename_refs(&tops).unwrap(), repository.rename_refs(&tops).unwrap()),
        (3, 0)
    );
    repository.undo(&name, NOW_MS).unwrap();
    assert!(!to.join("work.txt").exists());
}
