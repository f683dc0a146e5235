//! Hostile commands behind a wall, as if every one of them had been allowed: what they did is looked for in the world, not in
//! their words. Each is also run without a wall, to show that it would have done it.
//!
//! What a machine lacks for one of them is asked first (`world.rs`); the run lists what was not run.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a world that cannot be made is a failed test")]

/// Commands start in a view of their own. The tests of `wall_without_view` are the same ones without it.
const HAS_VIEW: bool = true;

mod hosts;
mod later;
mod limits;
mod linked;
mod masks;
mod network;
mod own;
mod planted;
mod processes;
mod reads;
mod view;
mod watchdog;
mod world;
mod writes;
