//! Repositories that a worker makes: git runs nothing in them afterwards, whoever calls it.

use tine_testkit::{share, until_some_async};

use super::world::{World, lacks_wall, run};

/// What makes a repository `sub` whose settings run a program that leaves `ran` behind, and the call of git that would run it.
/// `@RUN` is the program.
const PLANTS: [(&str, &str); 27] = [
    (
        "git init -q sub; cd sub; git config filter.x.clean @RUN; echo '* filter=x' > .gitattributes; echo 1 > f; git add f; echo 2 > f",
        "git -C sub status",
    ),
    ("git init -q sub; git -C sub config core.fsmonitor @RUN", "git -C sub status"),
    (
        "git init -q sub; git -C sub config core.hooksPath ../h; mkdir h; cp @RUN h/post-index-change; echo 1 > sub/f",
        "git -C sub add f",
    ),
    (
        "git init -q sub; mkdir -p sub/.git/hooks; cp @RUN sub/.git/hooks/post-index-change; echo 1 > sub/f",
        "git -C sub add f",
    ),
    (
        "git init -q sub; cd sub; echo 1 > f; git add f; echo 2 > f; git config diff.external @RUN",
        "git -C sub diff",
    ),
    (
        "git init -q sub; echo '[core] fsmonitor = @RUN' > evil; git -C sub config include.path ../../evil",
        "git -C sub status",
    ),
    (
        "git init -q --separate-git-dir=apart sub; git -C sub config core.fsmonitor @RUN",
        "git -C sub status",
    ),
    (
        "git init -q apart; git -C apart config core.fsmonitor @RUN; mkdir sub; ln -s ../apart/.git sub/.git",
        "git -C sub status",
    ),
    (
        "git init -q apart; git -C apart config core.fsmonitor @RUN; git init -q sub; echo ../../apart/.git > sub/.git/commondir",
        "git -C sub status",
    ),
    (
        "git init -q --bare sub; git -C sub config core.worktree ..; git -C sub config core.bare false; git -C sub config core.fsmonitor @RUN",
        "git -C sub status",
    ),
    (
        "git init -q sub; git -C sub config extensions.worktreeConfig true; git -C sub config --worktree core.fsmonitor @RUN",
        "git -C sub status",
    ),
    (
        "git init -q sub; echo 1 > sub/f; git -C sub add f; git -C sub -c user.name=a -c user.email=a@b commit -qm 1; git add sub 2>/dev/null; git -C sub config core.fsmonitor @RUN",
        "git status",
    ),
    (
        "git init -q node_modules/sub; cd node_modules/sub; git -c user.name=a -c user.email=a@b commit -q --allow-empty -m 1; cd ../..; git add -f node_modules/sub 2>/dev/null; git -C node_modules/sub config core.fsmonitor @RUN",
        "git status",
    ),
    (
        "echo ../other > .git/commondir; mkdir -p other/objects other/refs; cp .git/config other; git config --file other/config core.fsmonitor @RUN",
        "git status",
    ),
    // A folder that only settings in a folder above make a repository.
    (
        "mkdir -p up/objects up/refs up/sub/.git; echo ref: refs/heads/main > up/sub/.git/HEAD; echo ../.. > up/sub/.git/commondir; cp .git/config up; git config --file up/config core.fsmonitor @RUN",
        "git -C up/sub status",
    ),
    (
        "mkdir -p up/objects up/refs up/worktrees/.git; echo ref: refs/heads/main > up/worktrees/.git/HEAD; echo ../.. > up/worktrees/.git/commondir; cp .git/config up; git config --file up/config core.fsmonitor @RUN",
        "git -C up/worktrees status",
    ),
    // One without the parts of a repository.
    (
        "mkdir -p sub c/objects c/refs; echo ref: refs/heads/main > sub/HEAD; echo ../c > sub/commondir; cp .git/config c; git config --file c/config core.fsmonitor @RUN; git config --file c/config extensions.worktreeConfig true; git config --file sub/config.worktree core.worktree ..; git config --file sub/config.worktree core.bare false",
        "git -C sub status",
    ),
    // Files that say where the repository is, in ways that only git reads.
    (
        r#"git init -q sub; git -C sub config core.fsmonitor @RUN; mkdir sub/node_modules; D="$(printf 'sub/node_modules/a\nb ')"; mv sub/.git "$D"; printf 'gitdir: node_modules/a\nb \n' > sub/.git"#,
        "git -C sub status",
    ),
    (
        "git init -q sub; git -C sub config core.fsmonitor @RUN; mkdir sub/node_modules; mv sub/.git sub/node_modules/a; echo 'gitdir: node_modules/a' > sub/named; ln -s named sub/.git",
        "git -C sub status",
    ),
    (
        r#"git init -q sub; git -C sub config core.fsmonitor @RUN; mkdir sub/node_modules; D="$(printf 'sub/node_modules/\377')"; mv sub/.git "$D"; printf 'gitdir: node_modules/\377\n' > sub/.git"#,
        "git -C sub status",
    ),
    (
        r#"git init -q sub; git -C sub config core.fsmonitor @RUN; mkdir sub/node_modules; mv sub/.git sub/node_modules/a; { printf 'gitdir: node_modules/a'; head -c 100000 /dev/zero | tr '\0' '\n'; } > sub/.git"#,
        "git -C sub status",
    ),
    (
        r#"git init -q sub; mkdir -p 'sub/.. /objects' 'sub/.. /refs'; cp sub/.git/config 'sub/.. '; git config --file 'sub/.. /config' core.fsmonitor @RUN; printf '../.. \n' > sub/.git/commondir"#,
        "git -C sub status",
    ),
    // Named by the index of a repository that is made, in folders that are passed over.
    (
        "git init -q a; cd a; @COMMIT -m 1; git init -q node_modules/y; cd node_modules/y; @COMMIT -m 1; cd ../..; git add -f node_modules/y 2>/dev/null; cd ..; git add a 2>/dev/null; git -C a/node_modules/y config core.fsmonitor @RUN",
        "git status",
    ),
    (
        "git init -q a; cd a; @COMMIT -m 1; mkdir target; touch target/CACHEDIR.TAG; git init -q target/y; cd target/y; @COMMIT -m 1; cd ../..; git add -f target/y 2>/dev/null; cd ..; git add a 2>/dev/null; git -C a/target/y config core.fsmonitor @RUN",
        "git status",
    ),
    (
        "git init -q a; cd a; @COMMIT -m 1; git config core.splitIndex true; git init -q node_modules/y; cd node_modules/y; @COMMIT -m 1; cd ../..; git add -f node_modules/y 2>/dev/null; git update-index --split-index; cd ..; git add a 2>/dev/null; git -C a/node_modules/y config core.fsmonitor @RUN",
        "git status",
    ),
    // Kept where temporary files are.
    (
        "D=${TMPDIR:-@OUT}; git init -q --separate-git-dir=$D/gd a; cd a; @COMMIT -m 1; cd ..; git add a 2>/dev/null; git -C a config core.fsmonitor @RUN",
        "git status",
    ),
    // Somebody else's checkout would be overwritten.
    (
        "git init -q sub; git -C sub config core.worktree @OUT; cd sub; git update-index --add --cacheinfo 100755,$(git hash-object -w .git/HEAD),ran",
        "git -C sub checkout ran",
    ),
];

/// A checkout with one commit, and a program beside it.
async fn checkout() -> World {
    let world = World::new();
    let make = world.fill(
        "printf '#!/bin/sh\\ntouch @OUT/ran\\nfalse\\n' > @OUT/run; chmod +x @OUT/run; \
         git init -q -b main .; git -c user.name=a -c user.email=a@b commit -q --allow-empty -m first",
    );
    let made = run(&world.open(), &make).await;
    assert!(!made.is_error, "{}", made.text);
    world
}

fn filled(world: &World, command: &str) -> String {
    // Git as a person calls it: without what tine sets for commands.
    let plain = "unset GIT_CONFIG_COUNT; ";
    let command = command.replace("@RUN", "@OUT/run");
    let command =
        command.replace("@COMMIT", "git -c user.name=a -c user.email=a@b commit -q --allow-empty");
    world.fill(&format!("{plain}{command}"))
}

#[tokio::test]
async fn git_runs_nothing_in_what_a_worker_has_made() {
    if lacks_wall() {
        return;
    }
    let plants = match crate::HAS_VIEW {
        true => PLANTS.to_vec(),
        false => share("plants of repositories", 0, PLANTS),
    };
    for (plant, call) in plants {
        // Without a wall it runs, so that each is a real one.
        for is_confined in [false, true] {
            let world = checkout().await;
            let place = if is_confined { world.worker() } else { world.open() };
            let told = run(&place, &filled(&world, plant)).await.text;
            run(&world.open(), &filled(&world, call)).await;
            assert_eq!(world.path("outside/ran").exists(), !is_confined, "{plant}\n{told}");
            assert_eq!(told.contains("so they were renamed: "), is_confined, "{plant}\n{told}");
        }
    }
}

#[tokio::test]
async fn a_submodule_that_was_there_gets_no_repository_of_its_own() {
    if lacks_wall() {
        return;
    }
    let plant = "cd lib; git init -q node_modules/y; cd node_modules/y; @COMMIT -m 1; cd ../..; git add -f node_modules/y 2>/dev/null; git -C node_modules/y config core.fsmonitor @RUN";
    for is_confined in [false, true] {
        let world = checkout().await;
        let make =
            "git init -q lib; cd lib; @COMMIT -m 1; cd ..; git add lib 2>/dev/null; @COMMIT -m 2";
        assert!(!run(&world.open(), &filled(&world, make)).await.is_error);
        let place = if is_confined { world.worker() } else { world.open() };
        let told = run(&place, &filled(&world, plant)).await.text;
        run(&world.open(), &filled(&world, "git status; git diff")).await;
        assert_eq!(world.path("outside/ran").exists(), !is_confined, "{told}");
        assert_eq!(told.contains("so they were renamed: "), is_confined, "{told}");
    }
}

/// Repositories without the name `.git` that were there before.
#[tokio::test]
async fn a_bare_repository_keeps_its_settings_and_takes_commits() {
    if lacks_wall() {
        return;
    }
    let world = checkout().await;
    let make = "git init -q --bare -b main all.git; git init -q --separate-git-dir=apart sub; \
        echo '#!/bin/sh' > all.git/hooks/update; chmod +x all.git/hooks/update";
    assert!(!run(&world.open(), make).await.is_error);
    let place = world.worker();
    let push =
        run(&place, "git push -q all.git main && git --git-dir=all.git log --format=%s").await;
    assert!(push.text.contains("first") && !push.text.contains("renamed"), "{}", push.text);
    if !crate::HAS_VIEW {
        return;
    }
    for plant in [
        "git config --file all.git/config core.fsmonitor x",
        "echo x > all.git/hooks/post-update",
        "echo x > all.git/hooks/update",
        "mv all.git/hooks all.git/h && mkdir all.git/hooks",
        "git -C sub config core.fsmonitor x",
        "echo x > apart/hooks/post-index-change",
    ] {
        let told = run(&place, plant).await;
        assert!(told.is_error, "{plant}: {}", told.text);
    }
    // In one as the directory itself.
    let bare = world.path("work/all.git");
    let place = tine_tools::Place::new(&bare).unwrap();
    let wall = tine_tools::Wall::worker(&bare).raise(place.directory(), &world.ground()).unwrap();
    let inner = place.with_enclosure(wall);
    let commit = "export GIT_DIR=.; git commit-tree -m two HEAD^{tree} | xargs git update-ref refs/heads/two && git log --format=%s two";
    let user = "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b;";
    let told = run(&inner, &format!("{user} {commit}")).await;
    assert!(told.text.starts_with("two"), "{}", told.text);
    let told = run(&inner, "git --git-dir=. config core.fsmonitor x").await;
    assert!(told.is_error, "{}", told.text);
}

#[tokio::test]
async fn repositories_of_every_day_stay_as_they_are() {
    if lacks_wall() {
        return;
    }
    let world = checkout().await;
    let place = world.worker();
    let user = "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b;";
    for command in [
        "git init -q new && cd new && echo 1 > f && git add f && git commit -qm 1",
        "git clone -q new copy && cd copy && git remote -v && git checkout -qb other",
        "cd copy && git commit -q --allow-empty -m 2 && git config user.name me && git push -q origin other",
        "git init -q --bare bare.git && git -C new push -q ../bare.git HEAD:main && git worktree add -q --detach tree",
        "cd tree && git status --short && git -C ../new log --format=%s && test \"$(git -C ../copy config user.name)\" = me",
    ] {
        let output = run(&place, &format!("{user} {command}")).await;
        assert!(!output.is_error && !output.text.contains("renamed"), "{command}: {}", output.text);
    }
}

#[tokio::test]
async fn what_was_there_keeps_its_settings_wherever_it_is_moved() {
    if lacks_wall() {
        return;
    }
    let world = checkout().await;
    let make = "git init -q lib/own; git -C lib/own config filter.lfs.clean 'git-lfs clean'; mkdir -p lib/own/.git/hooks; \
        echo '#!/bin/sh' > lib/own/.git/hooks/pre-commit";
    run(&world.open(), make).await;
    let output = run(&world.worker(), "mv lib moved && git -C moved/own status --short").await;
    assert!(!output.text.contains("renamed"), "{}", output.text);
    for kept in ["moved/own/.git/config", "moved/own/.git/hooks/pre-commit"] {
        assert!(world.path("work").join(kept).exists(), "{kept}: {}", output.text);
    }
}

#[tokio::test]
async fn a_command_that_is_cut_off_is_looked_after_and_no_name_is_taken() {
    if lacks_wall() {
        return;
    }
    let world = checkout().await;
    let plant = "git init -q sub; git -C sub config core.fsmonitor x; touch sub/.git/config.set-aside; kill -9 $$";
    let output = run(&world.worker(), plant).await;
    assert!(output.text.contains("work/sub/.git/config.set-aside-1]"), "{}", output.text);
    assert_eq!(std::fs::read_to_string(world.path("work/sub/.git/config.set-aside")).unwrap(), "");
    // A caller that does not wait.
    let place = world.worker();
    let planted = world.path("work/two/.git/config");
    let long = "git init -q two; git -C two config core.fsmonitor x; sleep 60";
    tokio::select! {
        _ = run(&place, long) => unreachable!("it sleeps"),
        () = until_some_async("the setting", async || {
            std::fs::read_to_string(&planted).ok()?.contains("fsmonitor").then_some(())
        }) => {}
    }
    drop(place);
    assert!(!planted.exists() && planted.with_file_name("config.set-aside").exists());
}
