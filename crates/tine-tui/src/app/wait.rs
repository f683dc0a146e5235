//! Waiting until agents have nothing left to do, as a person at the screen does: everything else goes on meanwhile.

use std::collections::HashSet;

use tine_model::{AgentId, AgentState, TaskRecord};

use super::{App, Effect, Live, Tone, called};
use crate::figures::plural;

/// Who is waited for, and until when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wait {
    /// Who.
    pub(crate) agents: Vec<AgentId>,
    /// When it began, in milliseconds since the Unix epoch.
    pub(crate) began_ms: i64,
    /// When it is given up.
    until_ms: Option<i64>,
}

impl App {
    /// Begins to wait: `SECONDS` and names, both of which may be missing. Without names for all below this agent that work.
    pub(super) fn wait(&mut self, rest: &str) -> Result<(), String> {
        let mut words = rest.split_whitespace().peekable();
        let seconds = words.next_if(|word| word.bytes().all(|byte| byte.is_ascii_digit()));
        let seconds = match seconds.map(str::parse::<i64>) {
            None => None,
            Some(Ok(seconds)) => Some(seconds),
            Some(Err(_)) => return Err("nobody waits that long".to_owned()),
        };
        let mut agents = words.map(|word| self.find(word)).collect::<Result<Vec<_>, _>>()?;
        if agents.is_empty() {
            agents = self.agents_below(self.focus).filter(|agent| self.works(*agent)).collect();
        }
        if agents.is_empty() {
            return Err("nobody below this agent has anything to do".to_owned());
        }
        let until_ms =
            seconds.map(|seconds| self.now_ms.saturating_add(seconds.saturating_mul(1000)));
        self.wait = Some(Wait { agents, began_ms: self.now_ms, until_ms });
        self.look_at_wait();
        Ok(())
    }

    /// Ends the wait where everybody is done, or its time is up, and says what came of it.
    pub(super) fn look_at_wait(&mut self) {
        let Some(wait) = &self.wait else { return };
        let busy = wait.agents.iter().filter(|agent| self.works(**agent)).count();
        let is_over = wait.until_ms.is_some_and(|until_ms| until_ms <= self.now_ms);
        if busy > 0 && !is_over {
            return;
        }
        let mut text: String = wait.agents.iter().map(|agent| self.waited(*agent)).collect();
        if busy > 0 {
            text.push_str(&format!("time is up; {busy} of {} not finished", wait.agents.len()));
        }
        self.wait = None;
        self.say(None, Tone::Plain, text.trim_end().to_owned());
    }

    /// What one waits for, in a few words; nothing where nobody is waited for.
    pub(crate) fn waiting_for(&self) -> Option<String> {
        let wait = self.wait.as_ref()?;
        let busy = wait.agents.iter().filter(|agent| self.works(**agent)).count();
        Some(format!("waiting for {busy} of {}", plural(wait.agents.len() as u64, "agent")))
    }

    /// What an agent of this terminal does, in a few words.
    pub(crate) fn doing_now(&self, agent: AgentId, live: &Live) -> String {
        match self.workers_waited_for(agent) {
            0 => live.doing(),
            workers => format!("waits for {}", plural(workers, "worker")),
        }
    }

    /// How many workers a run of this terminal waits for: one that has had its answer waits for those that it started.
    pub(crate) fn workers_waited_for(&self, agent: AgentId) -> u64 {
        let is_its = |task: &&TaskRecord| task.spawner == agent && !task.status.is_final();
        let workers = self.tasks.values().filter(is_its).count() as u64;
        let is_at_rest = self.lives.get(&agent).is_some_and(Live::is_at_rest);
        if is_at_rest { workers } else { 0 }
    }

    /// Begins a run. Its agent is at work from here on, for a wait in the next line, too: what the run says of itself comes later.
    pub(super) fn begin_run(&mut self, agent: AgentId, prompt: Option<String>) -> Effect {
        self.begun(agent);
        Effect::Run(agent, prompt)
    }

    /// A run of this process is under way.
    pub(super) fn begun(&mut self, agent: AgentId) {
        self.ended.remove(&agent);
        self.lives.insert(agent, Live::begun(self.now_ms));
        self.agents.begin(agent);
    }

    /// Whether an agent has anything left to do.
    fn works(&self, agent: AgentId) -> bool {
        self.runs(agent) || self.tasks.get(&agent).is_some_and(|task| !task.status.is_final())
    }

    /// What an agent has done, and its report.
    fn waited(&self, agent: AgentId) -> String {
        let name = self.record(agent).map_or_else(|| agent.short(), called);
        let task = self.tasks.get(&agent).filter(|task| task.status.is_final());
        let is_dead = self.record(agent).is_none_or(|record| record.state == AgentState::Dead);
        let report = task.and_then(|task| task.report.as_deref().or(task.error.as_deref()));
        let status = match report {
            _ if self.works(agent) => "running",
            Some(_) => "received",
            None if is_dead => "dead",
            None => "idle",
        };
        let report = report.map(|report| format!("{}\n", report.trim())).unwrap_or_default();
        format!("{name}: {status}\n{report}")
    }

    /// All below an agent, that live.
    pub(super) fn agents_below(&self, top: Option<AgentId>) -> impl Iterator<Item = AgentId> {
        let mut tree: HashSet<AgentId> = top.into_iter().collect();
        let mut below = Vec::new();
        // Parents come before their children.
        for agent in self.agents.iter() {
            if agent.state != AgentState::Dead
                && agent.parent.is_some_and(|parent| tree.contains(&parent))
            {
                tree.insert(agent.id);
                below.push(agent.id);
            }
        }
        below.into_iter()
    }
}
