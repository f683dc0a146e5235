//! What a fan-out costs in the ways in which it can go: closed forms, request by request.

use tine_model::{Lifetime, Usage};

use crate::facts::Facts;
use crate::price::Price;

/// The first requests of a fan-out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// How many siblings.
    pub siblings: u64,
    /// Tokens that they share.
    pub prefix_tokens: u64,
    /// Tokens of them that no live entry covers.
    pub gap_tokens: u64,
    /// Tokens that each has of its own.
    pub directive_tokens: u64,
    /// The lifetime that marks among the messages ask for.
    pub lifetime: Lifetime,
    /// Whether each marks its own tail, so that its next turn can read it.
    pub marks_tail: bool,
}

/// Equal requests, how many of each.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Bill {
    requests: Vec<(u64, Usage)>,
}

impl Bill {
    fn of(requests: impl IntoIterator<Item = (u64, Usage)>) -> Self {
        Self { requests: requests.into_iter().filter(|(count, _)| *count > 0).collect() }
    }

    /// The requests: how many, and what each uses.
    pub fn requests(&self) -> &[(u64, Usage)] {
        &self.requests
    }

    /// Tokens of all requests together. A part is `None` where no request reports it.
    pub fn tokens(&self) -> Usage {
        let sum = |part: fn(&Usage) -> Option<u64>| {
            let parts = self.requests.iter().filter_map(|(count, usage)| {
                part(usage).map(|tokens| tokens.saturating_mul(*count))
            });
            parts.reduce(u64::saturating_add)
        };
        Usage {
            uncached: sum(|usage| Some(usage.uncached)).unwrap_or(0),
            write_short: sum(|usage| usage.write_short),
            write_long: sum(|usage| usage.write_long),
            read: sum(|usage| usage.read),
            output: sum(|usage| Some(usage.output)).unwrap_or(0),
            reasoning: None,
        }
    }

    /// What all requests cost together, in USD; each is priced by its own size.
    pub fn dollars(&self, price: &Price) -> f64 {
        self.requests.iter().map(|(count, usage)| *count as f64 * price.cost(usage)).sum()
    }
}

/// The ways in which a fan-out can go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forms {
    /// Nothing is cached at all: `N(P + D)`.
    pub uncached: Bill,
    /// Started together on a cold prefix, whatever is live: `N(wP + tD)`.
    pub naive: Bill,
    /// Started together on what is live: `N(r(P−M) + wM + tD)`.
    pub together: Bill,
    /// One first, then the rest, on what is live: `NrP + (w−r)M + NtD`. Where only whole requests are kept, two go first.
    pub leader_first: Bill,
    /// The whole prefix was live before: `N(rP + tD)`.
    pub warm: Bill,
    /// And no sibling wrote what nobody reads: `N(rP + D)`.
    pub ideal: Bill,
}

/// How a fan-out's first requests meet the machines that hold the prefix.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Course<'a> {
    /// How many land on one machine each; what is live is live on the first one only.
    pub(crate) waves: &'a [usize],
    /// How many go one after another on the first machine.
    pub(crate) leaders: u64,
    /// Whether one goes first on every further machine.
    pub(crate) led: bool,
}

/// The closed forms of a fan-out's first requests on one machine, input side only. A prefix below the model's minimum is
/// shared by nobody.
pub fn closed_forms(shape: &Shape, facts: &Facts) -> Forms {
    closed_forms_on(&[usize::try_from(shape.siblings).unwrap_or(usize::MAX)], shape, facts)
}

/// The same, where so many siblings land on one machine each: every further machine is cold.
pub(crate) fn closed_forms_on(waves: &[usize], shape: &Shape, facts: &Facts) -> Forms {
    let Requests { plain, cold, all, ideal, .. } = Requests::of(shape, facts);
    let siblings = shape.siblings;
    let led = Course { waves, leaders: leaders(shape, facts), led: true };
    Forms {
        uncached: Bill::of([(siblings, plain)]),
        naive: Bill::of([(siblings, cold)]),
        together: bill(Course { waves, leaders: 0, led: false }, shape, facts),
        leader_first: bill(led, shape, facts),
        warm: Bill::of([(siblings, all)]),
        ideal: Bill::of([(siblings, ideal)]),
    }
}

/// What the first requests use when they go like this.
pub(crate) fn bill(course: Course<'_>, shape: &Shape, facts: &Facts) -> Bill {
    let Requests { cold, first, all, .. } = Requests::of(shape, facts);
    let wave = |index: usize| course.waves.get(index).map_or(0, |members| *members as u64);
    let leaders = wave(0).min(course.leaders);
    let followers = if leaders > 0 { all } else { first };
    let later: u64 = (1..course.waves.len()).map(wave).sum();
    let machines = course.waves.len().saturating_sub(1) as u64;
    let alone = if course.led { machines } else { later };
    Bill::of([
        (leaders, first),
        (wave(0) - leaders, followers),
        (alone, cold),
        (later - alone, all),
    ])
}

/// How many go one after another before the rest read what is shared: nobody when it is live, and two where only whole
/// requests are kept, because what two share is kept once both had it.
fn leaders(shape: &Shape, facts: &Facts) -> u64 {
    let covered = covered(shape, facts) == shape.prefix_tokens;
    let cacheable = shape.prefix_tokens >= facts.min_tokens.max(1);
    match (covered && cacheable, facts.whole_requests) {
        (true, _) => 0,
        (false, false) => 1,
        (false, true) => 2,
    }
}

/// Tokens of the prefix that a live entry serves.
fn covered(shape: &Shape, facts: &Facts) -> u64 {
    let covered = shape.prefix_tokens.saturating_sub(shape.gap_tokens);
    if covered >= facts.min_tokens.max(1) { covered } else { 0 }
}

/// What one sibling's first request can use.
struct Requests {
    /// Nothing is cached at all.
    plain: Usage,
    /// Nothing is live where it lands.
    cold: Usage,
    /// What is live now is.
    first: Usage,
    /// The whole prefix is.
    all: Usage,
    /// And its own tail is not written.
    ideal: Usage,
}

impl Requests {
    fn of(shape: &Shape, facts: &Facts) -> Self {
        let Shape { prefix_tokens, directive_tokens, marks_tail, .. } = *shape;
        let plain = Usage {
            uncached: prefix_tokens.saturating_add(directive_tokens),
            read: Some(0),
            ..Usage::default()
        };
        let reading = |read: u64| request(shape, facts, read, marks_tail);
        let cold = reading(0);
        if prefix_tokens < facts.min_tokens.max(1) {
            return Self { plain, cold, first: cold, all: cold, ideal: plain };
        }
        let ideal = request(shape, facts, prefix_tokens, false);
        let first = reading(covered(shape, facts));
        Self { plain, cold, first, all: reading(prefix_tokens), ideal }
    }
}

/// One sibling's first request when `covered` tokens of its prefix are live.
fn request(shape: &Shape, facts: &Facts, covered: u64, marks_tail: bool) -> Usage {
    let whole = shape.prefix_tokens.saturating_add(shape.directive_tokens);
    let read = facts.readable(covered);
    let read = if read >= facts.min_tokens { read } else { 0 };
    let marked = if marks_tail { whole } else { shape.prefix_tokens };
    if !facts.reports_writes() {
        return Usage { uncached: whole - read, read: Some(read), ..Usage::default() };
    }
    let through = if marked >= facts.min_tokens { marked.max(read) } else { 0 };
    let written = through.saturating_sub(read);
    let (write_short, write_long) = match shape.lifetime {
        Lifetime::Short => (written, 0),
        Lifetime::Long => (0, written),
    };
    Usage {
        uncached: whole - read - written,
        write_short: Some(write_short),
        write_long: Some(write_long),
        read: Some(read),
        ..Usage::default()
    }
}

#[cfg(test)]
#[path = "forms_tests.rs"]
mod tests;
