//! Secrets out of texts: known shapes of keys, private key blocks, passwords in addresses, values that are called secret.
//!
//! For what is shown or exported, never for what is stored or sent. Errs on the side of leaving text alone where nothing but
//! randomness speaks for a secret: hashes, ids and encoded images stay. One pass; every look ahead is bounded, so the
//! time is linear in the text. Never panics, never reads anything but its argument.

mod assigned;
mod basic;
mod json;
mod rules;
mod settings;
mod shapes;

use std::borrow::Cow;
use std::ops::Range;

pub use self::json::redact_json;

/// A secret in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Find {
    range: Range<usize>,
    kind: &'static str,
}

/// Looks for a secret at a place of a text. What is found may begin after that place, never before it.
type Finder = fn(&[u8], usize) -> Option<Find>;

const FINDERS: [Finder; 3] =
    [shapes::private_key, shapes::password_in_address, assigned::assigned_value];

/// Most looks at a text. Each takes out what the one before has uncovered; there is hardly ever anything.
const LOOKS_MAX: usize = 4;

/// How far behind an AWS key id its secret may stand: the next field or the next line.
const BEHIND_ID_BYTES_MAX: usize = 160;

/// The text with every secret replaced by `[redacted: kind]`; borrowed when there is none.
///
/// No quote and no lone backslash is ever taken away, so a JSON text inside the text is still one.
pub fn redact(text: &str) -> Cow<'_, str> {
    let mut redacted = look(text);
    for _ in 1..LOOKS_MAX {
        let Cow::Owned(before) = &redacted else { break };
        let Cow::Owned(again) = look(before) else { break };
        redacted = Cow::Owned(again);
    }
    redacted
}

/// Replaces what one look finds.
fn look(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let (mut out, mut kept, mut at) = (String::new(), 0, 0);
    let mut known = rules::known(bytes).into_iter().peekable();
    // Up to where a secret may stand that belongs to a key id.
    let mut behind_id = 0;
    while at < bytes.len() {
        while known.next_if(|find| find.range.start < at).is_some() {}
        let mut shaped = || known.next_if(|find| find.range.start == at);
        let found = shaped().or_else(|| FINDERS.iter().find_map(|finder| finder(bytes, at)));
        let belonging = || (at < behind_id).then(|| shapes::secret_behind_id(bytes, at)).flatten();
        let Some(mut find) = found.or_else(belonging) else {
            at += 1;
            continue;
        };
        // A secret that is known by its shape is called by its own name.
        if let Some(known) = known.peek().filter(|known| find.range.start == known.range.start) {
            find.kind = known.kind;
            find.range.end = find.range.end.max(known.range.end);
        }
        // A range begins and ends beside ASCII, so this is always there.
        let (Some(before), true) =
            (text.get(kept..find.range.start), text.is_char_boundary(find.range.end))
        else {
            at += 1;
            continue;
        };
        // What stands between the place and the secret, such as the user of an address, may hold another one.
        match text.get(at + 1..find.range.start) {
            Some(between) => {
                out.push_str(&before[..before.len() - between.len()]);
                out.push_str(&look(between));
            }
            None => out.push_str(before),
        }
        out.push_str(&marker(find.kind));
        if find.kind == shapes::KEY_ID {
            behind_id = find.range.end + BEHIND_ID_BYTES_MAX;
        }
        (kept, at) = (find.range.end, find.range.end);
    }
    match kept {
        0 => Cow::Borrowed(text),
        _ => {
            out.push_str(&text[kept..]);
            Cow::Owned(out)
        }
    }
}

/// What a marker begins with.
const MARKER: &str = "[redacted:";

fn marker(kind: &str) -> String {
    format!("{MARKER} {kind}]")
}

/// The end of the run of bytes from `from` that are `inside`; looks at no more than `most` of them.
fn run(bytes: &[u8], from: usize, most: usize, inside: impl Fn(u8) -> bool) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    from + rest.iter().take(most).take_while(|byte| inside(**byte)).count()
}

/// Whether a word can begin at `at`: nothing that belongs to one stands before it. The escapes of JSON and the styles of a
/// terminal end in letters and belong to no word.
fn begins_word(bytes: &[u8], at: usize) -> bool {
    let before = |back: usize| at.checked_sub(back).and_then(|at| bytes.get(at)).copied();
    match before(1) {
        None => true,
        Some(b'n' | b'r' | b't') if before(2) == Some(b'\\') => true,
        Some(b'm') => ends_style(&bytes[..at - 1]),
        Some(byte) => !byte.is_ascii_alphanumeric() && byte != b'_',
    }
}

/// Whether these bytes end in the beginning of an ANSI style, up to its final `m`.
fn ends_style(bytes: &[u8]) -> bool {
    const PARAMETERS_MAX: usize = 16;
    let parameters = bytes.iter().rev().take(PARAMETERS_MAX);
    let count = parameters.take_while(|byte| byte.is_ascii_digit() || **byte == b';').count();
    bytes[..bytes.len() - count].ends_with(b"\x1b[")
}

#[cfg(test)]
#[path = "redact_tests.rs"]
mod tests;
