//! For tests of the crates above the ports: everything that a run needs from outside, under the test's control.
//!
//! - [`ScriptedModel`] answers requests from a script, and keeps each request's exact bytes.
//! - [`replies`] makes the messages and replies that a script is made of.
//! - [`Gate`] stops an answer until the test lets it go on, so that no test needs to sleep.
//! - [`FakeClock`], [`FakeIds`] and [`temp_home`] stand in for time, randomness and the user's home.
//! - [`CaptureServer`] is a model's HTTP endpoint that keeps request bodies as they came over the wire.
//! - `pty` (with the feature of that name) runs a program in a terminal, and reads its screen.
//! - `nats` (with the feature of that name) runs a real nats-server, a cluster of them, and a network that breaks.
//! - [`memory`] measures a process.
//! - [`share`] and [`cases`] say how much of a long test runs, [`scratch`] where its files are.
//! - [`lacks`] asks for an ability of the machine, and [`not_run`] records what cannot run here.
//! - [`until`] waits for what another thread or process does.
//!
//! Only ever a dev-dependency. It knows no provider's JSON and imitates no provider: that is `tine-sim`'s job.

mod ability;
mod capture;
mod fakes;
mod gate;
mod http;
pub mod memory;
mod model;
#[cfg(feature = "nats")]
pub mod nats;
mod not_run;
#[cfg(feature = "pty")]
pub mod pty;
pub mod replies;
mod scratch;
mod share;
mod until;

pub use ability::{Ability, lacks, missing, test_name};
pub use capture::{Canned, CaptureServer};
pub use fakes::{FakeClock, FakeIds, temp_home};
pub use gate::Gate;
pub use http::{BODY_BYTES_MAX, HEAD_BYTES_MAX, HttpRequest};
pub use model::{Answer, Captured, ScriptedModel};
pub use not_run::not_run;
pub use scratch::scratch;
pub use share::{TEST_ALL, cases, share, tests_all};
pub use tine_sim::{CollectedBody, WIRE_BODIES, collect};
pub use until::{until, until_some, until_some_async};
