//! What rows cost.

use super::Directory;
use crate::contract::{agent_id, create, fork_of, message, new_agent};
use crate::{AgentStore, CreateAgent, ForkFrom, SqliteStore};

/// Forks that the average is taken over.
const FORKS: u64 = 64;

/// Most bytes that a fork may add to the file.
const BYTES_MAX: u64 = 1536;

/// The column of a query plan that says what is done.
const DETAIL: usize = 3;

async fn file_bytes(store: &SqliteStore) -> u64 {
    let mut read = store.connections.read().await.unwrap();
    read.all(sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)")).await.unwrap();
    let sql = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size";
    let row = read.one(sqlx::query(sql)).await.unwrap().unwrap();
    read.finish().await.unwrap();
    row.get::<i64>(0).unwrap() as u64
}

async fn bytes_per_fork(messages: usize) -> u64 {
    let directory = Directory::new();
    let store = directory.sqlite().await;
    let entries = vec![message(&"x".repeat(200)); messages];
    store.create_agent(CreateAgent { agent: new_agent(0), entries, now_ms: 1 }).await.unwrap();
    let before = file_bytes(&store).await;
    for number in 1..=FORKS {
        store.fork(fork_of(agent_id(0), number, ForkFrom::LastEntry)).await.unwrap();
    }
    (file_bytes(&store).await - before) / FORKS
}

#[tokio::test]
async fn a_fork_is_lean_whatever_the_length_of_its_parent() {
    for messages in [0, 10, 5000] {
        let bytes = bytes_per_fork(messages).await;
        println!("{bytes} bytes a fork of {messages} messages");
        assert!(bytes < BYTES_MAX, "{bytes} bytes a fork of {messages} messages");
    }
}

#[tokio::test]
async fn no_statement_of_a_fork_or_a_history_scans_a_table() {
    let directory = Directory::new();
    let store = directory.sqlite().await;
    create(&store, 1).await.unwrap();
    let mut read = store.connections.read().await.unwrap();
    for sql in [
        "EXPLAIN QUERY PLAN SELECT a.state, (SELECT max(e.id) FROM entries e \
         WHERE e.agent = a.id) FROM agents a WHERE a.id = ?",
        "EXPLAIN QUERY PLAN SELECT id, kind, at_ms, body FROM entries \
         WHERE agent = ?1 AND id > ?2 AND id <= ?3 ORDER BY id LIMIT ?5",
        "EXPLAIN QUERY PLAN SELECT 1 FROM agents WHERE name = ? AND state <> 'dead'",
        "EXPLAIN QUERY PLAN SELECT 1 FROM agents WHERE parent = ? ORDER BY seq",
        "EXPLAIN QUERY PLAN SELECT count(*) FROM mail WHERE recipient = ?1 \
         AND id > (SELECT mail_cursor FROM agents WHERE id = ?1)",
    ] {
        let plan = read.all(sqlx::query(sql)).await.unwrap();
        for step in plan {
            let step: String = step.get(DETAIL).unwrap();
            assert!(!step.contains("SCAN") && !step.contains("TEMP B-TREE"), "{sql}: {step}");
        }
    }
}
