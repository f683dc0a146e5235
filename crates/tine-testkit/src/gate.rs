//! A place where something waits until a test lets it go on.

use tokio_util::sync::CancellationToken;

/// A door that a test opens once. Clones are the same door.
#[derive(Debug, Clone, Default)]
pub struct Gate {
    opened: CancellationToken,
    reached: CancellationToken,
}

impl Gate {
    /// A closed gate.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets through whoever waits, and whoever comes later.
    pub fn open(&self) {
        self.opened.cancel();
    }

    /// Returns once somebody has come to the gate, open or not.
    pub async fn reached(&self) {
        self.reached.cancelled().await;
    }

    /// Waits until the gate is open.
    pub async fn pass(&self) {
        self.reached.cancel();
        self.opened.cancelled().await;
    }
}
