//! Writing to the two streams: results to stdout, everything else to stderr.

use std::io::{self, IsTerminal, Write};

use serde::Serialize;
use terminal_size::{Width, terminal_size_of};
use tine_guard::{redact, redact_json};

use crate::fail::Failure;

/// Writes a line of the result. A closed pipe is no failure: the reader has enough.
pub(crate) fn line(text: &str) -> Result<(), Failure> {
    write_out(&format!("{text}\n"))
}

/// Writes part of the result and flushes it, so that a stream is seen as it comes.
pub(crate) fn write_out(text: &str) -> Result<(), Failure> {
    let mut out = anstream::stdout().lock();
    ignore_closed_pipe(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// Writes part of the result as it is, byte for byte, and flushes it. Unlike [`write_out`] it takes no escapes away.
pub(crate) fn exact(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    ignore_closed_pipe(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// Writes part of the result that need not be text.
pub(crate) fn bytes(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    ignore_closed_pipe(out.write_all(bytes).and_then(|()| out.flush()))
}

/// Writes a result as one line of JSON.
pub(crate) fn json(value: &impl Serialize) -> Result<(), Failure> {
    line(&to_json(value)?)
}

fn to_json(value: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string(value)
        .map_err(|error| Failure::failed("the result cannot be written as JSON").because(&error))
}

/// Writes part of a transcript, without keys and passwords unless it is to be `raw`.
pub(crate) fn transcript(text: &str, raw: bool) -> Result<(), Failure> {
    match raw {
        true => write_out(text),
        false => write_out(&redact(text)),
    }
}

/// Writes a transcript as one line of JSON, without keys and passwords unless it is to be `raw`.
pub(crate) fn transcript_json(value: &impl Serialize, raw: bool) -> Result<(), Failure> {
    let text = to_json(value)?;
    match raw {
        true => line(&text),
        false => line(&redact_json(&text)),
    }
}

/// Writes a line for the person at the terminal.
pub(crate) fn say(text: &str) {
    let mut err = anstream::stderr().lock();
    // Nobody is left to tell.
    let _ = err.write_all(format!("{text}\n").as_bytes());
}

/// Writes the beginning of a line that the person at the terminal will complete.
pub(crate) fn prompt(text: &str) {
    let mut err = anstream::stderr().lock();
    // Nobody is left to ask.
    let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush());
}

/// Whether a person sees stderr, so that progress may be drawn.
pub(crate) fn stderr_is_terminal() -> bool {
    io::stderr().is_terminal()
}

/// Columns of the screen that shows stdout; `None` where it goes elsewhere.
pub(crate) fn stdout_columns() -> Option<usize> {
    let (Width(columns), _) = terminal_size_of(io::stdout())?;
    Some(usize::from(columns))
}

/// Whether a person sees stdout.
pub(crate) fn stdout_is_terminal() -> bool {
    io::stdout().is_terminal()
}

fn ignore_closed_pipe(result: io::Result<()>) -> Result<(), Failure> {
    match result {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::failed("cannot write the result")
                .because(&error)
                .hint("check where standard output goes; what the command did is kept"))
        }
        _ => Ok(()),
    }
}
