//! What to do with one request: refuse it, or answer it as the scenario says. Changes the caches and the counters, sends
//! nothing.

use tine_model::Usage;

use crate::answer::{self, Answer, Stop};
use crate::anthropic::{self, Flattened, Purpose};
use crate::cache::{Lookup, PromptUsage};
use crate::chat;
use crate::conversation::Conversation;
use crate::exchange::{Arrival, Endpoint, ServerState, Shared};
use crate::fault::{Ending, ErrorBody, Fault};
use crate::prefix_cache::PrefixPrompt;
use crate::refusal::{self, Refusal};
use crate::scenario::AnswerTemplate;
use crate::stream::{self, Dialect, Frame, Step};

/// Counters behind the ids, so that a run can be repeated to the byte.
#[derive(Debug, Default)]
pub(crate) struct Ids {
    replies: u64,
    calls: u64,
}

impl Ids {
    fn reply(&mut self, prefix: &str) -> String {
        self.replies += 1;
        format!("{prefix}_sim_{:06}", self.replies)
    }

    fn calls(&mut self, prefix: &str, count: usize) -> Vec<String> {
        let mut next = || {
            self.calls += 1;
            format!("{prefix}_sim_{:06}", self.calls)
        };
        (0..count).map(|_| next()).collect()
    }
}

/// What is going to happen.
pub(crate) struct Decision {
    pub(crate) first_byte_ms: u64,
    pub(crate) reply: Reply,
}

pub(crate) enum Reply {
    /// The connection closes and nothing is sent.
    Close,
    /// An error with a status.
    Error { refusal: Refusal, retry_after: Option<u64>, body: ErrorBody },
    /// An answer that costs nothing.
    Json { body: String },
    /// An answer of the simulated model.
    Body { steps: Vec<Step>, is_stream: bool, usage: Usage, write: CacheWrite },
}

/// What becomes readable when the response begins.
pub(crate) enum CacheWrite {
    Blocks(Lookup),
    Prefix(PrefixPrompt),
}

impl CacheWrite {
    pub(crate) fn publish(&self, state: &mut ServerState, born_ms: u64) {
        match self {
            Self::Blocks(lookup) => state.blocks.publish(lookup),
            Self::Prefix(prompt) => state.prefixes.publish(prompt, born_ms),
        }
    }
}

impl Decision {
    pub(crate) fn refuse(refusal: Refusal) -> Self {
        let reply = Reply::Error { refusal, retry_after: None, body: ErrorBody::Vendor(None) };
        Self { first_byte_ms: 0, reply }
    }

    pub(crate) fn status(&self) -> Option<u16> {
        match &self.reply {
            Reply::Close => None,
            Reply::Error { refusal, .. } => Some(refusal.status),
            Reply::Json { .. } | Reply::Body { .. } => Some(200),
        }
    }

    pub(crate) fn usage(&self) -> Option<Usage> {
        match &self.reply {
            Reply::Body { usage, .. } => Some(*usage),
            Reply::Close | Reply::Error { .. } | Reply::Json { .. } => None,
        }
    }
}

/// A rule's choice for one request.
struct Choice<'a> {
    answer: Option<&'a AnswerTemplate>,
    fault: Option<&'a Fault>,
}

impl Shared {
    pub(crate) fn decide(&self, endpoint: Endpoint, arrival: &Arrival) -> Decision {
        let decided = match endpoint {
            Endpoint::Messages => self.decide_messages(arrival),
            Endpoint::CountTokens => self.count_tokens(arrival),
            Endpoint::Chat => self.decide_chat(arrival),
            Endpoint::Unknown => Err(Refusal::new(404, format!("Not found: {}", arrival.path))),
        };
        decided.unwrap_or_else(Decision::refuse)
    }

    fn parse_messages(
        &self,
        arrival: &Arrival,
        purpose: Purpose,
    ) -> Result<(anthropic::Request, Flattened), Refusal> {
        let scope = arrival.scope();
        let scope = scope.ok_or_else(|| Refusal::new(401, "x-api-key header is required"))?;
        if !arrival.headers.contains_key("anthropic-version") {
            return Err(Refusal::invalid("anthropic-version: header is required"));
        }
        let request = anthropic::Request::parse(&arrival.body, purpose)?;
        if !self.scenario.has_model(&request.model) {
            return Err(Refusal::new(404, format!("model: {}", request.model)));
        }
        let flattened = Flattened::of(&request, scope, self.scenario.thinking_binding)?;
        Ok((request, flattened))
    }

    fn count_tokens(&self, arrival: &Arrival) -> Result<Decision, Refusal> {
        let (_, flattened) = self.parse_messages(arrival, Purpose::CountTokens)?;
        let body = serde_json::json!({"input_tokens": flattened.prompt.tokens()}).to_string();
        Ok(Decision { first_byte_ms: 0, reply: Reply::Json { body } })
    }

    fn decide_messages(&self, arrival: &Arrival) -> Result<Decision, Refusal> {
        let (request, flattened) = self.parse_messages(arrival, Purpose::Generate)?;
        let seen = Conversation::read(request.pieces(), &self.scenario.not_user_text);
        let (answer, fault) = match request.max_tokens {
            // A prewarm generates nothing, so no rule is asked.
            0 => (Answer { stop: Stop::MaxTokens, ..Answer::default() }, None),
            max_tokens => {
                match self.answer_of(&seen, max_tokens, Endpoint::Messages, request.stream) {
                    Ok(answered) => answered,
                    Err(decision) => return Ok(*decision),
                }
            }
        };
        let thinking = answer.thinking.as_deref().unwrap_or_default();
        let mut state = self.state();
        let lookup = state.blocks.lookup(&flattened.prompt, arrival.at_ms);
        let reports = !fault.is_some_and(|fault| fault.no_usage);
        let head = anthropic::Head {
            id: state.ids.reply("msg"),
            model: self.model(),
            usage: reports.then_some(lookup.usage),
            signature: flattened.sign(thinking),
            call_ids: state.ids.calls("toolu", answer.calls.len()),
            unknown_events: fault.is_some_and(|fault| fault.unknown_events),
        };
        drop(state);
        let frames = match request.stream {
            true => anthropic::frames(&head, &answer),
            false => vec![anthropic::json_body(&head, &answer)],
        };
        let steps = self.steps(frames, &anthropic::dialect(), fault, request.stream);
        let usage = messages_usage(&lookup.usage, &answer);
        let write = CacheWrite::Blocks(lookup);
        let reply = Reply::Body { steps, is_stream: request.stream, usage, write };
        Ok(Decision { first_byte_ms: self.first_byte_ms(fault), reply })
    }

    fn decide_chat(&self, arrival: &Arrival) -> Result<Decision, Refusal> {
        let scope = arrival.scope().ok_or_else(|| {
            Refusal::new(
                401,
                "You didn't provide an API key: the Authorization header must be `Bearer KEY`",
            )
            .with_code("invalid_api_key")
        })?;
        let request = chat::Request::parse(&arrival.body)?;
        if !self.scenario.has_model(&request.model) {
            let message = format!("The model `{}` does not exist", request.model);
            return Err(Refusal::new(404, message).with_code("model_not_found"));
        }
        let seen = Conversation::read(request.pieces(), &self.scenario.not_user_text);
        let answered = self.answer_of(&seen, request.max_tokens, Endpoint::Chat, request.stream);
        let (answer, fault) = match answered {
            Ok(answered) => answered,
            Err(decision) => return Ok(*decision),
        };
        let prompt = request.prompt(scope);
        let mut state = self.state();
        let cached = state.prefixes.lookup(&prompt, arrival.at_ms);
        let reports = !fault.is_some_and(|fault| fault.no_usage);
        let head = chat::Head {
            id: state.ids.reply("chatcmpl"),
            created: arrival.at_ms / 1_000,
            model: self.model(),
            usage: reports.then_some(chat::PrefixUsage { prompt: prompt.tokens(), cached }),
            include_usage: request.include_usage,
            call_ids: state.ids.calls("call", answer.calls.len()),
            unknown_events: fault.is_some_and(|fault| fault.unknown_events),
        };
        drop(state);
        let frames = match request.stream {
            true => chat::frames(&head, &answer),
            false => vec![chat::json_body(&head, &answer)],
        };
        let steps = self.steps(frames, &chat::dialect(), fault, request.stream);
        let usage = Usage {
            uncached: prompt.tokens() - cached,
            read: Some(cached),
            output: answer.output_tokens,
            reasoning: Some(answer.thinking_tokens),
            ..Usage::default()
        };
        let write = CacheWrite::Prefix(prompt);
        let reply = Reply::Body { steps, is_stream: request.stream, usage, write };
        Ok(Decision { first_byte_ms: self.first_byte_ms(fault), reply })
    }

    /// The answer and the fault that it meets, or the decision that takes the answer's place.
    fn answer_of(
        &self,
        seen: &Conversation<'_>,
        max_tokens: u64,
        endpoint: Endpoint,
        is_stream: bool,
    ) -> Result<(Answer, Option<&Fault>), Box<Decision>> {
        let Choice { answer, fault } = self.choose(seen);
        let first_byte_ms = self.first_byte_ms(fault);
        let instead = |reply| Err(Box::new(Decision { first_byte_ms, reply }));
        let error = |status: u16, retry_after, body: &ErrorBody| {
            let message = match body {
                ErrorBody::Vendor(Some(message)) => message.clone(),
                ErrorBody::Vendor(None) | ErrorBody::Html => refusal::message_of(status).to_owned(),
            };
            let refusal = Refusal::new(status, message);
            instead(Reply::Error { refusal, retry_after, body: body.clone() })
        };
        match fault.and_then(|fault| fault.ending.as_ref()) {
            Some(Ending::Status { status, retry_after, body }) => {
                return error(*status, *retry_after, body);
            }
            Some(Ending::CloseBeforeFirstByte) => {
                return instead(Reply::Close);
            }
            // Without a stream the error has nowhere to stand but in the status.
            Some(Ending::ErrorEvent { kind, .. }) if !is_stream => {
                return error(status_of(kind, endpoint), None, &ErrorBody::Vendor(None));
            }
            None | Some(Ending::ErrorEvent { .. } | Ending::Cut { .. } | Ending::Stall { .. }) => {}
        }
        let mut answer = match answer {
            Some(template) => answer::fill(template, seen, max_tokens),
            None => answer::unmatched(self.scenario.name(), max_tokens),
        };
        if fault.is_some_and(|fault| fault.broken_tool_input) {
            for call in &mut answer.calls {
                call.input.truncate(call.input.floor_char_boundary(call.input.len() / 2));
            }
        }
        Ok((answer, fault))
    }

    /// The first rule that matches and still has something to say: one that is there for its fault alone steps aside once
    /// the fault has been used up.
    fn choose(&self, seen: &Conversation<'_>) -> Choice<'_> {
        let rules = self.scenario.rules.iter().enumerate();
        for (index, rule) in rules.filter(|(_, rule)| rule.matches(seen)) {
            let fault = rule.fault.as_ref().filter(|fault| self.use_fault(index, fault));
            if rule.answer.is_some() || fault.is_some() {
                return Choice { answer: rule.answer.as_ref(), fault };
            }
        }
        Choice { answer: None, fault: None }
    }

    fn use_fault(&self, rule: usize, fault: &Fault) -> bool {
        let Some(times) = fault.times else { return true };
        let used = &mut self.state().faults_used[rule];
        let is_left = *used < times;
        *used += u32::from(is_left);
        is_left
    }

    fn first_byte_ms(&self, fault: Option<&Fault>) -> u64 {
        self.scenario.first_byte_ms + fault.map_or(0, |fault| fault.first_byte_ms)
    }

    /// What stands wherever a model is named: never a real one.
    fn model(&self) -> String {
        format!("sim/{}", self.scenario.name())
    }

    fn steps(
        &self,
        frames: Vec<Frame>,
        dialect: &Dialect,
        fault: Option<&Fault>,
        is_stream: bool,
    ) -> Vec<Step> {
        let delay = |tokens: u64| match tokens {
            0 => 0,
            tokens => self.scenario.delta_delay_ms(tokens),
        };
        let pings = fault.filter(|fault| fault.pings > 0 && !is_stream);
        let without_pings = pings.map(|fault| Fault { pings: 0, ..fault.clone() });
        stream::plan(
            frames,
            dialect,
            without_pings.as_ref().or(fault),
            self.scenario.visible_at,
            delay,
        )
    }
}

fn status_of(kind: &str, endpoint: Endpoint) -> u16 {
    match (kind, endpoint) {
        ("rate_limit_error", _) => 429,
        ("overloaded_error", Endpoint::Chat) => 503,
        ("overloaded_error", _) => 529,
        _ => 500,
    }
}

fn messages_usage(prompt: &PromptUsage, answer: &Answer) -> Usage {
    Usage {
        uncached: prompt.input,
        write_short: Some(prompt.write_5m),
        write_long: Some(prompt.write_1h),
        read: Some(prompt.read),
        output: answer.output_tokens,
        reasoning: Some(answer.thinking_tokens),
    }
}
