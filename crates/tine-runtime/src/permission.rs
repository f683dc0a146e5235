//! The permission step: guard's verdict, and somebody to ask.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use tine_guard::{
    Call, PermissionMode, RealCall, Reason, Rules, Verdict, command_reads, describe, judge,
    real_call, real_path, warning,
};
use tine_model::{AgentId, RawJson};
use tokio_util::sync::CancellationToken;

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
    always: Arc<Mutex<HashSet<Word>>>,
}

/// What a word for always is about: the tool, its arguments and where they really lead. A word on a link is no word on
/// what the link leads to later.
type Word = (String, RawJson, Option<PathBuf>);

impl Permissions {
    /// Permissions of a run.
    pub fn new(mode: PermissionMode, rules: Rules, asker: Arc<dyn Asker>) -> Self {
        Self { mode, rules: Arc::new(rules), asker, always: Arc::default() }
    }

    /// Guard's verdict on the call as it was written and as it would really be: the stricter counts. Where both ask, the
    /// reason is the real one, so that whoever says yes knows to what.
    fn verdict(&self, call: &Call<'_>, real: Option<&RealCall>) -> Verdict {
        let written = judge(call, self.mode, &self.rules);
        if call.tool == "Bash" {
            return self.followed(call, written);
        }
        let Some(RealCall { directory, input: Some(input), .. }) = real else {
            return written;
        };
        let real = judge(&Call { tool: call.tool, input, directory }, self.mode, &self.rules);
        let through = |reason: Reason| Reason::new(format!("{reason}, through a symbolic link"));
        match (written, real) {
            // The agent's directory may itself be behind a link, which changes nothing.
            (written, real) if written == real => written,
            (denied @ Verdict::Deny(_), _) => denied,
            (_, Verdict::Deny(reason)) => Verdict::Deny(through(reason)),
            (_, Verdict::Ask(reason)) => Verdict::Ask(through(reason)),
            (asked @ Verdict::Ask(_), _) => asked,
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
            let real = match real_path(call.directory)
                .and_then(|directory| real_call(("FileRead", &given), call.directory, &directory))
            {
                Ok(real) => real,
                Err(error) => return Verdict::Deny(Reason::new(error.to_string())),
            };
            let Some(RealCall { directory, input: Some(input), .. }) = real else { continue };
            let read = Call { tool: "FileRead", input: &input, directory: &directory };
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

    /// Whether a call may run; otherwise what the model is told. `real` is the call as the system would resolve it; what
    /// is allowed is that and nothing else, so the tool must open no other path.
    pub(crate) async fn check(
        &self,
        who: (AgentId, Option<&str>),
        directory: &Path,
        (tool, input): (&str, &RawJson),
        real: Option<&RealCall>,
        cancel: &CancellationToken,
    ) -> Result<(), String> {
        let call = Call { tool, input, directory };
        let why = match self.verdict(&call, real) {
            Verdict::Allow => return Ok(()),
            Verdict::Deny(reason) => {
                return Err(format!(
                    "Denied: {reason}. Go on without this call, or do it another way."
                ));
            }
            Verdict::Ask(reason) => reason,
        };
        let key = (tool.to_owned(), input.clone(), real.map(|real| real.path.clone()));
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
