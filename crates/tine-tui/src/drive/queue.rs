//! Requests for permission: of runs of this process, which are told of as they come, and of runs elsewhere, which are found in the
//! store. All are put on the screen, and answered in the store.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};

use tine_model::{Decision, PermissionId};
use tine_runtime::{Answer, PermissionRequest, PermissionRow, RuntimeError, StoreError};
use tokio::sync::Mutex;

use super::feed::rule_kept;
use super::hands::Hands;
use crate::app::{Event, Tone};
use crate::words::one_line;

/// The requests that this terminal knows.
#[derive(Debug, Default)]
pub(super) struct Queue {
    /// Held while the store is read, so that what two looks find is not told twice.
    known: Mutex<Known>,
    is_closed: AtomicBool,
}

#[derive(Debug, Default)]
struct Known {
    /// Those on the screen, and until when each waits.
    shown: HashMap<PermissionId, i64>,
    /// Those of this process that wait no longer; the store says so a moment later.
    over: HashSet<PermissionId>,
}

impl Queue {
    /// Shows no requests of others.
    pub(super) fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
    }
}

impl Hands {
    /// Puts a request of a run of this process on the screen.
    pub(super) async fn asked(&self, request: &PermissionRequest) {
        let mut known = self.queue.known.lock().await;
        known.over.remove(&request.id);
        self.put(&mut known, request.clone());
    }

    /// Takes a request of a run of this process off the screen, which waits no longer.
    pub(super) async fn settled(&self, row: &PermissionRow) {
        let mut known = self.queue.known.lock().await;
        known.over.insert(row.id);
        self.take_off(&mut known, row);
    }

    fn put(&self, known: &mut Known, request: PermissionRequest) {
        let is_new = known.shown.insert(request.id, request.deadline_ms);
        if is_new != Some(request.deadline_ms) {
            self.inbox.push(Event::Asked(Box::new(request)));
        }
    }

    /// Those that were answered here are off the screen already.
    fn take_off(&self, known: &mut Known, row: &PermissionRow) {
        if known.shown.remove(&row.id).is_some() {
            let how = row.decision().map(|_| how(row));
            self.inbox.push(Event::Settled(row.id, how));
        }
    }

    /// Puts the requests of others that are new on the screen, and takes those away that need no answer any more.
    pub(super) async fn look_at_queue(&self) -> Result<(), RuntimeError> {
        if self.queue.is_closed.load(Ordering::Relaxed) {
            return Ok(());
        }
        let mut known = self.queue.known.lock().await;
        let waiting = self.runtime().requests_waiting().await?;
        let mut gone = known.shown.clone();
        for request in waiting {
            gone.remove(&request.id);
            if !known.over.contains(&request.id) {
                self.put(&mut known, request);
            }
        }
        for id in gone.into_keys() {
            let row = self.runtime().request_row(id).await?;
            self.take_off(&mut known, &row);
        }
        Ok(())
    }

    /// The person's word on a request.
    pub(super) async fn answer(
        &self,
        id: PermissionId,
        answer: Answer,
    ) -> Result<(), RuntimeError> {
        // Held until the answer is kept: who looks in between would find it waiting.
        let mut known = self.queue.known.lock().await;
        known.shown.remove(&id);
        let answered = async {
            let by = if self.runtime().is_own(&self.runtime().request_row(id).await?.owner) {
                "the run's terminal"
            } else {
                "another terminal"
            };
            self.runtime().answer_request(id, answer, by).await
        };
        let answered = answered.await;
        drop(known);
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
