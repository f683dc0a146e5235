//! What a provider says when it does not answer: error bodies, error events, and a proxy's web page.
//!
//! This module names the failure. It never decides whether to try again: that is the transport's business.
//!
//! The table of faults, and what becomes of each, is `docs/faults.md`.

use std::fmt;

use serde_json::Value;
use tine_model::WireFormat;

use crate::{Overflow, dialect, lenient};

/// Most characters kept of a vendor's message; the longest honest ones quote a schema path and a value.
const MESSAGE_CHARS_MAX: usize = 2_000;

/// Most characters quoted from an answer that is not the API's.
const QUOTE_CHARS_MAX: usize = 160;

/// Most bytes of an error body that are looked at. Real ones are under a kilobyte.
const BODY_BYTES_MAX: usize = 1024 * 1024;

/// Most bytes of a web page in which its title or first words are looked for.
const PAGE_BYTES_MAX: usize = 16 * 1024;

/// An answer that is no reply: a status other than 2xx, or an error event inside a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The HTTP status; `None` when the failure came inside a stream that had begun with 200 and names none.
    pub status: Option<u16>,
    /// What kind of failure it is.
    pub kind: FailureKind,
    /// The vendor's message, on one line, without control characters; for [`FailureKind::NotTheApi`] our own words.
    pub message: String,
    /// The vendor's most exact word for it: its error code, else its error type.
    pub code: Option<String>,
    /// The vendor's id of the request, where the body has one. A caller that sees headers may fill it in.
    pub request_id: Option<String>,
}

/// What kind of failure it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FailureKind {
    /// The key is missing, wrong or revoked.
    Authentication,
    /// The key may not do this.
    Permission,
    /// No such model or path.
    NotFound,
    /// The request is malformed in the provider's eyes.
    InvalidRequest,
    /// The request has more bytes than the endpoint takes, or more tokens than it serves in a minute.
    TooLarge,
    /// The conversation, or the conversation and the room for the reply, are longer than the model's window.
    Overflow,
    /// Too many requests or tokens at this moment.
    RateLimited,
    /// A limit of spending or a quota is reached. Trying again cannot help.
    SpendLimit,
    /// The account has no money left. Trying again cannot help.
    NoCredit,
    /// The provider has no capacity at this moment.
    Overloaded,
    /// Something broke on the provider's side.
    Server,
    /// The provider gave up waiting.
    Timeout,
    /// A web page or other text: something between here and the provider answered.
    NotTheApi,
    /// None of these.
    Other,
}

impl FailureKind {
    /// The kind in words, as it stands in front of a message.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Authentication => "not authenticated",
            Self::Permission => "not permitted",
            Self::NotFound => "not found",
            Self::InvalidRequest => "invalid request",
            Self::TooLarge => "request too large",
            Self::Overflow => "longer than the model's window",
            Self::RateLimited => "rate limited",
            Self::SpendLimit => "spend limit reached",
            Self::NoCredit => "no credit left",
            Self::Overloaded => "overloaded",
            Self::Server => "server error",
            Self::Timeout => "timed out",
            Self::NotTheApi => "not the API's answer",
            Self::Other => "request failed",
        }
    }
}

impl Failure {
    /// Returns what the provider says of the window that the conversation outgrew. None for other kinds of failure.
    pub fn overflow(&self) -> Option<Overflow> {
        match self.kind {
            FailureKind::Overflow => Some(Overflow::read(&self.message).unwrap_or_default()),
            _ => None,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.as_str())?;
        let status = self.status.map(|status| format!("status {status}"));
        let notes: Vec<&str> = status.as_deref().into_iter().chain(self.code.as_deref()).collect();
        if !notes.is_empty() {
            write!(f, " ({})", notes.join(", "))?;
        }
        match self.message.as_str() {
            "" => Ok(()),
            message => write!(f, ": {message}"),
        }
    }
}

impl std::error::Error for Failure {}

/// Reads the body of an answer whose status is not 2xx (or whose content type shows that it is no reply).
///
/// Both formats and the compatible servers' variants are tried whatever `format` says: gateways answer in their own
/// words. `format` is what the endpoint was asked to speak, and is named when something else answered.
pub fn decode_failure(
    format: WireFormat,
    status: u16,
    content_type: Option<&str>,
    body: &[u8],
) -> Failure {
    let body = &body[..body.len().min(BODY_BYTES_MAX)];
    let text = String::from_utf8_lossy(body);
    let text = text.trim_start_matches('\u{feff}').trim();
    if text.is_empty() {
        let kind = kind_of_status(status).unwrap_or(FailureKind::Other);
        let message = "the answer is empty".to_owned();
        return Failure { status: Some(status), kind, message, code: None, request_id: None };
    }
    if let Ok(value) = serde_json::from_str::<Value>(text) {
        return from_value(Some(status), &value);
    }
    let is_page = content_type.is_some_and(|kind| kind.to_ascii_lowercase().contains("html"));
    not_the_api(format, Some(status), text, is_page)
}

/// A failure from text that is not JSON.
pub(crate) fn not_the_api(
    format: WireFormat,
    status: Option<u16>,
    text: &str,
    is_page: bool,
) -> Failure {
    let api = match format {
        WireFormat::Anthropic => "the Messages API",
        WireFormat::OpenAiChat | WireFormat::OpenAiChatParts => "the Chat Completions API",
        WireFormat::OpenAiResponses => "the Responses API",
        WireFormat::Gemini => "the Gemini API",
    };
    let message = if is_page || text.trim_start().starts_with('<') {
        match page_words(text) {
            words if words.is_empty() => format!("a web page answered instead of {api}"),
            words => format!("a web page answered instead of {api}: “{words}”"),
        }
    } else {
        format!("plain text came instead of {api}: “{}”", clean(text, QUOTE_CHARS_MAX))
    };
    Failure { status, kind: FailureKind::NotTheApi, message, code: None, request_id: None }
}

/// A failure from a JSON error body or error event. Never fails: what is missing stays empty.
pub(crate) fn from_value(status: Option<u16>, value: &Value) -> Failure {
    // Google's compatible endpoint wraps the body in a list.
    let body = value.get(0).unwrap_or(value);
    let error = body.get("error").filter(|error| !error.is_null()).unwrap_or(body);
    let details = error.get("details").unwrap_or(&Value::Null);
    let code = word(error, "code");
    // Google names the kind of failure `status`, and sometimes its exact reason in one of the details.
    let kind_word = word(error, "type").filter(|word| word != "error");
    let kind_word = kind_word.or_else(|| word(error, "status"));
    let reason = details.as_array().into_iter().flatten().find_map(|detail| word(detail, "reason"));
    // Inside a stream some gateways give the status as a numeric code.
    let number = code.as_deref().and_then(|code| code.parse().ok());
    let status = status.or(number.filter(|status| (400..600).contains(status)));
    let code = code.filter(|_| number.is_none());
    let code = word(details, "error_code").or(code).or(reason);
    let message = match error {
        _ if let Some(readable) = dialect::readable(body) => readable,
        Value::String(message) => message.clone(),
        _ => match ["message", "detail", "msg"].into_iter().find_map(|key| word(error, key)) {
            Some(message) => message,
            None => body.to_string(),
        },
    };
    let message = with_figures(message, error);
    let kind = classify(status, [code.as_deref(), kind_word.as_deref()], &message);
    Failure {
        status,
        kind,
        message: clean(&message, MESSAGE_CHARS_MAX),
        code: code.or(kind_word).map(|word| clean(&word, QUOTE_CHARS_MAX)),
        request_id: word(body, "request_id").map(|id| clean(&id, QUOTE_CHARS_MAX)),
    }
}

/// llama-server gives the figures of an overflow beside its message. They become part of it.
fn with_figures(message: String, error: &Value) -> String {
    let figure = |key: &str| error.get(key).and_then(lenient::count);
    match (figure("n_prompt_tokens"), figure("n_ctx")) {
        (Some(prompt), Some(window)) if !message.contains(&window.to_string()) => {
            format!("{message}; n_prompt_tokens {prompt}, n_ctx {window}")
        }
        _ => message,
    }
}

/// A field as a word; structured values as their JSON.
fn word(value: &Value, key: &str) -> Option<String> {
    match value.get(key)? {
        Value::Null => None,
        Value::String(text) if text.is_empty() => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

/// The vendor's exact word decides, then the status, then the vendor's general word.
fn classify(status: Option<u16>, words: [Option<&str>; 2], message: &str) -> FailureKind {
    let words = || words.into_iter().flatten();
    // Groq and OpenAI call a request that alone passes the limit of a minute rate limited: waiting cannot help.
    if message.starts_with("Request too large") {
        return FailureKind::TooLarge;
    }
    if let Some(kind) = words().find_map(kind_of_word) {
        return kind;
    }
    // Most have no code for a conversation that outgrew the model, nor for an account without money.
    if Overflow::read(message).is_some() {
        return FailureKind::Overflow;
    }
    let lower = message.to_ascii_lowercase();
    if NO_CREDIT.iter().any(|words| lower.contains(words)) {
        return FailureKind::NoCredit;
    }
    let general = || words().find_map(kind_of_general_word);
    status.and_then(kind_of_status).or_else(general).unwrap_or(FailureKind::Other)
}

/// Phrases of providers for an account without money, in lower case: Anthropic, DeepSeek and Z.ai, OpenRouter, xAI.
const NO_CREDIT: [&str; 5] = [
    "credit balance is too low",
    "insufficient balance",
    "insufficient credits",
    "doesn't have any credits",
    "used all available credits",
];

fn kind_of_word(word: &str) -> Option<FailureKind> {
    Some(match word {
        "enforced_spend_limit_reached"
        | "organization_spend_limit_exceeded"
        | "project_spend_limit_exceeded"
        | "organization_usage_limit_exceeded"
        | "insufficient_quota"
        | "exceeded_current_quota_error"
        | "billing_hard_limit_reached"
        | "billing_error" => FailureKind::SpendLimit,
        "credit_balance_exhausted" => FailureKind::NoCredit,
        "request_too_large" => FailureKind::TooLarge,
        "context_length_exceeded" | "exceed_context_size_error" => FailureKind::Overflow,
        "rate_limit_error" | "rate_limit_exceeded" | "slow_down" | "RESOURCE_EXHAUSTED" => {
            FailureKind::RateLimited
        }
        "overloaded_error" | "server_is_overloaded" | "unavailable_error" | "UNAVAILABLE" => {
            FailureKind::Overloaded
        }
        // Google says of a wrong key that an argument is invalid; the reason tells.
        "authentication_error" | "invalid_api_key" | "API_KEY_INVALID" | "UNAUTHENTICATED" => {
            FailureKind::Authentication
        }
        "permission_error" | "PERMISSION_DENIED" => FailureKind::Permission,
        "not_found_error" | "model_not_found" | "NOT_FOUND" => FailureKind::NotFound,
        "timeout_error" | "DEADLINE_EXCEEDED" => FailureKind::Timeout,
        _ => return None,
    })
}

/// Words that vendors also use for other things, so that the status knows better.
fn kind_of_general_word(word: &str) -> Option<FailureKind> {
    match word {
        "invalid_request_error"
        | "BadRequestError"
        | "INVALID_ARGUMENT"
        | "FAILED_PRECONDITION"
        | "OUT_OF_RANGE" => Some(FailureKind::InvalidRequest),
        "api_error" | "server_error" | "internal_error" | "InternalServerError" | "INTERNAL" => {
            Some(FailureKind::Server)
        }
        _ => None,
    }
}

fn kind_of_status(status: u16) -> Option<FailureKind> {
    Some(match status {
        400 | 422 => FailureKind::InvalidRequest,
        401 => FailureKind::Authentication,
        402 => FailureKind::NoCredit,
        403 => FailureKind::Permission,
        404 => FailureKind::NotFound,
        408 | 504 => FailureKind::Timeout,
        413 => FailureKind::TooLarge,
        429 => FailureKind::RateLimited,
        503 | 529 => FailureKind::Overloaded,
        500..=599 => FailureKind::Server,
        _ => return None,
    })
}

/// The title of a page, else its first words.
fn page_words(page: &str) -> String {
    let mut end = page.len().min(PAGE_BYTES_MAX);
    while !page.is_char_boundary(end) {
        end -= 1;
    }
    let page = &page[..end];
    // Same length and same places: only ASCII letters change.
    let lower = page.to_ascii_lowercase();
    let title = lower.find("<title").and_then(|start| {
        let open = start + lower[start..].find('>')? + 1;
        let close = open + lower[open..].find("</title")?;
        Some(clean_page(&page[open..close]))
    });
    title.filter(|words| !words.is_empty()).unwrap_or_else(|| clean_page(&visible(page, &lower)))
}

/// The text between the tags, without scripts and styles.
fn visible(page: &str, lower: &str) -> String {
    let mut text = String::new();
    let mut position = 0;
    while let Some(open) = lower[position..].find('<').map(|found| position + found) {
        text.push_str(&page[position..open]);
        text.push(' ');
        let hidden =
            ["script", "style"].into_iter().find(|name| lower[open + 1..].starts_with(name));
        let end = match hidden {
            Some(name) => lower[open..].find(&format!("</{name}")).map(|found| open + found),
            None => Some(open),
        };
        match end.and_then(|end| Some(end + lower[end..].find('>')? + 1)) {
            Some(next) => position = next,
            None => return text,
        }
    }
    text + &page[position..]
}

fn clean_page(text: &str) -> String {
    let entities = [
        ("&nbsp;", " "),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&amp;", "&"),
    ];
    let text = entities.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to));
    clean(&text, QUOTE_CHARS_MAX)
}

/// One line without control characters (a terminal would obey them), at most `most` characters.
fn clean(text: &str, most: usize) -> String {
    let spaced = text.replace(|c: char| c.is_control(), " ");
    let mut line = String::new();
    let mut count = 0;
    for word in spaced.split_whitespace() {
        let gap = usize::from(!line.is_empty());
        let size = word.chars().count();
        if count + gap + size > most {
            let room = most.saturating_sub(count + gap);
            if line.is_empty() {
                line.extend(word.chars().take(room));
            }
            line.push('…');
            return line;
        }
        if gap == 1 {
            line.push(' ');
        }
        line.push_str(word);
        count += gap + size;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use insta::assert_snapshot;

    fn check(status: u16, content_type: &str, body: &str) -> String {
        let failure =
            decode_failure(WireFormat::Anthropic, status, Some(content_type), body.as_bytes());
        format!("{failure}\n{:?} {:?}", failure.kind, failure.request_id)
    }

    #[test]
    fn a_vendors_error_is_told_in_its_own_words() {
        let body = r#"{"type":"error","error":{"type":"not_found_error","message":"model: claude-nope"},"request_id":"req_7"}"#;
        assert_snapshot!(check(404, "application/json", body), @r#"
        not found (status 404, not_found_error): model: claude-nope
        NotFound Some("req_7")
        "#);
        let body = r#"{"error":{"message":"Incorrect API key provided","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}"#;
        assert_snapshot!(check(401, "application/json", body), @"
        not authenticated (status 401, invalid_api_key): Incorrect API key provided
        Authentication None
        ");
    }

    #[test]
    fn a_spend_limit_is_not_a_rate_limit() {
        let body = r#"{"type":"error","error":{"type":"rate_limit_error","message":"Spend cap","details":{"error_code":"enforced_spend_limit_reached"}}}"#;
        assert_snapshot!(check(429, "application/json", body), @"
        spend limit reached (status 429, enforced_spend_limit_reached): Spend cap
        SpendLimit None
        ");
        let body = r#"{"error":{"message":"Slow","type":"tokens","code":"rate_limit_exceeded"}}"#;
        assert_snapshot!(check(429, "application/json", body), @"
        rate limited (status 429, rate_limit_exceeded): Slow
        RateLimited None
        ");
        let body = r#"{"error":{"message":"Spent","type":"insufficient_quota","code":null}}"#;
        assert_snapshot!(check(429, "application/json", body), @"
        spend limit reached (status 429, insufficient_quota): Spent
        SpendLimit None
        ");
    }

    #[test]
    fn an_empty_account_is_called_that() {
        let body = r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."}}"#;
        assert_snapshot!(check(400, "application/json", body), @"
        no credit left (status 400, invalid_request_error): Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.
        NoCredit None
        ");
        let body = r#"{"error":{"message":"Insufficient Balance","type":"unknown_error","param":null,"code":"invalid_request_error"}}"#;
        assert_snapshot!(check(402, "application/json", body), @"
        no credit left (status 402, invalid_request_error): Insufficient Balance
        NoCredit None
        ");
        let body = r#"{"error":{"message":"Request too large for model `m` on tokens per minute (TPM): Limit 6000, Requested 7012","type":"tokens","code":"rate_limit_exceeded"}}"#;
        assert_snapshot!(check(413, "application/json", body), @"
        request too large (status 413, rate_limit_exceeded): Request too large for model `m` on tokens per minute (TPM): Limit 6000, Requested 7012
        TooLarge None
        ");
    }

    #[test]
    fn openais_limits_are_told_apart() {
        let kind = |status: u16, kind: &str, code: &str| {
            let body = format!(
                r#"{{"error":{{"message":"No.","type":"{kind}","param":null,"code":"{code}"}}}}"#
            );
            decode_failure(WireFormat::OpenAiResponses, status, None, body.as_bytes()).kind
        };
        for spent in [
            "organization_spend_limit_exceeded",
            "project_spend_limit_exceeded",
            "organization_usage_limit_exceeded",
            "insufficient_quota",
        ] {
            assert_eq!(kind(429, "insufficient_quota", spent), FailureKind::SpendLimit, "{spent}");
            assert_eq!(kind(429, "rate_limit_error", spent), FailureKind::SpendLimit, "{spent}");
        }
        assert_eq!(
            kind(429, "insufficient_quota", "credit_balance_exhausted"),
            FailureKind::NoCredit
        );
        // A ramp that is too sharp: to be tried again, slower.
        assert_eq!(kind(429, "requests", "slow_down"), FailureKind::RateLimited);
        assert_eq!(kind(503, "server_error", "slow_down"), FailureKind::RateLimited);
        assert_eq!(kind(429, "tokens", "rate_limit_exceeded"), FailureKind::RateLimited);
        assert_eq!(kind(503, "server_error", "server_is_overloaded"), FailureKind::Overloaded);
    }

    #[test]
    fn a_proxys_page_is_named_as_such() {
        let page = "<!DOCTYPE html><HTML><head><style>p{}</style><Title>502 Bad\n Gateway</Title></head><body>nginx</body>";
        assert_snapshot!(check(502, "text/html; charset=utf-8", page), @"
        not the API's answer (status 502): a web page answered instead of the Messages API: “502 Bad Gateway”
        NotTheApi None
        ");
        let page =
            "<html><script>if (a<b) {}</script><h1>Sign&nbsp;in</h1> to the &lt;guest&gt; network";
        assert_snapshot!(check(200, "text/plain", page), @"
        not the API's answer (status 200): a web page answered instead of the Messages API: “Sign in to the <guest> network”
        NotTheApi None
        ");
        assert_snapshot!(check(503, "text/plain", "upstream connect\u{1b}[31m error"), @"
        not the API's answer (status 503): plain text came instead of the Messages API: “upstream connect [31m error”
        NotTheApi None
        ");
        assert_snapshot!(check(529, "", ""), @"
        overloaded (status 529): the answer is empty
        Overloaded None
        ");
    }

    #[test]
    fn compatible_servers_words_are_understood() {
        let body = r#"{"object":"error","message":"top_p must be in (0, 1]","type":"BadRequestError","code":400}"#;
        assert_snapshot!(check(400, "application/json", body), @"
        invalid request (status 400, BadRequestError): top_p must be in (0, 1]
        InvalidRequest None
        ");
        let body = r#"{"object":"error","message":"This model's maximum context length is 2048 tokens. However, you requested 19732 tokens (3348 in the messages, 16384 in the completion).","type":"BadRequestError","code":400}"#;
        assert_snapshot!(check(400, "application/json", body), @"
        longer than the model's window (status 400, BadRequestError): This model's maximum context length is 2048 tokens. However, you requested 19732 tokens (3348 in the messages, 16384 in the completion).
        Overflow None
        ");
        let body = r#"{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":4503,"n_ctx":4096}}"#;
        assert_snapshot!(check(400, "application/json", body), @"
        longer than the model's window (status 400, exceed_context_size_error): the request exceeds the available context size, try increasing it; n_prompt_tokens 4503, n_ctx 4096
        Overflow None
        ");
        assert_snapshot!(check(404, "application/json", r#"{"detail":"Not Found"}"#), @"
        not found (status 404): Not Found
        NotFound None
        ");
        assert_snapshot!(check(404, "", r#"{"error":"model 'x' not found"}"#), @"
        not found (status 404): model 'x' not found
        NotFound None
        ");
        assert_snapshot!(check(400, "", r#"[{"error":{"code":400,"message":"bad","status":"INVALID_ARGUMENT"}}]"#), @"
        invalid request (status 400, INVALID_ARGUMENT): bad
        InvalidRequest None
        ");
        let body = r#"{"error":{"message":"prompt is too long: 9 tokens > 8 maximum","type":"invalid_request_error"}}"#;
        assert_snapshot!(check(400, "", body), @"
        longer than the model's window (status 400, invalid_request_error): prompt is too long: 9 tokens > 8 maximum
        Overflow None
        ");
    }

    #[test]
    fn googles_words_are_understood_with_and_without_a_status() {
        let told = |code: u16, status: &str, details: &str| {
            let body = format!(
                r#"{{"error":{{"code":{code},"message":"m","status":"{status}","details":[{details}]}}}}"#
            );
            from_value(None, &serde_json::from_str(&body).unwrap())
        };
        for (code, status, kind) in [
            (400, "INVALID_ARGUMENT", FailureKind::InvalidRequest),
            (400, "FAILED_PRECONDITION", FailureKind::InvalidRequest),
            (401, "UNAUTHENTICATED", FailureKind::Authentication),
            (403, "PERMISSION_DENIED", FailureKind::Permission),
            (404, "NOT_FOUND", FailureKind::NotFound),
            (429, "RESOURCE_EXHAUSTED", FailureKind::RateLimited),
            (500, "INTERNAL", FailureKind::Server),
            (503, "UNAVAILABLE", FailureKind::Overloaded),
            (504, "DEADLINE_EXCEEDED", FailureKind::Timeout),
        ] {
            let failure = told(code, status, "");
            assert_eq!((failure.kind, failure.status), (kind, Some(code)), "{status}");
            assert_eq!(failure.code.as_deref(), Some(status));
            assert_eq!(told(0, status, "").kind, kind, "{status} alone");
        }
        let wrong_key = told(400, "INVALID_ARGUMENT", r#"{"reason":"API_KEY_INVALID"}"#);
        assert_eq!(wrong_key.kind, FailureKind::Authentication);
        assert_eq!(wrong_key.code.as_deref(), Some("API_KEY_INVALID"));
        let body = r#"{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"The input token count (9) exceeds the maximum number of tokens allowed (8)."}}"#;
        let failure = decode_failure(WireFormat::Gemini, 400, None, body.as_bytes());
        assert_eq!(failure.kind, FailureKind::Overflow);
    }

    #[test]
    fn long_messages_are_cut() {
        let failure =
            decode_failure(WireFormat::OpenAiChat, 500, None, "x".repeat(9_000).as_bytes());
        assert!(failure.message.chars().count() < 250, "{}", failure.message);
    }
}
