//! Variables whose text is not known here, but whose place in the words is.
//!
//! Recognised are `$NAME` and `${NAME}` for names that hold no keys, and `$?`. What such a word may do depends on the
//! command: only where any text at all would be harmless is it accepted. That nothing changes the variables before,
//! is kept by the grammar, which has no assignments; only `cd` changes `PWD` and `OLDPWD`.

use super::environment::may_be_shown;
use super::grammar::Reader;
use super::refusal::Refusal;
use super::word::Word;

/// The name of the status of the command before, one to three digits.
const STATUS: &str = "?";

/// Why a word is refused whose text matters.
const WHY: &str = "what this variable holds is not known, and it matters here";

/// A variable in a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Variable {
    pub(super) name: String,
    /// Bytes of the word's text that stand for it.
    pub(super) start: usize,
    pub(super) end: usize,
    /// Whether it stands in quotes; outside them it becomes any number of words.
    pub(super) quoted: bool,
}

impl Variable {
    fn is_status(&self) -> bool {
        self.name == STATUS
    }
}

/// Reads the variable that begins here with `$`.
pub(super) fn read_variable(
    reader: &mut Reader<'_>,
    word: &mut Word,
    quoted: bool,
) -> Result<(), Refusal> {
    let rest = reader.text.get(reader.at + 1..).unwrap_or_default();
    let (inner, braces) = match rest.strip_prefix('{') {
        Some(inner) => (inner, true),
        None => (rest, false),
    };
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let length = match inner.strip_prefix(STATUS) {
        Some(_) => STATUS.len(),
        None => inner.find(|c| !is_name(c)).unwrap_or(inner.len()),
    };
    let name = &inner[..length];
    if braces && !inner[length..].starts_with('}') || name.is_empty() {
        return Err(reader.refuse(2, "an expansion outside single quotes"));
    }
    if name != STATUS && !may_be_shown(name) {
        return Err(reader.refuse(name.len() + 1, "a variable that may hold anything"));
    }
    let start = word.text.len();
    word.text.push('$');
    word.text.push_str(name);
    let end = word.text.len();
    word.variables.push(Variable { name: name.to_owned(), start, end, quoted });
    reader.at += 1 + length + if braces { 2 } else { 0 };
    Ok(())
}

impl Word {
    /// Whether the text is known.
    pub(super) fn is_known(&self) -> bool {
        self.variables.is_empty()
    }

    /// Whether it stays one word, whatever the variables hold.
    pub(super) fn stays_whole(&self) -> bool {
        self.variables.iter().all(|variable| variable.quoted || variable.is_status())
    }

    /// Whether all that is not known of it are digits.
    pub(super) fn is_status(&self) -> bool {
        self.variables.iter().all(Variable::is_status)
    }

    /// Whether its beginning is not known, so that it may be an option.
    pub(super) fn may_be_option(&self) -> bool {
        self.variables.first().is_some_and(|first| first.start == 0 && !first.is_status())
    }

    /// Whether it begins with a variable and goes on as a path.
    pub(super) fn is_below_variable(&self) -> bool {
        let rest = self.variables.first().and_then(|first| self.text.get(first.end..));
        self.may_be_option() && rest.is_some_and(|rest| rest.starts_with('/'))
    }

    /// The refusal of this word for what is not known of it.
    pub(super) fn refuse_unknown(&self) -> Refusal {
        Refusal::new(self.at, &self.text, WHY)
    }
}

/// Refuses the first word whose text is not known.
pub(super) fn all_known(words: &[Word]) -> Result<(), Refusal> {
    match words.iter().find(|word| !word.is_known()) {
        Some(word) => Err(word.refuse_unknown()),
        None => Ok(()),
    }
}
