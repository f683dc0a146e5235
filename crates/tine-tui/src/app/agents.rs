//! All agents that are known: a list with an index, so that each is found at once however many there are.

use std::collections::{HashMap, HashSet};
use std::ops::Deref;

use tine_model::{AgentId, AgentRecord, AgentState};

/// The agents, the oldest first. Read as a slice.
#[derive(Debug, Default)]
pub(crate) struct Agents {
    list: Vec<AgentRecord>,
    /// Where in the list each of them is.
    places: HashMap<AgentId, usize>,
    /// Where those are that run, by their rows.
    running: Vec<usize>,
    /// How many are dead.
    dead: usize,
    /// Those that were made here, and that no list has held yet: one that was read before may come after.
    new: HashSet<AgentId>,
    /// Counts the changes, so that what was made of the list is made anew after one.
    revision: u64,
}

impl Agents {
    /// Takes the list as it was read.
    pub(super) fn replace(&mut self, list: Vec<AgentRecord>) {
        self.list = list;
        self.changed();
        self.new.retain(|agent| !self.places.contains_key(agent));
    }

    /// Adds one that is not known yet.
    pub(super) fn add(&mut self, record: AgentRecord) {
        if !self.places.contains_key(&record.id) {
            self.new.insert(record.id);
            self.list.push(record);
            self.changed();
        }
    }

    /// Notes that one runs: what its row says of an earlier run is over, also while no later row is read.
    pub(super) fn begin(&mut self, agent: AgentId) {
        let record = self.places.get(&agent).and_then(|place| self.list.get_mut(*place));
        if let Some(record) = record {
            record.state = AgentState::Running;
            self.changed();
        }
    }

    /// Notes that these are dead.
    pub(super) fn bury(&mut self, agents: &[AgentId]) {
        for id in agents {
            let record = self.places.get(id).and_then(|place| self.list.get_mut(*place));
            record.into_iter().for_each(|record| record.state = AgentState::Dead);
        }
        self.changed();
    }

    /// Returns true for an agent that was made here and that no list has held yet.
    pub(super) fn is_new(&self, agent: AgentId) -> bool {
        self.new.contains(&agent)
    }

    /// The row of an agent.
    pub(crate) fn get(&self, agent: AgentId) -> Option<&AgentRecord> {
        self.list.get(self.place(agent)?)
    }

    /// Where in the list an agent is.
    pub(super) fn place(&self, agent: AgentId) -> Option<usize> {
        self.places.get(&agent).copied()
    }

    /// Where those are that run, by their rows.
    pub(super) fn running(&self) -> &[usize] {
        &self.running
    }

    /// How many are dead.
    pub(crate) fn dead(&self) -> usize {
        self.dead
    }

    /// How often the list has changed.
    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    fn changed(&mut self) {
        let places = || self.list.iter().enumerate();
        self.places = places().map(|(place, agent)| (agent.id, place)).collect();
        let is_running = |agent: &AgentRecord| agent.state == AgentState::Running;
        self.running =
            places().filter(|(_, agent)| is_running(agent)).map(|(place, _)| place).collect();
        self.dead = self.list.iter().filter(|agent| agent.state == AgentState::Dead).count();
        self.revision += 1;
    }
}

impl Deref for Agents {
    type Target = [AgentRecord];

    fn deref(&self) -> &[AgentRecord] {
        &self.list
    }
}
