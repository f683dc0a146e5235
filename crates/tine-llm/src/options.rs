//! Where a client sends and how patient it is.
//!
//! Nothing here reads the environment by itself: the caller passes a function that does.

use std::net::IpAddr;
use std::time::Duration;

use reqwest::Url;
use tine_model::{Provider, WireFormat};
use tine_wire::Endpoint;

use crate::{LlmError, Secret};

/// What an [`crate::HttpClient`] is made of.
#[derive(Debug, Clone)]
pub struct HttpOptions {
    /// The format that the endpoint speaks.
    pub format: WireFormat,
    /// Address below which the format's path lies.
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
            whole: None,
            retry: RetryLimits::default(),
        }
    }
}

/// How often and after which waits a request is sent again. Only while nothing of a reply has been reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryLimits {
    /// Most tries, the first included. Default 4; 0 counts as 1.
    pub tries: u32,
    /// Most tries while there is no connection at all. Default 2: a wrong address does not become right.
    pub tries_unreachable: u32,
    /// Wait before the second try when the provider asks for none; it doubles from try to try, and up to as much
    /// again is added at random. Default 0.5 s.
    pub backoff_first: Duration,
    /// Where the doubling ends. Default 8 s.
    pub backoff_max: Duration,
    /// Longest wait that a provider may ask for; when it asks for more the request fails. Default 60 s: after that a
    /// person wants to know.
    pub asked_wait_max: Duration,
    /// Seed of the random part; `None` draws one. The same seed gives the same waits.
    pub jitter_seed: Option<u64>,
}

impl Default for RetryLimits {
    fn default() -> Self {
        Self {
            tries: 4,
            tries_unreachable: 2,
            backoff_first: Duration::from_millis(500),
            backoff_max: Duration::from_secs(8),
            asked_wait_max: Duration::from_secs(60),
            jitter_seed: None,
        }
    }
}

impl HttpOptions {
    /// The options of a provider: overrides first, then the environment, then the provider's own address.
    ///
    /// A key is demanded where the provider demands one, except at a loopback address: a simulator or a proxy of the user's answers there.
    pub fn from_environment(
        provider: Provider,
        variable: &dyn Fn(&str) -> Option<String>,
        overrides: HttpOverrides,
    ) -> Result<Self, LlmError> {
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
        let url = parse_base_url(&base_url)?;
        let key =
            overrides.key.or_else(|| read(endpoint?.key_variable).map(|key| Secret::new(&key)));
        if let Some(endpoint) = endpoint
            && endpoint.key_required
            && key.is_none()
            && !is_loopback(&url)
        {
            return Err(LlmError::MissingKey { variable: endpoint.key_variable.to_owned() });
        }
        let limits = overrides.limits.unwrap_or_default();
        Ok(Self { format: provider.format(), base_url, key, limits })
    }

    /// The address that requests go to.
    pub(crate) fn url(&self) -> Result<Url, LlmError> {
        let mut url = parse_base_url(&self.base_url)?;
        let base = url.path().trim_end_matches('/');
        let path = Endpoint::path(self.format);
        // Users add the version to addresses whose convention is to leave it out.
        let path = match (base.ends_with("/v1"), path.strip_prefix("/v1/")) {
            (true, Some(rest)) => format!("{base}/{rest}"),
            _ => format!("{base}{path}"),
        };
        url.set_path(&path);
        Ok(url)
    }
}

fn parse_base_url(text: &str) -> Result<Url, LlmError> {
    let bad = |reason: &str| LlmError::BadBaseUrl {
        url: without_credentials(text),
        reason: reason.to_owned(),
    };
    let url: Url = text.trim().parse().map_err(|error| bad(&format!("{error}")))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(bad("it does not begin with http:// or https://"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(bad("it holds a name or password; use the key's variable"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(bad("it holds a `?` or `#`"));
    }
    Ok(url)
}

/// The text of an address that may not be well formed, without what stands before an `@` or behind a `?`.
pub(crate) fn without_credentials(text: &str) -> String {
    let text = text.split('?').next().unwrap_or_default();
    match text.rsplit_once('@') {
        None => text.to_owned(),
        Some((before, rest)) => {
            let scheme = before.split_once("://").map_or("", |(scheme, _)| scheme);
            format!("{scheme}://…@{rest}")
        }
    }
}

/// Whether the address is on this machine. Such requests never go through a proxy.
pub(crate) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    match host.parse::<IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
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
        HttpOptions::from_environment(provider, &find, overrides)
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
    fn the_path_is_joined_whatever_the_base_ends_with() {
        let check = |provider, base_url: &str, expected: &str| {
            let overrides = HttpOverrides { key: Some(Secret::new("k")), ..base(base_url) };
            let url = options(provider, &[], overrides).unwrap().url().unwrap();
            assert_eq!(url.as_str(), expected);
        };
        for base_url in ["https://a.example", "https://a.example/", "https://a.example/v1/"] {
            check(Provider::Anthropic, base_url, "https://a.example/v1/messages");
        }
        check(Provider::Anthropic, "https://a.example/x", "https://a.example/x/v1/messages");
        check(Provider::OpenAi, "https://a.example/v1", "https://a.example/v1/chat/completions");
        check(Provider::OpenAiCompat, "http://a:1/v1/", "http://a:1/v1/chat/completions");
    }
}
