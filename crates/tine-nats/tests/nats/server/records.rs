//! The record of a run, and the fence that it is.

use tine_nats::event::{Happened, Text};
use tine_nats::{Cluster, ClusterError, Events, Read, Record};
use tine_testkit::nats::Partition;

use crate::house::{House, NOW_MS, run};

fn text(words: &str) -> Happened {
    Happened::Text(Text { text: words.to_owned() })
}

fn ended() -> Happened {
    Happened::Ended(tine_nats::event::Ended {
        outcome: "completed".to_owned(),
        error: None,
        detail: serde_json::Value::Null,
    })
}

async fn claim(cluster: &Cluster, worker: &str) -> Result<(Record, usize), ClusterError> {
    let claimed = Record::claim(cluster, (run(1), worker), None, NOW_MS).await;
    claimed.map(|(record, events)| (record, events.len()))
}

/// The next items: texts, or what they are.
async fn read(events: &mut Events, items: usize) -> Vec<String> {
    let mut read = Vec::new();
    for _ in 0..items {
        read.push(match events.next().await.unwrap() {
            Read::Missed { from, to } => format!("missed {from} to {to}"),
            Read::Event(event) => {
                let (sequence, attempt) = (event.sequence, event.attempt);
                let what = match event.happened().unwrap() {
                    Happened::Started(started) => format!("{} begins", started.worker),
                    Happened::Text(text) if text.text.len() > 40 => text.text.len().to_string(),
                    Happened::Text(text) => text.text,
                    Happened::Ended(ended) => ended.outcome,
                    other => format!("{other:?}"),
                };
                format!("{sequence}/{attempt} {what}")
            }
        });
    }
    read
}

#[tokio::test]
#[ignore = "needs nats-server: cargo xtask hosts nats"]
async fn the_second_claim_fences_the_first_and_an_ended_run_has_none() {
    let house = House::new();
    let (here, there) = (house.cluster().await, house.cluster().await);
    let (mut first, known) = claim(&here, "north").await.unwrap();
    assert_eq!((first.attempt(), known), (1, 0));
    first.write(&text("one"), NOW_MS).await.unwrap();
    let (mut second, known) = claim(&there, "south").await.unwrap();
    assert_eq!((second.attempt(), known), (2, 2));
    for _ in 0..2 {
        assert!(matches!(first.write(&text("lost"), NOW_MS).await, Err(ClusterError::Fenced)));
    }
    second.write(&text("two"), NOW_MS).await.unwrap();
    second.write(&ended(), NOW_MS).await.unwrap();
    assert!(matches!(claim(&here, "north").await, Err(ClusterError::Ended)));
    let mut events = Events::new(&here, run(1), 0);
    let expected = ["1/1 north begins", "2/1 one", "3/2 south begins", "4/2 two", "5/2 completed"];
    assert_eq!(read(&mut events, 5).await, expected);
    assert_eq!(read(&mut Events::new(&there, run(1), 3), 2).await, expected[3..]);
}

#[tokio::test]
#[ignore = "needs nats-server: cargo xtask hosts nats"]
async fn of_many_claims_at_once_by_workers_of_one_name_one_can_write() {
    let house = House::new();
    let clusters = [house.cluster().await, house.cluster().await, house.cluster().await];
    let claims = clusters.iter().map(|cluster| claim(cluster, "north"));
    let claims = futures_util::future::join_all(claims).await;
    let mut written = 0;
    for claimed in claims {
        let (mut record, _) = claimed.unwrap();
        written += usize::from(record.write(&text("mine"), NOW_MS).await.is_ok());
    }
    assert_eq!(written, 1);
    let seen = read(&mut Events::new(&clusters[0], run(1), 0), 4).await;
    assert_eq!(seen[3], "4/3 mine");
}

#[tokio::test]
#[ignore = "needs nats-server: cargo xtask hosts nats"]
async fn a_run_is_taken_from_one_who_goes_on_writing() {
    let house = House::new();
    let (here, there) = (house.cluster().await, house.cluster().await);
    let (mut first, _) = claim(&here, "north").await.unwrap();
    let writing = async {
        while first.write(&text("more"), NOW_MS).await.is_ok() {
            // No writer is as fast as the server.
            for _ in 0..8 {
                here.last_order(run(1)).await.unwrap();
            }
        }
    };
    let (claimed, ()) = tokio::join!(claim(&there, "south"), writing);
    assert_eq!(claimed.unwrap().0.attempt(), 2);
}

#[tokio::test]
#[ignore = "needs nats-server: cargo xtask hosts nats"]
async fn a_write_waits_for_a_server_that_is_away_and_is_there_once() {
    let mut house = House::new();
    let cluster = house.cluster().await;
    let (mut record, _) = claim(&cluster, "north").await.unwrap();
    house.node.kill();
    let words = text("over the gap");
    let write = record.write(&words, NOW_MS);
    let ((), written) = tokio::join!(async { house.node.restart() }, write);
    written.unwrap();
    record.write(&text("behind it"), NOW_MS).await.unwrap();
    let mut events = Events::new(&cluster, run(1), 0);
    let expected = ["1/1 north begins", "2/1 over the gap", "3/1 behind it"];
    assert_eq!(read(&mut events, 3).await, expected);
}

#[tokio::test]
#[ignore = "needs nats-server: cargo xtask hosts nats"]
async fn a_write_whose_answer_was_lost_stands_once() {
    let house = House::new();
    let network = Partition::before(house.node.address());
    let settings = tine_nats::Settings::new(network.url());
    let cluster = Cluster::connect(settings, "test").await.unwrap();
    let (mut record, _) = claim(&cluster, "north").await.unwrap();
    // The server may have it or not when the network breaks: both must end as one event.
    for number in 0..5 {
        let words = text(&number.to_string());
        let write = record.write(&words, NOW_MS);
        let broken = async {
            network.cut();
            tokio::task::yield_now().await;
            network.heal();
        };
        let (written, ()) = tokio::join!(write, broken);
        written.unwrap();
    }
    let mut events = Events::new(&house.cluster().await, run(1), 1);
    assert_eq!(read(&mut events, 5).await, ["2/1 0", "3/1 1", "4/1 2", "5/1 3", "6/1 4"]);
}

#[tokio::test]
#[ignore = "needs nats-server: cargo xtask hosts nats"]
async fn data_that_are_too_long_for_a_message_travel_as_a_blob() {
    let house = House::with("max_payload: 64KB");
    let cluster = house.cluster().await;
    let (mut record, _) = claim(&cluster, "north").await.unwrap();
    let mut events = Events::new(&cluster, run(1), 1);
    let words = text(&"word ".repeat(100_000));
    let (written, seen) = tokio::join!(record.write(&words, NOW_MS), read(&mut events, 1));
    written.unwrap();
    assert_eq!(seen, ["2/1 500000"]);
}

#[tokio::test]
#[ignore = "needs nats-server: cargo xtask hosts nats"]
async fn a_late_reader_is_told_what_it_missed() {
    let house = House::new();
    let cluster = house.cluster().await;
    let (mut record, _) = claim(&cluster, "north").await.unwrap();
    for words in ["one", "two", "three"] {
        record.write(&text(words), NOW_MS).await.unwrap();
    }
    house.stream("TINE_FORKS").await.purge().sequence(3).await.unwrap();
    let mut events = Events::new(&cluster, run(1), 0);
    assert_eq!(read(&mut events, 3).await, ["missed 1 to 2", "3/1 two", "4/1 three"]);
    assert_eq!(read(&mut Events::new(&cluster, run(1), 3), 1).await, ["4/1 three"]);
}

#[tokio::test]
#[ignore = "needs nats-server: cargo xtask hosts nats"]
async fn a_reader_goes_on_over_a_restart_of_the_server() {
    let mut house = House::new();
    let cluster = house.cluster().await;
    let (mut record, _) = claim(&cluster, "north").await.unwrap();
    let mut events = Events::new(&cluster, run(1), 0);
    assert_eq!(read(&mut events, 1).await, ["1/1 north begins"]);
    house.node.restart();
    record.write(&text("after it"), NOW_MS).await.unwrap();
    assert_eq!(read(&mut events, 1).await, ["2/1 after it"]);
}
