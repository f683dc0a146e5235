//! What to do with one request: refuse it, or answer it as the scenario says. Changes the caches and the counters, sends
//! nothing. What a format adds to that is in a file of its own below.

mod chat;
mod gemini;
mod messages;
mod responses;

use tine_model::Usage;

use crate::answer::{self, Answer};
use crate::cache::{Charge, Digest, Prompt, PromptUsage};
use crate::chat::Host;
use crate::collect::collect_reply;
use crate::conversation::Conversation;
use crate::endpoint::Endpoint;
use crate::exchange::{Arrival, ServerState, Shared};
use crate::fault::{Ending, ErrorBody, Fault};
use crate::profile::Profile;
use crate::quota;
use crate::refusal::{self, Refusal};
use crate::scenario::AnswerTemplate;
use crate::stream::{self, Dialect, Frame, Step};
use crate::window::{ReplyRoom, Sizes};

/// Counters behind the ids, so that a run can be repeated to the byte.
#[derive(Debug, Default)]
pub(crate) struct Ids {
    replies: u64,
    calls: u64,
    items: u64,
}

impl Ids {
    fn reply(&mut self, prefix: &str) -> String {
        self.replies += 1;
        format!("{prefix}_sim_{:06}", self.replies)
    }

    /// Number of the next output item.
    fn item(&mut self) -> u64 {
        self.items += 1;
        self.items
    }

    fn calls(&mut self, prefix: &str, count: usize) -> Vec<String> {
        self.numbers(count).map(|number| format!("{prefix}_sim_{number:06}")).collect()
    }

    /// As Mistral has them: nine letters and digits.
    fn short_calls(&mut self, count: usize) -> Vec<String> {
        self.numbers(count).map(|number| format!("sim{number:06}")).collect()
    }

    fn numbers(&mut self, count: usize) -> impl Iterator<Item = u64> {
        let before = self.calls;
        self.calls += count as u64;
        before + 1..=self.calls
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
    Error { refusal: Refusal, body: ErrorBody },
    /// An answer that costs nothing.
    Json { body: String },
    /// An answer of the simulated model.
    Body { steps: Vec<Step>, is_stream: bool, usage: Usage, written: Box<Written> },
}

/// What the cache is told of when the response begins and ends.
pub(crate) struct Written {
    pub(crate) profile: Profile,
    pub(crate) prompt: Prompt,
    pub(crate) charge: Charge,
    /// The answer's lines as they will stand in the next prompt.
    pub(crate) answer: Vec<String>,
}

impl From<Refusal> for Box<Decision> {
    fn from(refusal: Refusal) -> Self {
        Self::new(Decision::refuse(refusal))
    }
}

impl Decision {
    pub(crate) fn refuse(refusal: Refusal) -> Self {
        let reply = Reply::Error { refusal, body: ErrorBody::Vendor(None) };
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

    /// What a cache model holds for the answer, if it does: the profile and the ticket.
    pub(crate) fn open(&self) -> Option<(Profile, u64)> {
        match &self.reply {
            Reply::Body { written, .. } => {
                Some((written.profile, written.charge.ticket)).filter(|(_, ticket)| *ticket != 0)
            }
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
            Endpoint::Responses => self.decide_responses(arrival),
            Endpoint::Gemini => self.decide_gemini(arrival),
            Endpoint::CachedContents => self.decide_cached_contents(arrival),
            Endpoint::Unknown => {
                Err(Refusal::new(404, format!("Not found: {}", arrival.path)).into())
            }
        };
        decided.unwrap_or_else(|instead| *instead)
    }

    /// The profile of a request for a model.
    fn profile(&self, model: &str, endpoint: Endpoint) -> Profile {
        Profile::of(self.scenario.profile, model, endpoint)
    }

    /// Counts a request of a model, or refuses it.
    fn admit(&self, arrival: &Arrival, model: &str, endpoint: Endpoint) -> Result<(), Refusal> {
        let model = arrival.model.get_or_init(|| model.to_owned());
        let Some(scope) = arrival.scope() else { return Ok(()) };
        // OpenAI says that failed requests count; the others do not say.
        let counts_failures = matches!(endpoint, Endpoint::Chat | Endpoint::Responses);
        let counted = self.state().quota.request(&scope, model, arrival.at_ms, counts_failures);
        counted.map_err(|over| quota::refusal(over, endpoint))
    }

    /// Counts the tokens of a request that was admitted, or refuses it.
    fn admit_tokens(
        &self,
        state: &mut ServerState,
        arrival: &Arrival,
        endpoint: Endpoint,
        (profile, usage): (Profile, &PromptUsage),
    ) -> Result<(), Refusal> {
        let (Some(scope), Some(model)) = (arrival.scope(), arrival.model.get()) else {
            return Ok(());
        };
        let free = if profile.limits_reads() { 0 } else { usage.read };
        let counted = state.quota.tokens(&scope, model, usage.total() - free, arrival.at_ms);
        counted.map_err(|over| quota::refusal(over, endpoint))
    }

    /// Bills a prompt, if the limits have room for it. The shortest entry is the model's, unless the scenario says
    /// otherwise.
    fn charge(
        &self,
        state: &mut ServerState,
        arrival: &Arrival,
        endpoint: Endpoint,
        (profile, model): (Profile, &str),
        prompt: &mut Prompt,
    ) -> Result<Charge, Refusal> {
        let least = self.scenario.cache_min_tokens;
        prompt.min_tokens = least.unwrap_or_else(|| profile.min_tokens(model));
        let charge = state.cache(profile, &self.scenario).lookup(prompt, arrival.at_ms);
        match self.admit_tokens(state, arrival, endpoint, (profile, &charge.usage)) {
            Ok(()) => Ok(charge),
            Err(refusal) => {
                state.cache(profile, &self.scenario).abandoned(charge.ticket);
                Err(refusal)
            }
        }
    }

    /// Whose request it is; in OpenAI's words when it is nobody's.
    fn openai_account(&self, arrival: &Arrival) -> Result<Digest, Refusal> {
        arrival.scope().ok_or_else(|| {
            Refusal::new(
                401,
                "You didn't provide an API key: the Authorization header must be `Bearer KEY`",
            )
            .with_code("invalid_api_key")
        })
    }

    fn check_openai_model(&self, model: &str) -> Result<(), Refusal> {
        if self.scenario.has_model(model) {
            Ok(())
        } else {
            Err(Refusal::new(404, format!("The model `{model}` does not exist"))
                .with_code("model_not_found"))
        }
    }

    /// The room for a reply in the model's window, or the refusal.
    fn reply_room(
        &self,
        endpoint: Endpoint,
        profile: Profile,
        (prompt, reply): (u64, u64),
    ) -> Result<ReplyRoom, Refusal> {
        let window = self.scenario.window_tokens();
        ReplyRoom::find(window, (endpoint, profile), Sizes { prompt, reply })
    }

    /// The answer and the fault that it meets, or the decision that takes the answer's place.
    fn answer_of(
        &self,
        seen: &Conversation<'_>,
        room: ReplyRoom,
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
            let refusal = Refusal { retry_after, ..Refusal::new(status, message) };
            instead(Reply::Error { refusal, body: body.clone() })
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
                return error(endpoint.status_of(kind), None, &ErrorBody::Vendor(None));
            }
            None | Some(Ending::ErrorEvent { .. } | Ending::Cut { .. } | Ending::Stall { .. }) => {}
        }
        let mut answer = match answer {
            Some(template) => answer::fill(template, seen, room.tokens),
            None => answer::unmatched(self.scenario.name(), room.tokens),
        };
        answer = room.told(answer, endpoint);
        if fault.is_some_and(|fault| fault.broken_tool_input) {
            for call in &mut answer.calls {
                call.input.truncate(call.input.floor_char_boundary(call.input.len() / 2));
            }
        }
        Ok((answer, fault))
    }

    /// The first rule that matches and still has something to say: one that is there for its fault alone steps aside where
    /// the fault does not strike.
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
        // Each rule has a sequence of its own, so that one fault does not follow another.
        let sequence = self.scenario.seed.wrapping_add(rule as u64);
        let now_ms = self.clock.now_ms();
        fault.strikes(&mut self.state().faults_used[rule], sequence, now_ms)
    }

    fn first_byte_ms(&self, fault: Option<&Fault>) -> u64 {
        self.scenario.first_byte_ms + fault.map_or(0, |fault| fault.first_byte_ms)
    }

    /// What stands wherever a model is named: never a real one.
    fn model(&self) -> String {
        format!("sim/{}", self.scenario.name())
    }

    /// The part of an answer that is sent, and the usage that is billed for it.
    fn sent(
        &self,
        frames: Vec<Frame>,
        dialect: &Dialect,
        (fault, is_stream): (Option<&Fault>, bool),
        answer: &Answer,
        written: Written,
    ) -> Decision {
        let delay = |tokens: u64| match tokens {
            0 => 0,
            tokens => self.scenario.delta_delay_ms(tokens),
        };
        // Mistral says contents in parts, which are in no type of OpenAI's.
        if fault.is_none() && self.scenario.host != Some(Host::Mistral) {
            let bytes: Vec<&[u8]> = frames.iter().map(|frame| &frame.bytes[..]).collect();
            collect_reply(dialect.name, is_stream, &bytes.concat());
        }
        let pings = fault.filter(|fault| fault.pings > 0 && !is_stream);
        let without_pings = pings.map(|fault| Fault { pings: 0, ..fault.clone() });
        let met = without_pings.as_ref().or(fault);
        let steps = stream::plan(frames, dialect, met, self.scenario.visible_at, delay);
        let usage = billed(written.profile, &written.charge.usage, answer);
        let reply = Reply::Body { steps, is_stream, usage, written: Box::new(written) };
        Decision { first_byte_ms: self.first_byte_ms(fault), reply }
    }
}

/// What a request is billed, in the shape that all providers share.
fn billed(profile: Profile, prompt: &PromptUsage, answer: &Answer) -> Usage {
    let writes = |tokens| profile.bills_writes().then_some(tokens);
    Usage {
        uncached: prompt.input,
        write_short: writes(prompt.write_short),
        write_long: writes(prompt.write_long),
        read: Some(prompt.read),
        output: answer.output_tokens,
        reasoning: Some(answer.thinking_tokens),
    }
}
