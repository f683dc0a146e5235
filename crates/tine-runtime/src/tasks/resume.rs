//! Taking a task up again: whatever ended it, its worker goes on with all that it knows.

use tine_model::AgentId;
use tine_store::StoreError;

use crate::crew::SpawnKind;
use crate::crew::worker_options;
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
                return self.queue_behind(&view, &prompt).await;
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
        let run = WorkerRun {
            lease,
            directive: view.task.directive,
            start: Start::again(prompt, conversation),
            entered: self.live().enter(agent, top, &options.cancel),
            llm,
        };
        self.start(run, worker_options(options, &kind, options.crew.limits));
        Ok(Resumed::Started)
    }

    async fn queue_behind(&self, view: &TaskView, prompt: &str) -> Result<Resumed, RuntimeError> {
        match self.store().keep_follow_up(view.task.agent, prompt).await? {
            true => Ok(Resumed::Queued),
            false => Err(RuntimeError::FollowUpWaits(view.task.agent)),
        }
    }
}
