//! Forks on other machines, over [NATS JetStream](https://docs.nats.io/nats-concepts/jetstream).
//!
//! A [`Job`] is small: it names the parent's prefix by its hash, and what the fork is asked. The prefix lies on the server as a
//! [blob](Cluster::put), uploaded once and [kept](BlobCache) by workers. A worker takes jobs from a [`Queue`] and writes what happens
//! into the run's [`Record`], which is also the fence: of two workers that have the same run, only what the later one writes counts.
//! Whoever started the fork reads the record as [`Events`] and gives [orders](Order). A [`Seat`] in the flight of a prefix lets one
//! worker write it to the provider's cache, and the others read it.
//!
//! Queues, acknowledgement, redelivery, limits and leases are JetStream's. Works with servers from 2.9 on.

mod blob;
mod connect;
mod error;
pub mod event;
mod flight;
mod job;
mod order;
mod presence;
mod record;

pub use blob::{BlobCache, BlobHash};
pub use connect::{Cluster, KEPT, Settings};
pub use error::ClusterError;
pub use flight::{Leader, Seat};
pub use job::{ANY, HeldJob, JOB_VERSION, Job, Queue, is_label};
pub use order::{Order, Orders};
pub use presence::{Present, Status};
pub use record::{Events, Read, Record};
