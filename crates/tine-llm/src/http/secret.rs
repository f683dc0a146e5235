//! Keys that cannot be printed by accident.

use std::fmt;
use std::sync::Arc;

/// What stands in place of a secret.
const MASK: &str = "…";

/// Shorter keys are the dummies of local servers (`none`, `x`): masking them would only maim messages.
const REDACTED_CHARS_MIN: usize = 8;

/// A key. Its `Debug` prints `…`, it has no `Display`, and nothing outside this crate can read it back.
#[derive(Clone)]
pub struct Secret {
    text: Arc<str>,
    /// True if it is a token, which is said in a header of its own.
    is_token: bool,
}

impl Secret {
    /// Keeps a key, without the blanks and line ends that files and shells add to it.
    pub fn new(text: &str) -> Self {
        Self { text: text.trim().into(), is_token: false }
    }

    /// Keeps a token: it goes into `authorization: Bearer` whatever the format.
    pub fn token(text: &str) -> Self {
        Self { is_token: true, ..Self::new(text) }
    }

    pub(crate) fn is_token(&self) -> bool {
        self.is_token
    }

    pub(crate) fn expose(&self) -> &str {
        &self.text
    }

    /// `text` with every copy of the key masked: gateways like to quote the key that they refuse.
    pub(crate) fn redact(&self, text: &str) -> String {
        if self.text.chars().count() < REDACTED_CHARS_MIN {
            return text.to_owned();
        }
        text.replace(self.expose(), MASK)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_prints_a_mask_only() {
        assert_eq!(format!("{:?}", Secret::new("sk-live-123456\n")), "…");
    }

    #[test]
    fn a_quoted_key_is_masked_and_a_dummy_is_not() {
        let key = Secret::new(" sk-live-123456\n");
        assert_eq!(key.redact("bad key sk-live-123456."), "bad key ….");
        assert_eq!(Secret::new("none").redact("none of these"), "none of these");
    }
}
