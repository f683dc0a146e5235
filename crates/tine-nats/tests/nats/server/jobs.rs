//! Jobs and orders.

use std::time::Instant;

use tine_nats::{Job, Order, Orders, Present, Queue};
use tokio_util::sync::CancellationToken;

use crate::house::{House, LEASE, job, next_job, run};

#[tokio::test]
#[ignore = "needs nats-server: cargo xtask hosts nats"]
async fn a_job_that_is_told_of_stays_and_one_that_is_not_goes_to_another() {
    let house = House::new();
    let cluster = house.cluster().await;
    let mut queue = Queue::open(&cluster, "test", &[]).await.unwrap();
    cluster.submit(&job(1, "any")).await.unwrap();
    cluster.submit(&job(1, "any")).await.unwrap();
    let held = next_job(&mut queue).await;
    assert_eq!((&held.job, held.times), (&job(1, "any"), 1));

    let other = house.cluster().await;
    let mut other = Queue::open(&other, "test", &[]).await.unwrap();
    let lost = CancellationToken::new();
    let began = Instant::now();
    let look = async {
        while began.elapsed() < LEASE * 3 {
            assert!(other.next().await.unwrap().is_none(), "the first one holds it");
        }
    };
    tokio::select! {
        () = held.beat(&lost) => unreachable!(),
        () = look => {}
    }
    assert!(!lost.is_cancelled());

    drop(held);
    let again = next_job(&mut other).await;
    assert_eq!((again.job.run, again.times), (run(1), 2));
    again.done().await.unwrap();
    assert_eq!(cluster.status().await.unwrap().jobs, 0, "there was one of it");
    assert!(other.next().await.unwrap().is_none());
}

#[tokio::test]
#[ignore = "needs nats-server: cargo xtask hosts nats"]
async fn a_worker_takes_the_jobs_of_its_labels_and_those_for_any() {
    let house = House::new();
    let cluster = house.cluster().await;
    let labels = ["gpu".to_owned(), "big".to_owned()];
    let mut with = Queue::open(&cluster, "test", &labels).await.unwrap();
    let mut without = Queue::open(&cluster, "test", &[]).await.unwrap();
    for job in [job(1, "gpu"), job(2, "big"), job(3, "any"), job(4, "arm")] {
        cluster.submit(&job).await.unwrap();
    }
    let any = next_job(&mut without).await;
    assert_eq!(any.job.run, run(3));
    any.done().await.unwrap();
    let mut taken = Vec::new();
    for _ in 0..2 {
        let held = next_job(&mut with).await;
        held.done().await.unwrap();
        taken.push(held.job.label);
    }
    taken.sort();
    assert_eq!(taken, ["big", "gpu"]);
    assert_eq!(cluster.status().await.unwrap().jobs, 1, "nobody is an `arm`");
    let error = cluster.submit(&job(5, "*")).await.unwrap_err();
    insta::assert_snapshot!(error, @"`*` is no label: one has small letters, digits, `-` and `_`, 40 at most");
    assert!(Queue::open(&cluster, "test", &["a.b".to_owned()]).await.is_err());
}

#[tokio::test]
#[ignore = "needs nats-server: cargo xtask hosts nats"]
async fn a_job_that_nobody_can_read_is_thrown_away() {
    let house = House::new();
    let cluster = house.cluster().await;
    let mut queue = Queue::open(&cluster, "test", &[]).await.unwrap();
    let client = async_nats::connect(house.node.url()).await.unwrap();
    let jetstream = async_nats::jetstream::new(client);
    let subject = "agent.job.test.any";
    jetstream.publish(subject, "no job".into()).await.unwrap().await.unwrap();
    cluster.submit(&Job { version: 99, ..job(1, "any") }).await.unwrap();
    for _ in 0..2 {
        assert!(queue.next().await.unwrap().is_none());
    }
    cluster.submit(&job(2, "any")).await.unwrap();
    assert_eq!(next_job(&mut queue).await.job.run, run(2));
}

#[tokio::test]
#[ignore = "needs nats-server: cargo xtask hosts nats"]
async fn whoever_holds_a_job_that_the_server_does_not_hear_of_is_told() {
    let mut house = House::new();
    let cluster = house.cluster().await;
    let mut queue = Queue::open(&cluster, "test", &[]).await.unwrap();
    cluster.submit(&job(1, "any")).await.unwrap();
    let held = next_job(&mut queue).await;
    house.node.kill();
    let lost = CancellationToken::new();
    tokio::select! {
        () = held.beat(&lost) => unreachable!(),
        () = lost.cancelled() => {}
    }
}

#[tokio::test]
#[ignore = "needs nats-server: cargo xtask hosts nats"]
async fn orders_are_found_by_whoever_comes_later() {
    let house = House::new();
    let cluster = house.cluster().await;
    assert_eq!(cluster.last_order(run(1)).await.unwrap(), None);
    let orders = [
        Order::Caps { most: vec![("tokens".to_owned(), 7_000)] },
        Order::Answer {
            question: "q1".to_owned(),
            decision: "deny".to_owned(),
            default_by: None,
            scope: None,
            rule: None,
            reason: None,
        },
        Order::Stop { kind: "hard".to_owned() },
    ];
    cluster.order(run(2), &orders[0]).await.unwrap();
    for order in &orders[..2] {
        cluster.order(run(1), order).await.unwrap();
    }
    let mut late = Orders::new(&house.cluster().await, run(1));
    assert_eq!((late.next().await, late.next().await), (orders[0].clone(), orders[1].clone()));
    let ((), third) =
        tokio::join!(async { cluster.order(run(1), &orders[2]).await.unwrap() }, late.next());
    assert_eq!(third, orders[2]);
    assert_eq!(cluster.last_order(run(1)).await.unwrap(), Some(third));
}

#[tokio::test]
#[ignore = "needs nats-server: cargo xtask hosts nats"]
async fn orders_are_followed_over_a_restart_of_the_server() {
    let mut house = House::new();
    let cluster = house.cluster().await;
    let mut orders = Orders::new(&cluster, run(1));
    let stop = |kind: &str| Order::Stop { kind: kind.to_owned() };
    cluster.order(run(1), &stop("soft")).await.unwrap();
    assert_eq!(orders.next().await, stop("soft"));
    house.node.restart();
    let other = house.cluster().await;
    other.order(run(1), &stop("hard")).await.unwrap();
    assert_eq!(orders.next().await, stop("hard"));
}

#[tokio::test]
#[ignore = "needs nats-server: cargo xtask hosts nats"]
async fn workers_are_there_for_a_lease_or_until_they_leave() {
    let house = House::new();
    let cluster = house.cluster().await;
    let present = |worker: &str| Present {
        worker: worker.to_owned(),
        labels: vec!["gpu".to_owned()],
        jobs: 2,
        running: vec![run(1).to_string()],
        version: "1.0".to_owned(),
    };
    for worker in ["south", "north"] {
        cluster.tell_presence(&present(worker)).await.unwrap();
    }
    cluster.tell_presence(&present("north")).await.unwrap();
    cluster.submit(&job(1, "any")).await.unwrap();
    let (blob, _) = cluster.put("a blob".into()).await.unwrap();
    cluster.get(blob).await.unwrap();
    let status = cluster.status().await.unwrap();
    assert_eq!(status.workers, [present("north"), present("south")]);
    assert_eq!((status.jobs, status.replicas, status.event_bytes), (1, 1, 0));
    assert_eq!(status.server, house.node.info().unwrap()["version"].as_str().unwrap());
    assert!(status.blob_bytes > 6);

    cluster.leave("north").await.unwrap();
    assert!(!cluster.present().await.unwrap().contains(&present("north")));
    tine_testkit::until_some_async("the lease of the other one ends", async || {
        cluster.present().await.unwrap().is_empty().then_some(())
    })
    .await;
}
