//! A model that answers from a script.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tine_history::Hash;
use tine_llm::{LlmClient, LlmError, Progress, Request};
use tine_model::{Block, Message, StopReason, ToolInput, Usage, WireFormat};
use tine_sim::{CollectedBody, collect};
use tine_wire::{Event, Failure, FailureKind, Partial, Reply};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::{Gate, replies};

/// A request as it was handed to the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captured {
    /// Its wire format.
    pub format: WireFormat,
    /// The exact bytes of its body.
    pub body: Vec<u8>,
    /// Identity of its prefix.
    pub prefix: Vec<Hash>,
}

impl Captured {
    /// The body as text; bytes that are no text show as replacement characters.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// What the script says to one request.
#[derive(Debug)]
pub struct Answer {
    before: Vec<Gate>,
    midway: Option<Gate>,
    end: End,
}

#[derive(Debug)]
enum End {
    Reply(Box<Reply>),
    Error(Box<LlmError>),
    Broken(Box<Message>, Box<LlmError>),
    Hang(Option<Box<Message>>),
}

impl Answer {
    /// This reply.
    pub fn reply(reply: Reply) -> Self {
        Self::new(End::Reply(Box::new(reply)))
    }

    /// This message, with the stop reason and usage of [`replies::reply`].
    pub fn message(message: Message) -> Self {
        Self::reply(replies::reply(message))
    }

    /// These words.
    pub fn text(text: impl Into<String>) -> Self {
        Self::message(replies::text(text))
    }

    /// These tool calls; see [`replies::calls`].
    pub fn calls<'a>(calls: impl IntoIterator<Item = (&'a str, &'a str, &'a str)>) -> Self {
        Self::message(replies::calls(calls))
    }

    /// This error, without any part of a reply before it.
    pub fn error(error: LlmError) -> Self {
        Self::new(End::Error(Box::new(error)))
    }

    /// These words, and then this error in place of the reply's end.
    pub fn text_then_error(text: impl Into<String>, error: LlmError) -> Self {
        Self::new(End::Broken(Box::new(replies::text(text)), Box::new(error)))
    }

    /// A refusal of this kind, as if the first try had failed for good.
    pub fn refused(kind: FailureKind, message: &str) -> Self {
        Self::error(refusal(kind, message.to_owned()))
    }

    /// Nothing at all, until the request is cancelled.
    pub fn hang() -> Self {
        Self::new(End::Hang(None))
    }

    /// These words, and then nothing more until the request is cancelled; they are in the error's partial reply.
    pub fn text_then_hang(text: impl Into<String>) -> Self {
        Self::new(End::Hang(Some(Box::new(replies::text(text)))))
    }

    /// Waits at `gate` before the first event. An answer may be behind several gates.
    pub fn behind(mut self, gate: &Gate) -> Self {
        self.before.push(gate.clone());
        self
    }

    /// Returns true for a reply that calls this tool.
    pub fn calls_tool(&self, tool: &str) -> bool {
        let End::Reply(reply) = &self.end else { return false };
        let is_call = |block: &Block| matches!(block, Block::ToolUse { name, .. } if name == tool);
        reply.message.blocks().iter().any(is_call)
    }

    /// Waits at `gate` after the first event and before any content: the moment at which a cache entry is readable.
    pub fn pausing_at(mut self, gate: &Gate) -> Self {
        self.midway = Some(gate.clone());
        self
    }

    /// Changes what the reply reports as its cost. Changes nothing on an answer that is no reply.
    pub fn with_usage(mut self, usage: Usage) -> Self {
        if let End::Reply(reply) = &mut self.end {
            reply.usage = usage;
        }
        self
    }

    /// Changes why the reply stops. Changes nothing on an answer that is no reply.
    pub fn with_stop(mut self, stop: StopReason) -> Self {
        if let End::Reply(reply) = &mut self.end {
            reply.stop = stop;
        }
        self
    }

    fn new(end: End) -> Self {
        Self { before: Vec::new(), midway: None, end }
    }
}

type Script = Box<dyn FnMut(&Captured) -> Option<Answer> + Send>;

/// An [`LlmClient`] that answers from a script and keeps every request. A request that the script has no answer for is
/// refused, with its number in the message.
pub struct ScriptedModel {
    state: Mutex<State>,
    /// Number of requests so far, for those who wait for one.
    count: watch::Sender<usize>,
}

struct State {
    script: Script,
    requests: Vec<Captured>,
}

impl ScriptedModel {
    /// Answers in this order, whoever asks. For requests that run at the same time use [`Self::answering`].
    pub fn new(answers: impl IntoIterator<Item = Answer>) -> Self {
        let mut answers: VecDeque<Answer> = answers.into_iter().collect();
        Self::scripted(Box::new(move |_| answers.pop_front()))
    }

    /// Answers each request by what it says, so that siblings may ask in any order.
    pub fn answering(mut script: impl FnMut(&Captured) -> Answer + Send + 'static) -> Self {
        Self::scripted(Box::new(move |request| Some(script(request))))
    }

    /// Every request so far, in the order in which they came.
    pub fn requests(&self) -> Vec<Captured> {
        self.state().requests.clone()
    }

    /// Returns once `count` requests have come.
    pub async fn requested(&self, count: usize) {
        // The sender lives as long as `self`, so the wait cannot end for lack of one.
        let _ = self.count.subscribe().wait_for(|found| *found >= count).await;
    }

    fn scripted(script: Script) -> Self {
        let state = State { script, requests: Vec::new() };
        Self { state: Mutex::new(state), count: watch::Sender::new(0) }
    }

    fn take(&self, request: &Request) -> Answer {
        let captured = Captured {
            format: request.format,
            body: request.body.to_vec(),
            prefix: request.prefix.clone(),
        };
        let path = captured.format.as_str();
        collect(CollectedBody { path, headers: &[], body: &captured.body });
        let mut state = self.state();
        let answer = (state.script)(&captured);
        state.requests.push(captured);
        let number = state.requests.len();
        drop(state);
        self.count.send_replace(number);
        let missing = || format!("the script has no answer to request {number}");
        answer.unwrap_or_else(|| Answer::refused(FailureKind::Other, &missing()))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A script that panicked has failed its test already; the requests are still worth reading.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for ScriptedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedModel").field("requests", &self.state().requests.len()).finish()
    }
}

#[async_trait]
impl LlmClient for ScriptedModel {
    /// Tests do not wait.
    fn backoff(&self) -> Duration {
        Duration::from_millis(1)
    }

    async fn send(
        &self,
        request: &Request,
        on_progress: &mut (dyn for<'p> FnMut(Progress<'p>) + Send),
        cancel: &CancellationToken,
    ) -> Result<Reply, LlmError> {
        if cancel.is_cancelled() {
            return Err(cancelled(None));
        }
        let answer = self.take(request);
        for gate in &answer.before {
            cancel.run_until_cancelled(gate.pass()).await.ok_or_else(|| cancelled(None))?;
        }
        let message = match &answer.end {
            End::Reply(reply) => Some(&reply.message),
            End::Hang(message) => message.as_deref(),
            End::Broken(message, _) => Some(&**message),
            End::Error(_) => None,
        };
        if let Some(message) = message {
            let usage = Usage { output: 0, ..replies::USAGE };
            let id = || Some("scripted".to_owned());
            on_progress(Progress::Event(&Event::Started { id: id(), model: id(), usage }));
            if let Some(gate) = &answer.midway {
                cancel.run_until_cancelled(gate.pass()).await.ok_or_else(|| cancelled(None))?;
            }
            for event in events(message) {
                on_progress(Progress::Event(&event));
            }
        }
        match answer.end {
            End::Reply(reply) => Ok(*reply),
            End::Error(error) | End::Broken(_, error) => Err(*error),
            End::Hang(message) => {
                cancel.cancelled().await;
                Err(cancelled(message.map(|message| *message)))
            }
        }
    }
}

/// What a stream of this message would have reported, each block in one part.
fn events(message: &Message) -> Vec<Event> {
    let mut events = Vec::new();
    for (index, block) in message.blocks().iter().enumerate() {
        match block {
            Block::Text(text) => events.push(Event::Text { delta: text.clone() }),
            Block::Thinking { text, .. } => events.push(Event::Thinking { delta: text.clone() }),
            Block::ToolUse { id, name, input } => {
                events.push(Event::ToolCall { id: id.clone(), name: name.clone() });
                let delta = match input {
                    ToolInput::Valid(json) => json.as_str().to_owned(),
                    ToolInput::Invalid(text) => text.clone(),
                };
                events.push(Event::ToolInput { delta });
            }
            Block::RedactedThinking(_)
            | Block::ToolResult { .. }
            | Block::Image(_)
            | Block::Document(_)
            | Block::Unknown(_) => events.push(Event::Other),
        }
        events.push(Event::BlockDone { index });
    }
    events
}

fn cancelled(message: Option<Message>) -> LlmError {
    let (usage, id) = (Usage::default(), None);
    LlmError::Cancelled { partial: Box::new(Partial { message, usage, id }) }
}

fn refusal(kind: FailureKind, message: String) -> LlmError {
    let failure = Failure { status: None, kind, message, code: None, request_id: None };
    LlmError::Refused { failure, attempts: 1, asked_wait: None }
}

#[cfg(test)]
mod tests {
    use tine_history::History;
    use tine_model::{EntryId, ModelRef, ModelSettings, Provider};
    use tine_wire::{Head, HeadParts, RequestOptions, assemble};

    use super::*;

    fn request(prompt: &str) -> Request {
        let model = ModelRef { provider: Provider::Anthropic, name: "scripted".to_owned() };
        let settings = ModelSettings { model, max_tokens: 9, thinking: None, effort: None };
        let head = Head::render(HeadParts::new(settings, String::new(), vec![]));
        let mut history = History::new();
        history.push(EntryId(1), std::sync::Arc::new(Message::user(prompt)));
        Request::new(head.format(), &assemble(&head, &mut history, &RequestOptions::default()))
    }

    async fn send(
        model: &ScriptedModel,
        prompt: &str,
        cancel: &CancellationToken,
    ) -> (Result<Reply, LlmError>, Vec<Event>) {
        let mut events = Vec::new();
        let mut note = |progress: Progress<'_>| match progress {
            Progress::Event(event) => events.push(event.clone()),
            Progress::Begun { .. } | Progress::Held { .. } | Progress::Retry { .. } => {}
        };
        let reply = model.send(&request(prompt), &mut note, cancel).await;
        (reply, events)
    }

    #[tokio::test]
    async fn answers_come_in_order_and_bodies_are_kept() {
        let model = ScriptedModel::new([
            Answer::calls([("c1", "Read", "{}")]),
            Answer::text("done").with_stop(StopReason::MaxTokens),
            Answer::refused(FailureKind::Overloaded, "busy"),
        ]);
        let cancel = CancellationToken::new();
        let (first, events) = send(&model, "one", &cancel).await;
        assert_eq!(first.unwrap().stop, StopReason::ToolUse);
        assert_eq!(events.len(), 4);
        assert_eq!(send(&model, "two", &cancel).await.0.unwrap().stop, StopReason::MaxTokens);
        let mut causes = Vec::new();
        for prompt in ["three", "four"] {
            causes.push(send(&model, prompt, &cancel).await.0.unwrap_err().to_string());
        }
        let missing = "request failed: the script has no answer to request 4";
        assert_eq!(causes, ["overloaded: busy", missing]);
        let bodies: Vec<Vec<u8>> = model.requests().into_iter().map(|found| found.body).collect();
        let sent = ["one", "two", "three", "four"].map(|prompt| request(prompt).body.to_vec());
        assert_eq!(bodies, sent);
    }

    #[tokio::test]
    async fn answers_may_depend_on_the_request() {
        let model = ScriptedModel::answering(|request| {
            Answer::text(if request.text().contains("left") { "L" } else { "R" })
        });
        let cancel = CancellationToken::new();
        let (right, left) =
            tokio::join!(send(&model, "right", &cancel), send(&model, "left", &cancel));
        assert_eq!(
            (right.0.unwrap().message.text(), left.0.unwrap().message.text()),
            ("R".into(), "L".into())
        );
    }

    #[tokio::test]
    async fn a_gate_holds_the_answer_until_it_is_opened() {
        let gate = Gate::new();
        let model = ScriptedModel::new([Answer::text("late").pausing_at(&gate)]);
        let cancel = CancellationToken::new();
        let test = async {
            model.requested(1).await;
            gate.reached().await;
            gate.open();
        };
        let ((reply, _), ()) = tokio::join!(send(&model, "p", &cancel), test);
        assert_eq!(reply.unwrap().message.text(), "late");
    }

    #[tokio::test]
    async fn a_hanging_answer_ends_when_cancelled_and_keeps_its_words() {
        let model = ScriptedModel::new([Answer::text_then_hang("half"), Answer::hang()]);
        for expected in [Some("half".to_owned()), None] {
            let cancel = CancellationToken::new();
            let asked = model.requests().len() + 1;
            let test = async {
                model.requested(asked).await;
                cancel.cancel();
            };
            let ((reply, _), ()) = tokio::join!(send(&model, "p", &cancel), test);
            let error = reply.unwrap_err();
            assert_eq!(error.partial().unwrap().message.as_ref().map(Message::text), expected);
        }
    }
}
