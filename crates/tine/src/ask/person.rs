//! The person at the terminal of a command: questions are put one by one, whoever asks.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io::{self, BufRead as _, Read as _};
use std::sync::{Arc, mpsc as std_mpsc};

use rustix::termios::{QueueSelector, tcflush};
use tine_model::{Decision, PermissionState};
use tine_runtime::{
    Answer, EventKind, Heard, PermissionRequest, PermissionRow, Runtime, RuntimeError, StoreError,
    Subscription,
};
use tine_tui::question::{Step, whole};
use tine_tui::words::{DIM, YELLOW, folded, one_line, styled};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::reply::{NO, Reply, allows, listed, prompt, read_reply};
use crate::fail::Failure;
use crate::output;
use crate::render::question::{Shown, question};
use crate::render::screen::Screen;

/// The source of the answer, as it is kept.
const BY: &str = "the run's terminal";

/// Longest line of an answer; a terminal gives at most 4096 bytes at once.
const ANSWER_BYTES_MAX: u64 = 8192;

/// Most lines that are read for one question: two steps, some looks at all of it, and some mistakes.
const LINES_MAX: usize = 20;

/// The person at the terminal.
pub(super) struct Person {
    screen: Arc<Screen>,
    lines: Lines,
    /// Questions that wait behind the one on the screen.
    waiting: VecDeque<PermissionRequest>,
}

impl Person {
    pub(super) fn new(screen: Arc<Screen>) -> Self {
        Self { screen, lines: Lines::default(), waiting: VecDeque::new() }
    }

    /// Puts all questions that come, and keeps the answers.
    pub(super) async fn answer_all(
        mut self,
        runtime: &Runtime,
        mut stream: Subscription,
    ) -> Infallible {
        loop {
            match self.waiting.pop_front() {
                Some(request) => self.put(&request, runtime, &mut stream).await,
                None => match stream.next().await {
                    Some(Heard::Event(event)) => {
                        if let EventKind::Asked(request) = &event.kind {
                            self.waiting.push_back(PermissionRequest::clone(request));
                        }
                    }
                    // A question may be among what was missed.
                    Some(Heard::Lagged(_)) => {
                        self.waiting.extend(runtime.requests_waiting().await.unwrap_or_default());
                    }
                    None => std::future::pending().await,
                },
            }
        }
    }

    /// Puts one question, until somebody has answered it.
    async fn put(
        &mut self,
        request: &PermissionRequest,
        runtime: &Runtime,
        stream: &mut Subscription,
    ) {
        let Self { screen, lines, waiting } = self;
        let cancel = CancellationToken::new();
        let mut settled: Option<PermissionRow> = None;
        let answer = {
            let asking = ask(screen, lines, request, &cancel);
            tokio::pin!(asking);
            loop {
                // Both branches are cancel-safe: the first is only polled.
                tokio::select! {
                    answer = &mut asking => break answer,
                    Some(Heard::Event(event)) = stream.next() => match &event.kind {
                        EventKind::Asked(other) => {
                            waiting.push_back(PermissionRequest::clone(other));
                        }
                        EventKind::Settled(row) if row.id == request.id => {
                            settled = Some(PermissionRow::clone(row));
                            cancel.cancel();
                        }
                        EventKind::Settled(row) => waiting.retain(|other| other.id != row.id),
                        _ => {}
                    },
                }
            }
        };
        if let Some(row) = settled {
            return tell_settled(screen, &row);
        }
        match runtime.answer_request(request.id, answer, BY).await {
            Ok(answered) => match answered.kept {
                Some(Ok(told)) => screen.say(&styled(DIM, &told)),
                Some(Err(not_kept)) => screen.say(&Failure::from(not_kept).text()),
                None => {}
            },
            Err(RuntimeError::Store(StoreError::Settled { permission })) => {
                tell_settled(screen, &permission);
            }
            Err(error) => screen.say(&Failure::from(error).text()),
        }
    }
}

/// Says who has answered a question instead of the person here. One whose run was stopped has no answer.
fn tell_settled(screen: &Screen, row: &PermissionRow) {
    let by = one_line(row.answered_by.as_deref().unwrap_or("somebody"));
    let how = match (row.state, row.decision()) {
        (_, None) => return,
        (PermissionState::Expired, Some(Decision::Allow)) => {
            "allowed: nobody answered in time".to_owned()
        }
        (PermissionState::Expired, _) => "refused: nobody answered in time".to_owned(),
        (_, Some(Decision::Allow)) => format!("allowed by {by}"),
        (_, Some(Decision::Deny)) => format!("refused by {by}"),
    };
    let what = one_line(&row.what);
    screen.say(&styled(DIM, &format!("answered elsewhere: {what}: {how}")));
}

/// Puts a question; returns soon after `cancel`, with an answer that does not count then.
async fn ask(
    screen: &Screen,
    lines: &mut Lines,
    request: &PermissionRequest,
    cancel: &CancellationToken,
) -> Answer {
    let _hold = screen.hold();
    let (words, mut is_seen) = words(screen, request);
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
                    let words = folded(&cover.whole_words(), screen.columns()).join("\n");
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

/// The question with its choices, and whether that is all of it.
fn words(screen: &Screen, request: &PermissionRequest) -> (String, bool) {
    let asked = Shown {
        agent: request.agent,
        label: request.label.as_deref(),
        asked: request.into(),
        directory: &request.directory,
        why: &request.why,
        warning: request.warning.as_deref(),
    };
    let (text, is_whole) = question(&styled(YELLOW, "?"), &asked, screen.columns());
    (format!("\n{text}{}", listed(request, &Step::Answer)), is_whole)
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
    reader: Option<Typed>,
}

struct Typed {
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
        let reader = self.reader.get_or_insert_with(Typed::start);
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

impl Typed {
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
