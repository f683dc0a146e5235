//! Going on with runs elsewhere that nobody here waits for any more.

use tine_model::{AgentId, AgentState, StopKind};
use tine_nats::{Job, Order, has_ended};
use tine_store::{Lease, RemoteRun};

use super::Elsewhere;
use crate::attach::Prompt;
use crate::error::RuntimeError;
use crate::live::Entered;
use crate::load::Loaded;
use crate::prepared::Prepared;
use crate::run_options::RunOptions;
use crate::runtime::Runtime;

/// What has become of the runs elsewhere that nobody here waited for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attended {
    /// They have ended, and all of them is here now.
    pub ended: Vec<AgentId>,
    /// They go on.
    pub under_way: Vec<AgentId>,
}

impl Runtime {
    /// Returns true where runs of agents are under way on other machines.
    pub async fn has_open_remotes(&self) -> Result<bool, RuntimeError> {
        Ok(!self.store().open_remotes().await?.is_empty())
    }

    /// Looks after the runs elsewhere that nobody here waits for: of those that have ended, everything is taken in; dead agents are
    /// stopped there as well. `follow` waits for the end of the others too.
    pub async fn attend_remotes(
        &self,
        elsewhere: &Elsewhere,
        options: &RunOptions,
        follow: bool,
    ) -> Result<Attended, RuntimeError> {
        let mut attended = Attended::default();
        for run in self.store().open_remotes().await? {
            if self.store().lease(run.agent).await?.is_some() {
                attended.under_way.push(run.agent);
                continue;
            }
            let job: Job = serde_json::from_str(&run.detail).map_err(RuntimeError::RemoteForm)?;
            if self.store().agent(run.agent).await?.state == AgentState::Dead {
                self.let_go(elsewhere, &run, &job).await?;
                attended.ended.push(run.agent);
            } else if follow || has_ended(&elsewhere.cluster, job.run).await? {
                let options = RunOptions { elsewhere: Some(elsewhere.clone()), ..options.clone() };
                Box::pin(self.run_with(run.agent, None, &options)).await?;
                attended.ended.push(run.agent);
            } else {
                attended.under_way.push(run.agent);
            }
        }
        Ok(attended)
    }

    /// Stops the run of an agent that was killed here.
    async fn let_go(
        &self,
        elsewhere: &Elsewhere,
        run: &RemoteRun,
        job: &Job,
    ) -> Result<(), RuntimeError> {
        let kind = StopKind::Hard.as_str().to_owned();
        elsewhere.cluster.order(job.run, &Order::Stop { kind }).await?;
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
