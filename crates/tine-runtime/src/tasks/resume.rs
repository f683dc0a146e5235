//! Taking a task up again: whatever ended it, its worker goes on with all that it knows.

use tine_model::{AgentId, AgentRecord, Block, EntryBody, Message, Role};
use tine_store::StoreError;

use crate::crew::{WorkerRole, told, worker_options};
use crate::error::RuntimeError;
use crate::run_options::RunOptions;
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
        let role = WorkerRole::of_task(definition, view.context, &options.crew.definitions)?;
        let record = self.store().agent(agent).await?;
        let llm = self.client_of(&record, &record.settings.model).await?;
        let root = self.root_of(&record).await?;
        let (lease, prompt) = match self.acquire(agent).await {
            Ok(lease) => (lease, Some(prompt)),
            Err(RuntimeError::Store(StoreError::Held { .. })) => {
                self.queue_behind(&view, &prompt).await?;
                // Who has just let go of it may have looked before: then nobody else would take it up.
                match self.acquire(agent).await {
                    Ok(lease) => (lease, None),
                    Err(_) => return Ok(Resumed::Queued),
                }
            }
            Err(error) => return Err(error),
        };
        let teller = self.teller(&record, root, Some(&lease));
        let entered = self.live().enter(teller, top, &options.cancel);
        let directive = view.task.directive;
        let start = match prompt {
            Some(prompt) => {
                let told = (&role, directive.as_str(), prompt);
                self.started_again(&record, told, options).await.map(Some)
            }
            None => Ok(self.next_of(&lease, &directive, (&entered, options)).await),
        };
        match start {
            Ok(Some(start)) => {
                let run = WorkerRun { lease, directive, start, entered, llm };
                self.start(run, worker_options(options, &role, options.crew.limits));
                Ok(Resumed::Started)
            }
            Ok(None) => {
                self.give_back(&lease).await?;
                Ok(Resumed::Queued)
            }
            Err(error) => {
                // The error that is returned is the more important one.
                drop(self.give_back(&lease).await);
                Err(error)
            }
        }
    }

    /// What a worker that nobody runs begins with now. Its task runs from here on.
    async fn started_again(
        &self,
        record: &AgentRecord,
        (role, directive, prompt): (&WorkerRole, &str, String),
        options: &RunOptions,
    ) -> Result<Start, RuntimeError> {
        let agent = record.id;
        let conversation = self.load(agent, options.caching).await?.conversation;
        let start = match self.has_begun(agent).await? {
            true => Start::again(prompt, conversation),
            // It was never told what it is: that comes first.
            false => {
                let strips = self.facts(&record.settings.model).strips_reasoning;
                let how = (strips, &options.crew.inherits);
                let place = self.told_place(agent, &record.directory, role).await?;
                let first = told((role, directive), (&conversation, &place), how);
                let mut blocks = first.blocks().to_vec();
                blocks.push(Block::Text(prompt));
                let first = Message::new(Role::User, blocks);
                Start::first(first, directive.to_owned(), conversation)
            }
        };
        // Last of all, so that no task seems to run that does not. One that somebody made and nobody began begins now.
        if !self.store().resume_task(agent).await? {
            self.store().start_task(agent).await?;
        }
        Ok(start)
    }

    /// Whether an agent has been told anything of its own.
    pub(crate) async fn has_begun(&self, agent: AgentId) -> Result<bool, RuntimeError> {
        let own = self.log(agent, None).await?;
        Ok(own.iter().any(|entry| matches!(entry.body, EntryBody::Message(_))))
    }

    async fn queue_behind(&self, view: &TaskView, prompt: &str) -> Result<(), RuntimeError> {
        if self.store().keep_follow_up(view.task.agent, prompt).await? {
            Ok(())
        } else {
            Err(RuntimeError::FollowUpWaits(view.task.agent))
        }
    }
}
