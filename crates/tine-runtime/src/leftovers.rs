//! Processes of tool calls that were cut off because their tine died: found, ended, and told to the model and the person.

use std::collections::HashSet;

use tine_fork::run::{Observer, RunEvent};
use tine_model::{
    AgentId, AgentRecord, AgentState, Entry, EntryBody, Leftover, Message, Role, ToolCallId,
};
use tine_store::Kill;
use tine_tools::{can_find_leftovers, end_leftovers, find_leftovers};

use crate::error::RuntimeError;
use crate::fold::Fold;
use crate::notice::task_notice;
use crate::runtime::Runtime;

/// The calls that a process left open when it died, and what was found of their commands.
#[derive(Debug, Default)]
pub(crate) struct CutOffCalls {
    calls: Vec<CutOffCall>,
    left: Vec<Leftover>,
}

#[derive(Debug)]
struct CutOffCall {
    id: ToolCallId,
    /// An earlier call of the conversation has the same id, as some servers have it in every turn: what carries the id may belong to that
    /// one, and have been left running on purpose.
    shares_id: bool,
}

impl CutOffCalls {
    /// Tells the model what is left of a call; `None` if it was not cut off, or if nothing is known of it. `runs` says that its tool
    /// starts processes.
    pub(crate) fn told(&self, call: &ToolCallId, runs: bool) -> Option<String> {
        let cut_off = self.calls.iter().find(|one| one.id == *call)?;
        if cut_off.shares_id {
            let shared = "Processes of it may still run: earlier calls have its id, so tine cannot tell which are its own.";
            return runs.then(|| shared.to_owned());
        }
        let of_call = self.left.iter().filter(|left| is_of(left, call));
        let left: Vec<Leftover> = of_call.cloned().collect();
        if !left.is_empty() {
            return Some(Leftover::note(&left));
        }
        let unseen = "Processes of it may still run: this system does not let tine look.";
        let none = "No process of it was found running.";
        runs.then(|| if can_find_leftovers() { none } else { unseen }.to_owned())
    }
}

impl CutOffCall {
    fn has(&self, left: &Leftover) -> bool {
        !self.shares_id && is_of(left, &self.id)
    }
}

/// Returns true if a process belongs to this call, or to a call that its script made.
fn is_of(left: &Leftover, call: &ToolCallId) -> bool {
    // As a variable holds it.
    let call = call.0.replace('\0', "");
    let rest = left.call.0.strip_prefix(&call);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

impl Runtime {
    /// Processes that still run for calls of agents whose process died. Reads the store only if there are any.
    pub async fn leftovers(&self) -> Result<Vec<(AgentId, Leftover)>, RuntimeError> {
        self.leftovers_beside(None).await
    }

    /// Returns these, and those of an agent whose process is known to have died.
    async fn leftovers_beside(
        &self,
        dead: Option<AgentId>,
    ) -> Result<Vec<(AgentId, Leftover)>, RuntimeError> {
        let mut left = Vec::new();
        for leftover in on_a_thread(find_leftovers).await {
            let Ok(id) = leftover.agent.parse::<AgentId>() else { continue };
            // Another store's agents are none of ours.
            let Ok(record) = self.store().agent(id).await else { continue };
            // Its tine may live where this one cannot see it: in another container that has the same store.
            if record.state != AgentState::Interrupted && dead != Some(id) {
                continue;
            }
            if self.open_calls(&record).await?.iter().any(|call| call.has(&leftover)) {
                left.push((id, leftover));
            }
        }
        Ok(left)
    }

    /// Ends what still runs of calls of this agent, and of those below it, that were cut off; says so to whoever sees the run. The
    /// agent's record must be as its last process left it.
    pub(crate) async fn end_leftovers(
        &self,
        record: &AgentRecord,
        observer: &dyn Observer,
    ) -> Result<CutOffCalls, RuntimeError> {
        // Who rested, or was never run, has no process that died: calls that a limit left open were never begun.
        if record.state != AgentState::Interrupted {
            return Ok(CutOffCalls::default());
        }
        let calls = self.open_calls(record).await?;
        let below = self.leftovers_below(record.id, true).await?;
        if below.is_empty() {
            return Ok(CutOffCalls { calls, left: below });
        }
        let left = on_a_thread(move || end_leftovers(&below)).await;
        observer.on_event(&RunEvent::LeftBehind(&left));
        let own = record.id.to_string();
        let left = left.into_iter().filter(|one| one.agent == own).collect();
        Ok(CutOffCalls { calls, left })
    }

    /// Kills an agent and its descendants; returns those that were alive, ancestors first. What still runs of calls of theirs that were cut
    /// off is ended as well.
    pub async fn kill(&self, agent: AgentId) -> Result<Vec<AgentId>, RuntimeError> {
        // Whose process died without a word is known as such from now on.
        self.recover().await?;
        let left = self.leftovers_below(agent, false).await?;
        let used = self.used_below(agent).await?;
        let kill = Kill { agent, used: &used, notice: &task_notice, now_ms: self.now_ms() };
        let killed = self.store().kill(kill).await?;
        if !left.is_empty() {
            on_a_thread(move || end_leftovers(&left)).await;
        }
        Ok(killed)
    }

    /// Processes that still run for calls of an agent, and of those below it, that were cut off. `is_dead` says that the agent's own process
    /// is known to have died.
    async fn leftovers_below(
        &self,
        top: AgentId,
        is_dead: bool,
    ) -> Result<Vec<Leftover>, RuntimeError> {
        let mut below = Vec::new();
        for (agent, leftover) in self.leftovers_beside(is_dead.then_some(top)).await? {
            let line = self.store().ancestry(agent).await?;
            if line.iter().any(|ancestor| ancestor.id == top) {
                below.push(leftover);
            }
        }
        Ok(below)
    }

    async fn open_calls(&self, record: &AgentRecord) -> Result<Vec<CutOffCall>, RuntimeError> {
        Ok(open_calls(&self.fold(record.id, None).await?, record.id))
    }
}

/// The calls that the agent itself made last, if their results are not written.
fn open_calls(fold: &Fold, agent: AgentId) -> Vec<CutOffCall> {
    let is_reply = |entry: &Entry, message: &Message| {
        message.role() == Role::Assistant && matches!(entry.body, EntryBody::Message(_))
    };
    // A parent's calls are not the agent's.
    let last = fold.effective().last().filter(|(entry, _)| entry.agent == agent);
    let Some((last, item)) = last.filter(|(entry, item)| is_reply(entry, &item.message)) else {
        return Vec::new();
    };
    // Also those that a compaction or a rewind took out of the conversation.
    let earlier = fold.entries().iter().map(|folded| &folded.entry).filter(|one| one.id != last.id);
    let messages = earlier.filter_map(|entry| match &entry.body {
        EntryBody::Message(message) if is_reply(entry, message) => Some(message),
        _ => None,
    });
    let known: HashSet<&ToolCallId> = messages.flat_map(|message| message.tool_calls()).collect();
    let call = |id: &ToolCallId| CutOffCall { id: id.clone(), shares_id: known.contains(id) };
    item.message.tool_calls().map(call).collect()
}

/// Looks through processes on a thread that may wait.
async fn on_a_thread(look: impl FnOnce() -> Vec<Leftover> + Send + 'static) -> Vec<Leftover> {
    // A look that fails finds nothing.
    tokio::task::spawn_blocking(look).await.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use tine_model::{Block, EntryId, ToolInput};

    use super::*;

    #[test]
    fn a_call_is_told_what_is_left_of_it_and_of_its_script() {
        let id = |text: &str| ToolCallId(text.to_owned());
        let left = Leftover {
            process: 7,
            command: "sleep 1000".to_owned(),
            agent: "a".to_owned(),
            call: id("c1.2"),
            is_ended: true,
        };
        let open = |text: &str| CutOffCall { id: id(text), shares_id: text == "c4" };
        let left = [Leftover { call: id("c4"), ..left.clone() }, left];
        let cut =
            CutOffCalls { calls: ["c1", "c10", "c2", "c4"].map(open).into(), left: left.into() };
        let told = ["c1", "c10", "c2", "c3", "c4"].map(|call| cut.told(&id(call), call != "c2"));
        insta::assert_debug_snapshot!(told, @r#"
        [
            Some(
                "Processes of it still ran and were ended now: 7 (`sleep 1000`).",
            ),
            Some(
                "No process of it was found running.",
            ),
            None,
            None,
            Some(
                "Processes of it may still run: earlier calls have its id, so tine cannot tell which are its own.",
            ),
        ]
        "#);
    }
    #[test]
    fn an_id_that_comes_again_says_nothing_of_whose_a_process_is() {
        let agent = AgentId::from_random([1; 16]);
        let call = |name: &str| {
            let input = ToolInput::Invalid(String::new());
            let id = ToolCallId(name.to_owned());
            let call = Block::ToolUse { id, name: "Bash".to_owned(), input };
            EntryBody::Message(Message::new(Role::Assistant, vec![call]).into())
        };
        let result = || EntryBody::Message(Message::user("done").into());
        let shared = |bodies: Vec<EntryBody>| {
            let entries = bodies.into_iter().zip(1..);
            let entry = |(body, id)| Entry { id: EntryId(id), agent, at_ms: 0, body };
            let calls = open_calls(&Fold::of(entries.map(entry)), agent);
            calls.into_iter().map(|call| call.shares_id).collect::<Vec<_>>()
        };
        assert_eq!(shared(vec![call("a"), result(), call("b")]), [false]);
        assert_eq!(shared(vec![call("a"), result(), call("a")]), [true]);
        assert_eq!(shared(vec![call("a"), EntryBody::Clear, call("a")]), [true]);
        assert_eq!(shared(vec![call("a"), result()]), [false; 0]);
    }
}
