//! Forks of the conversations of a real Claude Code and Codex, with `tine sim serve` in place of a provider.

use std::path::Path;

use anyhow::Result;

use crate::foreign::{Needed, Source, Suite, Tests};
use crate::hosts::Ran;
use crate::npm;

/// The tests of `crates/tine/tests/cli/hosts_guests`.
pub(crate) const SUITE: Suite = Suite {
    name: "guests",
    title: "forks of other agents",
    needed: &[
        Needed {
            source: Source::Program(&npm::CLAUDE_CODE),
            variable: "TINE_TEST_CLAUDE_CODE",
            tests: &[Tests::cli_smoke("hosts_guests::claude_code")],
        },
        Needed {
            source: Source::Program(&npm::CODEX),
            variable: "TINE_TEST_CODEX",
            tests: &[Tests::cli("hosts_guests::codex")],
        },
    ],
};

/// Forks of Claude Code.
pub(crate) fn smoke(root: &Path, _target: &Path) -> Result<Ran> {
    SUITE.smoke(root)
}

/// Forks of both hosts.
pub(crate) fn check(root: &Path, _target: &Path) -> Result<Ran> {
    SUITE.whole(root)
}
