//! Words for an agent that are not in its log yet: the prompt of a run, and what waits for its next turn.

use tine_model::{AgentId, Block, EntryBody, EntryId, Message, Role};
use tine_runtime::FoldedEntry;

use super::piece::Tone;
use super::room::{Room, Scroll};
use super::{App, Effect, Face};

impl App {
    /// Words for an agent: its prompt, or, while it runs, a message for its next turn.
    pub(crate) fn say_to(&mut self, agent: AgentId, text: String) -> Vec<Effect> {
        let runs = self.runs(agent);
        if let Some(room) = self.rooms.get_mut(&agent) {
            room.scroll = Scroll::Bottom;
            if runs { room.queued.push(text.clone()) } else { room.sent = Some(text.clone()) }
        }
        if runs {
            self.tell("sent; it is read at the next turn");
            vec![Effect::Send(agent, text)]
        } else {
            vec![self.begin_run(agent, Some(text))]
        }
    }

    /// The person interrupts an agent: what it has not read by then comes back. Without a screen it waits for the next words.
    pub(super) fn take_back(&self, agent: AgentId) -> Option<Effect> {
        let waits = self.rooms.get(&agent).is_some_and(|room| !room.queued.is_empty());
        (waits && self.face == Face::Screen).then_some(Effect::TakeBack(agent))
    }

    /// Messages that an agent has not read, and will not: they come back into its line, before what stands there.
    pub(super) fn taken_back(&mut self, agent: AgentId, texts: &[String]) {
        let Some(room) = self.rooms.get_mut(&agent) else { return };
        for text in texts {
            room.forget_queued(text);
            room.sent.take_if(|sent| sent == text);
        }
        let words = texts.join("\n");
        if self.face != Face::Screen {
            room.say(Tone::Plain, format!("Taken back: {words}"));
            return;
        }
        let draft = room.input.text();
        // Whoever had recalled them has them already.
        let has_them = draft.is_empty() || draft == words;
        let line = if has_them { words } else { format!("{words}\n{draft}") };
        room.input.set(&line);
        self.questions.unread();
    }

    /// The log of an agent: all of it, or what was written since an entry.
    pub(super) fn log_was_read(
        &mut self,
        agent: AgentId,
        after: Option<EntryId>,
        entries: &[FoldedEntry],
    ) {
        let live = self.lives.get_mut(&agent);
        let Some(room) = self.rooms.get_mut(&agent) else { return };
        let known = room.last;
        match after {
            None => room.fill(entries),
            Some(_) => room.extend(entries),
        }
        room.was_read();
        let fresh = entries.iter().filter(|folded| Some(folded.entry.id) > known);
        room.forget_read(fresh);
        let mut replies = entries.iter().filter_map(reply);
        if let (Some((id, message)), Some(live)) = (replies.next_back(), live) {
            live.forget_said();
            if Some(id) > known {
                live.forget_written(&message.text());
            }
        }
    }
}

impl Room {
    /// What is in the log now is shown from there.
    fn forget_read<'e>(&mut self, entries: impl Iterator<Item = &'e FoldedEntry>) {
        for message in entries.filter_map(message_of_user) {
            let texts = message.blocks().iter().filter_map(Block::as_text);
            for text in texts {
                self.sent = None;
                self.forget_queued(text);
            }
        }
    }

    /// A message waits no more.
    fn forget_queued(&mut self, text: &str) {
        let place = self.queued.iter().position(|queued| queued == text);
        place.into_iter().for_each(|place| drop(self.queued.remove(place)));
    }
}

fn message_of_user(folded: &FoldedEntry) -> Option<&Message> {
    match &folded.entry.body {
        EntryBody::Message(message) if message.role() == Role::User => Some(message.as_ref()),
        _ => None,
    }
}

/// A message of the model's, and its entry.
fn reply(folded: &FoldedEntry) -> Option<(EntryId, &Message)> {
    match &folded.entry.body {
        EntryBody::Message(message) if message.role() == Role::Assistant => {
            Some((folded.entry.id, message.as_ref()))
        }
        _ => None,
    }
}
