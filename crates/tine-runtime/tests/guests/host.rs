//! A program that sends requests, as a gateway sees them.

use std::sync::Arc;

use serde_json::{Value, json};
use tine_model::{AgentId, Provider};
use tine_runtime::{GuestReply, GuestSent, Guests, HostSession, Runtime};
use tine_store::UsageScope;
use tine_testkit::{FakeClock, ScriptedModel};

use crate::fixture::House;

/// A conversation as the program holds it.
#[derive(Debug, Clone)]
pub(crate) struct Program {
    pub(crate) session: Option<String>,
    pub(crate) tools: Vec<&'static str>,
    pub(crate) is_worker: bool,
    /// The last block of the system prompt.
    pub(crate) system: &'static str,
    pub(crate) messages: Vec<Value>,
}

impl Program {
    pub(crate) fn new(session: &str) -> Self {
        let session = Some(session.to_owned());
        Self {
            session,
            tools: vec!["Bash", "Read"],
            is_worker: false,
            system: "Be brief.",
            messages: Vec::new(),
        }
    }

    pub(crate) fn body(&self) -> Vec<u8> {
        let tool = |name: &&str| json!({"name": name, "input_schema": {"type": "object"}, "defer_loading": true});
        let tools: Vec<Value> = self.tools.iter().map(tool).collect();
        let mut messages = self.messages.clone();
        // The last block is marked, as programs do.
        if let Some(last) = messages.last_mut() {
            if let Some(text) = last["content"].as_str() {
                last["content"] = json!([{"type": "text", "text": text}]);
            }
            let blocks = last["content"].as_array_mut().unwrap();
            let mark = json!({"type": "ephemeral"});
            blocks.last_mut().unwrap()["cache_control"] = mark;
        }
        let body = json!({
            "model": "claude-sonnet-5", "max_tokens": 100, "system": [{"type": "text", "text": "billing"}, {"type": "text", "text": self.system}],
            "metadata": {"user_id": self.session}, "tools": tools, "messages": messages, "stream": true,
        });
        body.to_string().into_bytes()
    }
}

pub(crate) fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

pub(crate) fn said(text: &str) -> Value {
    json!({"role": "assistant", "content": [{"type": "text", "text": text}]})
}

/// A whole reply with this message, and with so many tokens written to the cache and read from it.
pub(crate) fn reply(message: &Value, (written, read): (u64, u64)) -> GuestReply {
    let usage = json!({
        "input_tokens": 1, "output_tokens": 1,
        "cache_creation_input_tokens": written, "cache_read_input_tokens": read,
    });
    let body = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-5",
        "content": message["content"], "stop_reason": "end_turn", "stop_sequence": null,
        "usage": usage,
    });
    GuestReply { body: body.to_string().into_bytes(), is_stream: false, is_complete: true }
}

/// A machine with a gateway.
pub(crate) struct Host {
    pub(crate) runtime: Arc<Runtime>,
    pub(crate) clock: FakeClock,
    pub(crate) model: Arc<ScriptedModel>,
    pub(crate) guests: Guests,
    exchanges: u64,
    _home: tempfile::TempDir,
}

impl Host {
    pub(crate) async fn new() -> Self {
        Self::with(ScriptedModel::new(Vec::new())).await
    }

    /// The model answers forks, and none of the program's requests.
    pub(crate) async fn with(model: ScriptedModel) -> Self {
        let House { home, clock, model, runtime, .. } = House::new(model).await;
        let runtime = Arc::new(runtime);
        let guests = Guests::new(Arc::clone(&runtime), home.path().to_owned());
        Self { runtime, clock, model, guests, exchanges: 0, _home: home }
    }

    /// Another gateway over the same store, which knows nothing yet.
    pub(crate) fn gateway(&self) -> Guests {
        Guests::new(Arc::clone(&self.runtime), "/srv".into())
    }

    pub(crate) fn now_ms(&self) -> i64 {
        self.clock.now_ms()
    }

    pub(crate) async fn sent(&mut self, program: &Program) -> u64 {
        self.exchanges += 1;
        let session = HostSession {
            host: "test".to_owned(),
            session: program.session.clone(),
            is_worker: program.is_worker,
        };
        let sent = GuestSent {
            exchange: self.exchanges,
            provider: Provider::Anthropic,
            account: "https://api.test".to_owned(),
            session,
            upstream: "https://api.test".to_owned(),
            gateway: None,
            headers: vec![("anthropic-beta".to_owned(), "threads-of-tomorrow".to_owned())],
            body: program.body(),
            at_ms: self.clock.now_ms(),
        };
        self.guests.sent(sent).await.unwrap();
        self.exchanges
    }

    /// A request that is answered; its guest, or any id for one beside a conversation.
    pub(crate) async fn exchange(&mut self, program: &Program, reply: &GuestReply) -> AgentId {
        let exchange = self.sent(program).await;
        let guest = self.guests.begun(exchange, true).await.unwrap();
        assert!(self.guests.ended(exchange, Some(reply.clone())).await.unwrap());
        self.clock.advance_ms(1_000);
        guest.unwrap_or(AgentId::from_random([0; 16]))
    }

    /// A prompt and its answer, which the program sends back from then on.
    pub(crate) async fn turn(
        &mut self,
        program: &mut Program,
        prompt: &str,
        answer: &str,
    ) -> AgentId {
        program.messages.push(user(prompt));
        let guest = self.exchange(program, &reply(&said(answer), (10, 0))).await;
        program.messages.push(said(answer));
        guest
    }

    /// A request that the provider does not take.
    pub(crate) async fn refused(&mut self, program: &Program) -> Option<AgentId> {
        let exchange = self.sent(program).await;
        let guest = self.guests.begun(exchange, false).await.unwrap();
        assert!(!self.guests.ended(exchange, None).await.unwrap());
        guest
    }

    /// A stream that breaks off behind its first words.
    pub(crate) async fn broken(&mut self, program: &Program) -> AgentId {
        let exchange = self.sent(program).await;
        let guest = self.guests.begun(exchange, true).await.unwrap();
        let events = [
            json!({"type": "message_start", "message": {
                "id": "m", "type": "message", "role": "assistant", "model": "claude-sonnet-5",
                "content": [], "stop_reason": null, "stop_sequence": null,
                "usage": {"input_tokens": 7, "output_tokens": 1},
            }}),
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        ];
        let records = events
            .iter()
            .map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap()));
        let body = records.collect::<String>().into_bytes();
        let reply = GuestReply { body, is_stream: true, is_complete: false };
        assert!(self.guests.ended(exchange, Some(reply)).await.unwrap());
        guest.unwrap()
    }

    /// The effective messages of a guest, as texts.
    pub(crate) async fn texts(&self, guest: AgentId) -> Vec<String> {
        let fold = self.runtime.fold(guest, None).await.unwrap();
        fold.items().map(|item| item.message.text()).collect()
    }

    pub(crate) async fn requests(&self, guest: AgentId) -> usize {
        self.runtime.store().requests(guest, UsageScope::Own).await.unwrap().len()
    }
}
