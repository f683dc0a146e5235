//! Keeping a parent's cache entries alive while its workers run, for as long as that is cheaper than writing them again.

use std::convert::Infallible;
use std::time::Duration;

use tine_cache::{Facts, Keep, Price, Prices, Rates, keep};
use tine_fork::cache::CacheLane;
use tine_fork::run::{Conversation, RequestRecord};
use tine_llm::{LlmClient, Progress};
use tine_model::{AgentId, EntryId, Lifetime, Message, RequestId, StopReason};

use crate::journal::request_row;
use crate::run_options::RunOptions;
use crate::runtime::Runtime;
use crate::stop_words;

/// How often the clock is looked at while a ping is not due. Entries age by the clock and not by this process's own time,
/// which stands still while the machine sleeps.
const CLOCK_POLL: Duration = Duration::from_millis(250);

/// What is to be kept alive.
pub(crate) struct KeepWarm<'a> {
    /// Who pays.
    pub(crate) agent: AgentId,
    pub(crate) model: String,
    pub(crate) conversation: Conversation,
    pub(crate) lane: CacheLane,
    pub(crate) llm: &'a dyn LlmClient,
}

impl Runtime {
    /// Pings until it is dropped, or until another ping would cost more than it can save. A ping that fails is the last, and
    /// none is sent when there is nothing left to keep alive.
    pub(crate) async fn keep_warm(
        &self,
        mut warm: KeepWarm<'_>,
        options: &RunOptions,
    ) -> Infallible {
        let lifetime = warm.conversation.lifetimes().messages();
        if options.caching.keep_warm
            && let Some((every_ms, at_most)) = rhythm(&warm.lane.facts, lifetime, self.now_ms())
        {
            let mut used_ms = self.now_ms();
            for number in 1..=at_most {
                self.wait_until(used_ms.saturating_add(every_ms)).await;
                used_ms = self.now_ms();
                if options.cancel.is_cancelled() || !self.ping(&mut warm, number, options).await {
                    break;
                }
            }
        }
        std::future::pending().await
    }

    async fn wait_until(&self, due_ms: i64) {
        loop {
            let left_ms = due_ms.saturating_sub(self.now_ms());
            if left_ms <= 0 {
                return;
            }
            let left = Duration::from_millis(left_ms.unsigned_abs());
            tokio::time::sleep(left.min(CLOCK_POLL)).await;
        }
    }

    /// One ping; whether another may follow.
    async fn ping(&self, warm: &mut KeepWarm<'_>, number: u32, options: &RunOptions) -> bool {
        // A worker that was never made: the model's own words may not stand last, and what stands behind the shared part must
        // be another text each time. Otherwise a ping would read the end of the one before, and refresh that.
        let mut child = warm.conversation.fork();
        child.push(EntryId(0), Message::user(format!("Ping {number}.")).into());
        let Some((request, assembled)) = child.warming() else { return false };
        let started_ms = self.now_ms();
        if warm.lane.expect(&assembled.boundaries, started_ms).read == 0 {
            tracing::info!("nothing of the prefix is in the cache any more: it is not kept warm");
            return false;
        }
        // Nobody waits for a ping, so that it may not use up what the workers need.
        let budget = self.store().budget(warm.agent).await.ok().flatten();
        if budget.is_some_and(|budget| budget.promised(started_ms).is_some()) {
            tracing::info!("the tree's budget is used up: nothing is kept warm");
            return false;
        }
        let watched = warm.lane.begin(&assembled.boundaries, None, started_ms);
        let mut nobody = |_: Progress<'_>| {};
        let reply = match warm.llm.send(&request, &mut nobody, &options.cancel).await {
            Ok(reply) => reply,
            Err(error) => {
                tracing::info!(%error, "the cache is not kept warm any more");
                return false;
            }
        };
        let cache = watched.answered(&reply.usage, None, &assembled.boundaries);
        let record = RequestRecord {
            // Not a reply of the conversation: nothing is compared with it.
            reply: None,
            model: reply.model,
            usage: reply.usage,
            stop: StopReason::Other(stop_words::KEEP_WARM.to_owned()),
            items: assembled.items,
            body_bytes: assembled.body.len(),
            started_ms,
            cache: Some(cache),
        };
        let id = RequestId::from_random(self.ports().ids.random());
        let (row, entries) =
            request_row((id, warm.agent), (&self.ports().facts, &warm.model), &record);
        let recorded = self.store().record_request(row, &entries).await;
        recorded.inspect_err(|error| tracing::warn!(%error, "a ping was not recorded")).is_ok()
    }
}

/// How often a ping is sent, in milliseconds, and how often at the most. Nobody knows how long workers take, so the choice is
/// made for one lifetime more, again and again, as long as all pings together cost less than one write: whenever the
/// workers end, no more than twice the least was paid. `None` where no ping is worth it.
fn rhythm(facts: &Facts, lifetime: Lifetime, now_ms: i64) -> Option<(i64, u32)> {
    let facts = match (lifetime, facts.long_ms) {
        // The same choice for entries that live longer and are dearer to write.
        (Lifetime::Long, Some(long_ms)) => Facts {
            short_ms: long_ms,
            long_ms: None,
            prices: facts.prices.at(now_ms).map_or_else(Prices::default, |price| {
                let base = Rates { write_short: price.base.write_long, ..price.base };
                Prices::always(Price { base, ..price })
            }),
            ..facts.clone()
        },
        _ => facts.clone(),
    };
    match keep(facts.short_ms, &facts, now_ms) {
        Keep::Pings { every_ms, at_most } => Some((every_ms, at_most)),
        Keep::Short | Keep::Long => None,
    }
}

#[cfg(test)]
mod tests {
    use tine_cache::Models;

    use super::*;

    #[test]
    fn pings_follow_the_lifetime_and_end_when_a_write_would_have_cost_less() {
        let rhythm = |model: &str, lifetime| rhythm(&Models::bundled().facts(model), lifetime, 0);
        let minutes = |minutes: i64| minutes * 60_000;
        let opus = "anthropic/claude-opus-5-5";
        assert_eq!(rhythm(opus, Lifetime::Short), Some((minutes(5) * 9 / 10, 24)));
        assert_eq!(rhythm(opus, Lifetime::Long), Some((minutes(54), 39)));
        assert_eq!(rhythm("anthropic/claude-opus-5", Lifetime::Short), Some((270_000, 11)));
        assert_eq!(rhythm("openai/gpt-6.1-sol", Lifetime::Short), Some((minutes(27), 24)));
        assert_eq!(rhythm("gemini/gemini-3.8-flash", Lifetime::Short), None);
        assert_eq!(rhythm("anthropic/unknown", Lifetime::Short), None);
    }
}
