//! A job, a blob and a record from end to end, in a few seconds.

use tine_nats::event::{Happened, Text};
use tine_nats::{Events, Queue, Read, Record};

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
