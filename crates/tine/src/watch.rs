//! Waiting for the store to change, and for the user to lose patience.

use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::time::Instant;

use crate::commands::listing;
use crate::context::Context;
use crate::fail::Failure;

/// How often the store is asked whether anything changed. One question costs some microseconds.
const POLL: Duration = Duration::from_millis(200);

/// How often dead processes are looked for: nobody changes the store when one dies.
const RECOVER: Duration = Duration::from_secs(1);

/// Tells when the store may say something new.
pub(crate) struct Watch {
    version: i64,
    recovered: Instant,
}

impl Watch {
    /// Begins to watch. What is read from the store after this is either already new or makes [`Self::changed`] return.
    pub(crate) async fn begin(context: &Context) -> Result<Self, Failure> {
        listing::recover(context).await?;
        let version = context.runtime.store().data_version().await?;
        Ok(Self { version, recovered: Instant::now() })
    }

    /// Returns when the store has changed. May be dropped at any time.
    pub(crate) async fn changed(&mut self, context: &Context) -> Result<(), Failure> {
        loop {
            tokio::time::sleep(POLL).await;
            if self.recovered.elapsed() >= RECOVER {
                self.recovered = Instant::now();
                listing::recover(context).await?;
            }
            let version = context.runtime.store().data_version().await?;
            if version != self.version {
                self.version = version;
                return Ok(());
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
