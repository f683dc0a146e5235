//! A real Claude Code and Codex started by `tine with`, with `tine sim serve` in place of a provider.

use std::path::Path;

use anyhow::Result;

use crate::foreign::{Needed, Source, Suite, Tests};
use crate::hosts::Ran;
use crate::npm;

/// The tests of `crates/tine/tests/cli/hosts_gateway`.
pub(crate) const SUITE: Suite = Suite {
    name: "gateway",
    title: "other agents behind the gateway",
    needed: &[
        Needed {
            source: Source::Program(&npm::CLAUDE_CODE),
            variable: "TINE_TEST_CLAUDE_CODE",
            tests: &[Tests::cli_smoke("hosts_gateway::claude_code")],
        },
        Needed {
            source: Source::Program(&npm::CODEX),
            variable: "TINE_TEST_CODEX",
            tests: &[Tests::cli("hosts_gateway::codex")],
        },
    ],
};

/// Conversations of Claude Code.
pub(crate) fn smoke(root: &Path, _target: &Path) -> Result<Ran> {
    SUITE.smoke(root)
}

/// Both hosts.
pub(crate) fn check(root: &Path, _target: &Path) -> Result<Ran> {
    SUITE.whole(root)
}
