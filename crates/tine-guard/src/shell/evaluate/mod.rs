//! Going through a text that was read: every command that may run, with what is known of its words; and the wide verdict, for
//! commands that run behind a read-only wall.
//!
//! The verdict knows what people type: loops, conditions, substitutions, variables, `xargs`, `find -exec`, `awk`. It is still deny by
//! default: every program that may run must be a known reader, in every form that the text's variables may give its words.
//! What a reader finds (names, lines of files) is not known, and may become an operand, but no option that writes and no
//! part of a script. The wall is what makes it safe; this says what a command is for.
//!
//! `walk` goes through the tree with what is known of the `value` of each variable; `run` judges each command by the tables of
//! the strict verdict and a few of its own.

mod awk;
mod effects;
mod endless;
mod expand;
mod names;
mod output;
mod readers;
mod run;
mod state;
mod value;
mod walk;

pub(super) use self::expand::NUMBER;
pub(crate) use self::expand::{MARK as UNKNOWN, NAMES};
pub(super) use self::names::is_run;
use std::collections::BTreeSet;

use self::value::Value;
use self::walk::Evaluator;
pub(super) use self::walk::Ran;
use super::refusal::Refusal;
use super::syntax::Parsed;
use super::utility::ReadPath;
use super::word::Word;

/// A text that was gone through.
#[derive(Debug)]
pub(super) struct Reading {
    /// The words of every command that may run, with marks for what is not known.
    pub(super) seen: Vec<Vec<String>>,
    pub(super) paths: Vec<ReadPath>,
    /// The first thing that no verdict accepts.
    objection: Option<Refusal>,
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
    /// Names of variables that assignments set.
    pub(super) assigned: BTreeSet<String>,
}

impl Reading {
    /// Why the wide verdict does not accept it.
    pub(super) fn refusal(&self) -> Option<&Refusal> {
        self.objection.as_ref().or(self.unread.as_ref())
    }
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

/// Goes through a text.
pub(super) fn follow(parsed: &Parsed, reader: Reader) -> Reading {
    let mut evaluator = Evaluator::new(&parsed.documents);
    if reader != Reader::Call {
        evaluator.arguments_are_unknown();
        evaluator.is_within = true;
    }
    let ended = evaluator.list(&parsed.list, &Value::Any).err();
    Reading {
        seen: evaluator.seen,
        paths: evaluator.paths,
        objection: parsed.objection.clone().or(evaluator.objection),
        unread: parsed.unread.clone().or(ended),
        ran: evaluator.ran,
        inputs: evaluator.inputs,
        outputs: evaluator.outputs,
        does_more: evaluator.does_more,
        is_indirect: evaluator.is_indirect,
        held: evaluator.held,
        assigned: evaluator.assigned,
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
