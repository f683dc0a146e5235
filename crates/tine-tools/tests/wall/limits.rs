//! What one command may use.

use tine_tools::{Gap, Ground, Missing, ResourceLimits, Support, Wall, WallError};

use super::world::{World, run};

fn small() -> ResourceLimits {
    ResourceLimits {
        processor_seconds: 1,
        memory_bytes: 64 << 20,
        file_bytes: 1 << 20,
        open_files: 20,
        ..ResourceLimits::WORKER
    }
}

#[tokio::test]
async fn memory_files_and_time_run_out() {
    let world = World::new();
    let wall = Wall { limits: small(), ..Wall::worker(&world.path("work")) };
    let place = world.behind(&wall);
    let output = run(&place, "perl -e '$x = \"a\" x (256 << 20); print length $x'").await;
    assert!(output.text.contains("ut of memory"), "{}", output.text);
    let output = run(&place, "dd if=/dev/zero of=big bs=1M count=3").await;
    assert!(output.is_error, "{}", output.text);
    assert_eq!(std::fs::metadata(world.path("work/big")).unwrap().len(), 1 << 20);
    let output = run(&place, "while :; do :; done").await;
    assert!(output.text.contains("ended by signal"), "{}", output.text);
    let output = run(&place, "ulimit -c; ulimit -Hn; ulimit -n 4096 || echo no").await;
    assert!(output.text.starts_with("0\n20\n") && output.text.contains("no\n"), "{}", output.text);
}

#[tokio::test]
async fn the_command_is_the_same_as_without_limits() {
    let world = World::new();
    let same = async |command: &str| {
        let (open, confined) =
            (run(&world.open(), command).await, run(&world.worker(), command).await);
        let without_wall = |text: &str| {
            text.lines()
                .filter(|line| !line.starts_with("[confined"))
                .collect::<Vec<_>>()
                .join("\n")
        };
        assert_eq!(without_wall(&open.text), without_wall(&confined.text));
    };
    for command in
        ["echo $0 $# $LINENO", "no-such-command", "if", "exit 7", "kill -9 $$", "cat <<E\n$PWD\nE"]
    {
        same(command).await;
    }
}

#[test]
fn a_kernel_without_the_means_is_refused_or_told_of() {
    let world = World::new();
    let ground = || Ground {
        support: Support { landlock: 0, filter: true, namespaces: false },
        ..world.ground()
    };
    let error = Wall::maintenance(vec![]).raise(&world.path("work"), &ground()).unwrap_err();
    insta::assert_snapshot!(error, @"commands cannot be confined here: the kernel has no Landlock: commands can write and read whatever the user can");
    let worker = Wall::worker(&world.path("work")).raise(&world.path("work"), &ground()).unwrap();
    assert_eq!(worker.gaps(), [Gap::Files, Gap::View]);
    insta::assert_snapshot!(worker.line(), @"confined: no command runs here, the kernel cannot confine it");
    let accepted = Wall { missing: Missing::Accept, ..Wall::worker(&world.path("work")) };
    let accepted = accepted.raise(&world.path("work"), &ground()).unwrap();
    insta::assert_snapshot!(accepted.line(), @"confined: no network; files are not, the kernel cannot");
    let strict = Wall { missing: Missing::Refuse, ..Wall::worker(&world.path("home")) };
    let error = strict.raise(&world.path("work"), &world.ground()).unwrap_err();
    let expected = if crate::HAS_VIEW { vec![Gap::Home] } else { vec![Gap::View, Gap::Home] };
    assert!(matches!(error, WallError::Missing(gaps) if gaps == expected));
}

#[tokio::test]
async fn where_nothing_rules_over_files_no_command_starts_until_a_person_accepts_it() {
    let world = World::new();
    let ground = || Ground {
        support: Support { landlock: 0, filter: true, namespaces: false },
        ..world.ground()
    };
    let place = world.open();
    let enclosure = Wall::worker(place.directory()).raise(place.directory(), &ground()).unwrap();
    let refused = run(&place.with_enclosure(enclosure), "echo x > made").await;
    assert!(refused.is_error && !world.path("work/made").exists());
    insta::assert_snapshot!(refused.text, @"commands are not run here: this system can neither make namespaces nor use Landlock, so nothing would keep a command in its directory. Work with the file tools. Only the user can change this: `tine doctor` says how");
    // What is left of the wall holds all the same.
    let place = world.open();
    let accepted = Wall { missing: Missing::Accept, ..Wall::worker(place.directory()) };
    let enclosure = accepted.raise(place.directory(), &ground()).unwrap();
    let output = run(&place.with_enclosure(enclosure), "echo x > /dev/tcp/127.0.0.1/1").await;
    assert!(output.text.contains("ermission denied"), "{}", output.text);
}
