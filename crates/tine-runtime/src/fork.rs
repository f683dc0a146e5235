//! Forking: one operation behind every door.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use futures_util::StreamExt as _;
use futures_util::stream;
use tine_fork::digest::DigestStats;
use tine_model::{
    AgentId, AgentRecord, AgentState, Block, ContextMode, EntryBody, EntryId, Message,
    ModelSettings, Reach, Standing, ToolCallId,
};
use tine_store::{
    ForkFrom, ForkRequest, Forked, Head, NewAgent, NewChild, NewEntry, NewTask, StoreError,
};

use crate::confine::ReachWish;
use crate::error::RuntimeError;
use crate::fan::FanSpec;
use crate::fold::Fold;
use crate::inherit::{Inherit, Inherited};
use crate::registry::check_name;
use crate::runtime::Runtime;
use crate::worktrees::{Cause, LeftOut, Operation, Placed, Placement, WORKTREES_AT_ONCE};

/// What a fork is made of. Without other settings the child keeps its parent's head and model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForkSpec {
    /// Whose fork it is.
    pub parent: AgentId,
    /// The last entry to inherit; `None` for the parent's head.
    pub at: Option<EntryId>,
    /// A name that no living agent has.
    pub name: Option<String>,
    /// How much is inherited, and in which form.
    pub inherit: Inherit,
    /// Another model, or other settings of the same; a head of its own then says the same to it. Refused with a native history,
    /// because no cache serves it then, unless [`Self::accept_cache_loss`] is set.
    pub settings: Option<ModelSettings>,
    /// Whether a native history may be sent anew to another model.
    pub accept_cache_loss: bool,
    /// Where it works.
    pub place: Placement,
    /// Where it works instead of its parent's directory: absolute, and not with a worktree of its own. It is told of that.
    pub directory: Option<PathBuf>,
    /// What it may touch; without a wish what its parent may.
    pub reach: ReachWish,
}

impl ForkSpec {
    /// A fork that inherits everything.
    pub fn of(parent: AgentId) -> Self {
        Self {
            parent,
            at: None,
            name: None,
            inherit: Inherit::Full,
            settings: None,
            accept_cache_loss: false,
            place: Placement::Shared,
            directory: None,
            reach: ReachWish::default(),
        }
    }
}

/// A fork as it was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForkMade {
    /// The child.
    pub child: AgentId,
    /// Its parent.
    pub parent: AgentId,
    /// The last inherited entry; `None` when nothing is inherited.
    pub fork_point: Option<EntryId>,
    /// The entry that was asked for, where the fork point had to move forward to keep calls and results together.
    pub moved_from: Option<EntryId>,
    /// How much is inherited, and in which form.
    pub context: ContextMode,
    /// What became of the messages, of a digest.
    pub digest: Option<DigestStats>,
    /// Its worktree.
    pub worktree: Option<ForkWorktree>,
    /// What its commands and file tools may touch.
    pub reach: Reach,
    /// The calls that ran in the parent: their results are not in the fork.
    pub open_calls: Vec<OpenCall>,
}

/// A call that an agent has made, and that has no result yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenCall {
    /// Its id.
    pub id: ToolCallId,
    /// The tool.
    pub tool: String,
}

/// The worktree of a fork as it was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForkWorktree {
    /// Where its files are.
    pub path: PathBuf,
    /// What the checkout is in the middle of that it was made from; the files are the same, the rest does not come with them.
    pub during: Option<Operation>,
    /// The parts of the checkout that the worktree did not get.
    pub left_out: Vec<LeftOut>,
    /// Submodules of that checkout that have files. The worktree has none of them; they stay at the commits that are staged.
    pub submodules: Vec<PathBuf>,
}

/// How long a person's fork waits for running tools before it is given up, in milliseconds: as long as the longest command usually
/// takes.
pub const TOOLS_WAIT_MS: i64 = 10 * 60_000;

/// Parents of forks that are under way in this process.
pub(crate) type Forking = Mutex<HashSet<AgentId>>;

/// The right to fork one parent; given back when it is dropped, on every path.
pub(crate) struct ForkGuard<'a> {
    forking: &'a Forking,
    parent: AgentId,
}

impl<'a> ForkGuard<'a> {
    pub(crate) fn take(forking: &'a Forking, parent: AgentId) -> Result<Self, RuntimeError> {
        match forking.lock().unwrap_or_else(PoisonError::into_inner).insert(parent) {
            true => Ok(Self { forking, parent }),
            false => Err(RuntimeError::ForkInProgress),
        }
    }
}

impl Drop for ForkGuard<'_> {
    fn drop(&mut self) {
        self.forking.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.parent);
    }
}

impl Runtime {
    /// Makes a peer of the parent that inherits what was asked for, up to the fork point. Three rows for everything, whatever the
    /// length of the conversation, and one more for a part of it; any failure leaves the store as it was.
    pub async fn fork(&self, spec: ForkSpec) -> Result<ForkMade, RuntimeError> {
        self.fork_with(spec, Vec::new()).await
    }

    /// The same for a fork that begins with messages of its own.
    pub(crate) async fn fork_with(
        &self,
        spec: ForkSpec,
        own: Vec<NewEntry>,
    ) -> Result<ForkMade, RuntimeError> {
        check_name(spec.name.as_deref())?;
        let guard = ForkGuard::take(&self.forking, spec.parent)?;
        let parent = self.store().agent(spec.parent).await?;
        let (at, moved_from) = match spec.at {
            None => (None, None),
            Some(asked) => {
                let at = self.boundary(parent.id, asked).await?;
                (Some(at), (at != asked).then_some(asked))
            }
        };
        let other = spec.settings.filter(|settings| *settings != parent.settings);
        if let (Some(settings), false) = (&other, spec.accept_cache_loss) {
            self.refuse_cache_loss(&parent, at, spec.inherit, settings).await?;
        }
        let Inherited { from, context, mut entries, digest } =
            self.inherited(&parent, at, spec.inherit).await?;
        entries.extend(own);
        let mut agent = NewAgent { context, ..self.child_of(&parent, Standing::Peer, spec.name) };
        agent.reach = spec.reach.within(&parent.reach);
        let child = agent.id;
        if let Some(settings) = other {
            agent.head = self.restated_head(&parent, child, &settings).await?;
            agent.settings = settings;
        }
        if let Some(directory) = spec.directory {
            agent.directory = directory.to_string_lossy().into_owned();
        }
        let placed = self.place(child, &parent, (&spec.place, Cause::Command)).await?;
        let agent = placed.iter().fold(agent, |agent, placed| placed.moved(agent));
        let worktree = placed.as_ref().map(Placed::row);
        let by_person = matches!(spec.reach, ReachWish::Person(_));
        let children = vec![NewChild { agent, task: None, entries, worktree, by_person }];
        let made = match self.commit(&parent, from, children, None).await {
            Ok(made) => made,
            Err(error) => {
                self.unplace(placed).await;
                return Err(error);
            }
        };
        drop(guard);
        let worktree = placed.map(|placed| ForkWorktree {
            path: placed.path().to_owned(),
            during: placed.during,
            left_out: placed.left_out,
            submodules: placed.submodules,
        });
        let fork_point = made.first().and_then(|forked| forked.fork_point);
        let reach = self.store().agent(child).await?.reach;
        let open_calls = match fork_point {
            Some(_) if parent.state == AgentState::Running => {
                open_calls(&self.fold(parent.id, fork_point).await?)
            }
            _ => Vec::new(),
        };
        let parent = parent.id;
        Ok(ForkMade {
            child,
            parent,
            fork_point,
            moved_from,
            context,
            digest,
            worktree,
            reach,
            open_calls,
        })
    }

    /// The calls that run in an agent now, and the last entry that it knows.
    pub async fn running_calls(
        &self,
        agent: AgentId,
    ) -> Result<(Vec<OpenCall>, Option<EntryId>), RuntimeError> {
        let runs = self.store().agent(agent).await?.state == AgentState::Running;
        let fold = self.fold(agent, None).await?;
        let last = fold.entries().last().map(|folded| folded.entry.id);
        Ok((if runs { open_calls(&fold) } else { Vec::new() }, last))
    }

    /// The workers of a fan as they will be: all behind one head.
    pub(crate) async fn workers_of(
        &self,
        parent: &AgentRecord,
        spec: &FanSpec,
        wish: &ReachWish,
    ) -> Result<Vec<NewAgent>, RuntimeError> {
        let worker = |_: &String| NewAgent {
            reach: wish.within(&parent.reach),
            ..self.child_of(parent, Standing::Worker, None)
        };
        let workers: Vec<NewAgent> = spec.directives.iter().map(worker).collect();
        let Some(first) = workers.first() else { return Err(RuntimeError::NoDirective) };
        let (settings, head) = self.worker_head(parent, (first.id, None), &spec.profile).await?;
        let with = |worker| NewAgent { settings: settings.clone(), head: head.clone(), ..worker };
        Ok(workers.into_iter().map(with).collect())
    }

    /// Makes the workers of a fan, all from one fork point, in one transaction, with this process's lease on each.
    pub(crate) async fn fork_workers(
        &self,
        parent: &AgentRecord,
        agents: Vec<NewAgent>,
        (spec, by_person): (&FanSpec, bool),
    ) -> Result<Vec<Forked>, RuntimeError> {
        let _guard = ForkGuard::take(&self.forking, parent.id)?;
        let at = match spec.at {
            Some(asked) => Some(self.boundary(parent.id, asked).await?),
            None => None,
        };
        let Inherited { from, context, entries, .. } =
            self.inherited(parent, at, spec.profile.context).await?;
        let place = |agent: &NewAgent| self.place(agent.id, parent, (&spec.place, Cause::Command));
        let places = agents.iter().map(place);
        let made: Vec<_> = stream::iter(places).buffered(WORKTREES_AT_ONCE).collect().await;
        let mut placed = Vec::with_capacity(made.len());
        let mut failed = None;
        for made in made {
            match made {
                Ok(made) => placed.push(made),
                Err(error) => failed = Some(error),
            }
        }
        let result = match failed {
            Some(error) => Err(error),
            None => {
                let worker =
                    |(directive, (agent, placed)): (&String, (NewAgent, &Option<Placed>))| {
                        let agent = NewAgent { context, ..agent };
                        NewChild {
                            agent: placed.iter().fold(agent, |agent, placed| placed.moved(agent)),
                            task: Some(NewTask {
                                directive: directive.clone(),
                                description: None,
                                definition: spec.profile.agent.as_ref().map(|one| one.name.clone()),
                            }),
                            entries: entries.clone(),
                            worktree: placed.as_ref().map(Placed::row),
                            by_person,
                        }
                    };
                let children = spec
                    .directives
                    .iter()
                    .zip(agents.into_iter().zip(&placed))
                    .map(worker)
                    .collect();
                let owner = self.owner()?.name().to_owned();
                self.commit(parent, from, children, Some(owner)).await
            }
        };
        if result.is_err() {
            for placed in placed {
                self.unplace(placed).await;
            }
        }
        result
    }

    /// A child that inherits everything; whoever gives it less sets its context.
    pub(crate) fn child_of(
        &self,
        parent: &AgentRecord,
        standing: Standing,
        name: Option<String>,
    ) -> NewAgent {
        let below = match standing {
            Standing::Worker | Standing::Hidden => 1,
            Standing::Root | Standing::Peer => 0,
        };
        NewAgent {
            id: self.new_id(),
            name,
            standing,
            context: ContextMode::Full,
            settings: parent.settings.clone(),
            head: Head { hash: parent.head, body: None },
            directory: parent.directory.clone(),
            reach: parent.reach.clone(),
            depth: parent.depth + below,
        }
    }

    pub(crate) async fn commit(
        &self,
        parent: &AgentRecord,
        from: ForkFrom,
        children: Vec<NewChild>,
        owner: Option<String>,
    ) -> Result<Vec<Forked>, RuntimeError> {
        if parent.state == AgentState::Dead {
            return Err(StoreError::Dead { agent: parent.id }.into());
        }
        let (parent, now_ms) = (parent.id, self.now_ms());
        let request = ForkRequest { parent, from, parent_fence: None, children, owner, now_ms };
        Ok(self.store().fork(request).await?)
    }

    /// The first place at or after `asked` where a conversation may be cut: behind the results of calls, not between
    /// them.
    pub(crate) async fn boundary(
        &self,
        agent: AgentId,
        asked: EntryId,
    ) -> Result<EntryId, RuntimeError> {
        let fold = self.fold(agent, None).await?;
        let entries = fold.entries();
        let unknown = StoreError::UnknownEntry { agent, entry: asked };
        let at = entries.iter().position(|folded| folded.entry.id == asked).ok_or(unknown)?;
        let EntryBody::Message(message) = &entries[at].entry.body else { return Ok(asked) };
        // The results are the next message, if nothing else came between.
        for folded in &entries[at + 1..] {
            match &folded.entry.body {
                EntryBody::Message(next) if answers(next, message) => return Ok(folded.entry.id),
                EntryBody::Message(_)
                | EntryBody::Clear
                | EntryBody::Rewind { .. }
                | EntryBody::Compact { .. } => break,
                EntryBody::Fork { .. }
                | EntryBody::Mark { .. }
                | EntryBody::Notice(_)
                | EntryBody::Dialect(_) => {}
            }
        }
        Ok(asked)
    }
}

/// The calls at the end of a conversation: the results of one reply come together.
fn open_calls(fold: &Fold) -> Vec<OpenCall> {
    let last = fold.items().last();
    let blocks = last.iter().flat_map(|item| item.message.blocks());
    let calls = blocks.filter_map(|block| match block {
        Block::ToolUse { id, name, .. } => Some(OpenCall { id: id.clone(), tool: name.clone() }),
        _ => None,
    });
    calls.collect()
}

/// Whether `next` holds a result for one of the calls of `message`.
fn answers(next: &Message, message: &Message) -> bool {
    message.tool_calls().any(|call| {
        next.blocks().iter().any(
            |block| matches!(block, Block::ToolResult { call: answered, .. } if answered == call),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_fork_is_refused_until_the_first_is_over() {
        let forking = Forking::default();
        let [parent, other] = [1, 2].map(|byte| AgentId::from_random([byte; 16]));
        let first = ForkGuard::take(&forking, parent).ok();
        let refused = ForkGuard::take(&forking, parent).err().map(|error| error.to_string());
        assert_eq!(refused.as_deref(), Some("Fork already in progress"));
        assert!(ForkGuard::take(&forking, other).is_ok());
        drop(first);
        assert!(ForkGuard::take(&forking, parent).is_ok());
    }
}
