//! Going on with runs elsewhere that nobody here waits for any more.

use tine_model::{AgentId, AgentState, StopKind};
use tine_nats::{Job, Order};
use tine_store::{Lease, RemoteRun};

use super::Elsewhere;
use crate::attach::Prompt;
use crate::error::RuntimeError;
use crate::live::Entered;
use crate::load::Loaded;
use crate::prepared::Prepared;
use crate::run_options::RunOptions;
use crate::runtime::Runtime;

impl Runtime {
    /// Of these agents those whose runs are under way on other machines.
    pub async fn with_remotes(&self, agents: &[AgentId]) -> Result<Vec<AgentId>, RuntimeError> {
        let open = self.store().open_remotes().await?;
        Ok(open.iter().map(|run| run.agent).filter(|agent| agents.contains(agent)).collect())
    }

    /// The agents whose runs are under way on other machines while no process here follows them.
    pub async fn unattended_remotes(&self) -> Result<Vec<AgentId>, RuntimeError> {
        let mut unattended = Vec::new();
        for run in self.store().open_remotes().await? {
            if self.store().lease(run.agent).await?.is_none() {
                unattended.push(run.agent);
            }
        }
        Ok(unattended)
    }

    /// Follows the runs elsewhere that no process here follows, to their ends; those of dead agents are stopped. What goes wrong with one
    /// takes nothing from the others.
    pub async fn attend_remotes(
        &self,
        elsewhere: &Elsewhere,
        options: &RunOptions,
    ) -> Result<(), RuntimeError> {
        let mut followed = Vec::new();
        for run in self.store().open_remotes().await? {
            if self.store().lease(run.agent).await?.is_some() {
                continue;
            }
            if self.store().agent(run.agent).await?.state == AgentState::Dead {
                self.let_go(elsewhere, &run).await?;
                continue;
            }
            let options = RunOptions { elsewhere: Some(elsewhere.clone()), ..options.clone() };
            let (runtime, agent) = (self.clone(), run.agent);
            followed.push(async move {
                if let Err(error) = Box::pin(runtime.run_with(agent, None, &options)).await {
                    tracing::warn!(%agent, %error, "a run elsewhere cannot be followed");
                }
            });
        }
        futures_util::future::join_all(followed).await;
        Ok(())
    }

    /// Stops the runs elsewhere of agents that were killed here.
    pub async fn let_go_of(
        &self,
        elsewhere: &Elsewhere,
        dead: &[AgentId],
    ) -> Result<(), RuntimeError> {
        for agent in dead {
            if let Some(run) = self.open_remote(*agent).await? {
                self.let_go(elsewhere, &run).await?;
            }
        }
        Ok(())
    }

    /// Stops the run of an agent that was killed here.
    async fn let_go(&self, elsewhere: &Elsewhere, run: &RemoteRun) -> Result<(), RuntimeError> {
        let job: Job = serde_json::from_str(&run.detail).map_err(RuntimeError::RemoteForm)?;
        let kind = StopKind::Hard.as_str().to_owned();
        elsewhere.cluster.order(job.run, &Order::Stop { kind }).await?;
        elsewhere.cluster.withdraw(&job).await?;
        Ok(self.store().end_remote(run.agent, &run.run, self.now_ms()).await?)
    }

    /// The run of an agent whose last one is under way elsewhere: it is followed to its end. Nothing new can be asked of it meanwhile.
    pub(crate) async fn follow_on(
        &self,
        (lease, entered): (&Lease, &Entered),
        (loaded, prompt): (Loaded, Option<Prompt>),
        (options, llm): (&RunOptions, &dyn tine_llm::LlmClient),
    ) -> Result<tine_fork::run::RunReport, RuntimeError> {
        if prompt.is_some() || options.elsewhere.is_none() {
            return Err(RuntimeError::RunsElsewhere(lease.agent));
        }
        let task = self.store().task(lease.agent).await?.filter(|task| !task.status.is_final());
        let label = loaded.record.name.clone();
        let prepared = Prepared {
            loaded,
            lease: lease.clone(),
            llm,
            seat: None,
            label,
            entered,
            prompt_first: false,
            takes_follow_ups: false,
        };
        let result = self.drive(prepared, None, options).await;
        if let Some(task) = task {
            self.finish_again(lease, (&task, entered.stop.asked()), result.as_ref()).await?;
        }
        result
    }
}
