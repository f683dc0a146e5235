//! What one command may use.

use tine_testkit::{Ability, lacks, test_name};
use tine_tools::{CommandLimits, Gap, Ground, Missing, ResourceLimits, Support, Wall, WallError};

use super::world::{World, lacks_wall, lacks_wall_around_processes, lacks_whole_wall, run};

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
    if lacks_wall() {
        return;
    }
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

/// The output of a command that all of its processes run under these limits.
async fn together(limits: CommandLimits, command: &str) -> String {
    let world = World::new();
    let limits = ResourceLimits { command: limits, ..ResourceLimits::WORKER };
    let wall = Wall { limits, ..Wall::worker(&world.path("work")) };
    let text = run(&world.behind(&wall), command).await.text;
    // How much a shell complains before it is stopped is chance.
    let lines = text.lines().filter(|line| line.starts_with('['));
    lines.filter(|line| !line.starts_with("[confined")).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn all_processes_together_run_out_of_what_each_has() {
    if lacks_wall_around_processes() {
        return;
    }
    let usual = ResourceLimits::WORKER.command;
    let few = CommandLimits { processes: 40, ..usual };
    insta::assert_snapshot!(together(few, "for i in $(seq 60); do sleep 60 & done; wait").await, @"
    [stopped: its processes used more than 40 processes and threads at a time, the limit of a command]
    [a person changes it: `command_processes` below [confine]]
    ");
    // Each starts two more.
    insta::assert_snapshot!(together(few, "b() { sleep 0.01; b & b & wait; }; b").await, @"
    [stopped: its processes used more than 40 processes and threads at a time, the limit of a command]
    [a person changes it: `command_processes` below [confine]]
    ");
    let small = CommandLimits { memory_bytes: Some(200 << 20), ..usual };
    let eight = "for i in $(seq 8); do perl -e '$x = \"a\" x (60 << 20); sleep 60' & done; wait";
    insta::assert_snapshot!(together(small, eight).await, @"
    [stopped: its processes used more than 200 MiB of memory, the limit of a command]
    [a person changes it: `command_memory_mib` below [confine]]
    ");
    let short = CommandLimits { processor_seconds: 1, ..usual };
    let many = "while :; do perl -e '1 for 1..100000'; done";
    insta::assert_snapshot!(together(short, many).await, @"
    [stopped: its processes used more than 1 s of processor time, the limit of a command]
    [a person changes it: `command_cpu_seconds` below [confine]]
    ");
    insta::assert_snapshot!(together(small, "for i in $(seq 30); do perl -e 1 & done; wait").await, @"[exit code 0]");
}

#[tokio::test]
async fn the_command_is_the_same_as_without_limits() {
    if lacks_wall() {
        return;
    }
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
    if lacks_whole_wall() {
        return;
    }
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
    if lacks_wall() {
        return;
    }
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

#[tokio::test]
async fn a_control_group_holds_what_is_counted_too_late() {
    if lacks_wall() {
        return;
    }
    if lacks(Ability::Cgroups, &test_name()) {
        return;
    }
    let usual = ResourceLimits::WORKER.command;
    let small = CommandLimits { memory_bytes: Some(200 << 20), ..usual };
    // Shared memory, which is not counted.
    let shared = "perl -e 'open(F, \"+>&=\", syscall(319, my $n = \"x\", 0)); print F \"a\" x (8 << 20) for 1..60; sleep 60'";
    insta::assert_snapshot!(together(small, shared).await, @"
    [stopped: its processes used more than 200 MiB of memory, the limit of a command]
    [a person changes it: `command_memory_mib` below [confine]]
    ");
}
