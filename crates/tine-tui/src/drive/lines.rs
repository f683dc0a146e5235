//! A session without a screen: lines in, lines out. Works at a terminal of any kind and in a pipe.

use std::io::{self, BufRead, IsTerminal, Read, Write};
use std::sync::Arc;
use std::time::Duration;

use tine_model::AgentId;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval, sleep};

use super::{Session, Start, TICK};
use crate::app::{CommandLine, Effect, Event, Face, Keys, Tone};
use crate::host::Host;
use crate::plain::Printer;

/// How often it is looked whether a line of a pipe may be taken: nothing says so by itself when the last task has ended.
const POLL: Duration = Duration::from_millis(15);

/// Lines that are read ahead.
const AHEAD_MAX: usize = 64;

/// Longest line, in bytes: more would fill a model's whole context.
const LINE_BYTES_MAX: u64 = 1024 * 1024;

/// What the loop waits for.
enum Woken {
    Line(Option<io::Result<String>>),
    Inbox,
    Tick,
    Look,
    Break,
    Ended,
}

/// Lines of standard input.
struct Lines {
    read: mpsc::Receiver<io::Result<String>>,
    /// Lines of a pipe are taken one after the other, each once what the one before has begun is done; a person may go on while an
    /// agent works.
    is_terminal: bool,
    has_ended: bool,
    /// What goes on in the next line.
    begun: String,
}

/// Talks in lines until the person leaves, or, where standard input is a pipe, until it has ended and what was begun is done.
pub async fn run_plain(host: Arc<dyn Host>, start: Start) -> io::Result<Option<AgentId>> {
    let mut session = Session::new(host, start.model.clone(), start.look)?;
    let interrupts = signal(SignalKind::interrupt())?;
    let is_terminal = io::stdin().is_terminal();
    session.app.face = Face::Lines;
    session.app.keys = Keys::in_lines();
    if !is_terminal {
        // A line of a pipe was written for this conversation, and answers nobody else.
        session.hands.queue.close();
        session.app.questions.counts_at_once = true;
        session.app.face = Face::Pipe;
    }
    session.begin(start).await;
    let lines =
        Lines { read: lines_of_stdin(), is_terminal, has_ended: false, begun: String::new() };
    let printer = Printer::new(is_terminal);
    let result = Plain { session: &mut session, printer, lines }.talk(interrupts).await;
    session.hands.leave().await;
    match result {
        // The reader has enough.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
        Ok(()) | Err(_) => Ok(session.app.focus),
    }
}

struct Plain<'a> {
    session: &'a mut Session,
    printer: Printer,
    lines: Lines,
}

impl Plain<'_> {
    async fn talk(&mut self, mut interrupts: Signal) -> io::Result<()> {
        let mut tick = interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            self.print()?;
            if self.lines.has_ended && self.is_over() {
                return Ok(());
            }
            let may_read = !self.lines.has_ended && self.may_read();
            let polls = !may_read && !self.lines.is_terminal;
            let [terminate, hang_up] = &mut self.session.ends;
            // All branches are cancel-safe: what is not taken stays where it is.
            let woken = tokio::select! {
                line = self.lines.read.recv(), if may_read => Woken::Line(line),
                () = self.session.inbox.ready() => Woken::Inbox,
                _ = tick.tick() => Woken::Tick,
                () = sleep(POLL), if polls => Woken::Look,
                _ = interrupts.recv() => Woken::Break,
                _ = terminate.recv() => Woken::Ended,
                _ = hang_up.recv() => Woken::Ended,
            };
            self.session.app.now_ms = self.session.host.runtime().ports().clock.now_ms();
            let effects = match woken {
                Woken::Ended => return Ok(()),
                Woken::Line(line) => self.line(line.transpose()?),
                Woken::Inbox => self.drain()?,
                Woken::Break => self.session.app.update(Event::Break),
                Woken::Look => Vec::new(),
                Woken::Tick => self.session.app.update(Event::Tick),
            };
            for effect in effects {
                match effect {
                    Effect::Quit => {
                        self.print()?;
                        return Ok(());
                    }
                    Effect::Lend(line) => self.lend(line),
                    // There is no screen to draw or to lend.
                    Effect::Redraw | Effect::Suspend | Effect::Edit(_) => {}
                    other => self.session.hands.take(other),
                }
            }
        }
    }

    /// A command that would ask: the lines that come in are for the conversation, so that everything has to be said with it.
    fn lend(&mut self, line: CommandLine) {
        let words = line.words(self.session.host.as_ref());
        let decides =
            ["--no-edit", "--text", "--file", "--dry-run", "--take", "--yes", "--list", "--revoke"];
        if words.iter().any(|word| decides.contains(&word.as_str())) {
            return self.session.hands.take(Effect::Report(line));
        }
        let words = words.join(" ");
        let text = format!(
            "`tine {words}` asks at a terminal of its own; here say it all (--no-edit, --text, --take, --yes)"
        );
        self.session.app.say(None, Tone::Warning, text);
    }

    /// Takes in what waits, and prints after each event, so that what comes together is told in its order.
    fn drain(&mut self) -> io::Result<Vec<Effect>> {
        let mut effects = Vec::new();
        for event in self.session.inbox.take() {
            effects.extend(self.session.app.update(event));
            self.print()?;
        }
        Ok(effects)
    }

    fn line(&mut self, line: Option<String>) -> Vec<Effect> {
        let Some(line) = line else {
            self.lines.has_ended = true;
            let begun = std::mem::take(&mut self.lines.begun);
            let rest = if begun.is_empty() {
                Vec::new()
            } else {
                self.session.app.update(Event::Line(begun))
            };
            return if self.lines.is_terminal { vec![Effect::Quit] } else { rest };
        };
        if let Some(part) = line.strip_suffix('\\') {
            self.lines.begun.push_str(part);
            self.lines.begun.push('\n');
            self.printer.typed("");
            return Vec::new();
        }
        let text = std::mem::take(&mut self.lines.begun) + line.as_str();
        self.printer.typed(&text);
        self.session.app.update(Event::Line(text))
    }

    /// Whether a line may be taken now.
    fn may_read(&self) -> bool {
        let questions = &self.session.app.questions;
        self.lines.is_terminal
            || (!questions.is_empty() && !questions.is_opening)
            || (self.session.inbox.is_empty()
                && self.session.app.wait.is_none()
                && self.session.hands.is_at_rest(self.session.app.focus))
    }

    /// Whether all that was begun is done, once nothing more is said. Nobody answers questions any more.
    fn is_over(&mut self) -> bool {
        for request in self.session.app.questions.take_all() {
            self.session.hands.runtime().leave_unanswered(request.id);
        }
        self.session.inbox.is_empty()
            && self.session.app.wait.is_none()
            && self.session.hands.is_done()
    }

    fn print(&mut self) -> io::Result<()> {
        let Session { app, hands, inbox, look, .. } = &mut *self.session;
        let is_idle = inbox.is_empty() && hands.is_at_rest(app.focus);
        let text = look.text(self.printer.look(app, is_idle));
        if text.is_empty() {
            return Ok(());
        }
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()
    }
}

/// Reads standard input on a thread of its own, which ends with the process: a read of a terminal cannot be given up.
fn lines_of_stdin() -> mpsc::Receiver<io::Result<String>> {
    let (send, read) = mpsc::channel(AHEAD_MAX);
    std::thread::spawn(move || {
        let mut stdin = io::stdin().lock();
        loop {
            let mut bytes = Vec::new();
            let line = match (&mut stdin).take(LINE_BYTES_MAX).read_until(b'\n', &mut bytes) {
                Ok(0) => return,
                Ok(_) => {
                    let text = String::from_utf8_lossy(&bytes);
                    Ok(text.trim_end_matches(['\n', '\r']).to_owned())
                }
                Err(error) => Err(error),
            };
            let has_failed = line.is_err();
            if send.blocking_send(line).is_err() || has_failed {
                return;
            }
        }
    });
    read
}
