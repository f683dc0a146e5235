//! What a fork and a history cost on disk. Run with `cargo bench -p tine-store --features contract`.

#![expect(clippy::unwrap_used, reason = "a bench that cannot run has nothing to report")]

use divan::Bencher;
use tempfile::TempDir;
use tine_store::contract::{agent_id, fork_of, message, new_agent};
use tine_store::{
    AgentStore as _, CreateAgent, EntryStore as _, ForkFrom, OpenOptions, SqliteStore, Store as _,
};
use tokio::runtime::{Builder, Runtime};

fn main() {
    divan::main();
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

async fn open(directory: &TempDir) -> SqliteStore {
    SqliteStore::open(directory.path().join("store.db"), OpenOptions::default()).await.unwrap()
}

async fn with_messages(directory: &TempDir, messages: usize) -> SqliteStore {
    let store = open(directory).await;
    let entries = vec![message(&"x".repeat(400)); messages];
    store.create_agent(CreateAgent { agent: new_agent(0), entries, now_ms: 1 }).await.unwrap();
    store
}

/// One durable fork: three rows, synced.
#[divan::bench(args = [10, 10_000, 100_000])]
fn fork(bencher: Bencher<'_, '_>, messages: usize) {
    let (runtime, directory) = (runtime(), tempfile::tempdir().unwrap());
    let store = runtime.block_on(with_messages(&directory, messages));
    let mut number = 0;
    bencher.bench_local(|| {
        number += 1;
        let request = fork_of(agent_id(0), number, ForkFrom::LastEntry);
        runtime.block_on(store.fork(request)).unwrap()
    });
}

/// What a `tine fork` process does with the store, from opening to the end.
#[divan::bench(args = [10, 10_000, 100_000])]
fn open_resolve_fork(bencher: Bencher<'_, '_>, messages: usize) {
    let (runtime, directory) = (runtime(), tempfile::tempdir().unwrap());
    let keeper = runtime.block_on(with_messages(&directory, messages));
    let mut number = 0;
    bencher.bench_local(|| {
        number += 1;
        runtime.block_on(async {
            let store = open(&directory).await;
            let parent = store.resolve(&agent_id(0).short()).await.unwrap();
            store.agent(parent).await.unwrap();
            store.fork(fork_of(parent, number, ForkFrom::LastEntry)).await.unwrap()
        })
    });
    drop(keeper);
}

/// The same when nobody else has the store open, and its write-ahead log is folded in at the end.
#[divan::bench]
fn open_resolve_fork_close(bencher: Bencher<'_, '_>) {
    let (runtime, directory) = (runtime(), tempfile::tempdir().unwrap());
    runtime.block_on(async { with_messages(&directory, 10_000).await.close().await }).unwrap();
    let mut number = 0;
    bencher.bench_local(|| {
        number += 1;
        runtime.block_on(async {
            let store = open(&directory).await;
            let parent = store.resolve(&agent_id(0).short()).await.unwrap();
            store.agent(parent).await.unwrap();
            store.fork(fork_of(parent, number, ForkFrom::LastEntry)).await.unwrap();
            store.close().await.unwrap();
        })
    });
}

/// The effective history of a fork.
#[divan::bench(args = [10, 1000, 10_000])]
fn lineage(bencher: Bencher<'_, '_>, messages: usize) {
    let (runtime, directory) = (runtime(), tempfile::tempdir().unwrap());
    let store = runtime.block_on(with_messages(&directory, messages));
    let request = fork_of(agent_id(0), 1, ForkFrom::LastEntry);
    runtime.block_on(store.fork(request)).unwrap();
    bencher.bench_local(|| runtime.block_on(store.lineage(agent_id(1), None)).unwrap());
}
