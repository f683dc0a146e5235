//! The queue of questions: durable before anybody is asked, answered by whoever is first.
//!
//! A question of an agent at any depth is a row of the store, in the queue of its tree's root, and then an event. The run that waits
//! for it watches the row, so that it is all the same who answers: a face of this process, or another process.
//! At its deadline the declared default counts. This decides nothing: the verdict is guard's, the answer a person's.
//!
//! An answer serves one call, and is marked as used before the call runs. A call that waited when its process died never began,
//! so the next run asks for it first (`Dispatch::reopen` in `tine-fork`).

use std::sync::Arc;
use std::time::Duration;

use tine_guard::{Call, Reason, Rule, describe, warning};
use tine_model::{AgentId, Decision, PermissionId, PermissionScope, PermissionState, ToolCallId};
use tine_store::{AnswerPermission, AskPermission, PermissionRow, Store, StoreError};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::events::{EventKind, Teller};
use crate::live::Live;
use crate::permission::{OTHERWISE, Permissions, Unallowed};
use crate::ports::Ports;
use crate::requests::request;

/// How often a run that waits for a word looks whether the store has changed. A person does not notice it, and one look costs
/// some microseconds.
const ANSWER_POLL: Duration = Duration::from_millis(250);

/// How long a question waits unless the user says otherwise: longer than most absences from a desk, and short enough that an
/// unattended run comes to its end on the same day.
pub const DEADLINE_DEFAULT: Duration = Duration::from_secs(60 * 60);

/// Whose word it is when a deadline has passed.
pub(crate) const BY_DEADLINE: &str = "the deadline";

/// Whose word it is when there is nobody to ask.
pub(crate) const BY_NOBODY: &str = "nobody to ask";

/// Whose word it is when the session's mode changes to one in which nobody is asked.
const BY_MODE: &str = "the permission mode";

/// The answer to a call that its user stopped before anybody had said a word.
const STOPPED: &str = "Stopped before it was allowed.";

/// How questions are put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueuePolicy {
    /// How long one waits for its answer.
    pub deadline: Duration,
    /// What counts when none comes.
    pub fallback: Decision,
    /// Whether a run that has nobody to ask waits for an answer from another process. Otherwise the default counts at once.
    pub wait: bool,
}

impl Default for QueuePolicy {
    fn default() -> Self {
        Self { deadline: DEADLINE_DEFAULT, fallback: Decision::Deny, wait: false }
    }
}

/// The queue as one agent's run sees it.
#[derive(Clone)]
pub(crate) struct Queue {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) ports: Ports,
    pub(crate) agent: AgentId,
    pub(crate) label: Option<String>,
    /// The process, as it is named in leases.
    pub(crate) owner: String,
    pub(crate) teller: Arc<Teller>,
    pub(crate) live: Arc<Live>,
}

/// A call that rules and mode leave to a person.
pub(crate) struct Question<'a> {
    pub(crate) id: &'a ToolCallId,
    pub(crate) call: &'a Call<'a>,
    /// The call as it would really be, where a link leads elsewhere.
    pub(crate) real: Option<Call<'a>>,
    pub(crate) why: Reason,
    /// The rule that a lasting answer stands for, unless a wider one is chosen.
    pub(crate) rule: Option<Rule>,
    /// Returns true if the call would pass with this rule among the user's own.
    pub(crate) helps: &'a (dyn Fn(&Rule) -> bool + Send + Sync),
    /// Returns true once the session has changed its mode to one in which nobody is asked.
    pub(crate) is_free: &'a (dyn Fn() -> bool + Send + Sync),
}

impl Queue {
    /// Whether a call of an earlier run was left waiting for a word, or was given one that nobody has acted on. Such a call
    /// never began.
    pub(crate) async fn is_open(&self, id: &ToolCallId, tool: &str, input: &str) -> bool {
        let row = self.store.open_permission(self.agent, &id.0).await;
        row.is_ok_and(|row| row.is_some_and(|row| row.tool == tool && row.input == input))
    }

    /// Finds an answer: one that stands, else the first that comes.
    pub(crate) async fn answer(
        &self,
        question: &Question<'_>,
        permissions: &Permissions,
        cancel: &CancellationToken,
    ) -> Result<(), Unallowed> {
        let why = &question.why;
        let unkept = |error: StoreError| {
            let why = format!(": {why}, and the question could not be kept ({error}).");
            Unallowed::denied(why, "Go on without this call.")
        };
        if let Some(row) = self.standing(question).await.map_err(unkept)? {
            return told(why, &row);
        }
        let asked = self.ask(question, &permissions.queue).await.map_err(unkept)?;
        let row = match asked.state {
            PermissionState::Pending => {
                self.wait(question, &asked, permissions, cancel).await.map_err(unkept)?
            }
            _ => asked,
        };
        if row.decision().is_none() {
            // Its run withdraws it when it is over.
            return Err(Unallowed::Otherwise(STOPPED.to_owned()));
        }
        let now_ms = self.ports.clock.now_ms();
        if self.store.take_permission(row.id, now_ms).await.map_err(unkept)? {
            told(why, &row)
        } else {
            let why = format!(": {why}, and the answer to it was used before.");
            Err(Unallowed::denied(why, ""))
        }
    }

    async fn ask(
        &self,
        question: &Question<'_>,
        policy: &QueuePolicy,
    ) -> Result<PermissionRow, StoreError> {
        let call = question.call;
        let now_ms = self.ports.clock.now_ms();
        let wait_ms = i64::try_from(policy.deadline.as_millis()).unwrap_or(i64::MAX);
        let ask = AskPermission {
            id: PermissionId::from_random(self.ports.ids.random()),
            agent: self.agent,
            owner: self.owner.clone(),
            call: question.id.0.clone(),
            tool: call.tool.to_owned(),
            what: describe(call),
            input: call.input.as_str().to_owned(),
            directory: call.directory.display().to_string(),
            why: question.why.to_string(),
            warning: call.shell_text().and_then(warning).map(|found| found.text.to_owned()),
            rule: question.rule.as_ref().map(ToString::to_string),
            widest: question.widest(),
            now_ms,
            deadline_ms: now_ms.saturating_add(wait_ms),
            fallback: policy.fallback,
        };
        self.store.ask_permission(ask).await
    }

    /// Waits for a word, where somebody may give one.
    async fn wait(
        &self,
        question: &Question<'_>,
        row: &PermissionRow,
        permissions: &Permissions,
        cancel: &CancellationToken,
    ) -> Result<PermissionRow, StoreError> {
        let settled = if permissions.asks || permissions.queue.wait {
            let input = question.call.input.clone();
            let request = request(row, input, self.label.clone());
            self.teller.tell(EventKind::Asked(Box::new(request)));
            self.watch(question, row, permissions, cancel).await?
        } else {
            self.expire(row.id, BY_NOBODY).await?
        };
        self.teller.tell(EventKind::Settled(Box::new(settled.clone())));
        Ok(settled)
    }

    /// Returns when the request no longer waits, or when `cancel` is. May be dropped at any time.
    ///
    /// The deadline counts the time in which this process has waited, awake: a clock that is set ends no question, nor does a machine
    /// that sleeps, nor a process whose clock is ahead.
    async fn watch(
        &self,
        question: &Question<'_>,
        row: &PermissionRow,
        permissions: &Permissions,
        cancel: &CancellationToken,
    ) -> Result<PermissionRow, StoreError> {
        let mut seen = None;
        let mut answers = self.live.watch();
        let deadline = Instant::now() + permissions.queue.deadline;
        loop {
            if Instant::now() >= deadline {
                return self.expire(row.id, BY_DEADLINE).await;
            }
            if !permissions.queue.wait && self.live.has_left(row.id) {
                return self.expire(row.id, BY_NOBODY).await;
            }
            if (question.is_free)() {
                self.allow_by_mode(row.id).await?;
            }
            let version = self.store.data_version().await?;
            if seen != Some(version) {
                seen = Some(version);
                let found = self.store.permission(row.id).await?;
                if found.state != PermissionState::Pending {
                    return Ok(found);
                }
                // An answer to a neighbour's question may cover this one.
                if let Some(other) = self.standing(question).await? {
                    self.follow(row.id, &other).await?;
                    continue;
                }
            }
            let left = deadline.saturating_duration_since(Instant::now());
            tokio::select! {
                () = tokio::time::sleep(ANSWER_POLL.min(left)) => {}
                Ok(()) = answers.changed() => {}
                () = cancel.cancelled() => return self.store.permission(row.id).await,
            }
        }
    }

    /// Lets the default of a request count; `by` says why.
    async fn expire(&self, id: PermissionId, by: &str) -> Result<PermissionRow, StoreError> {
        self.store.default_permission(id, by, self.ports.clock.now_ms()).await
    }

    /// Answers a request that the session's new mode allows.
    async fn allow_by_mode(&self, id: PermissionId) -> Result<(), StoreError> {
        self.answer_once((id, Decision::Allow), BY_MODE.to_owned(), None).await
    }

    /// Answers a request as an answer that stands says.
    async fn follow(&self, id: PermissionId, other: &PermissionRow) -> Result<(), StoreError> {
        let decision = other.decision().unwrap_or(Decision::Deny);
        let by = format!("the answer to {}", other.id.short());
        self.answer_once((id, decision), by, other.reason.clone()).await
    }

    /// Answers a request without a person, unless somebody was faster.
    async fn answer_once(
        &self,
        (id, decision): (PermissionId, Decision),
        by: String,
        reason: Option<String>,
    ) -> Result<(), StoreError> {
        let now_ms = self.ports.clock.now_ms();
        let scope = PermissionScope::Once;
        let answer = AnswerPermission { id, decision, scope, rule: None, by, reason, now_ms };
        match self.store.answer_permission(answer).await {
            Ok(_) | Err(StoreError::Settled { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// The answer that stands for this call; of several a no.
    async fn standing(&self, question: &Question<'_>) -> Result<Option<PermissionRow>, StoreError> {
        let rows = self.store.standing_permissions(self.agent).await?;
        let mut covering = rows.into_iter().filter(|row| question.is_covered_by(row));
        let first = covering.next();
        let no = |row: &PermissionRow| row.decision() == Some(Decision::Deny);
        Ok(match first {
            Some(row) if !no(&row) => Some(covering.find(no).unwrap_or(row)),
            other => other,
        })
    }
}

impl Question<'_> {
    /// The farthest that a yes may reach. Where a link leads can change, so a yes to a call through one is for this call.
    fn widest(&self) -> PermissionScope {
        match (&self.real, &self.rule) {
            (Some(_), _) => PermissionScope::Once,
            (None, Some(rule)) if (self.helps)(rule) => PermissionScope::Always,
            (None, _) => PermissionScope::Tree,
        }
    }

    fn is_covered_by(&self, row: &PermissionRow) -> bool {
        let same = || row.tool == self.call.tool && row.input == self.call.input.as_str();
        let rule = match row.rule.as_deref().map(str::parse::<Rule>) {
            None => {
                return same() && (self.real.is_none() || row.decision() == Some(Decision::Deny));
            }
            Some(Err(_)) => return false,
            Some(Ok(rule)) => rule,
        };
        match row.decision() {
            Some(Decision::Allow) => {
                // A wider rule yields to the rules that ask, as those of the settings do.
                let is_own = self.rule.as_ref().map(Rule::to_string) == row.rule;
                self.real.is_none() && rule.permits(self.call) && (is_own || (self.helps)(&rule))
            }
            Some(Decision::Deny) => {
                rule.forbids(self.call) || self.real.as_ref().is_some_and(|real| rule.forbids(real))
            }
            None => false,
        }
    }
}

/// What an answer means to the model.
fn told(why: &Reason, row: &PermissionRow) -> Result<(), Unallowed> {
    let ends = |reason: &str| reason.ends_with(['.', '!', '?', ':', ';', '…']);
    let reason = match row.reason.as_deref().map(str::trim).filter(|reason| !reason.is_empty()) {
        None => ".".to_owned(),
        Some(reason) if ends(reason) => format!(": {reason}"),
        Some(reason) => format!(": {reason}."),
    };
    match (row.state, row.decision()) {
        (_, Some(Decision::Allow)) => Ok(()),
        (PermissionState::Denied, _) => {
            Err(Unallowed::denied(format!(" by the user{reason}"), "Do not try this call again."))
        }
        (PermissionState::Expired, _) if row.answered_by.as_deref() == Some(BY_NOBODY) => {
            Err(Unallowed::denied(format!(": {why}, and nobody can be asked here."), OTHERWISE))
        }
        (PermissionState::Expired, _) => {
            Err(Unallowed::denied(format!(": {why}, and nobody answered in time."), OTHERWISE))
        }
        (PermissionState::Pending | PermissionState::Allowed | PermissionState::Withdrawn, _) => {
            Err(Unallowed::Otherwise(STOPPED.to_owned()))
        }
    }
}
