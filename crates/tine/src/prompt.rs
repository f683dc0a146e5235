//! The prompt: from the command line, from standard input, or from both.

use std::convert::Infallible;
use std::io::{self, BufRead, IsTerminal, Read};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use tine_fork::envelope::escape_frame_tags;

use crate::fail::Failure;
use crate::output;

/// Most bytes of standard input that become part of a prompt. More would fill a model's whole context; an agent reads
/// larger things from files, piece by piece.
const STDIN_BYTES_MAX: u64 = 1024 * 1024;

/// How long to wait for the first byte of standard input when there is a prompt already. Programs that start others often
/// leave an open pipe there on which nothing ever comes; waiting for its end would be waiting for ever.
const STDIN_WAIT: Duration = Duration::from_secs(3);

/// The word for standard input in place of a text.
const STDIN: &str = "-";

/// True once it was said that something is left out.
static SAID: AtomicBool = AtomicBool::new(false);

/// True once standard input was taken for a text.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// What the user said.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Prompt {
    /// The argument; standard input where there is none.
    text: Option<String>,
    /// Standard input beside an argument.
    attached: Option<String>,
    /// Whether standard input is a terminal, and so free for questions.
    pub(crate) stdin_is_free: bool,
}

impl Prompt {
    /// Reads the prompt. Standard input is read when it is not a terminal.
    pub(crate) fn read(argument: Option<String>) -> Result<Self, Failure> {
        let argument = argument.filter(|text| !text.trim().is_empty());
        if argument.as_deref() == Some(STDIN) {
            let text = Some(all_of_stdin()?);
            return Ok(Self { text, attached: None, stdin_is_free: io::stdin().is_terminal() });
        }
        if io::stdin().is_terminal() {
            return Ok(Self { text: argument, attached: None, stdin_is_free: true });
        }
        let stdin = StdinReading::start().take(argument.is_none())?;
        Ok(match argument {
            Some(_) => Self { text: argument, attached: stdin, stdin_is_free: false },
            None => Self { text: stdin, attached: None, stdin_is_free: false },
        })
    }

    /// What is sent; `None` when nothing was said.
    pub(crate) fn to_send(&self) -> Option<String> {
        self.with(self.text.clone())
    }

    /// What follows the slash command `name`, when the prompt is that command.
    pub(crate) fn slash(&self, name: &str) -> Option<&str> {
        let rest = self.text.as_deref()?.trim_start().strip_prefix('/')?.strip_prefix(name)?;
        rest.starts_with(|next: char| next.is_whitespace() || next == '"')
            .then_some(rest)
            .or_else(|| rest.is_empty().then_some(rest))
    }

    /// The slash command that the prompt is, `/fork` among them. A path such as `/etc/hosts` is none, and neither is what begins with a
    /// blank.
    pub(crate) fn slash_command(&self) -> Option<&str> {
        let first = self.text.as_deref()?.split(char::is_whitespace).next()?;
        let word = first.strip_prefix('/')?;
        let is_word = word.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'-');
        (is_word && !word.is_empty()).then_some(first)
    }

    /// `text` with the attached part behind it.
    pub(crate) fn with(&self, text: Option<String>) -> Option<String> {
        match (text, &self.attached) {
            (text, None) => text,
            (text, Some(attached)) => {
                let text = text.map(|text| format!("{text}\n\n")).unwrap_or_default();
                let end = if attached.ends_with('\n') { "" } else { "\n" };
                let attached = escape_frame_tags(attached);
                Some(format!("{text}<stdin>\n{attached}{end}</stdin>"))
            }
        }
    }
}

/// A text for a model: as it was given, or for `-` standard input.
pub(crate) fn or_stdin(text: String) -> Result<String, Failure> {
    if is_stdin(&text) { all_of_stdin() } else { Ok(text) }
}

/// Puts standard input in the place of an option that is `-`.
pub(crate) fn fill_from_stdin(option: &mut Option<String>) -> Result<(), Failure> {
    *option = option.take().map(or_stdin).transpose()?;
    Ok(())
}

/// Returns true where an argument stands for standard input.
pub(crate) fn is_stdin(text: &str) -> bool {
    text == STDIN
}

/// Takes standard input for what `-` stands for: there is one, and in the terminal the keys come from it.
pub(crate) fn take_stdin() -> Result<(), Failure> {
    if output::is_caught() {
        return Err(Failure::usage("`-` is standard input, and the terminal has it here")
            .hint("write the text in its place"));
    }
    if TAKEN.swap(true, Ordering::Relaxed) {
        Err(Failure::usage("`-` is given twice, and there is one standard input")
            .hint("`\"$(cat FILE)\"` is the text of a file"))
    } else {
        Ok(())
    }
}

/// Standard input as a text, which must not be empty.
fn all_of_stdin() -> Result<String, Failure> {
    take_stdin()?;
    StdinReading::start().take(true)?.ok_or_else(|| {
        Failure::usage("standard input is empty")
            .hint("`-` reads the text from standard input: pipe it, or name a file with `<`")
    })
}

/// Reads an argument that is sent to a model. Control characters are left out, which is said once.
pub(crate) fn sendable(text: &str) -> Result<String, Infallible> {
    let (text, left_out) = tine_tui::words::sendable(text);
    if left_out > 0 && !SAID.swap(true, Ordering::Relaxed) {
        output::say(
            "note: control characters are left out of what is sent, but for line ends and tabs",
        );
    }
    Ok(text.into_owned())
}

/// Standard input, read on a thread: who waits long is told what for.
struct StdinReading {
    /// Told when it begins or ends.
    begins: mpsc::Receiver<()>,
    ends: mpsc::Receiver<Result<Option<String>, Failure>>,
    patience: Duration,
}

impl StdinReading {
    fn start() -> Self {
        let (begun, begins) = mpsc::channel();
        let (done, ends) = mpsc::channel();
        // Left behind when nothing comes; it ends with the process.
        std::thread::spawn(move || {
            // Nobody waits any more when these fail.
            let read = read_stdin(|| {
                let _ = begun.send(());
            });
            let _ = done.send(read);
        });
        Self { begins, ends, patience: STDIN_WAIT }
    }

    /// The text; `None` when it is empty. What is not needed and does not come soon is left out.
    fn take(self, is_needed: bool) -> Result<Option<String>, Failure> {
        let is_late = |error| error == RecvTimeoutError::Timeout;
        if self.begins.recv_timeout(self.patience).is_err_and(is_late) {
            if !is_needed {
                output::say(
                    "warning: nothing came on standard input for 3 s; going on without it (`< /dev/null` saves the wait)",
                );
                return Ok(None);
            }
            output::say(
                "waiting for standard input: type the text or pipe it, and end it (Ctrl+D)",
            );
            let _ = self.begins.recv();
        }
        match self.ends.recv_timeout(self.patience) {
            Ok(read) => read,
            Err(RecvTimeoutError::Disconnected) => Ok(None),
            Err(RecvTimeoutError::Timeout) => {
                output::say(
                    "waiting for the end of standard input (Ctrl+D, or whoever writes to the pipe closes it)",
                );
                self.ends.recv().unwrap_or(Ok(None))
            }
        }
    }
}

/// All of standard input; `None` when it is empty. Calls `on_begin` when it begins or ends.
fn read_stdin(on_begin: impl FnOnce()) -> Result<Option<String>, Failure> {
    let failed = |error: io::Error| Failure::input("cannot read standard input").because(&error);
    let mut stdin = io::stdin().lock();
    stdin.fill_buf().map_err(failed)?;
    on_begin();
    let mut bytes = Vec::new();
    stdin.take(STDIN_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(failed)?;
    as_text(bytes)
}

fn as_text(bytes: Vec<u8>) -> Result<Option<String>, Failure> {
    if bytes.len() as u64 > STDIN_BYTES_MAX {
        return Err(Failure::input("standard input is larger than 1 MiB").hint(
            "save it to a file and name the file in the prompt; the agent reads what it needs",
        ));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::input(format!("standard input is not UTF-8 text (byte {at})"))
            .hint("name a binary file in the prompt instead of piping it")
    })?;
    let Ok(text) = sendable(&text);
    Ok(Some(text).filter(|text| !text.trim().is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt(text: &str, attached: Option<&str>) -> Prompt {
        let attached = attached.map(str::to_owned);
        Prompt { text: Some(text.to_owned()), attached, stdin_is_free: false }
    }

    #[test]
    fn what_is_piped_stands_in_a_marked_block() {
        assert_eq!(prompt("why?", None).to_send().as_deref(), Some("why?"));
        let both = prompt("why?", Some("line\n")).to_send();
        assert_eq!(both.as_deref(), Some("why?\n\n<stdin>\nline\n</stdin>"));
        assert_eq!(Prompt::default().to_send(), None);
    }

    #[test]
    fn only_the_word_itself_is_the_command() {
        let slash = |text: &str| prompt(text, None).slash("fork").map(str::to_owned);
        assert_eq!(slash("/fork").as_deref(), Some(""));
        assert_eq!(slash(" /fork \"x\"").as_deref(), Some(" \"x\""));
        assert_eq!(slash("/fork\"x\"").as_deref(), Some("\"x\""));
        assert_eq!(slash("/forks"), None);
        assert_eq!(slash("fork"), None);
        assert_eq!(slash("/help"), None);
    }

    #[test]
    fn a_slash_command_is_a_word_and_no_path() {
        let command = |text: &str| prompt(text, None).slash_command().map(str::to_owned);
        assert_eq!(command("/nosuch x").as_deref(), Some("/nosuch"));
        assert_eq!(command("/merge-back").as_deref(), Some("/merge-back"));
        assert_eq!(command("/compact\nnow").as_deref(), Some("/compact"));
        for text in ["/etc/hosts is odd", "/", "/ x", "/x2", "/a.txt", " /nosuch", "a /nosuch"] {
            assert_eq!(command(text), None, "{text:?}");
        }
    }

    #[test]
    fn too_much_and_no_text_are_refused() {
        let text = |bytes: Vec<u8>| as_text(bytes).unwrap_err().text();
        insta::assert_snapshot!(text(vec![b'a'; STDIN_BYTES_MAX as usize + 1]), @"
        error: standard input is larger than 1 MiB
        hint: save it to a file and name the file in the prompt; the agent reads what it needs
        ");
        insta::assert_snapshot!(text(vec![b'a', 0xff]), @"
        error: standard input is not UTF-8 text (byte 1)
        hint: name a binary file in the prompt instead of piping it
        ");
        assert_eq!(as_text(b" \n".to_vec()).unwrap(), None);
        assert_eq!(
            as_text(vec![b'a'; STDIN_BYTES_MAX as usize]).unwrap().map(|t| t.len()),
            Some(1 << 20)
        );
    }
}
