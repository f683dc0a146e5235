//! Budgets of trees: asking for the right to send a request, waiting where there is none, and the line of workers that run at the
//! same time. What counts and what is refused is the store's to say; nothing here sends or draws anything.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tine_cache::{BYTES_PER_TOKEN, Models};
use tine_fork::run::Permit;
use tine_model::{AgentId, Cap, CapReached, RequestId, Spent, Usage};
use tine_store::{BudgetRow, Lease, Reserve, Reserved, SetBudget, StandInLine, StoreError};
use tokio_util::sync::CancellationToken;

use crate::error::RuntimeError;
use crate::runtime::Runtime;

/// How often whoever waits looks whether the store has changed. A person does not notice it, and one look costs some
/// microseconds.
const BUDGET_POLL: Duration = Duration::from_millis(250);

/// After so many looks the dead are looked for, since nobody changes the store when a process dies: once a second.
const RECOVER_LOOKS: u32 = 4;

/// Millionths of a USD in one.
const MICRO: f64 = 1_000_000.0;

/// What a run does when a cap of its tree is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnBudget {
    /// It ends, with [`Outcome::BudgetExhausted`](tine_model::Outcome::BudgetExhausted).
    #[default]
    End,
    /// It waits, until a cap is raised or it is cancelled.
    Pause,
}

/// Waits for the store to change, and clears the dead away meanwhile: what they had reserved would never come free.
struct Watch<'a> {
    runtime: &'a Runtime,
    looks: u32,
}

impl Watch<'_> {
    /// Returns `true` when the store is no longer what it was at `seen`, or time has passed that may count; `false` when
    /// `cancel` is. May be dropped at any time.
    async fn next(&mut self, seen: i64, cancel: &CancellationToken) -> Result<bool, StoreError> {
        loop {
            tokio::select! {
                () = tokio::time::sleep(BUDGET_POLL) => {}
                () = cancel.cancelled() => return Ok(false),
            }
            self.looks += 1;
            if self.looks.is_multiple_of(RECOVER_LOOKS) {
                self.runtime.recover_rows().await?;
            }
            if self.runtime.store().data_version().await? != seen {
                return Ok(true);
            }
        }
    }
}

/// The money and the tokens of a tree, as the journal of one agent's run asks for them.
pub(crate) struct Purse {
    pub(crate) runtime: Runtime,
    pub(crate) agent: AgentId,
    /// The process, as it is named in leases.
    pub(crate) owner: String,
    pub(crate) model: String,
    /// Most tokens of one reply.
    pub(crate) output_tokens: u64,
    pub(crate) on_budget: OnBudget,
    pub(crate) pending: Mutex<Pending>,
}

/// The request that is under way.
#[derive(Default)]
pub(crate) struct Pending {
    id: Option<RequestId>,
    /// Whether something is reserved for it.
    is_reserved: bool,
}

impl Purse {
    /// Asks until there is an answer. Every cap that has to be raised first is told of once.
    pub(crate) async fn reserve(
        &self,
        body_bytes: u64,
        on_pause: &(dyn Fn(CapReached) + Send + Sync),
        cancel: &CancellationToken,
    ) -> Result<Permit, StoreError> {
        let id = RequestId::from_random(self.runtime.ports().ids.random());
        let store = self.runtime.store();
        let mut watch = Watch { runtime: &self.runtime, looks: 0 };
        let mut told: Option<Cap> = None;
        loop {
            // Before the question, so that no change after it is missed.
            let seen = store.data_version().await?;
            let reached = match store.reserve(self.ask(id, body_bytes)).await? {
                Reserved::Unbounded => {
                    self.begin(Pending { id: Some(id), is_reserved: false });
                    return Ok(Permit::Granted);
                }
                Reserved::Granted => {
                    self.begin(Pending { id: Some(id), is_reserved: true });
                    return Ok(Permit::Granted);
                }
                Reserved::Promised(_) => None,
                Reserved::Spent(reached) => Some(reached),
            };
            match (reached, self.on_budget) {
                (Some(reached), OnBudget::End) => return Ok(Permit::Refused(reached)),
                (Some(reached), OnBudget::Pause) if told != Some(reached.cap) => {
                    told = Some(reached.cap);
                    on_pause(reached);
                }
                (Some(_), OnBudget::Pause) | (None, _) => {}
            }
            if !watch.next(seen, cancel).await? {
                return Ok(Permit::Cancelled);
            }
        }
    }

    /// The id under which the request under way is recorded. Recording it settles what is reserved.
    pub(crate) fn settled(&self) -> Option<RequestId> {
        self.begin(Pending::default()).id
    }

    /// Lets go of what is reserved for a request that came to nothing; does nothing for one that was recorded.
    pub(crate) async fn release(&self) -> Result<(), StoreError> {
        match self.begin(Pending::default()) {
            Pending { id: Some(id), is_reserved: true } => {
                self.runtime.store().release_reservation(id).await
            }
            Pending { .. } => Ok(()),
        }
    }

    /// The request that is under way from now on; what was before.
    fn begin(&self, pending: Pending) -> Pending {
        let mut slot = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut slot, pending)
    }

    /// As much as the request may use: all of its prompt at the dearest rate, and the longest reply.
    fn ask(&self, id: RequestId, body_bytes: u64) -> Reserve {
        let (prompt, output) = (body_bytes.div_ceil(BYTES_PER_TOKEN), self.output_tokens);
        let plain = Usage { output, ..Usage::default() };
        let dearest = [
            Usage { uncached: prompt, ..plain },
            Usage { write_short: Some(prompt), ..plain },
            Usage { write_long: Some(prompt), ..plain },
        ];
        let (facts, now_ms) = (&self.runtime.ports().facts, self.runtime.ports().clock.now_ms());
        let spent = dearest.map(|usage| Spent { started_ms: now_ms, usage });
        let costs = spent.iter().filter_map(|spent| micro_usd(facts, &self.model, spent));
        Reserve {
            id,
            agent: self.agent,
            owner: self.owner.clone(),
            tokens: prompt.saturating_add(output),
            micro_usd: costs.max().unwrap_or(0),
            now_ms,
        }
    }
}

/// What a request cost, in millionths of a USD, rounded up; `None` for a model without a known price.
pub(crate) fn micro_usd(models: &Models, model: &str, spent: &Spent) -> Option<u64> {
    let dollars = models.price(model, spent.started_ms)?.cost(&spent.usage);
    // The last digits of a float are not money.
    Some((dollars * MICRO - 1e-6).ceil().max(0.0) as u64)
}

impl Runtime {
    /// The budget of an agent's tree; `None` where it has none.
    pub async fn budget(&self, agent: AgentId) -> Result<Option<BudgetRow>, RuntimeError> {
        Ok(self.store().budget(agent).await?)
    }

    /// Changes caps of an agent's tree; money in millionths of a USD, time in milliseconds. What is not named stays, and what
    /// the tree has spent before counts. Runs that wait at a cap find out by themselves.
    pub async fn set_budget(
        &self,
        agent: AgentId,
        caps: Vec<(Cap, Option<u64>)>,
    ) -> Result<BudgetRow, RuntimeError> {
        Ok(self.store().set_budget(SetBudget { agent, caps, now_ms: self.now_ms() }).await?)
    }

    /// Waits until a worker may run beside the others of its tree; returns at once where nothing limits them. `on_wait` is
    /// told what it waits for. It holds its place until [`Self::give_slot`], or until its lease is given back. `false` when
    /// `cancel` came first.
    pub async fn take_slot(
        &self,
        lease: &Lease,
        on_wait: &(dyn Fn(CapReached) + Send + Sync),
        cancel: &CancellationToken,
    ) -> Result<bool, RuntimeError> {
        self.line_up(vec![lease.agent], &lease.owner).await?;
        let store = self.store();
        let mut watch = Watch { runtime: self, looks: 0 };
        let mut is_told = false;
        loop {
            let seen = store.data_version().await?;
            let Some(reached) = store.before_in_line(lease.agent).await? else { return Ok(true) };
            if !std::mem::replace(&mut is_told, true) {
                on_wait(reached);
            }
            if !watch.next(seen, cancel).await? {
                return Ok(false);
            }
        }
    }

    /// Gives a worker's place among those that run back, such as while it waits for its own workers: otherwise they might
    /// wait for each other for ever. Afterwards [`Self::take_slot`] lines it up again, behind the others.
    pub async fn give_slot(&self, lease: &Lease) -> Result<(), RuntimeError> {
        Ok(self.store().leave_line(lease.agent).await?)
    }

    /// Puts workers into their tree's line, in this order.
    pub(crate) async fn line_up(
        &self,
        agents: Vec<AgentId>,
        owner: &str,
    ) -> Result<(), RuntimeError> {
        let (owner, now_ms) = (owner.to_owned(), self.now_ms());
        Ok(self.store().stand_in_line(StandInLine { agents, owner, now_ms }).await?)
    }
}
