//! Other processes are neither read nor ended nor told anything, and the command's own end with it.

use std::process::{Child, Command, Stdio};

use tine_testkit::{Ability, lacks};

use super::world::{SECRET, World, lacks_wall, lacks_wall_around_processes, lacks_whole_wall, run};

/// A process of the same user that has nothing to do with the command.
struct Stranger(Child);

impl Stranger {
    #[expect(clippy::disallowed_methods, reason = "somebody else's process, not one of a tool")]
    fn new(world: &World) -> Self {
        let mut command = Command::new("sleep");
        command.arg("1000").env("KEY", SECRET).current_dir(world.path("home/.ssh"));
        let file = std::fs::File::open(world.path("home/.ssh/id_rsa")).unwrap();
        Self(command.stdin(file).stdout(Stdio::null()).spawn().unwrap())
    }

    fn fill(&self, world: &World, command: &str) -> String {
        world.fill(command).replace("@PID", &self.0.id().to_string())
    }

    fn is_alive(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }

    fn open_files_limit(&self) -> String {
        let limits = std::fs::read_to_string(format!("/proc/{}/limits", self.0.id())).unwrap();
        limits.lines().find(|line| line.starts_with("Max open files")).unwrap().to_owned()
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

const SPYING: [&str; 4] = [
    "tr '\\0' '\\n' < /proc/@PID/environ",
    "cat /proc/@PID/cwd/id_rsa",
    "cat /proc/@PID/fd/0",
    "cat /proc/@PID/root@HOME/.ssh/id_rsa",
];

#[tokio::test]
async fn other_processes_are_not_read() {
    if lacks_whole_wall() {
        return;
    }
    for command in SPYING {
        let world = World::new();
        let stranger = Stranger::new(&world);
        let command = stranger.fill(&world, command);
        assert!(run(&world.open(), &command).await.text.contains(SECRET), "{command}");
        for place in [world.worker(), world.reader()] {
            let output = run(&place, &command).await;
            assert!(!output.text.contains(SECRET), "{command}: {}", output.text);
        }
    }
}

#[tokio::test]
async fn tine_itself_is_not_read() {
    if lacks_wall() {
        return;
    }
    let world = World::new();
    let command =
        format!("head -c 1 /proc/{0}/environ; head -c 1 /proc/{0}/mem", std::process::id());
    let output = run(&world.worker(), &command).await;
    let refused = output.text.matches("ermission denied").count();
    let unseen = output.text.matches("No such file").count();
    assert_eq!(refused + unseen, 2, "{}", output.text);
}

#[tokio::test]
async fn other_processes_are_not_ended_and_own_ones_are() {
    if lacks_whole_wall() {
        return;
    }
    let world = World::new();
    let mut stranger = Stranger::new(&world);
    for place in [world.worker(), world.reader()] {
        for command in ["kill -9 @PID", "kill -STOP @PID", "perl -e 'kill 9, @PID or die'"] {
            let output = run(&place, &stranger.fill(&world, command)).await;
            assert!(output.is_error, "{command}: {}", output.text);
        }
        let output = run(&place, "sleep 1000 & kill -9 $!; wait $!; echo $?").await;
        assert!(output.text.contains("137"), "{}", output.text);
    }
    assert!(stranger.is_alive());
}

#[tokio::test]
async fn a_command_gets_the_signals_that_it_is_sent() {
    if lacks_whole_wall() {
        return;
    }
    let world = World::new();
    for place in [world.worker(), world.reader()] {
        let output = run(&place, "kill -TERM $$; echo survived").await;
        assert!(output.text.starts_with("[ended by signal 15]"), "{}", output.text);
    }
}

#[cfg(target_arch = "x86_64")] // for the numbers of the calls
#[tokio::test]
async fn the_kernel_refuses_what_reaches_round_the_files() {
    if lacks_whole_wall() {
        return;
    }
    let world = World::new();
    let stranger = Stranger::new(&world);
    let limit = stranger.open_files_limit();
    // Each prints `refused` when the call fails as a refusal, and what it was told otherwise.
    let call = |name: &str, arguments: &str| {
        let line = format!(
            "perl -e '$r = syscall({arguments}); print $r < 0 && ($! == 1 || $! == 38) ? \"refused\" : \"$r $!\"'"
        );
        (name.to_owned(), stranger.fill(&world, &line))
    };
    let calls = [
        call("ptrace", "101, 16, @PID, 0, 0"),
        call("process_vm_readv", "310, @PID, 0, 0, 0, 0, 0"),
        call("prlimit of another", "302, @PID, 7, my $l = pack(\"QQ\", 1, 1), 0"),
        call("io_uring_setup", "425, 1, 0"),
        call("unshare", "272, 0x10000000"),
        call("clone", "56, 0x10000000, 0, 0, 0, 0"),
        call("clone3", "435, 0, 0"),
        call("mount", "165, 0, 0, 0, 0, 0"),
        call("chroot", "161, my $p = \"/\""),
        call("keyctl", "250, 0, -3, 0"),
        call("add_key", "248, 0, 0, 0, 0, -3"),
        call("bpf", "321, 0, 0, 0"),
        call("shmget", "29, 0, 4096, 0x3ff"),
        call("msgget", "68, 0, 0x3ff"),
        call("mq_open", "240, my $p = \"x\", 0x42, 0x1ff, 0"),
        call("TIOCSTI", "16, 0, 0x5412, 0"),
        call("FS_IOC_SETFLAGS", "16, 0, 0x40086602, 0"),
        call("the second numbering of socket", "0x40000029, 2, 1, 0"),
        call("open_by_handle_at", "304, 0, 0, 0"),
    ];
    for (name, command) in calls {
        for place in [world.worker(), world.reader()] {
            let output = run(&place, &command).await;
            assert!(output.text.starts_with("refused\n"), "{name}: {}", output.text);
        }
    }
    assert_eq!(stranger.open_files_limit(), limit);
}

#[tokio::test]
async fn mounts_and_namespaces_are_refused() {
    if lacks_wall() {
        return;
    }
    let world = World::new();
    for command in
        ["unshare -r true", "unshare -m true", "mount -t tmpfs none @OUT", "chroot / true"]
    {
        let output = run(&world.worker(), &world.fill(command)).await;
        assert!(output.is_error, "{command}: {}", output.text);
    }
}

/// A process whose first thread has ended looks dead from outside.
const WITHOUT_ITS_FIRST_THREAD: &str = "python3 -c '
import os, threading, time, ctypes
if os.fork() == 0:
    os.setsid()
    for fd in range(3): os.dup2(os.open(\"/dev/null\", os.O_RDWR), fd)
    threading.Thread(target=lambda: time.sleep(1000)).start()
    open(\"pids\", \"w\").write(str(os.getpid()) + \"\\n\")
    ctypes.CDLL(None).pthread_exit(None)
'; while ! test -s pids; do sleep 0.02; done";

/// Each process starts the next one and ends, so that a list of them is out of date before it is read. It ends by itself, some
/// seconds later.
const CHAIN: &str = "perl -MPOSIX -e 'exit if fork; setsid; open STDOUT, \">/dev/null\"; open STDERR, \">/dev/null\"; for (1 .. 20000) { _exit(0) if fork }'";

#[tokio::test]
async fn a_chain_of_processes_ends_too() {
    if lacks_wall_around_processes() {
        return;
    }
    let world = World::new();
    run(&world.worker(), CHAIN).await;
    assert_eq!(left_in(&world), [""; 0].map(std::path::PathBuf::from));
}

/// Processes whose directory is the world's.
pub(crate) fn left_in(world: &World) -> Vec<std::path::PathBuf> {
    let work = world.path("work").canonicalize().unwrap();
    let entries = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    entries
        .filter(|entry| std::fs::read_link(entry.join("cwd")).is_ok_and(|cwd| cwd == work))
        .collect()
}

/// The threads of tine come just before the command's own number.
const THREADS: &str = "for i in $(seq 1 60); do t=$(($$-i)); @DO; done 2>/dev/null; echo through";

#[tokio::test]
async fn the_process_that_started_it_is_out_of_reach() {
    if lacks_whole_wall() {
        return;
    }
    let attacks = [
        "grep -qa PATH= /proc/$t/environ && echo read",
        "readlink /proc/$t/fd/* | grep -q . && echo read",
        "kill -0 $t && test -d /proc/$PPID/task/$t && echo read",
        "kill -0 $PPID && echo read",
    ];
    for attack in attacks {
        if crate::HAS_VIEW && attack.contains("kill") {
            // The parent is the stage, the first process of the command's own namespace: the next test.
            continue;
        }
        let world = World::new();
        for place in [world.worker(), world.reader()] {
            let output = run(&place, &THREADS.replace("@DO", attack)).await;
            assert!(output.text.starts_with("through\n"), "{attack}: {}", output.text);
        }
    }
}

#[tokio::test]
async fn the_stage_of_a_view_cannot_be_ended_or_stopped_from_inside() {
    if lacks_whole_wall() {
        return;
    }
    let world = World::new();
    for place in [world.worker(), world.reader()] {
        let attack = "kill -9 1; kill -STOP 1; kill -9 $PPID; kill -TERM -1; echo through; exit 7";
        let output = run(&place, &format!("trap '' TERM; {attack}")).await;
        assert!(output.text.contains("through\n[exit code 7]"), "{}", output.text);
    }
}

#[tokio::test]
async fn nothing_outlives_its_command() {
    if lacks_wall_around_processes() {
        return;
    }
    let leaving = [
        "sleep 1000 & echo $! > pids",
        "nohup sleep 1000 >/dev/null 2>&1 & echo $! > pids",
        "setsid sh -c 'echo $$ > pids; exec sleep 1000' & while ! test -s pids; do sleep 0.02; done",
        // Without the mark in its environment, twice removed from the shell.
        "(env -i setsid /bin/sh -c 'echo $$ > pids; exec /bin/sleep 1000' >/dev/null 2>&1 &) ; while ! test -s pids; do sleep 0.02; done",
        "perl -MPOSIX -e 'for (1..40) { next if fork; setsid; %ENV = (); if (fork) { exit } open F, \">>pids\"; print F \"$$\\n\"; close F; exec \"sleep 1000\" }'; while [ $(wc -l < pids) -lt 40 ]; do sleep 0.02; done",
    ];
    let what = "a process without its first thread";
    let python = (!lacks(Ability::Program("python3"), what)).then_some(WITHOUT_ITS_FIRST_THREAD);
    for command in leaving.into_iter().chain(python) {
        let world = World::new();
        let output = run(&world.worker(), command).await;
        assert!(output.text.contains("left in the background were stopped"), "{}", output.text);
        assert!(!std::fs::read_to_string(world.path("work/pids")).unwrap().is_empty());
        assert_eq!(left_in(&world), [""; 0].map(std::path::PathBuf::from), "{command}");
    }
}

#[tokio::test]
async fn a_command_inherits_three_descriptors() {
    if lacks_wall() {
        return;
    }
    let world = World::new();
    // This one stays open in whatever is started from here, unless somebody closes it.
    let inherited = std::fs::File::open(world.path("home/.ssh/id_rsa")).unwrap();
    rustix::io::fcntl_setfd(&inherited, rustix::io::FdFlags::empty()).unwrap();
    // One more is open: the directory that is listed.
    let output = run(&world.worker(), "ls /proc/self/fd | tr '\\n' ' '").await;
    assert!(output.text.starts_with("0 1 2 3 \n"), "{}", output.text);
    let output = run(&world.worker(), "readlink /proc/self/fd/0; : <> /proc/self/fd/1").await;
    assert!(output.text.starts_with("/dev/null"), "{}", output.text);
}
