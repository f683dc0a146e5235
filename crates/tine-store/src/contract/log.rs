//! Logs.

use tine_model::EntryId;

use super::sample::{agent_id, create, fork, lease, message, new_agent, say};
use super::{Fixture, refused};
use crate::{CreateAgent, EntryKind, ForkFrom, NewEntry, Result, StoreError};

/// Agent and first entries come together or not at all.
pub async fn an_import_is_there_at_once(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let mut import = CreateAgent {
        agent: new_agent(1),
        entries: vec![
            message("a"),
            NewEntry { kind: EntryKind::Fork, body: String::new(), at_ms: 1, title: None },
        ],
        now_ms: 1,
    };
    refused!(store.create_agent(import.clone()).await, StoreError::ReservedKind { .. });
    refused!(store.agent(agent_id(1)).await, StoreError::NotFound { .. });
    import.entries[1] = message("b");
    let ids = store.create_agent(import).await?;
    let rows = store.own_entries(agent_id(1), None).await?;
    assert_eq!(rows.iter().map(|row| row.id).collect::<Vec<_>>(), ids);
    assert_eq!(ids.len(), 2);
    Ok(())
}

/// Ids increase over the whole store; bodies come back byte for byte, whatever they are.
pub async fn appended_rows_come_back_in_order(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let (one, two) = (create(&*store, 1).await?, create(&*store, 2).await?);
    let lease = lease(&*store, one, "me").await?;
    let bodies = ["{}", "", "not json", "\u{0}\u{1f916}\r\n", r#"{"b":1,  "a":1.0e5}"#];
    let kinds = [
        EntryKind::Message,
        EntryKind::Clear,
        EntryKind::Mark,
        EntryKind::Rewind,
        EntryKind::Notice,
        EntryKind::Compact,
        EntryKind::Dialect,
    ];
    let entries: Vec<NewEntry> = (bodies.iter().zip(kinds).enumerate())
        .map(|(at, (body, kind))| NewEntry {
            kind,
            body: (*body).to_owned(),
            at_ms: at as i64 - 2,
            title: None,
        })
        .collect();
    let first = store.append(one, lease.fence, &entries).await?;
    say(&*store, two, &["between"]).await?;
    let second = store.append(one, lease.fence, &entries).await?;
    assert!(first.iter().chain(&second).is_sorted_by(|a, b| a < b));
    assert_eq!(store.append(one, lease.fence, &[]).await?, []);

    let store = fixture.open().await?;
    let rows = store.own_entries(one, None).await?;
    assert_eq!(rows.len(), 10);
    for (row, entry) in rows.iter().zip(entries.iter().chain(&entries)) {
        assert_eq!((&row.body, row.kind, row.at_ms), (&entry.body, entry.kind, entry.at_ms));
    }
    let after = store.own_entries(one, Some(first[4])).await?;
    assert_eq!(after, rows[5..]);
    assert_eq!(store.lineage(one, None).await?, rows);
    assert_eq!(store.agent(one).await?.updated_ms, 2);
    refused!(store.own_entries(agent_id(3), None).await, StoreError::NotFound { .. });
    Ok(())
}

/// Bodies of every length, in the middle of many rows.
pub async fn long_logs_and_long_bodies_come_back_whole(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let agent = create(&*store, 1).await?;
    let lease = lease(&*store, agent, "me").await?;
    let body = |at: usize| match at % 100 {
        7 => "é".repeat(40 * at),
        8 => "1 message 2 - ".repeat(at * 20),
        rest => rest.to_string(),
    };
    let new = |at| NewEntry { kind: EntryKind::Message, body: body(at), at_ms: 0, title: None };
    let entries: Vec<NewEntry> = (0..1024).map(new).collect();
    let ids = store.append(agent, lease.fence, &entries).await?;
    for rows in [store.lineage(agent, None).await?, store.own_entries(agent, None).await?] {
        assert!(rows.iter().map(|row| row.id).eq(ids.iter().copied()));
        assert!(rows.iter().zip(&entries).all(|(row, new)| row.body == new.body));
    }
    assert_eq!(store.own_entries(agent, Some(ids[1000])).await?.len(), 23);
    Ok(())
}

/// A fork event without a fork would be a ghost.
pub async fn only_the_store_writes_fork_events(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let agent = create(&*store, 1).await?;
    let lease = lease(&*store, agent, "me").await?;
    let forged = NewEntry { kind: EntryKind::Fork, body: "{}".to_owned(), at_ms: 1, title: None };
    let appended = store.append(agent, lease.fence, &[message("a"), forged]).await;
    refused!(appended, StoreError::ReservedKind { kind: EntryKind::Fork });
    assert!(store.own_entries(agent, None).await?.is_empty());
    Ok(())
}

/// `at` may lie in the agent's own rows, in an ancestor's, or before everything.
pub async fn a_lineage_can_be_cut_at_any_entry(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let root = create(&*store, 1).await?;
    say(&*store, root, &["a", "b"]).await?;
    let child = fork(&*store, root, 2, ForkFrom::LastEntry).await?.child;
    say(&*store, root, &["not inherited"]).await?;
    say(&*store, child, &["c", "d"]).await?;
    let all = store.lineage(child, None).await?;
    assert_eq!(all.len(), 5);
    for (index, row) in all.iter().enumerate() {
        assert_eq!(store.lineage(child, Some(row.id)).await?, all[..=index]);
    }
    assert_eq!(store.lineage(child, Some(EntryId(0))).await?, []);
    refused!(store.lineage(agent_id(9), None).await, StoreError::NotFound { .. });
    Ok(())
}
