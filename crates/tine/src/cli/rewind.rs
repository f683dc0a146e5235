//! The arguments of `tine mark`, `tine rewind` and `tine clear`.

use clap::Args;

/// `tine mark`
#[derive(Debug, Args)]
pub(crate) struct MarkArgs {
    /// The agent: its name, or the first characters of its id
    pub(crate) agent: String,
    /// A label to go back to
    pub(crate) label: Option<String>,
    /// List the marks instead of adding one
    #[arg(long, conflicts_with = "label")]
    pub(crate) list: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `tine rewind`
#[derive(Debug, Args)]
pub(crate) struct RewindArgs {
    /// The agent: its name, or the first characters of its id
    pub(crate) agent: String,
    /// The label of a mark [default: before the last prompt]
    pub(crate) label: Option<String>,
    /// Go back to behind this entry, by its number in `tine show`; 0 for before the first
    #[arg(long, value_name = "ENTRY", conflicts_with = "label")]
    pub(crate) to: Option<i64>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `tine clear`
#[derive(Debug, Args)]
pub(crate) struct ClearArgs {
    /// The agent: its name, or the first characters of its id
    pub(crate) agent: String,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
