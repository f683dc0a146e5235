//! Where requests go and how they carry the key.

use tine_model::{Message, Provider, WireFormat};

use crate::anthropic;
use crate::head_parts::HeadParts;

/// Version of the Messages API that is asked for: the one that Anthropic's own libraries send since their first major
/// versions (`anthropic` 2.12.0 for Python, `@anthropic-ai/sdk` 1.12.0). Until August 2026 "Versions" in the API reference
/// named `2023-06-01`.
const ANTHROPIC_VERSION: &str = "2026-10-21";

/// The version before, which takes what the present one refuses.
const ANTHROPIC_VERSION_BEFORE: &str = "2023-06-01";

/// The header that says the version.
const ANTHROPIC_VERSION_HEADER: &str = "anthropic-version";

/// What must be asked for by name. `thinking-binding-controls` lets a head say what becomes of reasoning that was signed for
/// another conversation ([`HeadParts::drop_foreign_thinking`](crate::HeadParts::drop_foreign_thinking)); on a head that says
/// nothing of it, it has no effect. Source: Anthropic, "Preserved thinking: prefix checks".
const ANTHROPIC_BETA: &str = "thinking-binding-controls-2026-08-01";

/// What a provider's endpoint is called, and under which names users configure it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Endpoint {
    /// Base URL unless configured; `None` when the user must give one.
    pub base_url: Option<&'static str>,
    /// Environment variable that overrides the base URL.
    pub base_url_variable: &'static str,
    /// Environment variable that holds the key.
    pub key_variable: &'static str,
    /// Environment variable that holds a token instead of a key; it goes before the key, as in the vendor's own tools.
    pub token_variable: Option<&'static str>,
    /// Whether the endpoint refuses requests without a key.
    pub key_required: bool,
}

impl Endpoint {
    /// The endpoint of a provider; `None` for the simulator, which runs inside the process.
    pub fn of(provider: Provider) -> Option<Self> {
        Some(match provider {
            Provider::Sim => return None,
            Provider::Anthropic => Self {
                base_url: Some("https://api.anthropic.com"),
                base_url_variable: "ANTHROPIC_BASE_URL",
                key_variable: "ANTHROPIC_API_KEY",
                token_variable: Some("ANTHROPIC_AUTH_TOKEN"),
                key_required: true,
            },
            Provider::OpenAi | Provider::OpenAiChat => Self {
                base_url: Some("https://api.openai.com/v1"),
                base_url_variable: "OPENAI_BASE_URL",
                key_variable: "OPENAI_API_KEY",
                token_variable: None,
                key_required: true,
            },
            Provider::OpenAiCompat => Self {
                base_url: None,
                base_url_variable: "OPENAI_COMPAT_BASE_URL",
                key_variable: "OPENAI_COMPAT_API_KEY",
                token_variable: None,
                key_required: false,
            },
            Provider::Gemini => Self {
                base_url: Some("https://generativelanguage.googleapis.com"),
                base_url_variable: "GEMINI_BASE_URL",
                key_variable: "GEMINI_API_KEY",
                token_variable: None,
                key_required: true,
            },
            Provider::DeepSeek => Self {
                base_url: Some("https://api.deepseek.com"),
                base_url_variable: "DEEPSEEK_BASE_URL",
                key_variable: "DEEPSEEK_API_KEY",
                token_variable: None,
                key_required: true,
            },
            Provider::MiniMax => Self {
                base_url: Some("https://api.minimax.io/anthropic"),
                base_url_variable: "MINIMAX_BASE_URL",
                key_variable: "MINIMAX_API_KEY",
                token_variable: None,
                key_required: true,
            },
        })
    }

    /// The path of a format below a base URL. OpenAI's base URLs end in `/v1`, the others' do not. Gemini's path names the
    /// model, which must be one path segment, and says whether the reply is streamed.
    pub fn path(format: WireFormat, model: &str, stream: bool) -> String {
        match format {
            WireFormat::Anthropic => "/v1/messages".to_owned(),
            WireFormat::OpenAiChat | WireFormat::OpenAiChatParts => "/chat/completions".to_owned(),
            WireFormat::OpenAiResponses => "/responses".to_owned(),
            WireFormat::Gemini if stream => {
                format!("/v1beta/models/{model}:streamGenerateContent?alt=sse")
            }
            WireFormat::Gemini => format!("/v1beta/models/{model}:generateContent"),
        }
    }

    /// Where cached contents are made, below a base URL: a `POST` of [`cached_content`](crate::cached_content). `None` for
    /// formats without them.
    pub fn cached_contents_path(format: WireFormat) -> Option<&'static str> {
        match format {
            WireFormat::Gemini => Some("/v1beta/cachedContents"),
            WireFormat::Anthropic
            | WireFormat::OpenAiChat
            | WireFormat::OpenAiChatParts
            | WireFormat::OpenAiResponses => None,
        }
    }

    /// Where one cached content is read, prolonged and deleted, below a base URL. `name` is the provider's whole name for it.
    /// `None` for formats without them, and for a name that is not one: it would lead elsewhere.
    pub fn cached_content_path(format: WireFormat, name: &str) -> Option<String> {
        let collection = Self::cached_contents_path(format)?;
        let id = name.strip_prefix("cachedContents/")?;
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        (!id.is_empty() && id.chars().all(plain)).then(|| format!("{collection}/{id}"))
    }

    /// Headers of a request besides content type and length. The key's value is a secret. A token is said in every format as
    /// OpenAI's keys are.
    pub fn headers(
        format: WireFormat,
        key: Option<&str>,
        is_token: bool,
    ) -> Vec<(&'static str, String)> {
        let mut headers = Vec::new();
        let bearer = |key: &str| ("authorization", format!("Bearer {key}"));
        let (token, key) = if is_token { (key, None) } else { (None, key) };
        headers.extend(token.map(bearer));
        match format {
            WireFormat::Anthropic => {
                headers.push((ANTHROPIC_VERSION_HEADER, ANTHROPIC_VERSION.to_owned()));
                headers.push(("anthropic-beta", ANTHROPIC_BETA.to_owned()));
                headers.extend(key.map(|key| ("x-api-key", key.to_owned())));
            }
            WireFormat::OpenAiChat | WireFormat::OpenAiChatParts | WireFormat::OpenAiResponses => {
                headers.extend(key.map(bearer));
            }
            WireFormat::Gemini => {
                headers.extend(key.map(|key| ("x-goog-api-key", key.to_owned())));
            }
        }
        headers
    }

    /// The header with which a request goes that says what the present version of its API refuses: it was written for the version
    /// before. `None` for a request that the present one takes, and where the headers name a version.
    ///
    /// Version 2026-10-21 of the Messages API refuses `temperature`, `top_p` and `top_k`, also at their defaults, documents in what
    /// the model said, and citations in what the user said. Source: Anthropic, "API versions", "Migrating to API version 2026-10-21".
    pub fn version_of(
        parts: &HeadParts,
        messages: &[Message],
        headers: &[(String, String)],
    ) -> Option<(String, String)> {
        let provider = parts.settings.model.provider;
        let samples = parts.temperature.is_some()
            || parts.extra.iter().any(|(name, _)| SAMPLING.contains(&name.as_str()));
        if samples && is_versioned(provider) && version_in(headers).is_none() {
            Some(version_before())
        } else {
            Self::version_of_messages(provider, messages, headers)
        }
    }

    /// The same for messages under a head that the present version takes.
    pub fn version_of_messages<'a>(
        provider: Provider,
        messages: impl IntoIterator<Item = &'a Message>,
        headers: &[(String, String)],
    ) -> Option<(String, String)> {
        let needs_it = is_versioned(provider)
            && version_in(headers).is_none()
            && messages.into_iter().any(anthropic::is_of_version_before);
        needs_it.then(version_before)
    }

    /// The parts without what the version refuses that these headers name, or the present one where they name none. Nothing of that is
    /// looked at by a cache.
    pub fn for_version(parts: HeadParts, headers: &[(String, String)]) -> HeadParts {
        let version = version_in(headers).unwrap_or(ANTHROPIC_VERSION);
        // Versions are dates, and sort as texts.
        if !is_versioned(parts.settings.model.provider) || version < ANTHROPIC_VERSION {
            return parts;
        }
        let mut extra = parts.extra;
        extra.retain(|(name, _)| !SAMPLING.contains(&name.as_str()));
        // What is no number is refused elsewhere, with its reason.
        let temperature = parts.temperature.filter(|temperature| !temperature.is_finite());
        HeadParts { temperature, extra, ..parts }
    }

    /// Returns true for headers that have one value: a request's own replaces the usual one.
    pub fn is_single(header: &str) -> bool {
        header.eq_ignore_ascii_case(ANTHROPIC_VERSION_HEADER)
    }
}

/// Settings beside the temperature that say how the next token is drawn.
const SAMPLING: [&str; 2] = ["top_p", "top_k"];

/// Returns true for Anthropic, and for the simulator, which refuses what Anthropic refuses. Others that speak the format have its versions
/// and not their rules.
fn is_versioned(provider: Provider) -> bool {
    matches!(provider, Provider::Anthropic | Provider::Sim)
}

fn version_before() -> (String, String) {
    (ANTHROPIC_VERSION_HEADER.to_owned(), ANTHROPIC_VERSION_BEFORE.to_owned())
}

fn version_in(headers: &[(String, String)]) -> Option<&str> {
    let named = headers.iter().find(|(name, _)| Endpoint::is_single(name));
    named.map(|(_, value)| value.trim())
}
