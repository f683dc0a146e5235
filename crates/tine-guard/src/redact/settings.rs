//! Places of a text that hold settings: there a name before a value is enough to know a secret by.
//!
//! It goes by the lines around a place. Those of a file of settings, or of a program that prints settings, are names with values,
//! titles and comments; source text has other lines.

/// Lines that are looked at on each side.
const NEIGHBOURS: usize = 3;

/// Longest line that is one of settings, and most bytes that are looked at on each side.
const LINE_BYTES_MAX: usize = 400;

/// Returns true if the line at this place and the ones around it are settings.
pub(super) fn in_settings(bytes: &[u8], at: usize) -> bool {
    let before = &bytes[at.saturating_sub(LINE_BYTES_MAX * NEIGHBOURS)..at];
    let after = &bytes[at..bytes.len().min(at + LINE_BYTES_MAX * NEIGHBOURS)];
    let begin = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let end = after.iter().position(|byte| *byte == b'\n').unwrap_or(after.len());
    let line = [&before[begin..], &after[..end]].concat();
    let above = before[..begin].split(|byte| *byte == b'\n').rev().filter(is_full);
    let below = after[end..].split(|byte| *byte == b'\n').filter(is_full);
    line.len() <= LINE_BYTES_MAX
        && is_setting(&line)
        && above.take(NEIGHBOURS).all(is_setting)
        && below.take(NEIGHBOURS).all(is_setting)
}

fn is_full(line: &&[u8]) -> bool {
    !line.trim_ascii().is_empty()
}

/// Returns true for a line of settings: a name and its value, a title, a comment, an item.
fn is_setting(line: &[u8]) -> bool {
    let line = without_number(line.trim_ascii());
    let (Some(first), Some(last)) = (line.first(), line.last()) else { return true };
    match first {
        b'#' | b'-' | b'}' | b']' => return true,
        b'[' => return *last == b']',
        b'/' | b'<' | b'*' | b'(' => return false,
        _ => {}
    }
    if matches!(last, b';' | b'(') || line.ends_with(b") {") {
        return false;
    }
    let line = line.strip_prefix(b"export ").unwrap_or(line);
    let name = line.iter().take_while(|byte| {
        byte.is_ascii_alphanumeric()
            || matches!(byte, b'_' | b'-' | b'.' | b'/' | b'"' | b'\'' | b'\\')
    });
    let name = name.count();
    let behind = line[name..].trim_ascii_start();
    let is_call =
        behind.contains(&b'(') || behind.windows(2).any(|pair| pair == b"::" || pair == b"->");
    name > 0 && matches!(behind.first(), Some(b'=' | b':')) && !is_call
}

/// The line without the number or the mark that a tool puts before it.
fn without_number(line: &[u8]) -> &[u8] {
    let line = line.strip_prefix("⎿".as_bytes()).unwrap_or(line).trim_ascii_start();
    let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let rest = &line[digits..];
    let behind = rest.strip_prefix("→".as_bytes()).or_else(|| rest.strip_prefix(b"\t"));
    behind.filter(|_| digits > 0).map_or(line, |line| line.trim_ascii_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> bool {
        in_settings(text.as_bytes(), text.find("HERE").unwrap())
    }

    #[test]
    fn settings_are_known_by_their_lines() {
        for settings in [
            "password: HERE",
            "db:\n  user: a\n  password: HERE\n\n# and\nport: 1",
            "[db]\nuser = a\npassword = HERE\n[other]",
            "   1→user=a\n   2→password=HERE",
            "export A=1\nexport B=HERE",
        ] {
            assert!(check(settings), "{settings}");
        }
        for source in [
            "fn a() {\n    password: HERE\n}",
            "let user = a;\npassword: HERE",
            "struct A {\n    password: HERE\n}",
            "It reads:\n\n    password: HERE\n\nand is well.",
            "password: HERE;",
        ] {
            assert!(!check(source), "{source}");
        }
    }
}
