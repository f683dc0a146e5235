//! One word of a command, with its quotes removed as bash removes them.
//!
//! Variables hold texts that are not known, but their place in the words is. What such a word may do depends on the command: only
//! where any text at all would be harmless is it accepted.

use super::refusal::Refusal;

/// The name of the status of the command before, one to three digits.
const STATUS: &str = "?";

/// Why a word is refused whose text matters.
const WHY: &str = "what this variable holds is not known, and it matters here";

/// A word whose text is known, but for variables; where it holds a wildcard, up to the wildcard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    /// The text after removal of quotes.
    pub(super) text: String,
    /// Byte offset in the command.
    pub(super) at: usize,
    /// Whether any part of it was quoted or escaped.
    pub(super) quoted: bool,
    /// Bytes of `text` before the first wildcard outside quotes: the word may become any number of words, and all that
    /// is known of them is this beginning.
    pub(super) glob: Option<usize>,
    /// Whether it begins with a `~` that becomes the home directory.
    pub(super) tilde: bool,
    /// Variables in it, in order; in `text` each stands as `$NAME`.
    pub(super) variables: Vec<Variable>,
}

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

impl Word {
    /// A word that holds nothing yet, at a byte of the command.
    pub(super) fn new(at: usize) -> Self {
        Self {
            text: String::new(),
            at,
            quoted: false,
            glob: None,
            tilde: false,
            variables: Vec::new(),
        }
    }

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

/// Refuses a word.
pub(super) fn refuse<T>(word: &Word, why: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal::new(word.at, &word.text, why))
}

/// Refuses the first word whose text is not known.
pub(super) fn all_known(words: &[Word]) -> Result<(), Refusal> {
    match words.iter().find(|word| !word.is_known()) {
        Some(word) => Err(word.refuse_unknown()),
        None => Ok(()),
    }
}
