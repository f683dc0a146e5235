//! Secrets stay covered while commands move them about, and whatever the repository's settings say.

use tine_tools::{Gap, Place, Support, Wall, WallError};

use super::world::{SECRET, World, lacks_wall, lacks_whole_wall, run};

fn write(world: &World, name: &str, text: &str) {
    let path = world.path(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// Ways to a secret in `conf/.env`: the commands of a run, one after another.
const WAYS: [&[&str]; 9] = [
    &["mv conf x", "cat x/.env"],
    &["mkdir deep && mv conf deep/x; mkdir conf; echo none > conf/.env", "cat deep/x/.env"],
    &["mv conf node_modules", "cat node_modules/.env"],
    &["mkdir -p a/node_modules && mv conf a/node_modules/x", "cat a/node_modules/x/.env"],
    &["git init -q n && mv conf n/.git/x", "cat n/.git/x/.env"],
    &["mkdir target; touch target/CACHEDIR.TAG; mv conf target/x", "cat target/x/.env"],
    &[
        "git update-index --add --cacheinfo 100644,$(git hash-object -w /dev/null),conf/.env",
        "cat conf/.env",
    ],
    &["cat second"],
    &["cat pkg/.env objects/.env registry/.env target/.env"],
];

async fn checkout() -> World {
    let world = World::new();
    for name in ["conf", "pkg", "objects", "registry", "target"] {
        write(&world, &format!("work/{name}/.env"), SECRET);
    }
    let conf = world.path("work/conf/.env");
    std::fs::hard_link(conf, world.path("work/second")).unwrap();
    let made = run(&world.open(), "git init -q .").await;
    assert!(!made.is_error, "{}", made.text);
    world
}

#[tokio::test]
async fn a_secret_stays_covered_wherever_its_folder_is_moved() {
    if lacks_wall() {
        return;
    }
    for way in WAYS {
        for is_confined in [false, true] {
            let world = checkout().await;
            let place = if is_confined { world.worker() } else { world.open() };
            let mut text = String::new();
            for command in way {
                text.push_str(&run(&place, command).await.text);
            }
            assert_eq!(text.contains(SECRET), !is_confined, "{way:?}: {text}");
        }
    }
}

#[tokio::test]
async fn a_secret_that_is_gone_stops_no_command() {
    if lacks_wall() {
        return;
    }
    let world = checkout().await;
    let place = world.worker();
    std::fs::write(world.path("work/new"), SECRET).unwrap();
    std::fs::rename(world.path("work/new"), world.path("work/conf/.env")).unwrap();
    std::fs::remove_file(world.path("work/pkg/.env")).unwrap();
    let output = run(&place, "cat own; cat conf/.env; cat second").await;
    assert!(output.text.starts_with("mine\n") && !output.text.contains(SECRET), "{}", output.text);
}

#[tokio::test]
async fn a_key_that_is_committed_as_it_lies_there_is_shown() {
    if lacks_wall() {
        return;
    }
    let world = World::new();
    write(&world, "work/tests/.env", "SAMPLE=1\n");
    let commit = "git init -q . && git add -f tests .env && git -c user.name=a -c user.email=a@b commit -qm x";
    let made = run(&world.open(), commit).await;
    assert!(!made.is_error, "{}", made.text);
    // It holds something else than the commit now.
    std::fs::write(world.path("work/.env"), format!("{SECRET}2")).unwrap();
    let output = run(&world.worker(), "cat tests/.env; cat .env").await;
    assert!(output.text.starts_with("SAMPLE=1\n"), "{}", output.text);
    assert!(!output.text.contains(SECRET), "{}", output.text);
}

#[tokio::test]
async fn a_search_that_comes_to_no_end_is_told() {
    if lacks_whole_wall() {
        return;
    }
    let world = World::new();
    let enclosure = |world: &World| {
        let work = world.path("work");
        Wall::worker(&work).raise(&work, &world.ground()).unwrap()
    };
    assert!(enclosure(&world).is_search_complete());
    assert_eq!(enclosure(&world).gaps(), []);
    for number in 0..4_200 {
        write(&world, &format!("work/keys/{number}/credentials.toml"), SECRET);
    }
    assert!(!enclosure(&world).is_search_complete());
    assert_eq!(enclosure(&world).gaps(), [Gap::Unsearched]);
    let commit =
        "git init -q . && git add -f . && git -c user.name=a -c user.email=a@b commit -qm x";
    let made = run(&world.open(), commit).await;
    assert!(!made.is_error, "{}", made.text);
    assert!(enclosure(&world).is_search_complete(), "what is committed counts for nothing");
}

/// A ground of a kernel that has namespaces and no Landlock.
fn behind_a_view_alone(world: &World, wall: &Wall) -> Result<Place, WallError> {
    let mut ground = world.ground();
    ground.support = Support { landlock: 0, ..ground.support };
    let place = world.open();
    let enclosure = wall.raise(place.directory(), &ground)?;
    Ok(place.with_enclosure(enclosure))
}

#[tokio::test]
async fn a_view_keeps_keys_and_devices_without_landlock() {
    if lacks_wall() {
        return;
    }
    let world = World::new();
    let place = behind_a_view_alone(&world, &Wall::worker(&world.path("work"))).unwrap();
    for file in [
        "@HOME/.ssh/id_rsa",
        "@HOME/.config/gh/hosts.yml",
        "@HOME/.cargo/credentials.toml",
        "@HOME/.claude/history.jsonl",
        "/etc/shadow",
        "/etc/gshadow",
        "/dev/kmsg",
        "/dev/tty",
        ".env",
    ] {
        let file = world.fill(file);
        let output =
            run(&place, &format!("head -c 1 {file} | od; : > {file} && echo written")).await;
        let is_read = output.text.contains("0000001");
        assert!(!is_read && !output.text.contains("written"), "{file}: {}", output.text);
    }
    let usual = "cat /etc/passwd | wc -l; echo x > /dev/null; head -c 1 /dev/zero | od -An; ls /run | wc -l; cat own; \
        head -c 1 /dev/urandom | wc -c";
    let output = run(&place, usual).await;
    assert!(!output.is_error && output.text.ends_with("mine\n1\n[exit code 0]"), "{}", output.text);
}

#[tokio::test]
async fn without_landlock_nothing_is_kept_to_a_list_and_that_is_said() {
    if lacks_wall() {
        return;
    }
    let world = World::new();
    for wall in [Wall::maintenance(vec![]), Wall::reading(vec![])] {
        let refused = behind_a_view_alone(&world, &wall).err().unwrap();
        insta::allow_duplicates! {
            insta::assert_snapshot!(refused, @"commands cannot be confined here: the kernel has no Landlock: commands can read more than programs and their directory");
        }
    }
}

#[tokio::test]
async fn a_read_runs_no_program_of_its_directory() {
    if lacks_whole_wall() {
        return;
    }
    let world = World::new();
    write(&world, "work/tool", "#!/bin/sh\necho ran\n");
    assert!(
        run(&world.open(), "chmod 755 tool; cp /bin/echo own-echo; ./tool; ./own-echo ran")
            .await
            .text
            .contains("ran\nran")
    );
    let place = world.behind(&Wall::reading(vec![]));
    let output = run(&place, "./tool; ./own-echo ran; cat own; wc -l < tool").await;
    assert!(!output.text.contains("ran\n") && output.text.contains("mine\n2\n"), "{}", output.text);
}
