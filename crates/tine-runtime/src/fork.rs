//! Forking: one operation behind every door.

use std::path::PathBuf;
use std::time::Duration;

use tine_fork::digest::DigestStats;
use tine_model::{
    AgentId, AgentRecord, AgentState, Block, EntryBody, EntryId, Message, Standing, ToolCallId,
};
use tine_store::{Forked, NewEntry, StoreError};
use tokio_util::sync::CancellationToken;

use crate::changes::ChangeWatch;
use crate::children::{Births, Born};
use crate::error::RuntimeError;
use crate::fold::Fold;
use crate::fork_guard::ForkGuard;
use crate::fork_spec::ForkSpec;
use crate::names::check_name;
use crate::runtime::Runtime;
use crate::worktrees::{Cause, LeftOut, Operation};

/// A fork as it was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForkMade {
    /// The child.
    pub child: AgentId,
    /// Its parent.
    pub parent: AgentId,
    /// The last inherited entry; `None` when nothing is inherited.
    pub fork_point: Option<EntryId>,
    /// The child as it is stored.
    pub record: AgentRecord,
    /// The entry that was asked for, where the fork point had to move forward to keep calls and results together.
    pub moved_from: Option<EntryId>,
    /// What became of the messages, of a digest.
    pub digest: Option<DigestStats>,
    /// Its worktree.
    pub worktree: Option<ForkWorktree>,
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

/// The time for which a person's fork waits for running tools before it is given up: as long as the longest command usually takes.
pub const TOOLS_WAIT: Duration = Duration::from_secs(10 * 60);

/// The pause between two looks for processes that have died: nobody changes the store when one dies.
const RECOVER: Duration = Duration::from_secs(1);

/// A wait for the calls of an agent.
pub struct QuietWait<'a> {
    /// The longest time to wait.
    pub patience: Duration,
    /// Ends the wait.
    pub cancel: &'a CancellationToken,
    /// Called once where there is something to wait for.
    pub on_wait: &'a (dyn Fn() + Send + Sync),
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
        let (spec, moved_from) = self.at_boundary(spec).await?;
        let births = Births {
            parent: &parent,
            spec: &spec,
            standing: Standing::Peer,
            cause: Cause::Command,
            held: false,
        };
        let mut unborn = self.unborn(&births, vec![None]).await?;
        unborn.iter_mut().for_each(|child| child.entries.clone_from(&own));
        let Born { forked, placed, digest } = self.bear(&births, unborn).await?;
        drop(guard);
        let Some(Forked { child, fork_point, record, .. }) = forked.into_iter().next() else {
            return Err(StoreError::no_agent(parent.id).into());
        };
        let worktree = placed.into_iter().flatten().next().map(|placed| ForkWorktree {
            path: placed.path().to_owned(),
            during: placed.during,
            left_out: placed.left_out,
            submodules: placed.submodules,
        });
        let open_calls = match fork_point {
            Some(_) => self.running_calls(&parent, fork_point).await?,
            None => Vec::new(),
        };
        let parent = parent.id;
        Ok(ForkMade { child, parent, fork_point, record, moved_from, digest, worktree, open_calls })
    }

    /// The spec with its entry moved to where a conversation may be cut, and the entry that was asked for, where that is another.
    pub(crate) async fn at_boundary(
        &self,
        spec: ForkSpec,
    ) -> Result<(ForkSpec, Option<EntryId>), RuntimeError> {
        let Some(asked) = spec.at else { return Ok((spec, None)) };
        let at = self.boundary(spec.parent, asked).await?;
        Ok((ForkSpec { at: Some(at), ..spec }, (at != asked).then_some(asked)))
    }

    /// The calls of a running agent whose results a fork does not have: one at this entry, or at the head.
    pub async fn running_calls(
        &self,
        parent: &AgentRecord,
        at: Option<EntryId>,
    ) -> Result<Vec<OpenCall>, RuntimeError> {
        match parent.state {
            AgentState::Running => Ok(open_calls(&self.fold(parent.id, at).await?)),
            AgentState::Idle | AgentState::Interrupted | AgentState::Dead => Ok(Vec::new()),
        }
    }

    /// Waits until no call of an agent runs, so that a fork has the results of all. Returns the entry behind them; `None` where nothing had
    /// to be waited for.
    pub async fn when_quiet(
        &self,
        agent: AgentId,
        wait: QuietWait<'_>,
    ) -> Result<Option<EntryId>, RuntimeError> {
        if self.last_unless_calls_run(agent).await?.is_some() {
            return Ok(None);
        }
        (wait.on_wait)();
        let over = tokio::time::sleep(wait.patience);
        tokio::pin!(over);
        let mut changes = ChangeWatch::begin(self).await?;
        loop {
            if let Some(last) = self.last_unless_calls_run(agent).await? {
                return Ok(last);
            }
            // All branches are cancel-safe.
            tokio::select! {
                biased;
                () = wait.cancel.cancelled() => return Err(RuntimeError::ForkGivenUp),
                () = &mut over => return Err(RuntimeError::ToolsRun(agent)),
                changed = changes.next(self) => changed?,
                () = tokio::time::sleep(RECOVER) => drop(self.recover().await?),
            }
        }
    }

    /// The last entry that an agent knows, unless calls of it run now.
    async fn last_unless_calls_run(
        &self,
        agent: AgentId,
    ) -> Result<Option<Option<EntryId>>, RuntimeError> {
        if self.store().agent(agent).await?.state != AgentState::Running {
            return Ok(Some(None));
        }
        let fold = self.fold(agent, None).await?;
        let last = fold.entries().last().map(|folded| folded.entry.id);
        Ok(open_calls(&fold).is_empty().then_some(last))
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
