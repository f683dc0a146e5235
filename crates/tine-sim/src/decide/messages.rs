//! Deciding a Messages request.

use serde_json::{Value, json};

use super::{Decision, Reply, Written};
use crate::answer::{Answer, Stop};
use crate::anthropic::{self, Comparison, Flattened, Head, Purpose, Request};
use crate::conversation::Conversation;
use crate::endpoint::Endpoint;
use crate::exchange::{Arrival, Shared};
use crate::profile::Profile;
use crate::refusal::Refusal;

impl Shared {
    fn parse_messages(
        &self,
        arrival: &Arrival,
        purpose: Purpose,
    ) -> Result<(Request, Flattened), Refusal> {
        let scope = arrival.scope();
        let scope = scope.ok_or_else(|| Refusal::new(401, "x-api-key header is required"))?;
        let version = arrival.headers.get("anthropic-version").and_then(|it| it.to_str().ok());
        let version =
            version.ok_or_else(|| Refusal::invalid("anthropic-version: header is required"))?;
        let request = Request::parse(&arrival.body, purpose, &arrival.betas())?;
        // Others that speak the format have its versions, and not their rules.
        if self.profile(&request.model, Endpoint::Messages) == Profile::Anthropic {
            request.check_version(version)?;
        }
        if !self.scenario.has_model(&request.model) {
            return Err(Refusal::new(404, format!("model: {}", request.model)));
        }
        let flattened = Flattened::of(&request, scope, self.scenario.thinking_binding)?;
        Ok((request, flattened))
    }

    pub(super) fn count_tokens(&self, arrival: &Arrival) -> Result<Decision, Box<Decision>> {
        let (_, flattened) = self.parse_messages(arrival, Purpose::CountTokens)?;
        let body = json!({"input_tokens": flattened.prompt.tokens()}).to_string();
        Ok(Decision { first_byte_ms: 0, reply: Reply::Json { body } })
    }

    pub(super) fn decide_messages(&self, arrival: &Arrival) -> Result<Decision, Box<Decision>> {
        let (request, mut flattened) = self.parse_messages(arrival, Purpose::Generate)?;
        self.admit(arrival, &request.model, Endpoint::Messages)?;
        let seen = Conversation::read(request.pieces(), &self.scenario.not_user_text);
        let (answer, fault) = match request.max_tokens {
            // A prewarm generates nothing, so no rule is asked.
            0 => (Answer { stop: Stop::MaxTokens, ..Answer::default() }, None),
            max_tokens => {
                let profile = self.profile(&request.model, Endpoint::Messages);
                let sizes = (flattened.prompt.tokens(), max_tokens);
                let room = self.reply_room(Endpoint::Messages, profile, sizes)?;
                self.answer_of(&seen, room, Endpoint::Messages, request.stream)?
            }
        };
        let thinking = answer.thinking.as_deref().unwrap_or_default();
        let profile = self.profile(&request.model, Endpoint::Messages);
        let signature = flattened.sign(thinking);
        let prompt = &mut flattened.prompt;
        let mut state = self.state();
        let whose = (profile, request.model.as_str());
        let charge = self.charge(&mut state, arrival, Endpoint::Messages, whose, prompt)?;
        let reports = !fault.is_some_and(|fault| fault.no_usage);
        let id = state.ids.reply("msg");
        let diagnostics = match &request.comparison {
            Comparison::None => None,
            Comparison::First => Some(Value::Null),
            Comparison::With(earlier) => {
                let earlier = state.memory.recall(&flattened.prompt.scope, earlier);
                Some(anthropic::diagnosis(&flattened.trace, earlier))
            }
        };
        if request.comparison != Comparison::None {
            state.memory.remember(flattened.prompt.scope, &id, flattened.trace);
        }
        let head = Head {
            id,
            model: self.model(),
            usage: reports.then_some(charge.usage),
            diagnostics,
            transformations: flattened.transformations,
            signature,
            call_ids: state.ids.calls("toolu", answer.calls.len()),
            unknown_events: fault.is_some_and(|fault| fault.unknown_events),
        };
        drop(state);
        let frames = if request.stream {
            anthropic::frames(&head, &answer)
        } else {
            vec![anthropic::json_body(&head, &answer)]
        };
        let written = Written { profile, prompt: flattened.prompt, charge, answer: Vec::new() };
        Ok(self.sent(frames, &anthropic::dialect(), (fault, request.stream), &answer, written))
    }
}
