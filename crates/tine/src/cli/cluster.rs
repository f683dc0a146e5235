//! The command line of workers and of the cluster.

use std::str::FromStr;

use clap::{Args, Subcommand};
use tine_nats::is_label;

use super::{JsonArgs, trusts_nothing};
use crate::manual::examples;

/// Another machine for a fork: `cluster`, or `cluster:LABEL`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct On {
    /// The label that the worker must have.
    pub(crate) label: Option<String>,
}

impl FromStr for On {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "cluster" => Ok(Self { label: None }),
            Some(("cluster", label)) => Ok(Self { label: Some(self::label(label)?) }),
            _ => Err("it is `cluster`, or `cluster:LABEL` for workers with this label".to_owned()),
        }
    }
}

fn label(text: &str) -> Result<String, String> {
    if is_label(text) {
        Ok(text.to_owned())
    } else {
        Err(format!("`{text}` is no label: small letters, digits, `-` and `_`, 40 at most"))
    }
}

/// `tine worker`
#[derive(Debug, Args)]
pub(crate) struct WorkerCommandArgs {
    /// Take the jobs of these labels too, parted by commas; every worker takes those without one
    #[arg(long, value_name = "LABELS", value_delimiter = ',', value_parser = label)]
    pub(crate) labels: Vec<String>,
    /// Run at most so many at the same time
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) jobs: u16,
    /// Call it this, instead of by the machine's name
    #[arg(long, value_name = "NAME", value_parser = label)]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

/// `tine cluster`
#[derive(Debug, Subcommand)]
pub(crate) enum ClusterCommand {
    /// Show the servers, the workers and what waits for them
    #[command(after_help = examples::CLUSTER_STATUS, arg = trusts_nothing())]
    Status(JsonArgs),
    /// Check the way to the servers, what they are set to, and who works there
    #[command(after_help = examples::CLUSTER_DOCTOR, arg = trusts_nothing())]
    Doctor(JsonArgs),
    /// Follow the runs that no process here follows
    #[command(hide = true, arg = trusts_nothing())]
    Attend,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_a_plain_word() {
        assert_eq!("cluster".parse(), Ok(On { label: None }));
        assert_eq!("cluster:gpu-1".parse(), Ok(On { label: Some("gpu-1".to_owned()) }));
        for wrong in ["", "here", "cluster:", "cluster:a.b", "cluster:A", "clusters"] {
            assert!(wrong.parse::<On>().is_err(), "{wrong}");
        }
    }
}
