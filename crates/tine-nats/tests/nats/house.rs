//! A server, and connections to it.

use std::time::Duration;

use async_nats::jetstream::stream::Stream;
use tempfile::TempDir;
use tine_fork::ForkRunId;
use tine_nats::{Cluster, HeldJob, JOB_VERSION, Job, Queue, Settings};
use tine_testkit::nats::Node;
use tine_testkit::scratch;

/// A lease that ends while a test waits for it.
pub(crate) const LEASE: Duration = Duration::from_secs(1);

/// When all events of the tests happen.
pub(crate) const NOW_MS: i64 = 1_790_000_000_123;

/// One server.
pub(crate) struct House {
    pub(crate) node: Node,
    place: TempDir,
}

impl House {
    pub(crate) fn new() -> Self {
        Self::with("")
    }

    /// A server with these lines in its configuration.
    pub(crate) fn with(config: &str) -> Self {
        let place = scratch();
        Self { node: Node::start(&place.path().join("node"), config), place }
    }

    /// A directory beside the server's.
    pub(crate) fn directory(&self, name: &str) -> std::path::PathBuf {
        self.place.path().join(name)
    }

    pub(crate) fn settings(&self) -> Settings {
        Settings { lease: LEASE, ..Settings::new(self.node.url()) }
    }

    pub(crate) async fn cluster(&self) -> Cluster {
        Cluster::connect(self.settings(), "test").await.unwrap()
    }

    /// A stream, as somebody else has it.
    pub(crate) async fn stream(&self, name: &str) -> Stream {
        let client = async_nats::connect(self.node.url()).await.unwrap();
        async_nats::jetstream::new(client).get_stream(name).await.unwrap()
    }
}

/// Tells runs apart.
pub(crate) fn run(number: u8) -> ForkRunId {
    ForkRunId::from_random([number; 16])
}

/// A job of the kind `test`.
pub(crate) fn job(number: u8, label: &str) -> Job {
    Job {
        version: JOB_VERSION,
        run: run(number),
        kind: "test".to_owned(),
        label: label.to_owned(),
        traceparent: None,
        work: number.into(),
    }
}

/// Looks until there is a job.
pub(crate) async fn next_job(queue: &mut Queue) -> HeldJob {
    loop {
        if let Some(job) = queue.next().await.unwrap() {
            return job;
        }
    }
}

/// An error and its causes, in words, without the port of this server.
pub(crate) fn words(error: &dyn std::error::Error, house: Option<&House>) -> String {
    let words = tine_model::in_full(error);
    match house {
        Some(house) => words.replace(&house.node.address().port().to_string(), "PORT"),
        None => words,
    }
}
