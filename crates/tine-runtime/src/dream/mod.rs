//! Consolidation of a project's memory by a hidden run: what was learnt in its sessions becomes notes for later agents.
//!
//! It runs behind gates ([`gates`]), under a lock that is a lease ([`record`]), from the last session itself where the provider's
//! cache still has it, and otherwise from a text of the sessions ([`sessions`]). It writes notes alone, behind a filter
//! ([`watch`]) and a read-only wall. Its work counts when it has completed: the memory is a git repository of its own, each run is
//! one commit, and whatever else becomes of a run, the memory is as it was.

mod gates;
mod record;
mod sessions;
mod settle;
mod watch;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tine_fork::dream::{DREAM_TURNS, ToldSession, dream_directive};
use tine_fork::run::RunLimits;
use tine_model::{
    AgentId, AgentRecord, AgentState, Block, ContextMode, Message, Reach, Standing, Usage,
};
use tine_store::{
    AgentFilter, CreateAgent, Head as StoredHead, Lease, NewAgent, SetStamp, StampName, StoreError,
    UsageScope,
};

use crate::codec;
use crate::confine::ReachWish;
use crate::crew::Crew;
use crate::error::RuntimeError;
use crate::fork_spec::ForkSpec;
use crate::hidden::HiddenSpec;
use crate::inherit::Inherit;
use crate::memory::{self, Notes, Projects};
use crate::model_words::ModelWords;
use crate::run_options::RunOptions;
use crate::runtime::{NewHead, Runtime};

pub use gates::{DreamRules, Gate};
pub use record::{DreamContext, DreamOutcome, DreamRun};

use gates::Facts;
use record::Event;
use settle::settle;
use watch::WatchedFilter;

/// In which order a run is told of the sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SessionOrder {
    /// The last one first.
    #[default]
    Newest,
    /// The first one first, so that the last words are the newest.
    Oldest,
}

/// How a project's memory is consolidated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DreamSettings {
    /// When.
    pub rules: DreamRules,
    /// The project; its sessions are those in this directory and below it.
    pub project: PathBuf,
    /// Where its notes are; absolute.
    pub memory_dir: PathBuf,
    /// With which model; `None` for that of the last session.
    pub model: Option<ModelWords>,
    /// Of how many sessions it is told at most.
    pub sessions_max: usize,
    /// How long the text of one session is at most, in tokens.
    pub session_tokens: u64,
    /// In which order.
    pub order: SessionOrder,
    /// Where it stops by itself.
    pub limits: RunLimits,
}

impl DreamSettings {
    /// The usual settings for a project and its memory.
    pub fn new(project: PathBuf, memory_dir: PathBuf) -> Self {
        Self {
            rules: DreamRules::default(),
            project,
            memory_dir,
            model: None,
            sessions_max: 20,
            session_tokens: 4_000,
            order: SessionOrder::default(),
            limits: RunLimits {
                turns: DREAM_TURNS,
                time: Some(Duration::from_secs(5 * 60)),
                ..RunLimits::default()
            },
        }
    }
}

/// Who asks for a consolidation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DreamAsk {
    /// A person does: only the lock, and a project without any session, keep it from running.
    pub forced: bool,
    /// The session that is held now. It is not counted, and not consolidated.
    pub current: Option<AgentId>,
}

/// What became of it.
#[derive(Debug, Clone, PartialEq)]
pub enum Dreamed {
    /// A gate was closed. All that were looked at, in order.
    Closed(Vec<Gate>),
    /// It ran.
    Ran(Box<DreamRun>),
}

/// A memory as it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct DreamStatus {
    /// Where it is.
    pub memory_dir: PathBuf,
    /// The gates as they stand now.
    pub gates: Vec<Gate>,
    /// The last run.
    pub last: Option<DreamRun>,
}

/// The agent that keeps a memory: the same in every process, whoever makes it first.
fn keeper_of(memory_dir: &Path) -> AgentId {
    let hash = blake3::hash(memory_dir.as_os_str().as_encoded_bytes());
    let mut random = [0; 16];
    random.copy_from_slice(&hash.as_bytes()[..16]);
    AgentId::from_random(random)
}

impl Runtime {
    /// The gates and the last run of a memory. Nothing changes.
    pub async fn dream_status(
        &self,
        settings: &DreamSettings,
        ask: DreamAsk,
    ) -> Result<DreamStatus, RuntimeError> {
        let mut runs = self.dreams(&settings.memory_dir).await?;
        let mut facts = self.dream_facts(settings, ask, &runs).await?;
        let mut gates = gates::cheap(&settings.rules, &settings.memory_dir, &facts);
        let since = facts.last_success_ms;
        facts.sessions = Some(self.used_since(settings, ask.current, since).await?.len());
        gates.push(gates::sessions(&settings.rules, &facts));
        let holder = self.holder(keeper_of(&settings.memory_dir)).await?;
        facts.holder = holder.as_deref();
        gates.push(gates::lock(&facts));
        Ok(DreamStatus { memory_dir: settings.memory_dir.clone(), gates, last: runs.pop() })
    }

    /// Whether the cheap gates are open: whether it is worth counting the sessions. Reads the record alone.
    pub async fn dream_may_be_due(&self, settings: &DreamSettings) -> Result<bool, RuntimeError> {
        if !settings.rules.enabled {
            return Ok(false);
        }
        let runs = self.dream_record(keeper_of(&settings.memory_dir)).await?.0;
        let facts = self.dream_facts(settings, DreamAsk::default(), &runs).await?;
        let gates = gates::cheap(&settings.rules, &settings.memory_dir, &facts);
        Ok(gates.iter().all(|gate| gate.open))
    }

    /// The projects of all sessions, each once.
    pub async fn projects(&self) -> Result<Vec<PathBuf>, RuntimeError> {
        let agents = self.store().agents(AgentFilter::All).await?;
        let known = Projects::default();
        let sessions = agents.iter().filter(|agent| sessions::is_session(agent));
        let projects: BTreeSet<PathBuf> =
            sessions.map(|agent| known.of(&agent.directory)).collect();
        Ok(projects.into_iter().collect())
    }

    /// All runs of a memory, oldest first. One whose process has died is [`DreamOutcome::Lost`].
    pub async fn dreams(&self, memory_dir: &Path) -> Result<Vec<DreamRun>, RuntimeError> {
        let keeper = keeper_of(memory_dir);
        let mut runs = self.dream_record(keeper).await?.0;
        let is_held = self.holder(keeper).await?.is_some();
        for run in &mut runs {
            if run.outcome == DreamOutcome::Running && !is_held {
                run.outcome = DreamOutcome::Lost;
            }
            self.add_costs(run).await?;
        }
        Ok(runs)
    }

    /// Consolidates a memory, where the gates let it. Without anything to do it returns at once; it waits for nobody, and nobody needs
    /// to wait for it. `options.cancel` stops it: then the memory is as it was.
    pub async fn dream(
        &self,
        settings: &DreamSettings,
        ask: DreamAsk,
        options: &RunOptions,
    ) -> Result<Dreamed, RuntimeError> {
        let keeper = keeper_of(&settings.memory_dir);
        let runs = self.dream_record(keeper).await?.0;
        let mut facts = self.dream_facts(settings, ask, &runs).await?;
        let mut gates = gates::cheap(&settings.rules, &settings.memory_dir, &facts);
        if gates.iter().any(|gate| !gate.open) {
            return Ok(Dreamed::Closed(gates));
        }
        if !self.note_scan(&settings.memory_dir, facts.last_scan_ms).await? && !ask.forced {
            facts.last_scan_ms = Some(facts.now_ms);
            let gates = gates::cheap(&settings.rules, &settings.memory_dir, &facts);
            return Ok(Dreamed::Closed(gates));
        }
        let all = self.sessions_of(&settings.project, ask.current).await?;
        let since_ms = facts.last_success_ms.unwrap_or(i64::MIN);
        let used = all.iter().filter(|session| session.updated_ms > since_ms).count();
        facts.sessions = Some(used);
        let mut gate = gates::sessions(&settings.rules, &facts);
        let Some(last) = all.first().cloned() else {
            gate = Gate { open: false, reason: "this project has no session yet".into(), ..gate };
            gates.push(gate);
            return Ok(Dreamed::Closed(gates));
        };
        let is_open = gate.open;
        gates.push(gate);
        if !is_open {
            return Ok(Dreamed::Closed(gates));
        }
        self.make_keeper(keeper, &settings.memory_dir, &last).await?;
        let lease = match self.acquire(keeper).await {
            Ok(lease) => lease,
            Err(RuntimeError::Store(StoreError::Held { owner, .. })) => {
                facts.holder = Some(&owner);
                gates.push(gates::lock(&facts));
                return Ok(Dreamed::Closed(gates));
            }
            Err(error) => return Err(error),
        };
        gates.push(gates::lock(&facts));
        // At least the last one, also where a person asks before anything new was said.
        let sessions = all.into_iter().take(used.max(1)).collect();
        let ran = self.dream_under(&lease, settings, (ask, gates, sessions), options).await;
        let idle = self.mark(&lease, AgentState::Idle).await;
        // Whatever happened, the lease goes back; an error of that would hide the more important one.
        let released = self.give_back(&lease).await;
        let ran = ran?;
        idle?;
        released?;
        Ok(ran)
    }

    /// Takes back what a run has changed, in a commit of its own. An error where later changes stand in the way, or where the run has
    /// changed nothing; nothing has changed then.
    pub async fn undo_dream(
        &self,
        memory_dir: &Path,
        run: AgentId,
    ) -> Result<DreamRun, RuntimeError> {
        let lease = self.acquire(keeper_of(memory_dir)).await?;
        let undone = async {
            self.heal(&lease, memory_dir).await?;
            let runs = self.dream_record(lease.agent).await?.0;
            let found = runs.into_iter().find(|row| row.run == run);
            let found = found.ok_or_else(|| StoreError::no_agent(run))?;
            let commit = match (&found.commit, &found.undone) {
                (Some(commit), None) => commit.clone(),
                (None, _) => return Err(RuntimeError::NothingToUndo(run)),
                (Some(_), Some(_)) => return Err(RuntimeError::UndoneBefore(run)),
            };
            let notes = Notes::open(memory_dir).await?;
            notes.keep(memory::BY_HAND.to_owned(), self.now_ms()).await?;
            let commit =
                notes.revert(commit, format!("Take back run {run}"), self.now_ms()).await?;
            self.tell_record(&lease, Event::Undone { run: run.to_string(), commit }).await
        };
        let undone = undone.await;
        self.give_back(&lease).await?;
        undone?;
        let runs = self.dreams(memory_dir).await?;
        runs.into_iter().find(|row| row.run == run).ok_or_else(|| StoreError::no_agent(run).into())
    }

    async fn dream_under(
        &self,
        lease: &Lease,
        settings: &DreamSettings,
        (ask, gates, sessions): (DreamAsk, Vec<Gate>, Vec<AgentRecord>),
        options: &RunOptions,
    ) -> Result<Dreamed, RuntimeError> {
        self.mark(lease, AgentState::Running).await?;
        self.heal(lease, &settings.memory_dir).await?;
        // Another process may have consolidated since the gates were looked at.
        let runs = self.dream_record(lease.agent).await?.0;
        let facts = self.dream_facts(settings, ask, &runs).await?;
        let again = gates::cheap(&settings.rules, &settings.memory_dir, &facts);
        if again.iter().any(|gate| gate.name == "hours" && !gate.open) {
            return Ok(Dreamed::Closed(again));
        }
        let notes = Notes::open(&settings.memory_dir).await?;
        notes.keep(memory::BY_HAND.to_owned(), self.now_ms()).await?;
        let base = notes.head().await?;
        let Some(last) = sessions.first() else { return Ok(Dreamed::Closed(gates)) };
        let keeps_model = settings
            .model
            .as_ref()
            .is_none_or(|words| words.settings(&last.settings) == last.settings);
        let is_warm = keeps_model && self.is_warm(last, options.caching).await?;
        let (context, inherit) = if is_warm {
            (DreamContext::Warm, Inherit::Full)
        } else {
            (DreamContext::Digest, Inherit::Fresh)
        };
        let fork = ForkSpec {
            inherit,
            model: settings.model.clone(),
            reach: ReachWish::Person(Reach::notes(settings.memory_dir.clone())),
            ..ForkSpec::of(last.id)
        };
        let spec = HiddenSpec { fork, steady: true };
        let hidden = self.hidden(spec).await?;
        let run = hidden.agent();
        let told = self.told_sessions(&sessions, is_warm.then_some(last.id), settings).await?;
        let began = Event::Began {
            run: run.to_string(),
            gates,
            context,
            sessions: told.iter().map(|(agent, _)| agent.to_string()).collect(),
            base,
        };
        self.tell_record(lease, began).await?;
        let told: Vec<ToldSession> = told.into_iter().map(|(_, told)| told).collect();
        let (memory, project) = (&settings.memory_dir, &settings.project);
        let directive = dream_directive(memory, project, &told, settings.limits.turns);
        let filter = Arc::new(WatchedFilter::new(notes.directory(), Path::new(&last.directory))?);
        let options = RunOptions {
            filter: Arc::clone(&filter) as _,
            limits: settings.limits,
            crew: Crew::default(),
            ..options.clone()
        };
        let ran = self.run_hidden(hidden, Message::user(directive), &options).await;
        let ended = settle(&notes, (run, self.now_ms()), ran, &filter).await;
        self.tell_record(lease, ended).await?;
        let mut runs = self.dreams(&settings.memory_dir).await?;
        match runs.pop() {
            Some(run) => Ok(Dreamed::Ran(Box::new(run))),
            None => Err(StoreError::no_agent(run).into()),
        }
    }

    async fn dream_facts(
        &self,
        settings: &DreamSettings,
        ask: DreamAsk,
        runs: &[DreamRun],
    ) -> Result<Facts<'static>, RuntimeError> {
        let (last_success_ms, failures) = record::standing(runs);
        let scan =
            self.store().stamp(&StampName::last_scan(&stamped(&settings.memory_dir))).await?;
        Ok(Facts {
            now_ms: self.now_ms(),
            forced: ask.forced,
            has_memory: settings.memory_dir.is_dir(),
            last_success_ms,
            failures,
            last_scan_ms: scan.map(|scan| scan.at_ms),
            sessions: None,
            holder: None,
        })
    }

    /// Notes that the sessions are counted now; `false` where another process was faster.
    async fn note_scan(&self, memory_dir: &Path, last: Option<i64>) -> Result<bool, RuntimeError> {
        let now_ms = self.now_ms();
        let set = SetStamp {
            name: StampName::last_scan(&stamped(memory_dir)),
            expected: last.map(|last| last.to_string()),
            value: now_ms.to_string(),
            fence: None,
            now_ms,
        };
        Ok(self.store().set_stamp(set).await?)
    }

    async fn used_since(
        &self,
        settings: &DreamSettings,
        current: Option<AgentId>,
        since_ms: Option<i64>,
    ) -> Result<Vec<AgentRecord>, RuntimeError> {
        let mut used = self.sessions_of(&settings.project, current).await?;
        used.retain(|session| since_ms.is_none_or(|since_ms| session.updated_ms > since_ms));
        Ok(used)
    }

    /// Makes the agent that keeps a memory, unless it is there.
    async fn make_keeper(
        &self,
        keeper: AgentId,
        memory_dir: &Path,
        like: &AgentRecord,
    ) -> Result<(), RuntimeError> {
        match self.store().agent(keeper).await {
            Ok(_) => return Ok(()),
            Err(StoreError::NotFound { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        let settings = like.settings.clone();
        // It never says anything.
        let head =
            NewHead { system: "", tools: &|_| false, stream: true, drop_foreign_thinking: false };
        let head = self.render_head((keeper, &settings), head);
        let agent = NewAgent {
            id: keeper,
            name: None,
            standing: Standing::Hidden,
            context: ContextMode::Fresh,
            settings,
            head: StoredHead { hash: head.hash(), body: Some(head.to_stored()) },
            directory: memory_dir.to_string_lossy().into_owned(),
            reach: Reach::read_only(),
            depth: 0,
        };
        let create = CreateAgent { agent, entries: Vec::new(), now_ms: self.now_ms() };
        match self.store().create_agent(create).await {
            Ok(_) | Err(StoreError::Exists { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// The living owner of the lock.
    async fn holder(&self, keeper: AgentId) -> Result<Option<String>, RuntimeError> {
        let lease = self.store().lease(keeper).await?;
        let is_alive = |owner: &String| crate::owner::is_alive(self.owners(), owner);
        Ok(lease.map(|lease| lease.owner).filter(is_alive))
    }

    async fn dream_record(
        &self,
        keeper: AgentId,
    ) -> Result<(Vec<DreamRun>, Option<String>), RuntimeError> {
        let rows = match self.store().own_entries(keeper, None).await {
            Ok(rows) => rows,
            Err(StoreError::NotFound { .. }) => Vec::new(),
            Err(error) => return Err(error.into()),
        };
        let entries: Result<Vec<_>, _> = rows.into_iter().map(codec::read_row).collect();
        let entries = entries?;
        Ok(record::runs(entries.iter().map(|entry| (&entry.body, entry.at_ms))))
    }

    async fn tell_record(&self, lease: &Lease, event: Event) -> Result<(), RuntimeError> {
        let text = event.to_text().map_err(|_| {
            RuntimeError::Panicked("a record could not be written as JSON: this is a bug")
        })?;
        let row = codec::notice_row(&text, self.now_ms());
        self.store().append(lease.agent, lease.fence, &[row]).await?;
        Ok(())
    }

    /// What a run has cost so far, and whether it has written yet.
    async fn add_costs(&self, run: &mut DreamRun) -> Result<(), RuntimeError> {
        let requests = self.store().requests(run.run, UsageScope::Own).await?;
        let mut usage = Usage::default();
        let mut cost_usd = Some(0.0);
        for request in &requests {
            usage += request.usage.unwrap_or_default();
            let micro = request.micro_usd.map(|micro| micro as f64 / 1e6);
            cost_usd = cost_usd.zip(micro).map(|(sum, one)| sum + one);
        }
        (run.turns, run.usage, run.cost_usd) = (requests.len() as u32, usage, cost_usd);
        if run.outcome == DreamOutcome::Running {
            let fold = self.fold(run.run, None).await?;
            let own = fold.effective().filter(|(entry, _)| entry.agent == run.run);
            let has_written =
                own.into_iter().any(|(_, item)| item.message.blocks().iter().any(writes));
            run.phase = if has_written { "updating" } else { "starting" };
        }
        Ok(())
    }
}

/// Whether a block is a call that writes a note.
fn writes(block: &Block) -> bool {
    use tine_fork::tool_filter::tool_names::{FILE_EDIT, FILE_WRITE};
    matches!(block, Block::ToolUse { name, .. } if [FILE_EDIT, FILE_WRITE].contains(&name.as_str()))
}

/// The directory as a stamp names it.
fn stamped(memory_dir: &Path) -> String {
    memory_dir.to_string_lossy().into_owned()
}
