//! Where requests go and how they carry the key.

use tine_model::{Provider, WireFormat};

/// Version of the Messages API that is asked for. Source: Anthropic's API reference, "Versions".
const ANTHROPIC_VERSION: &str = "2023-06-01";

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
    /// Path below the base URL.
    pub path: &'static str,
}

impl Endpoint {
    /// The endpoint of a provider; `None` for the simulator, which runs inside the process.
    pub fn of(provider: Provider) -> Option<Self> {
        match provider {
            Provider::Sim => None,
            Provider::Anthropic => Some(Self {
                base_url: Some("https://api.anthropic.com"),
                base_url_variable: "ANTHROPIC_BASE_URL",
                key_variable: "ANTHROPIC_API_KEY",
                key_required: true,
                path: Self::path(WireFormat::Anthropic),
            }),
            Provider::OpenAi => Some(Self {
                base_url: Some("https://api.openai.com/v1"),
                base_url_variable: "OPENAI_BASE_URL",
                key_variable: "OPENAI_API_KEY",
                key_required: true,
                path: Self::path(WireFormat::OpenAiChat),
            }),
            Provider::OpenAiCompat => Some(Self {
                base_url: None,
                base_url_variable: "OPENAI_COMPAT_BASE_URL",
                key_variable: "OPENAI_COMPAT_API_KEY",
                key_required: false,
                path: Self::path(WireFormat::OpenAiChat),
            }),
        }
    }

    /// The path of a format below a base URL. OpenAI's base URLs end in `/v1`, Anthropic's do not.
    pub fn path(format: WireFormat) -> &'static str {
        match format {
            WireFormat::Anthropic => "/v1/messages",
            WireFormat::OpenAiChat => "/chat/completions",
        }
    }

    /// Headers of a request besides content type and length. The key's value is a secret.
    pub fn headers(format: WireFormat, key: Option<&str>) -> Vec<(&'static str, String)> {
        let mut headers = Vec::new();
        match format {
            WireFormat::Anthropic => {
                headers.push(("anthropic-version", ANTHROPIC_VERSION.to_owned()));
                headers.extend(key.map(|key| ("x-api-key", key.to_owned())));
            }
            WireFormat::OpenAiChat => {
                headers.extend(key.map(|key| ("authorization", format!("Bearer {key}"))));
            }
        }
        headers
    }
}
