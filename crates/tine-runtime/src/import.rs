//! Conversations from elsewhere become agents.
//!
//! If the messages of a conversation cannot be replayed, the agent gets a digest of them.

use std::sync::Arc;

use tine_fork::digest::{Digest, DigestProfile};
use tine_fork::worker::workers_directive;
use tine_model::{AgentId, Block, ContextMode, Lifetime, Message, WireFormat};
use tine_wire::{Carries, ConversationFormat, Counts, Head, ImportError, ImportedConversation};

use crate::codec;
use crate::error::RuntimeError;
use crate::import_seen::with_seen_files;
use crate::runtime::{NewRoot, Runtime};

/// The format of a file, and the way in which it is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ImportSpec {
    /// Its shape; `None` looks.
    pub format: Option<ConversationFormat>,
    /// How its messages become the agent's history; `None` takes them in full where the file allows it.
    pub context: Option<ImportContext>,
    /// True if the last request that the file records is taken over as it was sent, with its system prompt, tools and settings. Then
    /// `context` says nothing.
    pub as_sent: bool,
}

/// The part of the first request of an imported agent, or of its first fork, that the cache is expected to serve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FirstFork {
    /// Nothing that the other tool's requests left there.
    Cold {
        /// Why, as a sentence without its full stop.
        reason: String,
    },
    /// All that the last request left there, if the provider does not count what the file does not hold of it.
    Uncertain {
        /// The part that the file does not hold, in words.
        reason: String,
        /// Until when, in milliseconds since the Unix epoch.
        until_ms: i64,
    },
}

/// The parts of Claude Code's requests that are in no transcript.
const NOT_IN_THE_FILE: &str = "the file does not hold the line that Claude Code may put before its system prompt; \
    the cache serves the request only where the provider does not count it";

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
    /// The parts of the file that the agent's model will not see, by kind.
    pub left_out: Counts,
    /// What had to be written anew, by kind.
    pub rewritten: Counts,
    /// The first lines that could not be read, counted from 1.
    pub damaged_lines: Vec<usize>,
    /// True if the last request was taken over as it was sent.
    pub as_sent: bool,
    /// The part of its first fork that the cache is expected to serve.
    pub first_fork: FirstFork,
}

impl Runtime {
    /// [`Self::import`] of plain provider messages.
    pub async fn import_messages(
        &self,
        root: NewRoot,
        text: &str,
    ) -> Result<Imported, RuntimeError> {
        let format = Some(ConversationFormat::Messages);
        self.import(root, text, ImportSpec { format, ..ImportSpec::default() }).await
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
        if spec.as_sent {
            return self.import_as_sent(root, read).await;
        }
        let first_fork = behind_another_head(&read);
        let (context, reason) = context(&read, spec.context)?;
        let messages = match context {
            ImportContext::Full => read.messages,
            ImportContext::Digest => digest(&read.messages),
        };
        check(&messages, target)?;
        let messages = with_seen_files(messages, &root.directory).await;
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
            as_sent: false,
            first_fork,
        })
    }

    /// Makes an agent that goes on from the last request that a file records, in its own bytes, and from what came behind it.
    async fn import_as_sent(
        &self,
        root: NewRoot,
        read: ImportedConversation,
    ) -> Result<Imported, RuntimeError> {
        let not = |reason: String| RuntimeError::NotAsSent { reason };
        let request = read.request.map_err(|why| not(why.as_str().to_owned()))?;
        let model = root.settings.model;
        if model.format() != WireFormat::Anthropic {
            return Err(not(format!("it is in Anthropic's format, which {model} does not take")));
        }
        let taken = tine_wire::read_request(model.provider, None, request.body.as_bytes());
        let (mut parts, mut messages) = taken.map_err(|error| not(error.to_string()))?;
        if parts.settings.model != model {
            return Err(not(format!("it asks {}, and not {model}", parts.settings.model)));
        }
        if let Some(sent) = &parts.sent
            && !request.betas.is_empty()
        {
            let headers = vec![("anthropic-beta".to_owned(), request.betas.join(","))];
            parts.sent = Some(Arc::new(sent.with_headers(headers)));
        }
        let parts = parts.streamed();
        messages.extend_from_slice(&read.messages[read.messages.len() - request.behind..]);
        check(&messages, WireFormat::Anthropic)?;
        let messages = with_seen_files(messages, &root.directory).await;
        let now_ms = self.now_ms();
        let rows: Vec<_> =
            messages.iter().map(|message| codec::message_row(message, now_ms)).collect();
        let entries = rows.len();
        let settings = parts.settings.clone();
        let head = (self.new_id(), Head::render(parts));
        let root = NewRoot { settings, ..root };
        let agent = self.create_behind(head, root, rows, ContextMode::Full).await?;
        Ok(Imported {
            agent,
            entries,
            has_system: true,
            format: read.format,
            context: ImportContext::Full,
            reason: None,
            model: read.model,
            left_out: read.left_out,
            rewritten: read.rewritten,
            damaged_lines: read.damaged_lines,
            as_sent: true,
            first_fork: behind_its_own_head((request.at_ms, request.lifetime), now_ms),
        })
    }
}

/// Of an agent whose conversation stands behind a head of tine's.
fn behind_another_head(read: &ImportedConversation) -> FirstFork {
    let why = match &read.request {
        Ok(_) => "; --as-sent takes the last request over as it was sent".to_owned(),
        Err(_) if read.format != ConversationFormat::ClaudeCode => String::new(),
        Err(why) => format!(", and {}", why.as_str()),
    };
    let reason = format!("tine's own system prompt and tools stand before the conversation{why}");
    FirstFork::Cold { reason }
}

/// Of an agent that goes on from a request as it was sent.
fn behind_its_own_head((at_ms, lifetime): (Option<i64>, Lifetime), now_ms: i64) -> FirstFork {
    let (lives_ms, lives) = match lifetime {
        Lifetime::Short => (5 * 60_000, "5 minutes"),
        Lifetime::Long => (60 * 60_000, "an hour"),
    };
    let until_ms = at_ms.map_or(0, |at_ms| at_ms.saturating_add(lives_ms));
    if until_ms <= now_ms {
        let reason = format!("what its last request left in the cache has lived for {lives}");
        return FirstFork::Cold { reason };
    }
    FirstFork::Uncertain { reason: NOT_IN_THE_FILE.to_owned(), until_ms }
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
    if wants_a_user && first.role() == tine_model::Role::Assistant {
        Err(RuntimeError::AssistantFirst)
    } else {
        Ok(())
    }
}
