//! A command in a pseudo-terminal, and the screen that a person would see. Tests, benches and recordings drive the program with it.
//!
//! It waits for texts and never for times; where a text does not come, it panics and shows what came instead.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a text that does not come is a failed test; there is nobody to tell but the test runner"
)]

use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use rustix::process::{Pid, Signal, kill_process};
use tine_sim::WIRE_BODIES;

/// Longest wait for a text; only a failing test waits this long.
const WAIT: Duration = Duration::from_secs(120);

/// Rows of every screen here.
pub const ROWS: u16 = 24;

/// Columns of every screen here.
pub const COLUMNS: u16 = 80;

/// What the status line says of an agent that runs.
const RUNS: &str = "Esc interrupts";

/// What begins a frame, and what ends it.
const FRAME: [&[u8]; 2] = [b"\x1b[?2026h", b"\x1b[?2026l"];

/// Where a command is run.
pub trait Place {
    /// The program.
    fn program(&self) -> PathBuf;

    /// The home directory, the user's as well as tine's own.
    fn home(&self) -> PathBuf;

    /// The working directory.
    fn work(&self) -> PathBuf;
}

/// A command in a terminal.
pub struct Terminal {
    seen: Arc<(Mutex<Seen>, Condvar)>,
    /// Kept open as long as anything may be written to it.
    master: Box<dyn MasterPty + Send>,
    input: Box<dyn Write + Send>,
    child: Box<dyn Child + Send + Sync>,
}

struct Seen {
    bytes: Vec<u8>,
    /// How many of them the screen shows.
    shown: usize,
    parser: vt100::Parser,
    ended: bool,
}

impl Seen {
    /// Takes in what came. Of a frame all is shown, or nothing yet.
    fn take(&mut self, new: &[u8]) {
        self.bytes.extend_from_slice(new);
        let last = |mark: &[u8]| self.bytes.windows(mark.len()).rposition(|window| window == mark);
        let [begun, ended] = FRAME.map(last);
        let whole = begun.filter(|begun| ended < Some(*begun)).unwrap_or(self.bytes.len());
        if let Some(new) = self.bytes.get(self.shown..whole) {
            self.parser.process(new);
            self.shown = whole;
        }
    }
}

impl Terminal {
    /// Starts the program of `place` there, with nothing of the surroundings but `PATH`.
    pub fn start(place: &impl Place, arguments: &[&str]) -> Self {
        Self::start_with(place, arguments, &[])
    }

    /// The same with variables of its own.
    pub fn start_with(place: &impl Place, arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let size = PtySize { rows: ROWS, cols: COLUMNS, ..PtySize::default() };
        let pair = native_pty_system().openpty(size).unwrap();
        let mut command = CommandBuilder::new(place.program());
        command.env_clear();
        for (name, value) in [("TINE_HOME", place.home()), ("HOME", place.home())] {
            command.env(name, value);
        }
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        if let Some(directory) = std::env::var_os(WIRE_BODIES) {
            command.env(WIRE_BODIES, directory);
        }
        command.env("TERM", "xterm-256color");
        for (name, value) in variables {
            command.env(name, value);
        }
        command.cwd(place.work());
        command.args(arguments);
        let child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let parser = vt100::Parser::new(ROWS, COLUMNS, 0);
        let seen = Seen { bytes: Vec::new(), shown: 0, parser, ended: false };
        let seen = Arc::new((Mutex::new(seen), Condvar::new()));
        let mut output = pair.master.try_clone_reader().unwrap();
        let input = pair.master.take_writer().unwrap();
        let shared = Arc::clone(&seen);
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            loop {
                let read = output.read(&mut buffer).unwrap_or(0);
                let mut seen = shared.0.lock().unwrap();
                seen.take(buffer.get(..read).unwrap_or_default());
                seen.ended = read == 0;
                shared.1.notify_all();
                if read == 0 {
                    return;
                }
            }
        });
        Self { seen, master: pair.master, input, child }
    }

    /// Waits until `text` has been shown `times` times.
    pub fn until(&self, text: &str, times: usize) {
        let count = |seen: &Seen| String::from_utf8_lossy(&seen.bytes).matches(text).count();
        let seen = self.wait(|seen| count(seen) >= times);
        if count(&seen) < times {
            panic!("no {text:?} in {}", String::from_utf8_lossy(&seen.bytes));
        }
    }

    /// Waits until the screen holds `text`, and returns it: lines without the blanks at their ends.
    pub fn screen(&self, text: &str) -> String {
        self.screen_where(text, |screen| screen.contains(text))
    }

    /// The same once nothing runs on it any more.
    pub fn at_rest(&self, text: &str) -> String {
        self.screen_where(text, |screen| screen.contains(text) && !screen.contains(RUNS))
    }

    /// Waits until the screen is meant; `what` says what was waited for.
    pub fn screen_where(&self, what: &str, is_meant: impl Fn(&str) -> bool) -> String {
        drawn(&self.screen_as(what, is_meant))
    }

    /// The same with colours and the cursor.
    pub fn screen_as(&self, what: &str, is_meant: impl Fn(&str) -> bool) -> vt100::Screen {
        let seen = self.wait(|seen| is_meant(&drawn(seen.parser.screen())));
        let screen = seen.parser.screen().clone();
        drop(seen);
        if !is_meant(&drawn(&screen)) {
            panic!("no {what:?} in\n{}", drawn(&screen));
        }
        screen
    }

    /// Types, as from a keyboard.
    pub fn type_in(&mut self, text: &str) {
        self.input.write_all(text.as_bytes()).unwrap();
        self.input.flush().unwrap();
    }

    /// Types, and waits until the screen holds `text` once more than before: one that stands there already is no answer.
    pub fn see(&mut self, typed: &str, text: &str) -> String {
        let before = self.type_before(typed, text);
        self.screen_where(text, |screen| screen.matches(text).count() > before)
    }

    /// The same once nothing runs on it any more.
    pub fn see_at_rest(&mut self, typed: &str, text: &str) -> String {
        let before = self.type_before(typed, text);
        let is_meant = |screen: &str| screen.matches(text).count() > before;
        self.screen_where(text, |screen| is_meant(screen) && !screen.contains(RUNS))
    }

    /// Gives the screen another size, as somebody does who pulls at a window. It is empty until it is drawn anew.
    pub fn resize(&self, rows: u16, columns: u16) {
        let mut seen = self.seen.0.lock().unwrap();
        seen.parser = vt100::Parser::new(rows, columns, 0);
        self.master.resize(PtySize { rows, cols: columns, ..PtySize::default() }).unwrap();
    }

    /// The process, for whoever measures it.
    pub fn process_id(&self) -> u32 {
        self.child.process_id().unwrap()
    }

    /// Asks it to end, as a system does that goes down.
    pub fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Ends it as a power cut would: the library's own `kill` asks first.
    pub fn kill(mut self) {
        self.signal(Signal::KILL);
        self.child.wait().unwrap();
    }

    /// Waits for the end: the exit code and everything that was shown.
    pub fn end(mut self) -> (u32, String) {
        let seen = self.wait(|_| false);
        let text = String::from_utf8_lossy(&seen.bytes).into_owned();
        if !seen.ended {
            panic!("still running: {text}");
        }
        drop(seen);
        (self.child.wait().unwrap().exit_code(), text)
    }

    /// Types, and says how often the screen held the text before.
    fn type_before(&mut self, typed: &str, text: &str) -> usize {
        assert!(!typed.contains(text), "{typed:?} is shown as it is typed, with {text:?} in it");
        let before = drawn(self.seen.0.lock().unwrap().parser.screen()).matches(text).count();
        self.type_in(typed);
        before
    }

    fn signal(&self, signal: Signal) {
        let id = Pid::from_raw(self.process_id().cast_signed()).unwrap();
        kill_process(id, signal).unwrap();
    }

    /// Until it is enough, the command has ended, or nobody waits any longer.
    fn wait(&self, is_enough: impl Fn(&Seen) -> bool) -> MutexGuard<'_, Seen> {
        let seen = self.seen.0.lock().unwrap();
        let goes_on = |seen: &mut Seen| !seen.ended && !is_enough(seen);
        self.seen.1.wait_timeout_while(seen, WAIT, goes_on).unwrap().0
    }
}

/// The program of this name that cargo built beside the example that runs, with its profile.
pub fn beside_example(name: &str) -> PathBuf {
    let example = std::env::current_exe().unwrap();
    example.parent().and_then(|examples| examples.parent()).unwrap().join(name)
}

/// What was shown, without colours, cursor movements and carriage returns.
pub fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string().replace('\r', "")
}

/// The text of a screen: lines without the blanks at their ends.
pub fn drawn(screen: &vt100::Screen) -> String {
    let lines: Vec<String> =
        screen.rows(0, screen.size().1).map(|line| line.trim_end().to_owned()).collect();
    lines.join("\n").trim_end().to_owned()
}
