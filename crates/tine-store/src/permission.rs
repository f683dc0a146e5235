//! The queue of permission requests: rows as the store gives them out, and what callers ask of it.

use tine_model::{AgentId, Decision, PermissionId, PermissionScope, PermissionState};

/// A request to be. Its tree's root is found by the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskPermission {
    /// Its id, not yet in use.
    pub id: PermissionId,
    /// Who asks.
    pub agent: AgentId,
    /// The process that waits for the answer, as it is named in leases.
    pub owner: String,
    /// The provider's id of the call; with agent, tool and input it tells a call that was asked about before.
    pub call: String,
    /// The tool.
    pub tool: String,
    /// The call on one line.
    pub what: String,
    /// Its arguments, as they came.
    pub input: String,
    /// Where it would run.
    pub directory: String,
    /// Why it needs a word.
    pub why: String,
    /// What a person should know before saying yes.
    pub warning: Option<String>,
    /// What a lasting answer covers; without it such an answer covers the same arguments alone.
    pub rule: Option<String>,
    /// The farthest that a yes may reach.
    pub widest: PermissionScope,
    /// When it was asked, in milliseconds since the Unix epoch.
    pub now_ms: i64,
    /// From when on the default counts.
    pub deadline_ms: i64,
    /// What counts then.
    pub fallback: Decision,
}

/// A request as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionRow {
    /// Which one.
    pub id: PermissionId,
    /// Who asks.
    pub agent: AgentId,
    /// The topmost ancestor of the one who asks: whose queue it is in.
    pub root: AgentId,
    /// The process that waited last.
    pub owner: String,
    /// The provider's id of the call.
    pub call: String,
    /// The tool.
    pub tool: String,
    /// The call on one line.
    pub what: String,
    /// Its arguments, as they came.
    pub input: String,
    /// Where it would run.
    pub directory: String,
    /// Why it needs a word.
    pub why: String,
    /// What a person should know before saying yes.
    pub warning: Option<String>,
    /// What a lasting answer covers.
    pub rule: Option<String>,
    /// The farthest that a yes may reach.
    pub widest: PermissionScope,
    /// When it was asked first, in milliseconds since the Unix epoch.
    pub created_ms: i64,
    /// From when on the default counts.
    pub deadline_ms: i64,
    /// What counts then.
    pub fallback: Decision,
    /// What became of it.
    pub state: PermissionState,
    /// How far its answer reaches.
    pub scope: Option<PermissionScope>,
    /// Who answered, in the caller's words.
    pub answered_by: Option<String>,
    /// When it was answered.
    pub answered_ms: Option<i64>,
    /// What the answer says to the one who asked.
    pub reason: Option<String>,
    /// When the one who asked acted on the answer. An answer is acted on once.
    pub taken_ms: Option<i64>,
}

impl PermissionRow {
    /// The answer: a person's, or the default once the deadline is past.
    pub fn decision(&self) -> Option<Decision> {
        match self.state {
            PermissionState::Pending | PermissionState::Withdrawn => None,
            PermissionState::Allowed => Some(Decision::Allow),
            PermissionState::Denied => Some(Decision::Deny),
            PermissionState::Expired => Some(self.fallback),
        }
    }

    /// The farthest that this answer may reach. A no may reach farther than a yes.
    pub fn widest_for(&self, decision: Decision) -> PermissionScope {
        match (decision, &self.rule) {
            (Decision::Allow, _) => self.widest,
            (Decision::Deny, Some(_)) => PermissionScope::Always,
            (Decision::Deny, None) => PermissionScope::Tree,
        }
    }
}

/// Answers a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerPermission {
    /// Which one.
    pub id: PermissionId,
    /// The answer.
    pub decision: Decision,
    /// How far it reaches.
    pub scope: PermissionScope,
    /// The rule that it covers in place of the request's own.
    pub rule: Option<String>,
    /// Who answers, in the caller's words.
    pub by: String,
    /// What it says to the one who asked.
    pub reason: Option<String>,
    /// When, in milliseconds since the Unix epoch.
    pub now_ms: i64,
}

/// Which requests a list has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PermissionFilter {
    /// Those that nobody has answered.
    Pending,
    /// Answers that reach beyond their one call and count still.
    Standing,
    /// All.
    All,
}
