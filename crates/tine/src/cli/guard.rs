//! The command line of `tine guard`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::manual::examples;

/// `tine guard`
#[derive(Debug, Subcommand)]
pub(crate) enum GuardCommand {
    /// Say whether a shell command only reads, and why; the exit code is 0 if it does and 56 if not
    #[command(after_help = examples::GUARD_SHELL)]
    Shell(GuardShellArgs),
    /// Ask the filter of maintenance runs whether it allows tool calls
    #[command(after_help = examples::GUARD_FILTER)]
    Filter(GuardFilterArgs),
}

/// `tine guard shell`
#[derive(Debug, Args)]
pub(crate) struct GuardShellArgs {
    /// The command, as one text
    #[arg(required_unless_present = "jsonl", allow_hyphen_values = true)]
    pub(crate) command: Option<String>,
    /// Print JSON
    #[arg(long, conflicts_with = "jsonl")]
    pub(crate) json: bool,
    /// Read a JSON object a line from standard input and answer each at once, in order; the exit code is 0
    #[arg(long, conflicts_with = "command")]
    pub(crate) jsonl: bool,
    /// Judge as in front of a read-only wall: also loops, substitutions, awk programs over commands that only read
    #[arg(long)]
    pub(crate) wide: bool,
}

/// `tine guard filter`
#[derive(Debug, Args)]
pub(crate) struct GuardFilterArgs {
    /// Read one JSON order a line from standard input, and answer each with one JSON line
    #[arg(long, required_unless_present = "tool", conflicts_with_all = ["tool", "arguments", "memory_dir", "json"])]
    pub(crate) jsonl: bool,
    /// The directory that the run may write to
    #[arg(long, value_name = "DIR", requires = "tool")]
    pub(crate) memory_dir: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// The tool's canonical name
    #[arg(value_name = "TOOL", requires_all = ["arguments", "memory_dir"])]
    pub(crate) tool: Option<String>,
    /// Its arguments, as JSON
    #[arg(value_name = "ARGS_JSON")]
    pub(crate) arguments: Option<String>,
}
