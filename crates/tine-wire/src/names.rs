//! Tool names at the edge: providers take letters, digits, `_` and `-` only, at most 64 of them.
//!
//! A name that is already fine stands for itself. In any other, each byte that may not stand is written as `_-` and
//! two hexadecimal digits, and so is the `_` of a `_-` of the name's own, so that every name has exactly one form on the
//! wire and is read back from it. Nothing is cut: a name whose form is longer than 64 is refused by the provider, in
//! its own words, and never confused with another one.

use std::borrow::Cow;

/// What an escaped byte begins with. Rare in names that people give, and made of what every provider takes.
const ESCAPE: &str = "_-";

/// The name as providers take it.
pub(crate) fn to_wire(name: &str) -> Cow<'_, str> {
    let bytes = name.as_bytes();
    let stands = |at: usize| {
        let byte = bytes[at];
        let escapes = bytes[at..].starts_with(ESCAPE.as_bytes());
        !escapes && (byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
    };
    if (0..bytes.len()).all(stands) {
        return Cow::Borrowed(name);
    }
    let mut wire = String::with_capacity(name.len() + 8);
    for (at, byte) in bytes.iter().enumerate() {
        if stands(at) {
            wire.push(char::from(*byte));
        } else {
            wire.push_str(&format!("{ESCAPE}{byte:02x}"));
        }
    }
    Cow::Owned(wire)
}

/// The name that a provider's word stands for. A word that [`to_wire`] never makes stands for itself.
pub(crate) fn from_wire(wire: &str) -> Cow<'_, str> {
    match unescaped(wire) {
        Some(name) if to_wire(&name) == wire => Cow::Owned(name),
        Some(_) | None => Cow::Borrowed(wire),
    }
}

/// `None` when there is nothing escaped, or something that no byte is escaped as.
fn unescaped(wire: &str) -> Option<String> {
    let mut pieces = wire.split(ESCAPE);
    let mut name = pieces.next()?.as_bytes().to_vec();
    let mut found = false;
    for piece in pieces {
        found = true;
        let (digits, rest) = piece.split_at_checked(2)?;
        name.push(u8::from_str_radix(digits, 16).ok()?);
        name.extend_from_slice(rest.as_bytes());
    }
    String::from_utf8(name).ok().filter(|_| found)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_what_may_not_stand_is_escaped() {
        let check = |name: &str, wire: &str| {
            assert_eq!(to_wire(name), wire);
            assert_eq!(from_wire(wire), name);
        };
        check("FileRead", "FileRead");
        check("mcp__files__read-all", "mcp__files__read-all");
        check("fs.read", "fs_-2eread");
        check("_-2e", "_-5f-2e");
        check("__-", "__-5f-");
        check("_.", "__-2e");
        check("é", "_-c3_-a9");
    }

    #[test]
    fn words_that_are_no_form_of_a_name_stand_for_themselves() {
        for wire in ["_-", "_-zz", "_-61", "_-2E", "_-+1", "a_-é", "_-ff", ""] {
            assert_eq!(from_wire(wire), wire);
        }
    }

    proptest! {
        #[test]
        fn every_name_is_read_back_from_its_form(name in "([a-zA-Z0-9_-]|_-|\\.|/| |é|[ -~]){0,20}") {
            let wire = to_wire(&name);
            prop_assert!(wire.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-'));
            prop_assert_eq!(from_wire(&wire), name.as_str());
        }

        #[test]
        fn fine_names_are_never_touched(name in "[a-zA-Z0-9-]{0,9}(_[a-zA-Z0-9_]{0,9}){0,3}") {
            prop_assert_eq!(to_wire(&name), name.as_str());
            prop_assert_eq!(from_wire(&name), name.as_str());
        }
    }
}
