//! The command line of `tine with` and `tine gateway`.

use std::ffi::OsString;

use clap::{Args, Subcommand, ValueEnum};

use super::trusts_nothing;
use crate::manual::examples;

/// APIs that the gateway passes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum GatewayFormat {
    /// Anthropic Messages
    Anthropic,
    /// OpenAI Responses and Chat Completions
    #[value(name = "openai")]
    OpenAi,
}

/// Days for which guests are kept unless somebody says otherwise.
const KEEP_DAYS: u32 = 30;

/// Options of both ways to a gateway.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct GatewayArgs {
    /// Pass on requests that continue a message thread of Anthropic's, which hold only its new messages; otherwise they are refused
    /// as the provider would, and the program sends the whole conversation
    #[arg(long)]
    pub(crate) pass_threads: bool,
    /// Write nothing down of what passes
    #[arg(long)]
    pub(crate) no_record: bool,
    /// Remove what was written down of conversations that nobody went on with for so many days
    #[arg(long, value_name = "DAYS", default_value_t = KEEP_DAYS)]
    pub(crate) keep_days: u32,
}

/// `tine with`
#[derive(Debug, Args)]
pub(crate) struct WithArgs {
    #[command(flatten)]
    pub(crate) gateway: GatewayArgs,
    /// Environment variable that tells the program its base URL; known for `claude` and `codex`
    #[arg(long, value_name = "NAME", requires = "format")]
    pub(crate) base_url_env: Option<String>,
    /// API that the program speaks there
    #[arg(long, value_enum, requires = "base_url_env")]
    pub(crate) format: Option<GatewayFormat>,
    /// The program and its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PROGRAM"
    )]
    pub(crate) command: Vec<OsString>,
}

/// `tine gateway`
#[derive(Debug, Subcommand)]
pub(crate) enum GatewayCommand {
    /// Pass requests on until Ctrl+C, for programs that are started elsewhere
    #[command(after_help = examples::GATEWAY_SERVE)]
    Serve(GatewayServeArgs),
    /// Hand reports and messages to the next prompt of Claude Code or Codex
    #[command(after_help = examples::GATEWAY_HOOK)]
    Hook,
    /// Put that hook into the settings of a host, for all projects
    #[command(after_help = examples::GATEWAY_INSTALL, arg = trusts_nothing())]
    Install(HookChangeArgs),
    /// Take the hook out of the settings of a host again
    #[command(after_help = examples::GATEWAY_REMOVE, arg = trusts_nothing())]
    Remove(HookChangeArgs),
}

/// `tine gateway install` and `tine gateway remove`
#[derive(Debug, Args)]
pub(crate) struct HookChangeArgs {
    /// The program whose settings are changed
    pub(crate) host: HookHost,
    /// Show the change, and do not make it
    #[arg(short = 'n', long)]
    pub(crate) dry_run: bool,
    /// Make the change without asking
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Programs that run hooks before a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum HookHost {
    ClaudeCode,
    Codex,
}

/// `tine gateway serve`
#[derive(Debug, Args)]
pub(crate) struct GatewayServeArgs {
    #[command(flatten)]
    pub(crate) gateway: GatewayArgs,
    /// The port on 127.0.0.1; 0 takes a free one
    #[arg(long, default_value_t = 0)]
    pub(crate) port: u16,
}
