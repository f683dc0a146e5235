//! A command in a pseudo-terminal, and the screen that a person would see.

use std::io::{Read, Write};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use portable_pty::{Child, CommandBuilder, PtySize, native_pty_system};

use crate::support::Home;

/// Longest wait for a text; only a failing test waits this long.
const WAIT: Duration = Duration::from_secs(30);

const ROWS: u16 = 24;
/// Columns of every screen here.
pub(crate) const COLUMNS: u16 = 80;

/// A command in a terminal.
pub(crate) struct Terminal {
    seen: Arc<(Mutex<Seen>, Condvar)>,
    input: Box<dyn Write + Send>,
    child: Box<dyn Child + Send + Sync>,
}

#[derive(Default)]
struct Seen {
    bytes: Vec<u8>,
    ended: bool,
}

impl Terminal {
    pub(crate) fn start(home: &Home, arguments: &[&str]) -> Self {
        Self::start_with(home, arguments, &[])
    }

    pub(crate) fn start_with(home: &Home, arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let size = PtySize { rows: ROWS, cols: COLUMNS, ..PtySize::default() };
        let pair = native_pty_system().openpty(size).unwrap();
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_tine"));
        command.env_clear();
        for (name, value) in [("TINE_HOME", home.path()), ("HOME", home.path())] {
            command.env(name, value);
        }
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("TERM", "xterm-256color");
        for (name, value) in variables {
            command.env(name, value);
        }
        command.cwd(home.work());
        command.args(arguments);
        let child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let seen = Arc::new((Mutex::new(Seen::default()), Condvar::new()));
        let mut output = pair.master.try_clone_reader().unwrap();
        let input = pair.master.take_writer().unwrap();
        let shared = Arc::clone(&seen);
        std::thread::spawn(move || {
            // Kept open as long as anything may be written to it.
            let _master = pair.master;
            let mut buffer = [0; 4096];
            loop {
                let read = output.read(&mut buffer).unwrap_or(0);
                let mut seen = shared.0.lock().unwrap();
                seen.bytes.extend_from_slice(&buffer[..read]);
                seen.ended = read == 0;
                shared.1.notify_all();
                if read == 0 {
                    return;
                }
            }
        });
        Self { seen, input, child }
    }

    /// Waits until `text` has been shown `times` times.
    pub(crate) fn until(&self, text: &str, times: usize) {
        let shown = |seen: &mut Seen| {
            !seen.ended && String::from_utf8_lossy(&seen.bytes).matches(text).count() < times
        };
        let seen = self.seen.0.lock().unwrap();
        let (seen, waited) = self.seen.1.wait_timeout_while(seen, WAIT, shown).unwrap();
        let text_seen = String::from_utf8_lossy(&seen.bytes);
        assert!(
            !waited.timed_out() && text_seen.matches(text).count() >= times,
            "no {text:?} in {text_seen}"
        );
    }

    /// Waits until the screen holds `text`, and returns it: lines without the blanks at their ends.
    pub(crate) fn screen(&self, text: &str) -> String {
        self.screen_where(text, |screen| screen.contains(text))
    }

    /// The same once nothing runs on it any more.
    pub(crate) fn at_rest(&self, text: &str) -> String {
        let rests = |screen: &str| screen.contains(text) && !screen.contains("Esc interrupts");
        self.screen_where(text, rests)
    }

    fn screen_where(&self, text: &str, is_meant: impl Fn(&str) -> bool) -> String {
        let is_missing = |seen: &mut Seen| !seen.ended && !is_meant(&drawn(&seen.bytes));
        let seen = self.seen.0.lock().unwrap();
        let (seen, waited) = self.seen.1.wait_timeout_while(seen, WAIT, is_missing).unwrap();
        let screen = drawn(&seen.bytes);
        drop(seen);
        assert!(!waited.timed_out() && is_meant(&screen), "no {text:?} in\n{screen}");
        screen
    }

    pub(crate) fn type_in(&mut self, text: &str) {
        self.input.write_all(text.as_bytes()).unwrap();
        self.input.flush().unwrap();
    }

    /// Ends it as a power cut would: the library's own `kill` asks first.
    pub(crate) fn kill(mut self) {
        let id = self.child.process_id().unwrap().to_string();
        assert!(
            std::process::Command::new("kill").args(["-KILL", &id]).status().unwrap().success()
        );
        self.child.wait().unwrap();
    }

    /// Waits for the end: the exit code and everything that was shown.
    pub(crate) fn end(mut self) -> (u32, String) {
        let seen = self.seen.0.lock().unwrap();
        let (seen, waited) =
            self.seen.1.wait_timeout_while(seen, WAIT, |seen| !seen.ended).unwrap();
        assert!(!waited.timed_out(), "still running: {}", String::from_utf8_lossy(&seen.bytes));
        let text = String::from_utf8_lossy(&seen.bytes).into_owned();
        drop(seen);
        (self.child.wait().unwrap().exit_code(), text)
    }
}

/// What was shown, without colours, cursor movements and carriage returns.
pub(crate) fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string().replace('\r', "")
}

/// What begins a frame, and what ends it.
const FRAME: [&[u8]; 2] = [b"\x1b[?2026h", b"\x1b[?2026l"];

/// What a screen shows that was sent these bytes; of a frame, all or nothing.
fn drawn(bytes: &[u8]) -> String {
    let last = |mark: &[u8]| bytes.windows(mark.len()).rposition(|window| window == mark);
    let [begun, ended] = FRAME.map(last);
    let whole = begun.filter(|begun| ended < Some(*begun)).unwrap_or(bytes.len());
    let mut parser = vt100::Parser::new(ROWS, COLUMNS, 0);
    parser.process(&bytes[..whole]);
    let lines: Vec<String> =
        parser.screen().rows(0, COLUMNS).map(|line| line.trim_end().to_owned()).collect();
    lines.join("\n").trim_end().to_owned()
}
