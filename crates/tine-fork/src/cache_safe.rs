//! What a fork inherits: everything of the parent's last request that a provider's cache looks at.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tine_history::{Hash, History};
use tine_llm::Request;
use tine_model::{CacheScheme, Effort, ModelRef, Provider};
use tine_model::{EntryId, Message, ModelSettings, RawJson, Role, Segment, Thinking, ToolChoice};
use tine_wire::{
    Endpoint, Head, HeadParts, Lifetimes, MarkPoints, PortableMessage, ReadRequestError,
    SentRequest, SystemBlock, ToolDeclaration, ToolOrder, first_difference, read_request,
};

use crate::conversation::Conversation;

/// Agents whose last request a slot remembers. Beyond that, the one that was saved first is forgotten.
pub const SLOT_AGENTS_MAX: usize = 1_024;

/// A parent's request, as it was sent.
#[derive(Debug, Clone)]
pub struct ParentRequest {
    /// Model, settings, tools, system prompt.
    pub head: HeadParts,
    /// HTTP headers that the request carried beside those of every request, such as a provider's beta headers.
    pub headers: Vec<(String, String)>,
    /// How long the parent's cache entries are asked to live.
    pub lifetimes: Lifetimes,
    /// The messages, in order; the last may hold calls that nobody has answered yet.
    pub messages: Vec<Message>,
}

impl ParentRequest {
    /// Takes over the body of a request that another program has sent to this provider: forks send its own bytes, and their words
    /// where its messages end, so what is not known of it passes through. Headers and lifetimes are the caller's to add. For
    /// Gemini, whose bodies name no model, [`Self::read_of`] reads it.
    pub fn read(provider: Provider, body: &[u8]) -> Result<Self, ReadRequestError> {
        Self::taken(read_request(provider, None, body)?)
    }

    /// Takes over the body of a request whose address names this model.
    pub fn read_of(model: &ModelRef, body: &[u8]) -> Result<Self, ReadRequestError> {
        Self::taken(read_request(model.provider, Some(&model.name), body)?)
    }

    fn taken((head, messages): (HeadParts, Vec<Message>)) -> Result<Self, ReadRequestError> {
        Ok(Self { head, headers: Vec::new(), lifetimes: Lifetimes::default(), messages })
    }
}

/// Everything of a request that decides whether its cache entry serves another one, and what the other one needs beside it.
///
/// It can be written and read (serde): what another process or machine reads makes the same bytes, so its forks share the
/// parent's cache.
///
/// A fork sends exactly this before its own words, so whoever changes a field of it gives the cache up, but for `temperature`,
/// `max_tokens` and `stop_sequences`, which no provider's cache looks at. Cloning is cheap whatever the length of the
/// conversation.
#[derive(Debug, Clone)]
pub struct CacheSafeParams {
    /// The system prompt, where it is one text.
    pub system_prompt: Arc<str>,
    /// The system prompt in blocks, each with its own cache policy. Where there are any, they stand in place of `system_prompt`.
    pub system_blocks: Arc<[SystemBlock]>,
    /// The tools that the model sees. A fork refuses calls by its filter and keeps the declarations.
    pub tools: Arc<[ToolDeclaration]>,
    /// In which order the tools are sent.
    pub tool_order: ToolOrder,
    /// Whether the end of the tools is a place of its own for the cache.
    pub cache_tools: bool,
    /// The model.
    pub model: ModelRef,
    /// Whether and which tools must be called.
    pub tool_choice: ToolChoice,
    /// Reasoning; `None` leaves it to the provider.
    pub thinking: Option<Thinking>,
    /// Effort; `None` leaves it to the provider.
    pub effort: Option<Effort>,
    /// Further settings at the top of the request, passed through.
    pub extra: Arc<[(String, RawJson)]>,
    /// HTTP headers beside those of every request.
    pub headers: Arc<[(String, String)]>,
    /// Texts at which a reply ends. Not part of any cached prefix.
    pub stop_sequences: Arc<[String]>,
    /// Not part of any cached prefix.
    pub temperature: Option<f64>,
    /// Most tokens of one reply. Not part of any cached prefix.
    pub max_tokens: u32,
    /// How the provider's cache is told what to keep.
    pub scheme: CacheScheme,
    /// What tells this lineage's cache from others' (`prompt_cache_key`), where the provider takes one.
    pub cache_key: Option<String>,
    /// Whether reasoning that is bound to another head is left out instead of refused.
    pub drop_foreign_thinking: bool,
    /// How long cache entries are asked to live.
    pub lifetimes: Lifetimes,
    /// The parent's request in its own bytes, where it was read of them ([`ParentRequest::read`]). They are sent as long as the
    /// other fields say the same.
    pub sent: Option<Arc<SentRequest>>,
    /// The parent's messages, bit for bit, calls without an answer included.
    pub fork_context_messages: ContextMessages,
}

impl CacheSafeParams {
    /// Everything of a parent's request, bit for bit. Where it says what the present version of the provider's API refuses, and its
    /// headers name no version, it was written for the version before: forks then name that one.
    pub fn from_parent_request(request: &ParentRequest) -> Self {
        let ParentRequest { head, mut headers, lifetimes, messages } = request.clone();
        let head = head.streamed();
        headers.extend(Endpoint::version_of(&head, &messages, &headers));
        let messages = ContextMessages::from(messages).behind(&head);
        Self::of(head, (headers, lifetimes), messages)
    }

    fn of(
        head: HeadParts,
        (headers, lifetimes): (Vec<(String, String)>, Lifetimes),
        messages: ContextMessages,
    ) -> Self {
        Self {
            system_prompt: head.system.into(),
            system_blocks: head.system_blocks.into(),
            tools: head.tools.into(),
            tool_order: head.tool_order,
            cache_tools: head.cache_tools,
            model: head.settings.model,
            tool_choice: head.tool_choice,
            thinking: head.settings.thinking,
            effort: head.settings.effort,
            extra: head.extra.into(),
            headers: headers.into(),
            stop_sequences: head.stop_sequences.into(),
            temperature: head.temperature,
            max_tokens: head.settings.max_tokens,
            scheme: head.scheme,
            cache_key: head.cache_key,
            drop_foreign_thinking: head.drop_foreign_thinking,
            lifetimes,
            sent: head.sent,
            fork_context_messages: messages,
        }
    }

    /// Returns the parts of the request's head, without what the version of the API refuses that the headers name.
    pub fn head(&self) -> HeadParts {
        Endpoint::for_version(self.parts(), &self.headers)
    }

    fn parts(&self) -> HeadParts {
        HeadParts {
            settings: ModelSettings {
                model: self.model.clone(),
                max_tokens: self.max_tokens,
                thinking: self.thinking,
                effort: self.effort,
            },
            system: self.system_prompt.to_string(),
            system_blocks: self.system_blocks.to_vec(),
            tools: self.tools.to_vec(),
            tool_order: self.tool_order,
            cache_tools: self.cache_tools,
            tool_choice: self.tool_choice.clone(),
            temperature: self.temperature,
            stop_sequences: self.stop_sequences.to_vec(),
            extra: self.extra.to_vec(),
            stream: true,
            scheme: self.scheme,
            cache_key: self.cache_key.clone(),
            drop_foreign_thinking: self.drop_foreign_thinking,
            sent: self.sent.clone(),
        }
    }

    /// Tells settings apart that share no cache: the same on every machine and in every build. It changes with each field that
    /// a provider's cache looks at; not with temperature, token limit and stop sequences, and not with the messages, whose
    /// identity is [`Self::prefix_hash`].
    pub fn cache_key_hash(&self) -> u64 {
        self.head().cache_key_hash()
    }

    /// Identity of the inherited messages: equal where two prefixes have the same bytes in this provider's format.
    pub fn prefix_hash(&self) -> Option<Hash> {
        self.conversation().request(false).0.prefix.last().copied()
    }

    /// The first part, in prompt order, in which the request for `other`'s messages parts from the one for these; `None` where
    /// one only goes on from the other. Reads both whole.
    pub fn first_difference(&self, other: &Self) -> Option<Segment> {
        let body = |params: &Self| params.conversation().request(false).0.body.to_vec();
        first_difference(self.model.format(), &body(self), &body(other))
    }

    /// The request that asks `prompt` of the model behind everything inherited: the one that a fork sends first. Without a prompt it
    /// is the parent's own request, handed on unchanged: calls that are open in it stay open, and no provider answers it like that.
    pub fn build_request(&self, prompt: impl IntoIterator<Item = Message>) -> Request {
        let mut conversation = self.conversation();
        let inherited = conversation.history().len();
        for message in prompt {
            let next = EntryId(conversation.history().len() as i64 + 1);
            conversation.push(next, Arc::new(message));
        }
        if conversation.history().len() == inherited {
            conversation.as_it_stands()
        } else {
            conversation.request(false).0
        }
    }

    /// A child's conversation that has said nothing yet.
    pub(crate) fn conversation(&self) -> Conversation {
        self.conversation_with(Arc::new(Head::render(self.head())))
    }

    /// The same, with a head that was rendered before from equal parts.
    pub(crate) fn conversation_with(&self, head: Arc<Head>) -> Conversation {
        let context = &self.fork_context_messages;
        let points = MarkPoints { sent: context.sent(), inherited: Some(context.len()) };
        let conversation = Conversation::new(head, context.fork(), points)
            .living(self.lifetimes)
            .carrying(Arc::clone(&self.headers));
        match self.other_head() {
            None => conversation,
            Some(sent) => {
                let head = Arc::new(Head::render(sent));
                let mut sent = Conversation::new(head, context.fork(), points);
                conversation.parted_from(&sent.request(false).1)
            }
        }
    }

    /// What the messages were sent behind, where that shares no cache with what a fork sends before them. What no cache looks at
    /// is taken from the fork, so that it is not blamed.
    fn other_head(&self) -> Option<HeadParts> {
        let (own, sent) = (self.head(), self.fork_context_messages.head.as_deref()?);
        let mut sent = sent.clone();
        sent.settings.max_tokens = own.settings.max_tokens;
        sent.temperature = own.temperature;
        sent.stop_sequences.clone_from(&own.stop_sequences);
        sent.stream = own.stream;
        let is_comparable = sent.settings.model.format() == own.settings.model.format();
        (is_comparable && sent != own).then_some(sent)
    }
}

/// The parameters as they are written. What is read back makes the same bytes.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written<'a> {
    head: HeadParts,
    headers: Vec<(String, String)>,
    lifetimes: Lifetimes,
    messages: Vec<PortableMessage<'a>>,
    /// The number of them that the parent's last request held.
    sent: usize,
    /// The head that they were sent behind, where that is another one.
    behind: Option<HeadParts>,
}

impl Serialize for CacheSafeParams {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let context = &self.fork_context_messages;
        let messages = context.to_vec();
        let written = Written {
            // Without what a version of the API refuses: the headers name it.
            head: self.parts(),
            headers: self.headers.to_vec(),
            lifetimes: self.lifetimes,
            messages: messages.iter().map(|message| PortableMessage::from(&**message)).collect(),
            sent: context.sent,
            behind: context.head.as_deref().cloned(),
        };
        written.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for CacheSafeParams {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Written { head, headers, lifetimes, messages, sent, behind } =
            Written::deserialize(deserializer)?;
        let messages: Vec<Message> =
            messages.into_iter().map(PortableMessage::into_message).collect();
        if sent > messages.len() {
            return Err(D::Error::custom("more messages were sent than there are"));
        }
        let context = ContextMessages { sent, ..ContextMessages::from(messages) };
        let context = ContextMessages { head: behind.map(Arc::new), ..context };
        Ok(Self::of(head, (headers, lifetimes), context))
    }
}

/// The messages that a fork inherits. Clones, and forks made from them, share the messages and their bytes.
#[derive(Clone)]
pub struct ContextMessages {
    history: Arc<Mutex<History>>,
    /// How many of them the parent's last request held.
    sent: usize,
    /// What they were sent behind, where that is known: it names what differs when a fork's cache is broken.
    head: Option<Arc<HeadParts>>,
}

impl ContextMessages {
    /// How many.
    pub fn len(&self) -> usize {
        self.history().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All of them, oldest first.
    pub fn to_vec(&self) -> Vec<Arc<Message>> {
        self.history().iter().map(|item| Arc::clone(&item.message)).collect()
    }

    /// These, and one more that the parent's last request did not hold, such as its reply. Constant time.
    #[must_use]
    pub fn and(&self, message: Message) -> Self {
        let mut history = self.fork();
        let next = EntryId(history.len() as i64 + 1);
        history.push(next, Arc::new(message));
        // Freezes it, so that all forks share the bytes.
        let history = history.fork();
        Self { history: Arc::new(Mutex::new(history)), sent: self.sent, head: self.head.clone() }
    }

    /// What a conversation holds now, all of which it has sent but for the messages behind `sent`. Constant time.
    pub fn of(conversation: &mut Conversation) -> Self {
        let child = conversation.fork();
        let sent = child.sent().unwrap_or(0);
        Self { history: Arc::new(Mutex::new(child.into_history())), sent, head: None }
    }

    fn behind(self, head: &HeadParts) -> Self {
        Self { head: Some(Arc::new(head.clone())), ..self }
    }

    pub(crate) fn last_role(&self) -> Option<Role> {
        self.history().last().map(|item| item.message.role())
    }

    fn fork(&self) -> History {
        self.history().fork()
    }

    fn sent(&self) -> Option<usize> {
        (self.sent > 0).then_some(self.sent)
    }

    fn history(&self) -> MutexGuard<'_, History> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl From<Vec<Message>> for ContextMessages {
    /// The messages of a request that was sent.
    fn from(messages: Vec<Message>) -> Self {
        let sent = messages.len();
        let item = |(index, message): (usize, Message)| tine_history::Item {
            entry: EntryId(index as i64 + 1),
            message: Arc::new(message),
        };
        let items = messages.into_iter().enumerate().map(item).collect();
        let history = Arc::new(Mutex::new(History::from_items(items)));
        Self { history, sent, head: None }
    }
}

impl fmt::Debug for ContextMessages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContextMessages")
            .field("len", &self.len())
            .field("sent", &self.sent)
            .finish()
    }
}

/// The last request of each agent, for whoever forks one later. Clones are the same slot.
#[derive(Debug, Clone, Default)]
pub struct CacheSafeSlot(Arc<Mutex<Slots>>);

#[derive(Debug, Default)]
struct Slots {
    saved: HashMap<Arc<str>, (u64, CacheSafeParams)>,
    count: u64,
}

impl CacheSafeSlot {
    /// An empty slot.
    pub fn new() -> Self {
        Self::default()
    }

    /// Remembers an agent's last request; the last one saved counts.
    pub fn save(&self, agent: impl Into<Arc<str>>, params: CacheSafeParams) {
        let mut slots = self.slots();
        slots.count += 1;
        let number = slots.count;
        slots.saved.insert(agent.into(), (number, params));
        if slots.saved.len() > SLOT_AGENTS_MAX {
            let first = slots.saved.iter().min_by_key(|(_, (number, _))| *number);
            if let Some(first) = first.map(|(agent, _)| Arc::clone(agent)) {
                slots.saved.remove(&first);
            }
        }
    }

    /// An agent's last request, if it was saved.
    pub fn read(&self, agent: &str) -> Option<CacheSafeParams> {
        self.slots().saved.get(agent).map(|(_, params)| params.clone())
    }

    /// Forgets an agent's last request, and returns it.
    pub fn clear(&self, agent: &str) -> Option<CacheSafeParams> {
        self.slots().saved.remove(agent).map(|(_, params)| params)
    }

    fn slots(&self) -> MutexGuard<'_, Slots> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
