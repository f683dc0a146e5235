//! Tests with a real nats-server from Debian: one, and a cluster of three.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::debian;
use crate::foreign::{Needed, Source, Suite, Tests};
use crate::hosts::Ran;

/// The variable that names the server's program.
const VARIABLE: &str = "TINE_TEST_NATS_SERVER";

/// The bench target that needs the server.
const BENCH: &str = "cluster";

/// The tests of `crates/tine-testkit/tests/nodes`, `crates/tine-nats/tests/nats` and `crates/tine/tests/cli/cluster.rs`.
pub(crate) const SUITE: Suite = Suite {
    name: "nats",
    title: "forks on other machines through nats-server",
    needed: &[Needed {
        source: Source::Debian(&debian::NATS_SERVER),
        variable: VARIABLE,
        tests: &[
            Tests { target: "nodes", names: "nodes::", smoke: Some("nodes::smoke::") },
            Tests { target: "nats", names: "server::", smoke: Some("server::smoke::") },
            Tests { target: "cli", names: "cluster::", smoke: Some("cluster::smoke::") },
        ],
    }],
};

/// One server.
pub(crate) fn smoke(root: &Path, _target: &Path) -> Result<Ran> {
    SUITE.smoke(root)
}

/// Clusters, too.
pub(crate) fn check(root: &Path, _target: &Path) -> Result<Ran> {
    SUITE.whole(root)
}

/// The variable that a bench target needs, and its value. The inner error says why this machine cannot have it.
pub(crate) fn of_bench(name: &str) -> Result<Result<Option<(&'static str, PathBuf)>, String>> {
    if name != BENCH {
        return Ok(Ok(None));
    }
    let server = debian::program(&debian::NATS_SERVER)?;
    Ok(server.map(|program| Some((VARIABLE, program))))
}
