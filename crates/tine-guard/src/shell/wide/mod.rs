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

use self::command::NotRead;
use self::evaluate::Evaluator;
pub(super) use self::evaluate::Ran;
pub(super) use self::expand::NUMBER;
pub(crate) use self::expand::{MARK as UNKNOWN, NAMES};
pub(super) use self::names::is_run;
use self::value::Value;
use super::characters::is_allowed;
use super::refusal::Refusal;
use super::utility::ReadPath;
use super::word::Word;

/// What a text would run and read.
pub(super) struct Wide {
    /// The words of every command that may run. What is not known stands as a mark.
    pub(super) commands: Vec<Vec<String>>,
    pub(super) paths: Vec<ReadPath>,
}

/// A text that was gone through.
pub(super) struct Reading {
    /// The words of every command that may run, with marks for what is not known.
    seen: Vec<Vec<String>>,
    paths: Vec<ReadPath>,
    /// The first thing that no verdict accepts.
    pub(super) objection: Option<Refusal>,
    /// Where bash's own reading is not certain, or more is done than is followed: commands may be missing then.
    pub(super) unread: Option<Refusal>,
    /// The simple commands as the shell runs them, without what they run themselves.
    pub(super) ran: Vec<Ran>,
    /// The files that are opened for input and for output.
    pub(super) inputs: Vec<Word>,
    pub(super) outputs: Vec<Word>,
    /// Whether it does something beside its commands: see [`Evaluator`].
    pub(super) does_more: bool,
    /// Whether bash may run what the text of a variable holds.
    pub(super) is_indirect: bool,
    /// Texts in variables that the shell or a program may run; `None` for one that is not known.
    pub(super) held: Vec<Option<String>>,
}

/// Who reads a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reader {
    /// `bash -c` without arguments.
    Call,
    /// Bash, as a script with arguments that are not known.
    Bash,
    /// Some shell, in the same way.
    Shell,
}

/// Reads a text.
pub(super) fn read(text: &str, reader: Reader) -> Reading {
    let strange = text.char_indices().find(|(_, c)| !is_allowed(*c)).map(|(at, character)| {
        Refusal::new(at, &character.to_string(), "a control, blank or invisible character")
    });
    let parsed = match command::parse(text, reader != Reader::Shell) {
        Ok(parsed) => parsed,
        Err(NotRead { objection, refusal }) => {
            return Reading {
                seen: Vec::new(),
                paths: Vec::new(),
                objection: strange.or(objection),
                unread: Some(refusal),
                ran: Vec::new(),
                inputs: Vec::new(),
                outputs: Vec::new(),
                does_more: false,
                is_indirect: false,
                held: Vec::new(),
            };
        }
    };
    let mut evaluator = Evaluator::new(&parsed.documents);
    if reader != Reader::Call {
        evaluator.arguments_are_unknown();
        evaluator.is_within = true;
    }
    let unread = evaluator.list(&parsed.list, &Value::Any).err();
    Reading {
        seen: evaluator.seen,
        paths: evaluator.paths,
        objection: strange.or(parsed.objection).or(evaluator.objection),
        unread,
        ran: evaluator.ran,
        inputs: evaluator.inputs,
        outputs: evaluator.outputs,
        does_more: evaluator.does_more,
        is_indirect: evaluator.is_indirect,
        held: evaluator.held,
    }
}

/// Judges a text.
pub(super) fn judge(text: &str) -> Result<Wide, Refusal> {
    let reading = read(text, Reader::Call);
    match reading.objection.or(reading.unread) {
        Some(refusal) => Err(refusal),
        None => Ok(Wide { commands: reading.seen, paths: reading.paths }),
    }
}

/// A reason as it is shown: what is not known becomes an ellipsis.
pub(super) fn shown(reason: &str) -> String {
    let mark = |mark: char| mark.escape_default().to_string();
    let reason = reason.replace(expand::NUMBER, "…");
    reason.replace(&mark(expand::MARK), "…").replace(&mark(expand::NAMES), "")
}

#[cfg(test)]
mod bash_tests;
