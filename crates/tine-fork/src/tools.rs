//! Tool calls of one turn.

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::{FutureExt, StreamExt, stream};
use tine_guard::filter::ToolFilter;
use tine_model::{Block, Message, RawJson, Role, SeenFile, ToolCallId, ToolInput};
use tokio_util::sync::CancellationToken;

use crate::inner::InnerCall;
pub use crate::inner::InnerCalls;
pub use crate::live_output::LiveOutput;
use crate::run::{Observer, RunEvent};
use crate::snapshot::Snapshot;
use crate::stopping::stopping;
use crate::telemetry::{self, CallEnd, Traced};

/// Most read-only calls of one turn that run at the same time: more would only wait for the same disk.
const CALLS_AT_ONCE_MAX: usize = 16;

/// Most calls that one call may make: a script that needs more is better split, so that its results are seen.
const INNER_CALLS_MAX: usize = 256;

/// The result of a call that an earlier run has begun, beside one that it has not.
const CUT_OFF: &str =
    "The run was cut off during this call; whether it was carried out is not known.";

/// The result of a call that was stopped.
pub(crate) const STOPPED: &str = "Stopped before it finished.";

/// One call, with arguments that are at least a JSON object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    /// The provider's id of the call.
    pub id: ToolCallId,
    /// Canonical tool name.
    pub name: String,
    /// Arguments.
    pub input: RawJson,
}

/// The answer to a call, as the model is told it. A failure is a value: the run goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolAnswer {
    /// The text.
    pub text: String,
    /// Whether the tool failed or was refused.
    pub is_error: bool,
    /// Why the call was denied, as people are told it; `None` for one that was not. A tool that the run does not have is a mistake of
    /// the model's and no denial.
    pub denied: Option<String>,
    /// The files whose content the call read or wrote. They are kept beside the message, so that forks know them, too.
    pub seen: Vec<SeenFile>,
}

impl ToolAnswer {
    /// The result of a call that worked.
    pub fn ok(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_error: false, denied: None, seen: Vec::new() }
    }

    /// A failure.
    pub fn error(text: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::ok(text) }
    }

    /// The answer to a call that was not let through: `text` for the model, `why` for people.
    pub fn denied(text: impl Into<String>, why: impl Into<String>) -> Self {
        Self { denied: Some(why.into()), ..Self::error(text) }
    }
}

/// The calls of a run, as far as they were let through or not.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Denials {
    last: Option<String>,
    others: bool,
}

impl Denials {
    /// A run whose calls were all denied, the last one for this reason.
    pub fn of_all_calls(last: String) -> Self {
        Self { last: Some(last), others: false }
    }

    /// Why the last call was denied, where every call was; `None` where there was none.
    pub fn of_all(&self) -> Option<&str> {
        self.last.as_deref().filter(|_| !self.others)
    }

    /// The calls of two runs, one behind the other.
    pub fn and(self, later: Self) -> Self {
        Self { last: later.last.or(self.last), others: self.others || later.others }
    }

    fn note(&mut self, answer: &ToolAnswer) {
        match &answer.denied {
            Some(why) => self.last = Some(why.clone()),
            None => self.others = true,
        }
    }
}

/// What a call may use while it runs.
#[derive(Debug, Clone)]
pub struct CallContext {
    /// Who calls: an agent's id, or the name that a fork was given.
    pub agent: Arc<str>,
    /// Stops the call, and everything it started.
    pub cancel: CancellationToken,
    /// Runs other tools on the call's behalf.
    pub calls: InnerCalls,
    /// Takes what the call prints while it runs, for whoever watches the run.
    pub output: LiveOutput,
    /// The conversation as it stood when the calls of this turn were made, before any of them ran; only for calls of tools that
    /// [fork](ToolDispatcher::forks).
    pub snapshot: Option<Snapshot>,
    /// Delegations that the caller stands below ([`ParentContext::delegation_depth`](crate::ParentContext::delegation_depth)).
    pub delegation_depth: u32,
    /// The call's place in a trace, for the variable `TRACEPARENT` of a process or the header of that name of a request (W3C Trace
    /// Context): the call's own span where the feature `otel` makes one, else what the caller's parent was given
    /// ([`ParentContext::traceparent`](crate::ParentContext::traceparent)).
    pub traceparent: Option<String>,
}

/// A call that an earlier run left open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OpenCall {
    /// Nothing is known of it.
    Unknown,
    /// It has certainly not begun, so that it may be dispatched now.
    NeverBegan,
    /// It was cut off when its process died. The model is told these sentences about what is left of it.
    CutOff(String),
}

/// Runs tools.
#[async_trait]
pub trait ToolDispatcher: Send + Sync {
    /// Whether calls of this tool change nothing that their neighbours could see, so that they may run at the same time.
    fn is_read_only(&self, tool: &str) -> bool;

    /// Whether calls of this tool, or calls that it makes, may fork the conversation: then they find it in
    /// [`CallContext::snapshot`].
    fn forks(&self, _tool: &str) -> bool {
        false
    }

    /// Says what is known of a call that an earlier run left open.
    async fn open_call(&self, _call: &ToolCall) -> OpenCall {
        OpenCall::Unknown
    }

    /// The call in the words of the tool that answers it: another name and other arguments where a history from elsewhere calls it
    /// otherwise. Filters, permissions and events go by it; the log keeps the call as the model made it. The same call gives the
    /// same one each time.
    ///
    /// # Errors
    ///
    /// The answer to a call that no tool answers. Nothing is run for it.
    fn own_call(&self, call: &ToolCall) -> Result<ToolCall, ToolAnswer> {
        Ok(call.clone())
    }

    /// The answer as the model is told it that made the call `asked`, which was carried out as `own`.
    fn told(&self, _asked: &ToolCall, _own: &ToolCall, answer: ToolAnswer) -> ToolAnswer {
        answer
    }

    /// Returns true for a tool that does nothing itself but [make calls](CallContext::calls). Filters see these and not the call.
    fn only_calls(&self, _tool: &str) -> bool {
        false
    }

    /// Runs one call; an unknown tool is an error answer that names it. Must return soon after `context.cancel`.
    async fn dispatch(&self, call: &ToolCall, context: &CallContext) -> ToolAnswer;
}

/// No tools, for forks that only talk. A call is answered with that.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoTools;

#[async_trait]
impl ToolDispatcher for NoTools {
    fn is_read_only(&self, _tool: &str) -> bool {
        true
    }

    async fn dispatch(&self, call: &ToolCall, _context: &CallContext) -> ToolAnswer {
        ToolAnswer::error(format!("There is no tool `{}`.", call.name))
    }
}

/// What answers the calls of a run.
pub(crate) struct Dispatch<'a> {
    pub(crate) tools: &'a dyn ToolDispatcher,
    pub(crate) agent: &'a str,
    pub(crate) filter: &'a dyn ToolFilter,
    pub(crate) observer: &'a dyn Observer,
    pub(crate) cancel: &'a CancellationToken,
    pub(crate) snapshot: Option<Snapshot>,
}

/// The answers to the calls of a message.
pub(crate) struct Answered {
    /// Results in call order, as the user's message.
    pub(crate) message: Message,
    pub(crate) denials: Denials,
}

impl Answered {
    fn new<'a>(answers: impl IntoIterator<Item = (&'a Asked, ToolAnswer)>) -> Self {
        let (mut blocks, mut seen, mut denials) = (Vec::new(), Vec::new(), Denials::default());
        for (call, answer) in answers {
            denials.note(&answer);
            seen.extend(answer.seen);
            blocks.push(Block::result(call.id.clone(), answer.text, answer.is_error));
        }
        Self { message: Message::new(Role::User, blocks).with_seen(seen), denials }
    }
}

/// A call that the model made.
struct Asked {
    id: ToolCallId,
    course: Course,
}

/// The way in which a call is answered.
enum Course {
    /// It is run: the call as the model made it, and in the words of the tool that answers it.
    Run { asked: ToolCall, own: ToolCall },
    /// It is answered without a run.
    Answered(ToolAnswer),
}

impl Dispatch<'_> {
    fn asked(&self, block: &Block) -> Option<Asked> {
        let Block::ToolUse { id, name, input } = block else { return None };
        let course = match input {
            ToolInput::Invalid(text) => Course::Answered(invalid_input(text)),
            ToolInput::Valid(input) => {
                let (name, input) = (name.clone(), input.clone());
                let asked = ToolCall { id: id.clone(), name, input };
                match self.tools.own_call(&asked) {
                    Ok(own) => Course::Run { asked, own },
                    Err(answer) => Course::Answered(answer),
                }
            }
        };
        Some(Asked { id: id.clone(), course })
    }

    /// Returns true if neighbours of the call may run at the same time.
    fn is_read_only(&self, call: &Asked) -> bool {
        match &call.course {
            Course::Run { own, .. } => self.tools.is_read_only(&own.name),
            Course::Answered(_) => true,
        }
    }

    /// Answers every call of `message` with one user message. Neighbouring read-only calls run
    /// at the same time. A cancelled call is answered too, so that the log has no hole.
    pub(crate) async fn answer(&self, message: &Message) -> Answered {
        let calls: Vec<Asked> =
            message.blocks().iter().filter_map(|block| self.asked(block)).collect();
        let mut all = Vec::with_capacity(calls.len());
        let groups = calls.chunk_by(|a, b| self.is_read_only(a) && self.is_read_only(b));
        for group in groups {
            let calls: Vec<_> = group.iter().map(|call| self.answer_one(call)).collect();
            let answers: Vec<ToolAnswer> =
                stream::iter(calls).buffered(CALLS_AT_ONCE_MAX).collect().await;
            all.extend(group.iter().zip(answers));
        }
        Answered::new(all)
    }

    /// Answers the calls that an earlier run left open, where something is known of one of them: what never began is run now, and of
    /// the others it is told that nobody knows, and what is left of them. `None` where nothing is known; such calls are closed
    /// when a request is built.
    pub(crate) async fn reopen(&self, message: &Message) -> Option<Answered> {
        let calls: Vec<Asked> =
            message.blocks().iter().filter_map(|block| self.asked(block)).collect();
        let mut known = Vec::with_capacity(calls.len());
        for call in &calls {
            known.push(match &call.course {
                Course::Run { own, .. } => self.tools.open_call(own).await,
                Course::Answered(_) => OpenCall::Unknown,
            });
        }
        if known.iter().all(|known| *known == OpenCall::Unknown) {
            return None;
        }
        let mut all = Vec::with_capacity(calls.len());
        for (call, known) in calls.iter().zip(known) {
            let answer = match known {
                OpenCall::NeverBegan => self.answer_one(call).await,
                OpenCall::Unknown => ToolAnswer::error(CUT_OFF),
                OpenCall::CutOff(left) => ToolAnswer::error(format!("{CUT_OFF} {left}")),
            };
            all.push((call, answer));
        }
        Some(Answered::new(all))
    }

    async fn answer_one(&self, call: &Asked) -> ToolAnswer {
        let answer = match &call.course {
            Course::Run { own, .. } => self.run_one(own).await,
            Course::Answered(answer) => answer.clone(),
        };
        let told = RunEvent::ToolFinished { id: call.id.clone(), answer: answer.clone() };
        self.observer.on_event(told);
        match &call.course {
            Course::Run { asked, own } => self.tools.told(asked, own, answer),
            Course::Answered(_) => answer,
        }
    }

    /// Runs a call of the model's, and the calls that it makes of its own meanwhile.
    async fn run_one(&self, call: &ToolCall) -> ToolAnswer {
        let (calls, mut wanted) = InnerCalls::open();
        let (output, mut printed) = LiveOutput::open();
        let mut running = pin!(self.filtered(call, calls, output));
        let mut number = 0;
        loop {
            // All branches are cancel-safe: a call and an output that are not taken stay where they are, the first is only polled.
            tokio::select! {
                biased;
                answer = &mut running => return answer,
                Some(inner) = wanted.recv() => {
                    number += 1;
                    self.run_inner(call, number, inner).await;
                }
                Some(tail) = printed.next() => {
                    self.observer.on_event(RunEvent::ToolProgress { id: call.id.clone(), tail });
                }
            }
        }
    }

    /// Runs a call that a running call makes: the same filter, the same tools, an id that tells where it belongs.
    async fn run_inner(&self, outer: &ToolCall, number: usize, inner: InnerCall) {
        let id = ToolCallId(format!("{}.{number}", outer.id));
        let call = ToolCall { id, name: inner.tool, input: inner.input };
        let answer = if number > INNER_CALLS_MAX {
            ToolAnswer::error(format!("One call can make at most {INNER_CALLS_MAX} calls."))
        } else {
            self.filtered(&call, InnerCalls::none(), LiveOutput::none()).await
        };
        self.observer.on_event(RunEvent::ToolFinished { id: call.id, answer: answer.clone() });
        // Whoever asked may have been stopped meanwhile.
        drop(inner.reply.send(answer));
    }

    async fn filtered(&self, call: &ToolCall, calls: InnerCalls, output: LiveOutput) -> ToolAnswer {
        let traced = Traced::tool(call);
        let (answer, end) = traced.around(self.ended(call, calls, output)).await;
        traced.tool_ended(end);
        answer
    }

    async fn ended(
        &self,
        call: &ToolCall,
        calls: InnerCalls,
        output: LiveOutput,
    ) -> (ToolAnswer, CallEnd) {
        self.observer.on_event(RunEvent::ToolStarted { call: call.clone() });
        if !self.tools.only_calls(&call.name)
            && let Err(denial) = self.filter.check(&call.name, &call.input)
        {
            telemetry::tool_filter(&call.name, &denial);
            return (ToolAnswer::error(denial.to_string()), CallEnd::Denied);
        }
        if self.cancel.is_cancelled() {
            return (ToolAnswer::error(STOPPED), CallEnd::Stopped);
        }
        let context = CallContext {
            agent: self.agent.into(),
            cancel: self.cancel.clone(),
            calls,
            output,
            snapshot: self.snapshot.clone().filter(|_| self.tools.forks(&call.name)),
            delegation_depth: 0,
            traceparent: telemetry::ambient_traceparent(),
        };
        let dispatched = AssertUnwindSafe(self.tools.dispatch(call, &context)).catch_unwind();
        match stopping(dispatched, self.cancel).await {
            Some(Ok(answer)) if answer.is_error => (answer, CallEnd::Failed),
            Some(Ok(answer)) => (answer, CallEnd::Answered),
            Some(Err(_)) => {
                tracing::error!(tool = %call.name, "a tool panicked");
                let told = "The tool failed in a way that it should not: this is a bug.";
                (ToolAnswer::error(told), CallEnd::Panicked)
            }
            None => (ToolAnswer::error(STOPPED), CallEnd::Stopped),
        }
    }
}

/// The model's own mistake, told so that it can mend it.
fn invalid_input(text: &str) -> ToolAnswer {
    const SHOWN_CHARS: usize = 200;
    let shown: String = text.chars().take(SHOWN_CHARS).collect();
    ToolAnswer::error(format!(
        "The arguments of this call are not a JSON object, so it was not run. They begin: {shown}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_were_all_denied_where_each_one_was() {
        let check = |answers: &[ToolAnswer], expected: Option<&str>| {
            let runs = answers.iter().map(|answer| {
                let mut run = Denials::default();
                run.note(answer);
                run
            });
            let all = runs.fold(Denials::default(), Denials::and);
            assert_eq!(all.of_all(), expected, "{answers:?}");
        };
        let denied = |why: &str| ToolAnswer::denied("Denied.", why);
        check(&[], None);
        check(&[denied("first"), denied("last")], Some("last"));
        check(&[denied("first"), ToolAnswer::ok("done")], None);
        check(&[ToolAnswer::error("failed, so it was tried"), denied("last")], None);
    }
}
