//! Starting a worker for somebody who is no agent, and waiting until nothing of it is left in this process.

use tine_model::AgentId;

use crate::crew::{Spawn, Spawner};
use crate::error::RuntimeError;
use crate::run_options::RunOptions;
use crate::runtime::Runtime;

impl Runtime {
    /// Starts a worker of an agent, whoever runs that, on a task of this process; returns its id when it is in the store. A fork inherits all
    /// that the agent's log holds by then. The rules in `options` of what models may start bind the worker, not the
    /// caller: a person may always fork. Nobody is held up by it: [`settled`](Self::settled) waits.
    pub async fn start_task(
        &self,
        spawn: Spawn,
        options: &RunOptions,
    ) -> Result<AgentId, RuntimeError> {
        self.recover().await?;
        let (fork, _) = self.at_boundary(spawn.fork).await?;
        let record = self.store().agent(fork.parent).await?;
        let spawner = Spawner { record: &record, snapshot: None, top: None };
        self.spawn(spawner, Spawn { fork, ..spawn }, options).await
    }

    /// Waits until this process runs neither the agent nor any worker below it. Returns at once where it runs none.
    pub async fn settled(&self, agent: AgentId) {
        let mut watch = self.live().watch();
        while self.live().has(agent) || !self.live().below(agent).is_empty() {
            // Every end of a run beats.
            if watch.changed().await.is_err() {
                return;
            }
        }
    }
}
