//! Making a new worktree ready to build and run: ports, and the user's own command.

use std::sync::Arc;

use tine_model::AgentId;
use tine_worktree::Worktree;
use tokio_util::sync::CancellationToken;

use super::check::{Check, Errand};
use super::{WorktreePolicy, blocking};
use crate::confine::Confinement;
use crate::error::RuntimeError;

/// Most characters of what the command said that its failure repeats: its end, where the reason stands.
const SAID_CHARACTERS_MAX: usize = 1000;

impl WorktreePolicy {
    /// Gives a worktree its ports and runs the user's command there. The command is the user's, but what it runs, say the scripts of
    /// a package, stands in files that agents write: so it runs as a check does, behind a wall. `worktree` must be one that nothing
    /// written in it can lead astray, as it is found by name.
    pub(super) async fn make_ready(
        self: &Arc<Self>,
        worktree: &Worktree,
        agent: AgentId,
    ) -> Result<(), RuntimeError> {
        let (policy, path) = (Arc::clone(self), worktree.repository().top().to_owned());
        let variables = blocking({
            let (path, origin) = (path.clone(), worktree.origin().to_owned());
            move || {
                if let Some(ports) = policy.ports {
                    ports.take(&policy.blocks(), &path)?;
                }
                Ok(policy.variables(&origin, &path, agent))
            }
        })
        .await?;
        let Some(command) = self.setup.clone() else { return Ok(()) };
        let directory = worktree.directory();
        let inside = directory.strip_prefix(&path).unwrap_or("".as_ref());
        // Component by component, so that nothing is added to the top.
        let origin = worktree.origin().components().chain(inside.components()).collect();
        let confinement = Confinement { origin: Some(origin), ..self.confinement.clone() };
        let errand = Errand { agent, directory, variables, confinement };
        let check = Check { command, time_max: self.setup_time_max };
        let ended = errand.run(&check, &CancellationToken::new()).await?;
        match ended.passed {
            true => Ok(()),
            false => Err(RuntimeError::Setup { said: end_of(&ended.output) }),
        }
    }
}

fn end_of(text: &str) -> String {
    let text = text.trim();
    let skipped = text.chars().count().saturating_sub(SAID_CHARACTERS_MAX);
    let end: String = text.chars().skip(skipped).collect();
    if skipped == 0 { end } else { format!("… {end}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_what_a_command_said_the_end_is_told() {
        assert_eq!(end_of(" no\n[exit code 1]\n"), "no\n[exit code 1]");
        let long = end_of(&format!("begun{}", "x".repeat(SAID_CHARACTERS_MAX)));
        assert_eq!(long, format!("… {}", "x".repeat(SAID_CHARACTERS_MAX)));
    }
}
