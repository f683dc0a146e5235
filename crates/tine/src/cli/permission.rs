//! The command line of `tine permission`.

use clap::{Args, Subcommand, ValueEnum};

use crate::manual::examples;

/// `tine permission`
#[derive(Debug, Subcommand)]
pub(crate) enum PermissionCommand {
    /// List what agents ask permission for
    #[command(after_help = examples::PERMISSION_LIST)]
    List(ListPermissionsArgs),
    /// Allow what is asked for
    #[command(after_help = examples::PERMISSION_ALLOW)]
    Allow(AllowArgs),
    /// Deny what is asked for
    #[command(after_help = examples::PERMISSION_DENY)]
    Deny(DenyArgs),
    /// Take back an answer that stands for an agent or a tree
    #[command(after_help = examples::PERMISSION_REVOKE)]
    Revoke(RevokeArgs),
    /// List the rules in force, and where each one was written
    #[command(after_help = examples::PERMISSION_RULES)]
    Rules(RulesArgs),
    /// Say whether a command may run, and which rules meet the commands in it
    #[command(after_help = examples::PERMISSION_WHY)]
    Why(WhyArgs),
}

/// `tine permission why`
#[derive(Debug, Args)]
pub(crate) struct WhyArgs {
    /// The command, as the tool Bash would get it
    pub(crate) command: String,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `tine permission list`
#[derive(Debug, Args)]
pub(crate) struct ListPermissionsArgs {
    /// Answered, expired and withdrawn ones too
    #[arg(short, long)]
    pub(crate) all: bool,
    /// Only those of the tree that this agent belongs to
    #[arg(long, value_name = "AGENT")]
    pub(crate) tree: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// How far an answer reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum ScopeArg {
    /// This one call
    #[default]
    Once,
    /// What the request's rule covers, whenever this agent asks
    Agent,
    /// What the rule covers, from every agent of the tree
    Tree,
    /// The same, and the rule is written into your config.toml
    Always,
}

/// `tine permission allow`
#[derive(Debug, Args)]
pub(crate) struct AllowArgs {
    /// The requests: first characters of their ids
    #[arg(required = true)]
    pub(crate) requests: Vec<String>,
    /// How far the answer reaches
    #[arg(long, value_enum, default_value_t)]
    pub(crate) scope: ScopeArg,
    /// A wider rule that the answer is to cover, one that `tine permission list` offers
    #[arg(long, value_name = "RULE")]
    pub(crate) rule: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `tine permission deny`
#[derive(Debug, Args)]
pub(crate) struct DenyArgs {
    /// The requests: first characters of their ids
    #[arg(required = true)]
    pub(crate) requests: Vec<String>,
    /// How far the answer reaches
    #[arg(long, value_enum, default_value_t)]
    pub(crate) scope: ScopeArg,
    /// Why; the model is told. `-` for standard input
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `tine permission revoke`
#[derive(Debug, Args)]
pub(crate) struct RevokeArgs {
    /// The requests whose answers stand: first characters of their ids
    #[arg(required = true)]
    pub(crate) requests: Vec<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `tine permission rules`
#[derive(Debug, Args)]
pub(crate) struct RulesArgs {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
