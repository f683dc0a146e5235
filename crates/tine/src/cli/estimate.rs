//! How several forks start, and what they will cost before they are made.

use clap::{Args, ValueEnum, value_parser};

use super::{LimitArgs, PlaceArgs};

/// What a fork will cost, before it is made.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct EstimateArgs {
    /// Say what it would cost, and do nothing
    #[arg(long)]
    pub(crate) estimate: bool,
    /// Do not ask, whatever it costs
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Requests of each child that an estimate counts on, instead of as many as earlier runs took
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=10_000))]
    pub(crate) expect_turns: Option<u32>,
    /// Tokens generated in each of them, instead of as many as in earlier runs
    #[arg(long, value_name = "TOKENS", value_parser = value_parser!(u64).range(..=1_000_000))]
    pub(crate) expect_output: Option<u64>,
}

/// How workers start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum PlanArg {
    /// Leader first when the prefix is cold, together when it is warm
    #[default]
    Auto,
    /// All at once
    Together,
    /// One first; the rest when its reply begins
    Leader,
}

/// What `tine fan` and `tine pick` are given alike.
#[derive(Debug, Args)]
pub(crate) struct SpreadArgs {
    /// How the forks start
    #[arg(long, value_enum, default_value_t)]
    pub(crate) plan: PlanArg,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    #[command(flatten)]
    pub(crate) estimate: EstimateArgs,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
}
