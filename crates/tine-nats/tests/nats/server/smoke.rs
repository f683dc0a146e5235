//! A job, a blob and a record from end to end, in a few seconds.

use std::sync::Arc;

use tine_fork::ForkSubagent as _;
use tine_nats::event::{Happened, Text};
use tine_nats::{Events, Queue, Read, Record};
use tine_testkit::Answer;

use crate::forks::{Tools, inherited, model, params, subagent, worker};
use crate::house::{House, NOW_MS, job, next_job};

#[tokio::test]
#[ignore = "needs nats-server: cargo xtask hosts nats"]
async fn a_job_is_taken_and_its_record_is_read() {
    let house = House::new();
    let (here, there) = (house.cluster().await, house.cluster().await);
    let (hash, _) = here.put("a prefix".into()).await.unwrap();
    here.submit(&job(1, "any")).await.unwrap();

    let held = next_job(&mut Queue::open(&there, "test", &[]).await.unwrap()).await;
    assert_eq!(&there.get(hash).await.unwrap()[..], b"a prefix");
    let claimed = Record::claim(&there, (held.job.run, "north"), None, NOW_MS).await;
    let (mut record, _) = claimed.unwrap();
    let text = Happened::Text(Text { text: "It is high tide.".to_owned() });
    record.write(&text, NOW_MS).await.unwrap();
    held.done().await.unwrap();

    let mut events = Events::new(&here, held.job.run, 1);
    let Read::Event(event) = events.next().await.unwrap() else { unreachable!() };
    assert_eq!(event.happened().unwrap(), text);
}

#[tokio::test]
#[ignore = "needs nats-server: cargo xtask hosts nats"]
async fn a_fork_runs_on_a_worker_and_reports_once() {
    let house = House::new();
    let cluster = house.cluster().await;
    let llm = model([Answer::text("Three.")]);
    let running = worker(house.settings(), "north", &llm, &Arc::<Tools>::default()).await;
    let fork = subagent(&cluster).fork(params(inherited("anthropic/m"))).await.unwrap();
    assert_eq!(fork.join().await.unwrap().into_text().unwrap(), "Three.");
    running.end().await;
    assert_eq!((llm.requests().len(), cluster.status().await.unwrap().jobs), (1, 0));
}
