//! Orders to the worker that has a run: on `agent.fork.<run_id>.orders`, kept, so that one who takes the run over finds them too.

use async_nats::jetstream::stream::LastRawMessageErrorKind;
use serde::{Deserialize, Serialize};
use tine_fork::ForkRunId;

use crate::connect::Cluster;
use crate::error::ClusterError;
use crate::patience::RETRY;
use crate::record::Following;

/// An order to whoever has a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "snake_case")]
pub enum Order {
    /// To stop.
    Stop {
        /// `hard` ends the run where it is; every other word lets it say its last words.
        kind: String,
    },
    /// The answer to a question.
    Answer {
        /// The question.
        question: String,
        /// `allow` or `deny`.
        decision: String,
        /// The one whose word it is, where nobody answered and the default counts.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        default_by: Option<String>,
        /// Its reach, in the word of those who started the fork; `None` for this call alone.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        scope: Option<String>,
        /// The rule that it covers beyond this call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rule: Option<String>,
        /// The person's reason, for the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// To keep within these caps from now on.
    Caps {
        /// The most that the run may use of each, what it has used already included.
        most: Vec<(String, u64)>,
    },
}

fn orders_of(run: ForkRunId) -> String {
    format!("agent.fork.{run}.orders")
}

impl Cluster {
    /// Gives an order. When this returns, it stands on the server.
    pub async fn order(&self, run: ForkRunId, order: &Order) -> Result<(), ClusterError> {
        let failed = |error| ClusterError::server("keep an order", error);
        let bytes = serde_json::to_vec(order)
            .map_err(|source| ClusterError::Unreadable { what: "an order", source })?;
        let sent = self.context().publish(orders_of(run), bytes.into()).await.map_err(failed)?;
        sent.await.map(drop).map_err(failed)
    }

    /// The last order that was given to whoever has a run; `None` where there is none, or none that can be read.
    pub async fn last_order(&self, run: ForkRunId) -> Result<Option<Order>, ClusterError> {
        match self.forks().get_last_raw_message_by_subject(&orders_of(run)).await {
            Ok(message) => Ok(serde_json::from_slice(&message.payload).ok()),
            Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => Ok(None),
            Err(error) => Err(ClusterError::server("read an order", error)),
        }
    }
}

/// The orders of a run, from the first on and as they come.
pub struct Orders {
    cluster: Cluster,
    run: ForkRunId,
    read: usize,
    open: Option<(usize, Following)>,
}

impl Orders {
    /// All orders of a run.
    pub fn new(cluster: &Cluster, run: ForkRunId) -> Self {
        Self { cluster: cluster.clone(), run, read: 0, open: None }
    }

    /// The next order; waits for it, however long the server is away. One that cannot be read is passed over. May be dropped at any time.
    pub async fn next(&mut self) -> Order {
        loop {
            let (passed, open) = match &mut self.open {
                Some(open) => open,
                None => match self.cluster.follow(orders_of(self.run)).await {
                    Ok(open) => self.open.insert((0, open)),
                    Err(_) => {
                        tokio::time::sleep(RETRY).await;
                        continue;
                    }
                },
            };
            match open.next().await {
                Some(payload) => {
                    *passed += 1;
                    if *passed > self.read {
                        self.read = *passed;
                        match serde_json::from_slice(&payload) {
                            Ok(order) => return order,
                            Err(error) => tracing::warn!(%error, "an order that is none"),
                        }
                    }
                }
                None => {
                    self.open = None;
                    tokio::time::sleep(RETRY).await;
                }
            }
        }
    }
}
