//! `tine mcp` in a real Claude Code, Codex, OpenCode and MCP Inspector, with `tine sim serve` in place of a provider.
//!
//! The tests are tests of the program (`crates/tine/tests/cli/hosts`) that only run when this asks for them.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::hosts::Ran;
use crate::npm::{self, Package};
use crate::world::World;
use crate::{process, test};

/// The package and the lock file of the Inspector.
const INSPECTOR: &str = "xtask/inspector";

/// In what is installed from there.
const INSPECTOR_PROGRAM: &str =
    "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js";

/// A program, and the tests that need it.
struct Needed {
    source: Source,
    /// Gives the tests its path.
    variable: &'static str,
    /// A part of the names of its tests.
    tests: &'static str,
}

enum Source {
    Program(&'static Package),
    Inspector,
}

/// The first is the smoke test's: OpenCode is fetched for the tests of the plugin, too.
const NEEDED: &[Needed] = &[
    Needed {
        source: Source::Program(&npm::OPENCODE),
        variable: "TINE_TEST_OPENCODE",
        tests: "hosts::opencode",
    },
    Needed {
        source: Source::Program(&npm::CODEX),
        variable: "TINE_TEST_CODEX",
        tests: "hosts::codex",
    },
    Needed {
        source: Source::Program(&npm::CLAUDE_CODE),
        variable: "TINE_TEST_CLAUDE_CODE",
        tests: "hosts::claude_code",
    },
    Needed {
        source: Source::Inspector,
        variable: "TINE_TEST_INSPECTOR",
        tests: "hosts::the_inspector",
    },
];

/// A fan out of OpenCode, with a question.
pub(crate) fn smoke(root: &Path, _target: &Path) -> Result<Ran> {
    run(root, &NEEDED[..1])
}

/// Every host.
pub(crate) fn check(root: &Path, _target: &Path) -> Result<Ran> {
    run(root, NEEDED)
}

/// Fetches what the smoke test needs. The inner error says why this machine cannot have it.
pub(crate) fn fetch(root: &Path) -> Result<Result<(), String>> {
    Ok(fetched(root, &NEEDED[0])?.map(|_| ()))
}

/// Runs the tests of the programs that this machine can have; the reasons for all others are the outcome.
fn run(root: &Path, needed: &[Needed]) -> Result<Ran> {
    let (mut programs, mut reasons) = (Vec::new(), Vec::new());
    for one in needed {
        match fetched(root, one)? {
            Ok(program) => programs.push((one, program)),
            Err(why) => reasons.push(why),
        }
    }
    if !programs.is_empty() {
        tests(root, &programs)?;
    }
    Ok(match reasons.is_empty() {
        true => Ran::Passed,
        false => Ran::NotRun(reasons.join("; ")),
    })
}

fn tests(root: &Path, programs: &[(&Needed, PathBuf)]) -> Result<()> {
    let names: Vec<&str> = programs.iter().map(|(one, _)| one.tests).collect();
    let mut command = test::ignored("cli", &names);
    for (one, program) in programs {
        command.env(one.variable, program);
    }
    let world = World::new()?;
    world.apply(&mut command)?;
    let passed = process::step("tine mcp in other agents' hosts", root, command);
    // The command itself is the environment, most of all.
    passed.ok().context(
        "tine mcp in other agents' hosts failed\nhint: run it alone: cargo xtask hosts mcp",
    )
}

fn fetched(root: &Path, needed: &Needed) -> Result<Result<PathBuf, String>> {
    match needed.source {
        Source::Program(package) => npm::program(package),
        Source::Inspector => {
            let folder = npm::install_in_cache("the MCP Inspector", &root.join(INSPECTOR))?;
            Ok(folder.map(|folder| folder.join(INSPECTOR_PROGRAM)))
        }
    }
}
