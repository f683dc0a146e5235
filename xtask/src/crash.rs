//! `cargo xtask crash`: the test that kills runs at random moments, for as many rounds as one likes.

use anyhow::Result;

use crate::{process, workspace};

/// The tests; the test suite runs a few rounds of each.
const TESTS: [&str; 2] = [
    "crash_crew::killed_at_a_random_moment_no_task_is_without_an_end_and_no_notice_lost_or_doubled",
    "crash_crew::litter::killed_at_a_random_moment_nothing_is_left_of_nobody",
];

/// Kills `times` runs; `seed` says which. Fails at the first violation, and says where its home was kept.
pub(crate) fn run(times: u32, seed: u32) -> Result<()> {
    let (root, _) = workspace::metadata()?;
    let mut command = process::cargo();
    command.args(["test", "--package", "tine", "--test", "cli", "--"]);
    command.args(["--exact", "--nocapture"]).args(TESTS);
    command.env("TINE_CRASH_TIMES", times.to_string()).env("TINE_CRASH_SEED", seed.to_string());
    process::step(&format!("{times} crashes of seed {seed}"), &root, command)
}
