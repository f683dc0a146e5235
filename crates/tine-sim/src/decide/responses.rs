//! Deciding a Responses request.

use serde_json::{Value, json};

use super::{Decision, Written};
use crate::answer::Answer;
use crate::conversation::Conversation;
use crate::endpoint::Endpoint;
use crate::exchange::{Arrival, Shared};
use crate::responses::{self, Flattened, Head, ItemIds, Request};

impl Shared {
    pub(super) fn decide_responses(&self, arrival: &Arrival) -> Result<Decision, Box<Decision>> {
        let account = self.openai_account(arrival)?;
        let request =
            Request::parse(&arrival.body, |model| self.profile(model, Endpoint::Responses))?;
        self.check_openai_model(&request.model)?;
        self.admit(arrival, &request.model, Endpoint::Responses)?;
        let mut flattened = Flattened::of(&request, &account, self.scenario.thinking_binding)?;
        let seen = Conversation::read(request.pieces(), &self.scenario.not_user_text);
        let (answer, fault) = match request.cache.is_prewarm {
            // A prewarm generates nothing, so no rule is asked.
            true => (Answer::default(), None),
            false => {
                let profile = self.profile(&request.model, Endpoint::Responses);
                let sizes = (flattened.rendered.prompt.tokens(), request.max_tokens);
                let room = self.reply_room(Endpoint::Responses, profile, sizes)?;
                self.answer_of(&seen, room, Endpoint::Responses, request.stream)?
            }
        };
        let profile = self.profile(&request.model, Endpoint::Responses);
        let thinking = answer.thinking.as_deref().unwrap_or_default();
        let summary = summary(thinking, request.includes_summary);
        let encrypted = request.includes_encrypted.then(|| flattened.seal(thinking, &summary));
        let mut state = self.state();
        let prompt = &mut flattened.rendered.prompt;
        let whose = (profile, request.model.as_str());
        let charge = self.charge(&mut state, arrival, Endpoint::Responses, whose, prompt)?;
        let trace = responses::trace(&request, &flattened);
        let diagnostics = request.cache.comparison.as_ref().map(|id| {
            responses::diagnosis(&trace, state.memory.recall(&account, id), &charge.usage)
        });
        let reports = !fault.is_some_and(|fault| fault.no_usage);
        let id = state.ids.reply("resp");
        state.memory.remember(account, &id, trace);
        let call_ids = state.ids.calls("call", answer.calls.len());
        let head = Head {
            id,
            created: arrival.at_ms / 1_000,
            model: self.model(),
            usage: reports.then_some(charge.usage),
            profile,
            echo: request.echo,
            summary,
            encrypted,
            ids: ItemIds::new(&answer, call_ids, || state.ids.item()),
            diagnostics,
            transformations: flattened.transformations,
            unknown_events: fault.is_some_and(|fault| fault.unknown_events),
        };
        drop(state);
        let frames = if request.stream {
            responses::frames(&head, &answer)
        } else {
            vec![responses::json_body(&head, &answer)]
        };
        let prompt = flattened.rendered.prompt;
        let written = Written { profile, prompt, charge, answer: Vec::new() };
        Ok(self.sent(frames, &responses::dialect(), (fault, request.stream), &answer, written))
    }
}

/// Reasoning in words, or nothing of it.
fn summary(thinking: &str, is_wanted: bool) -> Value {
    if is_wanted && !thinking.is_empty() {
        json!([{"type": "summary_text", "text": thinking}])
    } else {
        json!([])
    }
}
