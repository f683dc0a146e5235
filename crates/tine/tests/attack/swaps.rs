//! A read that was allowed, while somebody exchanges what it names with a link that leads outside.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::json;

use crate::ground::Ground;
use crate::report::{Row, cannot_run};
use crate::world::{Call, NOT_ALLOWED, SECRET, World};

/// The exchanges that go on during the reads of one ground, at least.
const SWAPS_MIN: usize = 1_000;

/// Between two exchanges: a read sees several.
const PACE: Duration = Duration::from_micros(100);

/// The same file again and again, by commands that count as reads, and by tools.
const READS: &[&str] = &[
    "cat d/f",
    "head -n 3 d/f",
    "cat ./d/../d/f",
    "cat file",
    "grep '' d/f",
    "grep -r '' d",
    "sed -n p d/f",
    "cd d && cat f",
    "find d -type f -exec cat {} +",
    "ls d | sed s,^,d/, | xargs cat",
    "diff d/f /dev/null",
    "awk 1 file",
];

/// How often each is made in one run.
const ROUNDS: usize = 5;

fn world() -> World {
    let world = World::new();
    world.write("work/d/f", "inside\n");
    world.write("work/file", "inside\n");
    world.write("outside/d/f", format!("{SECRET}\n"));
    std::os::unix::fs::symlink(world.outside().join("d"), world.work().join("other-d")).unwrap();
    std::os::unix::fs::symlink(world.outside().join("d/f"), world.work().join("other-file"))
        .unwrap();
    world
}

/// Exchanges both pairs until told to stop; how often.
fn swap(work: &Path, stop: &Receiver<()>) -> usize {
    let pairs: [(PathBuf, PathBuf); 2] =
        ["d", "file"].map(|name| (work.join(name), work.join(format!("other-{name}"))));
    let mut swaps = 0;
    while stop.recv_timeout(PACE) == Err(RecvTimeoutError::Timeout) {
        for (one, other) in &pairs {
            renameat_with(CWD, one.as_path(), CWD, other.as_path(), RenameFlags::EXCHANGE).unwrap();
        }
        swaps += 1;
    }
    swaps
}

/// Does something while both pairs are exchanged; how often they were, and what it came to.
fn meanwhile<T>(world: &World, act: impl FnOnce() -> T) -> (usize, T) {
    let (stop, stopped) = channel();
    let work = world.work();
    std::thread::scope(|scope| {
        let swapper = scope.spawn(move || swap(&work, &stopped));
        let done = act();
        stop.send(()).unwrap();
        (swapper.join().unwrap(), done)
    })
}

#[test]
fn an_allowed_read_prints_nothing_from_outside_while_its_path_is_exchanged() {
    for ground in Ground::ALL {
        if cannot_run("swaps against reads", ground) {
            continue;
        }
        let world = world();
        let mut calls: Vec<Call> = Vec::new();
        for _ in 0..ROUNDS {
            calls.extend(READS.iter().map(|read| Call::bash(*read)));
            calls.push(Call::new("FileRead", json!({ "file_path": world.work().join("d/f") })));
            calls.push(Call::new(
                "Grep",
                json!({ "pattern": ".", "path": "d", "output_mode": "content" }),
            ));
        }
        let (mut swaps, mut inside, mut outside) = (0, 0, Vec::new());
        while swaps < SWAPS_MIN {
            let (more, played) = meanwhile(&world, || world.play(ground, &[], &calls));
            assert!([0, NOT_ALLOWED].contains(&played.code), "{}", played.stderr);
            swaps += more;
            inside += played.results.iter().filter(|result| result.contains("inside")).count();
            outside.extend(played.results.into_iter().filter(|result| result.contains(SECRET)));
        }
        assert!(inside > 0, "no read found anything");
        let mut row = Row::new("swaps against reads", swaps);
        row.unasked = outside;
        row.settle(ground, SWAPS_MIN, 0);
    }
}

#[test]
fn a_read_without_a_wall_prints_what_lies_outside() {
    let world = world();
    let read = || {
        let mut shell = assert_cmd::Command::new("bash");
        shell.args(["-c", "for i in $(seq 100); do cat d/f file; done"]);
        String::from_utf8(shell.current_dir(world.work()).output().unwrap().stdout).unwrap()
    };
    let mut told = String::new();
    let has_both = || {
        told += &read();
        told.contains(SECRET) && told.contains("inside")
    };
    meanwhile(&world, || tine_testkit::until("a read of each", has_both));
}
