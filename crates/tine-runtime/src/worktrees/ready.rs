//! Making a new worktree ready to build and run: ports, and the user's own command.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tine_model::{AgentId, Reach, Writes};
use tokio_util::sync::CancellationToken;

use super::check::{Check, Errand};
use super::checkouts::blocking;
use super::policy::WorktreePolicy;
use crate::confine::{Confinement, ReachWish};
use crate::error::RuntimeError;

/// Most characters of what the command said that its failure repeats: its end, where the reason stands.
const SAID_CHARACTERS_MAX: usize = 1000;

/// The act that needs a worktree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The command of the command line that this process is.
    Command,
    /// A run: a call of its model, or its beginning.
    Run,
}

/// A worktree that is to be made ready. By what the store says of it, or what was just made, and not by what is written in it.
pub(super) struct Unready {
    pub(super) agent: AgentId,
    /// The top of its files.
    pub(super) path: PathBuf,
    /// The top of the checkout that it was made of.
    pub(super) origin: PathBuf,
    /// Where in it the agent works.
    pub(super) directory: PathBuf,
    /// The narrowest reach of the agents that this is done for: they may have written what the command runs.
    pub(super) reach: Reach,
    pub(super) cause: Cause,
}

impl Unready {
    /// Gives it its ports and runs the user's command there. The command is the user's, but what it runs, say the scripts of a
    /// package, stands in files that agents write: so it runs as a check does, behind a wall.
    pub(super) async fn make_ready(self, policy: &Arc<WorktreePolicy>) -> Result<(), RuntimeError> {
        let Self { agent, path, origin, directory, reach, cause } = self;
        let directory = if is_inside(&directory, &path) { directory } else { path.clone() };
        let inside = directory.strip_prefix(&path).unwrap_or("".as_ref());
        // Component by component, so that nothing is added to the top.
        let stands_for = origin.components().chain(inside.components()).collect();
        let ways = Arc::clone(policy);
        let variables = blocking(move || {
            if let Some(ports) = ways.ports {
                ports.take(&ways.blocks(), &path)?;
            }
            Ok(ways.variables(&origin, &path, agent))
        })
        .await?;
        let Some(command) = policy.setup.clone() else { return Ok(()) };
        let confinement =
            Confinement { origin: Some(stands_for), ..setup_confinement(policy, &reach, cause) };
        let errand = Errand { agent, directory, variables, confinement };
        let check = Check { command, time_max: policy.setup_time_max };
        let ended = errand.run(&check, &CancellationToken::new()).await?;
        if ended.passed { Ok(()) } else { Err(RuntimeError::Setup { said: end_of(&ended.output) }) }
    }
}

/// Confines the setup command to the settings' reach and to that of the agents that it is run for. The worktree itself is new, and
/// may be written also where those agents write nowhere. Only a person's command gives the network beyond.
fn setup_confinement(policy: &WorktreePolicy, reach: &Reach, cause: Cause) -> Confinement {
    let bounds = match reach.writes {
        Writes::Anywhere | Writes::Directory => reach.clone(),
        Writes::Nowhere | Writes::Notes(_) => {
            Reach { writes: Writes::Directory, writable: Vec::new(), ..reach.clone() }
        }
    };
    let narrowed = policy.confinement.reach.within(&bounds);
    let network = match cause {
        // Together they are at most what the policy has, so no limit is passed.
        Cause::Command => narrowed.network.and(&policy.persons_network).ok(),
        Cause::Run => None,
    };
    let network = network.unwrap_or_else(|| narrowed.network.clone());
    let reach = ReachWish::Run(Reach { network, ..narrowed });
    Confinement { reach, ..policy.confinement.clone() }
}

/// Whether a directory is there, and no link leads it out of the worktree.
fn is_inside(directory: &Path, path: &Path) -> bool {
    let real = (directory.canonicalize(), path.canonicalize());
    matches!(&real, (Ok(directory), Ok(path)) if directory.is_dir() && directory.starts_with(path))
}

fn end_of(text: &str) -> String {
    let text = text.trim();
    let skipped = text.chars().count().saturating_sub(SAID_CHARACTERS_MAX);
    let end: String = text.chars().skip(skipped).collect();
    if skipped == 0 { end } else { format!("… {end}") }
}

#[cfg(test)]
mod tests {
    use tine_model::NetworkReach;

    use super::*;

    #[test]
    fn the_setup_command_has_the_reach_of_the_agents_that_it_is_run_for() {
        let online = Reach { network: NetworkReach::internet(), ..Reach::directory() };
        let confined = |settings: &Reach, reach: Reach, cause| {
            let policy = WorktreePolicy {
                root: "/w".into(),
                setup: None,
                setup_time_max: std::time::Duration::ZERO,
                confinement: Confinement { reach: settings.clone().into(), ..Default::default() },
                persons_network: NetworkReach::internet(),
                ports: None,
                environment: Vec::new(),
            };
            setup_confinement(&policy, &reach, cause).reach.reach().clone()
        };
        let run = |settings: &Reach, reach| confined(settings, reach, Cause::Run);
        assert_eq!(run(&Reach::open(), Reach::open()), Reach::open());
        assert_eq!(run(&Reach::open(), Reach::directory()), Reach::directory());
        assert_eq!(run(&online, Reach::open()), online);
        assert_eq!(run(&online, Reach::directory()), Reach::directory());
        assert_eq!(run(&Reach::open(), Reach::read_only()), Reach::directory());
        assert_eq!(run(&online, Reach::notes("/n".into())), Reach::directory());
        assert_eq!(confined(&Reach::open(), Reach::directory(), Cause::Command), online);
    }

    #[test]
    fn of_what_a_command_said_the_end_is_told() {
        assert_eq!(end_of(" no\n[exit code 1]\n"), "no\n[exit code 1]");
        let long = end_of(&format!("begun{}", "x".repeat(SAID_CHARACTERS_MAX)));
        assert_eq!(long, format!("… {}", "x".repeat(SAID_CHARACTERS_MAX)));
    }
}
