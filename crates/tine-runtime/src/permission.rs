//! The permission step: guard's verdict, and where it leaves a call to a person, the queue.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use tine_fork::ToolCall;
use tine_guard::{Call, PermissionMode, Reason, Rules, Verdict, judge, rule_for};
use tine_model::{AgentId, Decision, PermissionId, PermissionScope, RawJson};
use tine_store::PermissionRow;
use tokio_util::sync::CancellationToken;

use crate::queue::{Question, Queue, QueuePolicy};
use crate::real_path::with_real_path;

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
    /// What an answer beyond this call covers; without it such an answer covers the same arguments alone.
    pub rule: Option<String>,
    /// The farthest that a yes may reach.
    pub widest: PermissionScope,
    /// From when on the default counts, in milliseconds since the Unix epoch.
    pub deadline_ms: i64,
    /// What counts then.
    pub fallback: Decision,
}

/// The word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Yes, as far as this.
    Allow(PermissionScope),
    /// No, as far as this.
    Deny(PermissionScope),
    /// There is nobody to ask.
    Nobody,
}

/// Somebody to ask. Calls may come from several agents at once, and are put one by one.
#[async_trait]
pub trait Asker: Send + Sync {
    /// Puts a request, which is in the store already; must return soon after `cancel`. What is returned then does not count.
    async fn ask(&self, request: &Request, cancel: &CancellationToken) -> Answer;

    /// A request was settled without the word of this one: by somebody else, or by its default.
    fn settled(&self, _request: &Request, _row: &PermissionRow) {}

    /// Writes down, where later runs find it, a rule that this one's word reaches to. Tells the person of a failure itself:
    /// the answer stands in any case.
    fn keep(&self, _decision: Decision, _rule: &str) {}
}

/// Nobody to ask.
#[derive(Debug, Clone, Copy, Default)]
pub struct DenyAll;

#[async_trait]
impl Asker for DenyAll {
    async fn ask(&self, _request: &Request, _cancel: &CancellationToken) -> Answer {
        Answer::Nobody
    }
}

/// What a run may do, shared by all agents of it.
#[derive(Clone)]
pub struct Permissions {
    /// How much may happen without a question.
    pub mode: PermissionMode,
    /// What the user said beforehand.
    pub rules: Arc<Rules>,
    /// Whom to ask.
    pub asker: Arc<dyn Asker>,
    /// How it is asked.
    pub queue: QueuePolicy,
}

impl Permissions {
    /// Permissions of a run that asks as is usual.
    pub fn new(mode: PermissionMode, rules: Rules, asker: Arc<dyn Asker>) -> Self {
        Self { mode, rules: Arc::new(rules), asker, queue: QueuePolicy::default() }
    }

    /// Guard's verdict on the call as it was written and as it would really be: the stricter counts.
    fn verdict(&self, call: &Call<'_>) -> Verdict {
        let written = judge(call, self.mode, &self.rules);
        let Some(input) = with_real_path(call.tool, call.input, call.directory) else {
            return written;
        };
        let real = judge(&Call { input: &input, ..*call }, self.mode, &self.rules);
        let through = |reason: Reason| Reason::new(format!("{reason}, through a symbolic link"));
        match (written, real) {
            (denied @ Verdict::Deny(_), _) => denied,
            (_, Verdict::Deny(reason)) => Verdict::Deny(through(reason)),
            (asked @ Verdict::Ask(_), _) => asked,
            (_, Verdict::Ask(reason)) => Verdict::Ask(through(reason)),
            (Verdict::Allow, Verdict::Allow) => Verdict::Allow,
        }
    }

    /// Whether a call may run; otherwise what the model is told.
    pub(crate) async fn check(
        &self,
        queue: &Queue,
        directory: &Path,
        ToolCall { id, name, input }: &ToolCall,
        cancel: &CancellationToken,
    ) -> Result<(), String> {
        let call = Call { tool: name, input, directory };
        let why = match self.verdict(&call) {
            Verdict::Allow => return Ok(()),
            Verdict::Deny(reason) => {
                return Err(format!(
                    "Denied: {reason}. Go on without this call, or do it another way."
                ));
            }
            Verdict::Ask(reason) => reason,
        };
        let rule = rule_for(&call);
        let rule_helps = rule.as_ref().is_some_and(|rule| {
            let mut rules = Rules::clone(&self.rules);
            rules.allow.push(rule.clone());
            let with_rule = Self { rules: Arc::new(rules), ..self.clone() };
            with_rule.verdict(&call) == Verdict::Allow
        });
        let real_input = with_real_path(name, input, directory);
        let real = real_input.as_ref().map(|input| Call { input, ..call });
        let question = Question { id, call, real, why, rule, rule_helps };
        queue.answer(&question, self, cancel).await
    }
}
