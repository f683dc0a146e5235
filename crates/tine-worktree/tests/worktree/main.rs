//! Worktrees of real repositories, made and removed by the real git.

#![expect(clippy::unwrap_used, reason = "a step that fails is a failed test")]

mod life;
mod places;
mod support;
