//! Worktrees of real repositories, made and removed by the real git.

#![expect(clippy::unwrap_used, reason = "a step that fails is a failed test")]

mod apply;
mod apply_exact;
mod changes;
mod commits;
mod exact;
mod laws;
mod life;
mod looks;
mod moments;
mod nested;
mod places;
mod purge;
mod repair;
mod restore;
mod strangers;
mod support;
mod travel;
mod travel_hostile;
mod try_out;
mod way_back_laws;
