//! What the cache did with a request, against what it should have done.

use tine_model::{Segment, Usage};

use crate::facts::Facts;
use crate::ledger::{Expectation, Missing, Place, PlaceState};
use crate::price::{Rates, UNIT_TOKENS};
use crate::tokens::{Counts, NoCounts, counted, prompt_of};

/// How far a count may fall short of an estimate before it is a miss, as a part of the estimate.
const ESTIMATE_SLACK: u64 = 8;

/// And in any case so many tokens: short estimates are rough.
const ESTIMATE_SLACK_TOKENS: u64 = 64;

/// What became of a request's cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It read what it should have read.
    Ok,
    /// Nothing of it was in the cache, or less than half, and no more could be: nobody had written it.
    Cold,
    /// Its bytes part from those that were cached; the first part that differs, where it is known.
    Diverged(Option<Segment>),
    /// A setting before or beside the messages changed; which one, where it is known.
    SettingsChanged(Option<Segment>),
    /// Another request was still writing what this one could have read, or the provider did not serve an entry that lives.
    Race,
    /// The entry's life was over.
    Expired,
    /// The prefix is shorter than what the model's cache keeps.
    BelowMinimum,
    /// Marks are missing, or stand where no lookup finds an entry.
    MarkerMisplaced,
    /// An automatic cache did not serve what it was shown before: routing, eviction or chance.
    Unreliable,
    /// The provider said nothing, or nothing that can be true.
    Unknown,
}

impl Verdict {
    /// The word used in reports and in the store; segments are not part of it.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Cold => "cold",
            Self::Diverged(_) => "diverged",
            Self::SettingsChanged(_) => "settings_changed",
            Self::Race => "race",
            Self::Expired => "expired",
            Self::BelowMinimum => "below_minimum",
            Self::MarkerMisplaced => "marker_misplaced",
            Self::Unreliable => "unreliable",
            Self::Unknown => "unknown",
        }
    }

    /// Reads the word; a segment is not known then.
    pub fn from_name(name: &str) -> Option<Self> {
        let all = [
            Self::Ok,
            Self::Cold,
            Self::Diverged(None),
            Self::SettingsChanged(None),
            Self::Race,
            Self::Expired,
            Self::BelowMinimum,
            Self::MarkerMisplaced,
            Self::Unreliable,
            Self::Unknown,
        ];
        all.into_iter().find(|verdict| verdict.as_str() == name)
    }

    /// The first part that differs, where a difference is the verdict and it is known.
    pub fn segment(&self) -> Option<&Segment> {
        match self {
            Self::Diverged(segment) | Self::SettingsChanged(segment) => segment.as_ref(),
            Self::Ok
            | Self::Cold
            | Self::Race
            | Self::Expired
            | Self::BelowMinimum
            | Self::MarkerMisplaced
            | Self::Unreliable
            | Self::Unknown => None,
        }
    }

    /// Whether tokens were paid for that the cache held, or could have held.
    pub fn is_miss(&self) -> bool {
        match self {
            Self::Diverged(_)
            | Self::SettingsChanged(_)
            | Self::Race
            | Self::Expired
            | Self::MarkerMisplaced
            | Self::Unreliable => true,
            Self::Ok | Self::Cold | Self::BelowMinimum | Self::Unknown => false,
        }
    }

    /// Whether the request itself broke its cache: a fault of the client that somebody should look at.
    pub fn is_break(&self) -> bool {
        match self {
            Self::Diverged(_) | Self::SettingsChanged(_) | Self::MarkerMisplaced => true,
            Self::Ok
            | Self::Cold
            | Self::Race
            | Self::Expired
            | Self::BelowMinimum
            | Self::Unreliable
            | Self::Unknown => false,
        }
    }
}

/// A verdict and its grounds.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// Tokens that should have been read.
    pub expected_read: u64,
    /// Tokens that were read; `None` when that was not reported, or cannot be true.
    pub read: Option<u64>,
    /// Tokens of the shared prefix that were not read, when the verdict is a miss.
    pub missed: u64,
    /// One sentence for people, without the full stop.
    pub why: String,
    /// What writing the missed tokens cost over reading them, in USD; `None` without a price, or when nothing was missed.
    pub cost_of_miss: Option<f64>,
}

/// Judges one answered request. `difference` is the first part in which it differs from what its lineage sent last, where it
/// should not: a request that only goes on from there differs in nothing, or in [`Segment::End`].
pub fn judge(
    expected: &Expectation,
    usage: &Usage,
    facts: &Facts,
    difference: Option<Segment>,
) -> Judgement {
    let difference = difference.filter(|segment| *segment != Segment::End);
    let counts = match (Counts::of(usage, expected.total), difference.as_ref()) {
        (Ok(counts), _) => counts,
        // Our own bytes tell as much. Gemini leaves the count out where nothing was read.
        (Err(NoCounts::Unreported), Some(segment)) => return parted(expected, segment),
        (Err(NoCounts::Unreported), None) if is_too_short(expected, usage, facts) => {
            let (verdict, why) = below_minimum(prompt_of(usage), facts);
            return Judgement { verdict, why, ..unknown(expected, NoCounts::Unreported) };
        }
        (Err(reason), _) => return unknown(expected, reason),
    };
    let case = Case::new(expected, counts, facts, usage);
    let (verdict, why) = case.verdict(difference);
    let missed = if verdict.is_miss() { case.missed(&verdict) } else { 0 };
    let cost = |rates: Rates| {
        let lost = missed as f64;
        let paid = case.write_price(&rates);
        lost * (paid - rates.read) / UNIT_TOKENS
    };
    Judgement {
        verdict,
        expected_read: expected.read,
        read: Some(counts.read),
        missed,
        why,
        cost_of_miss: facts.rates(counts.prompt, expected.at_ms).filter(|_| missed > 0).map(cost),
    }
}

/// What is known without a count: that the request parts from the one before, not what that cost.
fn parted(expected: &Expectation, segment: &Segment) -> Judgement {
    let why = format!(
        "{segment} differs from the request before; the provider did not report what it read"
    );
    let verdict = differing(segment.clone());
    Judgement { verdict, why, ..unknown(expected, NoCounts::Unreported) }
}

fn differing(segment: Segment) -> Verdict {
    match segment {
        Segment::Setting(_) => Verdict::SettingsChanged(Some(segment)),
        Segment::Tool(_) | Segment::System { .. } | Segment::Block { .. } | Segment::End => {
            Verdict::Diverged(Some(segment))
        }
    }
}

fn unknown(expected: &Expectation, reason: NoCounts) -> Judgement {
    let why = match reason {
        NoCounts::Unreported => "the provider did not report what it read from the cache",
        NoCounts::Empty => "the provider reported an empty prompt",
        NoCounts::Absurd => "the reported counts fit no request of this size",
    };
    Judgement {
        verdict: Verdict::Unknown,
        expected_read: expected.read,
        read: None,
        missed: 0,
        why: why.to_owned(),
        cost_of_miss: None,
    }
}

/// Whether the whole prompt is shorter than anything that the model's cache keeps, as we estimate it and as it was counted. One
/// of no tokens was not counted.
fn is_too_short(expected: &Expectation, usage: &Usage, facts: &Facts) -> bool {
    expected.total < facts.min_tokens && (1..facts.min_tokens).contains(&prompt_of(usage))
}

fn below_minimum(tokens: u64, facts: &Facts) -> (Verdict, String) {
    let (tokens, least) = (counted(tokens), counted(facts.min_tokens));
    (Verdict::BelowMinimum, format!("{tokens} tokens are fewer than the {least} that are cached"))
}

/// One request with what was expected, reported and known.
struct Case<'a> {
    expected: &'a Expectation,
    counts: Counts,
    facts: &'a Facts,
    usage: &'a Usage,
}

impl<'a> Case<'a> {
    fn new(expected: &'a Expectation, counts: Counts, facts: &'a Facts, usage: &'a Usage) -> Self {
        Self { expected, counts, facts, usage }
    }

    fn verdict(&self, difference: Option<Segment>) -> (Verdict, String) {
        let (read, prompt) = (self.counts.read, self.counts.prompt);
        let nothing_kept = read == 0 && self.counts.written.unwrap_or(0) == 0;
        if nothing_kept && prompt < self.facts.min_tokens {
            return below_minimum(prompt, self.facts);
        }
        let prefix = self.scaled(self.expected.prefix);
        let differs = self.expected.gap > 0 && read < prefix;
        if let Some(segment) = difference.filter(|_| differs) {
            return self.differs(segment);
        }
        if self.unmarked() {
            let plain = counted(self.usage.uncached);
            let why = format!("{plain} tokens were neither read nor written: no mark covers them");
            return (Verdict::MarkerMisplaced, why);
        }
        // Nearer to the whole prefix than to what was known to be live: somebody else wrote it.
        let known =
            if self.expected.exact { self.expected.read } else { self.scaled(self.expected.read) };
        if self.expected.gap > 0 && read > known.midpoint(prefix.max(known)) {
            return (Verdict::Ok, format!("read {} tokens, more than was expected", counted(read)));
        }
        if self.covers(self.expected.read, self.expected.exact) {
            return self.as_expected();
        }
        self.short_of_expected()
    }

    /// The bytes themselves say where the request parts from what was cached.
    fn differs(&self, segment: Segment) -> (Verdict, String) {
        let read = match self.counts.read {
            0 => "nothing was read".to_owned(),
            read => format!("only {} tokens were read", counted(read)),
        };
        let why = format!("{segment} differs from the request before: {read}");
        (differing(segment), why)
    }

    /// As much was read as was live; why was no more live?
    fn as_expected(&self) -> (Verdict, String) {
        let cold = self.counts.read == 0;
        let (read, gap) = (counted(self.counts.read), counted(self.expected.gap));
        match self.expected.missing {
            Missing::Nothing => (Verdict::Ok, format!("read {read} tokens, as expected")),
            Missing::NeverWritten if cold => {
                (Verdict::Cold, "nothing of this prefix was in the cache yet".to_owned())
            }
            Missing::NeverWritten if self.expected.gap > self.expected.read => {
                let why = format!(
                    "read {read} tokens; the other {gap} of this prefix were in no cache yet"
                );
                (Verdict::Cold, why)
            }
            Missing::NeverWritten => {
                (Verdict::Ok, format!("read {read} tokens, as expected; {gap} more were new"))
            }
            Missing::Expired { ago_ms } => {
                (Verdict::Expired, format!("the entry's life ended {} before", duration(ago_ms)))
            }
            Missing::InFlight => {
                let why = "another request was still writing the prefix when this one was sent";
                (Verdict::Race, why.to_owned())
            }
            Missing::SlotBusy => (Verdict::Race, self.slot_was_busy()),
            Missing::Displaced => {
                let why = "the slot that held it has gone to another conversation since";
                (Verdict::Expired, why.to_owned())
            }
            Missing::BelowMinimum => below_minimum(self.expected.prefix, self.facts),
            Missing::OutOfReach => {
                let why = "an entry lives where no mark of this request finds it";
                (Verdict::MarkerMisplaced, why.to_owned())
            }
        }
    }

    /// Less was read than was live.
    fn short_of_expected(&self) -> (Verdict, String) {
        let read = self.counts.read;
        if self.expected.missing == Missing::InFlight {
            let why = "another request was still writing the prefix when this one was sent";
            return (Verdict::Race, why.to_owned());
        }
        if self.expected.missing == Missing::SlotBusy {
            return (Verdict::Race, self.slot_was_busy());
        }
        if !self.facts.reports_writes() || !self.facts.reliable {
            let (read, expected) = (counted(read), counted(self.expected.read));
            let causes = match self.facts.slots {
                Some(_) => "another program took the slot, or the server began anew",
                None => "routing, eviction or chance",
            };
            let why = format!(
                "the cache served {read} of {expected} tokens that it was shown before: {causes}"
            );
            return (Verdict::Unreliable, why);
        }
        // Our own bytes agree with what is live: a difference of ours would have been named before.
        let why = match self.earlier_place() {
            None if read == 0 => {
                "nothing was read though an entry lives: a race, another workspace or another machine".to_owned()
            }
            Some(place) => {
                let kind = place.kind.as_str();
                format!(
                    "the read ends at the {kind}, though our bytes agree beyond it: another machine, an early eviction, or a change on the way"
                )
            }
            None => {
                let read = counted(read);
                format!("{read} tokens were read, which is the size of no entry of ours")
            }
        };
        (Verdict::Race, why)
    }

    fn slot_was_busy(&self) -> String {
        let slots = match self.facts.slots {
            Some(1) | None => "the only slot".to_owned(),
            Some(slots) => format!("one of {slots} slots"),
        };
        format!(
            "the prefix is held by {slots}, which was at work for another request, and slots share nothing"
        )
    }

    /// Whether the tokens read reach `tokens`, as well as that is known.
    fn covers(&self, tokens: u64, exact: bool) -> bool {
        // The correction may lead an estimate astray as well as right: the lower one is enough.
        let tokens = if exact { tokens } else { tokens.min(self.scaled(tokens)) };
        let step = self.facts.step_tokens.max(1) - 1;
        let slack = if exact { 0 } else { (tokens / ESTIMATE_SLACK).max(ESTIMATE_SLACK_TOKENS) };
        // Nothing read is never enough, however rough the estimate, unless nothing was to be read.
        let some = self.counts.read > 0 || tokens == 0;
        some && self.counts.read.saturating_add(slack + step) >= tokens
    }

    /// An estimate, corrected by what the whole request turned out to be.
    fn scaled(&self, tokens: u64) -> u64 {
        let (prompt, total) = (u128::from(self.counts.prompt), self.expected.total.max(1));
        let scaled = u128::from(tokens) * prompt / u128::from(total);
        u64::try_from(scaled).unwrap_or(u64::MAX)
    }

    /// Whether far more was neither read nor written than lies behind the last mark.
    fn unmarked(&self) -> bool {
        let Some(written) = self.counts.written.filter(|_| self.facts.reports_writes()) else {
            return false;
        };
        let (plain, prompt) = (self.usage.uncached, self.counts.prompt);
        let through = self.expected.places.last().map_or(0, |place| self.scaled(place.tokens));
        let tail = prompt.saturating_sub(through) + prompt / ESTIMATE_SLACK;
        plain > written && plain > tail + self.facts.min_tokens
    }

    /// The place before the one that should have served of which the size is what was read.
    fn earlier_place(&self) -> Option<&Place> {
        let read = self.counts.read;
        let serving = self.expected.from;
        let earlier = self.expected.places.iter().take_while(|place| {
            !(Some(place.kind) == serving && place.tokens >= self.expected.read)
        });
        let fits = |place: &&Place| {
            let size = if place.exact { place.tokens } else { self.scaled(place.tokens) };
            let slack = if place.exact { 0 } else { size / ESTIMATE_SLACK };
            read > 0 && read.abs_diff(size) <= slack && place.state != PlaceState::Unknown
        };
        earlier.filter(fits).min_by_key(|place| place.tokens.abs_diff(read))
    }

    /// How much of the prefix was paid for and need not have been.
    fn missed(&self, verdict: &Verdict) -> u64 {
        let shared = match verdict {
            // The request itself is to blame for all that it should share.
            Verdict::Diverged(_) | Verdict::SettingsChanged(_) | Verdict::MarkerMisplaced => {
                self.expected.prefix
            }
            // Nobody ever wrote the rest.
            _ => self.expected.known,
        };
        let could = shared.max(self.expected.read);
        let could = if self.expected.exact { could } else { self.scaled(could) };
        could.min(self.counts.prompt).saturating_sub(self.counts.read)
    }

    /// The price that was paid for a token that was not read.
    fn write_price(&self, rates: &Rates) -> f64 {
        match self.counts.written {
            Some(written) if written > 0 => {
                let long = self.counts.written_long as f64 / written as f64;
                rates.write_long * long + rates.write_short * (1.0 - long)
            }
            _ => rates.input,
        }
    }
}

fn duration(ms: i64) -> String {
    let seconds = ms / 1000;
    match seconds {
        ..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        _ => format!("{} h", seconds / 3600),
    }
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
