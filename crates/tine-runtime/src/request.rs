//! A call that waits for somebody's word, and the word.

use tine_guard::{Call, OfferedRule, offered_rules};
use tine_model::{AgentId, Decision, PermissionId, PermissionScope, RawJson};
use tine_store::AnswerPermission;

/// A call that needs somebody's word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Its place in the queue.
    pub id: PermissionId,
    /// Who asks.
    pub agent: AgentId,
    /// The name or task of the one who asks.
    pub label: Option<String>,
    /// The tool.
    pub tool: String,
    /// The call on one line.
    pub what: String,
    /// Its arguments.
    pub input: RawJson,
    /// Where it would run.
    pub directory: String,
    /// Why it needs a word.
    pub why: String,
    /// What the call would destroy or change in place, where its text shows that.
    pub warning: Option<String>,
    /// What an answer beyond this call covers; without it such an answer covers the same arguments alone.
    pub rule: Option<String>,
    /// Rules that cover more, of which a person may choose one instead.
    pub offers: Vec<OfferedRule>,
    /// The farthest that a yes may reach.
    pub widest: PermissionScope,
    /// From when on the default counts, in milliseconds since the Unix epoch.
    pub deadline_ms: i64,
    /// What counts then.
    pub fallback: Decision,
}

/// The rules that a person may choose instead of a call's own. None where no rule for good would let the call pass.
pub fn wider_rules(call: &Call<'_>, widest: PermissionScope) -> Vec<OfferedRule> {
    match widest {
        PermissionScope::Always => offered_rules(call),
        PermissionScope::Once | PermissionScope::Agent | PermissionScope::Tree => Vec::new(),
    }
}

/// Longest reason of a denial that a model is told, in bytes: some paragraphs.
pub const REASON_BYTES_MAX: usize = 8_000;

/// The word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Yes, as far as this.
    Allow(PermissionScope),
    /// Yes, as far as this, to all that one of the offered rules covers.
    AllowRule(PermissionScope, String),
    /// No, as far as this.
    Deny(PermissionScope),
    /// No, as far as this, and the reason or what to do instead, in the person's words.
    DenyBecause(PermissionScope, String),
}

impl Answer {
    /// The answer as it is stored.
    pub(crate) fn into_row(self, id: PermissionId, by: &str, now_ms: i64) -> AnswerPermission {
        let (decision, scope) = match &self {
            Self::Allow(scope) | Self::AllowRule(scope, _) => (Decision::Allow, *scope),
            Self::Deny(scope) | Self::DenyBecause(scope, _) => (Decision::Deny, *scope),
        };
        let (rule, reason) = match self {
            Self::AllowRule(_, rule) => (Some(rule), None),
            Self::DenyBecause(_, reason) => (None, Some(reason)),
            Self::Allow(_) | Self::Deny(_) => (None, None),
        };
        AnswerPermission { id, decision, scope, rule, by: by.to_owned(), reason, now_ms }
    }
}
