//! A question beside a conversation: answered from all that the agent knows, and written into no log.
//!
//! The cache serves it as it serves the conversation's own next request. Where the answer turns out to be a beginning, it becomes a fork
//! whose first words it is, byte for byte as they were sent.

use tine_llm::Progress;
use tine_model::{AgentId, Block, EntryId, Message, Role, Usage};
use tine_wire::Event;
use tokio_util::sync::CancellationToken;

use crate::aside::Aside;
use crate::cache::CachePolicy;
use crate::codec;
use crate::error::RuntimeError;
use crate::fork::ForkMade;
use crate::fork_spec::ForkSpec;
use crate::guests::refuse_guest;
use crate::runtime::Runtime;

/// Why the request stopped, in its record: it is none of the conversation's own.
const STOP_WORD: &str = "side";

/// What the model is told of the question. It is the first block of the message, so that the question stands alone in the second.
const FRAME: &str = "<side-question>\nThis question stands beside what you are doing, and neither it nor your answer becomes part of it. \
    Answer it at once, in a few sentences, from what you know already: with text alone, and without any tool.\n</side-question>";

/// A question and its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Side {
    /// Who was asked.
    pub agent: AgentId,
    /// The last entry that was known then; `None` of an empty conversation.
    pub at: Option<EntryId>,
    /// The question as it was sent.
    pub question: Message,
    /// The answer as it came.
    pub answer: Message,
    /// What it took.
    pub usage: Usage,
}

impl Runtime {
    /// Asks an agent's model, whether the agent runs or not. `sees` gets the answer's words as they come. The request is recorded and
    /// paid for like every other; nothing else is kept.
    pub async fn side(
        &self,
        (agent, question): (AgentId, &str),
        caching: CachePolicy,
        sees: &mut (dyn FnMut(&str) + Send),
        cancel: &CancellationToken,
    ) -> Result<Side, RuntimeError> {
        let record = self.store().agent(agent).await?;
        let llm = self.client_of(&record, &record.settings.model).await?;
        refuse_guest(&record)?;
        let at = self.fold(agent, None).await?.entries().last().map(|last| last.entry.id);
        let mut conversation = self.load_at(agent, at, caching).await?.conversation;
        let blocks = [FRAME, question.trim()].map(|text| Block::Text(text.to_owned()));
        let question = Message::new(Role::User, blocks.to_vec());
        let owner = self.owner()?;
        let aside = Aside {
            record: &record,
            owner: owner.name(),
            question: question.clone(),
            stop_word: STOP_WORD,
            caching,
            cancel,
        };
        let mut progress = |progress: Progress<'_>| {
            if let Progress::Event(Event::Text { delta }) = progress {
                sees(delta);
            }
        };
        let reply = self.ask_aside(&mut conversation, &*llm, aside, &mut progress).await?;
        Ok(Side { agent, at, question, answer: reply.message, usage: reply.usage })
    }

    /// Makes a fork of which question and answer are the first words, in the one transaction of the fork.
    pub async fn promote(&self, side: &Side) -> Result<ForkMade, RuntimeError> {
        let now_ms = self.now_ms();
        let said = [&side.question, &side.answer].map(|said| codec::message_row(said, now_ms));
        self.fork_with(ForkSpec { at: side.at, ..ForkSpec::of(side.agent) }, said.to_vec()).await
    }
}
