//! What is written to stderr while something runs: lines that stay, and on a terminal one live block below them that is
//! redrawn in place. Shared by all who write there, so that a question is never painted over.

use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anstream::{AutoStream, ColorChoice};
use terminal_size::{Height, Width, terminal_size_of};
use tine_tui::WorkerSeams;
use unicode_width::UnicodeWidthStr;

use crate::context::{Context, InTerminal};

/// Width where none is known: a log file, a pipe.
const COLUMNS_DEFAULT: usize = 100;

/// Height where none is known.
const ROWS_DEFAULT: usize = 24;

/// The stream for people.
pub(crate) struct Screen {
    /// The terminal that shows the lines instead of stderr.
    terminal: Option<WorkerSeams>,
    /// Whether a person sees it on something that can move its cursor.
    live: bool,
    colour: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    block: Vec<String>,
    /// Columns of the block's lines as they are on the screen now; empty when there is no block on it.
    drawn: Vec<usize>,
    /// How many holders want to have the screen for themselves.
    holds: usize,
    /// Lines that wait for the holders.
    waiting: Vec<String>,
}

/// The screen is somebody's own until this is dropped: lines wait, the block is away.
pub(crate) struct Hold<'a>(&'a Screen);

impl Screen {
    /// The terminal that a command was typed in, or the process's stderr.
    pub(crate) fn of(context: &Context) -> Self {
        match context.terminal.clone() {
            None => Self::stderr(),
            Some(InTerminal { seams, .. }) => {
                Self { terminal: Some(seams), live: false, colour: false, state: Mutex::default() }
            }
        }
    }

    /// The process's stderr.
    pub(crate) fn stderr() -> Self {
        let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        Self {
            terminal: None,
            live: io::stderr().is_terminal() && !dumb,
            colour: AutoStream::choice(&io::stderr()) != ColorChoice::Never,
            state: Mutex::default(),
        }
    }

    /// Whether a block can be drawn.
    pub(crate) fn is_live(&self) -> bool {
        self.live
    }

    /// Columns of the screen.
    pub(crate) fn columns(&self) -> usize {
        size().map_or(COLUMNS_DEFAULT, |(columns, _)| columns).max(1)
    }

    /// Rows of the screen.
    pub(crate) fn rows(&self) -> usize {
        size().map_or(ROWS_DEFAULT, |(_, rows)| rows).max(1)
    }

    /// Writes a line that stays, above the block.
    pub(crate) fn say(&self, line: &str) {
        if let Some(terminal) = &self.terminal {
            return (terminal.say)(&self.painted(line));
        }
        let mut state = self.state();
        if state.holds > 0 {
            state.waiting.push(line.to_owned());
            return;
        }
        let mut out = self.erased(&mut state);
        out.push_str(&self.painted(line));
        out.push('\n');
        self.draw_block(&mut state, &mut out);
        write(&out);
    }

    /// Puts `lines` in the place of the block. Lines must not be wider than the screen. Does nothing where no block
    /// can be drawn.
    pub(crate) fn show(&self, lines: Vec<String>) {
        if !self.live {
            return;
        }
        let mut state = self.state();
        state.block = lines;
        if state.holds > 0 {
            return;
        }
        let mut out = self.erased(&mut state);
        self.draw_block(&mut state, &mut out);
        write(&out);
    }

    /// The block becomes lines that stay.
    pub(crate) fn keep_block(&self) {
        let mut state = self.state();
        state.block.clear();
        state.drawn.clear();
    }

    /// Takes the screen: the block goes away, and lines wait until the hold is dropped.
    pub(crate) fn hold(&self) -> Hold<'_> {
        let mut state = self.state();
        state.holds += 1;
        let out = self.erased(&mut state);
        write(&out);
        Hold(self)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn painted(&self, line: &str) -> String {
        if self.colour { line.to_owned() } else { anstream::adapter::strip_str(line).to_string() }
    }

    /// What moves the cursor to where the block began, and clears from there.
    fn erased(&self, state: &mut State) -> String {
        let columns = self.columns();
        // A terminal that was made narrower has wrapped the lines.
        let rows: usize = state.drawn.drain(..).map(|width| width.div_ceil(columns).max(1)).sum();
        if rows > 0 { format!("\x1b[{rows}A\r\x1b[J") } else { String::new() }
    }

    fn draw_block(&self, state: &mut State, out: &mut String) {
        let State { block, drawn, .. } = state;
        for line in block {
            drawn.push(anstream::adapter::strip_str(line).to_string().width());
            out.push_str(&self.painted(line));
            out.push('\n');
        }
    }
}

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.holds = state.holds.saturating_sub(1);
        if state.holds > 0 {
            return;
        }
        let mut out = String::new();
        for line in std::mem::take(&mut state.waiting) {
            out.push_str(&self.0.painted(&line));
            out.push('\n');
        }
        self.0.draw_block(&mut state, &mut out);
        write(&out);
    }
}

fn size() -> Option<(usize, usize)> {
    let (Width(columns), Height(rows)) =
        terminal_size_of(io::stderr()).or_else(|| terminal_size_of(io::stdout()))?;
    Some((usize::from(columns), usize::from(rows)))
}

/// One write, so that a redraw does not flicker. Nobody is left to tell when it fails.
fn write(text: &str) {
    if text.is_empty() {
        return;
    }
    let mut err = io::stderr().lock();
    let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush());
}
