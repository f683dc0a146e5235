//! The description of a state that travels: what the messages beside its file say.

use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};
use tine_model::AgentId;
use tine_worktree::{Commit, Conventions, WorktreeError};

/// The version of the description. A later one is refused by name.
pub(super) const VERSION: u32 = 1;

/// The state of a worktree in a file, as one machine tells another of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PackedState {
    /// The version of this description.
    pub version: u32,
    /// The name of the project, by which a worker finds its cache: 64 hexadecimal digits.
    pub project: String,
    /// The commit that the file is for.
    pub carrier: String,
    /// HEAD of the worktree, which is detached.
    pub base: String,
    /// The state that this is the answer to, by its `carrier`; `None` on the way to a worker.
    pub against: Option<String>,
    /// Commits that the receiver must have.
    pub needed: Vec<String>,
    /// The size of the file.
    pub bytes: u64,
    /// The directory at home that the worktree was made of, as conversations name it.
    pub origin: String,
    /// The agent's directory below the top of its worktree; empty for the top.
    pub inside: String,
    /// Settings of the user and the repository at home.
    pub conventions: Conventions,
    /// Files that travel as git keeps them, for a filter changes them: pointers to large files, for instance. At most 100.
    pub filtered: Vec<String>,
    /// Ignored files that came along when the worktree was made, and files of repositories inside: they stay. At most 100.
    pub left: Vec<String>,
}

impl PackedState {
    /// Refuses a description that is not of this version, or whose parts cannot be what they are said to be.
    pub(super) fn check(&self) -> Result<(), TravelRefusal> {
        if self.version != VERSION {
            return Err(TravelRefusal::Version { found: self.version });
        }
        let names = [&self.carrier, &self.base].into_iter().chain(&self.against);
        if !names.chain(&self.needed).all(|name| Commit::parse(name).is_ok()) {
            return Err(TravelRefusal::Unreadable("a commit in it has no name"));
        }
        let inside = Path::new(&self.inside);
        if !inside.components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(TravelRefusal::Unreadable(
                "the agent's directory is outside of its worktree",
            ));
        }
        Ok(())
    }
}

pub(super) fn commits(names: &[String]) -> Result<Vec<Commit>, TravelRefusal> {
    let wrong = |_: WorktreeError| TravelRefusal::Unreadable("a commit in it has no name");
    names.iter().map(|name| Commit::parse(name).map_err(wrong)).collect()
}

/// Why the state of a worktree does not go to another machine, or does not come from one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TravelRefusal {
    /// The directory is in no git repository.
    #[error("a fork on another machine needs a git repository, and `{}` is in none", .0.display())]
    NoRepository(PathBuf),
    /// Another version of tine has written the description.
    #[error("the state is described in version {found}, and version {VERSION} is known here")]
    Version {
        /// Its version.
        found: u32,
    },
    /// The description of a state makes no sense.
    #[error("the description of the state cannot be used: {0}")]
    Unreadable(&'static str),
    /// Nothing of the agent is away that this could be the answer to.
    #[error(
        "the state of agent {0} that this is the answer to was not sent from here, or another was since"
    )]
    NotSent(AgentId),
    /// Somebody has changed the worktree while its state was away. Both are kept.
    #[error("the worktree of agent {agent} was changed while its work was done elsewhere: {}; that work is kept by {reference}", .path.display())]
    Changed {
        /// The agent.
        agent: AgentId,
        /// The files that were changed.
        path: PathBuf,
        /// The ref that holds what came.
        reference: String,
    },
    /// The worktree of the agent was made here.
    #[error("the worktree of agent {0} did not come from another machine")]
    MadeHere(AgentId),
}

impl TravelRefusal {
    /// The way to go on, as a sentence.
    pub fn hint(&self) -> String {
        match self {
            Self::NoRepository(_) => {
                "`git init` and a first commit make one; or fork on this machine".to_owned()
            }
            Self::Version { .. } => "use the same version of tine on all machines".to_owned(),
            Self::Unreadable(_) => "this is a bug of whoever sent it".to_owned(),
            Self::NotSent(_) => "fork on the other machine once more".to_owned(),
            Self::Changed { path, reference, .. } => format!(
                "`git show {reference}^2` shows that work, or {reference}^ where nothing was done; to take its files: \
                `git restore --source {reference}^2 -- .` in {}",
                path.display()
            ),
            Self::MadeHere(_) => "`tine worktree rm` removes it and keeps what it holds".to_owned(),
        }
    }
}
