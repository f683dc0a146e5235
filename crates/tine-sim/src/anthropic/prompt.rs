//! From a request to cache positions, and from signed thinking to the prefix it belongs to.
//!
//! One position per tool, system block and content block, in that order. A position's hash chains the one before it, the
//! level, the role and the block's canonical bytes: JSON without white space, keys in the order they came in, without
//! `cache_control`. String content hashes like its array form. The role is hashed with each block and message borders are
//! not, so two neighbouring messages of one role equal one message with all their blocks. Settings enter the chain where
//! their level begins: the model before the tools, `speed` before the system blocks, and thinking, `output_config`,
//! `tool_choice` and "there are images" before the messages. Tokens are counted per position, a quarter of its bytes
//! rounded up, so that they add up. Thinking that is dropped has no position, so what follows it has another identity.

use serde_json::{Value, json};

use super::diagnosis::UNAVAILABLE;
use super::request::{Block, Request, Role, Turn};
use super::settings::Mismatch;
use super::thinking::{self, Binding};
use crate::cache::{Digest, Position, Prompt, link};
use crate::limits::tokens_of;
use crate::memory::{Aspect, Trace};
use crate::refusal::Refusal;
use crate::scenario::ThinkingBinding;

/// A request as the cache sees it.
#[derive(Debug, Clone)]
pub(crate) struct Flattened {
    pub(crate) prompt: Prompt,
    /// What later requests are compared with.
    pub(crate) trace: Trace,
    /// Thinking that was left out, in the vendor's words.
    pub(crate) transformations: Vec<Value>,
    /// Identity of the content alone, without settings and model: what thinking in the reply is bound to.
    content: Digest,
}

impl Flattened {
    /// Flattens a request, and checks on the way that signed thinking stands where it was made.
    pub(crate) fn of(
        request: &Request,
        scope: Digest,
        binding: ThinkingBinding,
    ) -> Result<Self, Refusal> {
        let settings = &request.settings;
        let images = if has_images(request) { "images" } else { "" };
        let mut chain = Chain::new(&request.model);
        chain.aspect("model_changed", &[&request.model, &settings.speed]);
        request.tools.iter().for_each(|block| chain.push("tools", "", block));
        chain.content_aspect("tools_changed", 0);
        let tools_tokens = chain.tokens;
        chain.set(&settings.speed);
        request.system.iter().for_each(|block| chain.push("system", "", block));
        chain.content_aspect("system_changed", tools_tokens);
        chain.set(&settings.messages);
        chain.set(images);
        chain.aspect(UNAVAILABLE, &[&settings.messages, images]);
        let first = chain.positions.len();
        let transformations = match binding {
            ThinkingBinding::Prefix => chain.messages(request)?,
            ThinkingBinding::Off => chain.unbound_messages(request),
        };
        let messages = chain.contents[first..].iter().zip(&chain.positions[first..]);
        let trace = Trace {
            aspects: chain.aspects,
            chain: messages.map(|(content, place)| (*content, place.tokens_through)).collect(),
            tokens: chain.tokens,
            compactions: 0,
        };
        let prompt = Prompt {
            scope,
            positions: chain.positions,
            lines: chain.lines,
            route: scope,
            ..Prompt::default()
        };
        Ok(Self { prompt, trace, transformations, content: chain.content })
    }

    /// The signature of thinking that answers this request.
    pub(crate) fn sign(&self, thinking: &str) -> String {
        thinking::signature(thinking, &self.content)
    }
}

struct Chain {
    digest: Digest,
    content: Digest,
    tokens: u64,
    positions: Vec<Position>,
    lines: Vec<String>,
    /// For each position the identity of the content up to it.
    contents: Vec<Digest>,
    aspects: Vec<Aspect>,
}

impl Chain {
    fn new(model: &str) -> Self {
        Self {
            digest: link(&[b"tine-sim messages", model.as_bytes()]),
            content: link(&[b"tine-sim content"]),
            tokens: 0,
            positions: Vec::new(),
            lines: Vec::new(),
            contents: Vec::new(),
            aspects: Vec::new(),
        }
    }

    fn set(&mut self, settings: &str) {
        self.digest = link(&[&self.digest, b"settings", settings.as_bytes()]);
    }

    /// Something that is compared as a whole; a change of it loses everything from here on.
    fn aspect(&mut self, reason: &'static str, parts: &[&str]) {
        let parts: Vec<&[u8]> = parts.iter().map(|part| part.as_bytes()).collect();
        self.aspects.push(Aspect { reason, value: link(&parts), kept_tokens: self.tokens });
    }

    /// Everything so far, a change of which keeps so many tokens.
    fn content_aspect(&mut self, reason: &'static str, kept_tokens: u64) {
        self.aspects.push(Aspect { reason, value: self.content, kept_tokens });
    }

    fn push(&mut self, level: &str, role: &str, block: &Block) {
        let bytes = block.value.to_string();
        let parts = [level.as_bytes(), role.as_bytes(), bytes.as_bytes()];
        self.digest = link(&[&self.digest, parts[0], parts[1], parts[2]]);
        self.content = link(&[&self.content, parts[0], parts[1], parts[2]]);
        self.tokens += tokens_of(bytes.len());
        self.positions.push(Position {
            digest: self.digest,
            tokens_through: self.tokens,
            mark: block.mark,
            is_eligible_end: false,
        });
        self.contents.push(self.content);
        self.lines.push(format!("{bytes}\n"));
    }

    /// Pushes the messages, without thinking that is to be dropped: a block whose prefix differs, and the later ones of
    /// its run. Returns what was left out.
    fn messages(&mut self, request: &Request) -> Result<Vec<Value>, Refusal> {
        let latest = request.turns.iter().rposition(|turn| turn.role == Role::Assistant);
        let mut dropped = Vec::new();
        let mut is_dropping = false;
        for (index, turn) in request.turns.iter().enumerate() {
            is_dropping &= !begins_run(turn);
            for block in &turn.blocks {
                if block.kind() == "thinking" {
                    let found = thinking::check(block, &self.content, Some(index) == latest)?;
                    match (found, request.mismatch) {
                        (Binding::Holds, _) => {}
                        (Binding::PrefixDiffers, Mismatch::DropBlock) => is_dropping = true,
                        (Binding::PrefixDiffers, Mismatch::Error) => {
                            return Err(thinking::refusal(block));
                        }
                    }
                    if is_dropping {
                        dropped.push(json!({
                            "type": "thinking_dropped",
                            "path": block.path,
                            "reason": "prefix_binding_mismatch",
                        }));
                        continue;
                    }
                }
                self.push("messages", turn.role.as_str(), block);
            }
        }
        Ok(dropped)
    }

    fn unbound_messages(&mut self, request: &Request) -> Vec<Value> {
        for turn in &request.turns {
            for block in &turn.blocks {
                self.push("messages", turn.role.as_str(), block);
            }
        }
        Vec::new()
    }
}

/// A run of thinking ends where the user says something, and not where tools answer.
fn begins_run(turn: &Turn) -> bool {
    turn.role == Role::User && turn.blocks.iter().any(|block| block.kind() != "tool_result")
}

fn has_images(request: &Request) -> bool {
    let is_image = |value: &Value| value.get("type").is_some_and(|kind| kind == "image");
    request.turns.iter().flat_map(|turn| &turn.blocks).any(|block| {
        let parts = block.value.get("content").and_then(Value::as_array);
        is_image(&block.value) || parts.into_iter().flatten().any(is_image)
    })
}
