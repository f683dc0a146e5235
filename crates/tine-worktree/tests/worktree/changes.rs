//! What a worktree did since its start, as lists, as a patch, from files or from refs.

use std::fs;

use tine_worktree::{Changes, Name, Start};

use crate::looks::holds;
use crate::support::{Home, NOW_MS, git, write};

fn commit(top: &std::path::Path, subject: &str) {
    let who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com"];
    git(top, &[&who[..], &["commit", "--quiet", "-m", subject]].concat());
}

fn shown(changes: &Changes) -> String {
    let mut text = String::new();
    for file in &changes.files {
        let from = file.from.as_ref().map(|from| format!(" from {}", from.display()));
        let lines = file.lines.map(|lines| format!("+{} -{}", lines.added, lines.removed));
        text.push_str(&format!(
            "{}: {}{} {}\n",
            file.status,
            file.path.display(),
            from.unwrap_or_default(),
            lines.unwrap_or_else(|| "binary".to_owned())
        ));
    }
    for made in &changes.commits {
        text.push_str(&format!("commit {} by {}\n", made.subject, made.author));
    }
    text.push_str(&format!("uncommitted {:?}\n", changes.uncommitted));
    text
}

#[test]
fn everything_that_a_worktree_did_is_told_and_the_patch_brings_it() {
    let home = Home::new();
    // The settings of a user who likes other diffs.
    home.git(&["config", "diff.noprefix", "true"]);
    home.git(&["config", "diff.external", "false"]);
    home.git(&["config", "color.ui", "always"]);
    home.write("dirty.txt", "the parent's\n");
    home.write("moves.txt", "one\ntwo\nthree\nfour\nfive\nsix\n");
    let worktree = home.fork("one", Start::State).unwrap();
    let top = worktree.repository().top().to_owned();
    write(&top, "a.txt", "one\n2\nthree\nfour\nfive\nsix\n");
    git(&top, &["add", "a.txt"]);
    commit(&top, "count: in digits");
    write(&top, "pictures/ü.png", [0, 159, 146, 150]);
    fs::rename(top.join("moves.txt"), top.join("moved.txt")).unwrap();
    fs::remove_file(top.join("src/lib.rs")).unwrap();
    git(&top, &["update-index", "--chmod=-x", "run.sh"]);
    fs::set_permissions(top.join("run.sh"), std::os::unix::fs::PermissionsExt::from_mode(0o644))
        .unwrap();
    std::os::unix::fs::symlink("a.txt", top.join("link")).unwrap();
    let end = worktree.state(NOW_MS).unwrap();
    let changes = home.repository().changes(worktree.start(), &end).unwrap();
    insta::assert_snapshot!(shown(&changes), @r#"
    modified: a.txt +2 -1
    added: link +1 -0
    renamed: moved.txt from moves.txt +0 -0
    added: pictures/ü.png binary
    mode changed: run.sh +0 -0
    deleted: src/lib.rs +0 -1
    commit count: in digits by Ada <ada@example.com>
    uncommitted ["link", "moved.txt", "pictures/ü.png", "run.sh", "src/lib.rs"]
    "#);
    let was = holds(&top);
    let stat = home.repository().stat_of(worktree.start(), &end, &[]).unwrap();
    insta::assert_snapshot!(stat, @"
    a.txt                  |   3 ++-
    link                   |   1 +
    moves.txt => moved.txt |   0
    pictures/ü.png         | Bin 0 -> 4 bytes
    run.sh                 |   0
    src/lib.rs             |   1 -
    6 files changed, 3 insertions(+), 2 deletions(-)
    create mode 120000 link
    rename moves.txt => moved.txt (100%)
    create mode 100644 pictures/ü.png
    mode change 100755 => 100644 run.sh
    delete mode 100644 src/lib.rs
    ");

    // The same from what is kept.
    let start = worktree.start().clone();
    worktree.remove(NOW_MS).unwrap();
    let (kept_start, kept_end) = home.repository().kept(&Name::new("one").unwrap()).unwrap();
    let kept_end = kept_end.unwrap();
    assert_eq!(kept_start, start);
    assert_eq!(home.repository().changes(&kept_start, &kept_end).unwrap(), changes);

    let patch = home.repository().patch_of(&kept_start, &kept_end, &[]).unwrap();
    fs::write(home.path().join("patch"), patch).unwrap();
    home.git(&["apply", "../patch"]);
    let files = |text: &str| {
        text.lines()
            .filter(|line| line.contains(" 100") || line.contains(" 120"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let only_files = |text: String| {
        files(&text)
            .into_iter()
            .filter(|line| !line.starts_with(['1', '2', '?']))
            .collect::<Vec<_>>()
    };
    assert_eq!(only_files(holds(&home.top())), only_files(was));
}

#[test]
fn nothing_is_told_of_a_worktree_that_did_nothing() {
    let home = Home::new();
    home.write("dirty.txt", "the parent's\n");
    let worktree = home.fork("one", Start::State).unwrap();
    let end = worktree.state(NOW_MS).unwrap();
    let changes = home.repository().changes(worktree.start(), &end).unwrap();
    assert_eq!(shown(&changes), "uncommitted []\n");
    assert!(home.repository().patch_of(worktree.start(), &end, &[]).unwrap().is_empty());
}
