//! Mends checkouts in which a change was cut short, such as an apply whose process was killed, for whoever looks at them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use tine_worktree::{Mended, unended_changes};

use super::checkouts::{blocking, checkout};
use crate::error::RuntimeError;
use crate::runtime::Runtime;

/// A checkout in which a change was cut short.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HalfChanged {
    /// The top of the checkout.
    pub checkout: PathBuf,
    /// The outcome of the change, or the reason why there was none: then files of it are half changed.
    pub mended: Result<Mended, String>,
}

impl Runtime {
    /// Mends all checkouts of the repositories of which agents have worktrees. Costs a few looks at files where nothing was cut short.
    /// Changes that are under way are left.
    pub async fn mend_checkouts(&self) -> Result<Vec<HalfChanged>, RuntimeError> {
        let records = self.store().worktrees().await?;
        let repositories: BTreeSet<PathBuf> =
            records.iter().map(|record| PathBuf::from(&record.repository)).collect();
        let mut tops: BTreeSet<PathBuf> = BTreeSet::new();
        for common_dir in repositories {
            tops.extend(unended_changes(&common_dir));
        }
        let mut found = Vec::new();
        for top in tops {
            match self.mend_checkout(&top).await {
                Ok(Some(mended)) => found.push(HalfChanged { checkout: top, mended: Ok(mended) }),
                Ok(None) => {}
                Err(error) => {
                    let mended = Err(error.to_string());
                    found.push(HalfChanged { checkout: top, mended });
                }
            }
        }
        Ok(found)
    }

    async fn mend_checkout(&self, top: &Path) -> Result<Option<Mended>, RuntimeError> {
        let (around, top) = (self.worktree_at(top).await?, top.to_owned());
        blocking(move || checkout(&top, around.as_ref())?.mend_unless_under_way()).await
    }
}
