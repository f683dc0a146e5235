//! Tests of the program with agents of others, which only run when this asks for them.

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

/// Tests that need programs of others.
pub(crate) struct Suite {
    /// The word for it on the command line.
    pub(crate) name: &'static str,
    /// What its step is called.
    pub(crate) title: &'static str,
    /// The first is the smoke test's.
    pub(crate) needed: &'static [Needed],
}

/// A program, and the tests that need it.
pub(crate) struct Needed {
    pub(crate) source: Source,
    /// Gives the tests its path.
    pub(crate) variable: &'static str,
    /// A part of the names of its tests.
    pub(crate) tests: &'static str,
}

pub(crate) enum Source {
    Program(&'static Package),
    Inspector,
}

impl Suite {
    /// Runs the tests of the first program.
    pub(crate) fn smoke(&self, root: &Path) -> Result<Ran> {
        self.run(root, &self.needed[..1])
    }

    /// Runs all tests.
    pub(crate) fn whole(&self, root: &Path) -> Result<Ran> {
        self.run(root, self.needed)
    }

    /// Fetches what the smoke test needs. The inner error says why this machine cannot have it.
    pub(crate) fn fetch(&self, root: &Path) -> Result<Result<(), String>> {
        Ok(fetched(root, &self.needed[0])?.map(|_| ()))
    }

    /// Runs the tests of the programs that this machine can have; the reasons for all others are the outcome.
    fn run(&self, root: &Path, needed: &[Needed]) -> Result<Ran> {
        let (mut programs, mut reasons) = (Vec::new(), Vec::new());
        for one in needed {
            match fetched(root, one)? {
                Ok(program) => programs.push((one, program)),
                Err(why) => reasons.push(why),
            }
        }
        if !programs.is_empty() {
            self.tests(root, &programs)?;
        }
        Ok(match reasons.is_empty() {
            true => Ran::Passed,
            false => Ran::NotRun(reasons.join("; ")),
        })
    }

    fn tests(&self, root: &Path, programs: &[(&Needed, PathBuf)]) -> Result<()> {
        let names: Vec<&str> = programs.iter().map(|(one, _)| one.tests).collect();
        let mut command = test::ignored("cli", &names);
        for (one, program) in programs {
            command.env(one.variable, program);
        }
        let world = World::new()?;
        world.apply(&mut command)?;
        let Self { name, title, .. } = self;
        // The command itself is the environment, most of all.
        process::step(title, root, command).ok().with_context(|| {
            format!("{title} failed\nhint: run it alone: cargo xtask hosts {name}")
        })
    }
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
