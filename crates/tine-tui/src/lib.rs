//! The terminal: where a person talks to agents, forks them, watches them and decides.
//!
//! Three parts, each of which can be read alone. [`app`] is what is on the screen, as data: it takes events and says what is to be
//! done, touches nothing and reads no clock. [`draw`] makes a frame of it. [`drive`] owns the terminal, lets the runtime do what was
//! asked for, and turns what happens into events. Rules are the runtime's; this crate holds none.
//!
//! [`words`], [`figures`] and [`age`] say how texts, numbers and times read on any terminal; the commands print with them too.
//! [`question`] has a question and its answers, for every face.

pub mod age;
mod app;
#[cfg(feature = "bench")]
#[doc(hidden)]
pub mod bench;
mod draw;
mod drive;
pub mod figures;
mod host;
mod look;
mod plain;
pub mod question;
pub mod words;

pub use app::{KeyError, Keys};
pub use drive::{Notify, Start, run, run_plain};
pub use host::{CommandWords, HistoryEntry, Host, ModelChoice, Offer, Told, WorkerSeams, Written};
pub use look::Look;
