//! Commands end with the process that runs them, whatever ends it.

use std::io::{BufRead, BufReader};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use tine_testkit::until_some_async;
use tine_tools::{Place, STAGE_ARGUMENT, StageProgram};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::processes::left_in;
use super::world::{World, run};

const PROGRAM: &str = env!("CARGO_BIN_EXE_tine-wall-stage");

fn watched(place: Place) -> Place {
    place.with_watchdog(StageProgram::at(PROGRAM))
}

/// A watchdog as tine starts it, and tine's end of its socket.
#[expect(clippy::disallowed_methods, reason = "the watchdog is started without tine")]
fn started(directory: &Path, arguments: &[&str]) -> (Child, UnixStream) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut command = Command::new(PROGRAM);
    command.arg(STAGE_ARGUMENT).args(arguments).current_dir(directory);
    command.stdin(Stdio::from(OwnedFd::from(theirs))).stdout(Stdio::null());
    (command.spawn().unwrap(), ours)
}

/// Writes a line into `pids` for each process, and goes on until it is ended.
const ESCAPES: [&str; 3] = [
    "sleep 1000 & sleep 1000",
    "(setsid sleep 1000 &) ; trap '' TERM HUP INT; sleep 1000",
    // Without a mark, a session or a parent of the command.
    "(env -i setsid /bin/sh -c '/bin/sleep 1000 & /bin/sleep 1000' >/dev/null 2>&1 &) ; sleep 1000",
];

#[test]
fn a_supervisor_ends_everything_when_tine_is_gone() {
    for command in ESCAPES {
        let world = World::new();
        let work = world.path("work");
        let (mut child, socket) = started(&work, &["supervise", "1-1-1", "sh", command]);
        let mut lines = BufReader::new(socket.try_clone().unwrap()).lines();
        assert!(lines.next().unwrap().unwrap().contains("Started"));
        drop((socket, lines));
        assert_eq!(child.wait().unwrap().code(), Some(128 + 9));
        assert_eq!(left_in(&world), [""; 0].map(std::path::PathBuf::from), "{command}");
    }
}

#[test]
fn a_supervisor_whose_tine_is_gone_before_it_starts_leaves_nothing() {
    let world = World::new();
    let (mut child, socket) =
        started(&world.path("work"), &["supervise", "1-1-2", "sh", ESCAPES[2]]);
    drop(socket);
    child.wait().unwrap();
    assert_eq!(left_in(&world), [""; 0].map(std::path::PathBuf::from));
}

#[tokio::test]
async fn a_supervised_command_reads_like_any_other() {
    let world = World::new();
    let place = watched(world.open());
    let cases = [
        ("echo out; echo err >&2; exit 3", "out\nerr\n[exit code 3]"),
        ("kill -9 $$", "[ended by signal 9]"),
        ("kill -TERM $$", "[ended by signal 15]"),
        (
            "cat; read x; echo $?; test $$ = $(ps -o pgid= -p $$) && echo leads",
            "1\nleads\n[exit code 0]",
        ),
        (
            "sleep 1000 & echo hi",
            "hi\n[exit code 0; processes left in the background were stopped]",
        ),
        ("exec nothing-has-this-name 2>/dev/null", "[exit code 127]"),
        // Who ends its supervisor is ended as well.
        ("kill -9 $PPID; sleep 1000", "[ended by signal 9]"),
    ];
    for (command, expected) in cases {
        assert_eq!(run(&place, command).await.text, expected, "{command}");
    }
    // What has lost its supervisor is nobody's child here: it is killed, and gone a moment later.
    let look = async || left_in(&world).is_empty().then_some(());
    until_some_async("the end of what is left", look).await;
}

/// Ways for a process to leave its command: each ends in `@SLEEP`, which goes on for long.
const LAUNCHERS: [&str; 20] = [
    "@SLEEP &",
    "(@SLEEP &)",
    "((@SLEEP &) &)",
    "nohup @SLEEP &",
    "setsid @SLEEP &",
    "setsid --fork @SLEEP",
    "setsid nohup @SLEEP & disown",
    "(setsid setsid --fork @SLEEP &)",
    "set -m; @SLEEP & disown; set +m",
    "(trap '' HUP TERM INT; exec @SLEEP) &",
    "(env -i setsid @SLEEP &)",
    "(cd / && exec setsid --fork env -i @SLEEP)",
    "bash -c 'exec -a other @SLEEP' &",
    "{ @SLEEP & } | true",
    "coproc @SLEEP",
    "echo x | xargs -I{} setsid --fork @SLEEP",
    "timeout 1000 @SLEEP &",
    "nice -n 5 bash -c '@SLEEP & @SLEEP' &",
    "for n in 1 2 3; do (setsid bash -c 'trap \"\" TERM; while :; do @SLEEP; done' &); done",
    "perl -MPOSIX -e 'exit if fork; setsid; exit if fork; chdir \"/\"; umask 0; %ENV = (PATH => \"/usr/bin:/bin\"); POSIX::close($_) for 3..255; exec qw(@SLEEP)'",
];

/// What the process does with what it prints to.
const OUTPUTS: [&str; 2] = ["", "exec </dev/null >/dev/null 2>&1; "];

#[tokio::test]
async fn of_forty_ways_to_leave_a_command_each_ends_with_it_and_is_said() {
    if super::world::lacks_perl() {
        return;
    }
    let world = World::new();
    let mut places = vec![("watched", watched(world.open()))];
    if !super::world::lacks_wall_around_processes() {
        places.push(("walled", watched(world.worker())));
    }
    for (ground, place) in places {
        let place = Arc::new(place);
        let ways = LAUNCHERS.iter().flat_map(|way| OUTPUTS.map(|output| format!("{output}{way}")));
        let mut tries = JoinSet::new();
        for (number, way) in ways.enumerate() {
            let token = format!("1000.{}{number:03}", std::process::id());
            let way = way.replace("@SLEEP", &format!("sleep {token}"));
            let place = Arc::clone(&place);
            tries.spawn(async move {
                let output = run(&place, &format!("{way}\nsleep 0.1; true")).await;
                (token, way, output.text)
            });
        }
        while let Some(tried) = tries.join_next().await {
            let (token, way, text) = tried.unwrap();
            assert!(
                text.contains("left in the background were stopped"),
                "{ground}: {way}: {text}"
            );
            let look = async || holding(&token).is_empty().then_some(());
            until_some_async(&format!("{ground}: the end of {way}"), look).await;
        }
    }
}

/// The processes that have a word in their arguments.
fn holding(word: &str) -> Vec<String> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).into_owned());
    lines.filter(|line| line.contains(word)).collect()
}

#[tokio::test]
async fn what_ends_soon_after_its_command_is_waited_for() {
    let world = World::new();
    let place = watched(world.open());
    // What it wrote is there before the command ends: its end alone is waited for.
    let command = "exec 3> >(cat > late); echo hi >&3; until [ -s late ]; do sleep 0.01; done";
    let output = run(&place, command).await;
    assert_eq!(output.text, "[exit code 0]");
    assert_eq!(std::fs::read_to_string(world.path("work/late")).unwrap(), "hi\n");
}

#[tokio::test]
async fn a_cancelled_command_leaves_nothing_outside_its_group_either() {
    for command in ESCAPES {
        let world = World::new();
        let cancel = CancellationToken::new();
        let input = serde_json::json!({ "command": format!("{command} & touch up; wait") });
        let input = tine_model::RawJson::parse(&input.to_string()).unwrap();
        let place = watched(world.open());
        let up = world.path("work/up");
        let stop = async {
            until_some_async("the command", async || up.exists().then_some(())).await;
            cancel.cancel();
        };
        let (output, ()) =
            tokio::join!(tine_tools::Tool::run(&tine_tools::Bash, &place, &input, &cancel), stop);
        assert!(output.text.contains("cancelled"), "{}", output.text);
        assert_eq!(left_in(&world), [""; 0].map(std::path::PathBuf::from), "{command}");
    }
}
