//! What the cache makes of a question beside the conversation, and of the fork that it becomes.

use tine_model::EntryBody;
use tine_runtime::CachePolicy;
use tokio_util::sync::CancellationToken;

use crate::house::House;
use crate::{MODELS, SCENARIO};

/// Shows: such a question is served by the conversation's entries, writes nothing into its log, and as a fork goes on from its own.
#[tokio::test]
async fn a_side_question_reads_the_cache_and_leaves_no_trace_until_it_becomes_a_fork() {
    for model in MODELS {
        let house = House::new(SCENARIO).await;
        let root = house.root(model).await;
        house.say(root, &format!("One. {}", "word ".repeat(8_000))).await;
        let before = house.runtime.log(root, None).await.unwrap();
        let (mut seen, cancel) = (String::new(), CancellationToken::new());
        let mut sees = |delta: &str| seen.push_str(delta);
        let asked = (root, "And why?");
        let side = house.runtime.side(asked, CachePolicy::default(), &mut sees, &cancel).await;
        let side = side.unwrap();
        assert_eq!(seen, side.answer.text(), "{model}");
        let read = side.usage.read.unwrap_or(0);
        assert!(read * 10 > side.usage.prompt() * 9, "{model}: {:?}", side.usage);
        assert_eq!(house.runtime.log(root, None).await.unwrap(), before, "{model}");

        let made = house.runtime.promote(&side).await.unwrap();
        assert_eq!(made.fork_point, side.at);
        let house = house.reopened().await;
        let own = house.runtime.log(made.child, None).await.unwrap();
        let said: Vec<String> = own
            .iter()
            .filter_map(|entry| match &entry.body {
                EntryBody::Message(message) => Some(message.text()),
                _ => None,
            })
            .collect();
        assert!(said[0].ends_with("And why?") && said[1] == side.answer.text(), "{said:?}");
        house.say(made.child, "Go on.").await;
        let billed = house.billed().last().copied().unwrap();
        assert!(billed.hit_ratio().unwrap_or(0.0) > 0.9, "{model}: {billed:?}");
        // The conversation's own next turn is as if nothing had been asked.
        house.say(root, "And now?").await;
        assert!(house.billed().last().unwrap().hit_ratio().unwrap_or(0.0) > 0.9, "{model}");
    }
}
