//! Conversations from elsewhere become agents.

use tine_fork::{Digest, DigestProfile, workers_directive};
use tine_model::{AgentId, Block, ContextMode, Message, WireFormat};
use tine_wire::{Carries, ConversationFormat, Counts, ImportError, ImportedConversation};

use crate::codec;
use crate::error::RuntimeError;
use crate::runtime::{NewRoot, Runtime};

/// What a file is, and how it is to be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ImportSpec {
    /// Its shape; `None` looks.
    pub format: Option<ConversationFormat>,
    /// How its messages become the agent's history; `None` takes them in full where the file allows it.
    pub context: Option<ImportContext>,
}

/// How the messages of a file become the history of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportContext {
    /// Message by message, as its model saw them.
    Full,
    /// As one text that tells of them.
    Digest,
}

impl ImportContext {
    /// The word under which it is given and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Digest => "digest",
        }
    }
}

impl ImportContext {
    fn in_registry(self) -> ContextMode {
        match self {
            Self::Full => ContextMode::Full,
            Self::Digest => ContextMode::Digest,
        }
    }
}

/// An imported conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// The new agent.
    pub agent: AgentId,
    /// Number of log entries.
    pub entries: usize,
    /// Whether the file's system prompt took the place of the given one.
    pub has_system: bool,
    /// The shape of the file.
    pub format: ConversationFormat,
    /// How its messages were taken.
    pub context: ImportContext,
    /// Why they were taken as a digest, where nobody asked for that.
    pub reason: Option<String>,
    /// The model that spoke last, in the file's word.
    pub model: Option<String>,
    /// What of the file the agent's model will not see, by kind.
    pub left_out: Counts,
    /// What had to be written anew, by kind.
    pub rewritten: Counts,
    /// The first lines that could not be read, counted from 1.
    pub damaged_lines: Vec<usize>,
}

impl Runtime {
    /// [`Self::import`] of plain provider messages.
    pub async fn import_messages(
        &self,
        root: NewRoot,
        text: &str,
    ) -> Result<Imported, RuntimeError> {
        let format = Some(ConversationFormat::Messages);
        self.import(root, text, ImportSpec { format, context: None }).await
    }

    /// Makes an agent of a file's text, all of it or nothing. A system prompt in the file takes the place of `root.system`.
    pub async fn import(
        &self,
        root: NewRoot,
        text: &str,
        spec: ImportSpec,
    ) -> Result<Imported, RuntimeError> {
        let target = root.settings.model.format();
        let format = spec.format.unwrap_or_else(|| tine_wire::conversation_format(text));
        let read = tine_wire::read_conversation(format, text, target)?;
        let (context, reason) = context(&read, spec.context)?;
        let messages = match context {
            ImportContext::Full => read.messages,
            ImportContext::Digest => digest(&read.messages),
        };
        check(&messages, target)?;
        let now_ms = self.now_ms();
        let rows: Vec<_> =
            messages.iter().map(|message| codec::message_row(message, now_ms)).collect();
        let entries = rows.len();
        let has_system = read.system.is_some();
        let system = read.system.unwrap_or(root.system);
        // Signed reasoning is bound to the head that it was made behind, which is not the one it gets here.
        let foreign_thinking = messages.iter().flat_map(Message::blocks).any(|block| {
            matches!(block, Block::Thinking { signature: Some(_), .. } | Block::RedactedThinking(_))
        });
        let mut left_out = read.left_out;
        left_out.extend(&tine_wire::unsent_blocks(&messages, target));
        let root = NewRoot { system, ..root };
        let agent = self.create_with(root, rows, (foreign_thinking, context.in_registry())).await?;
        Ok(Imported {
            agent,
            entries,
            has_system,
            format,
            context,
            reason,
            model: read.model,
            left_out,
            rewritten: read.rewritten,
            damaged_lines: read.damaged_lines,
        })
    }
}

/// How a conversation is taken, and why it is a digest, where nobody asked for one.
fn context(
    read: &ImportedConversation,
    wanted: Option<ImportContext>,
) -> Result<(ImportContext, Option<String>), RuntimeError> {
    match (&read.carries, wanted) {
        (_, Some(ImportContext::Digest)) => Ok((ImportContext::Digest, None)),
        (Carries::Full, None | Some(ImportContext::Full)) => Ok((ImportContext::Full, None)),
        (Carries::Digest { reason }, None) => Ok((ImportContext::Digest, Some(reason.clone()))),
        (Carries::Digest { reason }, Some(ImportContext::Full)) => {
            Err(RuntimeError::DigestNeeded { reason: reason.clone() })
        }
    }
}

/// The conversation as one text.
fn digest(messages: &[Message]) -> Vec<Message> {
    let messages: Vec<&Message> = messages.iter().collect();
    let text = Digest::of(&messages, DigestProfile::Fixed).text;
    if text.is_empty() {
        return Vec::new();
    }
    // A worker stays one, whatever form its conversation takes.
    let brief = workers_directive(messages.iter().copied()).map(str::to_owned);
    let texts = [Some(text), brief].into_iter().flatten();
    vec![Message::new(tine_model::Role::User, texts.map(Block::Text).collect())]
}

/// Refuses what no provider would take.
fn check(messages: &[Message], target: WireFormat) -> Result<(), RuntimeError> {
    let Some(first) = messages.first() else { return Err(ImportError::Empty.into()) };
    let wants_a_user = matches!(target, WireFormat::Anthropic | WireFormat::Gemini);
    match wants_a_user && first.role() == tine_model::Role::Assistant {
        true => Err(RuntimeError::AssistantFirst),
        false => Ok(()),
    }
}
