//! Messages that were sent from here to agents that run, so that they can be taken back as long as nobody has read them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tine_model::AgentId;
use tine_runtime::{MailId, RuntimeError};

use super::hands::Hands;
use crate::app::Event;

/// Messages of this terminal that may be unread, by who is to read them.
#[derive(Debug, Default)]
pub(super) struct Outbox(Mutex<HashMap<AgentId, Vec<Sent>>>);

#[derive(Debug)]
struct Sent {
    mail: MailId,
    text: String,
    /// True once the person has interrupted the agent: it is not to read this any more.
    is_recalled: bool,
}

impl Outbox {
    /// The person interrupts an agent: what was sent to it before is to come back.
    pub(super) fn recall(&self, agent: AgentId) {
        let mut all = self.lock();
        all.entry(agent).or_default().iter_mut().for_each(|sent| sent.is_recalled = true);
    }

    /// Forgets what was sent to an agent that has read it all.
    pub(super) fn forget(&self, agent: AgentId) {
        self.lock().remove(&agent);
    }

    fn add(&self, agent: AgentId, mail: MailId, text: String) {
        self.lock().entry(agent).or_default().push(Sent { mail, text, is_recalled: false });
    }

    /// Takes out what is to come back.
    fn take_recalled(&self, agent: AgentId) -> Vec<Sent> {
        let mut all = self.lock();
        let Some(sent) = all.get_mut(&agent) else { return Vec::new() };
        sent.extract_if(.., |sent| sent.is_recalled).collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<AgentId, Vec<Sent>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Hands {
    /// Leaves words for an agent, which is woken for them if it does not run. What cannot be sent comes back.
    pub(super) async fn send(
        self: &Arc<Self>,
        agent: AgentId,
        text: String,
    ) -> Result<(), RuntimeError> {
        match self.runtime().send(agent, text.clone()).await {
            Ok(mail) => self.outbox.add(agent, mail, text),
            Err(error) => {
                self.inbox.push(Event::TakenBack(agent, vec![text]));
                return Err(error);
            }
        }
        self.wake(agent).await
    }

    /// The run of an agent was interrupted and is over: gives back what it has not read of what was recalled.
    pub(super) async fn give_back_unread(&self, agent: AgentId) {
        let recalled = self.outbox.take_recalled(agent);
        if recalled.is_empty() {
            return;
        }
        let mail: Vec<MailId> = recalled.iter().map(|sent| sent.mail).collect();
        // If somebody else runs it by now, that run reads them.
        let Ok(unread) = self.runtime().take_back(agent, &mail).await else { return };
        let texts: Vec<String> = recalled
            .into_iter()
            .filter(|sent| unread.contains(&sent.mail))
            .map(|sent| sent.text)
            .collect();
        if !texts.is_empty() {
            self.inbox.push(Event::TakenBack(agent, texts));
        }
    }
}
