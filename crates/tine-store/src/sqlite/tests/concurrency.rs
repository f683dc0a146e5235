//! Many handles, each with connections of its own, as many processes would have.

use std::collections::BTreeSet;

use tine_model::Cap;
use tokio::task::JoinSet;

use super::Directory;
use crate::contract::{
    agent_id, caps_of, create, fork_of, message, plain_notice, request_of, reserve_of,
};
use crate::{
    Acquire, AgentFilter, AgentStore, BudgetStore, EntryStore, ForkFrom, LeaseStore, RequestStore,
    Reserved,
};

const HANDLES: u64 = 4;
const FORKS: u64 = 16;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parallel_forks_of_one_parent_are_all_durable() {
    let directory = Directory::new();
    let root = create(&directory.sqlite().await, 0).await.unwrap();
    let mut tasks = JoinSet::new();
    for handle in 0..HANDLES {
        let store = directory.sqlite().await;
        tasks.spawn(async move {
            for fork in 0..FORKS {
                let number = 1 + handle * FORKS + fork;
                let request = fork_of(root, number, ForkFrom::LastEntry);
                store.fork(request).await.unwrap();
                // A reader in the middle of all the writing.
                store.lineage(agent_id(number), None).await.unwrap();
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    let store = directory.sqlite().await;
    let total = (HANDLES * FORKS) as usize;
    assert_eq!(store.agents(AgentFilter::All).await.unwrap().len(), total + 1);
    let events = store.own_entries(root, None).await.unwrap();
    assert_eq!(events.len(), total);
    // Every fork saw a parent of its own length: none was read in the middle of another.
    let lengths: BTreeSet<usize> = {
        let mut lengths = BTreeSet::new();
        for number in 1..=total as u64 {
            lengths.insert(store.lineage(agent_id(number), None).await.unwrap().len());
        }
        lengths
    };
    assert_eq!(lengths, (1..=total).collect());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn runners_in_many_processes_keep_one_cap_together() {
    /// Tokens of one request, as [`request_of`] makes it.
    const EACH: u64 = 105;
    const MOST: u64 = 1000;
    let directory = Directory::new();
    let store = directory.sqlite().await;
    let root = create(&store, 0).await.unwrap();
    store.set_budget(caps_of(root, &[(Cap::Tokens, Some(MOST))])).await.unwrap();
    let mut runners = JoinSet::new();
    for handle in 0..HANDLES {
        let agent = agent_id(1 + handle);
        store.fork(fork_of(root, 1 + handle, ForkFrom::LastEntry)).await.unwrap();
        let store = directory.sqlite().await;
        runners.spawn(async move {
            for number in 0.. {
                let number = (handle * 60 + number) as u8;
                loop {
                    match store.reserve(reserve_of(agent, number, EACH, 0)).await.unwrap() {
                        Reserved::Granted => break,
                        // One of the others will settle.
                        Reserved::Promised(_) => tokio::task::yield_now().await,
                        Reserved::Spent(_) => return,
                        Reserved::Unbounded => panic!("there is a budget"),
                    }
                }
                store.record_request(request_of(agent, number, "m"), &[]).await.unwrap();
            }
        });
    }
    while let Some(done) = runners.join_next().await {
        done.unwrap();
    }
    let budget = store.budget(root).await.unwrap().unwrap();
    assert_eq!((budget.tokens, budget.tokens_reserved), (MOST.div_ceil(EACH) * EACH, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_that_share_a_handle_take_turns() {
    let directory = Directory::new();
    let store = std::sync::Arc::new(directory.sqlite().await);
    let agent = create(&*store, 1).await.unwrap();
    let acquire =
        Acquire { agent, owner: "me", is_alive: &|_| true, notice: &plain_notice, now_ms: 1 };
    let fence = store.acquire(acquire).await.unwrap().fence;
    let mut tasks = JoinSet::new();
    for _ in 0..20 {
        let store = store.clone();
        tasks.spawn(async move {
            store.append(agent, fence, &[message("a"), message("b")]).await.unwrap();
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    let rows = store.own_entries(agent, None).await.unwrap();
    assert_eq!(rows.len(), 40);
    for pair in rows.chunks(2) {
        assert_eq!(pair[0].id.0 + 1, pair[1].id.0, "an append is not interleaved");
    }
}
