//! Taking a task up again: whatever ended it, its worker goes on with all that it knows.

use tine_model::{AgentId, Block, EntryBody, Message, Role};
use tine_store::{Lease, StoreError};

use crate::crew::{SpawnKind, told, worker_options};
use crate::error::RuntimeError;
use crate::run::RunOptions;
use crate::runtime::Runtime;
use crate::tasks::TaskView;
use crate::worker::{Start, WorkerRun};

/// What became of a wish to take a task up again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resumed {
    /// The worker runs again.
    Started,
    /// The worker runs still, and is told when it is done.
    Queued,
}

impl Runtime {
    /// Tells a worker something new. One that has ended, in whatever way, runs again on a task of this process, under `options`
    /// and the rules that it was started with; one that runs is told when it is done, one thing at a time. `top` is the agent whose
    /// run in this process waits for the worker.
    pub async fn resume_task(
        &self,
        agent: AgentId,
        prompt: String,
        (options, top): (&RunOptions, AgentId),
    ) -> Result<Resumed, RuntimeError> {
        if prompt.trim().is_empty() {
            return Err(RuntimeError::NoDirective);
        }
        self.recover().await?;
        let view = self.task_view(agent).await?;
        let definition = view.task.definition.as_deref();
        let kind = SpawnKind::of_task(definition, view.context, &options.crew.definitions)?;
        let lease = match self.acquire(agent).await {
            Ok(lease) => lease,
            Err(RuntimeError::Store(StoreError::Held { .. })) => {
                self.queue_behind(&view, &prompt).await?;
                // Who has just let go of it may have looked before: then nobody else would take it up.
                return match self.acquire(agent).await {
                    Err(_) => Ok(Resumed::Queued),
                    Ok(lease) => self.take_up(lease, &view, (options, top)).await,
                };
            }
            Err(error) => return Err(error),
        };
        let made = async {
            let loaded = self.load(agent, options.caching).await?;
            let llm = self.ports().models.connect(&loaded.record.settings.model).await?;
            // A task that somebody made and nobody began begins now.
            if !self.store().resume_task(agent).await? {
                self.store().start_task(agent).await?;
            }
            Ok::<_, RuntimeError>((loaded.conversation, llm))
        };
        let (conversation, llm) = match made.await {
            Ok(made) => made,
            Err(error) => {
                // The error that is returned is the more important one.
                drop(self.store().release(&lease).await);
                return Err(error);
            }
        };
        let start = match self.has_begun(agent).await? {
            true => Start::again(prompt, conversation),
            // It was never told what it is: that comes first.
            false => {
                let record = self.store().agent(agent).await?;
                let strips = self.facts(&record.settings.model).strips_reasoning;
                let what = (&kind, view.task.directive.as_str());
                let how = (strips, &options.crew.inherits);
                let directive = told(what, (&conversation, &record.directory), how);
                let mut blocks = directive.blocks().to_vec();
                blocks.push(Block::Text(prompt));
                let task = view.task.directive.clone();
                Start::first(Message::new(Role::User, blocks), task, conversation)
            }
        };
        let run = WorkerRun {
            lease,
            directive: view.task.directive,
            start,
            entered: self.live().enter(agent, top, &options.cancel),
            llm,
        };
        self.start(run, worker_options(options, &kind, options.crew.limits));
        Ok(Resumed::Started)
    }

    /// Whether a worker has been told anything.
    async fn has_begun(&self, agent: AgentId) -> Result<bool, RuntimeError> {
        let own = self.log(agent, None).await?;
        Ok(own.iter().any(|entry| matches!(entry.body, EntryBody::Message(_))))
    }

    async fn queue_behind(&self, view: &TaskView, prompt: &str) -> Result<(), RuntimeError> {
        match self.store().keep_follow_up(view.task.agent, prompt).await? {
            true => Ok(()),
            false => Err(RuntimeError::FollowUpWaits(view.task.agent)),
        }
    }

    /// Starts a worker that was left with something to do.
    async fn take_up(
        &self,
        lease: Lease,
        view: &TaskView,
        (options, top): (&RunOptions, AgentId),
    ) -> Result<Resumed, RuntimeError> {
        let agent = lease.agent;
        let entered = self.live().enter(agent, top, &options.cancel);
        let directive = view.task.directive.clone();
        let definition = view.task.definition.as_deref();
        let kind = SpawnKind::of_task(definition, view.context, &options.crew.definitions)?;
        let record = self.store().agent(agent).await?;
        let llm = self.ports().models.connect(&record.settings.model).await?;
        let next = self.next_of(&lease, &directive, (&entered, options)).await;
        let Some(start) = next else {
            self.store().release(&lease).await?;
            return Ok(Resumed::Queued);
        };
        let run = WorkerRun { lease, directive, start, entered, llm };
        self.start(run, worker_options(options, &kind, options.crew.limits));
        Ok(Resumed::Started)
    }
}
