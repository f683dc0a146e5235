//! Whether siblings start together or wait for a leader, and in which stages.
//!
//! Where a provider turns to further, cold machines above so many requests a minute for one key, siblings are counted into
//! waves, one for each machine. Between waves nobody waits for the next minute: workers take several turns, so the next
//! minute is as full as this one, and a wait would only delay the machine's one write. What can be avoided is that
//! everybody who lands on a cold machine writes the prefix there: one goes first there too, when that saves more than it
//! takes in time.

mod slots;

use tine_model::Lifetime;

use crate::facts::{Facts, SharesAt};
use crate::forms::{Bill, Course, Forms, Shape, bill, closed_forms, closed_forms_on};
use crate::price::Price;
use crate::tokens::counted;

/// How long a model takes to its first event, where it was not measured: the middle of what large models take with a long
/// prompt.
pub const FIRST_EVENT_MS: i64 = 2_000;

/// How long one request takes as a whole, where it was not measured.
pub const REQUEST_MS: i64 = 20_000;

/// What the caller asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Asked {
    /// Whatever costs less.
    #[default]
    Auto,
    /// All at once.
    Together,
    /// One first.
    Leader,
}

/// What is known when siblings are about to start.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Situation {
    /// When they start, in Unix milliseconds: the price goes by it.
    pub now_ms: i64,
    /// How many.
    pub siblings: usize,
    /// Tokens that they share.
    pub prefix_tokens: u64,
    /// Tokens of them that no live entry covers.
    pub gap_tokens: u64,
    /// Tokens that each has of its own, on average.
    pub directive_tokens: u64,
    /// How long the model takes to its first event, in milliseconds; [`FIRST_EVENT_MS`] when not measured.
    pub first_event_ms: Option<i64>,
    /// How long one request takes as a whole, in milliseconds; [`REQUEST_MS`] when not measured.
    pub request_ms: Option<i64>,
    /// What a second of waiting is worth, in USD.
    pub value_per_second: f64,
    /// The lifetime that marks among the messages ask for.
    pub lifetime: Lifetime,
    /// What the caller asks for.
    pub asked: Asked,
    /// Requests of the same key and beginning that went out within the last minute: they count toward what one machine takes.
    pub recent_requests: usize,
    /// The number of slots that hold as much of the prefix as any does, where the server has slots.
    pub slots_holding: usize,
}

impl Default for Situation {
    fn default() -> Self {
        Self {
            now_ms: 0,
            siblings: 0,
            prefix_tokens: 0,
            gap_tokens: 0,
            directive_tokens: 0,
            first_event_ms: None,
            request_ms: None,
            value_per_second: 0.0,
            lifetime: Lifetime::Short,
            asked: Asked::Auto,
            recent_requests: 0,
            slots_holding: 0,
        }
    }
}

impl Situation {
    /// What so long a wait is worth, in USD.
    fn worth_ms(&self, wait_ms: i64) -> f64 {
        self.value_per_second.max(0.0) * wait_ms as f64 / 1000.0
    }

    /// The first requests, each marking its own tail.
    pub(crate) fn shape(&self) -> Shape {
        Shape {
            siblings: self.siblings as u64,
            prefix_tokens: self.prefix_tokens,
            gap_tokens: self.gap_tokens.min(self.prefix_tokens),
            directive_tokens: self.directive_tokens,
            lifetime: self.lifetime,
            marks_tail: true,
        }
    }
}

/// How siblings start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Launch {
    /// All at once: the prefix is warm, or there is nothing to share.
    Together,
    /// One first, the rest on its first event: the prefix is cold.
    LeaderFirst,
    /// As many at a time as slots hold the prefix: slots share nothing, and whoever gets another one computes all of it.
    InTurn,
}

/// How much of the prefix is live.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Warmth {
    /// Nothing.
    Cold,
    /// All but a gap.
    Gap,
    /// All of it.
    Warm,
}

impl Warmth {
    /// The word used in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cold => "cold",
            Self::Gap => "gap",
            Self::Warm => "warm",
        }
    }
}

/// What the first requests cost in the ways in which they can go, in USD, input side only.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlanCosts {
    /// All at once, on what is live now.
    pub together: f64,
    /// One first, on what is live now.
    pub leader_first: f64,
    /// Had the whole prefix been live.
    pub warm: f64,
    /// And had nobody written what nobody reads.
    pub ideal: f64,
    /// Had nothing been cached at all.
    pub uncached: f64,
}

/// How a fan-out starts, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Together, one first, or in turn.
    pub launch: Launch,
    /// The most that may have a request at the server at the same time, where they go in turn; `None` for no limit.
    pub at_once: Option<usize>,
    /// How much of the prefix is live.
    pub warmth: Warmth,
    /// How many go one after another before the rest: 0 together, 1 leader first, 2 where what is shared is kept only once
    /// two requests had it.
    pub leaders: usize,
    /// How many land on one machine each, leaders included: so many requests a minute are what a machine takes of one key.
    /// Every machine but the first is cold. One wave when there is no such limit.
    pub waves: Vec<usize>,
    /// How many go at the same time, one stage after another, each when what the one before wrote can be read. Who is left
    /// behind the last stage goes then. Empty when all go at once.
    pub stages: Vec<usize>,
    /// What it costs; `None` without a price.
    pub costs: Option<PlanCosts>,
    /// What waiting for the leader saves, in USD; 0 without a price.
    pub saved_by_waiting: f64,
    /// What waiting for the leader is worth in time, in USD.
    pub price_of_waiting: f64,
    /// One sentence for people, without the full stop.
    pub reason: String,
}

/// Chooses how siblings start: they wait for a leader when that saves more than the wait is worth, `(N−1)(w−r)·p·M` over
/// `v·TTFT`. Without a price they wait for any gap that the cache would keep.
pub fn plan(situation: &Situation, facts: &Facts) -> Plan {
    let shape = situation.shape();
    if let Some(slots) = facts.slots {
        return slots::plan(situation, &shape, slots, facts);
    }
    let waves = waves(situation, facts);
    let forms = closed_forms_on(&waves, &shape, facts);
    let costs = facts.prices.at(situation.now_ms).map(|price| costs(&forms, &price));
    let wait_ms = wait_ms(situation, facts);
    let price = situation.worth_ms(wait_ms);
    let first = waves.first().copied().unwrap_or(0);
    let saved = saved_by_leading(first, &shape, facts, situation.now_ms);
    let facing = Facing { shape, saved, price, wait_ms, priced: costs.is_some() };
    let (launch, mut reason) = facing.choose(situation.asked, facts);
    let leaders = match launch {
        Launch::Together => 0,
        // Asked for, although all of it is live: there is nothing that two must have.
        Launch::LeaderFirst if facts.whole_requests && shape.gap_tokens > 0 => {
            2.min(situation.siblings)
        }
        Launch::LeaderFirst | Launch::InTurn => 1,
    };
    let further = Further::of(&waves, situation, &shape, facts);
    reason.push_str(&further.reason(&waves, facts));
    Plan {
        launch,
        at_once: None,
        warmth: warmth(&shape),
        leaders,
        stages: stages(leaders, &waves, further.led),
        waves,
        costs,
        saved_by_waiting: saved,
        price_of_waiting: price,
        reason,
    }
}

fn costs(forms: &Forms, price: &Price) -> PlanCosts {
    PlanCosts {
        together: forms.together.dollars(price),
        leader_first: forms.leader_first.dollars(price),
        warm: forms.warm.dollars(price),
        ideal: forms.ideal.dollars(price),
        uncached: forms.uncached.dollars(price),
    }
}

impl Plan {
    /// What the first requests use when they go as planned.
    pub(crate) fn bill(&self, situation: &Situation, facts: &Facts) -> Bill {
        // The stages of the first machine are its leaders; one more is the lead of another.
        let led = self.stages.len() > self.leaders;
        let course = Course { waves: &self.waves, leaders: self.leaders as u64, led };
        bill(course, &situation.shape(), facts)
    }
}

/// What a leader saves those of its own machine, in USD; 0 without a price.
fn saved_by_leading(siblings: usize, shape: &Shape, facts: &Facts, now_ms: i64) -> f64 {
    let forms = closed_forms(&Shape { siblings: siblings as u64, ..*shape }, facts);
    let saved = facts
        .prices
        .at(now_ms)
        .map(|price| forms.together.dollars(&price) - forms.leader_first.dollars(&price));
    saved.unwrap_or(0.0).max(0.0)
}

/// The machines behind the first.
struct Further {
    /// Whether one goes first on each.
    led: bool,
    saved: f64,
    price: f64,
}

impl Further {
    fn of(waves: &[usize], situation: &Situation, shape: &Shape, facts: &Facts) -> Self {
        let machines = waves.get(1..).unwrap_or_default();
        // All of a wave must be under way before the next machine's turn comes, and then its leader.
        let wait_ms = wait_ms(situation, facts).saturating_mul(2);
        let price = situation.worth_ms(wait_ms) * machines.len() as f64;
        let cold = Shape { gap_tokens: shape.prefix_tokens, ..*shape };
        let by_leading =
            |members: &usize| saved_by_leading(*members, &cold, facts, situation.now_ms);
        let saved = machines.iter().map(by_leading).sum();
        let shared = machines.iter().any(|members| *members > 1);
        let worth = shared
            && shape.prefix_tokens >= facts.min_tokens
            && (!facts.prices.is_known() || saved > price);
        let led = match situation.asked {
            Asked::Together => false,
            Asked::Leader => shared,
            Asked::Auto => worth,
        };
        Self { led, saved, price }
    }

    fn reason(&self, waves: &[usize], facts: &Facts) -> String {
        let (Some(most), true) = (facts.key_requests_per_minute, waves.len() > 1) else {
            return String::new();
        };
        let (machines, saved, price) = (waves.len(), money(self.saved), money(self.price));
        let lead = match (self.led, facts.prices.is_known()) {
            (true, true) => format!("one goes first on each, which saves {saved}"),
            (true, false) => "one goes first on each".to_owned(),
            (false, true) => {
                format!("leaders there would save {saved} and take time worth {price}")
            }
            (false, false) => "nobody waits there".to_owned(),
        };
        format!(
            "; {most} requests a minute are what one machine takes, so {machines} hold the prefix: {lead}"
        )
    }
}

/// Which siblings go at the same time; who is left behind the last stage needs none.
fn stages(leaders: usize, waves: &[usize], led: bool) -> Vec<usize> {
    let mut stages = vec![1; leaders];
    let mut before = waves.first().map_or(0, |first| first.saturating_sub(leaders));
    for members in waves.iter().skip(1).filter(|_| led) {
        stages.extend([before, 1]);
        before = members - 1;
    }
    stages.retain(|members| *members > 0);
    stages
}

fn warmth(shape: &Shape) -> Warmth {
    match shape.gap_tokens {
        0 => Warmth::Warm,
        gap if gap >= shape.prefix_tokens => Warmth::Cold,
        _ => Warmth::Gap,
    }
}

/// How long followers wait until they can read what leaders write.
fn wait_ms(situation: &Situation, facts: &Facts) -> i64 {
    let whole_ms = situation.request_ms.unwrap_or(REQUEST_MS).max(0);
    match facts.shares_at {
        SharesAt::FirstEvent => situation.first_event_ms.unwrap_or(FIRST_EVENT_MS).max(0),
        SharesAt::End if facts.whole_requests => whole_ms.saturating_mul(2),
        SharesAt::End => whole_ms,
    }
}

/// How many land on each machine; the first has served some requests of this minute already.
fn waves(situation: &Situation, facts: &Facts) -> Vec<usize> {
    let siblings = situation.siblings;
    let most = facts.key_requests_per_minute.map_or(siblings, |most| most as usize).max(1);
    let room = match facts.key_requests_per_minute {
        Some(_) => most - situation.recent_requests % most,
        None => most,
    };
    let first = siblings.min(room);
    let rest = siblings - first;
    let full = std::iter::repeat_n(most, rest / most);
    let all = std::iter::once(first).chain(full).chain(std::iter::once(rest % most));
    all.filter(|members| *members > 0).collect()
}

/// What the choice is between.
struct Facing {
    shape: Shape,
    saved: f64,
    price: f64,
    wait_ms: i64,
    priced: bool,
}

impl Facing {
    fn choose(&self, asked: Asked, facts: &Facts) -> (Launch, String) {
        let Shape { siblings, prefix_tokens, gap_tokens, .. } = self.shape;
        let (prefix, gap) = (counted(prefix_tokens), counted(gap_tokens));
        if siblings < 2 {
            return (Launch::Together, "there is nobody to share the prefix with".to_owned());
        }
        match asked {
            Asked::Together => {
                return (Launch::Together, "all start together, as asked".to_owned());
            }
            Asked::Leader => return (Launch::LeaderFirst, "one goes first, as asked".to_owned()),
            Asked::Auto => {}
        }
        if prefix_tokens < facts.min_tokens {
            let least = counted(facts.min_tokens);
            let why = format!(
                "the prefix of {prefix} tokens is shorter than the {least} that are cached"
            );
            return (Launch::Together, why);
        }
        if gap_tokens == 0 {
            let why = format!("all {prefix} tokens of the prefix are in the cache");
            return (Launch::Together, why);
        }
        if !self.priced {
            return self.without_a_price(gap_tokens, facts);
        }
        let (saved, price) = (money(self.saved), money(self.price));
        let seconds = self.wait_ms as f64 / 1000.0;
        let wait = format!("a wait of {seconds:.1} s, worth {price}");
        let cold = format!("{gap} of {prefix} tokens are not in the cache");
        if self.saved > self.price {
            (Launch::LeaderFirst, format!("{cold}: {wait}, saves {saved}"))
        } else {
            (Launch::Together, format!("{cold}, but {wait}, saves only {saved}"))
        }
    }

    fn without_a_price(&self, gap: u64, facts: &Facts) -> (Launch, String) {
        let useful = self.shape.siblings > 2 || !facts.whole_requests;
        if gap >= facts.min_tokens && useful {
            let why = "tokens are not in the cache, and no price says that a wait is not worth it";
            (Launch::LeaderFirst, format!("{} {why}", counted(gap)))
        } else {
            (Launch::Together, format!("only {} tokens are not in the cache", counted(gap)))
        }
    }
}

fn money(dollars: f64) -> String {
    match dollars {
        ..0.000_05 => "$0".to_owned(),
        ..1.0 => format!("${dollars:.4}"),
        _ => format!("${dollars:.2}"),
    }
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
