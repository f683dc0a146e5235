//! `tine mcp` in a real Claude Code, Codex, OpenCode and MCP Inspector, with `tine sim serve` in place of a provider.

use std::path::Path;

use anyhow::Result;

use crate::foreign::{Needed, Source, Suite, Tests};
use crate::hosts::Ran;
use crate::npm;

/// The tests of `crates/tine/tests/cli/hosts`. OpenCode is fetched for the tests of the plugin, too.
pub(crate) const SUITE: Suite = Suite {
    name: "mcp",
    title: "tine mcp in other agents' hosts",
    needed: &[
        Needed {
            source: Source::Program(&npm::OPENCODE),
            variable: "TINE_TEST_OPENCODE",
            tests: &[Tests::cli_smoke("hosts::opencode")],
        },
        Needed {
            source: Source::Program(&npm::CODEX),
            variable: "TINE_TEST_CODEX",
            tests: &[Tests::cli("hosts::codex")],
        },
        Needed {
            source: Source::Program(&npm::CLAUDE_CODE),
            variable: "TINE_TEST_CLAUDE_CODE",
            tests: &[Tests::cli("hosts::claude_code")],
        },
        Needed {
            source: Source::Inspector,
            variable: "TINE_TEST_INSPECTOR",
            tests: &[Tests::cli("hosts::the_inspector")],
        },
    ],
};

/// A fan out of OpenCode, with a question.
pub(crate) fn smoke(root: &Path, _target: &Path) -> Result<Ran> {
    SUITE.smoke(root)
}

/// Every host.
pub(crate) fn check(root: &Path, _target: &Path) -> Result<Ran> {
    SUITE.whole(root)
}
