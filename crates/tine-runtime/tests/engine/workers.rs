//! Workers that a model starts in one turn, as their requests arrive at the provider: the bytes that they share, who is sent first,
//! what is written and read, and what becomes of many reports at once.

use std::collections::BTreeSet;

use tine_cache::{Models, Shape, closed_forms};
use tine_fork::run::{RunEvent, RunLimits};
use tine_model::{AgentId, Lifetime, TaskStatus, Thinking, Usage};
use tine_runtime::{RunOptions, RunOutcome};

use crate::house::{House, options, seeing};
use crate::lab::system;
use crate::{LONG_AGO_MS, MODELS};

const OPUS: &str = "anthropic/claude-opus-5-5";

/// A model that drops what it has thought when somebody speaks.
const STRIPS: &str = "anthropic/claude-haiku-4-5";

/// What stands in front of what differs between siblings.
const PARTS_AT: &str = "Task: part ";

/// What stands in the place of a call that was open when a worker was forked.
const PLACEHOLDER: &str = "This call was still open";

/// A root that starts so many workers in one turn; `held` is how the workers' answers are held back.
fn scenario(workers: usize, held: &str) -> String {
    let call = |number| {
        format!(
            r#"{{ name = "Agent", input = {{ prompt = "part {number:03}", subagent_type = "fork" }} }}"#
        )
    };
    let calls = (0..workers).map(call).collect::<Vec<_>>().join(", ");
    format!(
        r#"
name = "crew"

[[turn]]
when = {{ user_contains = "{PARTS_AT}" }}
text = "Scope: my part\nResult: done\nKey files: none\nFiles changed: none\nIssues: none"
{held}

[[turn]]
when = {{ any_contains = "{PARTS_AT}", last_tool = "Agent" }}
text = "Scope: my part\nResult: done\nKey files: none\nFiles changed: none\nIssues: none"

[[turn]]
when = {{ user_contains = "split", turn = 0 }}
thinking = "It has parts."
text = "I split it."
tool_calls = [{calls}]

[[turn]]
text = "I see."
"#
    )
}

/// What the workers of one turn sent first, and what that was billed, in the order of arrival.
struct Crew {
    bodies: Vec<String>,
    bills: Vec<Usage>,
}

/// A parent that splits its work among eight and says nothing more; everything it had in the cache is gone before they start.
async fn cold_eight(model: &str, thinking: Thinking) -> Crew {
    let house = House::new(&scenario(8, "")).await;
    let root = house.thinking_root(model, system(), thinking).await;
    house.say(root, "Good day.").await;
    let mut is_cold = false;
    let grow_cold = |step: &RunEvent| {
        if matches!(step, RunEvent::ToolStarted { .. }) && !std::mem::replace(&mut is_cold, true) {
            house.clock.advance_ms(LONG_AGO_MS);
        }
    };
    let limits = RunLimits { turns: 1, ..RunLimits::default() };
    let options = RunOptions { limits, ..options() };
    let run = house.runtime.run(root, Some("Please split it.".into()), &options);
    seeing(&house.runtime, run, grow_cold).await.unwrap();
    let tasks = house.runtime.store().tasks(root).await.unwrap();
    let completed = tasks.iter().filter(|task| task.status == TaskStatus::Completed);
    assert_eq!(completed.count(), 8, "{model}: {tasks:?}");
    let sent = house.sim.requests();
    let workers =
        sent.iter().filter(|request| String::from_utf8_lossy(&request.body).contains(PARTS_AT));
    let (bodies, bills) = workers
        .map(|request| (String::from_utf8(request.body.to_vec()).unwrap(), request.usage.unwrap()))
        .unzip();
    Crew { bodies, bills }
}

impl Crew {
    /// Every byte before the directive's own is the same, and each call of the parent has the same placeholder.
    fn assert_identical(&self, model: &str, placeholders: usize) {
        assert_eq!(self.bodies.len(), 8, "{model}");
        let split = |body: &String| {
            let (shared, task) = body.rsplit_once(PARTS_AT).unwrap();
            (shared.to_owned(), task[..3].to_owned())
        };
        let (shared, tasks): (BTreeSet<String>, BTreeSet<String>) =
            self.bodies.iter().map(split).unzip();
        assert_eq!((shared.len(), tasks.len()), (1, 8), "{model}");
        let shared = shared.first().unwrap();
        assert_eq!(shared.matches(PLACEHOLDER).count(), placeholders, "{model}");
    }

    fn sum(&self, part: fn(&Usage) -> u64) -> u64 {
        self.bills.iter().map(part).sum()
    }

    /// The first to arrive wrote everything, and was alone: the other seven read all that it wrote but its own words. The totals
    /// are those of the closed form, to the token.
    fn assert_led(&self, model: &str) {
        let read = |bill: &Usage| bill.read.unwrap_or(0);
        let prefix_tokens = self.bills.iter().map(read).max().unwrap();
        let reads: Vec<u64> = self.bills.iter().map(read).collect();
        assert_eq!(reads[0], 0, "{model}: {reads:?}");
        assert!(reads[1..].iter().all(|read| *read == prefix_tokens), "{model}: {reads:?}");
        // What stands behind the last mark of a request is nobody's to keep: the closing of a message.
        let unmarked = self.bills[0].uncached;
        let directive_tokens = self.bills[0].prompt() - prefix_tokens - unmarked;
        assert!(prefix_tokens > 4_000 && directive_tokens > 0 && unmarked <= 1, "{model}");
        let shape = Shape {
            siblings: 8,
            prefix_tokens,
            gap_tokens: prefix_tokens,
            directive_tokens,
            lifetime: Lifetime::Short,
            marks_tail: true,
        };
        let expected = closed_forms(&shape, &Models::bundled().facts(model)).leader_first.tokens();
        assert_eq!(self.sum(|bill| bill.uncached), expected.uncached + 8 * unmarked, "{model}");
        assert_eq!(self.sum(Usage::written), expected.written(), "{model}");
        assert_eq!(Some(self.sum(read)), expected.read, "{model}");
    }
}

#[tokio::test]
async fn eight_calls_of_one_turn_write_their_prefix_once_and_read_it_seven_times() {
    for model in [OPUS, "openai/gpt-6.1-sol", "openai-chat/gpt-6.1-sol", "minimax/MiniMax-M3"] {
        let crew = cold_eight(model, Thinking::Adaptive).await;
        crew.assert_identical(model, 8);
        crew.assert_led(model);
    }
}

/// Automatic caches keep what they like, so that their bill has no closed form.
#[tokio::test]
async fn in_every_format_eight_calls_of_one_turn_share_their_bytes() {
    for model in MODELS {
        let crew = cold_eight(model, Thinking::Adaptive).await;
        crew.assert_identical(model, 8);
        let share = crew.sum(|bill| bill.read.unwrap_or(0)) as f64 / crew.sum(Usage::prompt) as f64;
        assert!(share > 0.7, "{model}: {share}");
    }
}

/// Where the directive were a message of its own, the model would forget the parent's last thoughts, and what stands before the
/// directive would no longer be what is in the cache. (The simulator drops no thoughts: the shape is what is shown.)
#[tokio::test]
async fn where_reasoning_is_stripped_the_directive_is_part_of_the_last_open_calls_result() {
    let crew = cold_eight(STRIPS, Thinking::Budget(1_024)).await;
    crew.assert_identical(STRIPS, 7);
    crew.assert_led(STRIPS);
    for body in &crew.bodies {
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
        let last = body["messages"].as_array().unwrap().last().unwrap();
        let blocks = last["content"].as_array().unwrap();
        assert!(blocks.iter().all(|block| block["type"] == "tool_result"), "{last}");
        let told: Vec<bool> =
            blocks.iter().map(|block| block["content"].to_string().contains(PARTS_AT)).collect();
        assert_eq!(told, [false, false, false, false, false, false, false, true]);
    }
}

/// The parent's run, and how often it was told of each of its tasks.
async fn told(house: &House, root: AgentId, run: &RunOutcome) -> (usize, usize) {
    let fold = house.runtime.fold(root, None).await.unwrap();
    let texts: String = fold.items().map(|item| item.message.text()).collect();
    let tasks = house.runtime.store().tasks(root).await.unwrap();
    for task in &tasks {
        assert_eq!(task.status, TaskStatus::Completed);
        assert_eq!(texts.matches(&format!("<task-id>{}</task-id>", task.agent)).count(), 1);
    }
    (tasks.len(), run.report.turns as usize)
}

#[tokio::test]
async fn many_reports_at_once_over_sockets_take_few_turns() {
    let workers = tine_testkit::cases("workers that report at once", 60, 200) as usize;
    let house = House::new(&scenario(workers, "fault = { first_byte_ms = 1500 }")).await;
    let root = house.root(OPUS).await;
    let run = house.runtime.run(root, Some("Please split it.".into()), &options()).await.unwrap();
    let (tasks, turns) = told(&house, root, &run).await;
    assert_eq!(tasks, workers);
    // A quiet machine takes three. On a busy one fewer reports come together.
    assert!(turns <= workers / 4, "{turns} turns for {workers} reports");
    println!("{workers} reports in {turns} turns");
}
