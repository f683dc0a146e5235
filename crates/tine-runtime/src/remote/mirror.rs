//! A second place for all that a run writes, which has it before the run goes on.

use async_trait::async_trait;
use tine_store::{CacheRow, NewEntry, RequestRow};

/// A second place for what a run writes into its log. An error ends the run: what it does must not go on unseen.
#[async_trait]
pub(crate) trait Mirror: Send + Sync {
    /// An entry of the log.
    async fn entry(&self, entry: &NewEntry) -> Result<(), Failed>;

    /// An answered request, with the cache entries that it left.
    async fn request(&self, row: &RequestRow, cache: &[CacheRow]) -> Result<(), Failed>;
}

/// Why something was not written there.
pub(crate) type Failed = Box<dyn std::error::Error + Send + Sync>;
