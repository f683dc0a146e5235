//! Signed thinking: what a signature holds, and whether a block that comes back stands where it was made.

use super::request::Block;
use crate::cache::Digest;
use crate::refusal::Refusal;

/// The beginning of the simulator's signatures. Others were made by another account, and are refused.
const SIGNATURE: &str = "sim1";

const TEXT_DIGITS: usize = 16;
const PREFIX_DIGITS: usize = 32;

/// Signs thinking for the content that it was made for.
pub(super) fn signature(thinking: &str, content: &Digest) -> String {
    let text = blake3::hash(thinking.as_bytes()).to_hex();
    let prefix = blake3::Hash::from_bytes(*content).to_hex();
    format!("{SIGNATURE}.{}.{}", &text[..TEXT_DIGITS], &prefix[..PREFIX_DIGITS])
}

/// What is found out about a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Binding {
    /// It stands where it was made, or nobody can tell.
    Holds,
    /// Its own bytes are right, and what stands before it is not.
    PrefixDiffers,
}

/// Checks a thinking block against the content before it. Changed bytes are refused; they are worse in the latest
/// assistant message.
pub(super) fn check(block: &Block, content: &Digest, is_latest: bool) -> Result<Binding, Refusal> {
    let (path, given) = (&block.path, block.text_of("signature"));
    let mut given_parts = given.split('.');
    let is_ours = given_parts.next() == Some(SIGNATURE);
    let expected = signature(block.text_of("thinking"), content);
    if given == expected {
        return Ok(Binding::Holds);
    }
    let text = given_parts.next();
    let is_digits = |part: &str| {
        part.len() == PREFIX_DIGITS && part.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    let is_whole = given_parts.next().is_some_and(is_digits) && given_parts.next().is_none();
    if is_ours && text == expected.split('.').nth(1) && is_whole {
        return Ok(Binding::PrefixDiffers);
    }
    Err(Refusal::invalid(if is_ours && is_latest {
        format!(
            "{path}: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified"
        )
    } else {
        format!("{path}: Invalid `signature` in `thinking` block")
    }))
}

/// The refusal of a block whose prefix differs.
pub(super) fn refusal(block: &Block) -> Refusal {
    Refusal::invalid(format!(
        "{}: Invalid `signature` in `thinking` block. The block is bound to a different conversation: what stands before it is not what it was made for.",
        block.path
    ))
}
