//! What comes from the terminal, read on a thread of its own that lets go of it whenever something else is to have it.
//!
//! Crossterm's own stream loses sight of keys that come just when it is made anew, until the next one is pressed.

use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crossterm::event::{Event, poll, read};
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// How long one look at the terminal lasts, and so how long it may take to let go of it.
const LOOK: Duration = Duration::from_millis(100);

/// Most events that wait; then the terminal itself keeps what is typed.
const WAITING_MAX: usize = 4_096;

/// How many looks are waited for until the terminal is let go of. More than one only where nobody takes what was read.
const LOOKS_MAX: u32 = 10;

/// Events of the terminal, in their order.
pub(super) struct Typed {
    events: Receiver<io::Result<Event>>,
    gate: Arc<Gate>,
}

/// Where the thread stands still for as long as it must not read.
#[derive(Default)]
struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    is_shut: bool,
    stands_still: bool,
    has_ended: bool,
}

impl Typed {
    /// Begins to read.
    pub(super) fn new() -> io::Result<Self> {
        let (send, events) = channel(WAITING_MAX);
        let gate = Arc::<Gate>::default();
        let shared = Arc::clone(&gate);
        thread::Builder::new()
            .name("terminal".to_owned())
            .spawn(move || read_all(&shared, &send))?;
        Ok(Self { events, gate })
    }

    /// The next event; `None` once the terminal is gone. May be dropped at any time.
    pub(super) async fn next(&mut self) -> Option<io::Result<Event>> {
        self.events.recv().await
    }

    /// Reads no more, until [`Self::go_on`]. Returns once that is so.
    pub(super) fn stand_still(&self) {
        let mut state = self.gate.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.is_shut = true;
        let stands_still = |state: &mut State| !state.stands_still && !state.has_ended;
        let waited = self.gate.changed.wait_timeout_while(state, LOOK * LOOKS_MAX, stands_still);
        drop(waited);
    }

    /// Reads again.
    pub(super) fn go_on(&self) {
        self.gate.set(|state| state.is_shut = false);
    }
}

impl Drop for Typed {
    fn drop(&mut self) {
        self.gate.set(|state| (state.is_shut, state.has_ended) = (false, true));
    }
}

impl Gate {
    fn set(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_all();
    }

    /// Returns once it is open; whether there is anything left to read for.
    fn pass(&self) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while state.is_shut {
            state.stands_still = true;
            self.changed.notify_all();
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.stands_still = false;
        !state.has_ended
    }
}

fn read_all(gate: &Gate, send: &Sender<io::Result<Event>>) {
    while gate.pass() {
        let event = match poll(LOOK) {
            Ok(false) => continue,
            Ok(true) => read(),
            Err(error) => Err(error),
        };
        let is_last = event.is_err();
        if send.blocking_send(event).is_err() || is_last {
            break;
        }
    }
    gate.set(|state| state.has_ended = true);
}
