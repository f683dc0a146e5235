//! The form that a provider demands of the ids of calls.

use std::fmt;

use tine_model::WireFormat;

/// Which ids of calls a server takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IdForm {
    /// The characters that an id may have.
    chars: Chars,
    /// The greatest number of them; `None` for any number.
    most: Option<usize>,
    /// True if an id has exactly so many.
    is_exact: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Chars {
    #[default]
    Any,
    /// Letters, digits, `_` and `-`.
    Word,
    /// Letters and digits.
    Alphanumeric,
}

/// Longest id that is demanded of servers' words; beyond that nobody counts.
const MOST_MAX: usize = 256;

impl IdForm {
    /// The form of a format's own provider. Sources: Anthropic's `String should match pattern
    /// '^[a-zA-Z0-9_-]+$'`; OpenAI's `call_id` of at most 64 characters.
    pub(crate) fn of(format: WireFormat) -> Self {
        match format {
            WireFormat::Anthropic => Self { chars: Chars::Word, ..Self::default() },
            WireFormat::OpenAiResponses => Self { most: Some(64), ..Self::default() },
            WireFormat::OpenAiChat | WireFormat::OpenAiChatParts | WireFormat::Gemini => {
                Self::default()
            }
        }
    }

    /// Reads in a server's words which ids it takes. Mistral: `Tool call id was call_0 but must be a-z, A-Z, 0-9, with a length of 9.`;
    /// OpenAI: `Invalid 'messages[1].tool_calls[0].id': string too long. Expected a string with maximum length 40`; Anthropic's
    /// pattern, also from gateways in front of it.
    pub fn read(words: &str) -> Option<Self> {
        let number = |after: &str| -> Option<usize> {
            let rest = words.split_once(after)?.1.trim_start();
            let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
            digits.parse().ok().filter(|most| (1..=MOST_MAX).contains(most))
        };
        let folded = words.to_lowercase();
        let is_of_ids = ["tool_call", "tool call", "tool_use", "call_id", "tool_result"]
            .iter()
            .any(|name| folded.contains(name));
        if !is_of_ids {
            return None;
        }
        if folded.contains("must be a-z, a-z, 0-9") {
            let most = number("length of");
            return Some(Self { chars: Chars::Alphanumeric, most, is_exact: most.is_some() });
        }
        if words.contains("[a-zA-Z0-9_-]") {
            return Some(Self { chars: Chars::Word, most: None, is_exact: false });
        }
        let most = number("maximum length").or_else(|| number("at most"))?;
        Some(Self { chars: Chars::Any, most: Some(most), is_exact: false })
    }

    /// The id in this form, as like the one that was said as it can be; another one for each number.
    pub(crate) fn fitted(self, said: &str, number: Option<u64>) -> String {
        let takes = |c: char| match self.chars {
            Chars::Any => true,
            Chars::Word => c.is_ascii_alphanumeric() || c == '_' || c == '-',
            Chars::Alphanumeric => c.is_ascii_alphanumeric(),
        };
        let count = said.chars().count();
        let is_short = self.most.is_none_or(|most| count <= most);
        let is_right = !self.is_exact || self.most == Some(count);
        if number.is_none() && count > 0 && is_short && is_right && said.chars().all(takes) {
            return said.to_owned();
        }
        if self.is_exact {
            return self.hashed(said, number);
        }
        let most = self.most.unwrap_or(MOST_MAX);
        let end = number.map_or_else(String::new, |number| match self.chars {
            Chars::Any | Chars::Word => format!("_{number}"),
            Chars::Alphanumeric => format!("x{number}"),
        });
        let begin = said.chars().filter_map(|c| match (takes(c), self.chars) {
            (true, _) => Some(c),
            (false, Chars::Alphanumeric) => None,
            (false, Chars::Any | Chars::Word) => Some('_'),
        });
        let mut id: String = begin.take(most.saturating_sub(end.len()).max(1)).collect();
        if id.is_empty() {
            id.push_str("call");
        }
        id + &end
    }

    /// An id of exactly so many letters and digits.
    fn hashed(self, said: &str, number: Option<u64>) -> String {
        const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
        let mut hasher = blake3::Hasher::new();
        hasher.update(said.as_bytes()).update(&number.unwrap_or(0).to_le_bytes());
        let mut bytes = vec![0; self.most.unwrap_or_default()];
        hasher.finalize_xof().fill(&mut bytes);
        bytes.iter().map(|byte| char::from(DIGITS[usize::from(*byte) % DIGITS.len()])).collect()
    }

    /// Reads the text form.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix("call ids but of ")?;
        let (most, is_exact, kind) = match rest.split_once(' ') {
            Some((number, kind)) if number.parse::<usize>().is_ok() => {
                (number.parse().ok(), true, kind)
            }
            _ => match rest.strip_prefix("at most ").and_then(|rest| rest.split_once(' ')) {
                Some((number, kind)) => (Some(number.parse().ok()?), false, kind),
                None => (None, false, rest),
            },
        };
        let chars = match kind {
            "characters" => Chars::Any,
            "letters, digits, _ and -" => Chars::Word,
            "letters and digits" => Chars::Alphanumeric,
            _ => return None,
        };
        Some(Self { chars, most, is_exact })
    }
}

impl fmt::Display for IdForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("call ids but of ")?;
        match (self.most, self.is_exact) {
            (Some(most), true) => write!(f, "{most} ")?,
            (Some(most), false) => write!(f, "at most {most} ")?,
            (None, _) => {}
        }
        f.write_str(match self.chars {
            Chars::Any => "characters",
            Chars::Word => "letters, digits, _ and -",
            Chars::Alphanumeric => "letters and digits",
        })
    }
}
