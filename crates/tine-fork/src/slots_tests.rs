use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::FutureExt as _;
use tine_cache::{Facts, Models};
use tine_model::BoundaryKind;

use super::*;
use crate::cache::CacheEngine;

/// A lane to a server with so many slots.
fn lane(slots: u32, slot_wait: SlotWait) -> CacheLane {
    let facts = Models::bundled().facts("llama-server/m");
    let facts = Facts { slots: Some(slots), ..facts };
    let model = "openai-compat/m".parse().unwrap();
    CacheLane { slot_wait, ..CacheLane::new(CacheEngine::new(), &model, "mine", facts) }
}

/// Places of a thousand tokens each, named by letters: two requests share as far as their letters agree.
fn request(letters: &str) -> Vec<Boundary> {
    let place = |end: usize| {
        let mut hash = [0; 32];
        hash[..end].copy_from_slice(&letters.as_bytes()[..end]);
        let (bytes, kind) = (end as u64 * 4_000, BoundaryKind::Message);
        Boundary { kind, hash, bytes, items: end, back: 0, mark: None }
    };
    (1..=letters.len()).map(place).collect()
}

async fn enter(run: &mut RunSlot, lane: &CacheLane, letters: &str) -> Option<SlotUse> {
    run.enter(lane, &request(letters), &|| {}, &CancellationToken::new()).await
}

/// The parent's own run is over.
async fn warm(lane: &CacheLane, letters: &str) {
    let mut parent = RunSlot::default();
    let slot = enter(&mut parent, lane, letters).await;
    parent.keep(slot, false);
}

#[tokio::test(start_paused = true)]
async fn who_shares_the_prefix_waits_for_its_slot_and_whoever_does_not_goes() {
    let lane = lane(4, SlotWait::InTurn);
    warm(&lane, "ppp").await;
    let (mut first, mut second, mut other) =
        (RunSlot::default(), RunSlot::default(), RunSlot::default());
    let slot = enter(&mut first, &lane, "pppa").await;
    let waits = AtomicUsize::new(0);
    let (child, cancel) = (request("pppb"), CancellationToken::new());
    let on_wait = || {
        waits.fetch_add(1, Ordering::Relaxed);
    };
    let mut waiting = Box::pin(second.enter(&lane, &child, &on_wait, &cancel));
    assert!(waiting.as_mut().now_or_never().is_none());
    assert_eq!(waits.load(Ordering::Relaxed), 1);
    assert!(enter(&mut other, &lane, "zzz").now_or_never().flatten().is_some());
    first.keep(slot, false);
    assert!(waiting.await.is_some());
}

#[tokio::test(start_paused = true)]
async fn a_slot_is_kept_for_the_next_turn_and_not_for_a_slow_tool() {
    let lane = lane(4, SlotWait::InTurn);
    warm(&lane, "ppp").await;
    let (mut first, mut second) = (RunSlot::default(), RunSlot::default());
    let slot = enter(&mut first, &lane, "pppa").await;
    first.keep(slot, true);
    let mut waiting = Box::pin(enter(&mut second, &lane, "pppb"));
    assert!(waiting.as_mut().now_or_never().is_none());
    // Its next turn comes at once, and finds its own slot.
    let slot = enter(&mut first, &lane, "pppaxy").now_or_never().flatten();
    assert!(slot.is_some());
    first.keep(slot, true);
    assert!(waiting.as_mut().now_or_never().is_none());
    let began = Instant::now();
    let slot = waiting.await;
    assert_eq!(began.elapsed(), KEPT_FOR);
    // The slow one comes back while the other is at work: it waits as everybody does.
    let mut late = Box::pin(enter(&mut first, &lane, "pppaxyz"));
    assert!(late.as_mut().now_or_never().is_none());
    second.keep(slot, false);
    assert!(late.await.is_some());
}

#[tokio::test(start_paused = true)]
async fn a_wait_ends_with_patience_or_a_cancel() {
    let check = async |slot_wait, longest: Duration| {
        let lane = lane(2, slot_wait);
        warm(&lane, "ppp").await;
        let _busy = enter(&mut RunSlot::default(), &lane, "pppa").await;
        let began = Instant::now();
        assert!(enter(&mut RunSlot::default(), &lane, "pppb").await.is_some());
        assert_eq!(began.elapsed(), longest, "{slot_wait:?}");
    };
    check(SlotWait::Never, Duration::ZERO).await;
    check(SlotWait::Briefly, crate::cache::REPLY_WAIT_MAX).await;
    check(SlotWait::InTurn, SLOT_WAIT_MAX).await;
    let lane = lane(2, SlotWait::InTurn);
    warm(&lane, "ppp").await;
    let _busy = enter(&mut RunSlot::default(), &lane, "pppa").await;
    let cancel = CancellationToken::new();
    cancel.cancel();
    let (mut run, child) = (RunSlot::default(), request("pppb"));
    assert!(run.enter(&lane, &child, &|| {}, &cancel).await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_request_that_fails_frees_its_slot_and_leaves_what_it_shared() {
    let lane = lane(1, SlotWait::InTurn);
    warm(&lane, "ppp").await;
    drop(enter(&mut RunSlot::default(), &lane, "pppa").await);
    let reach = lock(&lane.engine.ledger).slot_reach(&lane.scope, &lane.facts, &request("pppa"));
    assert_eq!((reach.idle_bytes, reach.holding), (12_000, 1));
}

#[tokio::test(start_paused = true)]
async fn where_requests_share_what_is_kept_nobody_takes_a_slot() {
    let lane = lane(1, SlotWait::InTurn);
    let shared = CacheLane { facts: Facts { slots: None, ..lane.facts.clone() }, ..lane };
    assert!(enter(&mut RunSlot::default(), &shared, "ppp").await.is_none());
}
