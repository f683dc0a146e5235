//! The command line of `tine trust`.

use std::path::PathBuf;

use clap::Args;

/// `tine trust`
#[derive(Debug, Args)]
pub(crate) struct TrustArgs {
    /// Trust the content as it is now, without a question
    #[arg(short, long, conflicts_with_all = ["list", "revoke"])]
    pub(crate) yes: bool,
    /// List the directories that you trust
    #[arg(long, conflicts_with = "revoke")]
    pub(crate) list: bool,
    /// Take your trust in a directory back [default: the current one]
    #[arg(long, value_name = "DIR", num_args = 0..=1)]
    pub(crate) revoke: Option<Option<PathBuf>>,
    /// Print the list as JSON
    #[arg(long, requires = "list")]
    pub(crate) json: bool,
}
