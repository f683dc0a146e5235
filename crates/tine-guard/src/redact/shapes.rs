//! Secrets that are known by their own shape.

use super::{Find, begins_word, run};

/// Most bytes of a key that are looked at to know it; its end is looked for once it is known.
const KEY_LOOK_MAX: usize = 512;

/// What an AWS key id is called.
pub(super) const KEY_ID: &str = "AWS key id";

/// Most bytes of one part of a token with dots that are looked at.
const PART_LOOK_MAX: usize = 4_096;

/// How a kind of key is known.
struct Shape {
    prefix: &'static str,
    kind: &'static str,
    /// Fewest bytes behind the prefix.
    least: usize,
    /// What may stand there.
    inside: fn(u8) -> bool,
    /// Whether these bytes must look like chance: the prefix alone is an ordinary word.
    random: bool,
}

const fn shape(prefix: &'static str, kind: &'static str, least: usize) -> Shape {
    Shape { prefix, kind, least, inside: word, random: false }
}

/// The longer of two prefixes that begin alike stands first.
const SHAPES: [Shape; 38] = [
    shape("sk-ant-", "Anthropic key", 16),
    Shape { random: true, ..shape("sk-", "API key", 20) },
    Shape { random: true, ..shape("sk_live_", "Stripe key", 10) },
    Shape { random: true, ..shape("rk_live_", "Stripe key", 10) },
    Shape { random: true, ..shape("sk_test_", "Stripe key", 10) },
    Shape { random: true, ..shape("rk_test_", "Stripe key", 10) },
    Shape { random: true, ..shape("whsec_", "Stripe secret", 24) },
    shape("AIza", "Google key", 35),
    shape("ya29.", "Google token", 20),
    Shape { random: true, ..shape("GOCSPX-", "Google secret", 20) },
    shape("ghp_", "GitHub token", 30),
    shape("gho_", "GitHub token", 30),
    shape("ghu_", "GitHub token", 30),
    shape("ghs_", "GitHub token", 30),
    shape("ghr_", "GitHub token", 30),
    shape("github_pat_", "GitHub token", 22),
    shape("glpat-", "GitLab token", 20),
    shape("gldt-", "GitLab token", 20),
    shape("glrt-", "GitLab token", 20),
    shape("glcbt-", "GitLab token", 20),
    shape("glptt-", "GitLab token", 20),
    shape("glsoat-", "GitLab token", 20),
    Shape { random: true, ..shape("xoxb-", "Slack token", 10) },
    Shape { random: true, ..shape("xoxa-", "Slack token", 10) },
    Shape { random: true, ..shape("xoxp-", "Slack token", 10) },
    Shape { random: true, ..shape("xoxr-", "Slack token", 10) },
    Shape { random: true, ..shape("xoxs-", "Slack token", 10) },
    Shape { random: true, ..shape("xoxe", "Slack token", 20) },
    Shape { random: true, ..shape("xapp-", "Slack token", 10) },
    Shape { inside: alphanumeric, random: true, ..shape("npm_", "npm token", 36) },
    shape("pypi-", "PyPI token", 50),
    Shape { inside: alphanumeric, random: true, ..shape("hf_", "Hugging Face token", 30) },
    Shape { inside: alphanumeric, random: true, ..shape("gsk_", "Groq key", 40) },
    Shape { random: true, ..shape("xai-", "xAI key", 40) },
    Shape { random: true, ..shape("pplx-", "Perplexity key", 32) },
    Shape { inside: alphanumeric, random: true, ..shape("r8_", "Replicate token", 30) },
    shape("dop_v1_", "DigitalOcean token", 60),
    shape("AGE-SECRET-KEY-1", "age key", 50),
];

fn word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}

fn alphanumeric(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

fn base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/')
}

/// A key whose first characters say whose it is.
pub(super) fn known_shape(bytes: &[u8], at: usize) -> Option<Find> {
    if !matches!(
        bytes.get(at),
        Some(
            b'A' | b'S'
                | b'G'
                | b'd'
                | b'e'
                | b'g'
                | b'h'
                | b'n'
                | b'p'
                | b'r'
                | b's'
                | b'w'
                | b'x'
                | b'y'
        )
    ) || !begins_word(bytes, at)
    {
        return None;
    }
    let rest = &bytes[at..];
    SHAPES
        .iter()
        .find(|shape| rest.starts_with(shape.prefix.as_bytes()) && shape.fits(bytes, at))
        .map(|shape| {
            let end = run(bytes, at, usize::MAX, |byte| {
                word(byte) || (byte == b'.' && shape.prefix.ends_with('.'))
            });
            Find { range: at..end, kind: shape.kind }
        })
        .or_else(|| amazon(bytes, at))
        .or_else(|| dotted(bytes, at))
}

impl Shape {
    fn fits(&self, bytes: &[u8], at: usize) -> bool {
        let from = at + self.prefix.len();
        let end = run(bytes, from, KEY_LOOK_MAX, self.inside);
        end - from >= self.least && (!self.random || is_chance(&bytes[from..end]))
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

/// An AWS key id.
fn amazon(bytes: &[u8], at: usize) -> Option<Find> {
    const ID_BYTES: usize = 20;
    let rest = bytes.get(at..at + ID_BYTES)?;
    let known = [&b"AKIA"[..], b"ASIA"].iter().any(|prefix| rest.starts_with(prefix));
    let whole = rest.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
    let ends = bytes.get(at + ID_BYTES).is_none_or(|byte| !byte.is_ascii_alphanumeric());
    (known && whole && ends).then_some(Find { range: at..at + ID_BYTES, kind: KEY_ID })
}

/// Tokens in parts: a JWT, a SendGrid key.
fn dotted(bytes: &[u8], at: usize) -> Option<Find> {
    let part = |from: usize| run(bytes, from, PART_LOOK_MAX, word);
    let (first_least, second_least, third_least, kind) = match bytes.get(at..at + 3)? {
        b"eyJ" => (12, 12, 8, "JWT"),
        b"SG." => (2, 16, 30, "SendGrid key"),
        _ => return None,
    };
    let first = part(at);
    let second = (bytes.get(first) == Some(&b'.')).then(|| part(first + 1))?;
    let third = (bytes.get(second) == Some(&b'.')).then(|| part(second + 1))?;
    let long =
        first - at >= first_least && second - first > second_least && third - second > third_least;
    let end = run(bytes, third, usize::MAX, word);
    long.then_some(Find { range: at..end, kind })
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

const PEM_BEGIN: &[u8] = b"-----BEGIN ";

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
    let mut end = label_end + b"-----".len();
    loop {
        end = run(bytes, end, usize::MAX, |byte| {
            base64(byte)
                || matches!(
                    byte,
                    b'=' | b':' | b',' | b'.' | b' ' | b'\n' | b'\r' | b'\t' | b'(' | b')'
                )
        });
        if bytes[end..].starts_with(b"-----END ") {
            let last = run(bytes, end + b"-----END ".len(), LABEL_MAX, |byte| {
                byte.is_ascii_uppercase() || byte == b' '
            });
            end = run(bytes, last, 5, |byte| byte == b'-');
            break;
        }
        // A line end as JSON writes it, however often it was escaped; a dash of a header.
        let slashes = run(bytes, end, 8, |byte| byte == b'\\');
        match bytes.get(slashes) {
            Some(b'n' | b'r' | b't') if slashes > end => end = slashes + 1,
            Some(b'-') if slashes == end && !bytes[end..].starts_with(b"-----") => end += 1,
            _ => break,
        }
    }
    Some(Find { range: at..end, kind: "private key" })
}

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
    let reference = password.is_empty() || matches!(password[0], b'$' | b'{' | b'%' | b'[' | b'*');
    (!reference).then_some(Find { range: from + colon + 1..from + host, kind: "password" })
}
