//! The wide shell verdict, for commands that run behind a read-only wall.
//!
//! It knows what people type: loops, conditions, substitutions, variables, `xargs`, `find -exec`, `awk`. It is still deny by
//! default: every program that may run must be a known reader, in every form that the text's variables may give its words.
//! What a reader finds (names, lines of files) is not known, and may become an operand, but no option that writes and no
//! part of a script. The wall is what makes it safe; this says what a command is for.
//!
//! `parser` and its parts read the text into a `tree`; `evaluate` goes through it with what is known of the `value` of each
//! variable; `run` judges each command by the tables of the strict verdict and a few of its own.

mod arithmetic;
mod awk;
mod command;
mod evaluate;
mod expand;
mod names;
mod output;
mod parser;
mod readers;
mod run;
mod state;
mod tree;
mod value;
mod word;

use self::evaluate::Evaluator;
pub(crate) use self::expand::MARK as UNKNOWN;
use self::value::Value;
use super::characters::is_allowed;
use super::refusal::Refusal;
use super::utility::ReadPath;

/// What a text would run and read.
pub(super) struct Wide {
    /// The words of every command that may run. What is not known stands as a mark.
    pub(super) commands: Vec<Vec<String>>,
    pub(super) paths: Vec<ReadPath>,
}

/// Judges a text.
pub(super) fn judge(text: &str) -> Result<Wide, Refusal> {
    if let Some((at, character)) = text.char_indices().find(|(_, c)| !is_allowed(*c)) {
        let piece = character.to_string();
        return Err(Refusal::new(at, &piece, "a control, blank or invisible character"));
    }
    let (list, documents) = command::parse(text)?;
    let mut evaluator = Evaluator::new(&documents);
    evaluator.list(&list, &Value::Any)?;
    let Evaluator { seen, paths, .. } = evaluator;
    Ok(Wide { commands: seen, paths })
}

/// A reason as it is shown: what is not known becomes an ellipsis.
pub(super) fn shown(reason: &str) -> String {
    let mark = |mark: char| mark.escape_default().to_string();
    reason.replace(&mark(expand::MARK), "…").replace(&mark(expand::NAMES), "")
}

#[cfg(test)]
mod bash_tests;
