//! The command line of `tine mcp`.

use clap::{Args, Subcommand, ValueEnum};

use super::trusts_nothing;
use crate::manual::examples;

/// `tine mcp`
#[derive(Debug, Args)]
pub(crate) struct McpArgs {
    #[command(subcommand)]
    pub(crate) command: Option<McpCommand>,
}

/// Changes of a host's settings.
#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Put tine into the settings of a host, for all projects
    #[command(after_help = examples::MCP_INSTALL, arg = trusts_nothing())]
    Install(McpChangeArgs),
    /// Take tine out of the settings of a host again
    #[command(after_help = examples::MCP_REMOVE, arg = trusts_nothing())]
    Remove(McpChangeArgs),
}

/// `tine mcp install` and `tine mcp remove`
#[derive(Debug, Args)]
pub(crate) struct McpChangeArgs {
    /// The program whose settings are changed
    pub(crate) host: Host,
    /// Show the change, and do not make it
    #[arg(short = 'n', long)]
    pub(crate) dry_run: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Programs whose settings tine changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Host {
    ClaudeCode,
    Codex,
    #[value(name = "opencode")]
    OpenCode,
}
