//! Watches the store on a task of its own, so that the screen never waits for it: who there is, what they used and changed.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use tine_model::{AgentId, AgentState, EntryBody, EntryId, Role};
use tine_runtime::{AgentFilter, BackgroundCommand, RuntimeError};
use tokio::sync::Mutex as Turn;
use tokio::time::{MissedTickBehavior, interval};

use super::hands::Hands;
use crate::app::{Event, Fact, Peek, Tone};

/// How often the store is asked whether somebody has changed it.
const POLL: Duration = Duration::from_millis(250);

/// Most agents whose last words are kept.
const WORDS_MAX: usize = 256;

/// What was found out, and up to where.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// The last words of agents, and the last entry that was read for them.
    words: HashMap<AgentId, (Option<EntryId>, Option<String>)>,
    /// The number of the last request whose usage was told. Whoever reads the agents holds it meanwhile.
    used: Arc<Turn<i64>>,
    /// The commands in the background that were told of.
    background: Vec<BackgroundCommand>,
}

impl Hands {
    /// Reads everything once, and from then on whenever somebody has changed the store.
    pub(super) async fn watch(self: &Arc<Self>) {
        let mut version = self.look(None).await;
        let hands = Arc::clone(self);
        self.standing.spawn(async move {
            let mut tick = interval(POLL);
            tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
            // Both branches are cancel-safe; a look that has begun is not given up.
            loop {
                tokio::select! {
                    _ = tick.tick() => version = hands.look(version).await,
                    () = hands.end.cancelled() => return,
                }
            }
        });
    }

    /// Reads all agents anew, whatever the store says.
    pub(super) fn read_anew(self: &Arc<Self>) {
        let hands = Arc::clone(self);
        self.standing.spawn(async move { hands.registry_or_tell().await });
    }

    /// Reads who there is, where somebody has changed the store since this version of it; the version as it is now.
    async fn look(&self, before: Option<i64>) -> Option<i64> {
        let runtime = self.runtime();
        // Those whose process died are not running.
        let recovered = runtime.recover().await;
        let version = runtime.data_version().await.ok();
        self.look_at_background();
        let is_same = version.is_some() && version == before;
        if !is_same || recovered.is_ok_and(|recovered| !recovered.is_empty()) {
            self.registry_or_tell().await;
        }
        version
    }

    /// Tells which commands agents keep in the background, where that has changed.
    pub(super) fn look_at_background(&self) {
        let commands = self.runtime().background_commands();
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if found.background != commands {
            found.background.clone_from(&commands);
            self.inbox.push(Event::Facts(Box::new(Fact::Background(commands))));
        }
    }

    async fn registry_or_tell(&self) {
        if let Err(error) = self.registry().await {
            self.tell(None, Tone::Error, self.host.told(error).0);
        }
    }

    /// Reads who there is, and what is known of them. One after the other, so that what was read first is told first.
    pub(super) async fn registry(&self) -> Result<(), RuntimeError> {
        let turn = {
            let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(&found.used)
        };
        let mut used = turn.lock().await;
        let runtime = self.runtime();
        let agents = runtime.agents(AgentFilter::Kept).await?;
        // Somebody else may have killed or removed them.
        let lives = |id: &AgentId| {
            agents.iter().any(|agent| agent.id == *id && agent.state != AgentState::Dead)
        };
        let kept = self.runtime().background_commands().into_iter().map(|command| command.agent);
        let gone: Vec<AgentId> = kept.filter(|agent| !lives(agent)).collect();
        self.runtime().end_background(&gone).await;
        let tasks = runtime.task_records().await?;
        let worktrees = runtime.worktree_records().await?;
        let (last, usage) = runtime.usage_since(*used).await?;
        *used = last;
        let fact = Fact::Read { usage, worktrees };
        self.inbox.push(Event::Facts(Box::new(fact)));
        self.inbox.push(Event::Registry(agents, tasks));
        self.look_at_queue().await
    }

    /// Looks at one agent closely. What cannot be found out is not shown.
    pub(super) async fn look_at(&self, agent: AgentId) {
        let words = self.last_words(agent).await.unwrap_or_default();
        let files = self.runtime().changed_files(agent).await.unwrap_or_default();
        let peek = Peek { words, files };
        self.inbox.push(Event::Facts(Box::new(Fact::Looked(agent, peek))));
    }

    /// The last that an agent's model said since its fork. Reads what is new in its log alone.
    async fn last_words(&self, agent: AgentId) -> Result<Option<String>, RuntimeError> {
        let known = {
            let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
            found.words.get(&agent).cloned()
        };
        let (after, before) = known.unwrap_or_default();
        let entries = self.runtime().log(agent, after).await?;
        let last = entries.last().map(|entry| entry.id).or(after);
        let said = entries.iter().rev().find_map(|entry| match &entry.body {
            EntryBody::Message(message) if message.role() == Role::Assistant => {
                Some(message.text()).filter(|text| !text.trim().is_empty())
            }
            _ => None,
        });
        let said = said.or(before);
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if found.words.len() >= WORDS_MAX {
            found.words.clear();
        }
        found.words.insert(agent, (last, said.clone()));
        Ok(said)
    }
}
