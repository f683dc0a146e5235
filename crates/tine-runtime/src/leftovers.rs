//! Processes of tool calls that were cut off because their tine died: found, ended, and told to the model and the person.

use tine_fork::run::{Observer, RunEvent};
use tine_model::{
    AgentId, AgentRecord, AgentState, Entry, EntryBody, Leftover, Message, Role, Standing,
    ToolCallId,
};
use tine_store::Kill;
use tine_tools::{can_find_leftovers, end_leftovers, find_leftovers};

use crate::error::RuntimeError;
use crate::fold::Fold;
use crate::notice::task_notice;
use crate::runtime::Runtime;

/// Whom to kill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KillSpec {
    /// The agent, with all below it.
    pub agent: AgentId,
    /// True where a root may be killed, too, and its whole tree with it.
    pub roots: bool,
}

/// Returns true for an agent that is killed only where roots are asked for: a tree is not to be lost with a slip of the hand.
pub fn is_living_root(record: &AgentRecord) -> bool {
    record.standing == Standing::Root && record.state != AgentState::Dead
}

/// The calls that a process left open when it died, and what was found of their commands.
#[derive(Debug, Default)]
pub(crate) struct CutOffCalls {
    calls: Vec<ToolCallId>,
    left: Vec<Leftover>,
}

impl CutOffCalls {
    /// Tells the model what is left of a call; `None` if it was not cut off, or if nothing is known of it. `runs` says that its tool
    /// starts processes.
    pub(crate) fn told(&self, call: &ToolCallId, runs: bool) -> Option<String> {
        self.calls.iter().find(|one| *one == call)?;
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

/// Returns true if a process belongs to this call, or to a call that its script made.
fn is_of(left: &Leftover, call: &ToolCallId) -> bool {
    // As a variable holds it.
    let call = call.0.replace('\0', "");
    let rest = left.call.0.strip_prefix(&call);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

impl Runtime {
    /// Processes that still run for calls of agents, although the tine that started them has gone. Reads the store only if there are any.
    pub async fn leftovers(&self) -> Result<Vec<(AgentId, Leftover)>, RuntimeError> {
        let mut left = Vec::new();
        for leftover in on_a_thread(find_leftovers).await {
            let Ok(id) = leftover.agent.parse::<AgentId>() else { continue };
            // Another store's agents are none of ours.
            if self.store().agent(id).await.is_ok() {
                left.push((id, leftover));
            }
        }
        Ok(left)
    }

    /// Ends what still runs of calls of this agent, and of those below it, whose tine has gone; says so to whoever sees the run. The
    /// agent's record must be as its last process left it.
    pub(crate) async fn end_leftovers(
        &self,
        record: &AgentRecord,
        observer: &dyn Observer,
    ) -> Result<CutOffCalls, RuntimeError> {
        // Who rested has no call that was cut off: those that a limit left open were never begun.
        let calls = match record.state {
            AgentState::Interrupted => open_calls(&self.fold(record.id, None).await?, record.id),
            AgentState::Idle | AgentState::Running | AgentState::Dead => Vec::new(),
        };
        // What a worker keeps ends with it.
        let was_over = record.state == AgentState::Idle && record.standing == Standing::Worker;
        let below = if was_over { Vec::new() } else { self.leftovers_below(record.id).await? };
        if below.is_empty() {
            return Ok(CutOffCalls { calls, left: below });
        }
        let left = on_a_thread(move || end_leftovers(&below)).await;
        observer.on_event(RunEvent::LeftBehind(left.clone()));
        let own = record.id.to_string();
        let left = left.into_iter().filter(|one| one.agent == own).collect();
        Ok(CutOffCalls { calls, left })
    }

    /// Refuses to kill a living root, unless that is asked for.
    pub async fn check_kill(&self, spec: KillSpec) -> Result<(), RuntimeError> {
        let record = self.store().agent(spec.agent).await?;
        if spec.roots || !is_living_root(&record) {
            return Ok(());
        }
        let below = self.living_with(spec.agent).await?.len().saturating_sub(1);
        Err(RuntimeError::KillsRoot { agent: spec.agent, below })
    }

    /// Kills an agent and its descendants; returns those that were alive, ancestors first. Their logs, and their parents', say so. What
    /// still runs of calls of theirs that were cut off is ended as well.
    pub async fn kill(&self, spec: KillSpec) -> Result<Vec<AgentId>, RuntimeError> {
        self.check_kill(spec).await?;
        let agent = spec.agent;
        // Whose process died without a word is known as such from now on.
        self.recover().await?;
        let left = self.leftovers_below(agent).await?;
        let used = self.used_below(agent).await?;
        let kill = Kill { agent, used: &used, notice: &task_notice, now_ms: self.now_ms() };
        let killed = self.store().kill(kill).await?;
        self.end_background(&killed).await;
        if !left.is_empty() {
            on_a_thread(move || end_leftovers(&left)).await;
        }
        Ok(killed)
    }

    /// Processes that still run for calls of an agent, and of those below it, although their tine has gone.
    async fn leftovers_below(&self, top: AgentId) -> Result<Vec<Leftover>, RuntimeError> {
        let mut below = Vec::new();
        for (agent, leftover) in self.leftovers().await? {
            let line = self.store().ancestry(agent).await?;
            if line.iter().any(|ancestor| ancestor.id == top) {
                below.push(leftover);
            }
        }
        Ok(below)
    }
}

/// The calls that the agent itself made last, if their results are not written.
fn open_calls(fold: &Fold, agent: AgentId) -> Vec<ToolCallId> {
    let is_reply = |entry: &Entry, message: &Message| {
        message.role() == Role::Assistant && matches!(entry.body, EntryBody::Message(_))
    };
    // A parent's calls are not the agent's.
    let last = fold.effective().last().filter(|(entry, _)| entry.agent == agent);
    let last = last.filter(|(entry, item)| is_reply(entry, &item.message));
    last.map(|(_, item)| item.message.tool_calls().cloned().collect()).unwrap_or_default()
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
        let cut = CutOffCalls { calls: ["c1", "c10", "c2"].map(id).into(), left: vec![left] };
        let told = ["c1", "c10", "c2", "c3"].map(|call| cut.told(&id(call), call != "c2"));
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
        ]
        "#);
    }

    #[test]
    fn only_calls_that_nobody_answered_were_cut_off() {
        let agent = AgentId::from_random([1; 16]);
        let call = |name: &str| {
            let input = ToolInput::Invalid(String::new());
            let id = ToolCallId(name.to_owned());
            let call = Block::ToolUse { id, name: "Bash".to_owned(), input };
            EntryBody::Message(Message::new(Role::Assistant, vec![call]).into())
        };
        let result = || EntryBody::Message(Message::user("done").into());
        let open = |bodies: Vec<EntryBody>| {
            let entries = bodies.into_iter().zip(1..);
            let entry = |(body, id)| Entry { id: EntryId(id), agent, at_ms: 0, body };
            let calls = open_calls(&Fold::of(entries.map(entry)), agent);
            calls.into_iter().map(|call| call.0).collect::<Vec<_>>()
        };
        assert_eq!(open(vec![call("a"), result(), call("b")]), ["b"]);
        assert_eq!(open(vec![call("a"), result()]), [""; 0]);
    }
}
