//! Base64 of `user:password`, as registries keep it and as headers carry it.

/// Most bytes that are decoded.
const LOOK_MAX: usize = 512;

/// Returns true for base64 of text with a colon in it.
pub(super) fn is_user_and_password(value: &[u8]) -> bool {
    let value = &value[..value.len().min(LOOK_MAX)];
    let end = value.iter().position(|byte| *byte == b'=').unwrap_or(value.len());
    let mut decoded = Vec::with_capacity(value.len());
    let (mut bits, mut count) = (0u32, 0);
    for byte in &value[..end] {
        let Some(six) = six_bits(*byte) else { return false };
        bits = bits << 6 | six;
        count += 6;
        if count >= 8 {
            count -= 8;
            decoded.push((bits >> count) as u8);
        }
    }
    let colon = decoded.iter().position(|byte| *byte == b':');
    let is_text = decoded.iter().all(|byte| matches!(byte, b' '..=b'~'));
    is_text && colon.is_some_and(|colon| colon > 0 && colon + 1 < decoded.len())
}

fn six_bits(byte: u8) -> Option<u32> {
    let six = match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(u32::from(six))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_and_a_password_are_known_in_base64() {
        for (value, is) in [
            ("dXNlcjpwYXNz", true),
            ("dTpw", true),
            ("dXNlcjo=", false),
            ("dXNlcm5hbWU=", false),
            ("true", false),
            ("", false),
        ] {
            assert_eq!(is_user_and_password(value.as_bytes()), is, "{value}");
        }
    }
}
