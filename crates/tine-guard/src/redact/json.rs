//! Secrets out of JSON texts: string by string, so that what is not a secret keeps its bytes and the text stays JSON.

use std::borrow::Cow;

use super::assigned::secret_field;
use super::{marker, redact};

/// Fields whose values are opaque and must come back as they were, or a provider refuses the conversation.
const OPAQUE_FIELDS: [&str; 5] =
    ["signature", "thoughtSignature", "thought_signature", "encrypted_content", "data"];

/// The JSON text with every secret in its strings replaced; borrowed when there is none. A value under a name that says it is
/// secret counts as one; keys, numbers, signatures and encoded data stay. What is not JSON comes back as it was, as far
/// as it is not.
pub fn redact_json(text: &str) -> Cow<'_, str> {
    let (mut out, mut kept, mut at) = (String::new(), 0, 0);
    let mut field = String::new();
    while let Some((start, end)) = next_literal(text, at) {
        at = end;
        let Ok(value) = serde_json::from_str::<String>(&text[start..end]) else { continue };
        if text[end..].trim_start().starts_with(':') {
            field = value;
            continue;
        }
        if OPAQUE_FIELDS.contains(&field.as_str()) {
            continue;
        }
        let changed = match secret_field(&field, &value) {
            Some(kind) => marker(kind),
            None => match redact(&value) {
                Cow::Borrowed(_) => continue,
                Cow::Owned(changed) => changed,
            },
        };
        out.push_str(&text[kept..start]);
        out.push_str(&serde_json::Value::from(changed).to_string());
        kept = end;
    }
    match kept {
        0 => Cow::Borrowed(text),
        _ => {
            out.push_str(&text[kept..]);
            Cow::Owned(out)
        }
    }
}

/// The next string with its quotes.
fn next_literal(text: &str, from: usize) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    let start = from + bytes.get(from..)?.iter().position(|byte| *byte == b'"')?;
    let mut at = start + 1;
    loop {
        match bytes.get(at)? {
            b'"' => return Some((start, at + 1)),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}
