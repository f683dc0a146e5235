//! Whom a run asks for permission: the person at the terminal, or nobody.

mod reply;

use std::io::{self, BufRead, IsTerminal, Read};
use std::sync::{Arc, Mutex as StdMutex, PoisonError, mpsc as std_mpsc};

use async_trait::async_trait;
use rustix::termios::{QueueSelector, tcflush};
use tine_model::{AgentId, Decision, PermissionState, RawJson};
use tine_runtime::{Answer, Asker, NotKept, PermissionRequest, PermissionRow};
use tokio::sync::{Mutex, mpsc};
use tokio_util::sync::CancellationToken;

use crate::fail::Failure;
use crate::inside;
use crate::output;
use crate::render::question::{Shown, question};
use crate::render::screen::Screen;
use reply::{NO, Reply, allows, listed, prompt, read_reply};
use tine_tui::question::{Step, whole};
use tine_tui::words::{DIM, YELLOW, folded, one_line, styled};

/// Longest line of an answer; a terminal gives at most 4096 bytes at once.
const ANSWER_BYTES_MAX: u64 = 8192;

/// Most lines that are read for one question: two steps, some looks at all of it, and some mistakes.
const LINES_MAX: usize = 20;

/// Most refused calls that are remembered for the closing words.
const REFUSALS_MAX: usize = 100;

/// True where questions reach a person: at a terminal that no agent's command has made for itself.
pub(crate) fn a_person_is_there() -> bool {
    !inside::is_inside()
        && !output::is_caught()
        && io::stdin().is_terminal()
        && io::stderr().is_terminal()
}

/// Asks a person whether to go on; only a yes is one.
pub(crate) fn agrees(question: &str) -> bool {
    output::prompt(&format!("{question} Go on? [y/N]: "));
    let mut answer = String::new();
    let read = io::stdin().read_line(&mut answer);
    read.is_ok() && matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
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

/// Nobody to ask; keeps what was refused because of that.
#[derive(Default)]
pub(crate) struct Nobody {
    refused: StdMutex<Vec<Refusal>>,
    /// Where to say that the run waits, if it does.
    waits: Option<Arc<Screen>>,
}

impl Nobody {
    /// Says on the screen what waits for an answer from elsewhere.
    pub(crate) fn waiting(screen: Arc<Screen>) -> Self {
        Self { refused: StdMutex::default(), waits: Some(screen) }
    }

    /// The calls that were refused so far.
    pub(crate) fn refused(&self) -> Vec<Refusal> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[async_trait]
impl Asker for Nobody {
    async fn ask(&self, request: &PermissionRequest, _cancel: &CancellationToken) -> Answer {
        if let Some(screen) = &self.waits {
            let (what, id) = (one_line(&request.what), request.id.short());
            screen.say(&format!("waits for permission: {what} (`tine permission allow {id}`)"));
        }
        Answer::Nobody
    }

    fn settled(&self, request: &PermissionRequest, row: &PermissionRow) {
        if row.state != PermissionState::Expired || row.decision() != Some(Decision::Deny) {
            return;
        }
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
            () = cancel.cancelled() => return NO,
        };
        let _hold = self.screen.hold();
        let (words, mut is_seen) = self.words(request);
        output::say(&words);
        lines.forget();
        let mut step = Step::Answer;
        for _ in 0..LINES_MAX {
            output::prompt(prompt(&step));
            let Some(line) = lines.next(cancel).await else {
                output::say("");
                return NO;
            };
            match read_reply(&line, request, &step) {
                reply if !is_seen && allows(&reply) => {
                    output::say("there is more of it; read it, and answer again:");
                    (is_seen, step) = (show_whole(request).await, Step::Answer);
                    lines.forget();
                }
                Reply::Answer(answer) => return answer,
                Reply::Whole => is_seen = show_whole(request).await,
                Reply::Next(next) => {
                    if let Step::Reach(cover) = &next {
                        let words = folded(&cover.whole_words(), self.screen.columns()).join("\n");
                        output::say(&format!("{words}{}", listed(request, &next)));
                    }
                    lines.forget();
                    step = next;
                }
                Reply::Again(why) => output::say(&why),
            }
        }
        NO
    }

    fn settled(&self, request: &PermissionRequest, row: &PermissionRow) {
        let what = one_line(&request.what);
        let by = one_line(row.answered_by.as_deref().unwrap_or("somebody"));
        let how = match (row.state, row.decision()) {
            (PermissionState::Expired, Some(Decision::Allow)) => {
                "allowed: nobody answered in time".to_owned()
            }
            (PermissionState::Expired, _) => "refused: nobody answered in time".to_owned(),
            (_, Some(Decision::Allow)) => format!("allowed by {by}"),
            (_, Some(Decision::Deny)) => format!("refused by {by}"),
            (_, None) => "withdrawn".to_owned(),
        };
        self.screen.say(&styled(DIM, &format!("answered elsewhere: {what}: {how}")));
    }

    fn kept(&self, kept: Result<String, NotKept>) {
        match kept {
            Ok(told) => self.screen.say(&styled(DIM, &told)),
            Err(not_kept) => self.screen.say(&Failure::from(not_kept).text()),
        }
    }
}

impl TerminalAsker {
    /// The question with its choices, and whether that is all of it.
    fn words(&self, request: &PermissionRequest) -> (String, bool) {
        let asked = Shown {
            agent: request.agent,
            label: request.label.as_deref(),
            asked: request.into(),
            directory: &request.directory,
            why: &request.why,
            warning: request.warning.as_deref(),
        };
        let (text, is_whole) = question(&styled(YELLOW, "?"), &asked, self.screen.columns());
        (format!("\n{text}{}", listed(request, &Step::Answer)), is_whole)
    }
}

/// Shows all of a question.
async fn show_whole(request: &PermissionRequest) -> bool {
    let preview = request.preview().await;
    output::say(whole(&request.into(), preview.as_ref()).trim_end());
    true
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
