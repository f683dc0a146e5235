//! From a request to cache positions. A prompt is rendered line by line, tools first; a breakpoint ends inside a line,
//! behind its part, and an eligible message's end is the end of its line. A message that grows therefore keeps the
//! breakpoints of its parts and loses its former end.
//!
//! Text parts look the same whether they came as a string or in a list. Tokens are a quarter of all bytes up to a place,
//! rounded up.

use serde_json::{Map, Value};

use super::options::{BREAKPOINT, CacheOptions};
use crate::cache::{Digest, Position, Prompt, Ttl, link};
use crate::limits::{BYTES_PER_TOKEN, ROUTE_TOKENS, tokens_of};

/// Builds a prompt.
#[derive(Debug)]
pub(crate) struct Renderer {
    default_ttl: Ttl,
    chain: blake3::Hasher,
    content: blake3::Hasher,
    bytes: usize,
    positions: Vec<Position>,
    lines: Vec<String>,
    ends: Vec<(Digest, u64)>,
}

/// A rendered prompt.
#[derive(Debug, Clone)]
pub(crate) struct Rendered {
    pub(crate) prompt: Prompt,
    /// Identity of the content alone, without settings: what reasoning in the reply is bound to.
    pub(crate) content: Digest,
    /// For each line the identity of everything up to its end, without settings, and the tokens.
    pub(crate) ends: Vec<(Digest, u64)>,
}

impl Renderer {
    /// `settings` are part of every position's identity.
    pub(crate) fn new(settings: &str, options: &CacheOptions) -> Self {
        let mut chain = blake3::Hasher::new();
        let key = options.key.as_deref().unwrap_or_default();
        chain.update(&link(&[b"tine-sim openai", settings.as_bytes(), key.as_bytes()]));
        Self {
            default_ttl: options.ttl,
            chain,
            content: blake3::Hasher::new(),
            bytes: 0,
            positions: Vec::new(),
            lines: Vec::new(),
            ends: Vec::new(),
        }
    }

    /// A line that holds no breakpoint.
    pub(crate) fn line(&mut self, value: &Value) {
        self.lines.push(String::new());
        self.push(&format!("{value}\n"));
        self.end(false);
    }

    /// A message, or another thing with content under `key`.
    pub(crate) fn message(&mut self, fields: &Map<String, Value>, key: &str, is_eligible: bool) {
        let mut rest = fields.clone();
        let content = rest.shift_remove(key);
        let Some(content) = content else { return self.line(&Value::Object(rest)) };
        self.lines.push(String::new());
        let mut head = Value::Object(rest).to_string();
        head.pop();
        let comma = if head.len() > 1 { "," } else { "" };
        self.push(&format!("{head}{comma}\"{key}\":"));
        match &content {
            Value::Array(parts) => {
                for (index, part) in parts.iter().enumerate() {
                    self.part(part, index > 0);
                }
            }
            other => self.push(&other.to_string()),
        }
        self.push("}\n");
        self.end(is_eligible);
    }

    fn part(&mut self, part: &Value, is_later: bool) {
        let comma = if is_later { "," } else { "" };
        let mut part = part.clone();
        let mark = part.as_object_mut().and_then(|part| part.shift_remove(BREAKPOINT));
        let plain = part.as_object().filter(|part| part.len() == 2).and_then(|part| {
            let kind = part.get("type")?.as_str()?;
            part.get("text").filter(|_| kind.ends_with("text"))
        });
        self.push(&format!("{comma}{}", plain.unwrap_or(&part)));
        if let Some(mark) = mark {
            let ttl = match mark.get("ttl").and_then(Value::as_str) {
                None => self.default_ttl,
                Some("12h") => Ttl::Long,
                Some(_) => Ttl::Short,
            };
            self.place(Some(ttl), false);
        }
    }

    /// Identity of the content so far.
    pub(crate) fn content(&self) -> Digest {
        *self.content.finalize().as_bytes()
    }

    fn push(&mut self, text: &str) {
        self.chain.update(text.as_bytes());
        self.content.update(text.as_bytes());
        self.bytes += text.len();
        if let Some(line) = self.lines.last_mut() {
            line.push_str(text);
        }
    }

    fn place(&mut self, mark: Option<Ttl>, is_eligible_end: bool) {
        self.positions.push(Position {
            digest: *self.chain.finalize().as_bytes(),
            tokens_through: tokens_of(self.bytes),
            mark,
            is_eligible_end,
        });
    }

    fn end(&mut self, is_eligible: bool) {
        self.place(None, is_eligible);
        self.ends.push((self.content(), tokens_of(self.bytes)));
    }

    /// The prompt of an account's request to a model.
    pub(crate) fn finish(self, account: &Digest, model: &str, options: &CacheOptions) -> Rendered {
        let route_bytes = (ROUTE_TOKENS * BYTES_PER_TOKEN) as usize;
        let bytes = self.lines.iter().flat_map(|line| line.bytes());
        let head: Vec<u8> = bytes.take(route_bytes).collect();
        let scope = link(&[account, model.as_bytes()]);
        let key = options.key.as_deref().unwrap_or_default();
        let content = self.content();
        let prompt = Prompt {
            scope,
            positions: self.positions,
            lines: self.lines,
            min_tokens: 0,
            implicit: options.is_implicit.then_some(options.ttl),
            route: link(&[&scope, key.as_bytes(), &head]),
            is_retained: options.is_retained,
            ..Prompt::default()
        };
        Rendered { prompt, content, ends: self.ends }
    }
}
