//! What the cache makes of conclusions that are brought back: nothing is lost on either side.

use tine_runtime::{DraftOptions, ForkSpec, MergeBack, Wording};

use crate::house::House;
use crate::{MODELS, SCENARIO};

/// Far more than a cache's minimum.
fn long(prompt: &str) -> String {
    format!("{prompt} {}", "word ".repeat(8_000))
}

#[tokio::test]
async fn the_draft_is_served_by_the_forks_entries_and_what_follows_by_each_ones_own() {
    for model in MODELS {
        let house = House::new(SCENARIO).await;
        let root = house.root(model).await;
        house.say(root, &long("One.")).await;
        let child = house.runtime.fork(ForkSpec::of(root)).await.unwrap().child;
        house.say(child, &long("Two.")).await;
        let house = house.reopened().await;
        let draft = house.runtime.draft_merge_back(child, &DraftOptions::default()).await.unwrap();
        let read = draft.usage.read.unwrap_or(0);
        assert!(read * 10 > draft.usage.prompt() * 9, "{model}: {:?}", draft.usage);

        let (upto, text) = (Some(draft.part.last), draft.text);
        let merge = MergeBack { source: child, into: None, upto, text, wording: Wording::Draft };
        house.runtime.merge_back(merge).await.unwrap();
        let house = house.reopened().await;
        for agent in [root, child] {
            house.say(agent, "And now?").await;
            let billed = house.billed().last().copied().unwrap();
            assert!(billed.hit_ratio().unwrap_or(0.0) > 0.9, "{model}: {billed:?}");
            let verdicts = house.verdicts(agent).await;
            assert_eq!(verdicts.last().map(String::as_str), Some("ok"), "{model}: {verdicts:?}");
        }
    }
}
