use futures_util::FutureExt;
use tokio::time::Instant;

use super::*;

fn token() -> CancellationToken {
    CancellationToken::new()
}

/// A flight with the usual patience.
fn staged(first: usize, stages: Vec<usize>, shares_at: SharesAt) -> Arc<Flight> {
    Flight::staged(first, stages, shares_at, leader_wait_max(shares_at))
}

fn leader_first(first: usize) -> Arc<Flight> {
    staged(first, vec![1], SharesAt::FirstEvent)
}

#[tokio::test(start_paused = true)]
async fn followers_wait_for_the_leaders_first_event() {
    let flight = leader_first(1);
    let cancel = token();
    let mut follower = Box::pin(flight.seat(0).enter(&cancel));
    assert!(follower.as_mut().now_or_never().is_none());
    let mut leader = flight.seat(1).enter(&cancel).await;
    assert!(leader.leads());
    assert!(follower.as_mut().now_or_never().is_none());
    leader.begun();
    assert!(!follower.await.leads());
}

#[tokio::test(start_paused = true)]
async fn followers_wait_for_the_leaders_end_where_nothing_is_shared_before() {
    let flight = staged(0, vec![1], SharesAt::End);
    let cancel = token();
    let mut leader = flight.seat(0).enter(&cancel).await;
    let mut follower = Box::pin(flight.seat(1).enter(&cancel));
    leader.begun();
    assert!(follower.as_mut().now_or_never().is_none());
    leader.ended();
    assert!(!follower.await.leads());
}

#[tokio::test(start_paused = true)]
async fn two_leaders_go_one_after_the_other() {
    let flight = staged(2, vec![1, 1], SharesAt::End);
    let cancel = token();
    let mut waiting: Vec<_> =
        [0, 1, 3].into_iter().map(|member| Box::pin(flight.seat(member).enter(&cancel))).collect();
    let mut first = flight.seat(2).enter(&cancel).await;
    let mut inside = || -> Vec<Ticket> {
        let mut entered = Vec::new();
        waiting.retain_mut(|member| match member.as_mut().now_or_never() {
            None => true,
            Some(ticket) => {
                entered.push(ticket);
                false
            }
        });
        entered
    };
    assert!(inside().is_empty());
    first.ended();
    let mut second = inside();
    assert_eq!(second.iter().map(Ticket::leads).collect::<Vec<_>>(), [true]);
    second[0].begun();
    assert!(inside().is_empty());
    second[0].ended();
    assert_eq!(inside().iter().map(Ticket::leads).collect::<Vec<_>>(), [false, false]);
}

#[tokio::test(start_paused = true)]
async fn a_stage_goes_when_everybody_of_the_stage_before_has_begun() {
    let flight = staged(0, vec![1, 2, 1], SharesAt::FirstEvent);
    let cancel = token();
    let enter = |member| flight.seat(member).enter(&cancel).now_or_never();
    let mut leader = enter(0).unwrap();
    assert!(enter(1).is_none());
    leader.begun();
    let mut crowd = [enter(1).unwrap(), enter(2).unwrap()];
    assert!(enter(3).is_none());
    crowd[0].begun();
    assert!(enter(3).is_none());
    crowd[1].begun();
    let mut next = enter(3).unwrap();
    assert!(next.leads() && enter(4).is_none());
    next.begun();
    assert!([4, 5, 6].into_iter().all(|member| enter(member).is_some_and(|t| !t.leads())));
}

#[tokio::test(start_paused = true)]
async fn a_failed_leader_is_replaced_and_the_rest_keep_waiting() {
    let flight = leader_first(0);
    let cancel = token();
    let leader = flight.seat(0).enter(&cancel).await;
    let mut second = Box::pin(flight.seat(1).enter(&cancel));
    let mut third = Box::pin(flight.seat(2).enter(&cancel));
    assert!(second.as_mut().now_or_never().is_none());
    assert!(third.as_mut().now_or_never().is_none());
    drop(leader);
    let promoted = second.await;
    assert!(promoted.leads());
    assert!(third.as_mut().now_or_never().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_never_comes_is_replaced_at_once() {
    let flight = leader_first(0);
    let cancel = token();
    let mut follower = Box::pin(flight.seat(1).enter(&cancel));
    let leader = flight.seat(0);
    assert!(follower.as_mut().now_or_never().is_none());
    drop(leader);
    assert!(follower.await.leads());
}

#[tokio::test(start_paused = true)]
async fn the_wait_is_capped_for_each_stage() {
    let cases = [
        (vec![1], SharesAt::FirstEvent, LEADER_WAIT_MAX),
        (vec![1], SharesAt::End, REPLY_WAIT_MAX),
    ];
    for (stages, shares_at, most) in cases {
        let flight = staged(0, stages, shares_at);
        let cancel = token();
        let _leader = flight.seat(0).enter(&cancel).await;
        let before = Instant::now();
        assert!(!flight.seat(1).enter(&cancel).await.leads());
        assert_eq!(before.elapsed(), most);
    }
}

#[tokio::test(start_paused = true)]
async fn a_stage_that_takes_too_long_holds_up_only_the_next() {
    let flight = staged(0, vec![1, 1], SharesAt::End);
    let cancel = token();
    let _stalled = flight.seat(0).enter(&cancel).await;
    let before = Instant::now();
    let mut next = flight.seat(1).enter(&cancel).await;
    assert_eq!((next.leads(), before.elapsed()), (true, REPLY_WAIT_MAX));
    let mut last = Box::pin(flight.seat(2).enter(&cancel));
    assert!(last.as_mut().now_or_never().is_none());
    next.ended();
    assert!(!last.await.leads());
    assert_eq!(before.elapsed(), REPLY_WAIT_MAX);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_follower_does_not_wait() {
    let flight = leader_first(0);
    let cancel = token();
    cancel.cancel();
    assert!(!flight.seat(1).enter(&cancel).await.leads());
}

#[tokio::test(start_paused = true)]
async fn a_warm_prefix_holds_nobody() {
    let flight = Flight::together();
    for member in 0..8 {
        assert!(!flight.seat(member).enter(&token()).await.leads());
    }
}

#[tokio::test(start_paused = true)]
async fn a_ticket_of_a_flight_that_was_opened_changes_nothing() {
    let flight = leader_first(0);
    let cancel = token();
    let leader = flight.seat(0).enter(&cancel).await;
    assert!(!flight.seat(1).enter(&cancel).await.leads());
    drop(leader);
    assert!(flight.is_open());
}
