//! What faces ask for beside runs and forks: names, mail from the user, one agent's own log.

use tine_fork::envelope::escape_frame_tags;
use tine_model::{AgentId, Entry, EntryId, Standing};
use tine_store::{MailId, NewMail, Rename};

use crate::codec;
use crate::error::RuntimeError;
use crate::names::check_name;
use crate::runtime::Runtime;

/// Most bytes of one message that a user sends. It becomes part of the conversation at once and in one piece; what is
/// larger belongs into a file that the agent is told to read.
pub const MAIL_BYTES_MAX: usize = 64 * 1024;

/// The text of a message as the store keeps it. A model may write what it likes: its words are no frame of tine's.
pub(crate) fn mail_body(sender: Option<AgentId>, text: String) -> String {
    match sender {
        Some(_) => escape_frame_tags(&text).into_owned(),
        None => text,
    }
}

/// The words of an agent, or of the user (`None`), for a place that keeps no sender with them: the text names the agent, and has no
/// frame of tine's.
pub fn attributed(sender: Option<AgentId>, text: String) -> String {
    let text = mail_body(sender, text);
    match sender {
        Some(sender) => from_agent(sender, &text),
        None => text,
    }
}

/// A message as its reader sees it, with the agent that sent it.
pub(crate) fn from_agent(sender: AgentId, text: &str) -> String {
    format!("Message from agent {}:\n{text}", sender.short())
}

impl Runtime {
    /// Gives an agent a name, or takes it away.
    pub async fn rename(&self, agent: AgentId, name: Option<String>) -> Result<(), RuntimeError> {
        check_name(name.as_deref())?;
        Ok(self.store().rename(Rename { agent, name, now_ms: self.now_ms() }).await?)
    }

    /// Puts a message of the user into an agent's mailbox; it is read at the agent's next turn.
    pub async fn send(&self, agent: AgentId, text: String) -> Result<MailId, RuntimeError> {
        self.send_from(None, agent, text).await
    }

    /// Puts a message of an agent, or of the user (`None`), into an agent's mailbox. That of a guest waits there for its program
    /// ([`Self::take_mail_of_session`]).
    pub async fn send_from(
        &self,
        sender: Option<AgentId>,
        agent: AgentId,
        text: String,
    ) -> Result<MailId, RuntimeError> {
        check_mail(&text)?;
        let mail = NewMail {
            recipient: agent,
            sender,
            body: mail_body(sender, text),
            now_ms: self.now_ms(),
        };
        let id = self.store().send_mail(mail).await?;
        self.live().beat();
        Ok(id)
    }

    /// Takes messages back that an agent which does not run has not read. Returns those, in order; what it has read stays read.
    pub async fn take_back(
        &self,
        agent: AgentId,
        mail: &[MailId],
    ) -> Result<Vec<MailId>, RuntimeError> {
        // Whoever reads mail holds the lease, so nothing is both read and taken back.
        let lease = self.acquire_once_idle(agent).await?;
        let withdrawn = self.store().withdraw_mail(agent, lease.fence, mail).await;
        self.give_back(&lease).await?;
        Ok(withdrawn?)
    }

    /// Keeps a message of an agent, or of the user (`None`), until an agent is done with what it does: for a worker it is the next
    /// task, for any other agent the next turn. One message at a time; none for a worker whose task has ended, and none for a guest: nobody
    /// here knows when its program is done.
    pub async fn send_next(
        &self,
        sender: Option<AgentId>,
        agent: AgentId,
        text: String,
    ) -> Result<(), RuntimeError> {
        check_mail(&text)?;
        if self.store().agent(agent).await?.standing == Standing::Guest {
            return Err(RuntimeError::Guest(agent));
        }
        let task = self.store().task(agent).await?;
        if task.is_some_and(|task| task.status.is_final()) {
            return Err(RuntimeError::TaskEnded(agent));
        }
        if self.store().keep_follow_up(agent, &attributed(sender, text)).await? {
            Ok(())
        } else {
            Err(RuntimeError::FollowUpWaits(agent))
        }
    }

    /// An agent's own entries after `after` (from the first for `None`), without those it inherited.
    pub async fn log(
        &self,
        agent: AgentId,
        after: Option<EntryId>,
    ) -> Result<Vec<Entry>, RuntimeError> {
        let rows = self.store().own_entries(agent, after).await?;
        rows.into_iter().map(codec::read_row).collect()
    }
}

pub(crate) fn check_mail(text: &str) -> Result<(), RuntimeError> {
    if text.trim().is_empty() {
        return Err(RuntimeError::EmptyMail);
    }
    match text.len() {
        0..=MAIL_BYTES_MAX => Ok(()),
        bytes => Err(RuntimeError::MailTooLong { bytes, most: MAIL_BYTES_MAX }),
    }
}
