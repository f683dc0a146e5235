//! Where a client sends and how patient it is.
//!
//! Nothing here reads the environment by itself: the caller passes a function that does.

use std::time::Duration;

use tine_model::{ModelRef, Provider, WireFormat};
use tine_wire::Endpoint;

use crate::http::address::Address;
use crate::{BACKOFF_DEFAULT, LlmError, PATIENCE_DEFAULT, Secret};

/// Where Google's own tools also look for the key of the Gemini API.
pub const GOOGLE_KEY_VARIABLE: &str = "GOOGLE_API_KEY";

/// What an [`crate::HttpClient`] is made of.
#[derive(Debug, Clone)]
pub struct HttpOptions {
    /// Who serves the model, and whose formats are spoken.
    pub model: ModelRef,
    /// Address below which the paths of all formats lie. Whether it ends in a version (`/v1`) makes no difference to formats
    /// whose path has one; OpenAI's own address needs it.
    pub base_url: String,
    /// The key; `None` for endpoints that want none.
    pub key: Option<Secret>,
    /// Time limits and retries.
    pub limits: HttpLimits,
}

/// What a configuration says instead of the environment.
#[derive(Debug, Clone, Default)]
pub struct HttpOverrides {
    /// Instead of the environment's base URL and the provider's own.
    pub base_url: Option<String>,
    /// Instead of the environment's key.
    pub key: Option<Secret>,
    /// Instead of [`HttpLimits::default`].
    pub limits: Option<HttpLimits>,
}

/// Time limits of one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpLimits {
    /// For the connection, TLS included. Default 10 s: what takes longer does not come.
    pub connect: Duration,
    /// From sending to the first part of the reply, in each try. Default 5 min: a long prompt that no cache holds, or
    /// silent reasoning before an answer that is not streamed, takes minutes.
    pub first_event: Duration,
    /// Between two pieces of the answer once it began. Default 120 s: providers send a sign of life far more often.
    pub idle: Duration,
    /// For one reply from sending to its end, however it trickles. Default 1 h: the longest honest ones, of the slowest machines.
    pub reply: Duration,
    /// Most bytes of one reply. Default 64 MiB: the largest honest one in one piece holds a million tokens, four bytes each,
    /// escaped; a stream spends some 150 bytes on a token.
    pub reply_bytes: usize,
    /// For everything, retries and waits included. Default `None`: a long answer is not an error.
    pub whole: Option<Duration>,
    /// How often and after which waits a request is sent again.
    pub retry: RetryLimits,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first_event: Duration::from_secs(300),
            idle: Duration::from_secs(120),
            reply: Duration::from_secs(3_600),
            reply_bytes: 64 * 1024 * 1024,
            whole: None,
            retry: RetryLimits::default(),
        }
    }
}

/// How often and after which waits a request is sent again. Only while nothing of a reply has been reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryLimits {
    /// Longest time that all waits between the tries take together. Default 10 min: an outage is over by then, or a person has to
    /// look. A wait that a provider asks for beyond what is left of it is told instead of waited for.
    pub patience: Duration,
    /// Most tries, the first included, however short the waits are. Default 100; 0 counts as 1.
    pub tries: u32,
    /// Most tries after failures that may be for good: a server's own error (status 500) and whatever it says should be tried
    /// again. Default 8, which is about a minute.
    pub tries_failing: u32,
    /// Most tries while there is no connection, and nothing at this address has answered this process yet. Default 4, which is
    /// about 5 s: a wrong address does not become right.
    pub tries_unreachable: u32,
    /// Wait before the second try when the provider asks for none; it doubles from try to try, and up to as much
    /// again is added at random. Default 0.5 s.
    pub backoff_first: Duration,
    /// Where the doubling ends. Default 8 s.
    pub backoff_max: Duration,
    /// Seed of the random part; `None` draws one. The same seed gives the same waits.
    pub jitter_seed: Option<u64>,
}

impl Default for RetryLimits {
    fn default() -> Self {
        Self {
            patience: PATIENCE_DEFAULT,
            tries: 100,
            tries_failing: 8,
            tries_unreachable: 4,
            backoff_first: BACKOFF_DEFAULT,
            backoff_max: Duration::from_secs(8),
            jitter_seed: None,
        }
    }
}

impl HttpOptions {
    /// Whose cache requests meet: the same for the same address and key, and telling nothing of the key. Providers keep caches
    /// apart by workspace, which a key belongs to.
    pub fn account(&self) -> String {
        account(&self.base_url, self.key.as_ref().map_or("", |key| key.expose()))
    }

    /// The host, with its port where it is not the usual one of its scheme; `None` for an address that is none.
    pub fn host(&self) -> Option<String> {
        let address = Address::parse(&self.base_url).ok()?;
        let host = address.base().host_str()?;
        Some(address.base().port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}")))
    }

    /// The options of a model's provider: overrides first, then the environment, then the provider's own address.
    ///
    /// A key is demanded where the provider demands one, except at a loopback address: a simulator or a proxy of the user's answers there.
    pub fn from_environment(
        model: &ModelRef,
        variable: &dyn Fn(&str) -> Option<String>,
        overrides: HttpOverrides,
    ) -> Result<Self, LlmError> {
        let provider = model.provider;
        let endpoint = Endpoint::of(provider);
        let read = |name: &str| {
            let value = variable(name)?;
            Some(value.trim().to_owned()).filter(|value| !value.is_empty())
        };
        let base_url = overrides
            .base_url
            .or_else(|| read(endpoint?.base_url_variable))
            .or_else(|| endpoint?.base_url.map(str::to_owned))
            .ok_or_else(|| LlmError::MissingBaseUrl {
                provider,
                variable: endpoint.map(|endpoint| endpoint.base_url_variable),
            })?;
        let address = Address::parse(&base_url)?;
        let also = (provider == Provider::Gemini).then_some(GOOGLE_KEY_VARIABLE);
        let mut variables = endpoint.map(|endpoint| endpoint.key_variable).into_iter().chain(also);
        let token = || Some(Secret::token(&read(endpoint?.token_variable?)?));
        let key =
            overrides.key.or_else(token).or_else(|| Some(Secret::new(&variables.find_map(read)?)));
        if let Some(endpoint) = endpoint
            && endpoint.key_required
            && key.is_none()
            && !address.is_loopback()
        {
            return Err(LlmError::MissingKey { variable: endpoint.key_variable.to_owned() });
        }
        let limits = overrides.limits.unwrap_or_default();
        Ok(Self { model: model.clone(), base_url, key, limits })
    }
}

/// The account of a key at an address, as [`HttpOptions::account`] tells it.
pub fn account(base_url: &str, key: &str) -> String {
    let mut hasher = blake3::Hasher::new_derive_key("tine account of a provider's cache");
    hasher.update(base_url.trim_end_matches('/').as_bytes()).update(b"\n");
    hasher.update(key.as_bytes());
    hasher.finalize().to_hex().to_string()
}

/// Whether a provider answers requests in a format. A lineage keeps the format that it began with, so this may be another one
/// than [`Provider::format`], in which new ones begin.
pub(crate) fn speaks(provider: Provider, format: WireFormat) -> bool {
    match provider {
        Provider::Sim => true,
        Provider::Anthropic | Provider::MiniMax => format == WireFormat::Anthropic,
        Provider::OpenAi | Provider::OpenAiChat | Provider::OpenAiCompat => match format {
            WireFormat::OpenAiChat | WireFormat::OpenAiChatParts | WireFormat::OpenAiResponses => {
                true
            }
            WireFormat::Anthropic | WireFormat::Gemini => false,
        },
        Provider::DeepSeek => format.of_messages() == WireFormat::OpenAiChat,
        Provider::Gemini => format == WireFormat::Gemini,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(
        provider: Provider,
        environment: &[(&str, &str)],
        overrides: HttpOverrides,
    ) -> Result<HttpOptions, LlmError> {
        let find = |name: &str| {
            environment.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        };
        let model = ModelRef { provider, name: "m".to_owned() };
        HttpOptions::from_environment(&model, &find, overrides)
    }

    fn base(url: &str) -> HttpOverrides {
        HttpOverrides { base_url: Some(url.to_owned()), ..HttpOverrides::default() }
    }

    #[test]
    fn what_is_missing_is_named() {
        let texts = [
            options(Provider::Anthropic, &[("ANTHROPIC_API_KEY", " ")], HttpOverrides::default()),
            options(Provider::OpenAi, &[], HttpOverrides::default()),
            options(Provider::OpenAiCompat, &[], HttpOverrides::default()),
            options(Provider::Sim, &[], HttpOverrides::default()),
            options(Provider::OpenAiCompat, &[], base("localhost:8080")),
            options(Provider::OpenAiCompat, &[], base("not a url")),
            options(Provider::OpenAiCompat, &[], base("https://me:hunter22@host/v1")),
            options(Provider::OpenAiCompat, &[], base("https://me:hunter22@ho st/v1")),
            options(Provider::OpenAiCompat, &[], base("https://host/v1?api_key=hunter22")),
        ]
        .map(|result| result.unwrap_err().to_string())
        .join("\n");
        assert!(!texts.contains("hunter22"));
        insta::assert_snapshot!(texts, @r#"
        no API key: ANTHROPIC_API_KEY is not set
        no API key: OPENAI_API_KEY is not set
        no base URL for provider `openai-compat`: OPENAI_COMPAT_BASE_URL is not set
        no base URL for provider `sim`
        the base URL `localhost:8080` cannot be used: it does not begin with http:// or https://
        the base URL `not a url` cannot be used: relative URL without a base
        the base URL `https://…@host/v1` cannot be used: it holds a name or password; use the key's variable
        the base URL `https://…@ho st/v1` cannot be used: invalid international domain name
        the base URL `https://host/v1` cannot be used: it holds a `?` or `#`
        "#);
    }

    #[test]
    fn overrides_come_before_the_environment_before_the_default() {
        let environment = [
            ("ANTHROPIC_API_KEY", "key-of-environment\n"),
            ("ANTHROPIC_BASE_URL", "http://proxy/"),
        ];
        let found = options(Provider::Anthropic, &environment[..1], HttpOverrides::default());
        let found = found.unwrap();
        assert_eq!(found.base_url, "https://api.anthropic.com");
        assert_eq!(found.key.unwrap().expose(), "key-of-environment");
        let found = options(Provider::Anthropic, &environment, HttpOverrides::default()).unwrap();
        assert_eq!(found.base_url, "http://proxy/");
        let overrides = HttpOverrides { key: Some(Secret::new("own")), ..base("http://own/") };
        let found = options(Provider::Anthropic, &environment, overrides).unwrap();
        assert_eq!((found.base_url.as_str(), found.key.unwrap().expose()), ("http://own/", "own"));
    }

    #[test]
    fn a_loopback_address_needs_no_key() {
        for url in
            ["http://127.0.0.1:1", "http://[::1]:1", "http://localhost", "http://a.localhost"]
        {
            assert!(options(Provider::Anthropic, &[], base(url)).is_ok(), "{url}");
        }
        assert!(options(Provider::Anthropic, &[], base("http://127.0.0.1.example.com")).is_err());
    }

    #[test]
    fn every_provider_has_its_variables() {
        let check = |provider, name: &str, expected_url: &str| {
            let found = options(provider, &[(name, "k")], HttpOverrides::default()).unwrap();
            assert_eq!(found.base_url, expected_url);
            assert_eq!(found.key.unwrap().expose(), "k");
        };
        let google = "https://generativelanguage.googleapis.com";
        check(Provider::Gemini, "GEMINI_API_KEY", google);
        check(Provider::Gemini, "GOOGLE_API_KEY", google);
        check(Provider::DeepSeek, "DEEPSEEK_API_KEY", "https://api.deepseek.com");
        check(Provider::MiniMax, "MINIMAX_API_KEY", "https://api.minimax.io/anthropic");
        check(Provider::OpenAi, "OPENAI_API_KEY", "https://api.openai.com/v1");
        let found = options(
            Provider::Anthropic,
            &[("ANTHROPIC_API_KEY", "key"), ("ANTHROPIC_AUTH_TOKEN", "token")],
            HttpOverrides::default(),
        );
        let found = found.unwrap().key.unwrap();
        assert_eq!((found.expose(), found.is_token()), ("token", true));
        let both = [("GOOGLE_API_KEY", "second"), ("GEMINI_API_KEY", "first")];
        let found = options(Provider::Gemini, &both, HttpOverrides::default()).unwrap();
        assert_eq!(found.key.unwrap().expose(), "first");
        let other = options(Provider::OpenAi, &both, HttpOverrides::default());
        assert!(matches!(other, Err(LlmError::MissingKey { .. })));
    }

    #[test]
    fn every_provider_speaks_the_format_in_which_it_begins() {
        for provider in Provider::ALL {
            assert!(speaks(provider, provider.format()), "{provider:?}");
        }
        assert!(speaks(Provider::OpenAi, WireFormat::OpenAiChat));
        assert!(!speaks(Provider::Anthropic, WireFormat::Gemini));
    }
}
