//! What only a view keeps: metadata outside, settings inside, secrets wherever they lie, and files of other runs.

use tine_testkit::share;
use tine_tools::{Place, Wall};

use super::world::{SECRET, World, changes, lacks_wall, lacks_whole_wall, run};
use super::writes::METADATA;

#[tokio::test]
async fn no_metadata_outside_is_changed_by_anybody() {
    if lacks_whole_wall() {
        return;
    }
    for command in METADATA {
        let world = World::new();
        for place in [world.worker(), world.reader()] {
            let before = world.look_around(&["tmp", "work"]);
            run(&place, &world.fill(command)).await;
            let changed = changes(&before, &world.look_around(&["tmp", "work"]));
            assert!(changed.is_empty(), "{command}: {changed:?}");
        }
    }
}

/// Commands that write what starts programs later, with the file in question.
const PLANTS: [&str; 26] = [
    "git config diff.external evil",
    "echo '[diff] external = evil' >> .git/config",
    "rm .git/config",
    "mv .git/config .git/old",
    "mv .git/hooks .git/old; mkdir .git/hooks",
    "echo evil > .git/hooks/pre-commit",
    "echo '* filter=x' > .git/info/attributes",
    "ln -sf /tmp/x .git/hooks/post-checkout",
    "git -C sub config core.fsmonitor evil",
    "echo evil > .vscode/tasks.json",
    "mv .vscode .old && mkdir .vscode",
    "sed -i s/a/b/ .tine/config.toml",
    "chmod 777 .git/config",
    "cp own .mcp.json",
    "mv .git g && cp -r g .git && git config core.fsmonitor evil",
    "mv sub/.git g && cp -r g sub/.git && git -C sub config core.fsmonitor evil",
    "git config --file .git/modules/one/config core.fsmonitor evil",
    "echo evil > .git/modules/one/hooks/post-checkout",
    "echo /evil > .git/worktrees/tree/commondir",
    "echo /evil > .git/worktrees/tree/gitdir",
    "echo evil > app/.vscode/tasks.json",
    "rm app/.mcp.json; cp own app/.mcp.json",
    "rm linked/.git/hooks; cp -r own linked/.git/hooks",
    "rm -rf linked/.git/hooks && mkdir linked/.git/hooks && echo evil > linked/.git/hooks/post-checkout",
    "ln -sfn /tmp linked/.git/hooks",
    "echo evil > shared-hooks/post-checkout",
];

async fn checkout() -> World {
    let world = World::new();
    for (name, text) in [
        (".vscode/tasks.json", "a\n"),
        (".tine/config.toml", "a\n"),
        (".mcp.json", "a\n"),
        ("app/.vscode/tasks.json", "a\n"),
        ("app/.mcp.json", "a\n"),
        ("shared-hooks/post-checkout", "a\n"),
    ] {
        let path = world.path("work").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let make = "set -e; git init -q . && git init -q sub && git init -q linked; \
        git -c user.name=a -c user.email=a@b commit -q --allow-empty -m first; \
        git worktree add -q --detach tree; mkdir .git/modules; cp -r sub/.git .git/modules/one; \
        rm -r linked/.git/hooks; ln -s ../../shared-hooks linked/.git/hooks";
    let made = run(&world.open(), make).await;
    assert!(!made.is_error, "{}", made.text);
    world
}

const KEPT: [&str; 17] = [
    ".git/config",
    ".git/hooks",
    ".git/info",
    ".git/modules/one/config",
    ".git/modules/one/hooks",
    ".git/worktrees/tree/commondir",
    ".git/worktrees/tree/gitdir",
    "sub/.git/config",
    "linked/.git/hooks",
    "linked/.git/config",
    "shared-hooks",
    ".vscode",
    ".tine",
    ".mcp.json",
    "app/.vscode",
    "app/.mcp.json",
    "tree/.git",
];

#[tokio::test]
async fn what_starts_programs_later_stays_as_it_is() {
    if lacks_wall() {
        return;
    }
    for command in share("plants", 0, PLANTS) {
        let world = checkout().await;
        let look = || {
            let mut seen = world.look_around(&["tmp"]);
            let kept = KEPT.map(|name| world.path("work").join(name));
            seen.retain(|path, _| kept.iter().any(|kept| path.starts_with(kept)));
            seen
        };
        let before = look();
        run(&world.worker(), command).await;
        assert_eq!(changes(&before, &look()), [""; 0].map(std::path::PathBuf::from), "{command}");
    }
}

#[tokio::test]
async fn folders_with_repositories_are_moved_and_their_settings_stay_as_they_are() {
    if lacks_wall() {
        return;
    }
    let world = checkout().await;
    let place = world.worker();
    for command in
        ["mkdir vendor && mv sub vendor/sub", "mv vendor third_party", "mv app application"]
    {
        let output = run(&place, command).await;
        assert!(!output.is_error, "{command}: {}", output.text);
    }
    for command in [
        "git -C third_party/sub config core.fsmonitor evil",
        "mv third_party/sub/.git x",
        "echo evil > application/.vscode/tasks.json",
    ] {
        let output = run(&place, command).await;
        assert!(output.is_error, "{command}: {}", output.text);
    }
}

#[tokio::test]
async fn commits_and_sources_are_written_beside_it() {
    if lacks_wall() {
        return;
    }
    let world = checkout().await;
    let command = "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m first \
        && git checkout -qb other && echo x > package.json && mkdir .git/refs/tags/x && git status --short own";
    let output = run(&world.worker(), command).await;
    assert!(!output.is_error, "{}", output.text);
}

#[tokio::test]
async fn a_secret_is_covered_however_deep_it_lies() {
    if lacks_wall() {
        return;
    }
    let world = World::new();
    let deep = "home/go/src/github.com/org/repo/deep/er/.env";
    std::fs::create_dir_all(world.path(deep).parent().unwrap()).unwrap();
    std::fs::write(world.path(deep), SECRET).unwrap();
    let store = world.path("home/a/b/c/d/e/.ssh");
    std::fs::create_dir_all(&store).unwrap();
    std::fs::write(store.join("key"), SECRET).unwrap();
    let command = format!(
        "cat {0}; cat {1}/key; ls {1}; chmod 777 {0}; cp {0} x && cat x; rm -f x",
        world.path(deep).display(),
        store.display()
    );
    assert!(run(&world.open(), &command).await.text.contains(SECRET));
    let output = run(&world.worker(), &command).await;
    assert!(!output.text.contains(SECRET), "{}", output.text);
    assert!(output.text.contains("ermission denied"), "{}", output.text);
}

#[tokio::test]
async fn temporary_files_of_others_are_not_seen_and_own_ones_are_private() {
    if lacks_whole_wall() {
        return;
    }
    let world = World::new();
    let shared = world.path("shared-tmp");
    std::fs::write(shared.join("theirs"), "x").unwrap();
    let command = format!("cd {0} && ls -A && echo 1 > own && cat own", shared.display());
    for place in [world.worker(), world.reader()] {
        assert_eq!(run(&place, &command).await.text, "1\n[exit code 0]");
        assert!(!shared.join("own").exists());
    }
    // The next command of the same run finds them.
    let place = world.worker();
    run(&place, &command).await;
    let output = run(&place, &format!("cat {}/own", shared.display())).await;
    assert_eq!(output.text, "1\n[exit code 0]");
}

#[tokio::test]
async fn a_command_sees_its_own_processes_alone() {
    if lacks_wall() {
        return;
    }
    let world = World::new();
    let output =
        run(&world.worker(), "ls /proc | grep -c '^[0-9]'; id -u; hostname >/dev/null; echo $$")
            .await;
    let lines: Vec<&str> = output.text.lines().collect();
    // The stage, the shell, and one or both of the programs of the pipe.
    assert!(["3", "4"].contains(&lines[0]), "{}", output.text);
    assert_eq!(lines[1], rustix::process::getuid().as_raw().to_string());
    assert!(lines[2].parse::<u32>().unwrap() < 10, "{}", output.text);
    for file in ["/proc/sys/kernel/core_pattern", "/proc/1/environ"] {
        let output =
            run(&world.worker(), &format!("cat {file} > x; echo x > {file}; wc -c < x")).await;
        assert!(output.text.contains("ermission denied"), "{file}: {}", output.text);
    }
}

#[tokio::test]
async fn who_works_in_shared_memory_sees_nothing_else_of_it() {
    if lacks_whole_wall() {
        return;
    }
    let world = World::new();
    let memory = tempfile::tempdir_in("/dev/shm").unwrap();
    let work = memory.path().join("work");
    std::fs::create_dir(&work).unwrap();
    std::fs::write(memory.path().join("other"), "theirs\n").unwrap();
    let place = Place::new(&work).unwrap();
    let enclosure = Wall::worker(&work).raise(place.directory(), &world.ground()).unwrap();
    let place = place.with_enclosure(enclosure);
    let output = run(&place, "echo mine > own && cat own; ls -A .. own; touch ../new").await;
    let text = output.text.replace(memory.path().to_str().unwrap(), "/dev/shm/m");
    insta::assert_snapshot!(text, @"
    mine
    own

    ..:
    work
    [exit code 0]
    ");
    assert_eq!(std::fs::read_to_string(work.join("own")).unwrap(), "mine\n");
    assert!(!memory.path().join("new").exists());
}

#[tokio::test]
async fn the_cache_of_the_home_is_read_and_what_is_new_there_is_the_commands_own() {
    if lacks_wall() {
        return;
    }
    let world = World::new();
    for (name, text) in [
        ("home/.cache/old/data", "theirs\n"),
        ("home/.cache/.env", SECRET),
        ("home/.cache/other/.env", SECRET),
    ] {
        std::fs::create_dir_all(world.path(name).parent().unwrap()).unwrap();
        std::fs::write(world.path(name), text).unwrap();
    }
    let place = world.worker();
    let before = world.look_around(&["tmp", "work"]);
    let made =
        run(&place, "cd ~/.cache && mkdir new && echo mine > new/f && cat new/f old/data").await;
    insta::assert_snapshot!(made.text, @r"
    mine
    theirs
    [exit code 0]
    ");
    // It lasts as long as the wall, and nothing of the user's is written or given away.
    let command = "cd ~/.cache; cat new/f; echo x > old/data || rm old/data; cat .env other/.env; grep -rs secret . | head";
    let later = run(&place, command).await.text;
    assert!(later.starts_with("mine\n") && !later.contains(SECRET), "{later}");
    // What the user clears away or puts in another place meanwhile is missed by nobody.
    std::fs::remove_dir_all(world.path("home/.cache/old")).unwrap();
    assert!(run(&place, "cat ~/.cache/new/f").await.text.starts_with("mine\n"));
    std::os::unix::fs::symlink(world.path("outside"), world.path("home/.cache/old")).unwrap();
    let linked = run(&place, "cat ~/.cache/new/f; ls ~/.cache/old").await.text;
    assert!(linked.starts_with("mine\n") && !linked.contains("file"), "{linked}");
    std::fs::remove_dir_all(world.path("home/.cache")).unwrap();
    assert!(run(&place, "echo on").await.text.starts_with("on\n"));
    let changed = changes(&before, &world.look_around(&["tmp", "work"]));
    let is_ours = |path: &std::path::PathBuf| {
        *path == world.path("home") || path.starts_with(world.path("home/.cache"))
    };
    assert!(changed.iter().all(is_ours), "{changed:?}");
    assert!(!world.path("home/.cache/new").exists());
}

#[tokio::test]
async fn a_checkout_that_leaves_protected_files_behind_says_so() {
    if lacks_wall() {
        return;
    }
    let world = World::new();
    let make = "git init -q -b main . && git config user.name a && git config user.email a@b.example \
        && mkdir .vscode && echo a > .vscode/tasks.json && git add own .vscode && git commit -qm a && git switch -qc other \
        && echo b > .vscode/tasks.json && echo b > own && git commit -qam b && git switch -q main";
    assert!(!run(&world.open(), make).await.is_error);
    let place = world.worker();
    let moved = run(&place, "git switch -q other; cat own .vscode/tasks.json").await.text;
    let told = moved.lines().find(|line| line.starts_with("[git went")).unwrap_or_default();
    insta::assert_snapshot!(told, @"[git went to another commit, but these start programs and stay as they are here: .vscode/tasks.json; a commit of them would undo what that commit holds, so leave them out of yours]");
    assert!(moved.contains("b\na\n"), "{moved}");
    // A commit is no such move.
    let commit = run(&place, "echo c > own; git commit -qam c").await.text;
    assert!(!commit.contains("[git went"), "{commit}");
}
