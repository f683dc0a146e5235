//! Ancestors that cannot take it at once: it comes at their next turn, once.

use std::sync::Arc;

use tine_model::Outcome;
use tine_runtime::Runtime;
use tine_store::{EntryKind, NewEntry, OpenOptions, SqliteStore};
use tine_testkit::Gate;

use super::*;
use crate::fixture::options;

/// A second process over the same home.
pub(crate) async fn other_process(house: &House, options: OpenOptions) -> Runtime {
    let store = SqliteStore::open(house.home.path().join("tine.db"), options).await.unwrap();
    Runtime::new(Arc::new(store), house.runtime.ports().clone(), house.home.path().join("run"))
}

/// A root and a fork of it that has spoken; the third answer calls a tool, and waits for the gate first.
async fn forked_and_held(gate: &Gate) -> (House, AgentId, AgentId) {
    let held = Answer::calls([("c1", "Glob", r#"{"pattern":"*.txt"}"#)]).behind(gate);
    let answers = [Answer::text("reply 1"), Answer::text("reply 2"), held, Answer::text("reply 4")];
    let house = House::new(ScriptedModel::new(answers)).await;
    let root = house.root().await;
    say(&house, root, "prompt 1").await;
    let child = house.runtime.fork(fork_of(root)).await.unwrap().child;
    say(&house, child, "try a queue").await;
    (house, root, child)
}

#[tokio::test]
async fn a_parent_that_runs_elsewhere_gets_it_at_its_next_turn() {
    let gate = Gate::new();
    let (house, root, child) = forked_and_held(&gate).await;
    let other = other_process(&house, OpenOptions::default()).await;
    let options = options();
    let run = house.runtime.run(root, Some("look".into()), &options);
    let others = async {
        house.model.requested(3).await;
        let merged = other.merge_back(given(child, "Use a queue.")).await.unwrap();
        assert!(matches!(merged.arrival, Arrival::Mailed(_)));
        // On its way, it counts as told.
        let again = other.merge_back(given(child, "Use a queue.")).await.unwrap_err();
        assert!(matches!(again, RuntimeError::NothingToBringBack { .. }), "{again}");
        // What runs has not said its last word.
        let grandparent = house.runtime.draft_merge_back(root, &DraftOptions::default()).await;
        assert!(matches!(grandparent, Err(RuntimeError::NoParent(_))));
        gate.open();
    };
    let (run, ()) = tokio::join!(run, others);
    assert_eq!(run.unwrap().report.outcome, Outcome::Completed);
    let found = notes(&house, root).await;
    assert_eq!((found.len(), found[0].source, &*found[0].text), (1, child, "Use a queue."));
    // Behind the results of the calls that were under way.
    let told = texts(&house, root).await;
    assert_eq!(told[2..], ["look", "", "", "</merge-back>", "reply 4"]);
    assert!(house.runtime.store().unread_mail(root).await.unwrap().is_empty());
    assert!(house.runtime.fork_part(child, None, None).await.is_err());
}

#[tokio::test]
async fn a_fork_that_runs_is_refused_until_it_is_done() {
    let gate = Gate::new();
    let (house, _, child) = forked_and_held(&gate).await;
    let other = other_process(&house, OpenOptions::default()).await;
    let options = options();
    let run = house.runtime.run(child, Some("look".into()), &options);
    let others = async {
        house.model.requested(3).await;
        for runtime in [&house.runtime, &other] {
            let drafted = runtime.draft_merge_back(child, &DraftOptions::default()).await;
            assert!(matches!(drafted, Err(RuntimeError::SourceRuns(agent)) if agent == child));
            let merged = runtime.merge_back(given(child, "x")).await;
            assert!(matches!(merged, Err(RuntimeError::SourceRuns(agent)) if agent == child));
        }
        gate.open();
    };
    let (run, ()) = tokio::join!(run, others);
    assert_eq!(run.unwrap().report.outcome, Outcome::Completed);
    assert_eq!(brought(&house, child, "x").await.part.messages, 6);
}

#[tokio::test]
async fn a_parent_with_open_calls_gets_it_when_it_goes_on() {
    let (house, root, child) = forked().await;
    let store = house.runtime.store();
    let dead = tine_store::Acquire {
        agent: root,
        owner: "of a process that died",
        is_alive: &|_| false,
        notice: &|_| String::new(),
        now_ms: 1,
    };
    let lease = store.acquire(dead).await.unwrap();
    let body = r#"{"role":"assistant","blocks":[{"tool_use":{"id":"c1","name":"Glob","input":{"pattern":"*.txt"}}}]}"#;
    let open = NewEntry { kind: EntryKind::Message, body: body.into(), at_ms: 1, title: None };
    store.append(root, lease.fence, &[open]).await.unwrap();
    let merged = brought(&house, child, "Use a queue.").await;
    assert!(matches!(merged.arrival, Arrival::Mailed(_)));
    assert_eq!(store.lease(root).await.unwrap(), None);
    let house = house.reopened().await;
    assert_eq!(say(&house, root, "and now?").await, Outcome::Completed);
    let told = texts(&house, root).await;
    assert_eq!(told[2..], ["", "</merge-back>", "and now?", "reply 3"]);
    assert_eq!(notes(&house, root).await.len(), 1);
}
