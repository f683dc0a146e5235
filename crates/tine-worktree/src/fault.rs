//! The places between which everything is done that is seen outside: where the tests of this crate make things fail.
//!
//! Outside of tests there is nothing here.

/// One step is about to be taken, or was. In tests it may fail, panic or be the end of the process.
#[cfg(not(test))]
pub(crate) const fn step() -> std::io::Result<()> {
    Ok(())
}

#[cfg(test)]
pub(crate) use crate::tests::fault::step;
