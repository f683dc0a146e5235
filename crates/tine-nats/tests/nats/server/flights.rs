//! One writer for each prefix.

use std::time::Duration;

use tine_nats::{Cluster, Leader, Seat};

use crate::house::{House, LEASE};

const PATIENCE: Duration = Duration::from_secs(20);

async fn board(cluster: &Cluster, patience: Duration) -> Seat {
    cluster.board("prefix-1", patience).await.unwrap()
}

async fn lead(cluster: &Cluster) -> Leader {
    match board(cluster, PATIENCE).await {
        Seat::Leader(leader) => leader,
        Seat::Written(left) => panic!("it was written: {left:?}"),
        Seat::Alone => panic!("somebody else writes it"),
    }
}

fn left(seat: Seat) -> String {
    match seat {
        Seat::Written(left) => String::from_utf8(left.to_vec()).unwrap(),
        Seat::Leader(_) => "leads".to_owned(),
        Seat::Alone => "alone".to_owned(),
    }
}

#[tokio::test]
#[ignore = "needs nats-server: cargo xtask hosts nats"]
async fn one_leads_and_the_others_have_what_it_leaves() {
    let house = House::new();
    let (here, there) = (house.cluster().await, house.cluster().await);
    let mut leader = lead(&here).await;
    assert_eq!(left(board(&there, Duration::ZERO).await), "alone");
    // Longer than a lease: the place is kept meanwhile.
    let waited = tokio::select! {
        () = leader.hold() => unreachable!(),
        seat = board(&there, LEASE * 3) => seat,
    };
    assert_eq!(left(waited), "alone");
    let (wrote, second, third) = tokio::join!(
        leader.wrote("what was said".into()),
        board(&there, PATIENCE),
        board(&here, PATIENCE)
    );
    wrote.unwrap();
    assert_eq!((left(second), left(third)), ("what was said".into(), "what was said".into()));
    let other = here.board("prefix-2", PATIENCE).await.unwrap();
    assert_eq!(left(other), "leads", "another prefix has a flight of its own");
}

#[tokio::test]
#[ignore = "needs nats-server: cargo xtask hosts nats"]
async fn the_place_of_a_leader_who_gives_up_or_dies_is_free() {
    let house = House::new();
    let (here, there) = (house.cluster().await, house.cluster().await);
    lead(&here).await.give_up().await.unwrap();
    let leader = lead(&there).await;
    drop(leader);
    assert_eq!(left(board(&here, Duration::ZERO).await), "alone", "the lease goes on");
    let mut leader = lead(&here).await;

    // Cut off in the middle of a renewal, it still gives its place back.
    tokio::select! {
        () = leader.hold() => unreachable!(),
        () = renewal_is_sent(&house) => {}
    }
    leader.give_up().await.unwrap();
    lead(&there).await.give_up().await.unwrap();
}

/// Returns when the lease was renewed on the server.
async fn renewal_is_sent(house: &House) {
    let mut stream = house.stream("KV_tine_flights").await;
    let before = stream.info().await.unwrap().state.last_sequence;
    while stream.info().await.unwrap().state.last_sequence == before {
        tokio::task::yield_now().await;
    }
}
