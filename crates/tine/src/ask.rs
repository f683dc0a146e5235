//! Whom a run asks for permission: the person at the terminal, or nobody.

use std::io::{self, BufRead, IsTerminal, Read};
use std::sync::{Arc, Mutex as StdMutex, PoisonError, mpsc as std_mpsc};

use async_trait::async_trait;
use rustix::termios::{QueueSelector, tcflush};
use tine_model::{AgentId, RawJson};
use tine_runtime::{Answer, Asker, PermissionRequest};
use tokio::sync::{Mutex, mpsc};
use tokio_util::sync::CancellationToken;
use unicode_width::UnicodeWidthStr;

use crate::output;
use crate::render::screen::Screen;
use crate::render::words::{
    BOLD, CYAN, DIM, GREEN, RED, YELLOW, cut, folded, harmless, one_line, styled,
};

/// Longest line of an answer; a terminal gives at most 4096 bytes at once.
const ANSWER_BYTES_MAX: u64 = 8192;

/// How often a question is put again when the answer is no answer.
const TRIES_MAX: usize = 5;

/// Most lines of an edit that a question shows.
const EDIT_LINES_MAX: usize = 40;

/// Columns of the name or task of the one who asks.
const LABEL_COLUMNS: usize = 50;

/// Most refused calls that are remembered for the closing words.
const REFUSALS_MAX: usize = 100;

const CHOICES: &str = "Allow it? [y] once, [a] always (this very call), [N] no: ";

/// Whether questions reach a person.
pub(crate) fn a_person_is_there() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// A call that was refused because nobody could be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) agent: AgentId,
    pub(crate) tool: String,
    /// The call on one line.
    pub(crate) call: String,
    pub(crate) input: RawJson,
    pub(crate) directory: String,
    pub(crate) why: String,
}

/// Nobody to ask; keeps what would have been asked.
#[derive(Debug, Default)]
pub(crate) struct Nobody {
    refused: StdMutex<Vec<Refusal>>,
}

impl Nobody {
    /// The calls that were refused so far.
    pub(crate) fn refused(&self) -> Vec<Refusal> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[async_trait]
impl Asker for Nobody {
    async fn ask(&self, request: &PermissionRequest, _cancel: &CancellationToken) -> Answer {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if refused.len() < REFUSALS_MAX {
            refused.push(Refusal {
                agent: request.agent,
                tool: request.tool.clone(),
                call: request.what.clone(),
                input: request.input.clone(),
                directory: request.directory.clone(),
                why: request.why.clone(),
            });
        }
        Answer::Nobody
    }
}

/// The person at the terminal. One question at a time, whoever asks.
pub(crate) struct TerminalAsker {
    screen: Arc<Screen>,
    lines: Mutex<Lines>,
}

impl TerminalAsker {
    pub(crate) fn new(screen: Arc<Screen>) -> Self {
        Self { screen, lines: Mutex::new(Lines::default()) }
    }
}

#[async_trait]
impl Asker for TerminalAsker {
    async fn ask(&self, request: &PermissionRequest, cancel: &CancellationToken) -> Answer {
        // Both branches are cancel-safe: they only wait.
        let mut lines = tokio::select! {
            lines = self.lines.lock() => lines,
            () = cancel.cancelled() => return Answer::No,
        };
        let _hold = self.screen.hold();
        output::say(&question(request, self.screen.columns()));
        lines.forget();
        for _ in 0..TRIES_MAX {
            output::prompt(CHOICES);
            let Some(line) = lines.next(cancel).await else {
                output::say("");
                return Answer::No;
            };
            if let Some(answer) = read_answer(&line) {
                return answer;
            }
        }
        Answer::No
    }
}

fn read_answer(line: &str) -> Option<Answer> {
    match line.trim().to_lowercase().as_str() {
        "y" | "yes" | "once" => Some(Answer::Once),
        "a" | "always" => Some(Answer::Always),
        "" | "n" | "no" => Some(Answer::No),
        _ => None,
    }
}

/// Lines from the terminal. A thread of its own reads them, because a read of a terminal cannot be given up: it is left behind when a
/// question is cancelled, and ends with the process.
#[derive(Default)]
struct Lines {
    reader: Option<Reader>,
}

struct Reader {
    wanted: std_mpsc::SyncSender<()>,
    lines: mpsc::Receiver<Option<String>>,
    /// Whether a read is under way.
    reading: bool,
}

impl Lines {
    /// What was typed before a question is shown does not answer it.
    fn forget(&mut self) {
        let _ = tcflush(io::stdin(), QueueSelector::IFlush);
        if let Some(reader) = &mut self.reader
            && reader.lines.try_recv().is_ok()
        {
            reader.reading = false;
        }
    }

    /// The next line; `None` at the end of input and when cancelled.
    async fn next(&mut self, cancel: &CancellationToken) -> Option<String> {
        let reader = self.reader.get_or_insert_with(Reader::start);
        if !reader.reading {
            reader.wanted.send(()).ok()?;
            reader.reading = true;
        }
        // Both branches are cancel-safe: a line that comes too late stays in the channel.
        let line = tokio::select! {
            line = reader.lines.recv() => line,
            () = cancel.cancelled() => return None,
        };
        reader.reading = false;
        line.flatten()
    }
}

impl Reader {
    fn start() -> Self {
        let (wanted, wants) = std_mpsc::sync_channel(1);
        let (send, lines) = mpsc::channel(1);
        std::thread::spawn(move || {
            while wants.recv().is_ok() {
                let mut line = String::new();
                let read = io::stdin().lock().take(ANSWER_BYTES_MAX).read_line(&mut line);
                let line = matches!(read, Ok(1..)).then_some(line);
                if send.blocking_send(line).is_err() {
                    return;
                }
            }
        });
        Self { wanted, lines, reading: false }
    }
}

/// The question without its choices: who, what, where and why.
fn question(request: &PermissionRequest, columns: usize) -> String {
    let who = match &request.label {
        None => request.agent.short(),
        Some(label) => {
            format!("{} ({})", cut(&one_line(label), LABEL_COLUMNS), request.agent.short())
        }
    };
    let mut text = format!(
        "\n{} {} wants to use {}",
        styled(YELLOW, "?"),
        styled(BOLD, &who),
        styled(BOLD, &harmless(&request.tool))
    );
    for line in details(request) {
        text.push_str("\n  ");
        text.push_str(&line);
    }
    if let Some(warning) = &request.warning {
        text.push_str(&format!("\n  {}: {}", styled(YELLOW, "warning"), one_line(warning)));
    }
    for line in where_and_why(request, columns.saturating_sub(2)) {
        text.push_str(&format!("\n  {}", styled(DIM, &line)));
    }
    text
}

/// On one line where that fits; else the reason on lines of its own, so that it can be read on any terminal.
fn where_and_why(request: &PermissionRequest, columns: usize) -> Vec<String> {
    let (place, why) = (one_line(&request.directory), one_line(&request.why));
    let together = format!("in {place}: {why}");
    if together.width() <= columns {
        return vec![together];
    }
    let mut lines = vec![format!("in {place}:")];
    lines.extend(folded(&why, columns));
    lines
}

/// What the call would do, in full where that decides: a whole command, both sides of an edit.
fn details(request: &PermissionRequest) -> Vec<String> {
    let input: serde_json::Value = serde_json::from_str(request.input.as_str()).unwrap_or_default();
    let field = |name: &str| input.get(name).and_then(serde_json::Value::as_str);
    let path = || styled(CYAN, &one_line(field("file_path").unwrap_or_default()));
    match request.tool.as_str() {
        "Bash" => {
            let command = harmless(field("command").unwrap_or_default());
            command.lines().map(|line| styled(BOLD, line)).collect()
        }
        "FileEdit" => {
            let mut lines = vec![path()];
            lines.extend(side('-', RED, field("old_string").unwrap_or_default()));
            lines.extend(side('+', GREEN, field("new_string").unwrap_or_default()));
            lines
        }
        "FileWrite" => {
            let mut lines = vec![path()];
            lines.extend(side('+', GREEN, field("content").unwrap_or_default()));
            lines
        }
        _ => vec![harmless(&request.what)],
    }
}

fn side(sign: char, style: anstyle::Style, text: &str) -> Vec<String> {
    let text = harmless(text);
    let mut lines: Vec<String> = text
        .lines()
        .take(EDIT_LINES_MAX)
        .map(|line| styled(style, &format!("{sign} {line}")))
        .collect();
    let more = text.lines().count().saturating_sub(EDIT_LINES_MAX);
    if more > 0 {
        lines.push(styled(DIM, &format!("{sign} … {more} more lines")));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(tool: &str, input: &str, label: Option<&str>) -> String {
        let request = PermissionRequest {
            agent: AgentId::from_random([0x1a; 16]),
            label: label.map(str::to_owned),
            tool: tool.to_owned(),
            what: format!("{tool}: …"),
            input: RawJson::parse(input).unwrap(),
            directory: "/srv/app".to_owned(),
            why: "no rule allows this command".to_owned(),
            warning: tool.starts_with("Bash").then(|| "deletes files".to_owned()),
        };
        anstream::adapter::strip_str(&question(&request, 100)).to_string()
    }

    #[test]
    fn a_command_is_shown_in_full() {
        let text = asked("Bash", r#"{"command":"cargo test\nrm -rf \u001b[8mx"}"#, None);
        insta::assert_snapshot!(text, @r"
        ? 1a1a1a1a wants to use Bash
          cargo test
          rm -rf \u{1b}[8mx
          warning: deletes files
          in /srv/app: no rule allows this command
        ");
    }

    #[test]
    fn an_edit_is_shown_with_both_sides() {
        let input = r#"{"file_path":"src/a.rs","old_string":"let x = 1;","new_string":"let x = 2;\nlet y = 3;"}"#;
        insta::assert_snapshot!(asked("FileEdit", input, Some("fix the bug")), @"
        ? fix the bug (1a1a1a1a) wants to use FileEdit
          src/a.rs
          - let x = 1;
          + let x = 2;
          + let y = 3;
          in /srv/app: no rule allows this command
        ");
    }

    #[test]
    fn a_long_file_is_cut_and_says_so() {
        let content = "line\\n".repeat(45);
        let text =
            asked("FileWrite", &format!(r#"{{"file_path":"a","content":"{content}"}}"#), None);
        assert!(text.contains("+ … 5 more lines"), "{text}");
    }

    #[test]
    fn only_a_clear_yes_is_a_yes() {
        for (line, answer) in [
            ("y\n", Some(Answer::Once)),
            ("YES\n", Some(Answer::Once)),
            ("a\n", Some(Answer::Always)),
            ("\n", Some(Answer::No)),
            ("n\n", Some(Answer::No)),
            ("yy\n", None),
            ("ja\n", None),
        ] {
            assert_eq!(read_answer(line), answer, "{line:?}");
        }
    }
}
