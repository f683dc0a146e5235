//! What agents may touch.

use std::path::PathBuf;

use tine_model::{NetworkReach, Reach, Writes};

use super::sample::{agent_id, create, fork_of, lease, new_agent, plain_notice};
use super::{Fixture, refused};
use crate::{CreateAgent, Fence, ForkFrom, Kill, Result, SetReach, StoreError};

/// One reach of each kind.
fn every_reach() -> Vec<Reach> {
    let writable = vec![PathBuf::from("/cache"), PathBuf::from("/a \"b\" \u{e9}")];
    let network: NetworkReach = "*.a.io:443, localhost:5432, [::1]:80".parse().unwrap_or_default();
    vec![
        Reach::open(),
        Reach::directory(),
        Reach { writable: writable.clone(), network, ..Reach::directory() },
        Reach { network: NetworkReach::internet(), ..Reach::directory() },
        Reach::read_only(),
        Reach { writable, ..Reach::notes("/notes".into()) },
    ]
}

/// Every kind of reach survives, in the process and out of it.
pub async fn an_agent_keeps_its_reach(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    for (number, reach) in (1..).zip(every_reach()) {
        let mut agent = new_agent(number);
        agent.reach = reach.clone();
        store.create_agent(CreateAgent { agent, entries: Vec::new(), now_ms: 1 }).await?;
        assert_eq!(store.agent(agent_id(number)).await?.reach, reach);
        assert_eq!(fixture.open().await?.agent(agent_id(number)).await?.reach, reach);
    }
    Ok(())
}

/// The fork transaction narrows a child to its parent, as that is then; a person's word is taken as it is.
pub async fn a_child_reaches_no_farther_than_its_parent(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let mut number = 0;
    for stored in every_reach() {
        let mut parent = new_agent(number);
        parent.reach = stored.clone();
        let id = parent.id;
        store.create_agent(CreateAgent { agent: parent, entries: Vec::new(), now_ms: 1 }).await?;
        for wished in every_reach() {
            for by_person in [false, true] {
                number += 1;
                let mut request = fork_of(id, number, ForkFrom::LastEntry);
                request.children[0].agent.reach = wished.clone();
                request.children[0].by_person = by_person;
                store.fork(request).await?;
                let reach = store.agent(agent_id(number)).await?.reach;
                match by_person {
                    true => assert_eq!(reach, wished),
                    false => {
                        assert_eq!(reach, stored.narrowed(&wished));
                        assert!(reach.is_within(&stored), "{stored:?} {wished:?}");
                    }
                }
            }
        }
        number += 1;
    }
    Ok(())
}

/// A change needs the current lease where one is given, and a living agent; children keep what they were made with.
pub async fn a_reach_is_changed_under_the_lease(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let agent = create(&*store, 1).await?;
    store.fork(fork_of(agent, 2, ForkFrom::LastEntry)).await?;
    let lease = lease(&*store, agent, "runner").await?;
    let set = |fence, reach| SetReach { agent, reach, fence, now_ms: 5000 };
    let late = set(Some(Fence(lease.fence.0 - 1)), Reach::read_only());
    refused!(store.set_reach(late).await, StoreError::Fenced { .. });
    assert_eq!(store.agent(agent).await?.reach, Reach::open());
    store.set_reach(set(Some(lease.fence), Reach::directory())).await?;
    let notes = Reach { writes: Writes::Notes("/n".into()), ..Reach::directory() };
    store.set_reach(set(None, notes.clone())).await?;
    let record = store.agent(agent).await?;
    assert_eq!((record.reach, record.updated_ms), (notes, 5000));
    assert_eq!(store.agent(agent_id(2)).await?.reach, Reach::open());
    store.kill(Kill { agent, used: &[], notice: &plain_notice, now_ms: 9000 }).await?;
    refused!(store.set_reach(set(None, Reach::open())).await, StoreError::Dead { .. });
    Ok(())
}
