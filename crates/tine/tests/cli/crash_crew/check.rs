//! What must hold after a run was killed, whatever the moment.

use std::collections::BTreeMap;

use tine_model::{AgentId, AgentState, Standing, TaskStatus};
use tine_sim::SimServer;
use tine_store::{
    AgentFilter, AgentStore, BudgetStore, EntryStore, LeaseStore, MailStore, SqliteStore, Store,
    TaskStore,
};

/// How far a round has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Somebody has looked, and so found the dead.
    Recovered,
    /// The root was taken up again and ran to its end.
    ToTheEnd,
}

/// What was found where all is well.
#[derive(Default)]
pub(super) struct Found {
    /// Tasks by the way in which they ended.
    pub(super) ends: BTreeMap<&'static str, u64>,
    /// Notices that the root has read.
    pub(super) read: u64,
    /// Notices that wait for it.
    pub(super) unread: u64,
    /// Whether a cap is used up.
    pub(super) at_cap: bool,
}

/// What the store and the provider know.
pub(super) struct Books<'a> {
    pub(super) runtime: &'a tokio::runtime::Runtime,
    pub(super) store: &'a SqliteStore,
    pub(super) sim: &'a SimServer,
    /// Workers that were taken up again by themselves, and how often: each end is told.
    pub(super) again: &'a BTreeMap<AgentId, usize>,
}

impl Books<'_> {
    /// Changes with every change of the store.
    pub(super) fn version(&self) -> i64 {
        self.runtime.block_on(self.store.data_version()).unwrap()
    }

    /// The root, when there is one.
    pub(super) fn root(&self) -> Option<AgentId> {
        let agents = self.runtime.block_on(self.store.agents(AgentFilter::All)).unwrap();
        agents.iter().find(|agent| agent.standing == Standing::Root).map(|agent| agent.id)
    }

    /// Whether the root has mail that it has not read.
    pub(super) fn has_mail(&self) -> bool {
        let unread = |root| self.runtime.block_on(self.store.unread_mail(root)).unwrap();
        self.root().is_some_and(|root| !unread(root).is_empty())
    }

    /// Requests that are reserved for, before anybody has looked for the dead.
    pub(super) fn under_way(&self) -> u64 {
        let row = |root| self.runtime.block_on(self.store.budget(root)).unwrap();
        self.root().and_then(row).map_or(0, |row| row.requests)
    }

    /// A worker whose process died.
    pub(super) fn dead_worker(&self, root: AgentId) -> Option<AgentId> {
        let tasks = self.runtime.block_on(self.store.tasks(root)).unwrap();
        let died = |status| matches!(status, TaskStatus::Interrupted | TaskStatus::Lost);
        tasks.iter().find(|task| died(task.status)).map(|task| task.agent)
    }

    /// Whether the task of a worker that had died was opened again: it is open, or somebody has said `prompt` to the worker.
    pub(super) fn has_reopened(&self, worker: AgentId, prompt: &str) -> bool {
        let task = self.runtime.block_on(self.store.task(worker)).unwrap();
        let log = self.runtime.block_on(self.store.own_entries(worker, None)).unwrap();
        let is_open = task.is_some_and(|task| !task.status.is_final());
        is_open || log.iter().any(|row| row.body.contains(prompt))
    }

    /// Everything but the money.
    pub(super) fn check(&self, root: AgentId, stage: Stage) -> Result<Found, String> {
        self.runtime.block_on(self.checked(root, stage))
    }

    async fn checked(&self, root: AgentId, stage: Stage) -> Result<Found, String> {
        let store = self.store;
        for agent in store.agents(AgentFilter::All).await.unwrap() {
            let id = agent.id;
            if agent.state == AgentState::Running {
                return Err(format!("{stage:?}: {id} is said to run"));
            }
            if let Some(lease) = store.lease(id).await.unwrap() {
                return Err(format!("{stage:?}: {id} is held by {}", lease.owner));
            }
            if agent.standing == Standing::Worker && store.task(id).await.unwrap().is_none() {
                return Err(format!("{stage:?}: the worker {id} has no task"));
            }
        }
        let log = store.own_entries(root, None).await.unwrap();
        let mail = store.unread_mail(root).await.unwrap();
        if stage == Stage::ToTheEnd && !mail.is_empty() {
            return Err(format!("{} pieces of mail were never delivered", mail.len()));
        }
        let mut found = Found::default();
        for task in store.tasks(root).await.unwrap() {
            let (id, status) = (task.agent, task.status.as_str());
            if !task.status.is_final() {
                return Err(format!("{stage:?}: the task {id} is {status} for ever"));
            }
            let notice = format!("<task-id>{id}</task-id>");
            let count = |text: &str| text.matches(&notice).count();
            let read = log.iter().map(|row| count(&row.body)).sum::<usize>();
            let unread = mail.iter().map(|row| count(&row.body)).sum::<usize>();
            let ends = 1 + self.again.get(&id).copied().unwrap_or(0);
            if read + unread != ends {
                return Err(format!(
                    "{stage:?}: of {id} ({status}), which has ended {ends} times, {read} notices are in the log and {unread} in the mailbox"
                ));
            }
            found.read += read as u64;
            found.unread += unread as u64;
            *found.ends.entry(status).or_default() += 1;
        }
        let Some(row) = store.budget(root).await.unwrap() else { return Ok(found) };
        found.at_cap = row.caps.tokens.is_some_and(|most| row.tokens >= most);
        let left = [row.requests, row.tokens_reserved, row.running, row.waiting];
        match left == [0; 4] {
            true => Ok(found),
            false => Err(format!("{stage:?}: of the dead is left: {row:?}")),
        }
    }

    /// The cap is passed by less than one request in the books, and in truth by no more than that and what was under way when
    /// somebody died.
    pub(super) fn spending(&self, root: AgentId, cap: u64, under_way: u64) -> Result<(), String> {
        let bills = self.sim.requests().into_iter().filter_map(|request| request.usage);
        let bills: Vec<u64> = bills.map(|usage| usage.prompt() + usage.output).collect();
        let (spent, largest) = (bills.iter().sum::<u64>(), bills.iter().copied().max());
        let largest = largest.unwrap_or(0);
        let row = self.runtime.block_on(self.store.budget(root)).unwrap();
        let booked = row.map_or(0, |row| row.tokens);
        if booked > cap + largest || spent > cap + largest * (1 + under_way) {
            return Err(format!(
                "{booked} tokens are booked and {spent} were spent, {under_way} requests were under way, the largest of {largest}, \
                 under a cap of {cap}"
            ));
        }
        Ok(())
    }
}
