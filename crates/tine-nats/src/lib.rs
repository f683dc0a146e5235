//! Forks on other machines, over [NATS JetStream](https://docs.nats.io/nats-concepts/jetstream).
//!
//! [`NatsForkSubagent`] is a [`ForkSubagent`](tine_fork::ForkSubagent) like the one inside a process: the fork runs on whichever worker
//! takes it, sends the same bytes, and its caller has the same handle and result. Client, tools and filter cannot travel: a
//! [`NatsForkWorker`] finds its own by [`Names`].
//!
//! ```no_run
//! use std::error::Error;
//! use std::sync::Arc;
//!
//! use tine_fork::client::LlmClient;
//! use tine_fork::prelude::*;
//! use tine_fork::tool_filter::AllowAllFilter;
//! use tine_fork::tools::NoTools;
//! use tine_fork::CancellationToken;
//! use tine_nats::{Cluster, ForkParts, Names, NatsForkSubagent, NatsForkWorker, Settings};
//!
//! /// On each machine that runs forks: by which names it has which client, tools and filter.
//! async fn worker(llm: Arc<dyn LlmClient>, stop: &CancellationToken) -> Result<(), Box<dyn Error>> {
//!     let cluster = Cluster::connect(Settings::new("nats://10.0.0.5:4222"), "north").await?;
//!     let parts = ForkParts { llm, tools: Arc::new(NoTools), filter: Arc::new(AllowAllFilter) };
//!     let find = move |names: &Names| (names.client == "main").then(|| parts.clone());
//!     NatsForkWorker::new(cluster, "north", find).run(stop).await?;
//!     Ok(())
//! }
//!
//! /// On the machine of the parent: only the implementation of the trait is another one. The client and the tools of `params` stay here.
//! async fn fork(params: ForkParams) -> Result<String, Box<dyn Error>> {
//!     let cluster = Cluster::connect(Settings::new("nats://10.0.0.5:4222"), "harbour").await?;
//!     let names = Names { client: "main".to_owned(), ..Names::default() };
//!     let forks = NatsForkSubagent::new(cluster, names);
//!     Ok(forks.fork(params).await?.join().await?.into_text()?)
//! }
//! # fn main() {}
//! ```
//!
//! | what | as |
//! |---|---|
//! | a fork on another machine, and whoever runs it | [`NatsForkSubagent`], [`NatsForkWorker`] |
//! | the connection, and how it is made | [`Cluster`], [`Settings`] |
//! | bytes under their hash, uploaded once, and a cache of them on disk | [`Cluster::put`], [`Cluster::get`], [`BlobCache`] |
//! | runs that wait for a worker, with labels, and handed on when it dies | [`Job`], [`Queue`], [`HeldJob`] |
//! | what happens in a run, written by one worker at a time, and read from anywhere | [`Record`], [`Events`], [`event`] |
//! | what a worker is told while it has a run | [`Order`], [`Orders`] |
//! | one writer for each prefix, on all machines | [`Cluster::board`], [`Seat`], [`Leader`] |
//! | who is there, what waits, and whether the servers have what forks need | [`Present`], [`Status`], [`Examination`] |
//!
//! A [`Job`] is small: it names the parent's prefix by its hash, and what the fork is asked. The prefix lies on the server as a
//! [blob](Cluster::put), uploaded once and [kept](BlobCache) by workers. A worker takes jobs from a [`Queue`] and writes what happens
//! into the run's [`Record`], which is also the fence: of two workers that have the same run, only what the later one writes counts.
//! The one who started the fork reads the record as [`Events`] and gives [orders](Order). A [`Seat`] in the flight of a prefix lets one
//! worker write it to the provider's cache, and the others read it.
//!
//! Queues, acknowledgement, redelivery, limits and leases are JetStream's. Works with servers from 2.9 on.

mod blob;
mod connect;
mod error;
pub mod event;
mod examine;
mod flight;
mod fork_events;
mod fork_job;
mod fork_past;
mod fork_run;
mod fork_watch;
mod fork_worker;
mod job;
mod order;
mod patience;
mod presence;
mod record;
mod subagent;
mod writer;

pub use blob::{BlobCache, BlobHash};
pub use connect::{Cluster, KEPT, Settings};
pub use error::ClusterError;
pub use examine::Examination;
pub use flight::{Leader, Seat};
pub use fork_job::{FORK_JOBS, Names};
pub use fork_worker::{ForkParts, NatsForkWorker};
pub use job::{ANY, HeldJob, JOB_VERSION, Job, Queue, is_label};
pub use order::{Order, Orders};
pub use presence::{Present, Status};
pub use record::{Events, Read, Record};
pub use subagent::NatsForkSubagent;
