//! Matching the text of a line against a pattern that has an operator in it.
//!
//! A pattern that allows must not be talked into a second command, so there a `*` never covers a
//! character with which the shell could begin one or redirect. A pattern that denies or asks is
//! matched as widely as possible. This compares text; it does not understand the shell.

/// The longest command that is matched at all: the longest single argument Linux passes to a program
/// (`MAX_ARG_STRLEN`), so nothing longer could run. It also bounds the time of a match.
pub(crate) const COMMAND_BYTES_MAX: usize = 128 * 1024;

/// Whether an allow rule's `pattern` covers `command`. Without `*` only the identical text is
/// covered, whatever it contains. A `*` behind a blank at the end covers no arguments, too.
pub(crate) fn allows(pattern: &str, command: &str) -> bool {
    if !pattern.contains('*') {
        return pattern == command;
    }
    let risky = risky_bytes(command.as_bytes());
    covers(pattern, command.as_bytes(), &risky)
        || without_arguments(pattern).is_some_and(|bare| allows(bare, command))
}

/// The pattern for the command alone, of one for a command with any arguments.
fn without_arguments(pattern: &str) -> Option<&str> {
    pattern.strip_suffix(" *").filter(|bare| !bare.is_empty())
}

/// Whether a deny or ask rule's `pattern` touches `command`: as a whole, or in any piece between
/// the characters that separate commands.
pub(crate) fn touches(pattern: &str, command: &str) -> bool {
    let separators = [';', '&', '|', '\n', '\r', '(', ')', '{', '}', '`'];
    let free = vec![false; command.len()];
    let pieces = command.split(separators).map(str::trim);
    std::iter::once(command)
        .chain(std::iter::once(command.trim()))
        .chain(pieces)
        .any(|piece| touches_piece(pattern, piece, &free[..piece.len()]))
}

fn touches_piece(pattern: &str, piece: &str, free: &[bool]) -> bool {
    covers(pattern, piece.as_bytes(), free)
        || without_arguments(pattern).is_some_and(|bare| touches_piece(bare, piece, free))
}

/// Marks every byte that a `*` of an allow rule must not cover. Both bytes of `$(`, `<(` and `>(`
/// are marked, so that a pattern cannot supply the first half of one.
fn risky_bytes(command: &[u8]) -> Vec<bool> {
    let mut risky: Vec<bool> = command
        .iter()
        .map(|byte| matches!(byte, b'\n' | b'\r' | 0 | b';' | b'&' | b'|' | b'`' | b'>' | b'<'))
        .collect();
    for (index, pair) in command.windows(2).enumerate() {
        if matches!(pair, b"$(" | b"<(" | b">(") {
            risky[index] = true;
            risky[index + 1] = true;
        }
    }
    risky
}

/// Whether `text` is the literal pieces of `pattern` in order, with bytes that are not marked in
/// `barred` where a `*` stands. Walks all positions at once, so no pattern makes it slow.
fn covers(pattern: &str, text: &[u8], barred: &[bool]) -> bool {
    let mut reached = vec![false; text.len() + 1];
    reached[0] = true;
    for (index, piece) in pattern.split('*').enumerate() {
        if index > 0 {
            for position in 0..text.len() {
                reached[position + 1] |= reached[position] && !barred[position];
            }
        }
        reached = after_literal(&reached, text, piece.as_bytes());
    }
    reached[text.len()]
}

fn after_literal(reached: &[bool], text: &[u8], literal: &[u8]) -> Vec<bool> {
    let mut next = vec![false; reached.len()];
    for (position, _) in reached.iter().enumerate().filter(|(_, reached)| **reached) {
        if text[position..].starts_with(literal) {
            next[position + literal.len()] = true;
        }
    }
    next
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_wildcard_allows_words_but_no_second_command() {
        let check = |pattern: &str, command: &str, expected: bool| {
            assert_eq!(allows(pattern, command), expected, "{pattern} / {command}");
        };
        check("git log *", "git log --oneline -5", true);
        check("git log *", "git logs", false);
        check("git log *", "git log", true);
        check("git log *", "git lo", false);
        check("git log*", "git log", true);
        check("cargo * --locked", "cargo test -p a --locked", true);
        check("*", "ls", true);
        check("*", "", true);
        for tail in [
            "x; rm y", "x\nrm", "x\rrm", "x\0", "x & y", "x|y", "`y`", "$(y)", "<(y)", "> y", "< y",
        ] {
            check("git log *", &format!("git log {tail}"), false);
        }
        check("git log $*", "git log $(rm)", false);
        check("git log *(a)", "git log $(a)", false);
        check("a (*)", "a (b)", true);
        check("a | wc *", "a | wc -l", true);
        check("cargo test | tail", "cargo test | tail", true);
        check("cargo test | tail", "cargo test | tail -5", false);
    }

    #[test]
    fn a_denying_pattern_sees_every_piece() {
        for command in [
            "rm -rf x",
            "cd y && rm -rf x",
            "(rm x)",
            "echo `rm x`",
            "  rm x",
            "a\nrm x",
            "$(rm x)",
        ] {
            assert!(touches("rm *", command), "{command}");
        }
        assert!(touches("*curl*", "a; b | xcurl > y"));
        assert!(touches("git push *", "cd x && git push"));
        assert!(!touches("rm *", "echo rm"));
        assert!(!touches("rm *", "rmdir x"));
    }

    #[test]
    fn many_wildcards_on_a_long_text_end() {
        let pattern = "*a".repeat(400);
        assert!(!allows(&pattern, &"a".repeat(399)));
        assert!(allows(&pattern, &"ba".repeat(400)));
    }

    proptest! {
        #[test]
        fn a_wildcard_never_covers_a_risky_character(
            head in "[a-z ]{0,6}",
            filling in "[a-z $;&|`<>()\n\r\0]{0,12}",
            tail in "[a-z ]{0,6}",
        ) {
            let risky = filling.contains([';', '&', '|', '`', '<', '>', '\n', '\r', '\0'])
                || filling.contains("$(");
            prop_assert_eq!(
                allows(&format!("{head}*{tail}"), &format!("{head}{filling}{tail}")),
                !risky
            );
        }
    }
}
