//! What one process knows of its providers' caches, and who waits for whom because of it.
//!
//! The [`CacheEngine`] is shared by all runs of a process: one ledger of live entries, and the flights that are in the air.
//! A run sees it through a [`CacheLane`], which is bound to one cache (provider, workspace and model). Nothing here
//! talks to a provider or reads a clock; what is to survive the process is handed to the [`Journal`](crate::run::Journal).
//!
//! A request that shares an unwritten place with a request under way waits for the first event of that one, if waiting costs
//! less than writing the place twice.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

pub use tine_cache::{Asked, Facts, Judgement, Launch, Models, Plan, Verdict};
use tine_cache::{
    Expectation, InFlight, Ledger, LiveEntry, PlaceState, Scope, Situation, judge, plan,
};
use tine_model::{Boundary, BoundaryKind, EntryId, Message, ModelRef, Provider, Segment, Usage};
use tine_wire::{Diagnosis, DroppedReasoning};
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::conversation::{Conversation, Held};
pub use crate::flight::{Flight, LEADER_WAIT_MAX, REPLY_WAIT_MAX, Seat, Ticket, leader_wait_max};
use crate::slots::{KeptSlot, SlotUse};
pub use crate::slots::{SLOT_WAIT_MAX, SlotWait};

/// How much the newest measurement of the time to the first event counts: the average follows a change within a few requests
/// and is not thrown by one.
const NEWEST_SHARE: f64 = 0.3;

/// What limits per minute count by.
const MINUTE_MS: i64 = 60_000;

/// What a second of a person's waiting is worth unless the user says otherwise, in USD: 36 an hour.
pub const VALUE_PER_SECOND_DEFAULT: f64 = 0.01;

/// What a child is told where only its inherited part is of interest: every request ends with something.
const ANY_DIRECTIVE: &str = "directive";

/// The member number of whoever begins a flight by itself.
const LEADER: usize = 0;

/// The member number of those who join a flight later; no fan has as many workers.
const LATECOMER: usize = usize::MAX;

/// A place of one cache: the hash of a boundary.
type PlaceKey = (Scope, [u8; 32]);

/// Flights that one request waits for at most: one for each place that it may share.
const WAITS_MAX: usize = 4;

/// What a request does about those who share its unwritten places.
enum Next {
    /// There is nothing to wait for and nothing to lead.
    Go,
    /// Somebody else is writing.
    Wait(Arc<Flight>),
    /// Others may wait for this one.
    Lead(Arc<Flight>),
}

/// Who is about to write which place; a flight that nobody is in any more is gone.
type Flights = HashMap<PlaceKey, Weak<Flight>>;

/// What one process knows of its providers' caches.
#[derive(Debug, Default)]
pub struct CacheEngine {
    pub(crate) ledger: Mutex<Ledger>,
    /// Who is about to write which place.
    flights: Mutex<Flights>,
    /// Time to the first event, in milliseconds, as an average that follows.
    first_events: Mutex<HashMap<Scope, f64>>,
    /// When the requests of the last minute went out, by the hash of their head, which has the key in it.
    recent: Mutex<HashMap<PlaceKey, Vec<i64>>>,
    /// Slots that are kept for the next request of a run.
    pub(crate) kept_slots: Mutex<Vec<KeptSlot>>,
    /// Told when a slot becomes free.
    pub(crate) slot_freed: Notify,
}

impl CacheEngine {
    /// An engine that knows nothing yet.
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Adds what a store remembers.
    pub fn load(&self, scope: Scope, entries: Vec<LiveEntry>) {
        lock(&self.ledger).load(scope, entries);
    }

    /// Adds what a store remembers of a model that is served from slots: what earlier requests left in them is taken up, too.
    pub fn load_slots(&self, scope: Scope, facts: &Facts, entries: &[LiveEntry]) {
        lock(&self.ledger).learn_slots(scope, facts, entries);
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One cache, as a run sees it. Cheap to clone.
#[derive(Debug, Clone)]
pub struct CacheLane {
    /// Shared by the process.
    pub engine: Arc<CacheEngine>,
    /// Whose cache it is.
    pub scope: Scope,
    /// What is known of the model.
    pub facts: Facts,
    /// What a second of waiting is worth, in USD.
    pub value_per_second: f64,
    /// Longest wait for whoever writes what others wait for; [`leader_wait_max`](crate::cache::leader_wait_max()) unless the caller
    /// says otherwise.
    pub leader_wait_max: Duration,
    /// The wait of its requests for a slot, where the server has slots.
    pub slot_wait: SlotWait,
}

impl CacheLane {
    /// The cache that requests to a model meet: the same for all who have the same provider, account and model.
    pub fn new(engine: Arc<CacheEngine>, model: &ModelRef, account: &str, facts: Facts) -> Self {
        let scope = cache_scope(model, account);
        let leader_wait_max = leader_wait_max(facts.shares_at);
        let value_per_second = VALUE_PER_SECOND_DEFAULT;
        let slot_wait = SlotWait::default();
        Self { engine, scope, facts, value_per_second, leader_wait_max, slot_wait }
    }

    /// Lets siblings that start by a plan wait for slots as it says.
    pub fn waiting_as(self, plan: &Plan) -> Self {
        Self { slot_wait: SlotWait::of(plan), ..self }
    }

    /// What is known before children of `base` start that are told these texts, as they are sent.
    pub fn situation(
        &self,
        base: &mut Conversation,
        told: &[String],
        asked: Asked,
        now_ms: i64,
    ) -> Situation {
        let places = child_places(base, "");
        let expected = self.expect(&places, now_ms);
        let lengths = told.iter().map(|text| {
            let expected = self.expect(&child_places(base, text), now_ms);
            expected.total.saturating_sub(expected.prefix)
        });
        let own: u64 = lengths.sum();
        Situation {
            now_ms,
            siblings: told.len(),
            prefix_tokens: expected.prefix,
            gap_tokens: expected.gap,
            directive_tokens: own.checked_div(told.len() as u64).unwrap_or(0),
            lifetime: base.lifetimes().messages(),
            asked,
            recent_requests: self.recent_requests(&places, now_ms),
            slots_holding: self.slots_holding(&places),
            ..Situation::default()
        }
    }

    /// The number of the server's slots that hold as much of a request as any does.
    fn slots_holding(&self, places: &[Boundary]) -> usize {
        lock(&self.engine.ledger).slot_reach(&self.scope, &self.facts, places).holding
    }

    /// What the cache should serve of a request that starts at `now_ms`.
    pub fn expect(&self, boundaries: &[Boundary], now_ms: i64) -> Expectation {
        lock(&self.engine.ledger).expect(&self.scope, &self.facts, boundaries, now_ms)
    }

    /// The measured time to the first event of a reply, in milliseconds; `None` before the first.
    pub fn first_event_ms(&self) -> Option<i64> {
        lock(&self.engine.first_events).get(&self.scope).map(|average| *average as i64)
    }

    /// How siblings should start that are in this situation.
    pub fn plan(&self, situation: Situation) -> Plan {
        let first_event_ms = situation.first_event_ms.or_else(|| self.first_event_ms());
        let value_per_second = self.value_per_second;
        plan(&Situation { first_event_ms, value_per_second, ..situation }, &self.facts)
    }

    /// Waits for whoever is about to write what this request shares with it, where that is worth the wait; otherwise takes
    /// the lead for those who come after. `None` when there is nothing to wait for and nothing to lead.
    pub(crate) async fn join(
        &self,
        boundaries: &[Boundary],
        now_ms: i64,
        on_wait: &(dyn Fn() + Sync),
        cancel: &CancellationToken,
    ) -> Option<Ticket> {
        let mut waited = None;
        for _ in 0..WAITS_MAX {
            match self.next(boundaries, now_ms, None) {
                Next::Go => break,
                Next::Lead(flight) => return Some(flight.seat(LEADER).enter(cancel).await),
                Next::Wait(flight) => {
                    on_wait();
                    let ticket = flight.seat(LATECOMER).enter(cancel).await;
                    if ticket.leads() || cancel.is_cancelled() {
                        return Some(ticket);
                    }
                    waited = Some(ticket);
                }
            }
        }
        waited
    }

    /// Lets others who share these places find a flight that was made elsewhere, once whoever is writing them already has
    /// begun.
    pub(crate) async fn announce(
        &self,
        ticket: &Ticket,
        boundaries: &[Boundary],
        now_ms: i64,
        cancel: &CancellationToken,
    ) {
        for _ in 0..WAITS_MAX {
            if !ticket.leads() || cancel.is_cancelled() {
                return;
            }
            match self.next(boundaries, now_ms, Some(ticket.flight())) {
                Next::Go | Next::Lead(_) => return,
                Next::Wait(flight) => drop(flight.seat(LATECOMER).enter(cancel).await),
            }
        }
    }

    /// What a request does that shares these places with others; what it leads is registered. `own` is the flight that it
    /// leads already.
    fn next(&self, boundaries: &[Boundary], now_ms: i64, own: Option<&Arc<Flight>>) -> Next {
        let expected = self.expect(boundaries, now_ms);
        let places = self.unwritten(boundaries, &expected);
        let mut flights = lock(&self.engine.flights);
        flights.retain(|_, flight| flight.upgrade().is_some_and(|flight| !flight.is_open()));
        let others = places.iter().rev().filter_map(|(hash, tokens)| {
            let flight = flights.get(&(self.scope, *hash))?.upgrade()?;
            let is_own = own.is_some_and(|own| Arc::ptr_eq(own, &flight));
            (!is_own).then_some((flight, tokens.saturating_sub(expected.read)))
        });
        let worth = |gap: u64| self.is_worth_waiting(&expected, gap);
        if let Some((flight, _)) = others.into_iter().find(|(_, gap)| worth(*gap)) {
            return Next::Wait(flight);
        }
        let flight = match own {
            Some(own) => Arc::clone(own),
            None if worth(expected.gap) => {
                Flight::staged(LEADER, vec![1], self.facts.shares_at, self.leader_wait_max)
            }
            None => return Next::Go,
        };
        for (hash, _) in places {
            flights.insert((self.scope, hash), Arc::downgrade(&flight));
        }
        Next::Lead(flight)
    }

    /// Marked places that no live entry serves yet, with the tokens up to them.
    fn unwritten(&self, boundaries: &[Boundary], expected: &Expectation) -> Vec<([u8; 32], u64)> {
        let known = |kind: BoundaryKind| expected.places.iter().find(|place| place.kind == kind);
        // The tail is this request's own: nobody shares it.
        let shared = boundaries
            .iter()
            .filter(|place| !matches!(place.kind, BoundaryKind::Tail | BoundaryKind::Message));
        let unwritten = shared.filter_map(|place| {
            let known = known(place.kind).filter(|known| known.state != PlaceState::Live)?;
            Some((place.hash, known.tokens))
        });
        unwritten.collect()
    }

    /// Whether one of two who share `gap` unwritten tokens should wait for the other.
    fn is_worth_waiting(&self, expected: &Expectation, gap: u64) -> bool {
        let situation = Situation {
            now_ms: expected.at_ms,
            siblings: 2,
            prefix_tokens: expected.prefix.max(gap),
            gap_tokens: gap,
            ..Situation::default()
        };
        self.plan(situation).launch == Launch::LeaderFirst
    }

    /// Notes that a request goes out at `now_ms`, with what the provider holds of it under a name. Such a request reads what
    /// is held, all of it and nothing else, and nobody says that it writes anything.
    pub fn begin(&self, boundaries: &[Boundary], held: Option<&Held>, now_ms: i64) -> Watched {
        self.begin_in(SlotUse::take(self, boundaries), boundaries, held, now_ms)
    }

    /// Does as [`begin`](Self::begin) does, for a request that has taken a slot.
    pub(crate) fn begin_in(
        &self,
        slot: Option<SlotUse>,
        boundaries: &[Boundary],
        held: Option<&Held>,
        now_ms: i64,
    ) -> Watched {
        let mut ledger = lock(&self.engine.ledger);
        let pass = slot.as_ref().map(SlotUse::pass);
        let (scope, facts) = (&self.scope, &self.facts);
        let expectation = ledger.expect_in(pass, scope, facts, boundaries, now_ms);
        let (expectation, flight) = match held {
            Some(held) => (expectation.held(held.tokens, held.exact, held.bytes), None),
            None => (expectation, Some(ledger.started(&self.scope, boundaries, now_ms))),
        };
        drop(ledger);
        self.note_request(boundaries, now_ms);
        let lane = self.clone();
        let begun = Vec::new();
        Watched { lane, expectation, flight, slot, sent: Instant::now(), first_event: None, begun }
    }

    /// Requests of one key and beginning that went out within the last minute, where the provider counts them.
    pub fn recent_requests(&self, boundaries: &[Boundary], now_ms: i64) -> usize {
        let recent = lock(&self.engine.recent);
        let key = boundaries.first().map(|head| (self.scope, head.hash));
        let starts = key.and_then(|key| recent.get(&key)).into_iter().flatten();
        starts.filter(|start| is_recent(**start, now_ms)).count()
    }

    fn note_request(&self, boundaries: &[Boundary], now_ms: i64) {
        let (Some(head), Some(_)) = (boundaries.first(), self.facts.key_requests_per_minute) else {
            return;
        };
        let mut recent = lock(&self.engine.recent);
        recent.retain(|_, starts| {
            starts.retain(|start| is_recent(*start, now_ms));
            !starts.is_empty()
        });
        recent.entry((self.scope, head.hash)).or_default().push(now_ms);
    }
}

/// Whose cache the requests to a model meet.
pub fn cache_scope(model: &ModelRef, account: &str) -> Scope {
    let provider = match model.provider {
        // One cache, through two doors.
        Provider::OpenAiChat => Provider::OpenAi,
        other => other,
    };
    let text = format!("{}\n{account}\n{}", provider.as_str(), model.name);
    Scope(*blake3::hash(text.as_bytes()).as_bytes())
}

/// Where a cache may hold the first request of a child that is told this.
pub fn child_places(base: &mut Conversation, told: &str) -> Vec<Boundary> {
    let mut child = base.fork();
    // A fork without a prompt sends its first one when it has one.
    let told = if told.is_empty() { ANY_DIRECTIVE } else { told };
    child.push(EntryId(0), Arc::new(Message::user(told)));
    child.request(false).1.boundaries
}

/// Whether a request counts toward the limit per minute. A clock that went backwards makes nobody younger than new.
fn is_recent(start_ms: i64, now_ms: i64) -> bool {
    now_ms.saturating_sub(start_ms) < MINUTE_MS
}

/// A request under way. Dropped without an answer, what it was about to write counts as not written.
pub struct Watched {
    lane: CacheLane,
    expectation: Expectation,
    flight: Option<InFlight>,
    slot: Option<SlotUse>,
    sent: Instant,
    first_event: Option<Duration>,
    begun: Vec<LiveEntry>,
}

/// What the cache did for one request, for the log and for the ledger of later processes.
#[derive(Debug, Clone)]
pub struct CacheRecord {
    /// Whose cache it is.
    pub scope: Scope,
    /// What was expected, place by place.
    pub expectation: Expectation,
    /// What became of it.
    pub judgement: Judgement,
    /// Entries that were written or refreshed.
    pub entries: Vec<LiveEntry>,
    /// The places of the request that a later one can be compared with.
    pub boundaries: Vec<Boundary>,
    /// What the provider says.
    pub diagnosis: Option<Diagnosis>,
    /// Reasoning that the provider left out.
    pub dropped: Vec<DroppedReasoning>,
    /// From sending to the first event of the reply.
    pub first_event: Option<Duration>,
}

impl Watched {
    /// The reply has begun: what the request writes can be read from here on, where the provider's cache works so.
    pub fn begun(&mut self) {
        self.began_after(self.sent.elapsed());
    }

    /// The same, measured by the client, which knows of retries and waits.
    pub fn began_after(&mut self, elapsed: Duration) {
        if self.first_event.is_some() {
            return;
        }
        self.first_event = Some(elapsed);
        if let Some(flight) = &mut self.flight {
            let mut ledger = lock(&self.lane.engine.ledger);
            self.begun = ledger.begun(&self.lane.scope, &self.lane.facts, flight);
        }
        let mut averages = lock(&self.lane.engine.first_events);
        let newest = elapsed.as_secs_f64() * 1000.0;
        let average = averages.entry(self.lane.scope).or_insert(newest);
        *average += NEWEST_SHARE * (newest - *average);
    }

    /// Entries that can be read since the reply has begun, with estimated counts, for whoever tells other processes of them.
    pub fn begun_entries(&self) -> &[LiveEntry] {
        &self.begun
    }

    /// Identity of the cache that it meets.
    pub fn scope(&self) -> Scope {
        self.lane.scope
    }

    /// Whether the reply served less than it should have, so that a difference is worth looking for.
    pub fn fell_short(&self, usage: &Usage) -> bool {
        judge(&self.expectation, usage, &self.lane.facts, None).missed > 0
    }

    /// Takes the slot out that the request was computed in, to keep or to free it.
    pub(crate) fn take_slot(&mut self) -> Option<SlotUse> {
        self.slot.take()
    }

    /// The reply is complete, or as complete as it will be.
    pub fn answered(
        mut self,
        usage: &Usage,
        difference: Option<Segment>,
        boundaries: &[Boundary],
    ) -> CacheRecord {
        let judgement = judge(&self.expectation, usage, &self.lane.facts, difference);
        self.slot.iter_mut().for_each(SlotUse::answered);
        let entries = match self.flight.take() {
            None => Vec::new(),
            Some(flight) => {
                let lane = &self.lane;
                let now_ms = flight.started_ms();
                lock(&lane.engine.ledger).answered(&lane.scope, &lane.facts, flight, usage, now_ms)
            }
        };
        CacheRecord {
            scope: self.lane.scope,
            expectation: self.expectation.clone(),
            judgement,
            entries,
            boundaries: boundaries.to_vec(),
            diagnosis: None,
            dropped: Vec::new(),
            first_event: self.first_event,
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if let Some(flight) = self.flight.take() {
            lock(&self.lane.engine.ledger).failed(&self.lane.scope, flight);
        }
    }
}
