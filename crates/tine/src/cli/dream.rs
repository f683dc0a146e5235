//! `tine dream`: notes of a project, kept up to date.

use clap::{Args, Subcommand};

use super::JsonArgs;
use crate::manual::examples;

/// `tine dream`
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct DreamArgs {
    #[command(subcommand)]
    pub(crate) command: Option<DreamCommand>,
    /// Run now: of the gates, only the lock counts
    #[arg(short, long)]
    pub(crate) force: bool,
    /// Say what would happen, and do nothing
    #[arg(short = 'n', long)]
    pub(crate) dry_run: bool,
    /// A session that is held now, and is not to be learnt from
    #[arg(long, hide = true, value_name = "AGENT")]
    pub(crate) current: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What else there is to do.
#[derive(Debug, Subcommand)]
pub(crate) enum DreamCommand {
    /// Show where the notes are, the gates as they stand, and the last run
    #[command(after_help = examples::DREAM_STATUS)]
    Status(JsonArgs),
    /// Show all runs, the newest first
    #[command(after_help = examples::DREAM_LOG)]
    Log(JsonArgs),
    /// Take back what a run has changed in the notes
    #[command(after_help = examples::DREAM_UNDO)]
    Undo(UndoDreamArgs),
}

/// `tine dream undo`
#[derive(Debug, Args)]
pub(crate) struct UndoDreamArgs {
    /// The run: its id, or the first characters of it (see `tine dream log`)
    pub(crate) run: String,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
