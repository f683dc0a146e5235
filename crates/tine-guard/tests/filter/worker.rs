//! `WorkerFilter`: a worktree of one's own, a repository shared with others.

use tine_guard::filter::WorkerFilter;

use crate::support::{Home, command, file};

fn filter(home: &Home) -> WorkerFilter {
    WorkerFilter::new(home.path("mem")).unwrap()
}

#[test]
fn a_worker_writes_inside_its_worktree() {
    let home = Home::new();
    home.link("../out", "mem/door");
    let filter = filter(&home);
    let write =
        |path: &str| home.said(&filter, "FileWrite", &file(&path.replace("HOME/", &home.text(""))));
    for path in ["a.md", "src/new.rs", "HOME/mem/notes/x", "./notes/../b"] {
        assert_eq!(write(path), "allow", "{path}");
    }
    insta::assert_snapshot!(write("../out/a.md"), @"outside: Denied: `../out/a.md` is outside the directory that may be written. Write only files inside `HOME/mem`; give absolute paths.");
    insta::assert_snapshot!(write("door/x"), @"outside: Denied: `door/x` leads outside, to `HOME/out/x`. Write only files inside `HOME/mem`; give absolute paths.");
    insta::assert_snapshot!(write(".git"), @"target: Denied: `.git` decides what other programs run. Write only files inside `HOME/mem`; give absolute paths.");
    insta::assert_snapshot!(write("HOME/mem/.git/refs/heads/main"), @"target: Denied: `HOME/mem/.git/refs/heads/main` decides what other programs run. Write only files inside `HOME/mem`; give absolute paths.");
    assert_eq!(home.said(&filter, "FileRead", &file("/etc/hosts")), "allow");
    assert_eq!(home.said(&filter, "Agent", r#"{"prompt":"x"}"#), "allow");
    insta::assert_snapshot!(home.said(&filter, "bash", "{}"), @"unknown_tool: Denied: there is no tool `bash`. Did you mean `Bash`?");
}

#[test]
fn git_that_stays_in_the_worktree_is_allowed() {
    let home = Home::new();
    let filter = filter(&home);
    for text in [
        "git status",
        "git add -A && git commit -m 'One change'",
        "git --no-pager log --oneline -5 | head",
        "git diff HEAD~1 -- src",
        "git -C notes status",
        "git checkout -- a.md",
        "git checkout HEAD~1 -- a.md",
        "git restore --staged a.md",
        "git status --short",
        "git diff",
        "git commit --amend --no-edit",
        "git log",
        "git rebase main",
        "git rebase -i HEAD~3",
        "git rebase --onto main HEAD~2",
        "git rebase --exec 'cargo test --all' HEAD~2",
        "GIT_SEQUENCE_EDITOR=true git rebase -i HEAD~3",
        "git rebase --continue",
        "git reset --hard HEAD~1",
        "git reset a.md",
        "git restore a.md",
        "git cherry-pick HEAD~1",
        "git cherry-pick --abort",
        "git revert --no-edit HEAD",
        "git -c user.name=x -c user.email=a@b commit -qm x",
        "git branch",
        "git branch --show-current",
        "git branch -a --contains HEAD",
        "git tag -l 'v*'",
        "git remote -v",
        "git stash list",
        "git reflog -5",
        "git worktree list",
        "git config --get user.name",
        "grep git README",
        "cat .gitignore .github/workflows/ci.yml",
        "cargo test",
        "echo digit; ls git",
    ] {
        assert_eq!(home.said(&filter, "Bash", &command(text)), "allow", "{text}");
    }
}

#[test]
fn git_that_touches_what_is_shared_is_refused() {
    let home = Home::new();
    let filter = filter(&home);
    for text in [
        "git stash",
        "git remote -v add evil url",
        "git remote --verbose remove origin",
        "X=1 git -c a=b stash",
        "env git -C . stash",
        "git stash pop",
        "git checkout main",
        "git checkout -b other",
        "git checkout -B main -- ",
        "git switch main",
        "git switch -c x",
        "git switch --detach main",
        "git checkout other-branch",
        "git rebase main other",
        "git rebase --onto main HEAD~2 other",
        "git reflog expire --expire=now --all",
        "git reflog delete HEAD@{0}",
        "git maintenance run",
        "git push --force origin main",
        "git remote set-url origin x",
        "git stash push -m x",
        "git stash drop",
        "git worktree remove x",
        "git notes add -m x",
        "git replace a b",
        "git -c core.hooksPath=x commit",
        "GIT_INDEX_FILE=x git add a",
        "git worktree add ../x",
        "git worktree prune",
        "git config user.name x",
        "git config --global alias.x '!sh'",
        "git update-ref refs/heads/main HEAD",
        "git symbolic-ref HEAD refs/heads/x",
        "git branch -f main",
        "git branch -D main",
        "git branch new",
        "git branch -m a b",
        "git branch --list -D main",
        "git tag v1",
        "git tag -d v1",
        "git push",
        "git push origin HEAD",
        "git fetch",
        "git pull",
        "git gc",
        "git prune",
        "git reflog expire --all",
        "git remote add x y",
        "git rebase --update-refs main",
        "git rebase --update-r main",
        "git unknown-alias",
        "git -c alias.x=push x",
        "git --git-dir=/r/x status",
        "git -C ../out status",
        "git -C $HOME status",
        "GIT_DIR=/r/x git status",
        "cd notes; git push",
        "cd notes\ngit push",
        "true&&git push",
        "(git push)",
        "echo $(git push)",
        "echo `git push`",
        "bash -c 'git push'",
        "env git push",
        "xargs git push",
        "sudo /usr/bin/git push",
        "g\\it push",
        "'git' push",
        "gi\"t\" push",
        "rm -rf .git",
        "rm ../.git/refs/heads/main",
        "echo x > .git/HEAD",
        "cat .GIT/config",
    ] {
        let said = home.said(&filter, "Bash", &command(text));
        assert!(said.starts_with("shared_git: Denied: "), "{text}: {said}");
    }
    insta::assert_snapshot!(home.said(&filter, "Bash", &command("git push origin")), @"shared_git: Denied: `git push origin` may change what all worktrees of the repository share. Change and commit your own files in this worktree, whose HEAD is on no branch; leave branches, stashes, tags, remotes and configuration alone.");
    insta::assert_snapshot!(home.said(&filter, "Bash", &command("git submodule update --init")), @"shared_git: Denied: `git submodule update` may change what all worktrees of the repository share. Only a person brings files of submodules, or a setup command of theirs. Write nothing into the folders of submodules, for it is no part of your work; if the task needs them, say so in your report.");
    insta::assert_snapshot!(home.said(&filter, "Bash", &command("mkdir x && cd x && git init -q")), @"shared_git: Denied: `git init -q` makes another repository, whose files are no part of your work. Write your files in this worktree as they are, without a repository of their own; if the task needs one, say so in your report.");
    insta::assert_snapshot!(home.said(&filter, "Bash", &command("git clone ../x")), @"shared_git: Denied: `git clone ../x` makes another repository, whose files are no part of your work. Write your files in this worktree as they are, without a repository of their own; if the task needs one, say so in your report.");
    insta::assert_snapshot!(home.said(&filter, "Bash", &command("rm -rf .git/refs")), @"shared_git: Denied: `.git/refs` is inside the shared repository. Change and commit your own files in this worktree, whose HEAD is on no branch; leave branches, stashes, tags, remotes and configuration alone.");
    insta::assert_snapshot!(home.said(&filter, "Bash", &command("git --git-dir=x status")), @"shared_git: Denied: `git --git-dir=x` before the subcommand can change what git does. Change and commit your own files in this worktree, whose HEAD is on no branch; leave branches, stashes, tags, remotes and configuration alone.");
}

#[test]
fn a_file_of_the_origin_is_named_in_the_worktree() {
    let home = Home::new();
    std::fs::create_dir_all(home.path("out/src")).unwrap();
    home.link(home.path("out"), "door");
    let filter = filter(&home).with_origin(home.path("door"));
    let said = |tool: &str, path: &str| {
        home.said(&filter, tool, &file(&path.replace("HOME/", &home.text(""))))
    };
    insta::assert_snapshot!(said("FileWrite", "HOME/out/src/a.rs"), @"outside: Denied: `HOME/out/src/a.rs` is outside the directory that may be written. In your worktree this file is `HOME/mem/src/a.rs`; read it there before you change it.");
    insta::assert_snapshot!(said("FileEdit", "HOME/door/a.md"), @"outside: Denied: `HOME/door/a.md` leads outside, to `HOME/out/a.md`. In your worktree this file is `HOME/mem/a.md`; read it there before you change it.");
    insta::assert_snapshot!(said("FileEdit", "../out/a.md"), @"outside: Denied: `../out/a.md` is outside the directory that may be written. In your worktree this file is `HOME/mem/a.md`; read it there before you change it.");
    // What is elsewhere has no place in the worktree, and git's own files are not for tools.
    for path in ["HOME/home/a", "HOME/out/.git/config", "HOME/outer/a"] {
        let said = said("FileWrite", path);
        assert!(
            said.ends_with("Write only files inside `HOME/mem`; give absolute paths."),
            "{said}"
        );
    }
    assert_eq!(said("FileWrite", "HOME/mem/a.md"), "allow");
}

#[test]
fn what_is_in_the_origin_may_be_read() {
    let home = Home::new();
    let filter = filter(&home).with_origin(home.path("out"));
    for (tool, field, path) in [
        ("FileRead", "file_path", "HOME/out/a.md"),
        ("Grep", "path", "HOME/out"),
        ("FileRead", "file_path", "HOME/mem/a.md"),
        ("FileRead", "file_path", "a.md"),
        ("FileRead", "file_path", "/etc/hosts"),
        ("Glob", "pattern", "*.md"),
        ("Agent", "prompt", "HOME/out/a.md"),
    ] {
        let path = path.replace("HOME/", &home.text(""));
        let input = serde_json::json!({ field: path }).to_string();
        assert_eq!(home.said(&filter, tool, &input), "allow", "{tool} {path}");
    }
}
