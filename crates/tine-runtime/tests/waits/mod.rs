//! A run whose writes wait for another process.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tine_fork::run::RunEvent;
use tine_model::Outcome;
use tine_runtime::{EventKind, Runtime, StoreWaits};
use tine_store::{OpenOptions, SqliteStore, StoreError};
use tine_testkit::{Answer, ScriptedModel};

use crate::fixture::{House, options};

/// Tries of one write that find the lock held.
const TRIES: usize = 3;

#[tokio::test]
async fn a_run_says_once_that_a_write_waits_and_goes_on() {
    let (held, waits) = (Arc::new(AtomicUsize::new(0)), StoreWaits::default());
    let hold = Arc::clone(&held);
    let model = ScriptedModel::answering(move |_| {
        hold.store(TRIES, Ordering::SeqCst);
        Answer::text("Done.")
    });
    let house = House::new(model).await;
    let root = house.root().await;
    let path = house.home.path().join("tine.db");
    let (told, busy) = (waits.clone(), path.clone());
    let take = |left: usize| left.checked_sub(1);
    let open = OpenOptions {
        busy_wait: Duration::from_millis(1),
        step_hook: Some(Arc::new(move |step| {
            let is_held = step == "begin"
                && held.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take).is_ok();
            if is_held { Err(StoreError::Busy { path: busy.clone() }) } else { Ok(()) }
        })),
        wait_hook: Some(Arc::new(move || assert!(told.tell(), "the run listens"))),
        ..OpenOptions::default()
    };
    let store = Arc::new(SqliteStore::open(path, open).await.unwrap());
    let ports = house.runtime.ports().clone();
    let runtime =
        Runtime::new(store, ports, house.home.path().join("run")).with_store_waits(waits.clone());
    let options = options();
    let run = runtime.run(root, Some("Work.".to_owned()), &options);
    let (run, events) = crate::seen(&runtime, run).await;
    assert_eq!(run.unwrap().report.outcome, Outcome::Completed);
    let waited = |kind: &EventKind| matches!(kind, EventKind::Run(RunEvent::StoreWaits));
    assert_eq!(events.iter().filter(|event| waited(&event.kind)).count(), 1);
    assert!(!waits.tell(), "nobody listens once the run is over");
}
