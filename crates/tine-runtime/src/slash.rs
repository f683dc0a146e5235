//! The arguments of `/fork`.

/// Why the arguments are refused. The texts are shown as they are; nothing has changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SlashError {
    /// The prompt does not begin with a quote.
    #[error("Prompt must be quoted (usage: /fork \"prompt\")")]
    NotQuoted,
    /// The closing quote is missing.
    #[error("Unterminated quoted string")]
    Unterminated,
    /// Something stands after the closing quote.
    #[error("Unexpected text after the prompt: {0}")]
    Trailing(String),
}

/// Reads what follows `/fork`: nothing, or one quoted prompt. In the quotes `\"` and `\\` are escapes, any other
/// backslash stands for itself, and lines may break. An empty prompt is no prompt.
pub fn parse_fork(arguments: &str) -> Result<Option<String>, SlashError> {
    let arguments = arguments.trim();
    if arguments.is_empty() {
        return Ok(None);
    }
    let quoted = arguments.strip_prefix('"').ok_or(SlashError::NotQuoted)?;
    let mut prompt = String::new();
    let mut chars = quoted.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => {
                let rest = quoted[at + 1..].trim();
                return match rest {
                    "" => Ok(Some(prompt).filter(|prompt| !prompt.is_empty())),
                    _ => Err(SlashError::Trailing(rest.to_owned())),
                };
            }
            '\\' => match quoted[at + 1..].chars().next() {
                Some(escaped @ ('"' | '\\')) => {
                    prompt.push(escaped);
                    chars.next();
                }
                _ => prompt.push('\\'),
            },
            other => prompt.push(other),
        }
    }
    Err(SlashError::Unterminated)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(arguments: &str, expected: Result<Option<&str>, SlashError>) {
        assert_eq!(parse_fork(arguments), expected.map(|p| p.map(str::to_owned)), "{arguments}");
    }

    #[test]
    fn no_argument_and_an_empty_prompt_make_an_idle_child() {
        check("", Ok(None));
        check("  \t", Ok(None));
        check(r#""""#, Ok(None));
    }

    #[test]
    fn a_quoted_prompt_may_have_escapes_and_lines() {
        check(r#""try it""#, Ok(Some("try it")));
        check("\"two\nlines\"", Ok(Some("two\nlines")));
        check(r#""say \"hi\" \\ \n""#, Ok(Some(r#"say "hi" \ \n"#)));
        check(r#"  "é✓"  "#, Ok(Some("é✓")));
    }

    #[test]
    fn mistakes_are_named() {
        check("try it", Err(SlashError::NotQuoted));
        check(r#""try it"#, Err(SlashError::Unterminated));
        check(r#""try it\""#, Err(SlashError::Unterminated));
        check(r#""a" b"#, Err(SlashError::Trailing("b".into())));
    }

    proptest! {
        #[test]
        fn any_prompt_survives_quoting(prompt in "(?s).{1,80}", around in "[ \t\n]{0,3}") {
            let quoted = prompt.replace('\\', "\\\\").replace('"', "\\\"");
            let text = format!("{around}\"{quoted}\"{around}");
            prop_assert_eq!(parse_fork(&text), Ok(Some(prompt)));
        }

        #[test]
        fn any_text_is_read_or_refused(text in "(?s).{0,80}") {
            let _ = parse_fork(&text);
        }
    }
}
