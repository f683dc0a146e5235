//! How long cache entries are asked to live: by the pauses that the user makes.

use tine_model::Lifetime;
use tine_runtime::{CachePolicy, LifetimeChoice, RunOptions};

use crate::SCENARIO;
use crate::house::{House, options};

const PAUSE_MS: i64 = 20 * 60 * 1000;

const LONG: &[u8] = br#""ttl":"1h""#;

fn asks_for_the_long_one(body: &[u8]) -> bool {
    body.windows(LONG.len()).any(|window| window == LONG)
}

#[tokio::test]
async fn someone_who_pauses_gets_entries_that_last() {
    let house = House::new(SCENARIO).await;
    let root = house.root("anthropic/claude-opus-5-5").await;
    for _ in 0..4 {
        house.say(root, "Good day.").await;
        house.clock.advance_ms(PAUSE_MS);
    }
    let asked: Vec<bool> = house.bodies().iter().map(|body| asks_for_the_long_one(body)).collect();
    assert_eq!(asked, [false, true, true, true]);
    // The pause is seen when it is over: the first one still costs, the later ones do not.
    assert_eq!(house.verdicts(root).await, ["cold", "expired", "ok", "ok"]);
}

#[tokio::test]
async fn someone_who_goes_on_at_once_pays_for_no_lifetime() {
    let house = House::new(SCENARIO).await;
    let root = house.root("anthropic/claude-opus-5-5").await;
    for _ in 0..3 {
        house.say(root, "Good day.").await;
        house.clock.advance_ms(60 * 1000);
    }
    assert!(!house.bodies().iter().any(|body| asks_for_the_long_one(body)));
}

#[tokio::test]
async fn the_user_may_choose() {
    let house = House::new(SCENARIO).await;
    let root = house.root("anthropic/claude-opus-5-5").await;
    let lifetime = LifetimeChoice::Fixed(Lifetime::Long);
    let caching = CachePolicy { lifetime, ..CachePolicy::default() };
    let asked = RunOptions { caching, ..options() };
    house.runtime.run(root, Some("Good day.".into()), &asked).await.unwrap();
    assert!(asks_for_the_long_one(&house.bodies()[0]));
}
