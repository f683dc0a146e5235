//! One writer for each prefix, on all workers: who comes first writes it to the provider's cache, and the others wait for that.

use bytes::Bytes;
use tine_cache::{Asked, Launch, SharesAt};
use tine_fork::run::RunEvent;
use tine_model::AgentId;
use tine_nats::{Cluster, ClusterError, Leader, Seat};

use crate::cache::CachePolicy;
use crate::error::RuntimeError;
use crate::events::{EventFilter, EventKind, Heard, Subscription};
use crate::load::Loaded;
use crate::runtime::Runtime;

/// Left for those who wait. What they read of the cache, their own replies tell.
const WRITTEN: Bytes = Bytes::from_static(b"written");

/// The worker that writes a prefix, until others can read it.
pub(super) struct Writing {
    leader: Leader,
    heard: Subscription,
    shares_at: SharesAt,
}

impl Runtime {
    /// Waits for the worker that writes the prefix of a run at this moment, where waiting is worth it. Returns the one that writes it,
    /// where that is this one.
    pub(super) async fn await_prefix(
        &self,
        cluster: &Cluster,
        (loaded, policy): (&mut Loaded, CachePolicy),
    ) -> Result<Option<Writing>, RuntimeError> {
        let model = loaded.record.settings.model.clone();
        let lane = self.lane_of_agent(&loaded.record, &model, policy).await?;
        // As if one more began at the same time: it decides whether one of two waits.
        let told = [String::new(), String::new()];
        let situation = lane.situation(&mut loaded.conversation, &told, Asked::Auto, self.now_ms());
        if lane.plan(situation).launch != Launch::LeaderFirst {
            return Ok(None);
        }
        let scope = blake3::Hash::from_bytes(lane.scope.0).to_hex();
        let request = loaded.conversation.fork().request(false).0;
        let Some(prefix) = request.prefix.last() else { return Ok(None) };
        let prefix = blake3::Hash::from_bytes(*prefix).to_hex();
        let key = format!("{}-{prefix}", &scope[..16]);
        let heard = self.subscribe(EventFilter::Agent(loaded.record.id));
        Ok(match cluster.board(&key, lane.leader_wait_max).await {
            Ok(Seat::Leader(leader)) => {
                Some(Writing { leader, heard, shares_at: lane.facts.shares_at })
            }
            Ok(Seat::Written(_) | Seat::Alone) => None,
            // Writing it twice is better than not running.
            Err(error) => {
                tracing::debug!(%error, "nobody knows who writes a prefix");
                None
            }
        })
    }
}

impl Writing {
    /// Tells the others as soon as they can read what is written; a run that ends before that lets another write it.
    pub(super) async fn tell(mut self, agent: AgentId) -> Result<(), ClusterError> {
        loop {
            let heard = tokio::select! {
                heard = self.heard.next() => heard,
                () = self.leader.hold() => continue,
            };
            let Some(Heard::Event(event)) = heard else {
                return self.leader.give_up().await;
            };
            let is_readable = matches!(
                (&event.kind, self.shares_at),
                (EventKind::Run(RunEvent::Stream(_)), SharesAt::FirstEvent)
                    | (EventKind::Run(RunEvent::Answered(_)), _)
            );
            if event.agent == agent && is_readable {
                return self.leader.wrote(WRITTEN).await;
            }
        }
    }
}
