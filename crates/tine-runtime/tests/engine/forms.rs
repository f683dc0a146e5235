//! Fan-outs of every size: the provider's bill equals the closed forms to the token.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tine_cache::SharesAt;
use tine_cache::{Bill, Forms, Shape, closed_forms};
use tine_fork::cache::{Flight, LEADER_WAIT_MAX};
use tine_fork::run::Conversation;
use tine_model::{Lifetime, Usage};
use tine_testkit::share;
use tine_wire::HeadParts;

use crate::lab::{Lab, beginning, parts};
use crate::{LONG_AGO_MS, SCENARIO};

const OPUS: &str = "anthropic/claude-opus-5-5";

/// A spread of sizes for what does not need every one.
const SIZES: [usize; 7] = [2, 3, 5, 8, 15, 33, 64];

/// How long the answers to held directives are held back, in the time of this thread's runtime.
const HELD: Duration = Duration::from_secs(60 * 60);

/// Whether siblings are answered at once, or held back until all have arrived: a provider that is slower than any of us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answers {
    AtOnce,
    Held,
}

/// The harbour, with directives that are answered late, and one machine for as many requests as there are.
fn scenario() -> String {
    let held = "[[turn]]\nwhen = { user_contains = \"Task held\" }\ntext = \"Scope: my task\\nResult: done\"\n\
        fault = { first_byte_ms = 3600000 }\n\n[[turn]]";
    SCENARIO.replacen("[[turn]]", held, 1).replacen(
        "name = \"harbour\"",
        "name = \"harbour\"\nmachines = false",
        1,
    )
}

/// What is expected of a bill, whoever reports zeros and whoever leaves them out.
fn tokens(usage: &Usage) -> [u64; 4] {
    let part = |count: Option<u64>| count.unwrap_or(0);
    [usage.uncached, part(usage.write_short), part(usage.write_long), part(usage.read)]
}

fn sum(bills: &[Usage]) -> [u64; 4] {
    let zero = [0; 4];
    bills.iter().map(tokens).fold(zero, |sum, bill| std::array::from_fn(|i| sum[i] + bill[i]))
}

/// What stands behind the last mark of a request is nobody's to keep: OpenAI's own closing of a message.
fn unmarked(bills: &[Usage]) -> u64 {
    let unmarked = bills[0].uncached;
    assert!(unmarked <= 1 && bills.iter().all(|bill| bill.uncached == unmarked), "{bills:?}");
    unmarked
}

fn assert_costs(bills: &[Usage], form: &Bill, case: &str) {
    let mut expected = tokens(&form.tokens());
    expected[0] += bills.len() as u64 * unmarked(bills);
    assert_eq!(sum(bills), expected, "{case}: {bills:?}");
}

/// A parent that has just been answered, and the tokens of its last request that are in the cache.
async fn parent(lab: &Lab, model: &str) -> (Conversation, u64) {
    // Thousands of requests: as short as these models' caches take.
    let system = "You keep the books of a small harbour. ".repeat(120);
    let mut parent = beginning(HeadParts { system, ..parts(model) });
    let heard = lab.say(model, &mut parent, "Please look around.").await;
    let last = heard.requests.last().unwrap().usage;
    (parent, last.prompt() - last.uncached)
}

/// Siblings over one prefix: the usage of each one's first request.
async fn fan(
    lab: &Lab,
    model: &str,
    base: &mut Conversation,
    (flight, count, answers): (Arc<Flight>, usize, Answers),
    first: usize,
) -> Vec<Usage> {
    let sent = lab.sim.requests().len();
    let seats: Vec<_> = (0..count).map(|member| flight.seat(member)).collect();
    let siblings = seats.into_iter().enumerate().map(|(member, seat)| {
        let mut child = base.fork();
        let word = if answers == Answers::Held { "held  " } else { "number" };
        let directive = format!("Task {word} {:03}.", first + member);
        async move {
            let heard = lab.say_from(Some(seat), model, &mut child, &directive).await;
            heard.first()
        }
    });
    match answers {
        Answers::AtOnce => join_all(siblings).await,
        Answers::Held => {
            let answered = lab.let_answer(sent + count, HELD);
            tokio::join!(join_all(siblings), answered).0
        }
    }
}

/// The forms of a fan of which `led` are the bills, when `live` tokens of the prefix were live before.
fn forms(model: &str, led: &[Usage], live: u64) -> (Forms, Shape) {
    let prefix_tokens = led.iter().filter_map(|bill| bill.read).max().unwrap();
    let directive_tokens = led[0].prompt() - prefix_tokens - unmarked(led);
    assert!(prefix_tokens > 1_100 && directive_tokens > 0, "{led:?}");
    let shape = Shape {
        siblings: led.len() as u64,
        prefix_tokens,
        gap_tokens: prefix_tokens - live,
        directive_tokens,
        lifetime: Lifetime::Short,
        marks_tail: true,
    };
    (closed_forms(&shape, &Lab::facts(model)), shape)
}

/// A parent whose entries are all gone, led by one of its siblings.
async fn led_from_cold(lab: &Lab, model: &str, base: &mut Conversation, count: usize) -> Forms {
    lab.clock.advance_ms(LONG_AGO_MS);
    let leader = leader_first(count / 2, LEADER_WAIT_MAX);
    let led = fan(lab, model, base, (leader, count, Answers::AtOnce), 0).await;
    let (expected, _) = forms(model, &led, 0);
    assert_costs(&led, &expected.leader_first, &format!("{model}, {count} led"));
    expected
}

/// One size: led from cold, then again over what that left behind, then together from cold.
async fn check_cold(model: &str, count: usize) {
    let lab = Lab::new(&scenario()).await;
    let (mut base, _) = parent(&lab, model).await;
    let expected = led_from_cold(&lab, model, &mut base, count).await;

    let warm = (Flight::together(), count, Answers::AtOnce);
    let warm = fan(&lab, model, &mut base, warm, count).await;
    assert_costs(&warm, &expected.warm, &format!("{model}, {count} warm"));

    lab.clock.advance_ms(LONG_AGO_MS);
    let together = (Flight::together(), count, Answers::Held);
    let together = fan(&lab, model, &mut base, together, 2 * count).await;
    assert_costs(&together, &expected.naive, &format!("{model}, {count} together"));
    // With nothing live it is the same by the other form.
    assert_eq!(expected.naive.tokens(), expected.together.tokens());
}

/// One first, for a provider whose entries can be read when a reply begins.
fn leader_first(first: usize, wait_max: Duration) -> Arc<Flight> {
    Flight::staged(first, vec![1], SharesAt::FirstEvent, wait_max)
}

#[tokio::test]
async fn a_cold_fan_of_every_size_costs_what_the_forms_say() {
    let lab = Lab::new(&scenario()).await;
    let (mut base, _) = parent(&lab, OPUS).await;
    for count in share("sizes of a led fan", 0, 2..=64) {
        led_from_cold(&lab, OPUS, &mut base, count).await;
    }
}

#[tokio::test]
async fn together_led_and_warm_a_cold_fan_costs_what_the_forms_say() {
    for count in SIZES {
        check_cold(OPUS, count).await;
    }
}

#[tokio::test]
async fn so_it_does_at_the_other_providers_that_bill_writes() {
    let models = ["openai/gpt-6.1-sol", "openai-chat/gpt-6.1-sol", "minimax/MiniMax-M3"];
    let all = models.into_iter().flat_map(|model| SIZES.map(|count| (model, count)));
    for (model, count) in share("sizes of a cold fan and who bills it", 1, all) {
        check_cold(model, count).await;
    }
}

/// A parent's last answer is in no cache until somebody sends it back: the gap of every fork. In Responses no answer takes a
/// mark, so there it counts as each child's own.
#[tokio::test]
async fn a_warm_parent_leaves_a_gap_that_a_leader_writes_once_and_the_naive_each() {
    let models = [(OPUS, true), ("minimax/MiniMax-M3", true), ("openai/gpt-6.1-sol", false)];
    let all = models.into_iter().flat_map(|model| SIZES.map(|count| (model, count)));
    for ((model, has_gap), count) in share("sizes of a warm fan and who bills it", 2, all) {
        let lab = Lab::new(&scenario()).await;
        let (mut base, live) = parent(&lab, model).await;
        let leader = leader_first(0, LEADER_WAIT_MAX);
        let led = fan(&lab, model, &mut base, (leader, count, Answers::AtOnce), 0).await;
        let (expected, shape) = forms(model, &led, live);
        assert_eq!(shape.gap_tokens > 0, has_gap, "{model}: {shape:?}");
        assert_costs(&led, &expected.leader_first, "led");

        let lab = Lab::new(&scenario()).await;
        let (mut base, _) = parent(&lab, model).await;
        let together = (Flight::together(), count, Answers::Held);
        let together = fan(&lab, model, &mut base, together, 0).await;
        assert_costs(&together, &expected.together, "together");
    }
}

/// The wait is over before the leader has begun: nobody has written anything that another could read.
#[tokio::test]
async fn behind_a_leader_that_is_slower_than_the_cap_everybody_writes() {
    for count in [2, 8, 64] {
        let lab = Lab::new(&scenario()).await;
        let (mut base, _) = parent(&lab, OPUS).await;
        lab.clock.advance_ms(LONG_AGO_MS);
        let probe = leader_first(0, LEADER_WAIT_MAX);
        let probe = fan(&lab, OPUS, &mut base, (probe, count, Answers::AtOnce), 0).await;
        let (expected, _) = forms(OPUS, &probe, 0);
        lab.clock.advance_ms(LONG_AGO_MS);
        let impatient = leader_first(0, Duration::from_millis(1));
        let bills = fan(&lab, OPUS, &mut base, (impatient, count, Answers::Held), count).await;
        assert_costs(&bills, &expected.naive, "capped");
    }
}

/// The same holds for those who meet by chance.
#[tokio::test]
async fn nobody_waits_for_a_stranger_longer_than_the_cap() {
    let mut lab = Lab::new(&scenario()).await;
    lab.leader_wait_max = Duration::from_millis(1);
    let (mut base, _) = parent(&lab, OPUS).await;
    lab.clock.advance_ms(LONG_AGO_MS);
    let sent = lab.sim.requests().len();
    let (mut one, mut two) = (base.fork(), base.fork());
    let (one, two, ()) = tokio::join!(
        lab.say(OPUS, &mut one, "Task held   001."),
        lab.say(OPUS, &mut two, "Task held   002."),
        lab.let_answer(sent + 2, HELD),
    );
    assert_eq!([one.first().read, two.first().read], [Some(0); 2]);
}
