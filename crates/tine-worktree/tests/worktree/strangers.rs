//! Whoever works in a worktree can write its files and git's own part of it. Nothing of that is obeyed, and nothing else is removed.

use std::fs;
use std::path::{Path, PathBuf};

use tine_worktree::{FastForward, FoundState, Merge, Name, Start, Uncommitted, Worktree};

use crate::support::{Home, NOW_MS, git, try_git, write};

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
    let worktree =
        home.repository().worktree(&Name::new("one").unwrap(), &home.place("one")).unwrap();
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
        assert!(Worktree::of(home.repository().common_dir(), &name, &home.place("one")).is_err());
        let found = home.repository().worktrees().unwrap();
        assert_eq!(found[0].state, FoundState::Gone);
        assert!(!home.repository().tidy(&name, &home.place("one")).unwrap(), "it is elsewhere");
        assert!(home.repository().tidy(&name, &found[0].path).unwrap());
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
    let again = home.repository().worktree(&Name::new("one").unwrap(), &home.place("one")).unwrap();
    assert!(!again.is_unchanged(&again.state(NOW_MS).unwrap()));
}

/// Puts in the place of a file what never ends, or never begins.
fn put(file: &Path, what: &str) {
    fs::remove_file(file).ok();
    match what {
        "pipe" => {
            let (mode, kind) = (rustix::fs::Mode::RWXU, rustix::fs::FileType::Fifo);
            rustix::fs::mknodat(rustix::fs::CWD, file, kind, mode, 0).unwrap();
        }
        link => std::os::unix::fs::symlink(link, file).unwrap(),
    }
}

#[test]
fn nothing_waits_for_a_pipe_or_reads_what_never_ends() {
    for what in ["pipe", "/dev/zero"] {
        for file in ["index", "HEAD", "gitdir", "locked", "tine.json", "tine-leaving.json", ".git"]
        {
            let home = Home::new();
            let other = home.fork("other", Start::State).unwrap();
            let worktree = home.fork("one", Start::State).unwrap();
            let own = match file {
                ".git" => worktree.repository().top(),
                _ => worktree.repository().git_dir(),
            };
            put(&own.join(file), what);
            let said = home
                .repository()
                .worktree(&Name::new("one").unwrap(), &home.place("one"))
                .and_then(|found| found.state(NOW_MS));
            let is_read = !["locked", "tine-leaving.json"].contains(&file);
            assert_eq!(said.is_err(), is_read, "{what} as {file}: {said:?}");
            // Of the others nothing is seen less.
            let found = home.repository().worktrees().unwrap();
            assert!(found.iter().any(|found| found.name == *other.name()), "{what} as {file}");
            home.repository()
                .worktree(other.name(), other.repository().top())
                .unwrap()
                .state(NOW_MS)
                .unwrap();
        }
    }
}

#[test]
fn a_note_that_nobody_can_read_stands_in_the_way_of_no_other_worktree() {
    for content in ["", "garbage", "{\"version\":1}"] {
        let home = Home::new();
        let [one, other] = ["one", "other"].map(|name| home.fork(name, Start::State).unwrap());
        fs::write(one.repository().git_dir().join("tine.json"), content).unwrap();
        fs::write(home.top().join(".git/worktrees/a stray file"), "").unwrap();
        let repository = home.repository();
        let found = repository.worktrees().unwrap();
        let names: Vec<_> = found.iter().map(|found| found.name.as_str()).collect();
        assert_eq!(names, ["other"]);
        assert!(repository.worktree(one.name(), one.repository().top()).is_err());
        repository
            .worktree(other.name(), other.repository().top())
            .unwrap()
            .remove(NOW_MS)
            .unwrap();
        assert!(repository.fork(&home.new_worktree("third", Start::State)).is_ok());
    }
}

#[test]
fn who_takes_the_name_of_another_gets_nothing_of_it_removed() {
    let home = Home::new();
    let repository = home.repository();
    let victim = home.fork("victim", Start::State).unwrap();
    let thief = home.fork("one", Start::State).unwrap();
    let (top, own) = (home.place("victim"), thief.repository().git_dir());
    let start = || home.git(&["rev-parse", "refs/tine/victim/start"]);
    let (note, started) = (fs::read_to_string(own.join("tine.json")).unwrap(), start());
    let is_whole = |what: &str| {
        assert_eq!(start(), started, "{what}");
        let found = repository.worktree(victim.name(), &top).unwrap();
        assert!(found.is_unchanged(&found.state(NOW_MS).unwrap()), "{what}");
    };
    // By its note, at its own place.
    fs::write(own.join("tine.json"), note.replace("\"one\"", "\"victim\"")).unwrap();
    assert!(!repository.tidy(victim.name(), &top).unwrap());
    is_whole("note");
    // As one that was never finished, at its own place and at that of the other.
    fs::remove_file(own.join("tine.json")).unwrap();
    fs::write(own.join("locked"), "tine: victim\n").unwrap();
    assert!(!repository.tidy(victim.name(), &top).unwrap());
    is_whole("lock");
    fs::write(own.join("gitdir"), format!("{}/.git\n", top.display())).unwrap();
    assert!(repository.tidy(victim.name(), &top).unwrap());
    is_whole("lock and place");
    assert!(home.place("one").join("a.txt").exists());
}

#[test]
fn what_is_kept_of_a_worktree_is_not_forgotten_for_another_that_has_its_name() {
    let home = Home::new();
    let repository = home.repository();
    let victim = home.fork("victim", Start::State).unwrap();
    write(&home.place("victim"), "work.txt", "work\n");
    let name = victim.name().clone();
    victim.remove(NOW_MS).unwrap();
    let kept = repository.kept(&name).unwrap();
    let thief = home.fork("one", Start::State).unwrap();
    let own = thief.repository().git_dir();
    fs::remove_file(own.join("tine.json")).unwrap();
    fs::write(own.join("locked"), "tine: victim\n").unwrap();
    fs::write(own.join("gitdir"), format!("{}/.git\n", home.place("victim").display())).unwrap();
    repository.recover(&name, home.place("victim"), NOW_MS).unwrap();
    assert_eq!(repository.kept(&name).unwrap(), kept);
    assert!(home.place("victim").join("work.txt").exists());
}

#[test]
fn other_repositories_inside_are_left_out_and_only_a_removal_is_refused() {
    let home = Home::new();
    let worktree = home.fork("one", Start::State).unwrap();
    let top = worktree.repository().top().to_owned();
    for inner in ["fixtures/with [a]*commit", "fixtures/empty"] {
        write(&top, &format!("{inner}/file"), "inner\n");
        git(&top.join(inner), &["init", "--quiet"]);
    }
    let inner = top.join("fixtures/with [a]*commit");
    git(&inner, &["add", "."]);
    git(&inner, &["-c", "user.name=x", "-c", "user.email=x", "commit", "--quiet", "-m", "inner"]);
    write(&top, "fixtures/a", "beside\n");
    let (state, left_out) = worktree.look(NOW_MS).unwrap();
    let inside = ["fixtures/empty", "fixtures/with [a]*commit"].map(std::path::PathBuf::from);
    assert_eq!(left_out, inside);
    let names = ["ls-tree", "-r", "--name-only", state.work.as_str()];
    assert_eq!(home.git(&names), "a.txt\nfixtures/a\nrun.sh\nsrc/lib.rs\n");
    assert_eq!(worktree.progress(&state).unwrap(), (1, 0));
    // One that was added is known by the index, and its files are still its own.
    git(&top, &["add", "fixtures/with [a]*commit"]);
    assert_eq!(worktree.look(NOW_MS).unwrap().1, inside);
    let error = worktree.clone().remove(NOW_MS).unwrap_err().to_string();
    assert!(error.ends_with("would lose: fixtures/empty, fixtures/with [a]*commit"), "{error}");
    assert!(inner.join("file").exists());
    fs::remove_dir_all(top.join("fixtures")).unwrap();
    git(&top, &["rm", "--quiet", "--cached", "fixtures/with [a]*commit"]);
    assert_eq!(worktree.remove(NOW_MS).unwrap(), None);
}

/// A repository with a submodule at `libs/other`, and a worktree of it, in which that is an empty folder.
fn with_submodule(home: &Home, other: &Home) -> Worktree {
    let url = other.top().display().to_string();
    let add = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add"];
    home.git(&[&add[..], &[&url, "libs/other"]].concat());
    home.git(&["commit", "--quiet", "-m", "with a submodule"]);
    home.fork("one", Start::State).unwrap()
}

#[test]
fn files_in_the_empty_folder_of_a_submodule_are_left_out_and_a_removal_is_refused() {
    let (home, other) = (Home::new(), Home::new());
    let worktree = with_submodule(&home, &other);
    let top = worktree.repository().top().to_owned();
    let inside = [Path::new("libs/other")];
    let folder = top.join("libs/other");
    fs::write(folder.join("made.txt"), "made\n").unwrap();
    // Git says nothing of it.
    assert_eq!(git(&top, &["status", "--porcelain", "--ignored"]), "");
    assert_eq!(worktree.look(NOW_MS).unwrap().1, inside);
    assert_eq!(worktree.repositories().unwrap(), inside);
    insta::assert_snapshot!(worktree.clone().remove(NOW_MS).unwrap_err(), @"the worktree holds files of other repositories, which a removal would lose: libs/other");
    assert!(folder.join("made.txt").exists());
    // Who forks the worktree is told that it does not come along.
    assert_eq!(worktree.repository().submodules().unwrap(), inside);
    let two = worktree.repository().fork(&home.new_worktree("two", Start::State)).unwrap();
    assert_eq!(two.look(NOW_MS).unwrap().1, [""; 0].map(PathBuf::from));
    // A folder without files is something that was made, too.
    fs::remove_file(folder.join("made.txt")).unwrap();
    fs::create_dir(folder.join("empty")).unwrap();
    assert_eq!(worktree.look(NOW_MS).unwrap().1, inside);
    fs::remove_dir(folder.join("empty")).unwrap();
    assert_eq!(worktree.remove(NOW_MS).unwrap(), None);
}

#[test]
fn a_submodule_that_was_brought_into_a_worktree_stays_with_what_was_done_in_it() {
    let (home, other) = (Home::new(), Home::new());
    let worktree = with_submodule(&home, &other);
    let top = worktree.repository().top().to_owned();
    let update = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init"];
    git(&top, &update);
    let folder = top.join("libs/other");
    write(&folder, "a.txt", "committed\n");
    let author = ["-c", "user.name=x", "-c", "user.email=x"];
    git(&folder, &[&author[..], &["commit", "--quiet", "-a", "-m", "not pushed"]].concat());
    let head = git(&folder, &["rev-parse", "HEAD"]);
    write(&folder, "new.txt", "not committed\n");
    let error = worktree.clone().remove(NOW_MS).unwrap_err().to_string();
    assert!(error.ends_with("would lose: libs/other"), "{error}");
    assert_eq!(git(&folder, &["rev-parse", "HEAD"]), head);
    assert_eq!(fs::read_to_string(folder.join("new.txt")).unwrap(), "not committed\n");
}

#[test]
fn a_link_in_place_of_a_submodule_is_a_change_like_any_other() {
    let (home, other) = (Home::new(), Home::new());
    let worktree = with_submodule(&home, &other);
    let top = worktree.repository().top().to_owned();
    fs::remove_dir(top.join("libs/other")).unwrap();
    std::os::unix::fs::symlink(other.top(), top.join("libs/other")).unwrap();
    let (state, left_out) = worktree.look(NOW_MS).unwrap();
    assert_eq!((left_out.len(), worktree.progress(&state).unwrap()), (0, (1, 0)));
    // Nor is anything in the worktree that a link above leads to.
    fs::remove_file(top.join("libs/other")).unwrap();
    fs::remove_dir(top.join("libs")).unwrap();
    write(&home.path(), "elsewhere/other/a.txt", "elsewhere\n");
    std::os::unix::fs::symlink(home.path().join("elsewhere"), top.join("libs")).unwrap();
    assert_eq!(worktree.look(NOW_MS).unwrap().1, [""; 0].map(PathBuf::from));
    assert!(worktree.remove(NOW_MS).unwrap().is_some());
}

#[test]
fn a_conflict_in_a_sparse_worktree_deletes_nothing() {
    let home = Home::new();
    home.write("docs/page.md", "page\n");
    home.git(&["add", "--all"]);
    home.git(&["commit", "--quiet", "-m", "docs"]);
    let identity = ["-c", "user.name=x", "-c", "user.email=x"];
    let worktree = home.fork("one", Start::State).unwrap();
    let top = worktree.repository().top().to_owned();
    let commit = |content: &str| {
        write(&top, "a.txt", content);
        git(&top, &[&identity[..], &["commit", "--quiet", "--all", "-m", content]].concat());
    };
    git(&top, &["checkout", "--quiet", "-b", "side"]);
    commit("side\n");
    git(&top, &["checkout", "--quiet", "--detach", "main"]);
    commit("ours\n");
    git(&top, &["sparse-checkout", "set", "src"]);
    let merge = [&identity[..], &["merge", "side"]].concat();
    assert!(!try_git(&top, &merge).0);
    write(&top, "staged.txt", "staged\n");
    git(&top, &["add", "--sparse", "staged.txt"]);
    assert!(git(&top, &["ls-files", "--unmerged"]).contains("a.txt"));
    assert!(!top.join("docs").exists());
    let state = worktree.state(NOW_MS).unwrap();
    let of = |tree: &str| home.git(&["ls-tree", "-r", "--name-only", tree]);
    let all = "a.txt\ndocs/page.md\nrun.sh\nsrc/lib.rs\nstaged.txt\n";
    assert_eq!(of(state.work.as_str()), all);
    assert_eq!(of(state.index.as_str()), all);
    let text = |tree: &str| home.git(&["show", &format!("{tree}:a.txt")]);
    assert_eq!(text(state.index.as_str()), "ours\n");
    assert!(text(state.work.as_str()).contains("<<<<<<<"));
}

#[test]
fn an_index_in_two_files_is_read_as_one() {
    let home = Home::new();
    let worktree = home.fork("one", Start::State).unwrap();
    let top = worktree.repository().top().to_owned();
    git(&top, &["update-index", "--split-index"]);
    write(&top, "a.txt", "staged\n");
    git(&top, &["-c", "core.splitIndex=true", "add", "a.txt"]);
    let own = worktree.repository().git_dir();
    let shared = || {
        let names = fs::read_dir(own).unwrap().map(|entry| entry.unwrap().path());
        names.filter(|path| path.to_string_lossy().contains("sharedindex.")).collect::<Vec<_>>()
    };
    assert!(!shared().is_empty());
    let found = home.repository().worktree(worktree.name(), &top).unwrap();
    let state = found.state(NOW_MS).unwrap();
    let names = ["ls-tree", "-r", "--name-only", state.index.as_str()];
    assert_eq!(home.git(&names), "a.txt\nrun.sh\nsrc/lib.rs\n");
    assert_eq!(found.progress(&state).unwrap(), (1, 0));
    for path in shared() {
        put(&path, "pipe");
    }
    assert!(found.state(NOW_MS).is_err());
}

/// A program that says in a file of the checkout's parent whether it ran, and in one of its own whether it ran behind a wall.
fn trap(home: &Home, ends_in: &str) -> String {
    let inside = "grep -q '^Seccomp:.*[12]' /proc/self/status || touch";
    format!(
        "touch {0}/sprung; {inside} {0}/open; cat /etc/passwd > {0}/seen; {ends_in}",
        home.path().display()
    )
}

#[test]
fn a_filter_of_the_checkouts_settings_runs_behind_a_wall() {
    for of in ["clean", "smudge", "process"] {
        let home = Home::new();
        home.write("tools/clean", "cat; echo cleaned\n");
        home.write(".gitattributes", "*.bin filter=a=b\n*.txt filter=x\n");
        home.write("a.bin", "bytes\n");
        home.git(&["add", "--all"]);
        home.git(&["commit", "--quiet", "-m", "second"]);
        for filter in ["x", "a=b"] {
            let setting = format!("filter.{filter}.{of}");
            home.git(&["config", &setting, &trap(&home, "sh ./tools/clean")]);
        }
        home.write("a.bin", "changed\n");
        home.write("a.txt", "changed\n");
        let forked = home.fork("one", Start::State);
        let sprung = ["sprung", "open", "seen"].map(|name| home.path().join(name).exists());
        assert_eq!(sprung, [false; 3], "{of}: {forked:?}");
        if of == "clean" {
            let worktree = forked.unwrap();
            let kept = worktree.repository().top().join("a.txt");
            assert_eq!(fs::read_to_string(kept).unwrap(), "changed\n");
            let work = format!("{}:a.txt", worktree.start().work.as_str());
            assert_eq!(home.git(&["cat-file", "-p", &work]), "changed\ncleaned\n");
        }
    }
}

#[test]
fn a_merge_driver_runs_behind_a_wall_and_its_result_counts() {
    let home = Home::new();
    home.write(".gitattributes", "a.txt merge=both\n");
    home.git(&["add", "--all"]);
    home.git(&["commit", "--quiet", "-m", "second"]);
    let driver = trap(&home, "{ cat %B; echo %P; } >> %A");
    home.git(&["config", "merge.both.driver", &driver]);
    let worktree = home.fork("one", Start::State).unwrap();
    let top = worktree.repository().top().to_owned();
    write(&top, "a.txt", "theirs\n");
    git(&top, &["commit", "--quiet", "-am", "theirs"]);
    home.write("a.txt", "ours\n");
    home.git(&["commit", "--quiet", "-am", "ours"]);
    let end = worktree.state(NOW_MS).unwrap();
    let merge = Merge {
        name: worktree.name(),
        label: "child",
        start: worktree.start(),
        end: &end,
        fast_forward: FastForward::WherePossible,
        uncommitted: Uncommitted::Bring,
        dry_run: false,
        now_ms: NOW_MS,
    };
    let merged = home.repository().merge(&merge);
    let sprung = ["sprung", "open", "seen"].map(|name| home.path().join(name).exists());
    assert_eq!(sprung, [false; 3], "{merged:?}");
    assert_eq!(fs::read_to_string(home.top().join("a.txt")).unwrap(), "ours\ntheirs\na.txt\n");
}

#[test]
fn a_missing_object_makes_git_start_no_program_of_the_checkouts_choosing() {
    let home = Home::new();
    let trap = home.path().join("sprung");
    let settings = [
        ("core.repositoryFormatVersion", "1".to_owned()),
        ("extensions.partialClone", "origin".to_owned()),
        ("remote.origin.promisor", "true".to_owned()),
        ("remote.origin.url", home.path().join("nothing").display().to_string()),
        ("remote.origin.uploadpack", format!("touch {};", trap.display())),
    ];
    for (name, value) in settings {
        home.git(&["config", name, &value]);
    }
    let tree = home.git(&["rev-parse", "HEAD:src"]);
    let tree = tree.trim();
    let object = home.top().join(".git/objects").join(&tree[..2]).join(&tree[2..]);
    fs::remove_file(object).unwrap();
    let forked = home.fork("one", Start::State);
    assert!(!trap.exists(), "a program of the checkout's own settings was run: {forked:?}");
}

#[test]
fn nothing_waits_for_a_pipe_in_the_place_of_the_checkouts_index() {
    let home = Home::new();
    home.write("a.txt", "changed\n");
    put(&home.top().join(".git/index"), "pipe");
    let error = home.fork("one", Start::State).unwrap_err().to_string();
    assert!(error.contains("index"), "{error}");
}
