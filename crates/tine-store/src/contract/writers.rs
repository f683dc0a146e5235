//! Who writes where at the same time.

use tine_model::AgentId;

use super::sample::{agent_id, create, lease, plain_notice};
use super::{Fixture, refused};
use crate::{Fence, Lease, NoteWriter, Recover, Result, Store, StoreError};

async fn held(store: &dyn Store, number: u64) -> Result<Lease> {
    create(store, number).await?;
    lease(store, agent_id(number), &format!("owner {number}")).await
}

async fn note(store: &dyn Store, lease: &Lease, directory: &str) -> Result<Vec<AgentId>> {
    let others = store.note_writer(note_of(lease.agent, lease.fence, directory)).await?;
    Ok(others.into_iter().map(|row| row.agent).collect())
}

/// A note of an agent that writes.
pub fn note_of(agent: AgentId, fence: Fence, directory: &str) -> NoteWriter {
    NoteWriter { agent, fence, directory: directory.to_owned(), now_ms: 5000 }
}

/// Each sees those that were noted, and those that are noted later when it asks again.
pub async fn writers_of_one_directory_see_each_other(fixture: &dyn Fixture) -> Result<()> {
    let (store, other) = (fixture.open().await?, fixture.open().await?);
    let (one, two) = (held(&*store, 1).await?, held(&*store, 2).await?);
    assert_eq!(note(&*store, &one, "/srv").await?, []);
    assert_eq!(note(&*store, &one, "/srv").await?, [], "one does not meet itself");
    let met = other.note_writer(note_of(two.agent, two.fence, "/srv/")).await?;
    let brief: Vec<_> = met.iter().map(|row| (row.agent, &*row.directory, &*row.owner)).collect();
    assert_eq!(brief, [(one.agent, "/srv", "owner 1")]);
    assert_eq!(note(&*store, &one, "/srv").await?, [two.agent]);
    Ok(())
}

/// One directory in another is shared, one beside another is not, however alike their names are.
pub async fn directories_within_each_other_are_shared(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let one = held(&*store, 1).await?;
    note(&*store, &one, "/srv/app").await?;
    for (number, directory, meets) in [
        (2, "/srv/app/src/ä", true),
        (3, "/srv", true),
        (4, "/", true),
        (5, "/srv/app2", false),
        (6, "/srv/ap", false),
        (7, "/srv/APP", false),
        (8, "/srv/ap_", false),
        (9, "/srv/%", false),
        (10, "/other", false),
    ] {
        let two = held(&*store, number).await?;
        assert_eq!(
            note(&*store, &two, directory).await?.contains(&one.agent),
            meets,
            "{directory}"
        );
        store.release(&two).await?;
    }
    // Whoever moves is where it went.
    let two = held(&*store, 11).await?;
    assert_eq!(note(&*store, &two, "/srv/app").await?, [one.agent]);
    assert_eq!(note(&*store, &two, "/elsewhere").await?, []);
    assert_eq!(note(&*store, &one, "/srv/app").await?, []);
    Ok(())
}

/// With the lease, however that goes.
pub async fn a_writer_is_gone_with_its_lease(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let (one, two) = (held(&*store, 1).await?, held(&*store, 2).await?);
    note(&*store, &one, "/srv").await?;
    assert_eq!(note(&*store, &two, "/srv").await?, [one.agent]);
    store.release(&one).await?;
    assert_eq!(note(&*store, &two, "/srv").await?, []);
    refused!(note(&*store, &one, "/srv").await, StoreError::Fenced { .. });
    // Taken again, it has not written yet.
    let again = lease(&*store, one.agent, "owner 1").await?;
    assert_eq!(note(&*store, &two, "/srv").await?, []);
    note(&*store, &again, "/srv").await?;
    assert_eq!(note(&*store, &two, "/srv").await?, [one.agent]);
    let is_alive = |owner: &str| owner == "owner 2";
    store
        .recover(Recover { is_alive: &is_alive, notice: &plain_notice, used: &[], now_ms: 1 })
        .await?;
    assert_eq!(note(&*store, &two, "/srv").await?, []);
    Ok(())
}
