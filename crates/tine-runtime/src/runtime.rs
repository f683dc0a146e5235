//! The runtime itself: one per process.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tine_cache::Scope;
use tine_fork::cache::CacheEngine;
use tine_model::{AgentId, AgentState, ContextMode, ModelSettings, Reach, Standing};
use tine_store::{
    Acquire, CreateAgent, Head as StoredHead, Lease, NewAgent, OpenOptions, Recover, Recovered,
    SqliteStore, Store, StoreError,
};
use tine_tools::{Repl, ToolSpec, Toolbox};
use tine_wire::{Head, HeadParts, ToolDeclaration};
use tokio_util::task::TaskTracker;

use crate::backgrounds::Backgrounds;
use crate::crew_tools::specs::SPECS;
use crate::error::RuntimeError;
use crate::events::Events;
use crate::fork_guard::Forking;
use crate::guests::refuse_guest;
use crate::live::Live;
use crate::memory_places::MemoryPlaces;
use crate::names::check_name;
use crate::notice::task_notice;
use crate::owner::{self, Owner, OwnerError};
use crate::ports::Ports;
use crate::remote::mirror::Mirror;
use crate::rule_book::RuleBook;
use crate::servers::Servers;
use crate::store_waits::{StoreWaits, WaitListener};
use crate::worktrees::policy::WorktreePolicy;

/// Looks whether a process has let go of an agent that it runs no more, and the pause behind each: two seconds in all.
const LETS_GO_LOOKS: u32 = 40;
const LETS_GO_LOOK: Duration = Duration::from_millis(50);

/// An agent without a parent.
#[derive(Debug, Clone)]
pub struct NewRoot {
    /// A name that no living agent has.
    pub name: Option<String>,
    /// Model and settings, for the life of the lineage.
    pub settings: ModelSettings,
    /// The system prompt, for the life of the lineage.
    pub system: String,
    /// Whether replies are streamed.
    pub stream: bool,
    /// The directory it works in; absolute.
    pub directory: PathBuf,
    /// What its commands and file tools may touch.
    pub reach: Reach,
}

/// What a new head is made of, beside the model and its settings.
pub(crate) struct NewHead<'a> {
    pub(crate) system: &'a str,
    /// Which of the declared tools it has, by name.
    pub(crate) tools: &'a dyn Fn(&str) -> bool,
    pub(crate) stream: bool,
    pub(crate) drop_foreign_thinking: bool,
}

/// Agents over a store. A handle: clones share everything; all methods may be called at the same time.
#[derive(Clone)]
pub struct Runtime {
    store: Arc<dyn Store>,
    ports: Ports,
    owners: Arc<Path>,
    owner: Arc<Mutex<Option<Arc<Owner>>>>,
    /// Leases that are over, and that the store could not be told of.
    unreleased: Arc<Mutex<Vec<Lease>>>,
    toolbox: Arc<Toolbox>,
    declares_repl: bool,
    declares_crew: bool,
    compacts: bool,
    /// Parents whose fork is under way in this process.
    pub(crate) forking: Arc<Forking>,
    cache: Arc<CacheEngine>,
    /// When each cache was last read from the store.
    pub(crate) caches_seen: Arc<Mutex<HashMap<Scope, i64>>>,
    tasks: TaskTracker,
    worktrees: Option<Arc<WorktreePolicy>>,
    memory: Option<Arc<MemoryPlaces>>,
    rule_book: Option<Arc<dyn RuleBook>>,
    live: Arc<Live>,
    events: Arc<Events>,
    servers: Arc<Servers>,
    store_waits: StoreWaits,
    backgrounds: Arc<Backgrounds>,
    mirror: Option<Arc<dyn Mirror>>,
}

impl Runtime {
    /// A runtime over `store`. `owners` is a directory, shared by all processes that use the store, in which each keeps
    /// the lock that says it is alive.
    pub fn new(store: Arc<dyn Store>, ports: Ports, owners: PathBuf) -> Self {
        Self {
            store,
            ports,
            owners: owners.into(),
            owner: Arc::default(),
            unreleased: Arc::default(),
            toolbox: Arc::new(Toolbox::built_in().with_repl()),
            declares_repl: false,
            declares_crew: false,
            compacts: true,
            forking: Arc::default(),
            cache: CacheEngine::new(),
            caches_seen: Arc::default(),
            tasks: TaskTracker::new(),
            worktrees: None,
            memory: None,
            rule_book: None,
            live: Arc::default(),
            events: Arc::default(),
            servers: Arc::default(),
            store_waits: StoreWaits::default(),
            backgrounds: Arc::default(),
            mirror: None,
        }
    }

    /// A runtime over the database in this file, which is made where there is none. `unheard` is told of writes that wait for another
    /// process while nobody listens to [`Self::store_waits`].
    pub async fn open(
        database: PathBuf,
        owners: PathBuf,
        ports: Ports,
        unheard: Option<WaitListener>,
    ) -> Result<Self, RuntimeError> {
        let waits = StoreWaits::default();
        let told = waits.clone();
        let wait_hook: WaitListener = Arc::new(move || {
            if !told.tell() {
                unheard.iter().for_each(|unheard| unheard());
            }
        });
        let options = OpenOptions { wait_hook: Some(wait_hook), ..OpenOptions::default() };
        let store = SqliteStore::open(database, options).await?;
        Ok(Self::new(Arc::new(store), ports, owners).with_store_waits(waits))
    }

    /// The same runtime, whose new agents are told of the tool `REPL`, or not. Agents that were told of it have it in any
    /// case: what a lineage declares never changes.
    pub fn with_repl(self, declares_repl: bool) -> Self {
        Self { declares_repl, ..self }
    }

    /// The same runtime, whose new agents are told of the tools that start workers, or not; see
    /// [`with_repl`](Self::with_repl).
    pub fn with_crew(self, declares_crew: bool) -> Self {
        Self { declares_crew, ..self }
    }

    /// The same runtime, whose store tells of waits here.
    pub fn with_store_waits(self, store_waits: StoreWaits) -> Self {
        Self { store_waits, ..self }
    }

    pub(crate) fn backgrounds(&self) -> &Backgrounds {
        &self.backgrounds
    }

    /// Those who hear of writes that wait.
    pub fn store_waits(&self) -> &StoreWaits {
        &self.store_waits
    }

    /// The same runtime, which makes worktrees in this way. Without it there are none.
    pub fn with_worktrees(self, policy: WorktreePolicy) -> Self {
        Self { worktrees: Some(Arc::new(policy)), ..self }
    }

    /// The same runtime, whose new agents are told what earlier sessions of their project left in its memory. Without it there are no
    /// memories.
    pub fn with_memory(self, places: MemoryPlaces) -> Self {
        Self { memory: Some(Arc::new(places)), ..self }
    }

    /// The same runtime, which keeps rules that answers reach to in this book. Without it they count in their tree alone.
    pub fn with_rule_book(self, book: Arc<dyn RuleBook>) -> Self {
        Self { rule_book: Some(book), ..self }
    }

    /// Returns the runtime, whose runs tell a mirror of all that they write.
    pub(crate) fn with_mirror(self, mirror: Arc<dyn Mirror>) -> Self {
        Self { mirror: Some(mirror), ..self }
    }

    pub(crate) fn mirror(&self) -> Option<Arc<dyn Mirror>> {
        self.mirror.clone()
    }

    pub(crate) fn rule_book(&self) -> Option<&Arc<dyn RuleBook>> {
        self.rule_book.as_ref()
    }

    /// Where memories are; `None` where there are none.
    pub fn memory_places(&self) -> Option<&MemoryPlaces> {
        self.memory.as_deref()
    }

    /// The making of worktrees; `None` where none are made.
    pub fn worktrees_made(&self) -> Option<WorktreePolicy> {
        self.worktrees.as_deref().cloned()
    }

    /// How worktrees are made; `None` where they are not.
    pub(crate) fn worktree_policy(&self) -> Option<&Arc<WorktreePolicy>> {
        self.worktrees.as_ref()
    }

    /// The knowledge that this process has of servers.
    pub(crate) fn servers(&self) -> &Arc<Servers> {
        &self.servers
    }

    /// Those who see what runs of this process do.
    pub(crate) fn events(&self) -> &Arc<Events> {
        &self.events
    }

    /// The runs of this process.
    pub(crate) fn live(&self) -> &Arc<Live> {
        &self.live
    }

    /// The same runtime, whose runs make a conversation shorter before it outgrows its model, as they do unless told otherwise, or
    /// leave it as it is.
    pub fn with_compaction(self, compacts: bool) -> Self {
        Self { compacts, ..self }
    }

    pub(crate) fn compacts(&self) -> bool {
        self.compacts
    }

    /// What outlives the call that began it.
    pub(crate) fn tasks(&self) -> &TaskTracker {
        &self.tasks
    }

    pub(crate) fn cache_engine(&self) -> &Arc<CacheEngine> {
        &self.cache
    }

    /// The store, for tests and for tools beside the house: faces have the methods of the runtime.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// What was given from outside.
    pub fn ports(&self) -> &Ports {
        &self.ports
    }

    pub(crate) fn toolbox(&self) -> &Arc<Toolbox> {
        &self.toolbox
    }

    pub(crate) fn now_ms(&self) -> i64 {
        self.ports.clock.now_ms()
    }

    pub(crate) fn new_id(&self) -> AgentId {
        AgentId::from_random(self.ports.ids.random())
    }

    /// The tools that a new agent is told of, in name order.
    fn declared(&self) -> Vec<&ToolSpec> {
        let own = self.toolbox.specs().filter(|spec| self.declares_repl || spec.name != Repl::NAME);
        let crew = SPECS.iter().filter(|_| self.declares_crew);
        let mut specs: Vec<&ToolSpec> = own.chain(crew).collect();
        specs.sort_by_key(|spec| spec.name);
        specs
    }

    /// The head of a lineage that begins with this agent, and has the tools that are asked for.
    pub(crate) fn render_head(
        &self,
        (id, settings): (AgentId, &ModelSettings),
        parts: NewHead<'_>,
    ) -> Head {
        let declare = |spec: &&ToolSpec| -> Option<ToolDeclaration> {
            let schema = tine_model::RawJson::parse(spec.schema).ok()?;
            let (name, description) = (spec.name.to_owned(), spec.description.to_owned());
            Some(ToolDeclaration { name, description, schema })
        };
        let declared = self.declared();
        let tools = declared.iter().filter(|spec| (parts.tools)(spec.name)).filter_map(declare);
        Head::render(HeadParts {
            stream: parts.stream,
            scheme: self.facts(&settings.model).scheme,
            // One for the lineage: a fork keeps the head, and so the key.
            cache_key: Some(format!("tine-{id}")),
            drop_foreign_thinking: parts.drop_foreign_thinking,
            ..HeadParts::new(settings.clone(), parts.system.to_owned(), tools.collect())
        })
    }

    /// Makes an agent that has no parent. Its head is rendered here, once for the whole lineage.
    pub async fn create_root(&self, new: NewRoot) -> Result<AgentId, RuntimeError> {
        self.create_with(new, Vec::new(), (false, ContextMode::Full)).await
    }

    pub(crate) async fn create_with(
        &self,
        new: NewRoot,
        entries: Vec<tine_store::NewEntry>,
        (foreign_thinking, context): (bool, ContextMode),
    ) -> Result<AgentId, RuntimeError> {
        let id = self.new_id();
        let head = NewHead {
            system: &new.system,
            tools: &|_| true,
            stream: new.stream,
            drop_foreign_thinking: foreign_thinking,
        };
        let head = self.render_head((id, &new.settings), head);
        self.create_behind((id, head), new, entries, context).await
    }

    /// Makes an agent that has no parent, behind a head that was rendered for it.
    pub(crate) async fn create_behind(
        &self,
        (id, head): (AgentId, Head),
        new: NewRoot,
        entries: Vec<tine_store::NewEntry>,
        context: ContextMode,
    ) -> Result<AgentId, RuntimeError> {
        check_name(new.name.as_deref())?;
        let agent = NewAgent {
            id,
            name: new.name,
            standing: Standing::Root,
            context,
            settings: new.settings,
            head: StoredHead { hash: head.hash(), body: Some(head.to_stored()) },
            directory: new.directory.to_string_lossy().into_owned(),
            reach: new.reach,
            depth: 0,
        };
        let create = CreateAgent { agent, entries, now_ms: self.now_ms() };
        self.store.create_agent(create).await?;
        Ok(id)
    }

    /// Marks what died with its process as interrupted, and tells those who wait for it. Every face does this before it
    /// shows states.
    pub async fn recover(&self) -> Result<Vec<Recovered>, RuntimeError> {
        let recovered = self.recover_rows().await?;
        for one in &recovered {
            self.heal_memory(one.agent).await;
        }
        Ok(recovered)
    }

    /// The same without what follows from it. Workers that died with their process have done what they had done by then.
    pub(crate) async fn recover_rows(&self) -> Result<Vec<Recovered>, StoreError> {
        let is_alive = |name: &str| owner::is_alive(&self.owners, name);
        let mut used = Vec::new();
        for agent in self.store.held_by_dead(&is_alive).await? {
            if self.store.task(agent).await?.is_some_and(|task| !task.status.is_final()) {
                self.keep(agent).await;
                used.extend(self.used_by(agent).await.ok());
            }
        }
        let (used, now_ms) = (used.as_slice(), self.now_ms());
        let recover = Recover { is_alive: &is_alive, notice: &task_notice, used, now_ms };
        self.store.recover(recover).await
    }

    /// Takes dead agents off the lists: one with all below it, or all. Their rows stay. Returns those that were on a list.
    pub async fn reap(&self, agent: Option<AgentId>) -> Result<Vec<AgentId>, RuntimeError> {
        Ok(self.store.reap(tine_store::Reap { agent, now_ms: self.now_ms() }).await?)
    }

    /// Takes the lease on an agent for this process. Nobody runs a guest.
    pub(crate) async fn acquire(&self, agent: AgentId) -> Result<Lease, RuntimeError> {
        refuse_guest(&self.store.agent(agent).await?)?;
        self.acquire_any(agent).await
    }

    /// Takes the lease on any agent, guests included.
    async fn acquire_any(&self, agent: AgentId) -> Result<Lease, RuntimeError> {
        let owner = self.owner()?;
        // Whoever died with it is told of with what they had done.
        self.recover_rows().await?;
        let is_alive = |name: &str| owner::is_alive(&self.owners, name);
        let acquire = Acquire {
            agent,
            owner: owner.name(),
            is_alive: &is_alive,
            notice: &task_notice,
            now_ms: self.now_ms(),
        };
        match self.store.acquire(acquire).await {
            Err(StoreError::Held { owner, .. })
                if owner == acquire.owner && self.release_what_stayed(agent).await? =>
            {
                Ok(self.store.acquire(acquire).await?)
            }
            taken => Ok(taken?),
        }
    }

    /// Gives a lease back. Where the store cannot be written, on a full disk for instance, this process gives it back once it needs it.
    pub(crate) async fn give_back(&self, lease: &Lease) -> Result<(), StoreError> {
        let released = self.store.release(lease).await;
        if released.is_err() {
            self.unreleased.lock().unwrap_or_else(PoisonError::into_inner).push(lease.clone());
        }
        released
    }

    /// Gives the leases of an agent back that could not be given back before; `false` where there is none.
    async fn release_what_stayed(&self, agent: AgentId) -> Result<bool, StoreError> {
        let stayed: Vec<Lease> = {
            let mut all = self.unreleased.lock().unwrap_or_else(PoisonError::into_inner);
            all.extract_if(.., |lease| lease.agent == agent).collect()
        };
        let mut released = Ok(!stayed.is_empty());
        for lease in &stayed {
            released = released.and(self.give_back(lease).await.map(|()| true));
        }
        released
    }

    /// Takes the lease, and waits for it where nobody runs the agent: a process that has told of the end of a run holds it for a moment
    /// more.
    pub(crate) async fn acquire_once_idle(&self, agent: AgentId) -> Result<Lease, RuntimeError> {
        for _ in 0..LETS_GO_LOOKS {
            let held = match self.acquire(agent).await {
                Err(error @ RuntimeError::Store(StoreError::Held { .. })) => error,
                taken => return taken,
            };
            if self.store.agent(agent).await?.state == AgentState::Running {
                return Err(held);
            }
            tokio::time::sleep(LETS_GO_LOOK).await;
        }
        self.acquire(agent).await
    }

    /// Takes the lease on a guest, and waits for it where another process writes to it now.
    pub(crate) async fn acquire_once_free(&self, agent: AgentId) -> Result<Lease, RuntimeError> {
        for _ in 0..LETS_GO_LOOKS {
            match self.acquire_any(agent).await {
                Err(RuntimeError::Store(StoreError::Held { .. })) => {}
                taken => return taken,
            }
            tokio::time::sleep(LETS_GO_LOOK).await;
        }
        self.acquire_any(agent).await
    }

    /// Where processes keep the locks that say that they are alive.
    pub(crate) fn owners(&self) -> &Path {
        &self.owners
    }

    /// Whether an owner, as it is named in rows, is this process.
    pub fn is_own(&self, owner: &str) -> bool {
        let slot = self.owner.lock().unwrap_or_else(PoisonError::into_inner);
        slot.as_ref().is_some_and(|own| own.name() == owner)
    }

    /// This process as an owner; registered when it first takes a lease.
    pub(crate) fn owner(&self) -> Result<Arc<Owner>, OwnerError> {
        let mut slot = self.owner.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(owner) = &*slot {
            return Ok(Arc::clone(owner));
        }
        let owner = Arc::new(Owner::register(&self.owners, self.ports.ids.random())?);
        *slot = Some(Arc::clone(&owner));
        Ok(owner)
    }
}
