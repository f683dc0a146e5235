//! A number for everything before the first message, the same in every process and on every machine.

use tine_history::Hash;
use tine_model::{Effort, Lifetime, Thinking, ToolChoice};

use crate::head_parts::HeadParts;
use crate::splice::SentRequest;

/// Version of the encoding below. It changes whenever the encoding does, and all keys with it.
const VERSION: u32 = 1;

impl HeadParts {
    /// A key by which two parties see whether their requests can share a provider's cache: the first 8 bytes, little endian, of
    /// a BLAKE3 over a canonical encoding of these parts. It does not depend on the process, the machine or the wire format's
    /// rendering, and may be stored. Equal parts have equal keys; [`Head::hash`](crate::Head::hash) is the identity of the bytes.
    ///
    /// It changes with the provider and the model, the system prompt (the one text and the blocks, each with its mark), the tools
    /// (names, descriptions, schema bytes, and the order in which they are sent), `cache_tools`, the tool choice, thinking, `drop_foreign_thinking`, the
    /// effort, the scheme, the cache key, and the further settings (not their order).
    ///
    /// Of a request that was taken over ([`HeadParts::sent`]), every setting counts as it stands in it, but for those below.
    ///
    /// It does not change with the temperature, the token limit, the stop sequences or streaming. These only act on what is
    /// generated: none is on Anthropic's list of what invalidates a cache or on OpenAI's list of settings that affect the prefix.
    /// Thinking and effort are on both. The tool choice is on Anthropic's (entries of messages are lost, those of tools and system
    /// stay) and part of what Gemini holds as cached content; OpenAI serves `none` and the others alike, so there a changed key may
    /// still find its entries. Further settings count whatever they are, because nothing is known of them.
    ///
    /// The encoding: the version, 1, as 4 bytes; then each field in the order of the source. Numbers are 8 bytes, all of them little
    /// endian. A text is its length in bytes and the bytes; a list its length and its elements; what may be absent a list of none or one.
    pub fn cache_key_hash(&self) -> u64 {
        let mut encoding = Encoding::new();
        encoding.text(self.settings.model.provider.as_str());
        encoding.text(&self.settings.model.name);
        encoding.text(&self.system);
        encoding.list(&self.system_blocks, |encoding, block| {
            encoding.text(&block.text);
            encoding.option(block.cache.map(Lifetime::as_str));
        });
        encoding.list(&self.sent_tools(), |encoding, tool| {
            encoding.text(&tool.name);
            encoding.text(&tool.description);
            encoding.text(tool.schema.as_str());
        });
        encoding.number(self.cache_tools.into());
        let (choice, name) = match &self.tool_choice {
            ToolChoice::Auto => ("auto", None),
            ToolChoice::None => ("none", None),
            ToolChoice::Required => ("required", None),
            ToolChoice::Tool(name) => ("tool", Some(name.as_str())),
        };
        encoding.text(choice);
        encoding.option(name);
        let (thinking, budget) = match self.settings.thinking {
            None => ("", 0),
            Some(Thinking::Adaptive) => ("adaptive", 0),
            Some(Thinking::Budget(tokens)) => ("budget", tokens.into()),
        };
        encoding.text(thinking);
        encoding.number(budget);
        encoding.number(self.drop_foreign_thinking.into());
        encoding.option(self.settings.effort.map(Effort::as_str));
        encoding.text(self.scheme.as_str());
        encoding.option(self.cache_key.as_deref());
        let mut extra: Vec<_> = self.extra.iter().collect();
        extra.sort_by_key(|(name, _)| name);
        encoding.list(&extra, |encoding, (name, value)| {
            encoding.text(name);
            encoding.text(value.as_str());
        });
        if let Some(sent) = &self.sent {
            encoding.list(&of_prefix(sent), |encoding, (name, value)| {
                encoding.text(name);
                encoding.text(value);
            });
        }
        encoding.first_word()
    }
}

/// The settings of a request that was taken over, as they stand in it, but for those that only act on what is generated.
fn of_prefix(sent: &SentRequest) -> Vec<(&str, &str)> {
    const GENERATION: [&str; 8] = [
        "max_tokens",
        "max_completion_tokens",
        "max_output_tokens",
        "temperature",
        "stop",
        "stop_sequences",
        "stream",
        "stream_options",
    ];
    sent.split().settings().filter(|(name, _)| !GENERATION.contains(name)).collect()
}

/// The canonical encoding, hashed as it is written.
struct Encoding(blake3::Hasher);

impl Encoding {
    fn new() -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&VERSION.to_le_bytes());
        Self(hasher)
    }

    fn number(&mut self, number: u64) {
        self.0.update(&number.to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.0.update(text.as_bytes());
    }

    fn list<T>(&mut self, items: &[T], element: impl Fn(&mut Self, &T)) {
        self.number(items.len() as u64);
        items.iter().for_each(|item| element(self, item));
    }

    fn option(&mut self, text: Option<&str>) {
        self.list(text.as_slice(), |encoding, text| encoding.text(text));
    }

    fn first_word(self) -> u64 {
        let hash: Hash = *self.0.finalize().as_bytes();
        let [a, b, c, d, e, f, g, h, ..] = hash;
        u64::from_le_bytes([a, b, c, d, e, f, g, h])
    }
}
