//! From a request to cache positions, and from signed thinking to the prefix it belongs to.
//!
//! One position per tool, system block and content block, in that order. A position's hash chains the one before it, the
//! level, the role and the block's canonical bytes: JSON without white space, keys in the order they came in, without
//! `cache_control`. String content hashes like its array form. The role is hashed with each block and message borders are
//! not, so two neighbouring messages of one role equal one message with all their blocks. Settings enter the chain where
//! their level begins: the model before the tools, `speed` before the system blocks, and thinking, `output_config`,
//! `tool_choice` and "there are images" before the messages. Tokens are counted per position, a quarter of its bytes
//! rounded up, so that they add up.

use serde_json::Value;

use super::request::{Block, Request, Role};
use crate::cache::{Digest, Position, Prompt};
use crate::profile::tokens_of;
use crate::refusal::Refusal;
use crate::scenario::ThinkingBinding;

/// How a signature of the simulator begins. Other signatures come from somewhere else and are not judged.
const SIGNATURE: &str = "sim1";

/// A request as the cache sees it.
#[derive(Debug, Clone)]
pub(crate) struct Flattened {
    pub(crate) prompt: Prompt,
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
        let mut chain = Chain {
            digest: link(&[b"tine-sim messages", request.model.as_bytes()]),
            content: link(&[b"tine-sim content"]),
            tokens: 0,
            positions: Vec::new(),
        };
        request.tools.iter().for_each(|block| chain.push("tools", "", block));
        chain.set(&request.settings.speed);
        request.system.iter().for_each(|block| chain.push("system", "", block));
        chain.set(&request.settings.messages);
        chain.set(if has_images(request) { "images" } else { "" });
        let last_assistant = request.turns.iter().rposition(|turn| turn.role == Role::Assistant);
        for (index, turn) in request.turns.iter().enumerate() {
            for block in &turn.blocks {
                if block.kind() == "thinking" && binding == ThinkingBinding::Prefix {
                    check_thinking(block, &chain.content, Some(index) == last_assistant)?;
                }
                chain.push("messages", turn.role.as_str(), block);
            }
        }
        let prompt = Prompt { scope, positions: chain.positions };
        Ok(Self { prompt, content: chain.content })
    }

    /// The signature of thinking that answers this request.
    pub(crate) fn sign(&self, thinking: &str) -> String {
        signature(thinking, &self.content)
    }
}

struct Chain {
    digest: Digest,
    content: Digest,
    tokens: u64,
    positions: Vec<Position>,
}

impl Chain {
    fn set(&mut self, settings: &str) {
        self.digest = link(&[&self.digest, b"settings", settings.as_bytes()]);
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
        });
    }
}

/// Hash of some parts, each preceded by its length so that borders count.
fn link(parts: &[&[u8]]) -> Digest {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    *hasher.finalize().as_bytes()
}

fn has_images(request: &Request) -> bool {
    let is_image = |value: &Value| value.get("type").is_some_and(|kind| kind == "image");
    request.turns.iter().flat_map(|turn| &turn.blocks).any(|block| {
        let parts = block.value.get("content").and_then(Value::as_array);
        is_image(&block.value) || parts.into_iter().flatten().any(is_image)
    })
}

fn signature(thinking: &str, content: &Digest) -> String {
    let text = blake3::hash(thinking.as_bytes()).to_hex();
    let prefix = blake3::Hash::from_bytes(*content).to_hex();
    format!("{SIGNATURE}.{}.{}", &text[..16], &prefix[..32])
}

fn check_thinking(block: &Block, content: &Digest, is_latest: bool) -> Result<(), Refusal> {
    let (path, given) = (&block.path, block.text_of("signature"));
    let mut given_parts = given.split('.');
    if given_parts.next() != Some(SIGNATURE) {
        return Ok(());
    }
    let expected = signature(block.text_of("thinking"), content);
    if given == expected {
        return Ok(());
    }
    let is_same_text = given_parts.next() == expected.split('.').nth(1);
    let message = match (is_same_text, is_latest) {
        (true, _) => format!(
            "{path}: Invalid `signature` in `thinking` block. The block is bound to a different conversation: what stands before it is not what it was made for."
        ),
        (false, true) => format!(
            "{path}: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified"
        ),
        (false, false) => format!("{path}: Invalid `signature` in `thinking` block"),
    };
    Err(Refusal::invalid(message))
}
