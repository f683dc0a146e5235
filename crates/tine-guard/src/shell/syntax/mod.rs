//! The reader of shell text: it makes a tree of it, before anything is expanded.
//!
//! It reads what bash reads. What no verdict accepts is read all the same, so that rules see every command, and the first such
//! piece is kept as the objection; so is the first piece that the strict verdict does not accept. Only text of which bash's own
//! reading is not certain ends the reading.

mod arithmetic;
mod brace;
mod command;
mod compound;
mod expansion;
mod parser;
mod simple;
pub(super) mod tree;
mod word;

pub(super) use self::command::{Parsed, parse};
pub(super) use self::word::name_length;
use super::refusal::Refusal;

/// The result of reading a piece; the refusal where bash's reading of it is not certain.
type Read<T> = Result<T, Refusal>;
