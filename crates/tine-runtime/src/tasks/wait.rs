//! Waiting for others: for the next message, or for one from each of several agents.

use std::time::Duration;

use tine_model::{AgentId, AgentState};
use tine_store::MailId;
use tokio_util::sync::CancellationToken;

use crate::changes::ChangeWatch;
use crate::error::RuntimeError;
use crate::journal::{DELIVERED_BYTES_MAX, mail_text};
use crate::runtime::Runtime;

/// What one of the agents that are waited for has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitStatus {
    /// It has written.
    Received,
    /// It runs, and has not written.
    Running,
    /// It is dead, and has not written.
    Dead,
    /// It has nothing to do, and has not written.
    Idle,
}

impl WaitStatus {
    /// The word in answers and in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Received => "received",
            Self::Running => "running",
            Self::Dead => "dead",
            Self::Idle => "idle",
        }
    }
}

/// One of the agents that are waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitedAgent {
    /// Who.
    pub agent: AgentId,
    /// Its name.
    pub name: Option<String>,
    /// What it has done.
    pub status: WaitStatus,
    /// What it wrote; several messages stand below each other.
    pub message: Option<String>,
}

/// What a wait brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waited {
    /// Those that were waited for, as they were named.
    pub agents: Vec<WaitedAgent>,
    /// What others wrote meanwhile: reading the mailbox reads all of it.
    pub others: Vec<String>,
    /// Whether the time was up before all had written, died or run out of work.
    pub timed_out: bool,
    /// The last piece of mail that is part of this.
    pub(crate) up_to: Option<MailId>,
}

impl Runtime {
    /// Waits until each of `from` has written to `agent` (behind what it has `read` in this turn), is dead, or has nothing to do; with an empty `from`, for the next message of
    /// anyone. A wait of no length looks once. The mail stays unread until somebody delivers it.
    pub(crate) async fn wait_for(
        &self,
        (agent, read): (AgentId, Option<MailId>),
        from: &[AgentId],
        (wait, cancel): (Duration, &CancellationToken),
    ) -> Result<Waited, RuntimeError> {
        let over = tokio::time::sleep(wait);
        tokio::pin!(over);
        let mut changes = ChangeWatch::begin(self).await?;
        loop {
            self.recover().await?;
            let waited = self.look_for((agent, read), from).await?;
            let missing = if from.is_empty() {
                waited.up_to.is_none()
            } else {
                waited.agents.iter().any(|one| one.status == WaitStatus::Running)
            };
            if !missing {
                return Ok(waited);
            }
            // All branches are cancel-safe.
            tokio::select! {
                biased;
                () = cancel.cancelled() => return Ok(waited),
                () = &mut over => return Ok(Waited { timed_out: true, ..waited }),
                changed = changes.next(self) => changed?,
            }
        }
    }

    async fn look_for(
        &self,
        (agent, read): (AgentId, Option<MailId>),
        from: &[AgentId],
    ) -> Result<Waited, RuntimeError> {
        // States first: who has nothing to do by now has written before.
        let mut agents = Vec::with_capacity(from.len());
        for one in from {
            let record = self.store().agent(*one).await?;
            let task = self.store().task(*one).await?;
            let busy = record.state == AgentState::Running
                || task.is_some_and(|task| !task.status.is_final());
            let status = match record.state {
                AgentState::Dead => WaitStatus::Dead,
                _ if busy => WaitStatus::Running,
                AgentState::Idle | AgentState::Interrupted | AgentState::Running => {
                    WaitStatus::Idle
                }
            };
            agents.push(WaitedAgent { agent: *one, name: record.name, status, message: None });
        }
        let mail = self.store().unread_mail(agent).await?;
        let (mut up_to, mut bytes) = (None, 0);
        let mut others = Vec::new();
        for row in mail.into_iter().filter(|row| Some(row.id) > read) {
            bytes += row.body.len();
            if up_to.is_some() && bytes > DELIVERED_BYTES_MAX {
                break;
            }
            up_to = Some(row.id);
            let waited = agents.iter_mut().find(|one| Some(one.agent) == row.sender);
            let text = mail_text(row);
            match waited {
                Some(one) => {
                    one.status = WaitStatus::Received;
                    let message = one.message.get_or_insert_default();
                    if !message.is_empty() {
                        message.push_str("\n\n");
                    }
                    message.push_str(&text);
                }
                None => others.push(text),
            }
        }
        Ok(Waited { agents, others, timed_out: false, up_to })
    }
}
