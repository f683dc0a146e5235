//! Waiting for the store to change, and for the user to lose patience.

use std::time::Duration;

use tine_runtime::ChangeWatch;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{Instant, sleep_until};

use crate::commands::listing;
use crate::context::Context;
use crate::fail::Failure;

/// The pause between two looks for dead processes: nobody changes the store when one dies.
const RECOVER: Duration = Duration::from_secs(1);

/// Tells when the store may say something new.
pub(crate) struct Watch {
    changes: ChangeWatch,
    recover_at: Instant,
}

impl Watch {
    /// Begins to watch. What is read from the store after this is either already new or makes [`Self::changed`] return.
    pub(crate) async fn begin(context: &Context) -> Result<Self, Failure> {
        listing::recover(context).await?;
        let changes = ChangeWatch::begin(&context.runtime).await?;
        Ok(Self { changes, recover_at: Instant::now() + RECOVER })
    }

    /// Returns when the store has changed. May be dropped at any time.
    pub(crate) async fn changed(&mut self, context: &Context) -> Result<(), Failure> {
        loop {
            // Both branches are cancel-safe.
            tokio::select! {
                changed = self.changes.next(&context.runtime) => return Ok(changed?),
                () = sleep_until(self.recover_at) => {
                    self.recover_at = Instant::now() + RECOVER;
                    listing::recover(context).await?;
                }
            }
        }
    }
}

/// Listens from now on; what is returned ends when the user presses Ctrl-C, or somebody ends the process kindly.
pub(crate) fn interrupted() -> Result<impl Future<Output = ()>, Failure> {
    let failed =
        |error: std::io::Error| Failure::failed("cannot listen for signals").because(&error);
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}
