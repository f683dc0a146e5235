//! The places between which everything is done that is seen outside: where the tests of this crate make things fail.
//!
//! Outside of tests there is nothing here.
//!
//! The tests fail, panic and kill the process at these places, and then look for lost work. A usual run tries every third
//! place; `cargo xtask test --all` tries all.

/// One step is about to be taken, or was. In tests it may fail, panic or be the end of the process.
#[cfg(not(test))]
pub(crate) const fn step() -> std::io::Result<()> {
    Ok(())
}

/// A command has been started, and runs.
#[cfg(not(test))]
pub(crate) const fn started() {}

/// Whether two files can be exchanged, where the file system can do that. In tests it may not.
#[cfg(not(test))]
pub(crate) const fn exchanges() -> bool {
    true
}

#[cfg(test)]
pub(crate) use crate::tests::fault::{exchanges, started, step};
