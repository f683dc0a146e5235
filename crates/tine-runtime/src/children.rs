//! Making agents out of an agent: places first, then all rows in one transaction. A failure leaves neither.

use futures_util::StreamExt as _;
use futures_util::stream;
use tine_fork::envelope::escape_frame_tags;
use tine_model::{AgentId, AgentRecord, AgentState, ModelSettings, Reach, Standing};
use tine_store::{
    ForkRequest, Forked, Head as StoredHead, NewAgent, NewChild, NewEntry, NewTask, StoreError,
};

use crate::confine::ReachWish;
use crate::error::RuntimeError;
use crate::fork_spec::ForkSpec;
use crate::inherit::{Inherit, Inherited};
use crate::runtime::{NewHead, Runtime};
use crate::worktrees::{Cause, Placed, Placement, WORKTREES_AT_ONCE};

/// Agents that are to be made, all from one fork point.
pub(crate) struct Births<'a> {
    pub(crate) parent: &'a AgentRecord,
    pub(crate) spec: &'a ForkSpec,
    pub(crate) standing: Standing,
    /// The operation that makes their worktrees.
    pub(crate) cause: Cause,
    /// True where this process gets the lease on each.
    pub(crate) held: bool,
}

/// One of them, before its rows are written.
pub(crate) struct Unborn {
    pub(crate) agent: NewAgent,
    pub(crate) task: Option<NewTask>,
    /// The first entries of its own log, after the inherited ones.
    pub(crate) entries: Vec<NewEntry>,
}

/// Agents as they were made.
pub(crate) struct Born {
    pub(crate) forked: Vec<Forked>,
    /// The worktree of each.
    pub(crate) placed: Vec<Option<Placed>>,
    pub(crate) digest: Option<tine_fork::digest::DigestStats>,
}

impl Runtime {
    /// Agents with the head, the settings and the reach that the spec says; nothing is stored yet.
    pub(crate) async fn unborn(
        &self,
        births: &Births<'_>,
        tasks: Vec<Option<NewTask>>,
    ) -> Result<Vec<Unborn>, RuntimeError> {
        let Births { parent, spec, standing, .. } = births;
        let below = match standing {
            Standing::Worker | Standing::Hidden => 1,
            Standing::Root | Standing::Peer | Standing::Guest => 0,
        };
        let bounds = reach_of_forks(parent, &spec.place);
        let first = self.new_id();
        let (settings, head) = self.head_of(parent, first, spec).await?;
        let directory = spec.directory.as_ref().map(|path| path.to_string_lossy().into_owned());
        let agent = |id| NewAgent {
            id,
            name: spec.name.clone(),
            standing: *standing,
            context: spec.inherit.context(),
            settings: settings.clone(),
            head: head.clone(),
            directory: directory.clone().unwrap_or_else(|| parent.directory.clone()),
            reach: spec.reach.within(&bounds),
            depth: parent.depth + below,
        };
        let ids = std::iter::once(first).chain(std::iter::repeat_with(|| self.new_id()));
        let unborn = |(id, task)| Unborn { agent: agent(id), task, entries: Vec::new() };
        Ok(ids.zip(tasks).map(unborn).collect())
    }

    /// Makes them.
    pub(crate) async fn bear(
        &self,
        births: &Births<'_>,
        unborn: Vec<Unborn>,
    ) -> Result<Born, RuntimeError> {
        let Births { parent, spec, cause, held, .. } = births;
        if parent.state == AgentState::Dead {
            return Err(StoreError::Dead { agent: parent.id }.into());
        }
        let owner = if *held { Some(self.owner()?.name().to_owned()) } else { None };
        let Inherited { from, entries, digest, .. } =
            self.inherited(parent, spec.at, spec.inherit).await?;
        let place = |child: &Unborn| self.place(child.agent.id, parent, (&spec.place, *cause));
        let made: Vec<_> =
            stream::iter(unborn.iter().map(place)).buffered(WORKTREES_AT_ONCE).collect().await;
        let (mut placed, mut failed) = (Vec::with_capacity(made.len()), None);
        for made in made {
            match made {
                Ok(made) => placed.push(made),
                Err(error) => failed = Some(error),
            }
        }
        let by_person =
            matches!(spec.reach, ReachWish::Person(_)) || is_own_place(parent, &spec.place);
        let child = |(unborn, placed): (Unborn, &Option<Placed>)| NewChild {
            agent: placed.iter().fold(unborn.agent, |agent, placed| placed.moved(agent)),
            task: unborn.task,
            entries: entries.iter().cloned().chain(unborn.entries).collect(),
            worktree: placed.as_ref().map(Placed::row),
            by_person,
        };
        let forked = match failed {
            Some(error) => Err(error),
            None => {
                let children = unborn.into_iter().zip(&placed).map(child).collect();
                let (parent, now_ms) = (parent.id, self.now_ms());
                let request =
                    ForkRequest { parent, from, parent_fence: None, children, owner, now_ms };
                self.store().fork(request).await.map_err(RuntimeError::from)
            }
        };
        match forked {
            Ok(forked) => Ok(Born { forked, placed, digest }),
            Err(error) => {
                for placed in placed {
                    self.unplace(placed).await;
                }
                Err(error)
            }
        }
    }

    /// The settings and the head of forks as this says. One that is made for them belongs to the lineage of `first`. Another model for
    /// a native history is refused with its price, unless that is accepted.
    async fn head_of(
        &self,
        parent: &AgentRecord,
        first: AgentId,
        spec: &ForkSpec,
    ) -> Result<(ModelSettings, StoredHead), RuntimeError> {
        let agent = spec.agent.as_ref().filter(|_| spec.inherit != Inherit::Full);
        let model = spec.model.as_ref().or(agent.and_then(|agent| agent.model.as_ref()));
        let other = model.map(|words| words.settings(&parent.settings));
        let other = other.filter(|settings| *settings != parent.settings);
        if let (Some(settings), false) = (&other, spec.accept_cache_loss) {
            self.refuse_cache_loss(parent, spec.at, spec.inherit, settings).await?;
        }
        let settings = other.clone().unwrap_or_else(|| parent.settings.clone());
        let head = match (agent, other) {
            (Some(agent), _) => {
                let head = NewHead {
                    system: &escape_frame_tags(&agent.prompt),
                    tools: &|name| agent.has_tool(name),
                    stream: true,
                    // Signed reasoning is bound to the head that it was made behind.
                    drop_foreign_thinking: matches!(spec.inherit, Inherit::Turns(_)),
                };
                let head = self.render_head((first, &settings), head);
                StoredHead { hash: head.hash(), body: Some(head.to_stored()) }
            }
            (None, Some(_)) => self.restated_head(parent, first, &settings).await?,
            (None, None) if parent.standing == Standing::Guest => {
                let head = self.guest_head(parent).await?;
                StoredHead { hash: head.hash(), body: Some(head.to_stored()) }
            }
            (None, None) => StoredHead { hash: parent.head, body: None },
        };
        Ok((settings, head))
    }
}

/// The widest reach of forks of an agent, unless a person says another one: its own. Forks of a guest may write in worktrees of their own,
/// for nothing there is the program's, and whoever asks for a worktree has asked for that.
pub fn reach_of_forks(parent: &AgentRecord, place: &Placement) -> Reach {
    if is_own_place(parent, place) { Reach::directory() } else { parent.reach.clone() }
}

fn is_own_place(parent: &AgentRecord, place: &Placement) -> bool {
    parent.standing == Standing::Guest && matches!(place, Placement::Worktree(_))
}
