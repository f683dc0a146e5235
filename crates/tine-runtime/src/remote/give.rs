//! Giving a run away.

use tine_model::{AgentId, AgentRecord, Cap, Message};
use tine_nats::{ANY, JOB_VERSION, Job};
use tine_store::{Lease, RemoteRun};
use tine_wire::PortableMessage;

use super::Elsewhere;
use super::job::{
    AgentText, AllowedCalls, CAPS, CacheText, KIND, OnlyTools, RestRows, Work, lifetime_word,
};
use crate::error::RuntimeError;
use crate::load::Loaded;
use crate::run_options::RunOptions;
use crate::runtime::Runtime;

/// Bytes of a piece of inherited rows: large enough that there are few, and small enough that a longer conversation sends little again.
const PIECE_BYTES: usize = 256 * 1024;

/// Most bytes of the rest of the rows that travel in the job itself.
const REST_BYTES_MAX: usize = 32 * 1024;

/// Most live cache entries that a job tells of: those of a prefix's places, and more than a provider keeps for one.
const CACHE_MAX: usize = 64;

/// The age of the oldest entry that may still live, in milliseconds: the longest lifetime.
const CACHE_AGE_MS: i64 = 60 * 60 * 1000;

impl Runtime {
    /// Notes that the run of an agent is given away, with the job for it. Whoever follows the run puts the job into its queue.
    pub(super) async fn give_away(
        &self,
        (loaded, lease): (&mut Loaded, &Lease),
        prompt: Option<&Message>,
        (options, elsewhere): (&RunOptions, &Elsewhere),
    ) -> Result<RemoteRun, RuntimeError> {
        let record = &loaded.record;
        let work = self.remote_work(record, prompt, (options, elsewhere)).await?;
        let job = Job {
            version: JOB_VERSION,
            run: tine_fork::ForkRunId::from_random(self.ports().ids.random()),
            kind: KIND.to_owned(),
            label: elsewhere.label.clone().unwrap_or_else(|| ANY.to_owned()),
            traceparent: None,
            work: serde_json::to_value(&work).map_err(RuntimeError::RemoteForm)?,
        };
        let run = RemoteRun {
            agent: record.id,
            run: job.run.to_string(),
            position: 0,
            detail: serde_json::to_string(&job).map_err(RuntimeError::RemoteForm)?,
            begun_ms: self.now_ms(),
            ended_ms: None,
        };
        self.store().begin_remote(&run, lease.fence).await?;
        Ok(run)
    }

    async fn remote_work(
        &self,
        record: &AgentRecord,
        prompt: Option<&Message>,
        (options, elsewhere): (&RunOptions, &Elsewhere),
    ) -> Result<Work, RuntimeError> {
        let lineage = self.store().lineage_rows(record.id).await?;
        let (shared, rest) = lineage.into_parts(PIECE_BYTES);
        let mut inherited = Vec::with_capacity(shared.len());
        for piece in &shared {
            let piece = serde_json::to_vec(piece).map_err(RuntimeError::RemoteForm)?;
            inherited.push(elsewhere.cluster.put(piece.into()).await?.0);
        }
        let text = serde_json::to_vec(&rest).map_err(RuntimeError::RemoteForm)?;
        let rest = if text.len() > REST_BYTES_MAX {
            RestRows::Blob(elsewhere.cluster.put(text.into()).await?.0)
        } else {
            RestRows::Here(rest)
        };
        let prompt = prompt.map(|message| serde_json::to_string(&PortableMessage::from(message)));
        let permissions = &options.permissions;
        let mode = match self.store().worktree(record.id).await? {
            Some(_) => permissions.clone().in_worktree().mode.get(),
            None => permissions.mode.get(),
        };
        Ok(Work {
            agent: AgentText(record.id),
            inherited,
            rest,
            prompt: prompt.transpose().map_err(RuntimeError::RemoteForm)?,
            limits: options.limits.into(),
            permissions: AllowedCalls::new(
                mode,
                &permissions.rules,
                &permissions.queue,
                permissions.accepts_worktree_edits,
            ),
            tools: self.tools_of(record, options).await?,
            reach: (&options.confinement.around(&record.reach).reach.reach().clone()).into(),
            lifetime: lifetime_word(options.caching.lifetime),
            budget: self.caps_left(record.id).await?,
            cache: self.live_cache(record).await?,
            directory: record.directory.clone().into(),
            files: self.pack_files(record.id, elsewhere).await?,
        })
    }

    /// The tools of the defined agent that a worker works as.
    async fn tools_of(
        &self,
        record: &AgentRecord,
        options: &RunOptions,
    ) -> Result<Option<OnlyTools>, RuntimeError> {
        let task = self.store().task(record.id).await?;
        let Some(name) = task.and_then(|task| task.definition) else { return Ok(None) };
        let found = options.crew.definitions.get(&name);
        found.map(|found| Some(found.into())).ok_or(RuntimeError::NoDefinition(name))
    }

    /// The part of the caps of an agent's tree that is left.
    pub(super) async fn caps_left(
        &self,
        agent: AgentId,
    ) -> Result<Vec<(String, u64)>, RuntimeError> {
        let Some(budget) = self.store().budget(agent).await? else { return Ok(Vec::new()) };
        let left = |cap| {
            let (most, used) = match cap {
                Cap::Tokens => (budget.caps.tokens, budget.tokens + budget.tokens_reserved),
                _ => (budget.caps.micro_usd, budget.micro_usd + budget.micro_usd_reserved),
            };
            most.map(|most| (cap.as_str().to_owned(), most.saturating_sub(used)))
        };
        Ok(CAPS.into_iter().filter_map(left).collect())
    }

    /// The cache entries of an agent's model that live, as far as is known here, the last used ones.
    async fn live_cache(&self, record: &AgentRecord) -> Result<Vec<CacheText>, RuntimeError> {
        let model = &record.settings.model;
        let scope = tine_fork::cache::cache_scope(model, &self.ports().models.account(model));
        let since_ms = self.now_ms().saturating_sub(CACHE_AGE_MS);
        let rows = self.store().cache_entries(scope.0, since_ms).await?;
        Ok(rows.iter().rev().take(CACHE_MAX).map(CacheText::from).collect())
    }
}
