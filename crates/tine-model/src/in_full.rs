//! Errors in words.

use std::error::Error;

/// An error with its causes, each after a colon. A cause that the text before it ends with is said once: some errors name
/// theirs themselves.
pub fn in_full(error: &dyn Error) -> String {
    with_causes(String::new(), error)
}

/// A text, and behind it a cause and its causes, as in [`in_full`].
pub fn with_causes(mut text: String, cause: &dyn Error) -> String {
    let mut cause = Some(cause);
    while let Some(error) = cause {
        let words = error.to_string();
        if !text.ends_with(words.trim_end()) {
            text.push_str(if text.is_empty() { "" } else { ": " });
            text.push_str(words.trim_end());
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("the file cannot be read{}", .said.then(|| format!(": {}", .source)).unwrap_or_default())]
    struct Outer {
        said: bool,
        source: std::io::Error,
    }

    #[test]
    fn a_cause_is_said_once() {
        for said in [true, false] {
            let source = std::io::Error::other("no such file");
            assert_eq!(in_full(&Outer { said, source }), "the file cannot be read: no such file");
        }
    }
}
