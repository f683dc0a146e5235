//! The table of doors: through which an agent, or one that is made of it, begins to run.

use super::{home_with, reach_of, wrote_outside};
use crate::support::{Home, Ran};

/// Opens a door of agent `a`; the agent that ran, where it is not the newest.
type Door = fn(&Home) -> Option<&'static str>;

fn newest(home: &Home) -> String {
    home.json(&["ps", "--all", "--json"])[0]["id"].as_str().unwrap().to_owned()
}

fn worker_of(home: &Home, made: &[&str]) -> String {
    home.done(made);
    newest(home)
}

const DOORS: [(&str, Door); 11] = [
    ("run --resume", |home| {
        home.done(&["run", "-q", "--resume", "a", "PROBE"]);
        Some("a")
    }),
    ("run --continue", |home| {
        home.done(&["run", "-q", "--continue", "PROBE"]);
        Some("a")
    }),
    ("fork, then run", |home| {
        let child = home.done(&["fork", "-q", "a"]);
        home.done(&["run", "-q", "--resume", child.trim(), "PROBE"]);
        None
    }),
    ("fork with a prompt", |home| {
        home.done(&["fork", "-q", "a", "PROBE"]);
        None
    }),
    ("run with /fork", |home| {
        home.done(&["run", "-q", "--resume", "a", "/fork \"PROBE\""]);
        None
    }),
    ("fan", |home| {
        home.done(&["fan", "a", "-d", "PROBE", "--json"]);
        None
    }),
    ("task start", |home| {
        home.done(&["task", "start", "a", "PROBE", "--wait"]);
        None
    }),
    ("task resume", |home| {
        let worker = worker_of(home, &["task", "start", "a", "hello", "--wait"]);
        home.done(&["task", "resume", &worker, "PROBE", "--wait"]);
        None
    }),
    ("Agent tool", |home| {
        home.done(&["run", "-q", "--resume", "a", "SEND"]);
        None
    }),
    ("peer of a worker", |home| {
        let worker = worker_of(home, &["fan", "a", "-d", "hello", "--json"]);
        home.done(&["fork", "-q", &worker, "PROBE"]);
        None
    }),
    ("terminal", |home| {
        let ran = Ran::of(home.tine(&["--plain", "-r", "a"]).write_stdin("PROBE\n"));
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        Some("a")
    }),
];

/// One column of the table: what the agent that ran may touch, and where its command wrote.
fn column(options: &[&str]) -> Vec<String> {
    let home = home_with(options);
    let cell = |(_, door): (&str, Door)| {
        let ran = door(&home).map_or_else(|| newest(&home), str::to_owned);
        let own = std::fs::remove_file(home.work().join("own")).is_ok();
        let wrote = match (own, wrote_outside(&home)) {
            (true, true) => ", wrote outside",
            (true, false) => ", wrote inside",
            (false, false) => "",
            (false, true) => ", wrote outside alone",
        };
        format!("{}{wrote}", reach_of(&home, &ran))
    };
    DOORS.into_iter().map(cell).collect()
}

/// Each door with each stored reach.
#[cfg(target_os = "linux")] // for the wall
#[test]
fn every_door_keeps_what_is_stored() {
    let columns: [&[&str]; 3] = [&[], &["--confine", "directory"], &["--confine", "read-only"]];
    let columns = std::thread::scope(|scope| {
        columns
            .map(|options| scope.spawn(move || column(options)))
            .map(|running| running.join().unwrap())
    });
    let mut table = String::new();
    for (row, (name, _)) in DOORS.iter().enumerate() {
        let [open, directory, read_only] = columns.each_ref().map(|column| &column[row]);
        table.push_str(&format!("{name:<20}{open:<26}{directory:<26}{read_only}\n"));
    }
    insta::assert_snapshot!(table, @"
    run --resume        open, wrote outside       directory, wrote inside   read-only
    run --continue      open, wrote outside       directory, wrote inside   read-only
    fork, then run      open, wrote outside       directory, wrote inside   read-only
    fork with a prompt  open, wrote outside       directory, wrote inside   read-only
    run with /fork      open, wrote outside       directory, wrote inside   read-only
    fan                 directory, wrote inside   directory, wrote inside   read-only
    task start          directory, wrote inside   directory, wrote inside   read-only
    task resume         directory, wrote inside   directory, wrote inside   read-only
    Agent tool          directory, wrote inside   directory, wrote inside   read-only
    peer of a worker    directory, wrote inside   directory, wrote inside   read-only
    terminal            open, wrote outside       directory, wrote inside   read-only
    ");
}
