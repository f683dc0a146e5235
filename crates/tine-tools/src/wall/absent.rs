//! Systems without Landlock and seccomp: nothing can be enforced, and that is said.

use std::io;

use super::grants::Grant;
use super::support::Support;
use super::{Metadata, Sockets};

pub(super) fn support() -> Support {
    Support { landlock: 0, filter: false, namespaces: false }
}

/// Nothing.
pub(super) struct Restriction;

impl Restriction {
    pub(super) fn build(
        _grants: &[Grant],
        _sockets_and_metadata: (Sockets, Metadata),
        _support: Support,
    ) -> io::Result<Self> {
        Ok(Self)
    }

    pub(super) fn enter_outer(&self) -> io::Result<()> {
        Ok(())
    }

    pub(super) fn enter(&self) -> io::Result<()> {
        Ok(())
    }
}
