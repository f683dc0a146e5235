//! Caches that no client marks: what each engine keeps of the prompts and answers that passed through it.
//!
//! | engine | serves | keeps | readable |
//! |---|---|---|---|
//! | DeepSeek ([`units`]) | the longest saved unit | the end of each input and each answer, prefixes that two requests share, optionally every so many tokens | when the response ends |
//! | Kimi ([`chunks`]) | whole chunks of 256 tokens | prompts | when the response begins |
//! | vLLM ([`chunks`]) | whole blocks of 16 tokens, never the last token | prompts and answers, up to a capacity | as computed: at once; answers when they end |
//! | SGLang ([`radix`]) | any prefix but the last token | prompts and answers, up to a capacity | when the response begins; answers when they end |
//! | llama.cpp ([`slots`]) | what the slot holds, never the last token | one conversation a slot | when the response ends |
//! | Ollama ([`slots`]) | what the slot with the longest common prefix holds, never the last token | one conversation a slot | when the response ends |
//! | Gemini ([`chance`]) | any prefix from a minimum on, by chance | prompts | when the response ends |
//!
//! They compare tokens, which the lines of a prompt are cut into ([`tokens`]); the template that makes lines of a Chat
//! request is in [`render`].

pub(crate) mod chance;
pub(crate) mod chunks;
pub(crate) mod radix;
pub(crate) mod render;
pub(crate) mod slots;
mod tokens;
mod tree;
pub(crate) mod units;

use crate::cache::{Charge, PromptUsage};

/// The charge of a prompt of which an automatic cache serves some tokens: nothing is billed for writing.
fn charge(tokens: usize, read: usize, born_ms: u64) -> Charge {
    let (tokens, read) = (tokens as u64, read as u64);
    let usage = PromptUsage { input: tokens - read, read, ..PromptUsage::default() };
    Charge { usage, born_ms, ..Charge::default() }
}

#[cfg(test)]
#[path = "automatic/tests.rs"]
mod tests;
