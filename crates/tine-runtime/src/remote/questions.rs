//! Questions of runs elsewhere, asked here.

use std::time::Duration;

use tine_model::{AgentId, PermissionId, PermissionState, RawJson};
use tine_nats::Order;
use tine_nats::event::{Answer, Question};
use tine_store::{AskPermission, Lease, PermissionRow, StoreError};
use tokio::time::Instant;

use super::job::QuestionText;
use crate::error::RuntimeError;
use crate::events::{EventKind, Teller};
use crate::permission::Permissions;
use crate::queue::{BY_DEADLINE, BY_NOBODY};
use crate::requests::request;
use crate::runtime::Runtime;

/// The one who answers, as the rows on the worker's side say.
pub(super) const BY_HOME: &str = "the machine that it comes from";

/// The questions of one run that wait.
pub(super) struct Waiting<'a> {
    runtime: &'a Runtime,
    lease: &'a Lease,
    teller: &'a Teller,
    label: Option<String>,
    permissions: &'a Permissions,
    open: Vec<Open>,
    /// The version of the store that was looked at.
    seen: Option<i64>,
}

/// A question that waits.
struct Open {
    /// Its name there.
    question: String,
    /// The row here: that of another worker's question about the same call, where one waited already.
    row: PermissionId,
    deadline: Instant,
}

impl<'a> Waiting<'a> {
    pub(super) fn new(
        runtime: &'a Runtime,
        (lease, teller): (&'a Lease, &'a Teller),
        label: Option<String>,
        permissions: &'a Permissions,
    ) -> Self {
        Self { runtime, lease, teller, label, permissions, open: Vec::new(), seen: None }
    }

    /// Asks here what is asked there. One that is known is found again, and so is its answer.
    pub(super) async fn ask(&mut self, question: &Question) -> Result<(), RuntimeError> {
        let Ok(id) = question.question.parse::<PermissionId>() else { return Ok(()) };
        let Ok(detail) = serde_json::from_value::<QuestionText>(question.detail.clone()) else {
            return Ok(());
        };
        let wait = u64::try_from(detail.wait_ms).unwrap_or(0);
        let row = match self.runtime.store().permission(id).await {
            Ok(known) => known,
            Err(StoreError::UnknownPermission { .. }) => {
                self.runtime.store().ask_permission(self.asking(id, question, detail)).await?
            }
            Err(error) => return Err(error.into()),
        };
        if row.state == PermissionState::Pending
            && let Ok(input) = RawJson::parse(&row.input)
        {
            let request = request(&row, input, self.label.clone());
            self.teller.tell(EventKind::Asked(Box::new(request)));
        }
        let deadline = Instant::now() + Duration::from_millis(wait);
        self.open.push(Open { question: question.question.clone(), row: row.id, deadline });
        self.seen = None;
        Ok(())
    }

    fn asking(&self, id: PermissionId, question: &Question, detail: QuestionText) -> AskPermission {
        let now_ms = self.runtime.now_ms();
        AskPermission {
            id,
            agent: self.agent(),
            owner: self.lease.owner.clone(),
            call: question.call.clone(),
            tool: question.tool.clone(),
            what: question.what.clone(),
            widest: detail.widest(),
            fallback: detail.fallback(),
            deadline_ms: now_ms.saturating_add(detail.wait_ms),
            input: detail.input,
            directory: detail.directory,
            why: detail.why,
            warning: detail.warning,
            rule: detail.rule,
            now_ms,
        }
    }

    /// Notes that a question has its answer there, or that nobody there wants to know any more.
    pub(super) fn forget(&mut self, answer: &Answer) {
        self.open.retain(|open| open.question != answer.question);
    }

    /// Notes that nobody waits for an answer any more.
    pub(super) fn clear(&mut self) {
        self.open.clear();
    }

    /// The answers that have been given since, as orders. Each is to be carried out once, however often it comes.
    pub(super) async fn answered(&mut self) -> Result<Vec<Order>, RuntimeError> {
        if self.open.is_empty() {
            return Ok(Vec::new());
        }
        let version = self.runtime.store().data_version().await?;
        let is_changed = self.seen != Some(version);
        self.seen = Some(version);
        let mut orders = Vec::new();
        for open in std::mem::take(&mut self.open) {
            let id = open.row;
            let is_over = Instant::now() >= open.deadline;
            let is_left = !self.permissions.asks || self.runtime.live().has_left(id);
            let is_alone = is_left && !self.permissions.queue.wait;
            let row = match (is_over, is_alone) {
                (true, _) => self.expire(id, BY_DEADLINE).await?,
                (false, true) => self.expire(id, BY_NOBODY).await?,
                (false, false) if is_changed => self.runtime.store().permission(id).await?,
                (false, false) => {
                    self.open.push(open);
                    continue;
                }
            };
            match row.decision() {
                Some(decision) => {
                    self.runtime.store().take_permission(id, self.runtime.now_ms()).await?;
                    self.teller.tell(EventKind::Settled(Box::new(row.clone())));
                    let is_default = row.state == PermissionState::Expired;
                    orders.push(Order::Answer {
                        question: open.question,
                        decision: decision.as_str().to_owned(),
                        default_by: row.answered_by.filter(|_| is_default),
                        scope: row.scope.map(|scope| scope.as_str().to_owned()),
                        rule: row.rule,
                        reason: row.reason,
                    });
                }
                None if row.state == PermissionState::Pending => self.open.push(open),
                None => {}
            }
        }
        Ok(orders)
    }

    fn agent(&self) -> AgentId {
        self.lease.agent
    }

    async fn expire(&self, id: PermissionId, by: &str) -> Result<PermissionRow, StoreError> {
        self.runtime.store().default_permission(id, by, self.runtime.now_ms()).await
    }
}
