//! The turn loop: the only one, for parents and forks alike.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use tine_guard::filter::ToolFilter;
use tine_llm::{HoldReason, LlmClient, LlmError};
use tine_model::{
    Block, CapReached, DialectChange, Leftover, Message, Outcome, Role, Spent, StopReason,
    ToolCallId, Usage, in_full,
};
use tine_wire::{Dialect, Event, Partial, Reply};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::cache::CacheLane;
pub use crate::compactor::Compactor;
pub use crate::conversation::{Conversation, Held, LastSent, ToHold};
use crate::exchange::Exchanged;
use crate::flight::Seat;
pub use crate::journal::{Journal, JournalError, MemoryJournal, Permit, RequestRecord, Rest};
use crate::neighbour::Neighbour;
pub use crate::resend::Resends;
use crate::slots::RunSlot;
pub use crate::snapshot::Snapshot;
pub use crate::speaking::ServerDialect;
use crate::tools::{Answered, Denials, Dispatch, ToolAnswer, ToolCall, ToolDispatcher};

/// Most turns of a run unless the caller says otherwise.
pub const TURNS_DEFAULT: u32 = 50;

/// Most times that room is made for one request: for its reply, by a summary of the older part, and by leaving out all that may
/// be left out.
const ROOM_ROUNDS_MAX: u32 = 3;

/// Where a run stops by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunLimits {
    /// Most requests to the model. With 0 nothing is sent.
    pub turns: u32,
    /// Longest time for the whole run; `None` for no limit.
    pub time: Option<Duration>,
    /// Most tokens, prompt and output together, counted after each reply; `None` for no limit.
    pub tokens: Option<u64>,
}

impl Default for RunLimits {
    fn default() -> Self {
        Self { turns: TURNS_DEFAULT, time: None, tokens: None }
    }
}

/// What happens during a run, as it happens.
#[derive(Debug, Clone)]
pub enum RunEvent {
    /// The first request is ready and waits for the leader of its flight.
    Waiting,
    /// A request goes out. Turns count from 1.
    Request {
        /// Which one.
        turn: u32,
    },
    /// Part of a reply.
    Stream(Event),
    /// A request is sent again after a wait.
    Retry {
        /// How many tries have failed.
        attempt: u32,
        /// How long until the next.
        wait: Duration,
        /// The error and its causes, as text.
        cause: String,
    },
    /// The request waits for the provider's rate limit.
    Held {
        /// How long at least, as far as it is known.
        wait: Option<Duration>,
        /// Why.
        reason: HoldReason,
    },
    /// The run waits at a cap of its tree: until somebody raises it, or, for a worker that waits for its turn, until another
    /// one is done.
    Paused(CapReached),
    /// Others write where the run does. Told once in a run, at the first call that met somebody.
    Shared(Vec<Neighbour>),
    /// A write of the journal waits: another process holds the store's lock. Told once for each wait, to one run of the process.
    StoreWaits,
    /// A gap of the wall around the run's commands: there is more than was looked through.
    Unkept(&'static str),
    /// Processes of calls that were cut off still ran when the run began. Each was ended or may still run.
    LeftBehind(Vec<Leftover>),
    /// The server has refused members of requests: the lineage's requests leave them out from here on.
    Dialect(DialectChange),
    /// A reply is complete.
    Answered(Box<RequestRecord>),
    /// A message was written to the log.
    Message(Arc<Message>),
    /// A tool call begins.
    ToolStarted {
        /// The call.
        call: ToolCall,
    },
    /// A tool call does its work. Told when that begins, and then now and then while it prints; not of calls that a call makes.
    ToolProgress {
        /// Which call.
        id: ToolCallId,
        /// The last lines that it has printed, as they are: with control characters, and with secrets.
        tail: String,
    },
    /// A tool call has its answer.
    ToolFinished {
        /// Which call.
        id: ToolCallId,
        /// What the model is told.
        answer: ToolAnswer,
    },
}

/// Sees a run. Called on the run's own task: must be quick. A panic in it is swallowed; the run goes on.
pub trait Observer: Send + Sync {
    /// Something happened.
    fn on_event(&self, event: RunEvent);
}

impl<F: Fn(RunEvent) + Send + Sync> Observer for F {
    fn on_event(&self, event: RunEvent) {
        self(event);
    }
}

/// Keeps a panicking observer from ending the loop.
struct Shielded<'a>(&'a dyn Observer);

impl Observer for Shielded<'_> {
    fn on_event(&self, event: RunEvent) {
        if catch_unwind(AssertUnwindSafe(|| self.0.on_event(event))).is_err() {
            tracing::warn!("an observer panicked; the run goes on");
        }
    }
}

/// Everything a run needs.
pub struct Run<'a> {
    /// Continued in place.
    pub conversation: &'a mut Conversation,
    /// Answers requests.
    pub llm: &'a dyn LlmClient,
    /// Answers tool calls.
    pub tools: &'a dyn ToolDispatcher,
    /// Who runs, as tools are told ([`CallContext::agent`](crate::tools::CallContext::agent)).
    pub agent: &'a str,
    /// Refuses tool calls.
    pub filter: &'a dyn ToolFilter,
    /// Keeps what happens.
    pub journal: &'a dyn Journal,
    /// Sees what happens.
    pub observer: &'a dyn Observer,
    /// Where to stop.
    pub limits: RunLimits,
    /// Said again on every turn, at the end of what the model is sent and never in the system prompt: part of each message
    /// that this run adds in the user's name, so that the bytes of one request begin the next.
    pub reminder: Option<&'a str>,
    /// Its place among the siblings that it starts with.
    pub seat: Option<Seat>,
    /// The cache that its requests share with others; without one nothing is expected, judged or waited for.
    pub cache: Option<CacheLane>,
    /// Makes the conversation shorter between turns; without one it grows until the model refuses it.
    pub compactor: Option<&'a dyn Compactor>,
    /// Stops the run: the model call, and running tools. The run never cancels it.
    pub cancel: CancellationToken,
}

/// How a run went. Always complete: partial work and usage are kept whatever the outcome.
#[derive(Debug)]
pub struct RunReport {
    /// How it ended.
    pub outcome: Outcome,
    /// The messages that this run added, in order.
    pub messages: Vec<Arc<Message>>,
    /// Tokens of all its requests.
    pub usage: Usage,
    /// Each answered request, in order. The first says what the inherited prefix cost; prices go by the size and time of each.
    pub requests: Vec<Spent>,
    /// Answered requests.
    pub turns: u32,
    /// Tool calls it made.
    pub tool_uses: u32,
    /// Whether its calls were let through.
    pub denials: Denials,
    /// The error behind [`Outcome::Failed`].
    pub error: Option<RunError>,
    /// The cap of the tree behind [`Outcome::BudgetExhausted`]; `None` where it was the run's own limit.
    pub reached: Option<CapReached>,
}

/// What ended a run for good.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A request failed.
    #[error(transparent)]
    Llm(#[from] LlmError),
    /// A message could not be kept.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

impl RunReport {
    /// A report of a run that has done nothing.
    pub fn empty(outcome: Outcome) -> Self {
        Self {
            outcome,
            messages: Vec::new(),
            usage: Usage::default(),
            requests: Vec::new(),
            turns: 0,
            tool_uses: 0,
            denials: Denials::default(),
            error: None,
            reached: None,
        }
    }

    /// The text of the last own assistant message that has any. Never the parent's words.
    pub fn final_text(&self) -> Option<String> {
        let own = self.messages.iter().rev().filter(|message| message.role() == Role::Assistant);
        own.map(|message| message.text()).find(|text| !text.is_empty())
    }
}

impl Run<'_> {
    /// Appends the prompt, usually one message or none, and takes turns until the model is done or a limit is met.
    pub async fn go(self, prompt: impl IntoIterator<Item = Message>) -> RunReport {
        let prompt = prompt.into_iter().collect();
        let cancel = self.cancel.child_token();
        let limit = self.limits.time;
        let shielded = Shielded(self.observer);
        let mut turns = Turns {
            run: Run { observer: &shielded, ..self },
            report: RunReport::empty(Outcome::TurnLimit),
            considered: None,
            slot: RunSlot::default(),
            deadline: limit.map(|limit| Instant::now() + limit),
            timed_out: false,
        };
        let mut timed_out = false;
        let outcome = {
            // A bug of ours or of a client's ends the run, and loses nothing of what was done.
            let work = AssertUnwindSafe(turns.take(prompt, &cancel)).catch_unwind();
            tokio::pin!(work);
            match limit {
                None => work.await,
                Some(limit) => tokio::select! {
                    outcome = &mut work => outcome,
                    () = tokio::time::sleep(limit) => {
                        // The loop sees the token, stops its tools and keeps what it has.
                        timed_out = true;
                        cancel.cancel();
                        work.await
                    }
                },
            }
        };
        timed_out |= turns.timed_out;
        turns.report.outcome = match outcome {
            Ok(Ok(Outcome::Aborted)) if timed_out => Outcome::TimedOut,
            Ok(Ok(outcome)) => outcome,
            Err(panic) => {
                let why = panic_text(&*panic);
                tracing::error!(why, "a run panicked");
                Outcome::Failed(format!("the run panicked: {why}"))
            }
            Ok(Err(error)) => {
                let outcome = Outcome::Failed(in_full(&error));
                turns.report.error = Some(error);
                outcome
            }
        };
        turns.report
    }
}

pub(crate) struct Turns<'a> {
    pub(crate) run: Run<'a>,
    pub(crate) report: RunReport,
    /// The dialect of the server as it was known when it was last looked at.
    pub(crate) considered: Option<Dialect>,
    /// The slot in which its requests are computed, where the server has slots.
    pub(crate) slot: RunSlot,
    /// When its time is up.
    deadline: Option<Instant>,
    /// True once it saw by itself that its time is up.
    timed_out: bool,
}

/// Returns the text of a panic.
fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it gave no reason")
}

impl Turns<'_> {
    async fn take(
        &mut self,
        prompt: Vec<Message>,
        cancel: &CancellationToken,
    ) -> Result<Outcome, RunError> {
        // What came before the prompt stands before it, and results stand right behind their calls.
        self.reopen(cancel).await?;
        self.deliver_mail().await?;
        self.keep_prompt(prompt).await?;
        for turn in 0..self.run.limits.turns {
            // A tool that blocks its thread lets no timer be seen.
            if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                self.timed_out = !cancel.is_cancelled();
                cancel.cancel();
            }
            if cancel.is_cancelled() {
                return Ok(Outcome::Aborted);
            }
            if turn > 0 {
                self.deliver_mail().await?;
            }
            self.compact(cancel).await?;
            let Some(Exchanged { reply, sent }) = self.exchange_in_room(cancel).await? else {
                let is_spent = self.report.reached.is_some();
                return Ok(if is_spent { Outcome::BudgetExhausted } else { Outcome::Aborted });
            };
            let no_answer = reply.no_answer();
            let Reply { id, model, message, stop, usage, .. } = reply;
            // The reply first: it is paid for, and worth more than the note of what it cost.
            let message = self.keep(message).await?;
            self.record((id, model), (usage, stop.clone()), sent).await?;
            // Its words are kept: they may be all that was meant. Nobody may take them for the answer.
            if let Some(reason) = no_answer {
                let partial = Partial { message: None, usage, id: None };
                return Err(LlmError::NoAnswer { partial: Box::new(partial), reason }.into());
            }
            match self.ended(&stop, &message) {
                // Without a turn to go on with there is nothing to rest for.
                Some(Outcome::Completed) if turn + 1 == self.run.limits.turns => {
                    return Ok(Outcome::Completed);
                }
                Some(Outcome::Completed) => match self.run.journal.rest(cancel).await? {
                    Rest::Mail => continue,
                    Rest::Over if cancel.is_cancelled() => return Ok(Outcome::Aborted),
                    Rest::Over => return Ok(Outcome::Completed),
                },
                Some(outcome) => return Ok(outcome),
                None => {}
            }
            if message.tool_calls().next().is_some() {
                self.report.tool_uses += message.tool_calls().count() as u32;
                let snapshot = self.snapshot(&message);
                let results = self.dispatch(cancel, snapshot).answer(&message).await;
                let results = self.noted(results);
                self.keep(self.reminded(results)).await?;
            }
        }
        Ok(if cancel.is_cancelled() { Outcome::Aborted } else { Outcome::TurnLimit })
    }

    /// Lets the conversation be made shorter, and counts what that took.
    async fn compact(&mut self, cancel: &CancellationToken) -> Result<(), RunError> {
        let Some(compactor) = self.run.compactor else { return Ok(()) };
        let last = self.report.requests.last().map(|spent| &spent.usage);
        let started_ms = self.run.journal.now_ms();
        let taken = compactor.compact(self.run.conversation, last, cancel).await?;
        taken.into_iter().for_each(|usage| self.count(Spent { started_ms, usage }));
        Ok(())
    }

    /// One request and its reply. Where the model finds the conversation too long, room is made and it is asked again.
    async fn exchange_in_room(
        &mut self,
        cancel: &CancellationToken,
    ) -> Result<Option<Exchanged>, RunError> {
        let mut round = 0;
        loop {
            let error = match self.exchange(cancel).await {
                Err(RunError::Llm(error)) => error,
                result => return result,
            };
            let started_ms = self.run.journal.now_ms();
            let room = match (error.overflow(), self.run.compactor) {
                (Some(overflow), Some(compactor)) if round < ROOM_ROUNDS_MAX => {
                    let conversation = &mut *self.run.conversation;
                    compactor.make_room(conversation, &overflow, round, cancel).await?
                }
                _ => None,
            };
            let Some(taken) = room else { return Err(error.into()) };
            taken.into_iter().for_each(|usage| self.count(Spent { started_ms, usage }));
            round += 1;
            let (attempt, wait) = (round, Duration::ZERO);
            let cause = in_full(&error);
            self.run.observer.on_event(RunEvent::Retry { attempt, wait, cause });
        }
    }

    /// Runs the calls that an earlier run left open and has not begun.
    async fn reopen(&mut self, cancel: &CancellationToken) -> Result<(), RunError> {
        let last = self.run.conversation.last_as_logged();
        let Some(last) = last.filter(|message| message.role() == Role::Assistant) else {
            return Ok(());
        };
        let snapshot = self.snapshot(&last);
        if let Some(results) = self.dispatch(cancel, snapshot).reopen(&last).await {
            let results = self.noted(results);
            self.keep(results).await?;
        }
        Ok(())
    }

    /// The conversation as its children are to see it, where one of these calls may make any.
    fn snapshot(&mut self, message: &Message) -> Option<Snapshot> {
        let tools = self.run.tools;
        let forks =
            |block: &Block| matches!(block, Block::ToolUse { name, .. } if tools.forks(name));
        let any = message.blocks().iter().any(forks);
        any.then(|| Snapshot::take(self.run.conversation))
    }

    fn dispatch<'c>(
        &'c self,
        cancel: &'c CancellationToken,
        snapshot: Option<Snapshot>,
    ) -> Dispatch<'c> {
        let Run { tools, agent, filter, observer, .. } = self.run;
        Dispatch { tools, agent, filter, observer, cancel, snapshot }
    }

    /// What is said again stands before the prompt's own last words.
    async fn keep_prompt(&mut self, mut prompt: Vec<Message>) -> Result<(), RunError> {
        let last = prompt.pop();
        for message in prompt {
            self.keep(message).await?;
        }
        let Some(last) = last else { return Ok(()) };
        let last = match self.run.reminder.filter(|_| last.role() == Role::User) {
            None => last,
            Some(reminder) => {
                let mut blocks = last.blocks().to_vec();
                let is_result = |block: &Block| matches!(block, Block::ToolResult { .. });
                let own = blocks.iter().position(|block| !is_result(block)).unwrap_or(blocks.len());
                blocks.insert(own, Block::Text(reminder.to_owned()));
                Message::new(Role::User, blocks)
            }
        };
        self.keep(last).await.map(|_| ())
    }

    /// Results, once it is noted which calls were denied.
    fn noted(&mut self, results: Answered) -> Message {
        let before = std::mem::take(&mut self.report.denials);
        self.report.denials = before.and(results.denials);
        results.message
    }

    /// Results, and behind them what is said again.
    fn reminded(&self, results: Message) -> Message {
        let Some(reminder) = self.run.reminder else { return results };
        let mut blocks = results.blocks().to_vec();
        blocks.push(Block::Text(reminder.to_owned()));
        Message::new(Role::User, blocks)
    }

    async fn deliver_mail(&mut self) -> Result<(), RunError> {
        let mail = self.run.journal.mail().await?;
        if !mail.is_empty() {
            let blocks = mail.into_iter().map(Block::Text).collect();
            self.keep(Message::new(Role::User, blocks)).await?;
        }
        Ok(())
    }

    /// Whether the run is over after a reply.
    fn ended(&self, stop: &StopReason, message: &Message) -> Option<Outcome> {
        match stop {
            StopReason::MaxTokens => return Some(Outcome::LengthCut),
            StopReason::Refusal => return Some(Outcome::Refused),
            StopReason::EndTurn
            | StopReason::ToolUse
            | StopReason::StopSequence
            | StopReason::Pause
            // Has ended as a reply that is no answer.
            | StopReason::ContextExceeded
            | StopReason::Other(_) => {}
        }
        let spent = self.report.usage.prompt() + self.report.usage.output;
        let calls = message.tool_calls().next().is_some();
        if !calls && *stop != StopReason::Pause {
            return Some(Outcome::Completed);
        }
        self.run.limits.tokens.is_some_and(|most| spent >= most).then_some(Outcome::BudgetExhausted)
    }

    /// Writes a message down, then makes it part of the conversation.
    pub(crate) async fn keep(&mut self, message: Message) -> Result<Arc<Message>, RunError> {
        let message = Arc::new(message);
        let entry = self.run.journal.message(&message).await?;
        self.run.conversation.push(entry, Arc::clone(&message));
        self.report.messages.push(Arc::clone(&message));
        self.run.observer.on_event(RunEvent::Message(Arc::clone(&message)));
        Ok(message)
    }
}
