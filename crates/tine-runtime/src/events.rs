//! One stream of events from all runs of this process, for any number of readers.
//!
//! Every run tells here what happens in it, and every reader takes the events that it has asked for, in one order. Readers differ in
//! what they draw. A reader that is slower than the runs never holds them up: it is told how much it has missed, and finds what was
//! said in the log.
//!
//! Runs of other processes are not heard here. What they write stands in the store
//! ([`ChangeWatch`](crate::ChangeWatch)).

use std::future::Future;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tine_cache::Plan;
use tine_fork::host::Clock;
use tine_fork::run::{Observer, RunEvent};
use tine_model::{AgentId, TaskRecord};
use tine_store::{Fence, PermissionRow};
use tokio::sync::mpsc::{self, error::TrySendError};

use crate::request::Request;

/// Most events that wait for one reader. A reply of many pages has so many parts.
const WAITING_MAX: usize = 4_096;

/// Most events that are read in a row before the work that causes them goes on.
const ROW_MAX: usize = 256;

/// Something that has happened to an agent.
#[derive(Debug, Clone)]
pub struct AgentEvent {
    /// Counts the events of this process, from 1.
    pub sequence: u64,
    /// When, in milliseconds since the Unix epoch.
    pub at_ms: i64,
    /// The agent that it happened to.
    pub agent: AgentId,
    /// The topmost ancestor of the agent.
    pub root: AgentId,
    /// The fence of the lease under which the agent runs; `None` where it does not run itself.
    pub run: Option<Fence>,
    /// The directory that the agent works in.
    pub directory: Arc<Path>,
    /// The occurrence.
    pub kind: EventKind,
}

/// An occurrence in the life of an agent.
#[derive(Debug, Clone)]
pub enum EventKind {
    /// A step of its run.
    Run(RunEvent),
    /// Its task is about to run: it was made as a worker, or is taken up again.
    TaskBegan(Box<TaskRecord>),
    /// Its task has ended.
    TaskEnded(Box<TaskRecord>),
    /// A fan has made these workers of it; none of them runs yet.
    Fanned {
        /// In the order of their directives.
        workers: Vec<AgentId>,
        /// The order in which they start.
        plan: Box<Plan>,
    },
    /// It waits for a word. [`Runtime::answer_request`](crate::Runtime::answer_request) gives one, and so does any other process.
    Asked(Box<Request>),
    /// It waits for that word no longer: it was given one, or its run was stopped. The row says which.
    Settled(Box<PermissionRow>),
}

/// The agents whose events a reader is told. Hidden agents are heard by those who name them, and by nobody else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventFilter {
    /// Those of all agents.
    All,
    /// Those of the agents of the tree with this root.
    Tree(AgentId),
    /// Those of this agent.
    Agent(AgentId),
}

/// An item of a subscription.
#[derive(Debug, Clone)]
pub enum Heard {
    /// An event.
    Event(Arc<AgentEvent>),
    /// So many events came faster than they were read, and are lost to this reader. What agents have said and done is in their logs.
    Lagged(u64),
}

/// A reader of events, from the moment on in which it was made.
#[derive(Debug)]
pub struct Subscription {
    waiting: mpsc::Receiver<Arc<AgentEvent>>,
    missed: Arc<Mutex<u64>>,
}

impl Subscription {
    /// The next event; `None` once the runtime is gone. May be dropped at any time: nothing is lost by that.
    pub async fn next(&mut self) -> Option<Heard> {
        match self.try_next() {
            Some(heard) => Some(heard),
            None => self.waiting.recv().await.map(Heard::Event),
        }
    }

    /// The next event that has happened already.
    pub fn try_next(&mut self) -> Option<Heard> {
        if let Ok(event) = self.waiting.try_recv() {
            return Some(Heard::Event(event));
        }
        // While nothing can be added: else what was missed behind that event would come before it.
        let mut missed = self.missed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Ok(event) = self.waiting.try_recv() {
            return Some(Heard::Event(event));
        }
        let missed = std::mem::take(&mut *missed);
        (missed > 0).then_some(Heard::Lagged(missed))
    }

    /// Does the work, and hands over what happens meanwhile: all of it before this returns.
    pub async fn during<T>(
        mut self,
        work: impl Future<Output = T>,
        mut read: impl FnMut(Heard),
    ) -> T {
        tokio::pin!(work);
        let done = loop {
            std::iter::from_fn(|| self.try_next()).take(ROW_MAX).for_each(&mut read);
            // Both branches are cancel-safe: the work is only polled.
            tokio::select! {
                biased;
                done = &mut work => break done,
                Some(heard) = self.next() => read(heard),
            }
        };
        while let Some(heard) = self.try_next() {
            read(heard);
        }
        done
    }
}

/// All readers of one process.
#[derive(Debug, Default)]
pub(crate) struct Events(Mutex<Readers>);

#[derive(Debug, Default)]
struct Readers {
    told: u64,
    readers: Vec<Reader>,
}

#[derive(Debug)]
struct Reader {
    filter: EventFilter,
    waiting: mpsc::Sender<Arc<AgentEvent>>,
    missed: Arc<Mutex<u64>>,
}

impl Events {
    pub(crate) fn subscribe(&self, filter: EventFilter) -> Subscription {
        self.subscribe_for(filter, WAITING_MAX)
    }

    fn subscribe_for(&self, filter: EventFilter, most: usize) -> Subscription {
        let (send, waiting) = mpsc::channel(most);
        let missed = Arc::default();
        self.lock().readers.push(Reader { filter, waiting: send, missed: Arc::clone(&missed) });
        Subscription { waiting, missed }
    }

    fn lock(&self) -> MutexGuard<'_, Readers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reader {
    /// Returns false once the reader is gone.
    fn tell(&self, event: &Arc<AgentEvent>) -> bool {
        let mut missed = self.missed.lock().unwrap_or_else(PoisonError::into_inner);
        // Behind one that is lost nothing comes before the reader knows of the loss.
        if *missed == 0 {
            match self.waiting.try_send(Arc::clone(event)) {
                Ok(()) => return true,
                Err(TrySendError::Closed(_)) => return false,
                Err(TrySendError::Full(_)) => {}
            }
        }
        *missed += 1;
        !self.waiting.is_closed()
    }
}

/// Tells of one agent.
#[derive(Clone)]
pub(crate) struct Teller {
    pub(crate) events: Arc<Events>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) agent: AgentId,
    pub(crate) root: AgentId,
    pub(crate) run: Option<Fence>,
    pub(crate) directory: Arc<Path>,
    pub(crate) is_hidden: bool,
}

impl Teller {
    /// One whom nobody hears.
    #[cfg(test)]
    pub(crate) fn silent(agent: AgentId) -> Self {
        Self {
            events: Arc::default(),
            clock: Arc::new(tests::OneClock(tine_testkit::FakeClock::new(0))),
            agent,
            root: agent,
            run: None,
            directory: Path::new("/").into(),
            is_hidden: false,
        }
    }

    pub(crate) fn tell(&self, kind: EventKind) {
        let Self { agent, root, run, .. } = *self;
        let mut readers = self.events.lock();
        readers.told += 1;
        let is_for = |filter: EventFilter| match filter {
            EventFilter::All => !self.is_hidden,
            EventFilter::Tree(wanted) => wanted == root && !self.is_hidden,
            EventFilter::Agent(wanted) => wanted == agent,
        };
        if !readers.readers.iter().any(|reader| is_for(reader.filter)) {
            return;
        }
        let event = Arc::new(AgentEvent {
            sequence: readers.told,
            at_ms: self.clock.now_ms(),
            agent,
            root,
            run,
            directory: Arc::clone(&self.directory),
            kind,
        });
        readers.readers.retain(|reader| {
            if is_for(reader.filter) { reader.tell(&event) } else { !reader.waiting.is_closed() }
        });
    }
}

impl Observer for Teller {
    fn on_event(&self, event: RunEvent) {
        self.tell(EventKind::Run(event));
    }
}

#[cfg(test)]
mod tests {
    use tine_testkit::FakeClock;

    use super::*;

    pub(super) struct OneClock(pub(super) FakeClock);

    impl Clock for OneClock {
        fn now_ms(&self) -> i64 {
            self.0.now_ms()
        }
    }

    fn agent(byte: u8) -> AgentId {
        AgentId::from_random([byte; 16])
    }

    /// Tells of the agent with this number, in the tree of the first.
    fn teller(events: &Arc<Events>, number: u8) -> Teller {
        Teller {
            events: Arc::clone(events),
            clock: Arc::new(OneClock(FakeClock::new(1_000))),
            agent: agent(number),
            root: agent(1),
            run: Some(Fence(7)),
            directory: Path::new("/srv").into(),
            is_hidden: number == 9,
        }
    }

    fn turn(turn: u32) -> EventKind {
        EventKind::Run(RunEvent::Request { turn })
    }

    /// What is left to be read, in words.
    fn rest(reader: &mut Subscription) -> Vec<String> {
        let word = |heard| match heard {
            Heard::Event(event) => format!("{} of {}", event.sequence, event.agent.short()),
            Heard::Lagged(missed) => format!("{missed} missed"),
        };
        std::iter::from_fn(|| reader.try_next()).map(word).collect()
    }

    #[test]
    fn a_slow_reader_is_told_what_it_missed_and_hears_on() {
        let events = Arc::new(Events::default());
        let mut slow = events.subscribe_for(EventFilter::All, 2);
        let mut quick = events.subscribe(EventFilter::All);
        let of = |number| agent(number).short();
        let one = teller(&events, 1);
        (1..=5).for_each(|number| one.tell(turn(number)));
        assert_eq!(
            rest(&mut slow),
            [format!("1 of {0}", of(1)), format!("2 of {0}", of(1)), "3 missed".to_owned()]
        );
        one.tell(turn(6));
        assert_eq!(rest(&mut slow), [format!("6 of {}", of(1))]);
        assert_eq!(rest(&mut quick).len(), 6);
    }

    #[test]
    fn readers_hear_whom_they_have_asked_for_and_hidden_agents_by_their_names_alone() {
        let events = Arc::new(Events::default());
        let filters = [
            EventFilter::All,
            EventFilter::Tree(agent(1)),
            EventFilter::Tree(agent(2)),
            EventFilter::Agent(agent(2)),
            EventFilter::Agent(agent(9)),
        ];
        let mut readers = filters.map(|filter| events.subscribe(filter));
        for number in [1, 2, 9] {
            teller(&events, number).tell(turn(1));
        }
        let heard = readers.each_mut().map(|reader| rest(reader).len());
        assert_eq!(heard, [2, 2, 0, 1, 1]);
        drop(readers);
        teller(&events, 1).tell(turn(2));
        assert!(events.lock().readers.is_empty() || events.lock().told == 4);
    }

    #[tokio::test]
    async fn all_that_happens_during_some_work_is_read_before_its_end_is_known() {
        let events = Arc::new(Events::default());
        let reader = events.subscribe(EventFilter::All);
        let one = teller(&events, 1);
        let mut read = 0;
        let work = async {
            one.tell(turn(1));
            tokio::task::yield_now().await;
            one.tell(turn(2));
            "done"
        };
        assert_eq!(reader.during(work, |_| read += 1).await, "done");
        assert_eq!(read, 2);
    }
}
