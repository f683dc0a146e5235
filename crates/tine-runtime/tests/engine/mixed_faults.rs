//! All kinds of faults at once, drawn by a seed: whatever comes, a success has an answer, what was paid for and whole is kept, and nothing
//! is done twice.

use std::collections::{BTreeMap, HashSet};

use tine_fork::run::RunEvent;
use tine_model::{Block, Outcome, Role, StopReason};

use crate::house::{House, options, seeing};

const MODEL: &str = "anthropic/claude-opus-5-5";

/// Turns of a run that ends well.
const TURNS: u32 = 8;

/// One effect a turn, then an answer; for every third seed a reply in the middle that says nothing, and never will.
fn scenario(seed: u64) -> String {
    let mute = match seed % 3 {
        0 => "[[turn]]\nwhen = { turn = 5 }\nthinking = \"hm\"\ntext = \"\"\n",
        _ => "",
    };
    format!(
        r#"
name = "mixed"
seed = {seed}

[[turn]]
fault = {{ status = 529, percent = 5 }}
[[turn]]
fault = {{ status = 500, percent = 4 }}
[[turn]]
fault = {{ status = 429, retry_after = 0, percent = 5 }}
[[turn]]
fault = {{ status = 502, html = true, percent = 3 }}
[[turn]]
fault = {{ close_before_first_byte = true, percent = 5 }}
[[turn]]
fault = {{ status = 400, message = "the moon is full", percent = 1 }}
{mute}
[[turn]]
when = {{ turn = {TURNS} }}
text = "All of it is done."
fault = {{ error_event_after = 3, percent = 15 }}

[[turn]]
when = {{ turn = 3 }}
text = "I write."
tool_calls = [{{ name = "Bash", input = {{ command = "echo x >> effects" }} }}]
fault = {{ broken_tool_input = true, percent = 30 }}

[[turn]]
when = {{ turn = 4 }}
text = "I write."
tool_calls = [{{ name = "Bash", input = {{ command = "echo x >> effects" }} }}]
fault = {{ cut_after_events = 6, cut_mid_line = true, percent = 30 }}

[[turn]]
when = {{ turn = 6 }}
text = "I write."
tool_calls = [{{ name = "Bash", input = {{ command = "echo x >> effects" }} }}]
fault = {{ pings = 20, no_usage = true, percent = 50 }}

[[turn]]
text = "I write."
tool_calls = [{{ name = "Bash", input = {{ command = "echo x >> effects" }} }}]
fault = {{ cut_after_events = 4, percent = 20 }}
"#
    )
}

/// The events of a run, as far as they are counted.
#[derive(Default)]
struct Seen {
    begun: Vec<String>,
    answered: usize,
    retries: usize,
}

/// The outcome of one run in a word, and the number of times it was asked again.
async fn one(seed: u64) -> (&'static str, usize) {
    let house = House::new(&scenario(seed)).await;
    let root = house.root(MODEL).await;
    let mut seen = Seen::default();
    let count = |step: &RunEvent| match step {
        RunEvent::ToolStarted { call } => seen.begun.push(call.id.0.clone()),
        RunEvent::Answered(record) if !matches!(&record.stop, StopReason::Other(why) if why == "broken" || why == "no_answer") =>
        {
            seen.answered += 1;
        }
        RunEvent::Retry { .. } => seen.retries += 1,
        _ => {}
    };
    let options = options();
    let run = house.runtime.run(root, Some("Write.".into()), &options);
    let run = seeing(&house.runtime, run, count).await.unwrap();
    let fold = house.runtime.fold(root, None).await.unwrap();
    let messages: Vec<_> = fold.items().map(|item| item.message).collect();
    let said: Vec<_> =
        messages.iter().filter(|message| message.role() == Role::Assistant).collect();
    // A success has an answer.
    if run.report.outcome == Outcome::Completed {
        let last = messages.last().unwrap();
        assert!(last.role() == Role::Assistant && !last.text().is_empty(), "seed {seed}");
    }
    // Whatever came whole is kept.
    assert!(said.len() >= seen.answered, "seed {seed}: {} of {}", said.len(), seen.answered);
    // Nothing is done twice, and everything that was done has its call and its result in the log.
    let once: HashSet<&String> = seen.begun.iter().collect();
    assert_eq!(once.len(), seen.begun.len(), "seed {seed}: {:?}", seen.begun);
    let effects = std::fs::read_to_string(house.home.path().join("effects")).unwrap_or_default();
    let blocks = || messages.iter().flat_map(|message| message.blocks());
    let done = |block: &&Block| matches!(block, Block::ToolResult { is_error: false, .. });
    assert_eq!(effects.lines().count(), blocks().filter(done).count(), "seed {seed}");
    let outcome = run.report.outcome.as_str();
    (outcome, seen.retries)
}

/// All of it takes about an hour.
#[tokio::test]
async fn whatever_comes_a_success_has_an_answer_and_nothing_is_lost_or_done_twice() {
    let seeds = u64::from(tine_testkit::cases("seeds of mixed faults", 12, 20_000));
    let mut outcomes = BTreeMap::<&str, u64>::new();
    let mut asked_again = 0;
    for seed in 0..seeds {
        let (outcome, retries) = one(seed).await;
        *outcomes.entry(outcome).or_default() += 1;
        asked_again += retries as u64;
    }
    assert!(asked_again > seeds, "{asked_again}");
    assert!(outcomes["completed"] > 0 && outcomes["failed"] > 0, "{outcomes:?}");
    println!("{outcomes:?}, asked again {asked_again} times");
}
