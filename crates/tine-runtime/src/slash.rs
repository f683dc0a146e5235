//! The arguments of `/fork`.

use tine_model::{AgentId, EntryId};

use crate::fork_spec::ForkSpec;
use crate::inherit::Inherit;
use crate::model_words::ModelWords;
use crate::slash_error::SlashError;
use crate::worktrees::{Placement, Start};

/// What follows `/fork`, read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ForkWords {
    /// What is said to the fork at once; nothing for an idle one.
    pub prompt: Option<String>,
    /// The last entry to inherit; `None` for all.
    pub at: Option<EntryId>,
    /// What the fork is to be called.
    pub name: Option<String>,
    /// The part of the conversation that it inherits, and its form; the whole by default.
    pub inherit: Inherit,
    /// Another model.
    pub model: Option<ModelWords>,
    /// Whether the conversation may be sent anew to it.
    pub accept_cache_loss: bool,
    /// Whether it gets a worktree of its own.
    pub worktree: bool,
    /// Whether it works in the background, and the focus stays.
    pub background: bool,
}

impl ForkWords {
    /// The fork of this agent that is meant.
    pub fn fork_of(&self, parent: AgentId) -> ForkSpec {
        let place =
            if self.worktree { Placement::Worktree(Start::State) } else { Placement::Shared };
        ForkSpec {
            at: self.at,
            name: self.name.clone(),
            inherit: self.inherit,
            model: self.model.clone(),
            accept_cache_loss: self.accept_cache_loss,
            place,
            ..ForkSpec::of(parent)
        }
    }
}

/// Reads what follows `/fork`: flags and one quoted prompt, in any order. In the quotes `\"` and `\\` are escapes, any other
/// backslash stands for itself, and lines may break. An empty prompt is no prompt; of a flag that comes twice the last one counts.
pub fn parse_fork(arguments: &str) -> Result<ForkWords, SlashError> {
    let mut words = ForkWords::default();
    let mut rest = arguments.trim();
    let mut is_prompt_read = false;
    while !rest.is_empty() {
        let (token, after) = rest.split_at(rest.find(char::is_whitespace).unwrap_or(rest.len()));
        rest = match token {
            _ if rest.starts_with('"') && is_prompt_read => {
                return Err(SlashError::Trailing(rest.to_owned()));
            }
            _ if rest.starts_with('"') => {
                let (prompt, after) = quoted(&rest[1..])?;
                words.prompt = Some(prompt).filter(|prompt| !prompt.is_empty());
                is_prompt_read = true;
                after
            }
            "--worktree" => {
                words.worktree = true;
                after
            }
            "--bg" => {
                words.background = true;
                after
            }
            "--accept-cache-loss" => {
                words.accept_cache_loss = true;
                after
            }
            "--at" => {
                let (value, after) = value("--at", after)?;
                let at = value.parse().map_err(|_| SlashError::NoEntry(value.to_owned()))?;
                words.at = Some(EntryId(at));
                after
            }
            "--name" => {
                let (value, after) = value("--name", after)?;
                words.name = Some(value.to_owned());
                after
            }
            "--context" => {
                let (value, after) = value("--context", after)?;
                let inherit = value.parse();
                words.inherit = inherit.map_err(|_| SlashError::NoContext(value.to_owned()))?;
                after
            }
            "--model" => {
                let (value, after) = value("--model", after)?;
                words.model = Some(ModelWords::parse(value)?);
                after
            }
            flag if flag.starts_with("--") => return Err(SlashError::UnknownFlag(flag.to_owned())),
            _ if is_prompt_read => return Err(SlashError::Trailing(rest.to_owned())),
            _ => return Err(SlashError::NotQuoted),
        }
        .trim_start();
    }
    Ok(words)
}

/// A flag's value, and what stands behind it.
fn value<'a>(flag: &'static str, rest: &'a str) -> Result<(&'a str, &'a str), SlashError> {
    let rest = rest.trim_start();
    let (value, after) = rest.split_at(rest.find(char::is_whitespace).unwrap_or(rest.len()));
    if value.is_empty() || value.starts_with("--") || value.starts_with('"') {
        Err(SlashError::NoArgument(flag))
    } else {
        Ok((value, after))
    }
}

/// What stands in quotes, up to the closing one, and what stands behind that.
fn quoted(text: &str) -> Result<(String, &str), SlashError> {
    let mut prompt = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Ok((prompt, &text[at + 1..])),
            '\\' => match text[at + 1..].chars().next() {
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
        let prompt = parse_fork(arguments).map(|words| words.prompt);
        assert_eq!(prompt, expected.map(|p| p.map(str::to_owned)), "{arguments}");
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

    #[test]
    fn flags_stand_before_and_behind_the_prompt() {
        let words = ForkWords {
            prompt: Some("try".into()),
            at: Some(EntryId(7)),
            name: Some("b".into()),
            inherit: Inherit::Turns(3),
            model: Some(ModelWords::parse("sim/echo/high").unwrap()),
            accept_cache_loss: true,
            worktree: true,
            background: true,
        };
        let text = "--at 7 --name a --bg \"try\" --name b\n--model sim/echo/high --context last:3 --worktree --accept-cache-loss";
        assert_eq!(parse_fork(text), Ok(words));
        let said = |text| parse_fork(text).unwrap_err().to_string();
        let said = [
            "--at",
            "--at x",
            "--name --bg",
            "--model \"a\"",
            "--model x/y",
            "--model openai/x/y",
            "--nmae a",
            "--context all",
            "\"a\" \"b\"",
        ]
        .map(said);
        insta::assert_snapshot!(said.join("\n"), @r#"
        --at requires an argument
        --at takes the number of an entry, not x
        --name requires an argument
        --model requires an argument
        Unknown model 'x/y' (it is provider/name)
        Invalid thinking level 'y' (must be: none, low, med, high)
        Unknown flag --nmae (it is --at, --name, --context, --model, --accept-cache-loss, --worktree or --bg)
        --context is full, digest, graduated, last:N or fresh, not all
        Unexpected text after the prompt: "b"
        "#);
    }

    proptest! {
        #[test]
        fn any_prompt_survives_quoting(prompt in "(?s).{1,80}", around in "[ \t\n]{0,3}") {
            let quoted = prompt.replace('\\', "\\\\").replace('"', "\\\"");
            let text = format!("{around}\"{quoted}\"{around}");
            let words = ForkWords { prompt: Some(prompt), ..ForkWords::default() };
            prop_assert_eq!(parse_fork(&text), Ok(words));
        }

        #[test]
        fn any_text_is_read_or_refused(text in "(?s).{0,80}") {
            let _ = parse_fork(&text);
        }
    }
}
