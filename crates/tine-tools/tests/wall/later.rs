//! What a worker writes in its directory is not run later by somebody who works there, or its result names it.

use tine_tools::{Ground, Place, Wall};

use super::world::{SECRET, World, lacks_wall, run};

const COMMIT: &str = "git -c user.name=a -c user.email=a@b commit -q --allow-empty";

/// What a person has arranged, what a worker does, and what the person does then, which would run the worker's program.
const LEADS: [(&str, &str, &str); 6] = [
    (
        "mkdir -p scripts/hooks; git config core.hooksPath scripts/hooks",
        "cp @OUT/run scripts/hooks/pre-commit",
        "@COMMIT -m 2",
    ),
    (
        "mkdir conf; touch conf/git; git config include.path ../conf/git",
        "git config --file conf/git core.fsmonitor @OUT/run",
        "git status",
    ),
    (
        "mkdir tools; echo cat > tools/clean; git config filter.x.clean 'sh ./tools/clean'; echo '* filter=x' > .gitattributes; echo 1 > f",
        "cp @OUT/run tools/clean",
        "git add f",
    ),
    (
        "echo true > m; git config merge.x.driver 'sh m'; echo '* merge=x' > .gitattributes; echo 1 > f; git add .; @COMMIT -m f; \
         git checkout -qb b; echo 2 > f; @COMMIT -am b; git checkout -q main; echo 3 > f; @COMMIT -am c",
        "cp @OUT/run m",
        "git -c user.name=a -c user.email=a@b merge -q b",
    ),
    (
        "mkdir tools; echo true > tools/st; git config alias.st '!sh tools/st'",
        "cp @OUT/run tools/st",
        "git st",
    ),
    (
        "@COMMIT -m 2; GIT_SEQUENCE_EDITOR=: git -c user.name=a -c user.email=a@b rebase -q -i --exec false HEAD~1",
        "echo 'exec @OUT/run' >> .git/rebase-merge/git-rebase-todo",
        "git -c user.name=a -c user.email=a@b rebase --continue",
    ),
];

fn filled(world: &World, command: &str) -> String {
    world.fill(&format!("unset GIT_CONFIG_COUNT; {}", command.replace("@COMMIT", COMMIT)))
}

/// A checkout with one commit, and a program beside it.
async fn checkout() -> World {
    let world = World::new();
    let make = "printf '#!/bin/sh\\ntouch @OUT/ran\\n' > @OUT/run; chmod +x @OUT/run; git init -q -b main .; @COMMIT -m 1";
    let made = run(&world.open(), &filled(&world, make)).await;
    assert!(!made.is_error, "{}", made.text);
    world
}

#[tokio::test]
async fn what_the_settings_of_a_checkout_name_stays_as_it_is() {
    if lacks_wall() {
        return;
    }
    for (make, plant, call) in LEADS {
        // Without a wall it runs, so that each is a real one.
        for is_confined in [false, true] {
            let world = checkout().await;
            let made = run(&world.open(), &filled(&world, make)).await;
            let place = if is_confined { world.worker() } else { world.open() };
            let planted = run(&place, &filled(&world, plant)).await;
            assert_eq!(planted.is_error, is_confined, "{plant}: {}\n{}", made.text, planted.text);
            let called = run(&world.open(), &filled(&world, call)).await;
            assert_eq!(
                world.path("outside/ran").exists(),
                !is_confined,
                "{plant}\n{}",
                called.text
            );
        }
    }
}

#[tokio::test]
async fn a_workers_own_rebase_goes_on() {
    if lacks_wall() {
        return;
    }
    let world = checkout().await;
    let make = "echo 1 > f; git add f; @COMMIT -m f; git checkout -qb b; echo 2 > f; @COMMIT -am b; git checkout -q main; echo 3 > f; @COMMIT -am c";
    run(&world.open(), &filled(&world, make)).await;
    let place = world.worker();
    let user = "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b GIT_EDITOR=true; ";
    let stopped = run(&place, &format!("{user}git rebase b")).await;
    assert!(stopped.is_error && stopped.text.contains("CONFLICT"), "{}", stopped.text);
    let done = run(&place, &format!("{user}echo 4 > f; git add f; git rebase --continue")).await;
    assert!(!done.is_error, "{}", done.text);
}

#[tokio::test]
async fn repositories_of_other_systems_keep_their_settings() {
    if lacks_wall() {
        return;
    }
    let world = World::new();
    run(&world.open(), "mkdir -p .jj/repo .sl; touch .jj/repo/config.toml .sl/config").await;
    for file in [".jj/repo/config.toml", ".sl/config"] {
        assert!(run(&world.worker(), &format!("echo x > {file}")).await.is_error, "{file}");
    }
}

#[tokio::test]
async fn a_pipe_in_the_place_of_an_index_holds_nobody_up() {
    if lacks_wall() {
        return;
    }
    let world = checkout().await;
    let place = world.worker();
    let told = run(&place, "rm -f .git/index; mkfifo .git/index; echo done").await;
    assert!(told.text.starts_with("done"), "{}", told.text);
    assert!(run(&world.worker(), "echo again").await.text.starts_with("again"));
}

#[tokio::test]
async fn new_files_that_other_programs_start_are_named_once() {
    if lacks_wall() {
        return;
    }
    let world = checkout().await;
    std::fs::create_dir(world.path("work/.husky")).unwrap();
    let place = world.worker();
    let told = run(
        &place,
        "mkdir .vscode; echo x > .vscode/tasks.json; touch .envrc a.txt; touch $TMPDIR/.envrc",
    )
    .await;
    let named = |name: &str| world.path("work").join(name).display().to_string();
    let line = format!(
        "[new here, and started by other programs later, outside of this wall: {}, {}]",
        named(".envrc"),
        named(".vscode")
    );
    assert!(told.text.contains(&line), "{}", told.text);
    assert!(!run(&place, "touch .vscode/more").await.text.contains("new here"));
}

fn write(world: &World, name: &str, text: &str) {
    let path = world.path(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

#[tokio::test]
async fn many_of_a_kind_leave_no_room_for_another() {
    if lacks_wall() {
        return;
    }
    let world = World::new();
    for number in 0..300 {
        write(&world, &format!("work/decoys/{number}/.env"), SECRET);
        write(&world, &format!("work/direnv/{number}/.envrc"), "true\n");
    }
    write(&world, "home/a/b/c/d/e/.env", SECRET);
    let make = "for i in $(seq 100); do git init -q repos/$i; done";
    assert!(!run(&world.open(), make).await.is_error);
    let place = world.worker();
    let read =
        run(&place, &world.fill("cat @HOME/a/b/c/d/e/.env @HOME/.ssh/id_rsa decoys/*/.env")).await;
    assert!(!read.text.contains(SECRET), "{}", read.text);
    let written = run(&place, "for i in $(seq 0 299); do echo x > direnv/$i/.envrc; done; cat direnv/*/.envrc | sort | uniq -c").await;
    assert!(written.text.contains("300 true"), "{}", written.text);
    let set = run(
        &place,
        "for i in $(seq 100); do git -C repos/$i config core.fsmonitor x && echo set; done",
    )
    .await;
    assert!(!set.text.contains("set\n"), "{}", set.text);
}

#[tokio::test]
async fn hidden_files_beside_the_usual_places_stay_hidden() {
    if lacks_wall() {
        return;
    }
    let world = World::new();
    write(&world, "origin/.env", SECRET);
    write(&world, "store/credentials.toml", SECRET);
    let open = run(&world.worker(), &world.fill("cat @OUT/../origin/.env")).await;
    assert!(open.text.contains(SECRET), "it can be read where nobody says that secrets lie there");
    let holding = ["origin", "store/credentials.toml"].map(|name| world.path(name)).into();
    let ground = Ground { holding, ..world.ground() };
    let work = world.path("work");
    let wall = Wall::worker(&work).raise(&work, &ground).unwrap();
    let place = world.open().with_enclosure(wall);
    let read =
        run(&place, &world.fill("cat @OUT/../origin/.env @OUT/../store/credentials.toml")).await;
    assert!(!read.text.contains(SECRET), "{}", read.text);
}

#[tokio::test]
async fn who_works_in_the_home_changes_nothing_that_starts_there() {
    if lacks_wall() {
        return;
    }
    let world = World::new();
    for file in
        [".local/bin/git", "bin/x", ".pyenv/shims/python", ".oh-my-zsh/oh-my-zsh.sh", ".xprofile"]
    {
        write(&world, &format!("home/{file}"), "true\n");
    }
    let home = world.path("home");
    let place = Place::new(&home).unwrap();
    let wall = Wall::worker(&home).raise(&home, &world.ground()).unwrap();
    let place = place.with_enclosure(wall);
    for command in [
        "echo x > .local/bin/git",
        "echo x > bin/x",
        "echo x > .pyenv/shims/python",
        "echo x > .oh-my-zsh/oh-my-zsh.sh",
        "echo x > .xprofile",
        "mv .local .l2",
        "echo x > .profile",
    ] {
        let told = run(&place, command).await;
        assert!(told.is_error, "{command}: {}", told.text);
    }
    assert!(!run(&place, "echo x > mine").await.is_error);
}

#[tokio::test]
async fn a_directory_for_temporary_files_that_is_not_there_keeps_nothing_from_running() {
    if lacks_wall() {
        return;
    }
    let world = World::new();
    let work = world.path("work");
    for temporary in [world.path("none"), "/proc".into()] {
        let ground = Ground { temporary, ..world.ground() };
        let wall = Wall::worker(&work).raise(&work, &ground).unwrap();
        let told = run(&world.open().with_enclosure(wall), "echo x > $TMPDIR/x && echo done").await;
        assert!(told.text.starts_with("done"), "{}", told.text);
    }
}
