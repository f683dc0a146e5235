//! Requests for permission of agents that run elsewhere: found in the store, put on the screen, and answered there.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use tine_model::{Decision, PermissionId};
use tine_runtime::{Answer, PermissionRow, RuntimeError, StoreError};
use tokio::sync::Mutex;

use super::feed::rule_kept;
use super::hands::Hands;
use crate::app::{Event, Tone};
use crate::words::one_line;

/// Whose word it is when the person answers a run of another process.
const BY: &str = "another terminal";

/// What this terminal knows of the requests of others.
#[derive(Debug, Default)]
pub(super) struct Queue {
    /// Those on the screen, and until when each waits. Held while the store is read, so that what two looks find is not told twice.
    shown: Mutex<HashMap<PermissionId, i64>>,
    is_closed: AtomicBool,
}

impl Queue {
    /// Shows no requests of others.
    pub(super) fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
    }
}

impl Hands {
    /// Puts the requests of others that are new on the screen, and takes those away that need no answer any more.
    pub(super) async fn look_at_queue(&self) -> Result<(), RuntimeError> {
        if self.queue.is_closed.load(Ordering::Relaxed) {
            return Ok(());
        }
        let mut shown = self.queue.shown.lock().await;
        let waiting = self.runtime().requests_waiting().await?;
        let mut gone = shown.clone();
        for request in waiting {
            gone.remove(&request.id);
            if self.asker.has(request.id) {
                // A run of this process has taken it up, and asks itself.
                shown.remove(&request.id);
            } else if shown.insert(request.id, request.deadline_ms) != Some(request.deadline_ms) {
                self.inbox.push(Event::Asked(Box::new(request)));
            }
        }
        for id in gone.into_keys() {
            shown.remove(&id);
            let row = self.runtime().request_row(id).await?;
            let how = (!self.runtime().is_own(&row.owner)).then(|| how(&row));
            self.inbox.push(Event::Settled(id, how));
        }
        Ok(())
    }

    /// The person's word on a request: to the run of this process that asks, else into the store.
    pub(super) async fn answer(
        &self,
        id: PermissionId,
        answer: Answer,
    ) -> Result<(), RuntimeError> {
        if self.asker.answer(id, answer.clone()) || answer == Answer::Nobody {
            return Ok(());
        }
        // Held until the answer is kept: who looks in between would find it waiting.
        let mut shown = self.queue.shown.lock().await;
        shown.remove(&id);
        let answered = self.runtime().answer_request(id, answer, BY).await;
        drop(shown);
        match answered {
            Ok(answered) => {
                answered.kept.into_iter().for_each(|kept| self.inbox.push(rule_kept(kept)));
                Ok(())
            }
            Err(RuntimeError::Store(StoreError::Settled { permission })) => {
                self.tell(None, Tone::Warning, format!("It was {}", how(&permission)));
                Ok(())
            }
            Err(error) => {
                // It may wait still, and is put again.
                self.look_at_queue().await.ok();
                Err(error)
            }
        }
    }
}

/// What became of a request without the word of the person here.
pub(super) fn how(row: &PermissionRow) -> String {
    let how = match row.decision() {
        Some(Decision::Allow) => "allowed",
        Some(Decision::Deny) => "refused",
        None => "withdrawn",
    };
    format!("{how} without your word: {}", one_line(&row.what))
}
