//! Recognizing the program that sends a request, and the conversation that it means.

use serde::Deserialize;

/// The longest name or id that is taken over.
const CHARACTERS_MAX: usize = 120;

/// Programs by the beginning of their `user-agent`. Source: requests of Claude Code 2.1.330, Codex 0.169.0 and OpenCode 1.18.33.
const KNOWN: [(&str, &str); 3] =
    [("claude-cli/", "claude-code"), ("codex", "codex"), ("opencode/", "opencode")];

/// Headers of requests of workers. Source: Claude Code 2.1.330 and Codex 0.169.0.
const WORKERS: [&str; 2] = ["x-claude-code-agent-id", "x-openai-subagent"];

/// A program, and its own id of the conversation that a request belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HostSession {
    /// The program: `claude-code`, `codex`, `opencode`, or the first word of its `user-agent`.
    pub host: String,
    /// The id; `None` where its requests hold none.
    pub session: Option<String>,
    /// True for a request of a worker that the program's agent has started within the conversation.
    pub is_worker: bool,
}

impl HostSession {
    /// Returns true if both are of one conversation that the program names.
    pub(super) fn is_of(&self, other: &Self) -> bool {
        self.host == other.host && self.session.is_some() && self.session == other.session
    }
}

/// Recognizes the sender by the headers of a request, and by its body where its headers name no conversation.
pub fn host_session(header: impl Fn(&str) -> Option<String>, body: &[u8]) -> HostSession {
    let agent = header("user-agent").unwrap_or_default();
    let known = KNOWN.iter().find(|(begin, _)| agent.starts_with(begin));
    let first = agent.split(['/', ' ']).next().unwrap_or_default();
    let host = match known {
        Some((_, host)) => (*host).to_owned(),
        None if first.is_empty() => "unknown".to_owned(),
        None => first.chars().take(CHARACTERS_MAX).collect(),
    };
    let ids = ["x-claude-code-session-id", "x-session-id"];
    let session = ids.iter().find_map(|id| header(id)).or_else(|| in_body(body));
    let session = session.filter(|id| !id.is_empty() && id.chars().count() <= CHARACTERS_MAX);
    let is_worker = WORKERS.iter().any(|name| header(name).is_some());
    HostSession { host, session, is_worker }
}

/// Codex names the conversation by the key for the provider's cache; Claude Code, also in its metadata.
fn in_body(body: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Body {
        prompt_cache_key: Option<String>,
        metadata: Option<Metadata>,
    }
    #[derive(Deserialize)]
    struct Metadata {
        user_id: Option<String>,
    }
    #[derive(Deserialize)]
    struct User {
        session_id: Option<String>,
    }
    let body: Body = serde_json::from_slice(body).ok()?;
    let user = || -> Option<User> { serde_json::from_str(&body.metadata?.user_id?).ok() };
    body.prompt_cache_key.or_else(|| user()?.session_id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(headers: &[(&str, &str)], body: &str) -> (String, Option<String>) {
        let header = |name: &str| {
            let found = headers.iter().find(|(own, _)| *own == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let HostSession { host, session, is_worker } = host_session(header, body.as_bytes());
        assert_eq!(is_worker, headers.iter().any(|(name, _)| name.contains("agent-id")));
        (host, session)
    }

    fn check(headers: &[(&str, &str)], body: &str, host: &str, session: Option<&str>) {
        assert_eq!(told(headers, body), (host.to_owned(), session.map(str::to_owned)));
    }

    #[test]
    fn hosts_are_known_by_headers_and_bodies() {
        let claude = ("user-agent", "claude-cli/2.1.330 (external, cli)");
        let in_metadata = r#"{"metadata":{"user_id":"{\"session_id\":\"b\"}"}}"#;
        check(&[claude, ("x-claude-code-session-id", "a")], in_metadata, "claude-code", Some("a"));
        let worker = ("x-claude-code-agent-id", "a1");
        check(&[claude, worker, ("x-claude-code-session-id", "a")], "", "claude-code", Some("a"));
        check(&[claude], in_metadata, "claude-code", Some("b"));
        check(&[claude], r#"{"metadata":{"user_id":"u"}}"#, "claude-code", None);
        let codex = ("user-agent", "codex_exec/0.169.0 (Debian)");
        check(&[codex], r#"{"prompt_cache_key":"t"}"#, "codex", Some("t"));
        check(&[("user-agent", "pi/1.5")], "{}", "pi", None);
        check(&[("x-session-id", "")], "no JSON", "unknown", None);
    }
}
