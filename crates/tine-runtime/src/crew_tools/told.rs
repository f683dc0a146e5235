//! Why a call of a tool for workers did not do what it was asked: the cause, and what the model can do about it.

use tine_model::in_full;
use tine_worktree::{Refusal, WorktreeError};

use crate::error::RuntimeError;

/// The way out for a model that cannot have a worktree for a worker.
const WITHOUT: &str = "Start the worker without `isolation`; it then works in your own directory, so let nobody else change the same \
    files meanwhile.";

/// Why a call did not do what it was asked, in words for the model.
#[derive(Debug)]
pub(crate) struct Told(pub(crate) String);

impl From<RuntimeError> for Told {
    fn from(error: RuntimeError) -> Self {
        let cause = in_full(&error);
        Self(match &error {
            RuntimeError::NoWorktrees => {
                format!("The user has turned worktrees off, so no worker was started. {WITHOUT}")
            }
            RuntimeError::Setup { said } => format!(
                "The user's command that makes a worktree ready failed, so no worker was started. Mend what it stumbles over if that is \
                 in the files here and try again, or start the worker without `isolation`. It said:\n{said}"
            ),
            RuntimeError::Worktree(error) => {
                format!("There is no worktree for the worker: {cause}. {}", advice(error))
            }
            RuntimeError::CacheLoss { .. } => format!(
                "No worker was started: {cause}. Leave `model` out, or take `context` `digest` or `fresh`."
            ),
            _ => format!("This did not work: {cause}."),
        })
    }
}

/// What a model can do where it gets no worktree.
fn advice(error: &WorktreeError) -> String {
    let first = match error {
        WorktreeError::Refused(refusal) => match refusal {
            Refusal::Unmerged { .. } => "Settle the conflicts, `git add` the files and try again.",
            Refusal::Embedded(_) => "Have them ignored by a line in .gitignore and try again.",
            Refusal::Changing(_) => {
                "Wait until what writes there has ended, such as a build, and try again."
            }
            Refusal::NoPorts(_) => "Try again when other workers have ended.",
            Refusal::Name(_) | Refusal::Taken(_) | Refusal::Unknown(_) | Refusal::Exists(_) => {
                "Try again."
            }
            Refusal::NoRepository(_)
            | Refusal::NoCheckout(_)
            | Refusal::HoldsRepositories(_)
            | Refusal::NoCommit(_) => return WITHOUT.to_owned(),
        },
        WorktreeError::TakenBack { why, .. } => return advice(why),
        WorktreeError::Obstructed(obstacle) => return format!("To go on: {}.", obstacle.hint()),
        WorktreeError::Travel(_) | WorktreeError::NoGit(_) | WorktreeError::OldGit { .. } => {
            return WITHOUT.to_owned();
        }
        WorktreeError::Git { .. }
        | WorktreeError::TooLong { .. }
        | WorktreeError::Output { .. }
        | WorktreeError::File { .. } => "Try once more.",
    };
    format!("{first} If that does not help: {}{}", WITHOUT[..1].to_lowercase(), &WITHOUT[1..])
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn a_model_hears_why_there_is_no_worktree_and_what_to_do() {
        let paths = |name: &str| vec![PathBuf::from(name)];
        let said = [
            RuntimeError::NoWorktrees,
            RuntimeError::Setup { said: "no package\n[exit code 1]".to_owned() },
            WorktreeError::from(Refusal::NoRepository("/work".into())).into(),
            WorktreeError::from(Refusal::Unmerged { operation: None, paths: paths("a.txt") })
                .into(),
            WorktreeError::from(Refusal::Embedded(paths("vendor/x"))).into(),
            RuntimeError::NoDirective,
        ]
        .map(|error| Told::from(error).0);
        insta::assert_snapshot!(said.join("\n\n"), @"
        The user has turned worktrees off, so no worker was started. Start the worker without `isolation`; it then works in your own directory, so let nobody else change the same files meanwhile.

        The user's command that makes a worktree ready failed, so no worker was started. Mend what it stumbles over if that is in the files here and try again, or start the worker without `isolation`. It said:
        no package
        [exit code 1]

        There is no worktree for the worker: `/work` is in no git repository. Start the worker without `isolation`; it then works in your own directory, so let nobody else change the same files meanwhile.

        There is no worktree for the worker: a.txt is in conflict. Settle the conflicts, `git add` the files and try again. If that does not help: start the worker without `isolation`; it then works in your own directory, so let nobody else change the same files meanwhile.

        There is no worktree for the worker: the checkout holds other repositories: vendor/x. Have them ignored by a line in .gitignore and try again. If that does not help: start the worker without `isolation`; it then works in your own directory, so let nobody else change the same files meanwhile.

        This did not work: each worker of a fan needs a directive.
        ");
    }
}
