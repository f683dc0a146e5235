//! Checks of stamps.

use super::sample::{agent_id, create, lease};
use super::{Fixture, refused};
use crate::{Result, SetStamp, Stamp, StampName, StoreError};

fn set(name: &StampName, expected: Option<&str>, value: &str, now_ms: i64) -> SetStamp {
    let (name, expected) = (name.clone(), expected.map(str::to_owned));
    SetStamp { name, expected, value: value.to_owned(), fence: None, now_ms }
}

/// Who knows an older value, or thinks that there is none, changes nothing; other names are not touched.
pub async fn a_stamp_is_set_by_whoever_knows_the_one_before(fixture: &dyn Fixture) -> Result<()> {
    let (store, other) = (fixture.open().await?, fixture.open().await?);
    let [seen, scan] = [StampName::last_seen(agent_id(1)), StampName::last_scan("/m")];
    assert_eq!(store.stamp(&seen).await?, None);
    assert!(!store.set_stamp(set(&seen, Some("1"), "2", 5)).await?);
    assert!(store.set_stamp(set(&seen, None, "2", 6)).await?);
    assert!(!other.set_stamp(set(&seen, None, "3", 7)).await?);
    assert!(!other.set_stamp(set(&seen, Some("1"), "3", 7)).await?);
    let stamp = |value: &str, at_ms| Some(Stamp { value: value.to_owned(), at_ms });
    assert_eq!(other.stamp(&seen).await?, stamp("2", 6));
    assert!(other.set_stamp(set(&seen, Some("2"), "3", 8)).await?);
    assert_eq!(store.stamp(&seen).await?, stamp("3", 8));
    assert_eq!(store.stamp(&scan).await?, None);
    Ok(())
}

/// A lease that was given back, or is another agent's, sets nothing.
pub async fn a_stamp_is_set_under_a_lease(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let [agent, stranger] = [create(&*store, 1).await?, create(&*store, 2).await?];
    let name = StampName::last_scan("/m");
    let held = lease(&*store, agent, "host:1").await?;
    let under = |agent, value: &str, expected| {
        let fence = Some((agent, held.fence));
        store.set_stamp(SetStamp { fence, ..set(&name, expected, value, 5) })
    };
    assert!(under(agent, "1", None).await?);
    refused!(under(stranger, "2", Some("1")).await, StoreError::Fenced { .. });
    store.release(&held).await?;
    refused!(under(agent, "2", Some("1")).await, StoreError::Fenced { .. });
    assert_eq!(store.stamp(&name).await?.map(|stamp| stamp.value).as_deref(), Some("1"));
    Ok(())
}
