//! Waiting for something to change, in this process or in another: those of this process beat (`live.rs`), and for the others the
//! store is asked now and then. What has changed is for the one who waits to find out.

use std::time::Duration;

use tine_store::StoreError;
use tokio::sync::watch;

use crate::runtime::Runtime;

/// How often one who waits looks whether another process has changed the store.
const STORE_POLL: Duration = Duration::from_millis(250);

/// Tells when this process or another may have changed something.
#[derive(Debug)]
pub struct ChangeWatch {
    pulse: watch::Receiver<u64>,
    version: i64,
}

impl ChangeWatch {
    /// Watches from now on: what is read after this is either new already, or makes [`Self::next`] return.
    pub async fn begin(runtime: &Runtime) -> Result<Self, StoreError> {
        let pulse = runtime.live().watch();
        Ok(Self { pulse, version: runtime.store().data_version().await? })
    }

    /// Returns when something may have changed. May be dropped at any time.
    pub async fn next(&mut self, runtime: &Runtime) -> Result<(), StoreError> {
        loop {
            // Both branches are cancel-safe.
            tokio::select! {
                beat = self.pulse.changed() => {
                    if beat.is_ok() {
                        return Ok(());
                    }
                    tokio::time::sleep(STORE_POLL).await;
                }
                () = tokio::time::sleep(STORE_POLL) => {}
            }
            let version = runtime.store().data_version().await?;
            if version != self.version {
                self.version = version;
                return Ok(());
            }
        }
    }
}
