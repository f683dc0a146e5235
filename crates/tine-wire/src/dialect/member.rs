//! One member of a request, by its place.

use std::fmt;

/// Longest name of a member that is taken from a server's words. The longest that any vendor has is half as long.
const NAME_BYTES_MAX: usize = 64;

/// Deepest place among messages: a call's function in a message.
const DEPTH_MAX: usize = 4;

/// Members of messages that carry what is said. Without one of them the message would say something else, so none is left out whatever
/// a server thinks of it.
const SAID: [&str; 24] = [
    "role",
    "content",
    "parts",
    "type",
    "text",
    "id",
    "call_id",
    "tool_call_id",
    "tool_use_id",
    "tool_calls",
    "function",
    "functionCall",
    "functionResponse",
    "name",
    "arguments",
    "args",
    "input",
    "output",
    "source",
    "data",
    "thinking",
    "signature",
    "thoughtSignature",
    "encrypted_content",
];

/// Settings of requests that serve the cache or the bookkeeping, and those of sampling, which many models have no more: an answer without
/// them is an answer. All others are somebody's wish, and a server that refuses one is told to whoever wished it. `store` is not among
/// them: a server that is not told `false` keeps the conversation.
const UPKEEP: [&str; 16] = [
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
    "prompt_cache_breakpoint",
    "cache_control",
    "diagnostics",
    "stream_options",
    "include",
    "metadata",
    "service_tier",
    "safety_identifier",
    "user",
    "temperature",
    "top_p",
    "top_k",
    "seed",
];

/// A member of a request.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Member {
    /// Of the request itself.
    OfRequests(String),
    /// Of its messages: names from the message inwards. Lists on the way are not named.
    OfMessages(Vec<String>),
}

impl Member {
    /// Reads the text form: `prompt_cache_key`, `messages.reasoning`, `messages.tool_calls.index`. `None` for a text that is none, and
    /// for a member that no request can do without.
    pub fn parse(text: &str) -> Option<Self> {
        let mut names = text.split('.').map(str::to_owned);
        let first = names.next()?;
        let rest: Vec<String> = names.collect();
        match (first.as_str(), &rest[..]) {
            ("messages", [_, ..]) => Self::in_messages(rest),
            (_, []) => Self::in_requests(first),
            _ => None,
        }
    }

    /// A member of the request itself that it can do without.
    pub(crate) fn in_requests(name: String) -> Option<Self> {
        UPKEEP.contains(&name.as_str()).then_some(Self::OfRequests(name))
    }

    /// A member of messages that they can do without.
    pub(crate) fn in_messages(path: Vec<String>) -> Option<Self> {
        let is_name = |name: &String| {
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            (1..=NAME_BYTES_MAX).contains(&name.len()) && name.chars().all(plain)
        };
        let last = path.last()?;
        let fits = path.len() <= DEPTH_MAX && path.iter().all(is_name);
        (fits && !SAID.contains(&last.as_str())).then_some(Self::OfMessages(path))
    }

    /// The names from the message inwards, of a member of messages.
    pub(crate) fn of_messages(&self) -> Option<&[String]> {
        match self {
            Self::OfMessages(path) => Some(path),
            Self::OfRequests(_) => None,
        }
    }

    /// The name of a member of the request itself.
    pub(crate) fn of_requests(&self) -> Option<&str> {
        match self {
            Self::OfRequests(name) => Some(name),
            Self::OfMessages(_) => None,
        }
    }

    /// Returns true for members of messages. A host that refuses one refuses it for every model; settings differ from model to model.
    pub fn is_of_messages(&self) -> bool {
        self.of_messages().is_some()
    }
}

impl fmt::Display for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OfRequests(name) => f.write_str(name),
            Self::OfMessages(path) => write!(f, "messages.{}", path.join(".")),
        }
    }
}
