//! A call at work: its command, the questions of its workers, and the word to the client that it goes on.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolResult, ContentBlock, InputRequest, InputRequests, InputRequiredResult,
    ProgressNotificationParam, ProgressToken,
};
use rmcp::service::{Peer, RequestContext, RoleServer};
use rmcp::task_manager::TaskContext;
use tine_model::{PermissionId, PermissionState};
use tine_tui::words::one_line;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::{Instant, Sleep, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::asking::{self, Heard, Put, Questions, Reply, Way};
use super::call::{Pace, Tool};
use super::process::{Ended, Process, Processes};
use super::{CALLS_MAX, PATIENCE, TIMED_OUT};
use crate::context::Context;

/// Between two words of progress.
const PROGRESS_EVERY: Duration = Duration::from_secs(5);

/// Work that is done within this time is no task: its answer, or what is wrong with the call, comes at once.
const SOON: Duration = Duration::from_secs(3);

/// The place where calls are begun and waited for.
pub(super) struct Desk {
    pub(super) context: Context,
    pub(super) processes: Processes,
    /// Places for short commands, and for those that take their time: a list is not to wait for a fan.
    short: Arc<Semaphore>,
    long: Arc<Semaphore>,
    put: Put,
}

/// A call whose command runs.
pub(super) struct Work {
    tool: &'static Tool,
    /// The agent or task that the call names.
    named: Option<String>,
    process: Process,
    questions: Option<Questions>,
    /// Interrupts the command, as Ctrl+C does.
    pub(super) stop: CancellationToken,
    /// Its place among those that run at the same time.
    _slot: Option<OwnedSemaphorePermit>,
}

/// The end of waiting for a call.
pub(super) enum Waited {
    /// This is its answer.
    Answer(CallToolResult),
    /// A person has to be asked first, by the call's own answer.
    Question(PermissionId, Box<InputRequiredResult>),
}

impl Work {
    /// True once its command has ended.
    pub(super) fn has_ended(&self) -> bool {
        !self.process.end.is_empty()
    }

    /// The answer, where it is there soon.
    pub(super) async fn ended_soon(&mut self) -> Option<CallToolResult> {
        tokio::time::timeout(SOON, &mut self.process.end).await.ok().map(result_of)
    }
}

impl Desk {
    pub(super) fn new(context: &Context) -> io::Result<Self> {
        Ok(Self {
            context: context.clone(),
            processes: Processes::new(context)?,
            short: Arc::new(Semaphore::new(CALLS_MAX)),
            long: Arc::new(Semaphore::new(CALLS_MAX)),
            put: Put::default(),
        })
    }

    /// Begins the command of a call. An error is the call's answer.
    pub(super) async fn begin(
        &self,
        tool: &'static Tool,
        line: Vec<String>,
        stop: CancellationToken,
        way: &Way,
    ) -> Result<Work, CallToolResult> {
        let slots = match tool.pace {
            Pace::Short => &self.short,
            Pace::Waits | Pace::Long(_) => &self.long,
        };
        let slot = tokio::select! {
            slot = Arc::clone(slots).acquire_owned() => slot.ok(),
            () = stop.cancelled() => return Err(failed("cancelled".to_owned())),
        };
        let named = line.iter().skip_while(|word| *word != "--").nth(1).cloned();
        let questions = match &named {
            Some(agent) if way.asks() && tool.pace != Pace::Short => {
                Questions::of(&self.context, agent, self.put.clone()).await
            }
            _ => None,
        };
        let process = self
            .processes
            .begin(line, matches!(tool.pace, Pace::Long(_)), stop.clone())
            .map_err(|error| failed(format!("cannot start tine: {error}")))?;
        Ok(Work { tool, named, process, questions, stop, _slot: slot })
    }

    /// Waits for a call: to its end, or until the client's patience is at its end, or until a person has to be asked by its answer.
    pub(super) async fn wait(&self, work: &mut Work, way: &Way, progress: Progress) -> Waited {
        let mut patience = pin!(sleep(PATIENCE.time));
        let mut next_word = Instant::now() + PROGRESS_EVERY;
        let mut form: Option<Reply> = None;
        loop {
            // A task is asked for; a person who reads a form is waited for where the client is told that the call goes on.
            let is_patient = matches!(progress, Progress::Task(_))
                || (form.is_some() && !matches!(progress, Progress::Silent));
            tokio::select! {
                ended = &mut work.process.end => return Waited::Answer(result_of(ended)),
                question = next(&mut work.questions) => {
                    form = None;
                    let Some(row) = question else { continue };
                    let Ok(asked) = asking::form(&self.context, &row).await else { continue };
                    if matches!(way, Way::Return) {
                        return Waited::Question(row.id, Box::new(required(row.id, asked)));
                    }
                    form = way.put(row.id, asked);
                }
                reply = reply_to(&mut form) => {
                    form = None;
                    let open = work.questions.as_mut().and_then(Questions::replied);
                    if let (Some(id), Some(answer)) = (open, reply) {
                        asking::answer(&self.context, id, answer).await;
                    }
                    rest(patience.as_mut(), &progress);
                }
                () = patience.as_mut(), if !is_patient && matches!(work.tool.pace, Pace::Long(_)) => {
                    return Waited::Answer(self.goes_on(work).await);
                }
                () = sleep_until(next_word) => {
                    next_word += PROGRESS_EVERY;
                    progress.tell(&work.process).await;
                }
                () = progress.cancelled(), if !work.stop.is_cancelled() => work.stop.cancel(),
            }
        }
    }

    /// Takes in the reply that a client brings to the question of a held call. Where it brings none, the question is put again.
    pub(super) async fn replied(
        &self,
        work: &mut Work,
        id: PermissionId,
        reply: Option<&serde_json::Value>,
    ) -> Option<Waited> {
        let heard = reply.map_or(Heard::Nothing, asking::heard);
        if heard == Heard::Nothing {
            let row = self.context.runtime.request_row(id).await.ok();
            let row = row.filter(|row| row.state == PermissionState::Pending)?;
            let form = asking::form(&self.context, &row).await.ok()?;
            return Some(Waited::Question(id, Box::new(required(id, form))));
        }
        let open = work.questions.as_mut().and_then(Questions::replied);
        if let (Some(id), Heard::Answer(answer)) = (open, heard) {
            asking::answer(&self.context, id, answer).await;
        }
        None
    }

    /// Says where the result of work will be that takes longer than anybody waits.
    async fn goes_on(&self, work: &Work) -> CallToolResult {
        let mut asking = ["permission", "list", "--json"].map(str::to_owned).to_vec();
        if let Some(named) = &work.named
            && let Ok((agent, _)) = self.context.agent_at(named).await
        {
            asking.push(format!("--tree={agent}"));
        }
        let mut text = "Still at work, and it goes on without you waiting. task_output with `wait` reads a task, show an agent. \
            A person answers what waits for permission: `tine permission allow|deny ID`."
            .to_owned();
        for command in [work.tool.pace.follow_up(work.named.clone()), Some(asking)] {
            let Some(command) = command else { continue };
            let Ok(process) = self.processes.begin(command, false, CancellationToken::new()) else {
                continue;
            };
            if let Ok(Ok(seen)) = process.end.await {
                text.push('\n');
                text.push_str(seen.printed.trim_end());
            }
        }
        CallToolResult::success(vec![ContentBlock::text(text)])
    }
}

/// A person has answered: where the client hears that the call goes on, its patience begins anew.
fn rest(patience: std::pin::Pin<&mut Sleep>, progress: &Progress) {
    if !matches!(progress, Progress::Silent) {
        patience.reset(Instant::now() + PATIENCE.time);
    }
}

async fn next(questions: &mut Option<Questions>) -> Option<tine_runtime::PermissionRow> {
    match questions {
        Some(questions) => questions.next().await,
        None => std::future::pending().await,
    }
}

async fn reply_to(form: &mut Option<Reply>) -> Option<tine_runtime::Answer> {
    match form {
        Some(reply) => reply.await,
        None => std::future::pending().await,
    }
}

/// The answer that asks; what it is about is the name of the work, too.
fn required(id: PermissionId, form: rmcp::model::ElicitRequest) -> InputRequiredResult {
    let asked = InputRequests::from([(id.to_string(), InputRequest::Elicitation(form))]);
    InputRequiredResult::new(Some(asked), Some(id.to_string()))
}

pub(super) fn failed(text: String) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(text)])
}

/// The output of a command, and its errors where it failed.
fn result_of(ended: Result<io::Result<Ended>, oneshot::error::RecvError>) -> CallToolResult {
    let ended = match ended {
        Ok(Ok(ended)) => ended,
        Ok(Err(error)) => return failed(format!("tine was lost: {error}")),
        Err(_) => return failed("tine was lost".to_owned()),
    };
    // What was waited for goes on, and was printed as it stands.
    if matches!(ended.code, Some(0 | TIMED_OUT)) {
        return CallToolResult::success(vec![ContentBlock::text(ended.printed)]);
    }
    let parts = [ended.printed, ended.errors];
    let parts: Vec<&str> =
        parts.iter().map(|part| part.trim_end()).filter(|part| !part.is_empty()).collect();
    failed(match parts.is_empty() {
        true => "tine was killed".to_owned(),
        false => parts.join("\n"),
    })
}

/// The word to the client that a call is at work: the last line that its command said.
pub(super) enum Progress {
    /// The client does not want it.
    Silent,
    /// As notifications.
    Notified(Peer<RoleServer>, ProgressToken),
    /// As the state of a task.
    Task(TaskContext),
}

impl Progress {
    pub(super) fn of(context: &RequestContext<RoleServer>) -> Self {
        match context.meta.get_progress_token() {
            Some(token) => Self::Notified(context.peer.clone(), token),
            None => Self::Silent,
        }
    }

    async fn tell(&self, process: &Process) {
        let said = process.last_line().map(|line| one_line(&line));
        match self {
            Self::Silent => {}
            Self::Notified(peer, token) => {
                let seconds = process.begun.elapsed().as_secs_f64();
                let word = ProgressNotificationParam::new(token.clone(), seconds);
                let word = match said {
                    Some(said) => word.with_message(said),
                    None => word,
                };
                // Who has gone needs no word.
                let _ = peer.notify_progress(word).await;
            }
            Self::Task(task) => said.into_iter().for_each(|said| task.set_status_message(said)),
        }
    }

    /// Returns once the client has cancelled its task.
    async fn cancelled(&self) {
        match self {
            Self::Task(task) => task.cancelled().await,
            Self::Silent | Self::Notified(..) => std::future::pending().await,
        }
    }
}
