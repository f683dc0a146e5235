//! Merge-back of conclusions: what was said in a fork since it was forked becomes a text at the tail of its parent, or of any other
//! ancestor.
//!
//! There are two steps, so that every face can let a person edit in between: the fork's own model drafts the text, and whatever text
//! there is then is appended. Nothing is ever written into the fork's log, and the ancestor's only grows at its end, so that no cache
//! is lost on either side. The files of a fork are none of this module's business.
//!
//! The envelope (`tine-fork/src/merge_note.rs`) is the only record of the link to the fork. The process that holds the
//! ancestor's lease appends it; otherwise the ancestor's mailbox delivers it. The ancestor's log also tells what was brought
//! back before (`merge_back/part.rs`).

mod part;
mod question;

use tine_fork::merge_note::{MergeNote, Wording};
use tine_llm::LlmClient;
use tine_model::{AgentId, AgentRecord, AgentState, EntryId, Message, Usage};
use tine_store::{Lease, MailId, NewMail, StoreError};
use tokio_util::sync::CancellationToken;

use crate::aside::Aside;
use crate::cache::CachePolicy;
use crate::codec;
use crate::error::RuntimeError;
use crate::guests::refuse_guest;
use crate::owner;
use crate::registry::check_mail;
use crate::runtime::Runtime;
use crate::stop_words;

pub use part::ForkPart;

/// How a draft is asked for.
#[derive(Debug, Clone, Default)]
pub struct DraftOptions {
    /// The ancestor that is to read it; `None` for the parent.
    pub into: Option<AgentId>,
    /// What it has to mind beside the usual.
    pub instructions: Option<String>,
    /// Stops it.
    pub cancel: CancellationToken,
    /// How the cache is used.
    pub caching: CachePolicy,
}

/// A text to be edited, or appended as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// What it stands for.
    pub part: ForkPart,
    /// What the fork's model says of that.
    pub text: String,
    /// What the text took.
    pub usage: Usage,
}

/// A text that is to be appended to an ancestor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeBack {
    /// The fork, dead or alive; it must not be running.
    pub source: AgentId,
    /// The ancestor; `None` for the parent.
    pub into: Option<AgentId>,
    /// The last entry of the fork that the text stands for, as a draft says it; `None` for its last one.
    pub upto: Option<EntryId>,
    /// The text; of at most [`crate::MAIL_BYTES_MAX`] bytes, and not blank.
    pub text: String,
    /// Whose words it is in.
    pub wording: Wording,
}

/// How a text has reached an ancestor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// It is the last entry of its log.
    Appended(EntryId),
    /// The ancestor runs, or waits for the results of calls: the text is in its mailbox and comes at its next turn, once.
    Mailed(MailId),
}

/// A text that was brought back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergedBack {
    /// What it stands for.
    pub part: ForkPart,
    /// How it has arrived.
    pub arrival: Arrival,
}

impl Runtime {
    /// Lets a fork's own model write down what was said since the fork, as far as the ancestor does not have it yet. The request goes
    /// on from the fork's own prefix and counts to its budget. Takes the fork's lease meanwhile, unless it is dead; one that
    /// runs is refused. Changes nothing in either log.
    pub async fn draft_merge_back(
        &self,
        source: AgentId,
        options: &DraftOptions,
    ) -> Result<Draft, RuntimeError> {
        // Before anything is asked for that may be missing, such as a key.
        let part = self.fork_part(source, options.into, None).await?;
        refuse_guest(&self.store().agent(part.into).await?)?;
        let record = self.store().agent(source).await?;
        let llm = self.client_of(&record, &record.settings.model).await?;
        if record.state == AgentState::Dead {
            let owner = self.owner()?;
            return self.draft(&record, owner.name(), (&*llm, options)).await;
        }
        let lease = match self.acquire(source).await {
            Err(RuntimeError::Store(StoreError::Held { .. })) => {
                return Err(RuntimeError::SourceRuns(source));
            }
            other => other?,
        };
        let draft = self.draft(&record, &lease.owner, (&*llm, options)).await;
        self.give_back(&lease).await?;
        draft
    }

    async fn draft(
        &self,
        record: &AgentRecord,
        owner: &str,
        (llm, options): (&dyn LlmClient, &DraftOptions),
    ) -> Result<Draft, RuntimeError> {
        let said = self.said_since(record.id, options.into, None).await?;
        let mut conversation = self.load(record.id, options.caching).await?.conversation;
        let items: Vec<_> = conversation.history().iter().cloned().collect();
        let question = question::question(&said, &items, options.instructions.as_deref());
        let aside = Aside {
            record,
            owner,
            question: Message::user(question),
            stop_word: stop_words::MERGE_BACK,
            caching: options.caching,
            cancel: &options.cancel,
        };
        let reply = self.ask_aside(&mut conversation, llm, aside, &mut |_| {}).await?;
        let text = reply.message.text().trim().to_owned();
        Ok(Draft { part: said.part, text, usage: reply.usage })
    }

    /// Appends a text to an ancestor of the fork, in an envelope that names the fork and what of it the text stands for. An ancestor
    /// that nobody runs gets it at once; any other one at its next turn, through its mailbox. What the ancestor has been told
    /// before is not part of it again; where nothing is left, it is refused.
    pub async fn merge_back(&self, merge: MergeBack) -> Result<MergedBack, RuntimeError> {
        check_mail(&merge.text)?;
        if let Some(lease) = self.store().lease(merge.source).await?
            && owner::is_alive(self.owners(), &lease.owner)
        {
            return Err(RuntimeError::SourceRuns(merge.source));
        }
        let into = self.fork_part(merge.source, merge.into, merge.upto).await?.into;
        let lease = match self.acquire(into).await {
            Ok(lease) => Some(lease),
            Err(RuntimeError::Store(StoreError::Held { .. })) => None,
            Err(error) => return Err(error),
        };
        let merged = self.bring(&merge, into, lease.as_ref()).await;
        if let Some(lease) = lease {
            self.give_back(&lease).await?;
        }
        merged
    }

    /// Looks once more, since others may have brought something back meanwhile: under the lease nobody appends.
    async fn bring(
        &self,
        merge: &MergeBack,
        into: AgentId,
        lease: Option<&Lease>,
    ) -> Result<MergedBack, RuntimeError> {
        let part = self.fork_part(merge.source, Some(into), merge.upto).await?;
        let note = MergeNote {
            source: part.source,
            name: self.store().agent(part.source).await?.name,
            fork_point: part.fork_point,
            first: part.first,
            last: part.last,
            wording: merge.wording,
            text: merge.text.trim().to_owned(),
        };
        let arrival = self.arrive(into, lease, note.to_string()).await?;
        Ok(MergedBack { part, arrival })
    }

    /// Appends a text of the user to an agent's log, under the lease that is given; without one, or behind open calls, where nothing may
    /// stand but their results, it goes into the mailbox.
    pub(crate) async fn arrive(
        &self,
        into: AgentId,
        lease: Option<&Lease>,
        body: String,
    ) -> Result<Arrival, RuntimeError> {
        let takes_it = match lease {
            Some(_) => !self.fold(into, None).await?.history().has_open_calls(),
            None => false,
        };
        match lease.filter(|_| takes_it) {
            Some(lease) => {
                let row = codec::message_row(&Message::user(body), self.now_ms());
                let ids = self.store().append(into, lease.fence, &[row]).await?;
                let entry = ids.first().copied().ok_or_else(|| StoreError::no_agent(into))?;
                Ok(Arrival::Appended(entry))
            }
            None => {
                // Nobody's word but the user's makes an agent go on.
                let mail = NewMail { recipient: into, sender: None, body, now_ms: self.now_ms() };
                let mail = self.store().send_mail(mail).await?;
                self.live().beat();
                Ok(Arrival::Mailed(mail))
            }
        }
    }
}
