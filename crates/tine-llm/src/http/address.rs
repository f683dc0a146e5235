//! Base URLs, and the addresses below them. Pure.

use std::fmt::Write as _;
use std::net::IpAddr;

use reqwest::Url;
use tine_model::WireFormat;
use tine_wire::Endpoint;

use crate::LlmError;

/// A base URL that can be used.
#[derive(Debug, Clone)]
pub(crate) struct Address {
    base: Url,
}

impl Address {
    pub(crate) fn parse(text: &str) -> Result<Self, LlmError> {
        let bad = |reason: &str| LlmError::BadBaseUrl {
            url: without_credentials(text),
            reason: reason.to_owned(),
        };
        let base: Url = text.trim().parse().map_err(|error| bad(&format!("{error}")))?;
        if !matches!(base.scheme(), "http" | "https") {
            return Err(bad("it does not begin with http:// or https://"));
        }
        if !base.username().is_empty() || base.password().is_some() {
            return Err(bad("it holds a name or password; use the key's variable"));
        }
        if base.query().is_some() || base.fragment().is_some() {
            return Err(bad("it holds a `?` or `#`"));
        }
        Ok(Self { base })
    }

    /// The base URL itself.
    pub(crate) fn base(&self) -> &Url {
        &self.base
    }

    /// Where requests of a format for a model go.
    pub(crate) fn of_requests(&self, format: WireFormat, model: &str, stream: bool) -> Url {
        self.below(&Endpoint::path(format, &segment(model), stream))
    }

    /// The address of a path, with its query if it has one.
    ///
    /// A base that ends in a version has said which one: the version that the path begins with is left out then. Users add the
    /// version to addresses whose convention is to leave it out, and the other way round.
    pub(crate) fn below(&self, path: &str) -> Url {
        let (path, query) = match path.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (path, None),
        };
        let base = self.base.path().trim_end_matches('/');
        let versioned = base.rsplit_once('/').is_some_and(|(_, last)| is_version(last));
        let path = match path.trim_start_matches('/').split_once('/') {
            Some((first, rest)) if versioned && is_version(first) => format!("{base}/{rest}"),
            _ => format!("{base}{path}"),
        };
        let mut url = self.base.clone();
        url.set_path(&path);
        url.set_query(query);
        url
    }

    /// The address of a path that stands beside a versioned base and not below it.
    pub(crate) fn beside(&self, path: &str) -> Url {
        let base = self.base.path().trim_end_matches('/');
        let base = match base.rsplit_once('/') {
            Some((before, last)) if is_version(last) => before,
            _ => base,
        };
        let mut url = self.base.clone();
        url.set_path(&format!("{base}{path}"));
        url
    }

    /// Whether the address is on this machine. Such requests never go through a proxy.
    pub(crate) fn is_loopback(&self) -> bool {
        let host = self.base.host_str().unwrap_or_default().trim_matches(['[', ']']);
        match host.parse::<IpAddr>() {
            Ok(address) => address.is_loopback(),
            Err(_) => host == "localhost" || host.ends_with(".localhost"),
        }
    }
}

/// `v1`, `v1beta`, `v4`.
fn is_version(segment: &str) -> bool {
    let mut chars = segment.chars();
    chars.next() == Some('v')
        && chars.next().is_some_and(|c| c.is_ascii_digit())
        && chars.all(|c| c.is_ascii_alphanumeric())
}

/// A text as one segment of a path: everything but letters, digits and `-._~` is percent-encoded.
fn segment(text: &str) -> String {
    let mut segment = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            segment.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(segment, "%{byte:02X}");
        }
    }
    segment
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_is_joined_whatever_the_base_ends_with() {
        let check = |format, base: &str, expected: &str| {
            let url = Address::parse(base).unwrap().of_requests(format, "m", true);
            assert_eq!(url.as_str(), expected);
        };
        for base in ["https://a.example", "https://a.example/", "https://a.example/v1/"] {
            check(WireFormat::Anthropic, base, "https://a.example/v1/messages");
        }
        check(WireFormat::Anthropic, "https://a.example/x", "https://a.example/x/v1/messages");
        check(WireFormat::Anthropic, "https://a/anthropic", "https://a/anthropic/v1/messages");
        check(WireFormat::Anthropic, "https://a/very", "https://a/very/v1/messages");
        check(WireFormat::OpenAiChat, "https://a/v1", "https://a/v1/chat/completions");
        check(WireFormat::OpenAiChatParts, "https://a", "https://a/chat/completions");
        check(WireFormat::OpenAiChat, "https://a/paas/v4/", "https://a/paas/v4/chat/completions");
        check(WireFormat::OpenAiResponses, "http://a:1/v1/", "http://a:1/v1/responses");
        for base in ["https://a", "https://a/v1beta", "https://a/v1beta/"] {
            let expected = "https://a/v1beta/models/m:streamGenerateContent?alt=sse";
            check(WireFormat::Gemini, base, expected);
        }
    }

    #[test]
    fn a_path_without_a_version_stands_beside_the_version() {
        let check = |base: &str, expected: &str| {
            assert_eq!(Address::parse(base).unwrap().beside("/props").as_str(), expected);
        };
        check("http://a:1", "http://a:1/props");
        check("http://a:1/v1/", "http://a:1/props");
        check("http://a/llama/v1", "http://a/llama/props");
        check("http://a/very", "http://a/very/props");
    }

    #[test]
    fn a_model_is_one_segment_whatever_its_name() {
        let address = Address::parse("https://a").unwrap();
        let check = |model: &str, expected: &str| {
            let url = address.of_requests(WireFormat::Gemini, model, false);
            let expected = format!("https://a/v1beta/models/{expected}:generateContent");
            assert_eq!(url.as_str(), expected);
        };
        check("gemini-3.1-pro", "gemini-3.1-pro");
        check("echo@gemini", "echo%40gemini");
        check("../../x?key=1#y", "..%2F..%2Fx%3Fkey%3D1%23y");
        check("%2e%2e/é", "%252e%252e%2F%C3%A9");
        check("..", "..");
    }
}
