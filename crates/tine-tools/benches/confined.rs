//! Commands with and without a wall, printed: the whole of `true`, and the raising of a wall. Run with
//! `cargo xtask bench confined`. Medians.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot be set up has no figures")]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tine_model::RawJson;
use tine_tools::{Bash, Ground, Place, StageProgram, Support, Tool, Wall};
use tokio_util::sync::CancellationToken;

/// Runs of each kind that are counted.
const RUNS: usize = 101;

/// Raisings of a wall that are counted.
const RAISED: usize = 21;

fn main() {
    // The bench is its own stage, as the binary `tine` is.
    if tine_tools::stage_of(std::env::args_os().skip(1)).is_some() {
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().canonicalize().unwrap();
    let open = Place::new(&path).unwrap();
    // Before a program is registered, there are no watchdogs.
    let unwatched = median(RUNS, || runtime.block_on(run_true(&open)));
    StageProgram::register_this_program();
    println!("this kernel: {:?}", Support::of_this_kernel());
    let ground = || Ground::here(Arc::new(|path: &Path| path.ends_with(".ssh")));
    let without_view = || {
        let ground = ground();
        let support = Support { namespaces: false, ..ground.support };
        Ground { stage: None, support, ..ground }
    };
    let alone = median(RUNS, || runtime.block_on(run_true(&open)));
    println!("`true` without a wall: {}", shown(alone));
    println!("`true` without a wall and without a watchdog: {}", shown(unwatched));
    let walls = [
        ("a worker's", Wall::worker(&path)),
        ("a maintenance run's", Wall::maintenance(vec![])),
        ("a read's", Wall::reading(vec![])),
    ];
    for (name, wall) in walls {
        for (layers, ground) in [("namespaces", ground()), ("Landlock alone", without_view())] {
            if layers == "namespaces" && !ground.support.namespaces {
                println!(
                    "NOT RUN: {name} wall with namespaces: this kernel lets this user make none"
                );
                continue;
            }
            let enclosure = wall.raise(&path, &ground).unwrap();
            let place = Place::new(&path).unwrap().with_enclosure(enclosure);
            let confined = median(RUNS, || runtime.block_on(run_true(&place)));
            println!("`true` behind {name} wall, {layers}: {}", shown(confined));
            println!("  more than without: {}", shown(confined.saturating_sub(alone)));
            let raised = median(RAISED, || drop(wall.raise(&path, &ground).unwrap()));
            println!("  raising it, once a run: {}", shown(raised));
        }
    }
    match Support::of_this_kernel().namespaces {
        true => network(&path, &runtime, &ground()),
        false => println!(
            "NOT RUN: a network of named hosts: this kernel lets this user make no namespaces"
        ),
    }
}

/// The cost of a network that a command does not use.
fn network(path: &Path, runtime: &tokio::runtime::Runtime, ground: &Ground) {
    let timed = |wall: Wall| {
        let enclosure = wall.raise(path, ground).unwrap();
        let place = Place::new(path).unwrap().with_enclosure(enclosure);
        median(RUNS, || runtime.block_on(run_true(&place)))
    };
    let without = timed(Wall::worker(path));
    let hosts = "crates.io, *.npmjs.org, localhost:5432".parse().unwrap();
    let with = timed(Wall { network: hosts, ..Wall::worker(path) });
    println!(
        "`true` with a network of named hosts: {}, {:.2} times one without",
        shown(with),
        with.as_secs_f64() / without.as_secs_f64()
    );
}

async fn run_true(place: &Place) {
    let input = RawJson::parse(r#"{"command":"true"}"#).unwrap();
    let output = Bash.run(place, &input, &CancellationToken::new()).await;
    assert!(!output.is_error, "{}", output.text);
}

fn median(runs: usize, mut operation: impl FnMut()) -> Duration {
    operation();
    let mut times: Vec<Duration> = (0..runs)
        .map(|_| {
            let start = Instant::now();
            operation();
            start.elapsed()
        })
        .collect();
    times.sort();
    times[runs / 2]
}

fn shown(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}
