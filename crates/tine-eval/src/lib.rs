//! Evaluations: scripted prompts through forks, and what became of them.
//!
//! - [`Suite`] is what to ask, in which situation, and what to expect: read from TOML.
//! - [`Runner`] forks once per case and repetition, each in a throw-away copy of the case's files, and judges what comes back
//!   ([`SuiteReport`]; [`junit`] for CI systems).
//! - [`Recorder`] writes the exchanges with a model down, and [`Replayer`] answers from such a [`Tape`], so that a run can be
//!   repeated with no key and no network.
//! - Where a case tempts a fork to go astray, the checks of [`tine_fork::stray`] must see who does.
//!
//! This crate has neither store nor terminal. Nothing that differs from run to run (directories, times, ids) enters a
//! request. It decides no permission beyond this: a case's tools work in its copy and nowhere else.

mod expect;
mod judge;
mod junit;
mod report;
mod runner;
mod suite;
mod tape;
mod tools;
mod work;

pub use expect::{CallExpect, CallPattern, Expect, FileExpect, OutcomeName, Pattern, ReportExpect};
pub use junit::{JunitError, junit};
pub use report::{CaseReport, RunReport, StrayTally, SuiteReport};
pub use runner::{Client, JOBS_DEFAULT, Progress, RunOptions, Runner};
pub use suite::{
    Case, Directive, FilterKind, MAX_OUTPUT_TOKENS_DEFAULT, NoModel, REPEAT_MAX, StandIn, Suite,
    SuiteError, TIMEOUT_DEFAULT,
};
pub use tape::{Recorder, Replayer, Tape, TapeError, TapeWriter};
pub use work::STAND_IN;
