//! What a run is given, whichever command begins it: the model, limits and permissions, and how it is printed.

use std::time::Duration;

use clap::{Args, ValueEnum, value_parser};
use tine_model::{Effort, NetworkReach};

use super::TreeCaps;
use super::budget::time_limit;

/// Which model, for a new lineage.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ModelArgs {
    /// The model, as provider/name
    #[arg(short, long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// System prompt instead of tine's own; `-` for standard input
    #[arg(long, value_name = "TEXT")]
    pub(crate) system: Option<String>,
    /// Most tokens of one reply
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..))]
    pub(crate) max_output_tokens: Option<u32>,
    /// How much work the model puts in: none, minimal, low, medium, high, xhigh or max, as far as its provider takes it
    #[arg(long, value_name = "EFFORT", value_parser = effort)]
    pub(crate) effort: Option<String>,
    /// Reasoning: adaptive, or a number of tokens
    #[arg(long, value_name = "THINKING", value_parser = thinking)]
    pub(crate) thinking: Option<String>,
}

/// Reads a level of effort. Whether the provider of the model takes it is found out later.
fn effort(text: &str) -> Result<String, String> {
    match Effort::from_name(text) {
        Some(_) => Ok(text.to_owned()),
        None => Err("it is none, minimal, low, medium, high, xhigh or max".to_owned()),
    }
}

/// Reads a way of thinking.
fn thinking(text: &str) -> Result<String, String> {
    if text == "adaptive" || text.parse::<u32>().is_ok() {
        Ok(text.to_owned())
    } else {
        Err("it is `adaptive` or a number of tokens".to_owned())
    }
}

/// Limits and permissions of a run.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct LimitArgs {
    /// Most turns [default: 50; workers: 200]
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..))]
    pub(crate) max_turns: Option<u32>,
    /// Stop after this time: seconds, or with a unit, such as 90s, 30m or 1h
    #[arg(long, value_name = "TIME", value_parser = time_limit)]
    pub(crate) timeout: Option<Duration>,
    /// Stop once this many tokens are used
    #[arg(long, value_name = "TOKENS", value_parser = value_parser!(u64).range(1..))]
    pub(crate) budget: Option<u64>,
    /// What may happen without a question: default, accept-edits, plan (read-only) or bypass
    #[arg(long, value_name = "MODE")]
    pub(crate) permission_mode: Option<String>,
    /// Allow a tool call, as Tool or Tool(pattern); may be repeated
    #[arg(long, value_name = "RULE")]
    pub(crate) allow: Vec<String>,
    /// Refuse a tool call, as Tool or Tool(pattern); may be repeated
    #[arg(long, value_name = "RULE")]
    pub(crate) deny: Vec<String>,
    #[command(flatten)]
    pub(crate) confine: ConfineArgs,
    /// Where no person can be asked, wait for an answer by `tine permission` in another terminal
    #[arg(long)]
    pub(crate) wait_for_permission: bool,
    /// Exit with 54 when a tool call failed
    #[arg(long)]
    pub(crate) fail_on_tool_error: bool,
    #[command(flatten)]
    pub(crate) tree: TreeCaps,
}

/// What the tools of a run may touch.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ConfineArgs {
    /// Confine commands and file tools; stored with the agent [default: as stored; new workers: directory, others: off]
    #[arg(long = "confine", value_enum, value_name = "REACH")]
    pub(crate) place: Option<ConfineArg>,
    /// Hosts and ports that confined commands reach, such as crates.io:443,localhost:5432 [without one: all public web servers]
    #[arg(long, value_name = "HOST", num_args = 0..=1, value_delimiter = ',', default_missing_value = "internet")]
    pub(crate) network: Vec<NetworkReach>,
}

impl ConfineArgs {
    /// Returns true where anything of it was typed.
    pub(crate) fn is_given(&self) -> bool {
        self.place.is_some() || !self.network.is_empty()
    }
}

/// The places that confined commands may write in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ConfineArg {
    /// Wherever you can
    Off,
    /// In the working directory
    Directory,
    /// Nowhere; programs and the working directory may be read, without secrets
    ReadOnly,
}

/// How a run is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum OutputFormat {
    /// The text: as it comes on a terminal, the final answer alone in a pipe
    #[default]
    Text,
    /// One JSON object at the end
    Json,
    /// One JSON object a line, as things happen
    StreamJson,
}

/// Output of a run.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct OutputArgs {
    /// How to print the run
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output_format: OutputFormat,
    /// The same as --output-format json
    #[arg(long, conflicts_with = "output_format")]
    pub(crate) json: bool,
    /// Print nothing but the result
    #[arg(short, long)]
    pub(crate) quiet: bool,
}
