//! Secrets whose shape no rule can tell: private keys, passwords in addresses, the secret behind a key id.

use super::assigned::is_placeholder;
use super::{Find, run};

/// Most bytes of a key that are looked at to know it; its end is looked for once it is known.
const KEY_LOOK_MAX: usize = 512;

/// What an AWS key id is called.
pub(super) const KEY_ID: &str = "aws access token";

fn base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/')
}

/// The secret that belongs to an AWS key id: forty characters of base64 in letters of both cases and digits, shortly behind it.
/// Looked for at an id, so that no other such text is touched.
pub(super) fn secret_behind_id(bytes: &[u8], at: usize) -> Option<Find> {
    const SECRET_BYTES: usize = 40;
    let piece = bytes.get(at..at + SECRET_BYTES)?;
    let begins = at == 0 || !base64(bytes[at - 1]);
    let ends = bytes.get(at + SECRET_BYTES).is_none_or(|byte| !base64(*byte));
    let mixed = piece.iter().any(u8::is_ascii_uppercase)
        && piece.iter().any(u8::is_ascii_lowercase)
        && piece.iter().any(u8::is_ascii_digit);
    (begins && ends && mixed && piece.iter().all(|byte| base64(*byte)))
        .then_some(Find { range: at..at + SECRET_BYTES, kind: "AWS secret key" })
}

/// The end of a colour, which faces set anew in each line.
fn colour(bytes: &[u8], at: usize) -> Option<usize> {
    const NUMBERS_MAX: usize = 24;
    bytes.get(at..)?.strip_prefix(b"\x1b[")?;
    let behind = run(bytes, at + 2, NUMBERS_MAX, |byte| byte.is_ascii_digit() || byte == b';');
    (bytes.get(behind) == Some(&b'm')).then_some(behind + 1)
}

const PEM_BEGIN: &[u8] = b"-----BEGIN ";

/// Fewest characters of base64 in a private key. The shortest keys have 32 bytes, which are 43 characters. Less is a placeholder, as
/// in documentation and tests of parsers.
const KEY_CHARACTERS_MIN: usize = 40;

/// A private key in PEM, or in OpenPGP's armour: from its first line to its last, or as far as it goes.
pub(super) fn private_key(bytes: &[u8], at: usize) -> Option<Find> {
    const LABEL_MAX: usize = 40;
    if bytes.get(at) != Some(&b'-') || !bytes[at..].starts_with(PEM_BEGIN) {
        return None;
    }
    let label = at + PEM_BEGIN.len();
    let label_end = run(bytes, label, LABEL_MAX, |byte| byte.is_ascii_uppercase() || byte == b' ');
    let words = &bytes[label..label_end];
    let private = words.windows(11).any(|window| window == b"PRIVATE KEY");
    if !private || !bytes[label_end..].starts_with(b"-----") {
        return None;
    }
    let body = label_end + b"-----".len();
    let mut end = body;
    let mut body_end;
    loop {
        end = run(bytes, end, usize::MAX, |byte| {
            base64(byte)
                || matches!(
                    byte,
                    b'=' | b':' | b',' | b'.' | b' ' | b'\n' | b'\r' | b'\t' | b'(' | b')'
                )
        });
        body_end = end;
        if bytes[end..].starts_with(b"-----END ") {
            let last = run(bytes, end + b"-----END ".len(), LABEL_MAX, |byte| {
                byte.is_ascii_uppercase() || byte == b' '
            });
            end = run(bytes, last, 5, |byte| byte == b'-');
            break;
        }
        if let Some(behind) = colour(bytes, end) {
            end = behind;
            continue;
        }
        // A line end as JSON writes it, however often it was escaped; a line that source text continues; a dash of a header.
        let slashes = run(bytes, end, 8, |byte| byte == b'\\');
        match bytes.get(slashes) {
            Some(b'n' | b'r' | b't' | b'\n') if slashes > end => end = slashes + 1,
            Some(b'-') if slashes == end && !bytes[end..].starts_with(b"-----") => end += 1,
            _ => break,
        }
    }
    let characters = bytes[body..body_end].iter().filter(|byte| base64(**byte));
    let is_key = characters.take(KEY_CHARACTERS_MIN).count() == KEY_CHARACTERS_MIN;
    is_key.then_some(Find { range: at..end, kind: "private key" })
}

/// One letter is an example.
const PASSWORD_BYTES_MIN: usize = 2;

/// The password in `scheme://user:password@host`.
pub(super) fn password_in_address(bytes: &[u8], at: usize) -> Option<Find> {
    if bytes.get(at) != Some(&b':') || !bytes[at..].starts_with(b"://") {
        return None;
    }
    let from = at + b"://".len();
    let delimiter = |byte: u8| {
        byte.is_ascii_whitespace()
            || matches!(byte, b'/' | b'"' | b'\'' | b'`' | b'\\' | b'<' | b'>' | b'?' | b'#')
    };
    let end = run(bytes, from, KEY_LOOK_MAX, |byte| !delimiter(byte));
    let authority = &bytes[from..end];
    let host = authority.iter().rposition(|byte| *byte == b'@')?;
    let colon = authority[..host].iter().position(|byte| *byte == b':')?;
    let password = &authority[colon + 1..host];
    // A synopsis: `scheme://[user[:password]@]host`.
    let is_optional = authority[..colon].contains(&b'[');
    let reference = password.len() < PASSWORD_BYTES_MIN
        || is_optional
        || matches!(password[0], b'$' | b'{' | b'%' | b'[' | b'*')
        || is_placeholder(password);
    (!reference).then_some(Find { range: from + colon + 1..from + host, kind: "password" })
}
