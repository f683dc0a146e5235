//! Requests for permission that runs of any process wait with: read and answered by whoever looks, as their own terminals would.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::{Path, PathBuf};

use tine_guard::Call;
use tine_model::{AgentId, PermissionId, RawJson};
use tine_store::{PermissionFilter, PermissionRow};
use tine_tools::{Preview, preview};

use crate::error::RuntimeError;
use crate::permission::{Answer, Request, wider_rules};
use crate::runtime::Runtime;

/// Whose word it is when a person answers at a terminal that is not the run's own.
const BY_OTHER_TERMINAL: &str = "another terminal";

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
        let store = self.store();
        let rows = store.permissions(None, PermissionFilter::Pending).await?;
        let mut labels = HashMap::new();
        for row in &rows {
            if let Entry::Vacant(place) = labels.entry(row.agent) {
                place.insert(self.asker_label(row.agent).await?);
            }
        }
        let request = |row: PermissionRow| {
            // It was kept as it came. What cannot be read, nobody should be asked about.
            let input = RawJson::parse(&row.input).ok()?;
            let directory = Path::new(&row.directory);
            let offers = wider_rules(&Call::new(&row.tool, &input, directory), row.widest);
            Some(Request {
                id: row.id,
                agent: row.agent,
                label: labels.get(&row.agent).cloned().flatten(),
                tool: row.tool,
                what: row.what,
                input,
                directory: row.directory,
                why: row.why,
                warning: row.warning,
                rule: row.rule,
                offers,
                widest: row.widest,
                deadline_ms: row.deadline_ms,
                fallback: row.fallback,
            })
        };
        Ok(rows.into_iter().filter_map(request).collect())
    }

    /// Answers a request of a run of any process; the first answer wins. [`Answer::Nobody`] leaves it waiting. A rule that the answer
    /// reaches to is in the row, and the caller's to keep.
    pub async fn answer_request(
        &self,
        id: PermissionId,
        answer: Answer,
    ) -> Result<PermissionRow, RuntimeError> {
        match answer.into_row(id, BY_OTHER_TERMINAL, self.now_ms()) {
            Some(answer) => Ok(self.store().answer_permission(answer).await?),
            None => Ok(self.store().permission(id).await?),
        }
    }

    /// What people call the one who asks: its name, else its task.
    async fn asker_label(&self, agent: AgentId) -> Result<Option<String>, RuntimeError> {
        if let Some(name) = self.store().agent(agent).await?.name {
            return Ok(Some(name));
        }
        let task = self.store().task(agent).await?;
        Ok(task.map(|task| task.description.unwrap_or(task.directive)))
    }
}
