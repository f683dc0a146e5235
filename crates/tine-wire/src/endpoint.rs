//! Where requests go and how they carry the key.

use tine_model::{Provider, WireFormat};

/// Version of the Messages API that is asked for: the one that Anthropic's own libraries send since their first major
/// versions (`anthropic` 2.12.0 for Python, `@anthropic-ai/sdk` 1.12.0). Until August 2026 "Versions" in the API reference
/// named `2023-06-01`.
const ANTHROPIC_VERSION: &str = "2026-10-21";

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
                key_required: true,
            },
            Provider::OpenAi | Provider::OpenAiChat => Self {
                base_url: Some("https://api.openai.com/v1"),
                base_url_variable: "OPENAI_BASE_URL",
                key_variable: "OPENAI_API_KEY",
                key_required: true,
            },
            Provider::OpenAiCompat => Self {
                base_url: None,
                base_url_variable: "OPENAI_COMPAT_BASE_URL",
                key_variable: "OPENAI_COMPAT_API_KEY",
                key_required: false,
            },
            Provider::Gemini => Self {
                base_url: Some("https://generativelanguage.googleapis.com"),
                base_url_variable: "GEMINI_BASE_URL",
                key_variable: "GEMINI_API_KEY",
                key_required: true,
            },
            Provider::DeepSeek => Self {
                base_url: Some("https://api.deepseek.com"),
                base_url_variable: "DEEPSEEK_BASE_URL",
                key_variable: "DEEPSEEK_API_KEY",
                key_required: true,
            },
            Provider::MiniMax => Self {
                base_url: Some("https://api.minimax.io/anthropic"),
                base_url_variable: "MINIMAX_BASE_URL",
                key_variable: "MINIMAX_API_KEY",
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

    /// Headers of a request besides content type and length. The key's value is a secret.
    pub fn headers(format: WireFormat, key: Option<&str>) -> Vec<(&'static str, String)> {
        let mut headers = Vec::new();
        match format {
            WireFormat::Anthropic => {
                headers.push(("anthropic-version", ANTHROPIC_VERSION.to_owned()));
                headers.push(("anthropic-beta", ANTHROPIC_BETA.to_owned()));
                headers.extend(key.map(|key| ("x-api-key", key.to_owned())));
            }
            WireFormat::OpenAiChat | WireFormat::OpenAiChatParts | WireFormat::OpenAiResponses => {
                headers.extend(key.map(|key| ("authorization", format!("Bearer {key}"))));
            }
            WireFormat::Gemini => {
                headers.extend(key.map(|key| ("x-goog-api-key", key.to_owned())));
            }
        }
        headers
    }
}
