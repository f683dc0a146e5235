//! Budgets: what a whole tree of agents may use, and what is said when it has used it.

use std::fmt;

use crate::agent::words;

words! {
    /// What a budget limits, for an agent without a parent and everybody below it together.
    Cap {
        /// Tokens of all requests, prompts and output together.
        Tokens = "tokens",
        /// What the requests cost, in millionths of a USD.
        Money = "usd",
        /// Time since the cap was set, in milliseconds.
        Time = "time",
        /// Workers that were ever made.
        Agents = "agents",
        /// Workers that run at the same time.
        Running = "running",
    }
}

/// A cap that lets no more through. The numbers are in the cap's own unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CapReached {
    /// Which one.
    pub cap: Cap,
    /// What is used of it.
    pub used: u64,
    /// What may be used.
    pub most: u64,
}

impl fmt::Display for CapReached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cap, used, most } = *self;
        match cap {
            Cap::Tokens => write!(f, "{used} of {most} tokens are spent"),
            Cap::Money => write!(f, "{} of {} are spent", usd(used), usd(most)),
            Cap::Time => write!(f, "the time of {} s is up", most / 1000),
            Cap::Agents => write!(f, "{used} of {most} workers are made"),
            Cap::Running => write!(f, "{used} of {most} workers are running"),
        }
    }
}

/// Millionths of a USD as an amount, to the last place that says something and at least to the cent.
fn usd(micro: u64) -> String {
    let places = format!("{:06}", micro % 1_000_000);
    let significant = places.trim_end_matches('0').len().max(2);
    format!("${}.{}", micro / 1_000_000, &places[..significant])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cap_says_what_is_used_in_its_own_unit() {
        let told = |cap, used, most| CapReached { cap, used, most }.to_string();
        assert_eq!(told(Cap::Tokens, 105, 100), "105 of 100 tokens are spent");
        assert_eq!(told(Cap::Money, 1_020_300, 1_000_000), "$1.0203 of $1.00 are spent");
        assert_eq!(told(Cap::Time, 61_000, 60_000), "the time of 60 s is up");
        assert_eq!(told(Cap::Agents, 8, 8), "8 of 8 workers are made");
        assert_eq!(told(Cap::Running, 2, 2), "2 of 2 workers are running");
    }
}
