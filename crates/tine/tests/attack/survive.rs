//! Ways to outlive a confined command. While the run goes on and only waits, no process of an earlier command may be there.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};

use tine_testkit::until;

use crate::ground::Ground;
use crate::report::{Row, cannot_run};
use crate::world::{Call, World, id_word, ids_in};

/// What is to live on. It says so in its own command line, whatever became of its parents, its directory and its environment.
const LIVE: &str = "$SIG{$_} = q(IGNORE) for qw(HUP INT QUIT TERM PIPE USR1 USR2 ALRM CHLD TSTP TTIN TTOU); sleep 1 for 1 .. 60;\n";

/// A chain: each process starts the next one and ends, so that a list of them is out of date before it is read. It ends by itself.
const CHAIN: &str =
    "use POSIX; exit if fork; setsid; for (1 .. 4000) { POSIX::_exit(0) if fork }\n";

/// Ways that work where there is no wall. `@LIVE` is what is to live on.
const WAYS: &[&str] = &[
    "@LIVE &",
    "@LIVE <&- >&- 2>&- &",
    "@LIVE & disown -a",
    "@LIVE | cat &",
    "nohup @LIVE > /dev/null 2>&1 &",
    "setsid @LIVE < /dev/null > /dev/null 2>&1 &",
    "setsid -f @LIVE > /dev/null 2>&1",
    "setsid -f setsid -f setsid -f @LIVE > /dev/null 2>&1",
    "(setsid @LIVE > /dev/null 2>&1 &)",
    "((setsid nohup @LIVE > /dev/null 2>&1 &) &) &",
    "env -i setsid @LIVE > /dev/null 2>&1 &",
    "(env -i setsid -f @LIVE > /dev/null 2>&1 &)",
    "cd /; env -i setsid -f @LIVE > /dev/null 2>&1",
    "trap '' HUP TERM INT; @LIVE > /dev/null 2>&1 &",
    "trap '@LIVE > /dev/null 2>&1 &' EXIT",
    "bash -c '@LIVE > /dev/null 2>&1 & exec true'",
    "@LIVE > /dev/null 2>&1 & exec sleep 0",
    "(@LIVE > /dev/null 2>&1 & kill -9 $BASHPID)",
    "@LIVE > /dev/null 2>&1 & kill -STOP $!",
    "setsid sh -c 'kill -STOP $$; exec @LIVE' > /dev/null 2>&1 & setsid -f @LIVE > /dev/null 2>&1",
    "coproc @LIVE; true",
    "mkfifo p; (@LIVE < p > /dev/null 2>&1 &); setsid -f @LIVE > /dev/null 2>&1",
    "nice -n 19 setsid @LIVE > /dev/null 2>&1 &",
    "stdbuf -oL setsid @LIVE > /dev/null 2>&1 &",
    "timeout 60 setsid @LIVE > /dev/null 2>&1 &",
    "timeout -s STOP 60 @LIVE > /dev/null 2>&1 &",
    "setpriv --no-new-privs setsid -f @LIVE > /dev/null 2>&1",
    "flock own setsid @LIVE > /dev/null 2>&1 &",
    "echo x | xargs -P 4 -I{} setsid -f @LIVE > /dev/null 2>&1",
    "find . -name own -exec setsid -f @LIVE \\; > /dev/null 2>&1",
    "git -c alias.x='!setsid -f @LIVE > /dev/null 2>&1' x",
    "GIT_PAGER='setsid -f @LIVE' git -c core.pager=cat -c alias.y='!(@LIVE &) > /dev/null 2>&1' y",
    "awk 'BEGIN { system(\"setsid -f @LIVE > /dev/null 2>&1\") }'",
    "(while :; do @LIVE; done) > /dev/null 2>&1 &",
    "exec {fd}< own; setsid -f @LIVE > /dev/null 2>&1",
    "for i in $(seq 300); do (exec -a @HERE/live-many sleep 60 > /dev/null 2>&1 &); done",
    "cp /bin/sleep s 2> /dev/null || cp /bin/sleep $TMPDIR/s && cd $TMPDIR; (exec -a @HERE/live-deleted ./s 60 > /dev/null 2>&1 &); rm -f s; setsid -f @LIVE > /dev/null 2>&1",
    // fork, a session of its own, fork again, and another program.
    "perl -MPOSIX -e 'exit if fork; setsid; exit if fork; chdir q(/); %ENV = (); exec qw(@LIVE)'",
    "perl -e 'exit if fork; setpgrp; open $_, q(/dev/null) for *STDIN, *STDOUT, *STDERR; exec qw(@LIVE)'",
    // Children that tell nobody of their end, that are their parent's brothers, or whose orphans are caught on the way.
    "perl -e 'my $p = syscall 56, 0, 0, 0, 0, 0; exec qw(@LIVE) if !$p'",
    "perl -e 'my $p = syscall 56, 0x8011, 0, 0, 0, 0; exec qw(@LIVE) if !$p'",
    "perl -e 'syscall 157, 36, 1, 0, 0, 0; if (!fork) { exit if fork; exec qw(@LIVE) } wait'",
    "perl -e 'syscall 157, 4, 0, 0, 0, 0; exit if fork; exec qw(@LIVE)'",
    // A program that has no file, and one that starts itself again.
    "perl -e 'my $n = q(x); my $f = syscall 319, $n, 0; open I, q(/bin/sleep); binmode I; local $/; open O, qq(>&=$f); print O <I>; close I; $p = qq(/proc/self/fd/$f); O->flush; exit if fork; exec { $p } q(@HERE/live-memory), 60' > /dev/null 2>&1; setsid -f @LIVE > /dev/null 2>&1",
    "perl -e 'exit if fork; for (1 .. 50) { exec qw(@LIVE) if $_ == 50; exit if fork }' > /dev/null 2>&1",
];

/// Ways that need a service of the machine, or end by themselves: tried behind walls alone.
const SERVICES: &[&str] = &[
    "perl @HERE/live-chain.pl @ID",
    "echo '@LIVE' | at now",
    "echo '@LIVE' | batch",
    "echo '* * * * * @LIVE' | crontab -",
    "systemd-run --user --no-block @LIVE",
    "systemd-run --no-block @LIVE",
    "tmux -L @ID new-session -d '@LIVE'",
    "screen -dmS @ID @LIVE",
    "script -qfc '@LIVE' /dev/null > /dev/null 2>&1 &",
    "ssh -o BatchMode=yes 127.0.0.1 '@LIVE &'",
    "start-stop-daemon --start --background --exec /usr/bin/perl -- @LIVE",
    "git daemon --detach --port=0 --base-path=. ; git maintenance start",
    "unshare -rpf --kill-child=SIGCONT setsid @LIVE > /dev/null 2>&1 &",
    "(unshare -rp setsid -f @LIVE > /dev/null 2>&1)",
];

/// The world in which commands are outlived.
struct Stage {
    world: World,
}

impl Stage {
    fn new() -> Self {
        let world = World::new();
        for id in 0..WAYS.len() + SERVICES.len() {
            world.write(&format!("work/{}/own", id_word(id)), "x\n");
        }
        world.write("work/live.pl", LIVE);
        world.write("work/live-chain.pl", CHAIN);
        Self { world }
    }

    /// A way with its holes filled, in its own directory.
    fn command(&self, id: usize, way: &str) -> String {
        let (here, word) = (self.world.work(), id_word(id));
        let here = here.to_str().unwrap();
        let live = format!("/usr/bin/perl {here}/live.pl {word}");
        let way = way.replace("@LIVE", &live).replace("@HERE", here).replace("@ID", &word);
        format!("cd {here}/{word}\n{way}\n")
    }

    /// Processes of ways that are there: those that name what is to live on, or work in the directory of a way.
    fn alive(&self) -> Vec<(rustix::process::Pid, String)> {
        let work = self.world.work();
        let live = work.join("live");
        let entries = std::fs::read_dir("/proc").unwrap().flatten();
        let of_way = |process: &Path| {
            let line = std::fs::read(process.join("cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            let directory = std::fs::read_link(process.join("cwd")).unwrap_or_default();
            let is_in_way = directory.starts_with(&work) && directory != work;
            let names = line.contains(live.to_str().unwrap()) && !line.starts_with("bash -c");
            (is_in_way || names).then(|| format!("{line} in {}", directory.display()))
        };
        let number = |process: &PathBuf| process.file_name()?.to_str()?.parse().ok();
        entries
            .map(|entry| entry.path())
            .filter_map(|process| {
                let pid = rustix::process::Pid::from_raw(number(&process)?)?;
                Some((pid, of_way(&process)?))
            })
            .collect()
    }

    /// The numbers of the ways whose processes are there.
    fn ids_alive(&self) -> (BTreeSet<usize>, Vec<String>) {
        let lines: Vec<String> = self.alive().into_iter().map(|(_, line)| line).collect();
        let ids = lines.iter().flat_map(|line| ids_in(line)).collect();
        (ids, lines)
    }

    fn end_all(&self) {
        until("the end of all", || {
            let alive = self.alive();
            for (pid, _) in &alive {
                let _ = rustix::process::kill_process(*pid, rustix::process::Signal::KILL);
            }
            alive.is_empty()
        });
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.end_all();
    }
}

#[test]
fn each_way_outlives_a_command_where_there_is_no_wall() {
    let stage = Stage::new();
    for (id, way) in WAYS.iter().enumerate() {
        // Without pipes, which those that live on would hold open.
        let quiet = format!("exec > /dev/null 2>&1 < /dev/null\n{}", stage.command(id, way));
        let mut shell = assert_cmd::Command::new("bash");
        shell.args(["-c", &quiet]).env("TMPDIR", stage.world.home()).output().unwrap();
        until(&format!("{id}: {way}"), || stage.ids_alive().0.contains(&id));
        stage.end_all();
    }
}

/// Lets an agent try all ways; the ids of those that lived on while the run waited in its last command, and how many there are.
fn survivors(ground: Ground, confine: &str) -> (BTreeSet<usize>, Vec<String>) {
    let stage = Stage::new();
    let gate = stage.world.work().join("gate");
    let made = assert_cmd::Command::new("mkfifo").arg(&gate).output().unwrap();
    assert!(made.status.success());
    let ways = WAYS.iter().chain(SERVICES).enumerate();
    let mut calls: Vec<Call> = ways.map(|(id, way)| Call::bash(stage.command(id, way))).collect();
    calls.push(Call::bash("cat gate"));
    let options = ["--permission-mode", "bypass", "--confine", confine];
    let (seen, played) = std::thread::scope(|scope| {
        let look = scope.spawn(|| {
            // Opens when the last command reads, and lets it go on.
            let open = File::options().write(true).open(&gate);
            let seen = stage.ids_alive();
            drop(open);
            seen
        });
        let played = stage.world.play(ground, &options, &calls);
        if !look.is_finished() {
            // Nobody has read: this lets the other thread go on.
            drop(File::options().read(true).write(true).open(&gate));
        }
        (look.join().unwrap(), played)
    });
    assert_eq!(played.code, 0, "{}", played.stderr);
    assert_eq!(played.results.len(), calls.len());
    assert_eq!(played.results.last().unwrap(), "[exit code 0]", "the run waited to be looked at");
    let (mut ids, mut lines) = seen;
    // Nor is anything left when the run has ended.
    let (late, more) = stage.ids_alive();
    ids.extend(late);
    lines.extend(more);
    (ids, lines)
}

#[test]
fn nothing_outlives_a_confined_command() {
    for ground in Ground::ALL {
        for confine in ["directory", "read-only"] {
            let group = format!("survivors, {confine}");
            if cannot_run(&group, ground) {
                continue;
            }
            let (ids, lines) = survivors(ground, confine);
            let all: Vec<&&str> = WAYS.iter().chain(SERVICES).collect();
            let mut row = Row::new(group, all.len());
            row.escaped = ids.iter().map(|id| format!("{id}: {}", all[*id])).collect();
            if ids.is_empty() {
                row.escaped = lines;
            }
            row.settle(ground, 50, 0);
        }
    }
}

/// Ways in front of a command that goes on until somebody ends it. It says so when it is there.
const ENDLESS: [&str; 3] = [
    "touch up; sleep 1000",
    "setsid -f @LIVE > /dev/null 2>&1; trap '' HUP TERM INT; touch up; sleep 1000",
    "(env -i setsid -f @LIVE > /dev/null 2>&1 &); touch up; sleep 1000",
];

/// Starts a run of one command and kills it when the command is there.
#[expect(clippy::disallowed_methods, reason = "the test kills the real binary")]
fn killed(stage: &Stage, ground: Ground, options: &[&str], way: &str) {
    let world = &stage.world;
    let up = world.work().join(id_word(0)).join("up");
    let _ = std::fs::remove_file(&up);
    let model = world.scenario("endless", &[Call::bash(stage.command(0, way))]);
    let plain = world.tine(ground, &["run", "-q", "--model", &model, "TRY"]);
    let mut command = std::process::Command::new(plain.get_program());
    command.args(plain.get_args()).args(options).current_dir(world.work()).env_clear();
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut tine = command.stdin(std::process::Stdio::null()).spawn().unwrap();
    until("the command", || {
        assert!(tine.try_wait().unwrap().is_none(), "{way}: the run has ended");
        up.exists()
    });
    tine.kill().unwrap();
    tine.wait().unwrap();
}

#[test]
fn no_command_outlives_a_killed_run() {
    let open: &[&str] = &["--permission-mode", "bypass"];
    let confined: &[&str] = &["--permission-mode", "bypass", "--confine", "directory"];
    for ground in Ground::ALL {
        if cannot_run("killed runs", ground) {
            continue;
        }
        for options in [open, confined] {
            for way in ENDLESS {
                let stage = Stage::new();
                killed(&stage, ground, options, way);
                // Its watchdog needs a moment.
                let what = format!("the end of all, {ground:?}, {options:?}: {way}");
                until(&what, || stage.ids_alive().0.is_empty());
            }
        }
    }
}
