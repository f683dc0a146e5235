//! Trust in what a checkout brings along: its `.tine` folder.
//!
//! Such files come from whoever wrote the checkout, and from agents that work in it. They count only after a person has trusted
//! them. Trust belongs to content: a record holds the directory's real path and a hash and a copy of each file, outside the
//! checkout. Content that differs from its record does not count until a person trusts it again.
//!
//! Content is read once, hashed, and used from memory, so a file that changes between the check and the use has no effect.

mod content;
mod gate;
mod notes;
mod record;
mod show;
mod summary;

pub(crate) use self::content::{AGENTS_FOLDER, SETTINGS_FILE};
pub(crate) use self::gate::{Project, TrustGate, TrustState};
pub(crate) use self::notes::{Withheld, notes};
pub(crate) use self::record::{Record, TrustedFile};
pub(crate) use self::show::{content_text, difference_text};
pub(crate) use self::summary::summary;
