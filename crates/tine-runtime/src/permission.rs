//! The permission step: guard's verdict, and somebody to ask.

use std::collections::HashSet;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use tine_guard::{
    Call, PermissionMode, Reason, Rules, Verdict, command_reads, describe, judge, warning,
};
use tine_model::{AgentId, RawJson};
use tokio_util::sync::CancellationToken;

use crate::real_path::with_real_path;

/// A call that needs somebody's word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
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
}

/// The word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// This once.
    Once,
    /// This very call, for as long as the run lasts, from every agent of it.
    Always,
    /// No.
    No,
    /// There is nobody to ask.
    Nobody,
}

/// Somebody to ask. One queue for a whole tree: calls may come from several agents at once, and are put one by one.
#[async_trait]
pub trait Asker: Send + Sync {
    /// Puts a request; must return soon after `cancel`.
    async fn ask(&self, request: &Request, cancel: &CancellationToken) -> Answer;
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
    always: Arc<Mutex<HashSet<(String, RawJson)>>>,
}

impl Permissions {
    /// Permissions of a run.
    pub fn new(mode: PermissionMode, rules: Rules, asker: Arc<dyn Asker>) -> Self {
        Self { mode, rules: Arc::new(rules), asker, always: Arc::default() }
    }

    /// Guard's verdict on the call as it was written and as it would really be: the stricter counts.
    fn verdict(&self, call: &Call<'_>) -> Verdict {
        let written = judge(call, self.mode, &self.rules);
        if call.tool == "Bash" {
            return self.followed(call, written);
        }
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

    /// Guard's verdict on a command, and on where links take the files that it names: the stricter counts. What a search
    /// meets below a folder is not followed.
    fn followed(&self, call: &Call<'_>, written: Verdict) -> Verdict {
        let command = match (&written, self.mode) {
            (Verdict::Deny(_), _) | (_, PermissionMode::Bypass) => None,
            (Verdict::Allow | Verdict::Ask(_), _) => command_of(call.input),
        };
        let reads =
            command.map(|command| command_reads(call.directory, &command)).unwrap_or_default();
        for path in reads {
            let given = serde_json::json!({ "file_path": path.to_string_lossy() }).to_string();
            let Ok(given) = RawJson::parse(&given) else { continue };
            let Some(input) = with_real_path("FileRead", &given, call.directory) else { continue };
            let read = Call { tool: "FileRead", input: &input, ..*call };
            let through =
                |reason: Reason| Reason::new(format!("{reason}, through a symbolic link"));
            match judge(&read, self.mode, &self.rules) {
                Verdict::Deny(reason) => return Verdict::Deny(through(reason)),
                Verdict::Ask(reason) if written == Verdict::Allow => {
                    return Verdict::Ask(through(reason));
                }
                Verdict::Ask(_) | Verdict::Allow => {}
            }
        }
        written
    }

    /// Whether a call may run; otherwise what the model is told.
    pub(crate) async fn check(
        &self,
        who: (AgentId, Option<&str>),
        directory: &Path,
        (tool, input): (&str, &RawJson),
        cancel: &CancellationToken,
    ) -> Result<(), String> {
        let call = Call { tool, input, directory };
        let why = match self.verdict(&call) {
            Verdict::Allow => return Ok(()),
            Verdict::Deny(reason) => {
                return Err(format!(
                    "Denied: {reason}. Go on without this call, or do it another way."
                ));
            }
            Verdict::Ask(reason) => reason,
        };
        let key = (tool.to_owned(), input.clone());
        if self.always.lock().unwrap_or_else(PoisonError::into_inner).contains(&key) {
            return Ok(());
        }
        let command = (tool == "Bash").then(|| command_of(input)).flatten();
        let request = Request {
            agent: who.0,
            label: who.1.map(str::to_owned),
            tool: tool.to_owned(),
            what: describe(&call),
            input: input.clone(),
            directory: directory.display().to_string(),
            why: why.to_string(),
            warning: command.as_deref().and_then(warning).map(|warning| warning.text.to_owned()),
        };
        let answer = self.asker.ask(&request, cancel).await;
        if cancel.is_cancelled() {
            // Nobody has said no: the run was stopped while it waited for a word.
            return Err("Stopped before it was allowed.".to_owned());
        }
        match answer {
            Answer::Once => Ok(()),
            Answer::Always => {
                self.always.lock().unwrap_or_else(PoisonError::into_inner).insert(key);
                Ok(())
            }
            Answer::No => Err("Denied by the user. Do not try this call again.".to_owned()),
            Answer::Nobody => Err(format!(
                "Denied: {why}, and nobody can be asked here. Go on without this call, or do it another way."
            )),
        }
    }
}

/// The text that `Bash` would run.
fn command_of(input: &RawJson) -> Option<String> {
    let arguments: serde_json::Value = serde_json::from_str(input.as_str()).ok()?;
    Some(arguments.get("command")?.as_str()?.to_owned())
}
