//! What happens on other tasks, on its way to the screen.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tine_model::AgentId;
use tokio::sync::Notify;

use crate::app::{Event, Happening};

/// Most events that wait. Beyond it growing texts are left out: what they say is in the log once it is whole.
const WAITING_MAX: usize = 10_000;

/// How far back an event of the same agent is looked for, so that words which follow each other become one event.
const LOOK_BACK: usize = 256;

/// Events that wait for the screen. Giving never waits, and costs little however many agents speak.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    events: Mutex<VecDeque<Event>>,
    filled: Notify,
}

impl Inbox {
    /// Gives an event.
    pub(crate) fn push(&self, event: Event) {
        let mut events = self.lock();
        let Some(event) = joined(&mut events, event) else { return };
        if events.len() >= WAITING_MAX && delta(&event).is_some() {
            return;
        }
        events.push_back(event);
        drop(events);
        self.filled.notify_one();
    }

    /// Returns once there is something. May be dropped at any time.
    pub(super) async fn ready(&self) {
        while self.lock().is_empty() {
            self.filled.notified().await;
        }
    }

    /// Whether nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// Takes all that waits.
    pub(crate) fn take(&self) -> VecDeque<Event> {
        std::mem::take(&mut self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Event>> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whose words go on, of which kind.
fn delta(event: &Event) -> Option<(AgentId, bool)> {
    match event {
        Event::Happened(agent, Happening::Text(_)) => Some((*agent, false)),
        Event::Happened(agent, Happening::Thinking(_)) => Some((*agent, true)),
        _ => None,
    }
}

/// Joins words to the last event of the same agent, where that is words of the same kind, and puts what a call has printed in the
/// place of what it had printed before; else gives the event back.
fn joined(events: &mut VecDeque<Event>, event: Event) -> Option<Event> {
    let agent = match &event {
        Event::Happened(agent, Happening::ToolProgress { .. }) => *agent,
        other => match delta(other) {
            Some((agent, _)) => agent,
            None => return Some(event),
        },
    };
    let is_of_agent =
        |before: &&mut Event| matches!(before, Event::Happened(of, _) if *of == agent);
    let last = events.iter_mut().rev().take(LOOK_BACK).find(is_of_agent);
    match (last, event) {
        (
            Some(Event::Happened(_, Happening::Text(text))),
            Event::Happened(_, Happening::Text(more)),
        )
        | (
            Some(Event::Happened(_, Happening::Thinking(text))),
            Event::Happened(_, Happening::Thinking(more)),
        ) => {
            text.push_str(&more);
            None
        }
        (
            Some(Event::Happened(_, Happening::ToolProgress { id: before, printed: old })),
            Event::Happened(_, Happening::ToolProgress { id, printed }),
        ) if *before == id => {
            *old = printed;
            None
        }
        (_, event) => Some(event),
    }
}

#[cfg(test)]
mod tests {
    use tine_model::ToolCallId;

    use super::*;

    #[test]
    fn words_of_one_agent_become_one_event_and_keep_their_place() {
        let inbox = Inbox::default();
        let [a, b] = [1, 2].map(|byte| AgentId::from_random([byte; 16]));
        let say =
            |agent, text: &str| inbox.push(Event::Happened(agent, Happening::Text(text.into())));
        say(a, "one ");
        say(b, "two ");
        say(a, "three");
        inbox.push(Event::Happened(a, Happening::Written));
        say(b, "four");
        say(a, "five");
        for line in ["1", "2"] {
            let (id, printed) = (ToolCallId("t1".into()), vec![line.to_owned()]);
            inbox.push(Event::Happened(a, Happening::ToolProgress { id, printed }));
        }
        let taken: Vec<String> = inbox
            .take()
            .iter()
            .map(|event| match event {
                Event::Happened(agent, what) => format!("{} {what:?}", &agent.short()[..2]),
                other => format!("{other:?}"),
            })
            .collect();
        insta::assert_snapshot!(taken.join("\n"), @r#"
        01 Text("one three")
        02 Text("two four")
        01 Written
        01 Text("five")
        01 ToolProgress { id: ToolCallId("t1"), printed: ["2"] }
        "#);
    }
}
