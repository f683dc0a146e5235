//! Secrets that are known by what they are called: `NAME_API_KEY=value`, `"password": "value"`, `Authorization: Bearer value`.

use super::settings::in_settings;
use super::{Find, MARKER, basic, run};

/// Longest name that is read backwards.
const NAME_BYTES_MAX: usize = 64;

/// Most bytes of a value that are looked at to judge it; its end is looked for once it is judged.
const VALUE_LOOK_MAX: usize = 512;

/// Fewest bytes of a value that a variable of the environment holds as a secret.
const PLAIN_LEAST: usize = 6;

/// Fewest bytes of a quoted value under a name in small letters.
const QUOTED_LEAST: usize = 8;

/// Fewest bytes of a value that nothing marks but its name and its look.
const BARE_LEAST: usize = 16;

/// What is under a name: which kind of secret, and how sure its name makes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Naming {
    kind: &'static str,
    /// Written like a variable of the environment, or like an option: nothing else is called so.
    loud: bool,
    /// The name says what the value is, not only that it is a key to something.
    sure: bool,
}

/// Endings of names, without separators and in small letters, of values that are secret.
const SECRET_ENDINGS: [(&str, &str); 21] = [
    ("apikey", "API key"),
    ("accesskey", "access key"),
    ("secretkey", "secret key"),
    ("privatekey", "private key"),
    ("accountkey", "access key"),
    ("signingkey", "secret key"),
    ("encryptionkey", "secret key"),
    ("masterkey", "secret key"),
    ("authkey", "access key"),
    ("servicekey", "access key"),
    ("password", "password"),
    ("passwd", "password"),
    ("passphrase", "password"),
    ("secret", "secret"),
    ("token", "token"),
    ("credential", "secret"),
    ("credentials", "secret"),
    ("pgpass", "password"),
    ("pwd", "password"),
    ("accesskeyid", "access key"),
    ("clientkeydata", "private key"),
];

/// Endings of variables of the environment whose values are secret.
const LOUD_ENDINGS: [&[u8]; 5] = [b"_PASS", b"_PAT", b"_SECRETS", b"_PSK", b"_CREDS"];

/// Words that documentation and tests write where a secret would stand.
const PLACEHOLDERS: [&str; 10] =
    ["password", "passwd", "passphrase", "pass", "pwd", "secret", "token", "apikey", "foo", "bar"];

/// What a name says of its value; `None` when it does not say that it is secret.
pub(super) fn naming(name: &[u8]) -> Option<Naming> {
    let plain: Vec<u8> = name
        .iter()
        .filter(|byte| byte.is_ascii_alphanumeric())
        .map(u8::to_ascii_lowercase)
        .collect();
    let loud = name.starts_with(b"--")
        || name.iter().any(u8::is_ascii_uppercase) && !name.iter().any(u8::is_ascii_lowercase);
    // The shell's own variables.
    if plain.is_empty() || matches!(name, b"PWD" | b"OLDPWD") {
        return None;
    }
    let known = SECRET_ENDINGS.iter().find(|(ending, _)| plain.ends_with(ending.as_bytes()));
    match known {
        Some((_, kind)) => Some(Naming { kind, loud, sure: true }),
        None if loud && (name.ends_with(b"_KEY") || name == b"KEY") => {
            Some(Naming { kind: "key", loud, sure: false })
        }
        None if loud && LOUD_ENDINGS.iter().any(|ending| name.ends_with(ending)) => {
            Some(Naming { kind: "password", loud, sure: true })
        }
        None => None,
    }
}

/// Whether a whole value under a secret name is one: the field of a JSON object.
pub(super) fn secret_field(name: &str, value: &str) -> Option<&'static str> {
    if name == "auth" && basic::is_user_and_password(value.as_bytes()) {
        return Some("registry password");
    }
    let naming = naming(name.as_bytes())?;
    let whole = !value.contains(char::is_whitespace);
    (whole && naming.holds(value.as_bytes(), Written::Quoted)).then_some(naming.kind)
}

/// How a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Written {
    Quoted,
    /// Right behind `=`.
    Joined,
    Bare,
}

impl Naming {
    /// Returns true for a value that counts among settings, where nothing but a value stands behind a name.
    fn is_set(self, value: &[u8]) -> bool {
        self.sure
            && value.len() >= PLAIN_LEAST
            && !is_reference(value)
            && is_mixed(value)
            && !is_identifier(value)
    }

    fn holds(self, value: &[u8], written: Written) -> bool {
        if is_reference(value) || is_placeholder(value) {
            return false;
        }
        let mixed = is_mixed(value);
        match (written, self.loud && self.sure) {
            (Written::Quoted | Written::Joined, true) => value.len() >= PLAIN_LEAST,
            (Written::Quoted, false) if self.sure => {
                value.len() >= QUOTED_LEAST && mixed && !is_name_of_secret(value)
            }
            (Written::Joined, false) if self.sure => {
                value.len() >= QUOTED_LEAST && mixed && !is_identifier(value)
            }
            (_, true) => value.len() >= QUOTED_LEAST && mixed && !is_identifier(value),
            (_, false) => value.len() >= BARE_LEAST && (is_chance(value) || is_encoded(value)),
        }
    }
}

/// Whether the bytes have a piece without dashes that no word looks like: eight or more letters and digits with a digit among
/// letters, or sixteen in both cases.
pub(super) fn is_chance(bytes: &[u8]) -> bool {
    bytes.split(|byte| !byte.is_ascii_alphanumeric()).any(|piece| {
        let digits = piece.iter().filter(|byte| byte.is_ascii_digit()).count();
        let upper = piece.iter().any(u8::is_ascii_uppercase);
        let lower = piece.iter().any(u8::is_ascii_lowercase);
        piece.len() >= 8 && digits >= 2 && (upper || lower)
            || piece.len() >= 16 && upper && lower && digits > 0
    })
}

/// Returns true for letters beside other characters: no word of prose.
pub(super) fn is_mixed(value: &[u8]) -> bool {
    value.iter().any(u8::is_ascii_alphabetic)
        && value.iter().any(|byte| {
            !byte.is_ascii_alphabetic() && !matches!(byte, b'-' | b'_' | b'.' | b' ' | b'/')
        })
}

/// Whether a value only says where the secret is, or that it was left out: `$KEY`, `<key>`, `****`, a call, a marker of ours.
pub(super) fn is_reference(value: &[u8]) -> bool {
    let first = value.first().copied().unwrap_or_default();
    let one_character = value.iter().all(|byte| *byte == first);
    let variable = value.contains(&b'_')
        && value.iter().all(|byte| byte.is_ascii_uppercase() || *byte == b'_');
    one_character
        || variable
        || matches!(first, b'$' | b'<' | b'{' | b'%' | b'[' | b'(' | b'&')
        || value.contains(&b'(')
        || value.windows(MARKER.len()).any(|window| window == MARKER.as_bytes())
        || value.windows(3).any(|window| window == b"...")
        || value.windows(2).any(|window| window == b"::")
}

/// Returns true for a word that stands where a secret would.
pub(super) fn is_placeholder(value: &[u8]) -> bool {
    PLACEHOLDERS.iter().any(|word| value.eq_ignore_ascii_case(word.as_bytes()))
}

/// Returns true for words of one case that name a secret, as in `CLIENT_TRAFFIC_SECRET_0` and `caching_sha2_password`.
fn is_name_of_secret(value: &[u8]) -> bool {
    /// `sha2`, `v10`.
    const DIGITS_MAX: usize = 2;
    let is_word = |piece: &[u8]| {
        let digits = piece.iter().filter(|byte| byte.is_ascii_digit()).count();
        let upper = piece.iter().any(u8::is_ascii_uppercase);
        let lower = piece.iter().any(u8::is_ascii_lowercase);
        digits <= DIGITS_MAX && !(upper && lower) && piece.iter().all(u8::is_ascii_alphanumeric)
    };
    value.contains(&b'_')
        && value.split(|byte| matches!(byte, b'_' | b'@')).all(is_word)
        && value.split(|byte| *byte == b'_').any(is_placeholder)
}

/// Whether a value is long and base64 in letters of both cases and digits.
fn is_encoded(value: &[u8]) -> bool {
    const LEAST: usize = 32;
    let inside = |byte: &u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'-' | b'_')
    };
    value.len() >= LEAST
        && value.iter().all(inside)
        && value.iter().any(u8::is_ascii_uppercase)
        && value.iter().any(u8::is_ascii_lowercase)
        && value.iter().any(u8::is_ascii_digit)
}

/// Whether a value reads like a name of a program: small letters and digits in words.
fn is_identifier(value: &[u8]) -> bool {
    let inside = |byte: &u8| {
        byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'.')
    };
    value.iter().all(inside) && value.iter().any(|byte| matches!(byte, b'_' | b'.'))
}

/// A value behind a name that says it is secret, found at the sign between them.
pub(super) fn assigned_value(bytes: &[u8], at: usize) -> Option<Find> {
    let sign = *bytes.get(at)?;
    if sign == b' ' {
        return after_scheme(bytes, at);
    }
    if !matches!(sign, b'=' | b':') {
        return None;
    }
    let (name, spaced) = name_before(bytes, at)?;
    let naming = naming(name)?;
    let mut from = run(bytes, at + 1, 1, |byte| matches!(byte, b'=' | b'>'));
    let unspaced = from;
    from = run(bytes, from, 4, |byte| matches!(byte, b' ' | b'\t'));
    let slashes = run(bytes, from, 8, |byte| byte == b'\\');
    let quote = bytes.get(slashes).copied().filter(|byte| matches!(byte, b'"' | b'\'' | b'`'));
    let (start, written) = match quote {
        Some(_) => (slashes + 1, Written::Quoted),
        None if slashes > from => return None,
        None if sign == b'=' && from == unspaced && !spaced => (from, Written::Joined),
        None => (from, Written::Bare),
    };
    let inside = |byte: u8| match quote {
        Some(quote) => byte != quote && !matches!(byte, b'\\' | b'\n' | b'\r' | b'"'),
        None => !ends_bare(byte),
    };
    let look = run(bytes, start, VALUE_LOOK_MAX, inside);
    let value = &bytes[start..look];
    // A type of source text, or what the shell takes where a variable is not set.
    let is_type = written == Written::Bare && bytes.get(look) == Some(&b'<');
    let is_default = sign == b':' && matches!(bytes.get(at + 1), Some(b'+' | b'-' | b'?' | b'='));
    if is_type || is_default {
        return None;
    }
    // A sentence in quotes is no secret, unless it is somebody's password.
    if value.contains(&b' ') && !(naming.loud && naming.kind == "password") {
        return None;
    }
    let stands_alone = || matches!(bytes.get(look), None | Some(b'\n' | b'\r'));
    let is_set = || {
        written != Written::Quoted
            && naming.is_set(value)
            && stands_alone()
            && in_settings(bytes, start)
    };
    if !naming.holds(value, written) && !is_set() {
        return None;
    }
    let end = run(bytes, look, usize::MAX, inside);
    Some(Find { range: start..end, kind: naming.kind })
}

fn ends_bare(byte: u8) -> bool {
    byte.is_ascii_whitespace()
        || byte.is_ascii_control()
        || matches!(
            byte,
            b'"' | b'\''
                | b'`'
                | b'\\'
                | b';'
                | b'&'
                | b','
                | b'|'
                | b'<'
                | b'>'
                | b'}'
                | b']'
                | b')'
        )
}

/// The name before a sign, and whether blanks stand between them.
fn name_before(bytes: &[u8], at: usize) -> Option<(&[u8], bool)> {
    let back = |end: usize, most: usize, inside: &dyn Fn(u8) -> bool| {
        let taken = bytes[..end].iter().rev().take(most).take_while(|byte| inside(**byte)).count();
        end - taken
    };
    let end = back(at, 4, &|byte| matches!(byte, b' ' | b'\t'));
    let spaced = end < at;
    let unquoted = back(end, 1, &|byte| matches!(byte, b'"' | b'\'' | b'`'));
    let end = if unquoted < end { back(unquoted, 8, &|byte| byte == b'\\') } else { end };
    let start = back(end, NAME_BYTES_MAX, &|byte| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
    });
    let name = bytes[start..end].rsplit(|byte| *byte == b'.').next().unwrap_or_default();
    (!name.is_empty()).then_some((name, spaced))
}

/// Schemes of an `Authorization` header; behind one of them stands the secret.
const SCHEMES: [&[u8]; 3] = [b"bearer", b"basic", b"token"];

/// What stands behind `Bearer`, wherever that is written; behind other schemes, where the header says so.
fn after_scheme(bytes: &[u8], at: usize) -> Option<Find> {
    let before = |end: usize, word: &[u8]| {
        let start = end.checked_sub(word.len())?;
        bytes[start..end].eq_ignore_ascii_case(word).then_some(start)
    };
    let (scheme, start) = SCHEMES.iter().find_map(|word| Some((*word, before(at, word)?)))?;
    let header = bytes[..start].iter().rev().take(24).copied().collect::<Vec<u8>>();
    let header: Vec<u8> = header.into_iter().rev().map(|byte| byte.to_ascii_lowercase()).collect();
    let in_header = header.windows(13).any(|window| window == b"authorization");
    if scheme != b"bearer" && !in_header {
        return None;
    }
    let inside = |byte: u8| {
        byte.is_ascii_alphanumeric()
            || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'+' | b'/' | b'=')
    };
    let look = run(bytes, at + 1, VALUE_LOOK_MAX, inside);
    let value = &bytes[at + 1..look];
    let is_secret = if in_header {
        value.len() >= QUOTED_LEAST && !is_placeholder(value)
    } else {
        value.len() >= BARE_LEAST && is_chance(value)
    };
    let end = run(bytes, look, usize::MAX, inside);
    is_secret.then_some(Find { range: at + 1..end, kind: "authorization" })
}
