//! The command line of `tine eval`.

use std::path::PathBuf;

use clap::{Args, value_parser};
use tine_eval::{JOBS_DEFAULT, REPEAT_MAX};

/// Most runs at the same time: beyond that every provider's rate limits decide.
const JOBS_MAX: u64 = 256;

/// `tine eval`
#[derive(Debug, Args)]
pub(crate) struct EvalArgs {
    /// The suite: a TOML file
    pub(crate) suite: PathBuf,
    /// The model of every case, as provider/name, whatever the suite says
    #[arg(short, long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Only cases whose name contains this; may be repeated
    #[arg(short, long = "case", value_name = "TEXT")]
    pub(crate) cases: Vec<String>,
    /// Run each case so often, whatever the suite says
    #[arg(short = 'n', long, value_name = "N", value_parser = value_parser!(u32).range(1..=i64::from(REPEAT_MAX)))]
    pub(crate) repeat: Option<u32>,
    /// Most runs at the same time
    #[arg(short, long, value_name = "N", default_value_t = JOBS_DEFAULT as u64, value_parser = value_parser!(u64).range(1..=JOBS_MAX))]
    pub(crate) jobs: u64,
    /// Write every exchange with a model to this file
    #[arg(long, value_name = "FILE", conflicts_with = "replay")]
    pub(crate) record: Option<PathBuf>,
    /// Answer from a recorded file: no key, no network
    #[arg(long, value_name = "FILE")]
    pub(crate) replay: Option<PathBuf>,
    /// Write the result to this file as JUnit XML
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
