//! The command line of `tine budget`, and of the caps that other commands set.

use std::time::Duration;

use clap::Args;
use tine_model::Cap;

use crate::durations::{duration, seconds};

/// Millionths of a USD in one.
pub(crate) const MICRO: f64 = 1_000_000.0;

/// Largest cap of money, in USD. Whoever wants more wants none.
const USD_MAX: f64 = 1_000_000.0;

/// A cap as it is written; `None` is the word `none`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CapArg(pub(crate) Option<u64>);

/// `tine budget`
#[derive(Debug, Args)]
pub(crate) struct BudgetArgs {
    /// Any agent of the tree: its name, or the first characters of its id
    pub(crate) agent: String,
    /// Most tokens of all requests together
    #[arg(long, value_name = "N|none", value_parser = count)]
    pub(crate) tokens: Option<CapArg>,
    /// Most that all requests together may cost, in USD
    #[arg(long, value_name = "USD|none", value_parser = dollars)]
    pub(crate) usd: Option<CapArg>,
    /// Longest time, from when it is first set, such as 90s, 30m, 1h or 2d
    #[arg(long, value_name = "TIME|none", value_parser = time)]
    pub(crate) time: Option<CapArg>,
    /// Most workers that are ever made
    #[arg(long, value_name = "N|none", value_parser = count)]
    pub(crate) agents: Option<CapArg>,
    /// Most workers that run at the same time; the others wait in line
    #[arg(long, value_name = "N|none", value_parser = at_least_one)]
    pub(crate) running: Option<CapArg>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Caps of the tree that a command works in.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct TreeCaps {
    /// Most tokens of the whole tree, as with `tine budget`
    #[arg(long, value_name = "N|none", value_parser = count)]
    pub(crate) tree_tokens: Option<CapArg>,
    /// Most that the whole tree may cost, in USD
    #[arg(long, value_name = "USD|none", value_parser = dollars)]
    pub(crate) tree_usd: Option<CapArg>,
    /// Longest time of the whole tree, such as 30m
    #[arg(long, value_name = "TIME|none", value_parser = time)]
    pub(crate) tree_time: Option<CapArg>,
    /// Most workers of the whole tree
    #[arg(long, value_name = "N|none", value_parser = count)]
    pub(crate) tree_agents: Option<CapArg>,
    /// Most workers of the whole tree that run at the same time
    #[arg(long, value_name = "N|none", value_parser = at_least_one)]
    pub(crate) tree_running: Option<CapArg>,
    /// Without a terminal: wait at a cap until `tine budget` raises it, instead of ending with 55
    #[arg(long)]
    pub(crate) wait_for_budget: bool,
}

/// Caps to change, in the order in which they are shown.
pub(crate) type Changes = Vec<(Cap, Option<u64>)>;

fn changes(caps: [(Cap, Option<CapArg>); 5]) -> Changes {
    caps.into_iter().filter_map(|(cap, given)| Some((cap, given?.0))).collect()
}

impl BudgetArgs {
    /// What is to change.
    pub(crate) fn changes(&self) -> Changes {
        changes([
            (Cap::Tokens, self.tokens),
            (Cap::Money, self.usd),
            (Cap::Time, self.time),
            (Cap::Agents, self.agents),
            (Cap::Running, self.running),
        ])
    }
}

impl TreeCaps {
    /// What is to change.
    pub(crate) fn changes(&self) -> Changes {
        changes([
            (Cap::Tokens, self.tree_tokens),
            (Cap::Money, self.tree_usd),
            (Cap::Time, self.tree_time),
            (Cap::Agents, self.tree_agents),
            (Cap::Running, self.tree_running),
        ])
    }
}

/// A cap, or the word for none.
fn cap(text: &str, read: impl Fn(&str) -> Option<u64>, wanted: &str) -> Result<CapArg, String> {
    match text {
        "none" => Ok(CapArg(None)),
        _ => read(text)
            .map(|most| CapArg(Some(most)))
            .ok_or_else(|| format!("it is {wanted}, or none")),
    }
}

fn count(text: &str) -> Result<CapArg, String> {
    cap(text, whole, "a whole number, such as 200000")
}

fn at_least_one(text: &str) -> Result<CapArg, String> {
    let read = |text: &str| whole(text).filter(|most| *most > 0);
    cap(text, read, "a whole number from 1 on")
}

fn dollars(text: &str) -> Result<CapArg, String> {
    let read = |text: &str| micro_usd(text.parse().ok().filter(|_| !text.starts_with('+'))?);
    cap(text, read, "an amount of USD, such as 2.50")
}

fn time(text: &str) -> Result<CapArg, String> {
    cap(text, milliseconds, "a number and a unit, such as 90s, 30m, 1h or 2d")
}

/// Where a command stops by itself. It may be at once: `--timeout 0` only looks.
pub(super) fn time_limit(text: &str) -> Result<Duration, String> {
    let read = seconds(text).map(Duration::from_secs);
    read.ok_or_else(|| {
        "it is a number of seconds, or one with a unit, such as 90s, 30m, 1h or 2d".to_owned()
    })
}

fn whole(text: &str) -> Option<u64> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| digits)
}

/// An amount of USD in millionths; `None` for one that makes no sense.
pub(crate) fn micro_usd(dollars: f64) -> Option<u64> {
    let sensible = dollars.is_finite() && (0.0..=USD_MAX).contains(&dollars);
    sensible.then(|| (dollars * MICRO).round() as u64)
}

/// A length of time in milliseconds.
pub(crate) fn milliseconds(text: &str) -> Option<u64> {
    u64::try_from(duration(text)?.as_millis()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cap_is_a_value_or_none() {
        assert_eq!(count("200000"), Ok(CapArg(Some(200_000))));
        assert_eq!(dollars("2.50"), Ok(CapArg(Some(2_500_000))));
        assert_eq!(time("30m"), Ok(CapArg(Some(1_800_000))));
        for read in [count, at_least_one, dollars, time] {
            assert_eq!(read("none"), Ok(CapArg(None)));
            for text in ["", "-1", "+1", "much", "1,5", "NaN", "inf", "1e99"] {
                assert!(read(text).is_err(), "{text}");
            }
        }
        assert_eq!(time("90"), Ok(CapArg(Some(90_000))));
        assert_eq!(count("0"), Ok(CapArg(Some(0))));
        assert!(at_least_one("0").is_err());
    }
}
