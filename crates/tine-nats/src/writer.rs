//! The one who writes a run's record, while several parts of the run have something to tell: what they tell is written in order.

use std::sync::Arc;

use tine_fork::host::Clock;
use tokio::sync::{mpsc, oneshot};

use crate::error::ClusterError;
use crate::event::Happened;
use crate::record::Record;

/// An event was not written: another worker has the run, or the servers are away for too long.
#[derive(Debug, thiserror::Error)]
#[error("the worker has lost the record of this run")]
pub(crate) struct RecordLost;

struct Line {
    happened: Happened,
    at_ms: i64,
    written: Option<oneshot::Sender<()>>,
}

/// Takes events for a record. Clones are the same queue.
#[derive(Clone)]
pub(crate) struct Writer {
    lines: mpsc::UnboundedSender<Line>,
    clock: Arc<dyn Clock>,
}

/// The other end of the queue.
pub(crate) struct Writing {
    lines: mpsc::UnboundedReceiver<Line>,
    record: Record,
}

impl Writer {
    /// A queue before this record.
    pub(crate) fn of(record: Record, clock: Arc<dyn Clock>) -> (Self, Writing) {
        let (sender, receiver) = mpsc::unbounded_channel();
        (Self { lines: sender, clock }, Writing { lines: receiver, record })
    }

    /// Writes an event behind all that were told before. When this returns, it stands on the server.
    pub(crate) async fn write(&self, happened: Happened) -> Result<(), RecordLost> {
        let (written, is_written) = oneshot::channel();
        self.send(happened, Some(written));
        is_written.await.map_err(|_| RecordLost)
    }

    /// Writes an event that nobody waits for.
    pub(crate) fn note(&self, happened: Happened) {
        self.send(happened, None);
    }

    fn send(&self, happened: Happened, written: Option<oneshot::Sender<()>>) {
        let at_ms = self.clock.now_ms();
        // Where nobody writes any more, nobody is told that it was written.
        drop(self.lines.send(Line { happened, at_ms, written }));
    }
}

impl Writing {
    /// Writes, until an event is refused or all writers are gone.
    pub(crate) async fn go(mut self) -> Result<(), ClusterError> {
        while let Some(Line { happened, at_ms, written }) = self.lines.recv().await {
            self.record.write(&happened, at_ms).await?;
            if let Some(written) = written {
                // Whoever wanted to know may have been dropped.
                let _ = written.send(());
            }
        }
        Ok(())
    }
}
