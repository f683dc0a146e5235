//! Deciding a `generateContent` request, and what is asked of cached contents.

use axum::http::Method as Verb;
use serde_json::Value;

use super::{Decision, Reply, Written};
use crate::cache::{Charge, Digest, Prompt, PromptUsage, link};
use crate::conversation::Conversation;
use crate::endpoint::Endpoint;
use crate::exchange::{Arrival, Shared};
use crate::gemini::{self, Head, Method, NewContent, PromptCount, Request, Resource};
use crate::profile::Profile;
use crate::refusal::Refusal;

/// What stands before the model's name and its method in a path.
const MODELS: &str = "/v1beta/models/";

/// What stands before `cachedContents` in a path.
const VERSION: &str = "/v1beta/";

impl Shared {
    fn google_account(&self, arrival: &Arrival) -> Result<Digest, Refusal> {
        arrival.scope().ok_or_else(|| {
            Refusal::new(
                403,
                "Method doesn't allow unregistered callers: give an API key in x-goog-api-key or ?key=",
            )
        })
    }

    pub(super) fn decide_gemini(&self, arrival: &Arrival) -> Result<Decision, Box<Decision>> {
        let account = self.google_account(arrival)?;
        let target = arrival.path.strip_prefix(MODELS).and_then(Method::parse);
        let not_found = || Refusal::new(404, format!("Not found: {}", arrival.path));
        let (model, method) = target.ok_or_else(not_found)?;
        if !self.scenario.has_model(model) {
            return Err(unknown_model(model).into());
        }
        let mut request = Request::parse(model, &arrival.body)?;
        if method != Method::Count {
            self.admit(arrival, model, Endpoint::Gemini)?;
        }
        let resource = match &request.cached_content {
            Some(name) => {
                let contents = &mut self.state().cached_contents;
                Some(contents.resolve(&account, name, model, arrival.at_ms)?)
            }
            None => None,
        };
        request.with_resource(resource.as_ref())?;
        let scope = link(&[b"tine-sim gemini", &account, model.as_bytes()]);
        let prompt = Prompt::of_lines(scope, request.lines());
        match method {
            Method::Count => {
                let body = serde_json::json!({"totalTokens": prompt.tokens()}).to_string();
                Ok(Decision { first_byte_ms: 0, reply: Reply::Json { body } })
            }
            Method::Generate | Method::Stream => {
                self.generate(arrival, &request, resource.as_ref(), prompt, method)
            }
        }
    }

    fn generate(
        &self,
        arrival: &Arrival,
        request: &Request,
        resource: Option<&Resource>,
        mut prompt: Prompt,
        method: Method,
    ) -> Result<Decision, Box<Decision>> {
        let is_stream = method == Method::Stream;
        let is_events = is_stream && arrival.query("alt") == Some("sse");
        let seen = Conversation::read(request.pieces(), &self.scenario.not_user_text);
        let sizes = (prompt.tokens(), request.max_tokens);
        let room = self.reply_room(Endpoint::Gemini, Profile::Gemini, sizes)?;
        let (answer, fault) = self.answer_of(&seen, room, Endpoint::Gemini, is_events)?;
        let mut state = self.state();
        let charge = match resource {
            Some(resource) => {
                let charge = named(resource, &prompt, arrival.at_ms);
                // What a resource serves is no business of the implicit cache.
                prompt.lines.clear();
                let cost = (Profile::Gemini, &charge.usage);
                self.admit_tokens(&mut state, arrival, Endpoint::Gemini, cost)?;
                charge
            }
            None => {
                let whose = (Profile::Gemini, request.model.as_str());
                self.charge(&mut state, arrival, Endpoint::Gemini, whose, &mut prompt)?
            }
        };
        let id = state.ids.reply("resp");
        let reports = !fault.is_some_and(|fault| fault.no_usage);
        let count = PromptCount { prompt: charge.usage.total(), cached: charge.usage.read };
        let head = Head {
            signature: gemini::sign(&id, &request.model),
            id,
            model: self.model(),
            usage: reports.then_some(count),
            call_ids: state.ids.calls("call", answer.calls.len()),
            includes_thoughts: request.includes_thoughts,
            unknown_events: fault.is_some_and(|fault| fault.unknown_events),
        };
        drop(state);
        let frames = match (is_stream, is_events) {
            (true, true) => gemini::frames(&head, &answer),
            (true, false) => gemini::as_array(gemini::frames(&head, &answer)),
            (false, _) => vec![gemini::json_body(&head, &answer)],
        };
        let profile = Profile::Gemini;
        let written = Written { profile, prompt, charge, answer: Vec::new() };
        Ok(self.sent(frames, &gemini::dialect(), (fault, is_events), &answer, written))
    }

    pub(super) fn decide_cached_contents(
        &self,
        arrival: &Arrival,
    ) -> Result<Decision, Box<Decision>> {
        let account = self.google_account(arrival)?;
        let name = arrival.path.strip_prefix(VERSION).unwrap_or_default();
        let is_list = name == "cachedContents";
        let now_ms = arrival.at_ms;
        let body = match (&arrival.method, is_list) {
            (&Verb::POST, true) => self.create_cached_content(account, arrival)?,
            (&Verb::GET, true) => {
                let size = arrival.query("pageSize").map(str::parse::<usize>);
                let size = size
                    .transpose()
                    .map_err(|_| Refusal::invalid("Invalid value at 'page_size'"))?;
                let after = arrival.query("pageToken");
                self.state().cached_contents.list(&account, size, after, now_ms)
            }
            (&Verb::GET, false) => self.state().cached_contents.show(&account, name, now_ms)?,
            (&Verb::PATCH, false) => {
                self.state().cached_contents.patch(&account, name, &arrival.body, now_ms)?
            }
            (&Verb::DELETE, false) => {
                self.state().cached_contents.delete(&account, name, now_ms)?
            }
            _ => {
                let what = format!("Not found: {} {}", arrival.method, arrival.path);
                return Err(Refusal::new(404, what).into());
            }
        };
        Ok(Decision { first_byte_ms: 0, reply: Reply::Json { body: body.to_string() } })
    }

    fn create_cached_content(&self, account: Digest, arrival: &Arrival) -> Result<Value, Refusal> {
        let new = NewContent::parse(&arrival.body, arrival.at_ms)?;
        if !self.scenario.has_model(&new.model) {
            return Err(unknown_model(&new.model));
        }
        let least = Profile::Gemini.min_tokens(&new.model);
        let least = self.scenario.cache_min_tokens.unwrap_or(least);
        self.state().cached_contents.create(account, new, least, arrival.at_ms)
    }

    /// Tokens times milliseconds that cached contents were stored so far.
    pub(crate) fn storage_token_ms(&self) -> u128 {
        let now_ms = self.clock.now_ms();
        self.state().cached_contents.storage_token_ms(now_ms)
    }
}

fn unknown_model(model: &str) -> Refusal {
    Refusal::new(404, format!("models/{model} is not found for API version v1beta"))
}

/// A request that names a content reads exactly that content.
fn named(resource: &Resource, prompt: &Prompt, born_ms: u64) -> Charge {
    let read = resource.tokens;
    let usage = PromptUsage { input: prompt.tokens() - read, read, ..PromptUsage::default() };
    Charge { usage, born_ms, ..Charge::default() }
}
