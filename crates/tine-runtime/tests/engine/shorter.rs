//! What the cache makes of conversations that were made shorter and of forks that inherit a part: the baseline is reset
//! knowingly, and what is shared still is.

use tine_fork::digest::DigestProfile;
use tine_runtime::{CompactOptions, ForkSpec, Inherit};

use crate::SCENARIO;
use crate::house::House;

const MODELS: [&str; 4] = [
    "anthropic/claude-opus-5-5",
    "openai/gpt-6.1-sol",
    "gemini/gemini-3.8-flash",
    "deepseek/deepseek-v4-pro",
];

/// Far more than a cache's minimum.
fn long(prompt: &str) -> String {
    format!("{prompt} {}", "word ".repeat(8_000))
}

/// Verdicts that blame a request for what it lost.
fn blamed(verdicts: &[String]) -> Vec<&String> {
    let blames = ["diverged", "settings_changed", "marker_misplaced"];
    verdicts.iter().filter(|verdict| blames.contains(&verdict.as_str())).collect()
}

#[tokio::test]
async fn a_summary_is_served_by_the_cache_and_what_follows_is_blamed_for_nothing() {
    for model in MODELS {
        let house = House::new(SCENARIO).await;
        let root = house.root(model).await;
        house.say(root, &long("One.")).await;
        house.say(root, "Two.").await;
        let options = CompactOptions { keep_tokens: 100, ..CompactOptions::default() };
        let done = house.runtime.compact(root, &options).await.unwrap();
        assert!(done.left_out > 0 && done.tokens_after < done.tokens_before / 10);
        // The question reads everything that the last request wrote.
        let read = done.usage.read.unwrap_or(0);
        assert!(read * 10 > done.usage.prompt() * 9, "{model}: {:?}", done.usage);

        let house = house.reopened().await;
        house.say(root, &long("Three.")).await;
        let child = house.runtime.fork(ForkSpec::of(root)).await.unwrap().child;
        house.say(child, "Four.").await;
        let verdicts = house.verdicts(root).await;
        assert!(blamed(&verdicts).is_empty(), "{model}: {verdicts:?}");
        // A fork of the shortened agent shares its new prefix.
        let first = house.billed().last().copied().unwrap();
        assert!(first.hit_ratio().unwrap_or(0.0) > 0.9, "{model}: {first:?}");
        assert_eq!(house.verdicts(child).await, ["ok"], "{model}");
    }
}

#[tokio::test]
async fn forks_that_inherit_a_part_are_blamed_for_nothing() {
    for inherit in [Inherit::Turns(1), Inherit::Digest(DigestProfile::Fixed), Inherit::Fresh] {
        let house = House::new(SCENARIO).await;
        let root = house.root(MODELS[0]).await;
        house.say(root, &long("One.")).await;
        house.say(root, &long("Two.")).await;
        let spec = ForkSpec { inherit, ..ForkSpec::of(root) };
        let child = house.runtime.fork(spec).await.unwrap().child;
        house.say(child, "Three.").await;
        house.say(child, "Four.").await;
        let verdicts = house.verdicts(child).await;
        assert!(blamed(&verdicts).is_empty(), "{inherit:?}: {verdicts:?}");
        // The head is shared by all of them, and the second request goes on from the first.
        assert!(house.billed()[2].read > Some(0), "{inherit:?}: {:?}", house.billed());
        assert_eq!(verdicts.last().map(String::as_str), Some("ok"), "{inherit:?}");
    }
}
