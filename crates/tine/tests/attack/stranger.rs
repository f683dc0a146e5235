//! Processes of the same user that have nothing to do with a command: whoever reaches one changes how it looks from outside.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// One such process, which sleeps. It holds the secret in its environment, its directory and an open file.
pub(crate) struct Stranger {
    child: Child,
    before: String,
}

impl Stranger {
    /// Starts one that is called by this number.
    #[expect(clippy::disallowed_methods, reason = "somebody else's process, not one of a tool")]
    pub(crate) fn new(number: &str, secret: &str, directory: &Path) -> Self {
        let file = std::fs::File::open(directory.join("key")).unwrap();
        let child = Command::new("sleep")
            .arg(format!("1000.{number}"))
            .env("WORD", secret)
            .current_dir(directory)
            .stdin(file)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .unwrap();
        let mut stranger = Self { child, before: String::new() };
        // A program that has just been started has no command line for a moment.
        let line = format!("/proc/{}/cmdline", stranger.pid());
        let has_line = || std::fs::read_to_string(&line).unwrap().contains("1000.");
        tine_testkit::until("the stranger", has_line);
        stranger.before = stranger.state();
        stranger
    }

    /// Its number.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns true if somebody has ended, stopped or changed it.
    pub(crate) fn is_touched(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some() || self.state() != self.before
    }

    /// What others could change of it. Its state is one letter: it may be asleep or not yet, which is the same here.
    fn state(&self) -> String {
        let read = |file: &str| {
            std::fs::read_to_string(format!("/proc/{}/{file}", self.pid())).unwrap_or_default()
        };
        let told = ["TracerPid", "Cpus_allowed:", "SigIgn", "NoNewPrivs", "Seccomp:"];
        let status: String = read("status")
            .lines()
            .filter(|line| told.iter().any(|name| line.starts_with(name)))
            .collect();
        let stat = read("stat");
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split(' ').collect();
        let is_stopped = matches!(fields.get(1), Some(&"T" | &"t" | &"Z" | &"X"));
        // The priority, the nice value and the scheduling class.
        let order: Vec<&str> =
            [16, 17, 39].iter().filter_map(|at| fields.get(*at).copied()).collect();
        let files =
            ["limits", "oom_score_adj", "coredump_filter", "timerslack_ns", "comm", "cmdline"];
        let files: String = files.iter().map(|file| read(file)).collect();
        format!("{is_stopped} {order:?} {status} {files}")
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
