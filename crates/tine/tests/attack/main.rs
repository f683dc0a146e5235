//! Attacks on the real binary, judged from outside: by the state of the world before and after, by listeners that heard
//! somebody, and by secrets that came out. What a command says about itself counts for nothing.
//!
//! Each group of attacks is a table and runs on two grounds (`ground.rs`), with namespaces and without. A test writes the figures
//! of its group down as one row (`report.rs`) and fails where they differ from what is expected. `cargo xtask attack` runs them
//! all and prints a table for each ground. Whatever is attempted behind a wall is first done without one, to show that it works.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a world that cannot be made is a failed test")]

mod chains;
mod direct;
mod git;
mod ground;
mod listen;
mod look;
mod project;
mod report;
mod secrets;
mod shapes;
mod stranger;
#[path = "../cli/support.rs"]
#[expect(dead_code, reason = "shared with the tests of commands, which use more of it")]
mod support;
mod survive;
mod swaps;
mod world;
