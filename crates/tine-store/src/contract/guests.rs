//! Checks of guests.

use super::sample::{agent_id, cache_row, create, lease};
use super::{Fixture, refused};
use crate::{GuestFilter, GuestRow, Head, Remove, Result, StoreError};

/// A guest of a program in this session, whose first message is number `first`.
pub fn guest_of(number: u64, session: Option<&str>, first: u8) -> GuestRow {
    GuestRow {
        agent: agent_id(number),
        host: "some-agent".to_owned(),
        session: session.map(str::to_owned),
        first: [first; 32],
        upstream: "https://api.invalid".to_owned(),
        account: format!("account {number}"),
        gateway: None,
        used_ms: number as i64,
    }
}

/// The one that was used last comes first; a guest that is removed is found no more.
pub async fn a_guest_is_found_by_its_session_and_by_its_first_message(
    fixture: &dyn Fixture,
) -> Result<()> {
    let (store, other) = (fixture.open().await?, fixture.open().await?);
    let rows = [guest_of(1, Some("s"), 7), guest_of(2, Some("s"), 8), guest_of(3, None, 7)];
    for row in &rows {
        create(&*store, row.used_ms as u64).await?;
        store.note_guest(row.clone()).await?;
    }
    let session = |host: &str, session: &str| GuestFilter::Session {
        host: host.to_owned(),
        session: session.to_owned(),
    };
    let [one, two, three] = rows;
    assert_eq!(other.guests(session("some-agent", "s")).await?, [two.clone(), one.clone()]);
    assert_eq!(other.guests(session("another", "s")).await?, []);
    assert_eq!(other.guests(GuestFilter::First([7; 32])).await?, [three.clone(), one.clone()]);
    let host = GuestFilter::Host("some-agent".to_owned());
    assert_eq!(other.guests(host).await?, [three, two.clone(), one.clone()]);
    assert_eq!(other.guests(GuestFilter::Host("another".to_owned())).await?, []);
    assert_eq!(other.guests(GuestFilter::Agent(agent_id(2))).await?, std::slice::from_ref(&two));
    let gateway = Some("/run/gateway.sock".to_owned());
    let again = GuestRow { used_ms: 9, account: "another".to_owned(), gateway, ..one };
    store.note_guest(again.clone()).await?;
    assert_eq!(other.guests(session("some-agent", "s")).await?, [again.clone(), two]);
    store.remove(Remove { agents: vec![agent_id(2)], dry_run: false, now_ms: 10 }).await?;
    assert_eq!(other.guests(session("some-agent", "s")).await?, [again]);
    Ok(())
}

/// It goes with its guest.
pub async fn the_last_request_of_a_guest_is_kept(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let agent = create(&*store, 1).await?;
    assert_eq!(store.guest_request(agent).await?, None);
    let cache = cache_row(7, 90, 900);
    for body in [vec![0, 255, 1], vec![7; 300_000], Vec::new()] {
        store.keep_guest_request(agent, body.clone(), std::slice::from_ref(&cache)).await?;
        assert_eq!(fixture.open().await?.guest_request(agent).await?, Some(body));
    }
    assert_eq!(store.cache_entries(cache.scope, i64::MIN).await?, [cache]);
    store.remove(Remove { agents: vec![agent], dry_run: false, now_ms: 10 }).await?;
    assert_eq!(store.guest_request(agent).await?, None);
    Ok(())
}

/// The head before goes where no other agent has it.
pub async fn a_head_is_changed_under_the_lease(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let [agent, other] = [create(&*store, 1).await?, create(&*store, 2).await?];
    let held = lease(&*store, agent, "host:1").await?;
    let before = store.agent(agent).await?.head;
    let head = Head { hash: [3; 32], body: Some("another".to_owned()) };
    refused!(store.change_head(other, held.fence, head.clone()).await, StoreError::Fenced { .. });
    store.change_head(agent, held.fence, head).await?;
    assert_eq!(store.agent(agent).await?.head, [3; 32]);
    assert_eq!(store.head(&[3; 32]).await?.as_deref(), Some("another"));
    assert!(store.head(&before).await?.is_some());
    let again = Head { hash: before, body: None };
    store.change_head(agent, held.fence, again).await?;
    assert_eq!(store.head(&[3; 32]).await?, None);
    let unknown = Head { hash: [4; 32], body: None };
    refused!(store.change_head(agent, held.fence, unknown).await, StoreError::UnknownHead { .. });
    Ok(())
}
