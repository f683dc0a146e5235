//! A repository of the user's to try things out in, so that the user's own stays as it is.

use std::path::PathBuf;

use tine_worktree::Repository;

use super::checkouts::blocking;
use crate::error::RuntimeError;

/// Makes a repository at `to`, which must not exist, that has what is committed in the checkout around `directory`, and its history.
/// Returns the top of its checkout. It takes its objects from there, where nothing is written.
pub async fn try_out(directory: PathBuf, to: PathBuf) -> Result<PathBuf, RuntimeError> {
    blocking(move || Ok(Repository::at(&directory)?.try_out(&to)?.top().to_owned())).await
}
