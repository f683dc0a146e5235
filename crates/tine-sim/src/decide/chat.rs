//! Deciding a Chat Completions request.

use super::{Decision, Written};
use crate::automatic::render;
use crate::chat::{self, Head, Request};
use crate::conversation::Conversation;
use crate::endpoint::Endpoint;
use crate::exchange::{Arrival, Shared};
use crate::profile::Profile;

impl Shared {
    pub(super) fn decide_chat(&self, arrival: &Arrival) -> Result<Decision, Box<Decision>> {
        let profile = |model: &str| self.profile(model, Endpoint::Chat);
        let request = Request::parse(&arrival.body, profile, self.scenario.host);
        let asked = request.as_ref().map(|request| self.profile(&request.model, Endpoint::Chat));
        let account = if asked.is_ok_and(Profile::is_own_server) {
            arrival.scope().unwrap_or_default()
        } else {
            self.openai_account(arrival)?
        };
        let request = request?;
        self.check_openai_model(&request.model)?;
        request.check_slot(self.scenario.slots(Profile::LlamaCpp))?;
        self.admit(arrival, &request.model, Endpoint::Chat)?;
        let seen = Conversation::read(request.pieces(), &self.scenario.not_user_text);
        let profile = self.profile(&request.model, Endpoint::Chat);
        let mut prompt = request.prompt(&account, profile);
        let sizes = (prompt.tokens(), request.max_tokens);
        let room = self.reply_room(Endpoint::Chat, profile, sizes)?;
        let (answer, fault) = self.answer_of(&seen, room, Endpoint::Chat, request.stream)?;
        let mut state = self.state();
        let whose = (profile, request.model.as_str());
        let charge = self.charge(&mut state, arrival, Endpoint::Chat, whose, &mut prompt)?;
        let reports = !fault.is_some_and(|fault| fault.no_usage);
        let head = Head {
            id: state.ids.reply("chatcmpl"),
            created: arrival.at_ms / 1_000,
            model: self.model(),
            usage: reports.then_some(charge.usage),
            profile,
            host: request.host,
            reports_cache: self.scenario.report_cached_tokens,
            include_usage: request.include_usage,
            call_ids: match request.host {
                Some(chat::Host::Mistral) => state.ids.short_calls(answer.calls.len()),
                _ => state.ids.calls("call", answer.calls.len()),
            },
            unknown_events: fault.is_some_and(|fault| fault.unknown_events),
        };
        drop(state);
        let frames = if request.stream {
            chat::frames(&head, &answer)
        } else {
            vec![chat::json_body(&head, &answer)]
        };
        let lines =
            if profile.is_engine() { render::answer(&answer) } else { chat::lines(&head, &answer) };
        let written = Written { profile, prompt, charge, answer: lines };
        Ok(self.sent(frames, &chat::dialect(), (fault, request.stream), &answer, written))
    }
}
