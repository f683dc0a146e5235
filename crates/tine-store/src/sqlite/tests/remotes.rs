//! Rows that travel to another store.

use serde_json::Value;

use super::{Directory, block_on};
use crate::contract::{agent_id, create, fork_of, message, plain_notice, request_of};
use crate::{
    Acquire, AgentStore, EntryStore, ForkFrom, LeaseStore, Lineage, OpenOptions, RemoteStore,
    RequestStore, Result, Rows, SqliteStore, Store, StoreError, UsageScope,
};

async fn open(directory: &Directory) -> SqliteStore {
    SqliteStore::open(directory.path(), OpenOptions::default()).await.unwrap()
}

/// A root with two messages and a third behind the fork point, and a fork of it with one of its own.
async fn fill(store: &SqliteStore) -> Result<()> {
    let root = create(store, 1).await?;
    say(store, 1, &["a", "b"]).await?;
    store.record_request(request_of(root, 1, "m"), &[]).await?;
    store.fork(fork_of(root, 2, ForkFrom::LastEntry)).await?;
    say(store, 1, &["c"]).await?;
    say(store, 2, &["d \u{0} \"e\""]).await
}

async fn say(store: &SqliteStore, number: u64, texts: &[&str]) -> Result<()> {
    let agent = agent_id(number);
    let is_alive = &|_: &str| true;
    let acquire = Acquire { agent, owner: "me", is_alive, notice: &plain_notice, now_ms: 1 };
    let lease = store.acquire(acquire).await?;
    let entries: Vec<_> = texts.iter().map(|text| message(text)).collect();
    store.append(agent, lease.fence, &entries).await?;
    store.release(&lease).await
}

/// As it arrives elsewhere.
fn sent(lineage: &Lineage) -> Lineage {
    serde_json::from_str(&serde_json::to_string(lineage).unwrap()).unwrap()
}

#[test]
fn rows_of_a_lineage_make_the_same_agent_elsewhere() {
    let (here, there) = (Directory::new(), Directory::new());
    block_on(async {
        let (here, there) = (open(&here).await, open(&there).await);
        fill(&here).await.unwrap();
        let agent = agent_id(2);
        let lineage = sent(&here.lineage_rows(agent).await.unwrap());
        // In any order: pieces may come first that refer to the rest.
        let (shared, rest) = lineage.into_parts(1);
        let parts: Vec<&Rows> = shared.iter().chain([&rest]).collect();
        there.put_rows(&parts).await.unwrap();
        // Siblings that inherit the same bring what is there.
        there.put_rows(&parts).await.unwrap();
        let history = async |store: &SqliteStore| store.lineage(agent, None).await.unwrap();
        assert_eq!(history(&there).await, history(&here).await);
        assert_eq!(there.agent(agent).await.unwrap(), here.agent(agent).await.unwrap());
        assert_eq!(there.ancestry(agent).await.unwrap().len(), 2);
        let head = here.agent(agent).await.unwrap().head;
        assert_eq!(there.head(&head).await.unwrap(), here.head(&head).await.unwrap());
        let requests = there.requests(agent_id(1), UsageScope::Own).await.unwrap();
        assert_eq!(requests, here.requests(agent_id(1), UsageScope::Own).await.unwrap());
        let missing = here.lineage_rows(agent_id(9)).await;
        assert!(matches!(missing, Err(StoreError::NotFound { .. })));
    });
}

#[test]
fn siblings_inherit_the_same_rows_whatever_their_parent_does_meanwhile() {
    let directory = Directory::new();
    block_on(async {
        let store = open(&directory).await;
        fill(&store).await.unwrap();
        store.fork(fork_of(agent_id(2), 3, ForkFrom::LastEntry)).await.unwrap();
        let first = store.lineage_rows(agent_id(3)).await.unwrap();
        store.fork(fork_of(agent_id(2), 4, ForkFrom::LastEntry)).await.unwrap();
        let second = store.lineage_rows(agent_id(4)).await.unwrap();
        let [first, second] = [first, second].map(|lineage| lineage.into_parts(1).0);
        assert_eq!(first, second[..first.len()]);
        // A head, and each inherited entry.
        let [all, own] = [
            store.lineage(agent_id(3), None).await.unwrap(),
            store.own_entries(agent_id(3), None).await.unwrap(),
        ];
        assert_eq!(first.len(), 1 + all.len() - own.len());
    });
}

#[test]
fn rows_that_are_none_are_refused_and_leave_nothing() {
    let (here, there) = (Directory::new(), Directory::new());
    block_on(async {
        let (here, there) = (open(&here).await, open(&there).await);
        fill(&here).await.unwrap();
        let good = serde_json::to_value(here.lineage_rows(agent_id(2)).await.unwrap().own).unwrap();
        let refused = async |change: &dyn Fn(&mut Value)| {
            let mut rows = good.clone();
            change(&mut rows);
            let rows: Rows = serde_json::from_value(rows).unwrap();
            there.put_rows(&[&rows]).await.unwrap_err()
        };
        let is_foreign = |error| matches!(error, StoreError::ForeignRows { .. });
        let other = refused(&|rows| rows["version"] = 3.into()).await;
        assert!(matches!(other, StoreError::OtherVersion { found: 3, .. }), "{other}");
        assert!(is_foreign(refused(&|rows| rows["tables"][1]["table"] = "leases".into()).await));
        let column = "id) VALUES (1); DROP TABLE agents; --";
        assert!(is_foreign(refused(&|rows| rows["tables"][1]["columns"][0] = column.into()).await));
        assert!(is_foreign(refused(&|rows| rows["tables"][1]["rows"][0][0] = true.into()).await));
        assert!(is_foreign(
            refused(&|rows| rows["tables"][1]["rows"][0].as_array_mut().unwrap().truncate(1)).await
        ));
        assert_eq!(there.find_damage().await.unwrap(), Vec::<String>::new());
        assert!(there.agents(crate::AgentFilter::All).await.unwrap().is_empty());
    });
}
