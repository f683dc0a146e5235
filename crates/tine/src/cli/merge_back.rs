//! The arguments of `tine merge-back`.

use std::path::PathBuf;

use clap::Args;

/// `tine merge-back`
#[derive(Debug, Args)]
pub(crate) struct MergeBackArgs {
    /// The fork: its name, or the first characters of its id
    pub(crate) agent: String,
    /// The ancestor that gets it [default: the fork's parent]
    #[arg(long, value_name = "AGENT")]
    pub(crate) into: Option<String>,
    /// Open $VISUAL or $EDITOR on the text first [default: on a terminal]
    #[arg(long)]
    pub(crate) edit: bool,
    /// Append the text as it is
    #[arg(long, conflicts_with = "edit")]
    pub(crate) no_edit: bool,
    /// Append this text, `-` for standard input; no model is asked
    #[arg(long, value_name = "TEXT")]
    pub(crate) text: Option<String>,
    /// Append the text of this file, `-` for standard input; no model is asked
    #[arg(long, value_name = "FILE", conflicts_with = "text")]
    pub(crate) file: Option<PathBuf>,
    /// What the draft has to mind above all; `-` for standard input
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["text", "file"])]
    pub(crate) instructions: Option<String>,
    /// Print the text, and append nothing
    #[arg(long, conflicts_with = "edit")]
    pub(crate) dry_run: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
