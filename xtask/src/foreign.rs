//! Tests of the program with agents of others, which only run when this asks for them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::hosts::Ran;
use crate::npm::{self, Package};
use crate::world::World;
use crate::{debian, process, test};

/// The package and the lock file of the Inspector.
const INSPECTOR: &str = "xtask/inspector";

/// In what is installed from there.
const INSPECTOR_PROGRAM: &str =
    "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js";

/// Tests that need programs of others.
pub(crate) struct Suite {
    /// The word for it on the command line.
    pub(crate) name: &'static str,
    /// What its step is called.
    pub(crate) title: &'static str,
    pub(crate) needed: &'static [Needed],
}

/// A program, and the tests that need it.
pub(crate) struct Needed {
    pub(crate) source: Source,
    /// Gives the tests its path.
    pub(crate) variable: &'static str,
    pub(crate) tests: &'static [Tests],
}

pub(crate) enum Source {
    Program(&'static Package),
    Debian(&'static debian::Package),
    Inspector,
}

/// Ignored tests of one test target.
pub(crate) struct Tests {
    /// The name of the test target, in whichever crate it is.
    pub(crate) target: &'static str,
    /// A part of the names of all of them.
    pub(crate) names: &'static str,
    /// A part of the names of those in the smoke test.
    pub(crate) smoke: Option<&'static str>,
}

impl Tests {
    /// Tests of the program that are not in the smoke test.
    pub(crate) const fn cli(names: &'static str) -> Self {
        Self { target: "cli", names, smoke: None }
    }

    /// Tests of the program that all are in the smoke test.
    pub(crate) const fn cli_smoke(names: &'static str) -> Self {
        Self { target: "cli", names, smoke: Some(names) }
    }
}

/// Chooses a part of the names of tests. `None` leaves them out.
type Choice = fn(&Tests) -> Option<&'static str>;

const SMOKE: Choice = |tests| tests.smoke;
const WHOLE: Choice = |tests| Some(tests.names);

impl Suite {
    /// Runs the smoke test.
    pub(crate) fn smoke(&self, root: &Path) -> Result<Ran> {
        self.run(root, SMOKE)
    }

    /// Runs all tests.
    pub(crate) fn whole(&self, root: &Path) -> Result<Ran> {
        self.run(root, WHOLE)
    }

    /// Fetches what the smoke test needs. The inner error says why this machine cannot have it.
    pub(crate) fn fetch(&self, root: &Path) -> Result<Result<(), String>> {
        for needed in self.needed.iter().filter(|needed| needed.has_some(SMOKE)) {
            if let Err(why) = fetched(root, needed)? {
                return Ok(Err(why));
            }
        }
        Ok(Ok(()))
    }

    /// Runs the tests of the programs that this machine can have; the reasons for all others are the outcome.
    fn run(&self, root: &Path, choice: Choice) -> Result<Ran> {
        let (mut programs, mut reasons) = (Vec::new(), Vec::new());
        for needed in self.needed.iter().filter(|needed| needed.has_some(choice)) {
            match fetched(root, needed)? {
                Ok(program) => programs.push((needed, program)),
                Err(why) => reasons.push(why),
            }
        }
        let chosen = programs.iter().flat_map(|(needed, _)| needed.tests);
        for (target, names) in by_target(chosen, choice) {
            let mut command = test::ignored(target, &names);
            for (needed, program) in &programs {
                command.env(needed.variable, program);
            }
            self.step(root, command)?;
        }
        Ok(match reasons.is_empty() {
            true => Ran::Passed,
            false => Ran::NotRun(reasons.join("; ")),
        })
    }

    fn step(&self, root: &Path, mut command: Command) -> Result<()> {
        let world = World::new()?;
        world.apply(&mut command)?;
        let Self { name, title, .. } = self;
        // The command itself is the environment, most of all.
        process::step(title, root, command).ok().with_context(|| {
            format!("{title} failed\nhint: run it alone: cargo xtask hosts {name}")
        })
    }
}

impl Needed {
    fn has_some(&self, choice: Choice) -> bool {
        self.tests.iter().any(|tests| choice(tests).is_some())
    }
}

/// The chosen names of each test target: a name that is meant for one must not choose tests of another.
fn by_target<'a>(
    tests: impl IntoIterator<Item = &'a Tests>,
    choice: Choice,
) -> BTreeMap<&'static str, Vec<&'static str>> {
    let mut targets: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for one in tests {
        if let Some(names) = choice(one) {
            targets.entry(one.target).or_default().push(names);
        }
    }
    targets
}

fn fetched(root: &Path, needed: &Needed) -> Result<Result<PathBuf, String>> {
    match needed.source {
        Source::Program(package) => npm::program(package),
        Source::Debian(package) => debian::program(package),
        Source::Inspector => {
            let folder = npm::install_in_cache("the MCP Inspector", &root.join(INSPECTOR))?;
            Ok(folder.map(|folder| folder.join(INSPECTOR_PROGRAM)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_in_their_target_and_the_smoke_test_leaves_some_out() {
        let tests = [
            Tests::cli_smoke("hosts::opencode"),
            Tests { target: "nodes", names: "", smoke: Some("smoke::") },
            Tests::cli("hosts::codex"),
        ];
        let whole = [("cli", vec!["hosts::opencode", "hosts::codex"]), ("nodes", vec![""])];
        assert_eq!(by_target(&tests, WHOLE), BTreeMap::from(whole));
        let smoke = [("cli", vec!["hosts::opencode"]), ("nodes", vec!["smoke::"])];
        assert_eq!(by_target(&tests, SMOKE), BTreeMap::from(smoke));
    }
}
