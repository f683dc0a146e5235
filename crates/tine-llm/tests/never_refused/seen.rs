//! What the random histories held when they were sent. A test that no longer produces what it is about fails.

use std::collections::BTreeMap;

use tine_history::History;
use tine_model::{Block, Message, Role, ToolCallId, ToolInput};

/// Everything that must have been sent.
const WANTED: [&str; 14] = [
    "a fork in the middle of a turn",
    "a partial answer",
    "a reply that broke off",
    "a request that ends with open calls",
    "a text between results",
    "an append-only child",
    "an append-only next request",
    "an empty text",
    "an import",
    "an orphan result",
    "consecutive messages of one role",
    "invalid arguments",
    "many calls",
    "signed thinking across a fork",
];

/// Counts of what was sent.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    counts: BTreeMap<&'static str, u32>,
    conversations: u32,
}

impl Seen {
    /// The number of the next conversation.
    pub(crate) fn conversation(&mut self) -> u32 {
        self.conversations += 1;
        self.conversations
    }

    pub(crate) fn note(&mut self, what: &'static str) {
        assert!(WANTED.contains(&what), "{what}");
        *self.counts.entry(what).or_default() += 1;
    }

    /// Notes what a history holds that is about to be sent; `inherited` of its messages are a parent's.
    pub(crate) fn history(&mut self, history: &History, inherited: Option<usize>) {
        let items: Vec<&Message> = history.iter().map(|item| &*item.message).collect();
        for (index, message) in items.iter().enumerate() {
            let next = items.get(index + 1);
            if next.is_some_and(|next| next.role() == message.role()) {
                self.note("consecutive messages of one role");
            }
            if message.tool_calls().count() > 10 {
                self.note("many calls");
            }
            if inherited.is_some_and(|inherited| index < inherited) && is_signed(message) {
                self.note("signed thinking across a fork");
            }
            let calls: Vec<_> = message.tool_calls().collect();
            if let Some(next) = next {
                self.pair(&calls, next, inherited == Some(index + 1));
            }
            for block in message.blocks() {
                self.block(block);
            }
        }
        if history.has_open_calls() {
            self.note("a request that ends with open calls");
        }
    }

    /// Calls and the message behind them.
    fn pair(&mut self, calls: &[&ToolCallId], next: &Message, forked: bool) {
        let answers: Vec<_> = next.blocks().iter().filter_map(answered).collect();
        let given = calls.iter().filter(|call| answers.contains(call)).count();
        if forked && given < calls.len() {
            self.note("a fork in the middle of a turn");
        }
        if given > 0 && given < calls.len() {
            self.note("a partial answer");
        }
        if answers.iter().any(|answer| !calls.contains(answer)) {
            self.note("an orphan result");
        }
        let text_first = matches!(next.blocks().first(), Some(Block::Text(_)));
        if next.role() == Role::User && text_first && given > 0 {
            self.note("a text between results");
        }
    }

    fn block(&mut self, block: &Block) {
        match block {
            Block::Text(text) if text.trim().is_empty() => self.note("an empty text"),
            Block::ToolUse { input: ToolInput::Invalid(_), .. } => self.note("invalid arguments"),
            _ => {}
        }
    }

    /// Fails when something was never sent. Chat's reasoning is never signed.
    pub(crate) fn assert_everything(&self, model: &str) {
        let chat = ["openai-chat", "openai-compat", "deepseek"];
        let unsigned = chat.iter().any(|provider| model.starts_with(provider));
        let wanted = WANTED.iter().filter(|what| !unsigned || !what.starts_with("signed"));
        let missing: Vec<_> = wanted.filter(|what| !self.counts.contains_key(**what)).collect();
        assert!(missing.is_empty(), "{model}: never sent: {missing:?}\n{:?}", self.counts);
    }
}

/// Whether the provider signed or sealed something in its message, in the words of one of the formats.
fn is_signed(message: &Message) -> bool {
    let fields = [r#""signature":"sim1"#, r#""encrypted_content":""#, r#""thoughtSignature":""#];
    let raw = message.raw().map_or("", |raw| raw.json.as_str());
    message.role() == Role::Assistant && fields.iter().any(|field| raw.contains(field))
}

fn answered(block: &Block) -> Option<&ToolCallId> {
    match block {
        Block::ToolResult { call, .. } => Some(call),
        _ => None,
    }
}
