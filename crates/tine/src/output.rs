//! Writing to the two streams: results to stdout, everything else to stderr.

use std::fmt::Write as _;
use std::future::Future;
use std::io::{self, IsTerminal, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use terminal_size::{Height, Width, terminal_size_of};
use tine_guard::{is_unseen, redact, redact_json};

use crate::environment::variable;
use crate::fail::Failure;
use crate::interrupt::undisturbed;

/// The variables that name a pager; the first that is set counts.
const PAGERS: [&str; 2] = ["TINE_PAGER", "PAGER"];

/// The pager where none is set: it shows colours, cuts long lines and ends by itself where all fits.
const PAGER: &str = "less -FRSX";

/// Shows a line to the person at once.
pub(crate) type Say = Arc<dyn Fn(&str) + Send + Sync>;

/// What a command prints while something else has the terminal.
#[derive(Clone)]
struct Caught {
    text: Arc<Mutex<Vec<u8>>>,
    columns: usize,
    say: Option<Say>,
}

tokio::task_local! {
    static CAUGHT: Caught;
}

/// Runs a command that prints into the text which is returned, as to a screen of so many columns. Both streams are in it, but for lines
/// that `say` shows at once; nobody can be asked meanwhile.
pub(crate) async fn caught<T>(
    columns: usize,
    say: Option<Say>,
    work: impl Future<Output = T>,
) -> (T, String) {
    let text = Arc::new(Mutex::new(Vec::new()));
    let result = CAUGHT.scope(Caught { text: Arc::clone(&text), columns, say }, work).await;
    let text = std::mem::take(&mut *text.lock().unwrap_or_else(PoisonError::into_inner));
    (result, String::from_utf8_lossy(&text).into_owned())
}

/// True while the terminal draws on the whole screen.
static SCREEN_DRAWN: AtomicBool = AtomicBool::new(false);

/// Returns true while the terminal draws on the whole screen, where a line on stderr would stand in the middle of it.
pub(crate) fn is_screen_drawn() -> bool {
    SCREEN_DRAWN.load(Ordering::Relaxed)
}

/// Notes that the terminal begins or ends to draw on the whole screen.
pub(crate) fn set_screen_drawn(is_drawn: bool) {
    SCREEN_DRAWN.store(is_drawn, Ordering::Relaxed);
}

/// Whether what is printed goes into a text.
pub(crate) fn is_caught() -> bool {
    CAUGHT.try_with(|_| ()).is_ok()
}

/// Prints into the text, if there is one.
fn catch(bytes: &[u8]) -> bool {
    let add = |caught: &Caught| {
        caught.text.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
    };
    CAUGHT.try_with(add).is_ok()
}

/// Writes a line of the result. A closed pipe is no failure: the reader has enough.
pub(crate) fn line(text: &str) -> Result<(), Failure> {
    write_out(&format!("{text}\n"))
}

/// Writes part of the result and flushes it, so that a stream is seen as it comes.
pub(crate) fn write_out(text: &str) -> Result<(), Failure> {
    if catch(text.as_bytes()) {
        return Ok(());
    }
    let mut out = anstream::stdout().lock();
    ignore_closed_pipe(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// Writes part of the result as it is, byte for byte, and flushes it. Unlike [`write_out`] it takes no escapes away.
pub(crate) fn exact(text: &str) -> Result<(), Failure> {
    bytes(text.as_bytes())
}

/// Writes a result that may be longer than the screen: then through the person's pager, where that starts.
pub(crate) async fn write_paged(text: &str) -> Result<(), Failure> {
    let screen = terminal_size_of(io::stdout()).filter(|_| !is_caught());
    let is_long = |(_, Height(rows))| text.lines().count() >= usize::from(rows);
    if screen.is_some_and(is_long) {
        let choice = anstream::AutoStream::choice(&io::stdout());
        let text = match choice {
            anstream::ColorChoice::Never => anstream::adapter::strip_str(text).to_string(),
            _ => text.to_owned(),
        };
        if undisturbed(tine_tools::page(&pager(), &text)).await?.is_ok() {
            return Ok(());
        }
    }
    write_out(text)
}

/// The command of the person's pager.
fn pager() -> String {
    let set = PAGERS.into_iter().filter_map(variable);
    let mut set = set.filter(|command| !command.trim().is_empty());
    set.next().unwrap_or_else(|| PAGER.to_owned())
}

/// Writes part of the result that need not be text.
pub(crate) fn bytes(bytes: &[u8]) -> Result<(), Failure> {
    if catch(bytes) {
        return Ok(());
    }
    let mut out = io::stdout().lock();
    ignore_closed_pipe(out.write_all(bytes).and_then(|()| out.flush()))
}

/// Writes text that programs read: byte for byte into a file or a pipe. On a terminal every character that could change the screen or
/// hide something is written as `\u` and its number, which in JSON means the same character.
pub(crate) fn data(text: &str) -> Result<(), Failure> {
    if stdout_is_terminal() { exact(&with_unseen_escaped(text)) } else { exact(text) }
}

fn with_unseen_escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\t' => out.push(character),
            _ if is_unseen(character) => {
                let units = &mut [0; 2];
                for unit in character.encode_utf16(units) {
                    // Writing to a string cannot fail.
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
            _ => out.push(character),
        }
    }
    out
}

/// Writes a result as one line of JSON.
pub(crate) fn json(value: &impl Serialize) -> Result<(), Failure> {
    data(&format!("{}\n", to_json(value)?))
}

fn to_json(value: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string(value)
        .map_err(|error| Failure::failed("the result cannot be written as JSON").because(&error))
}

/// Writes part of a transcript, without keys and passwords unless it is to be `raw`.
pub(crate) fn transcript(text: &str, raw: bool) -> Result<(), Failure> {
    if raw { write_out(text) } else { write_out(&redact(text)) }
}

/// Writes a transcript as one line of JSON, without keys and passwords unless it is to be `raw`.
pub(crate) fn transcript_json(value: &impl Serialize, raw: bool) -> Result<(), Failure> {
    let text = to_json(value)?;
    let text = if raw { text } else { redact_json(&text).into_owned() };
    data(&format!("{text}\n"))
}

/// Writes a line for the person at the terminal.
pub(crate) fn say(text: &str) {
    if let Ok(Some(say)) = CAUGHT.try_with(|caught| caught.say.clone()) {
        return say(&anstream::adapter::strip_str(text).to_string());
    }
    if catch(format!("{text}\n").as_bytes()) {
        return;
    }
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
    !is_caught() && io::stderr().is_terminal()
}

/// Columns of the screen that shows stdout; `None` where it goes elsewhere.
pub(crate) fn stdout_columns() -> Option<usize> {
    if let Ok(columns) = CAUGHT.try_with(|caught| caught.columns) {
        return Some(columns);
    }
    let (Width(columns), _) = terminal_size_of(io::stdout())?;
    Some(usize::from(columns))
}

/// Whether a person sees stdout.
pub(crate) fn stdout_is_terminal() -> bool {
    is_caught() || io::stdout().is_terminal()
}

/// The failure of a write. A closed pipe is none: the reader has enough.
pub(crate) fn ignore_closed_pipe(result: io::Result<()>) -> Result<(), Failure> {
    match result {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::failed("cannot write the result")
                .because(&error)
                .hint("check where standard output goes; what the command did is kept"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn data_on_a_terminal_holds_no_character_that_changes_it() {
        let value = "a\u{9b}31m \u{202e}b\u{e0041} \u{1b}[0m\n é";
        let (done, shown) = caught(80, None, async { json(&value) }).await;
        assert!(done.is_ok());
        insta::assert_snapshot!(shown, @r#""a\u009b31m \u202eb\udb40\udc41 \u001b[0m\n é""#);
        assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), value);
        let (_, shown) = caught(80, None, async { data(value) }).await;
        assert_eq!(shown, "a\\u009b31m \\u202eb\\udb40\\udc41 \\u001b[0m\n é");
    }
}
