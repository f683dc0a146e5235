//! Thought signatures: opaque to clients, and checked when they come back.
//!
//! A signature of the simulator names the reply it was made for and carries a check over that and the model, so that a
//! changed one, and one from another model, are told apart from a good one without remembering any.

use crate::refusal::Refusal;

/// What a client may put in the place of a signature for a history that no model made.
const SENTINEL: &str = "skip_thought_signature_validator";

/// Hexadecimal digits of each half.
const HALF: usize = 32;

/// The signature of a reply.
pub(crate) fn sign(reply: &str, model: &str) -> String {
    let name = blake3::hash(reply.as_bytes()).to_hex();
    let name = &name[..HALF];
    format!("{name}{}", check_digits(name, model))
}

fn check_digits(name: &str, model: &str) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"tine-sim thought ").update(name.as_bytes()).update(model.as_bytes());
    hasher.finalize().to_hex()[..HALF].to_owned()
}

/// Refuses a signature that was changed, or that another model made.
pub(super) fn check(signature: &str, model: &str) -> Result<(), Refusal> {
    let is_ours = signature
        .split_at_checked(HALF)
        .is_some_and(|(name, digits)| digits == check_digits(name, model));
    if is_ours || signature == SENTINEL {
        Ok(())
    } else {
        Err(Refusal::invalid("Corrupted thought signature."))
    }
}
