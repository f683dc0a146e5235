//! Requests for permission that runs of any process wait with: read and answered by whoever looks, as their own terminals would.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::{Path, PathBuf};

use tine_guard::{Call, OfferedRule};
use tine_model::{AgentId, PermissionId, PermissionScope, PermissionState, RawJson};
use tine_store::{PermissionFilter, PermissionRow};
use tine_tools::{Preview, preview};

use crate::error::RuntimeError;
use crate::request::{Answer, Request, wider_rules};
use crate::rule_book::{NotKept, RuleBook};
use crate::runtime::Runtime;

impl Request {
    /// Compares the file that the call would write, as it is now and as it would be. None for calls that write no file.
    pub async fn preview(&self) -> Option<Preview> {
        let (tool, input) = (self.tool.clone(), self.input.clone());
        let directory = PathBuf::from(&self.directory);
        let reading = tokio::task::spawn_blocking(move || preview(&tool, &input, &directory));
        // A panic in there is told by whoever shows the rest.
        reading.await.unwrap_or_else(|error| Some(Preview::Unknown(error.to_string())))
    }
}

impl Runtime {
    /// All requests that wait for a word, the oldest first.
    pub async fn requests_waiting(&self) -> Result<Vec<Request>, RuntimeError> {
        let rows = self.request_rows(None, PermissionFilter::Pending).await?;
        let mut labels = HashMap::new();
        for row in &rows {
            if let Entry::Vacant(place) = labels.entry(row.agent) {
                place.insert(self.asker_label(row.agent).await?);
            }
        }
        let labelled = |row: &PermissionRow| {
            // It was kept as it came. What cannot be read, nobody should be asked about.
            let input = RawJson::parse(&row.input).ok()?;
            Some(request(row, input, labels.get(&row.agent).cloned().flatten()))
        };
        Ok(rows.iter().filter_map(labelled).collect())
    }

    /// Requests as they are kept, the oldest first: of the tree that an agent belongs to, or of all.
    pub async fn request_rows(
        &self,
        tree: Option<AgentId>,
        filter: PermissionFilter,
    ) -> Result<Vec<PermissionRow>, RuntimeError> {
        let root = match tree {
            Some(agent) => self.store().ancestry(agent).await?.first().map(|root| root.id),
            None => None,
        };
        Ok(self.store().permissions(root, filter).await?)
    }

    /// A request as it is kept.
    pub async fn request_row(&self, id: PermissionId) -> Result<PermissionRow, RuntimeError> {
        Ok(self.store().permission(id).await?)
    }

    /// The request that a user means: by its id, or by at least four characters of it.
    pub async fn resolve_request(&self, text: &str) -> Result<PermissionId, RuntimeError> {
        Ok(self.store().resolve_permission(text).await?)
    }

    /// Answers a request of a run of any process; the first answer wins. A rule must be one of those
    /// that are offered, in full or in short. `by` says whose word it is, for those who ask later.
    pub async fn answer_request(
        &self,
        id: PermissionId,
        answer: Answer,
        by: &str,
    ) -> Result<Answered, RuntimeError> {
        let answer = match answer {
            Answer::AllowRule(PermissionScope::Once, _) => return Err(RuntimeError::RuleForOnce),
            Answer::AllowRule(scope, rule) => {
                Answer::AllowRule(scope, offered(&self.request_row(id).await?, &rule)?)
            }
            answer => answer,
        };
        let answer = answer.into_row(id, by, self.now_ms());
        let row = self.store().answer_permission(answer).await?;
        self.live().beat();
        Ok(Answered { kept: kept(self.rule_book().map(|book| &**book), &row), row })
    }

    /// Nobody here answers a request of a run of this process: its default counts now, unless the run waits for other processes.
    pub fn leave_unanswered(&self, id: PermissionId) {
        self.live().leave(id);
    }

    /// Takes back an answer that stands.
    pub async fn revoke_answer(&self, id: PermissionId) -> Result<PermissionRow, RuntimeError> {
        Ok(self.store().revoke_permission(id, self.now_ms()).await?)
    }

    /// The name of the one who asks, else its task.
    pub async fn asker_label(&self, agent: AgentId) -> Result<Option<String>, RuntimeError> {
        if let Some(name) = self.store().agent(agent).await?.name {
            return Ok(Some(name));
        }
        let task = self.store().task(agent).await?;
        Ok(task.map(|task| task.description.unwrap_or(task.directive)))
    }
}

/// A request that was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    /// The request as it is now.
    pub row: PermissionRow,
    /// Its rule, where the answer reaches to all later runs.
    pub kept: Option<Result<String, NotKept>>,
}

/// The wider rules that an answer to a request may cover instead of its own; none once it is answered.
pub fn offers(row: &PermissionRow) -> Vec<OfferedRule> {
    match (row.state, RawJson::parse(&row.input)) {
        (PermissionState::Pending, Ok(input)) => {
            wider_rules(&Call::new(&row.tool, &input, Path::new(&row.directory)), row.widest)
        }
        _ => Vec::new(),
    }
}

/// The rule of this request that a person names, as it counts everywhere.
fn offered(row: &PermissionRow, named: &str) -> Result<String, RuntimeError> {
    let offers = offers(row);
    match offers.iter().find(|offer| offer.rule == named || offer.short == named) {
        Some(offer) => Ok(offer.rule.clone()),
        None => Err(RuntimeError::NotOffered {
            request: row.id,
            rule: named.to_owned(),
            offered: offers.into_iter().next().map(|offer| offer.rule),
        }),
    }
}

/// Keeps the rule of an answer that reaches to all later runs.
fn kept(book: Option<&dyn RuleBook>, row: &PermissionRow) -> Option<Result<String, NotKept>> {
    let (Some(PermissionScope::Always), Some(rule)) = (row.scope, &row.rule) else { return None };
    Some(book?.keep(row.decision()?, rule))
}

/// The request of a row, with its arguments and what people call the one who asks.
pub(crate) fn request(row: &PermissionRow, input: RawJson, label: Option<String>) -> Request {
    Request {
        id: row.id,
        agent: row.agent,
        label,
        tool: row.tool.clone(),
        what: row.what.clone(),
        input,
        directory: row.directory.clone(),
        why: row.why.clone(),
        warning: row.warning.clone(),
        rule: row.rule.clone(),
        offers: offers(row),
        widest: row.widest,
        deadline_ms: row.deadline_ms,
        fallback: row.fallback,
    }
}
