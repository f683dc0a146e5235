//! Which crate may depend on which: faces → app → core → ports → pure, and a few named exceptions.

use super::Violation;
use crate::workspace::{Need, Package};

/// The floor of each crate; an edge must lead to a lower one. `ARCHITECTURE.md` has the same floors for readers.
const FLOORS: &[(&str, u8)] = &[
    ("tine-model", 0),
    ("tine-history", 0),
    ("tine-wire", 0),
    ("tine-cache", 0),
    ("tine-guard", 0),
    ("tine-llm", 1),
    ("tine-gateway", 1),
    ("tine-store", 1),
    ("tine-tools", 1),
    ("tine-worktree", 1),
    ("tine-fork", 2),
    ("tine-nats", 2),
    ("tine-runtime", 3),
    ("tine-eval", 3),
    ("tine-tui", 4),
    ("tine-mcp", 4),
    ("tine-acp", 4),
    ("tine-web", 4),
    // Wires the other faces up.
    ("tine", 5),
];

/// Crates beside the house: the rules for them are in [`refusal`].
const BESIDE: &[&str] = &[SIMULATOR, TESTKIT, AUTOMATION];
const SIMULATOR: &str = "tine-sim";
const TESTKIT: &str = "tine-testkit";
const AUTOMATION: &str = "xtask";
const BINARY: &str = "tine";

/// Edges within a floor: the pure one, that of the ports, where git is called in one place, and that of the core.
const LEVEL_EDGES: &[(&str, &str)] = &[
    ("tine-history", "tine-model"),
    ("tine-wire", "tine-model"),
    ("tine-wire", "tine-history"),
    ("tine-cache", "tine-model"),
    ("tine-guard", "tine-model"),
    ("tine-worktree", "tine-tools"),
    // Implements the library's trait.
    ("tine-nats", "tine-fork"),
];

/// Edges that lead down and are refused all the same, with the reason.
const REFUSED_EDGES: &[(&str, &str, &str)] = &[
    (
        "tine-fork",
        "tine-store",
        "the library must not need a store: transcripts go through a port of its own",
    ),
    ("tine-tui", "tine-store", FACES_HAVE_NO_STORE),
    ("tine", "tine-store", FACES_HAVE_NO_STORE),
];
const FACES_HAVE_NO_STORE: &str = "faces reach the store through tine-runtime, where the rules are";

/// The highest floor that the crates beside the house may use.
const FLOOR_OF_PORTS: u8 = 1;

/// Every crate is in the tables above, so that its edges can be judged.
pub(super) fn crates_have_a_floor(packages: &[Package]) -> Vec<Violation> {
    let unknown = packages
        .iter()
        .filter(|package| floor(&package.name).is_none() && !is_beside(&package.name));
    let violation = |package: &Package| Violation {
        path: package.manifest.clone(),
        line: None,
        cause: format!("the crate {} has no floor", package.name),
        hint: "add it to FLOORS (or BESIDE) in xtask/src/tidy/edges.rs and to ARCHITECTURE.md"
            .to_owned(),
    };
    unknown.map(violation).collect()
}

/// Every edge between two of our crates is allowed.
pub(super) fn edges_go_down(packages: &[Package]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for package in packages {
        for dependency in &package.dependencies {
            let ours = packages.iter().any(|package| package.name == dependency.name);
            let Some(reason) =
                ours.then(|| refusal(&package.name, &dependency.name, dependency.need)).flatten()
            else {
                continue;
            };
            violations.push(Violation {
                path: package.manifest.clone(),
                line: None,
                cause: format!("{} may not depend on {}: {reason}", package.name, dependency.name),
                hint: "move the code to the floor it belongs to, or pass what is needed in as a parameter".to_owned(),
            });
        }
    }
    violations
}

/// Why an edge is refused. A crate without a floor is reported by [`crates_have_a_floor`] and not judged here.
fn refusal(from: &str, to: &str, need: Need) -> Option<String> {
    let say = |reason: &str| Some(reason.to_owned());
    match (to, need) {
        (TESTKIT | SIMULATOR, Need::Development) => return None,
        (TESTKIT, Need::Always) => return say("it is for [dev-dependencies] only"),
        (SIMULATOR, Need::Always) if [BINARY, TESTKIT, AUTOMATION].contains(&from) => return None,
        (SIMULATOR, Need::Always) => {
            return say("only the binary, tests and benches use the simulator");
        }
        (AUTOMATION, _) => return say("automation is not a library"),
        _ => {}
    }
    let to_floor = floor(to)?;
    match from {
        AUTOMATION => return None,
        SIMULATOR if need == Need::Always && to != "tine-model" => {
            return say(
                "the simulator judges our wire formats, so it shares nothing but the model with them",
            );
        }
        SIMULATOR | TESTKIT if to_floor <= FLOOR_OF_PORTS => return None,
        SIMULATOR | TESTKIT => return say("crates beside the house use floors 0 and 1 only"),
        _ => {}
    }
    if let Some((.., reason)) = REFUSED_EDGES.iter().find(|(a, b, _)| (*a, *b) == (from, to))
        && need == Need::Always
    {
        return say(reason);
    }
    let from_floor = floor(from)?;
    if to_floor < from_floor || LEVEL_EDGES.contains(&(from, to)) {
        return None;
    }
    Some(format!("it is on floor {to_floor}, and edges go down from floor {from_floor}"))
}

fn floor(name: &str) -> Option<u8> {
    FLOORS.iter().find(|(listed, _)| *listed == name).map(|(_, floor)| *floor)
}

fn is_beside(name: &str) -> bool {
    BESIDE.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Dependency;

    fn check(from: &str, to: &str, need: Need, allowed: bool) {
        assert_eq!(refusal(from, to, need).is_none(), allowed, "{from} -> {to} ({need:?})");
    }

    #[test]
    fn edges_lead_down_only() {
        check("tine-fork", "tine-llm", Need::Always, true);
        check("tine", "tine-model", Need::Always, true);
        check("tine-llm", "tine-store", Need::Always, false);
        check("tine-store", "tine-runtime", Need::Always, false);
        check("tine-tui", "tine-acp", Need::Always, false);
        check("tine-runtime", "tine", Need::Development, false);
    }

    #[test]
    fn the_pure_floor_has_a_fixed_list() {
        check("tine-wire", "tine-history", Need::Always, true);
        check("tine-history", "tine-wire", Need::Always, false);
        check("tine-guard", "tine-cache", Need::Always, false);
    }

    #[test]
    fn git_is_called_in_one_place() {
        check("tine-worktree", "tine-tools", Need::Always, true);
        check("tine-tools", "tine-worktree", Need::Always, false);
    }

    #[test]
    fn the_library_needs_no_store() {
        check("tine-fork", "tine-store", Need::Always, false);
        check("tine-fork", "tine-store", Need::Development, true);
        check("tine-runtime", "tine-store", Need::Always, true);
    }

    #[test]
    fn the_simulator_stays_apart() {
        check("tine", "tine-sim", Need::Always, true);
        check("tine-runtime", "tine-sim", Need::Always, false);
        check("tine-runtime", "tine-sim", Need::Development, true);
        check("tine-sim", "tine-model", Need::Always, true);
        check("tine-sim", "tine-wire", Need::Always, false);
    }

    #[test]
    fn the_testkit_is_for_tests() {
        check("tine-fork", "tine-testkit", Need::Development, true);
        check("tine-fork", "tine-testkit", Need::Always, false);
        check("tine-testkit", "tine-llm", Need::Always, true);
        check("tine-testkit", "tine-runtime", Need::Always, false);
    }

    #[test]
    fn a_new_crate_is_told_where_to_register() {
        let package = Package {
            name: "tine-new".to_owned(),
            manifest: "crates/tine-new/Cargo.toml".to_owned(),
            description: None,
            dependencies: vec![Dependency { name: "serde".to_owned(), need: Need::Always }],
            benches: vec![],
        };
        let found = crates_have_a_floor(std::slice::from_ref(&package));
        let expected = "error: crates/tine-new/Cargo.toml: the crate tine-new has no floor\n\
            hint: add it to FLOORS (or BESIDE) in xtask/src/tidy/edges.rs and to ARCHITECTURE.md";
        assert_eq!(found[0].to_string(), expected);
        assert!(edges_go_down(&[package]).is_empty());
    }
}
