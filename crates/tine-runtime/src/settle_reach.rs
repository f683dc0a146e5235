//! The reach of a run, from what is wished for and what is stored.

use tine_model::AgentRecord;
use tine_store::{Lease, SetReach};

use crate::confine::{Confinement, ReachWish};
use crate::error::RuntimeError;
use crate::runtime::Runtime;

impl Runtime {
    /// The confinement of a run under this lease, from what is wished for and what is stored. A wish that is to be stored is, and
    /// the record has it from then on; a run that wishes less than is stored has that in its record for its own time.
    pub(crate) async fn settle_reach(
        &self,
        record: &mut AgentRecord,
        lease: &Lease,
        confinement: &Confinement,
    ) -> Result<Confinement, RuntimeError> {
        let settled = confinement.around(&record.reach);
        let reach = settled.reach.reach().clone();
        match &confinement.reach {
            ReachWish::Narrow(_) | ReachWish::Person(_) if reach != record.reach => {
                let (agent, fence, now_ms) = (record.id, Some(lease.fence), self.now_ms());
                let change = SetReach { agent, reach: reach.clone(), fence, now_ms };
                self.store().set_reach(change).await?;
            }
            ReachWish::Run(_) | ReachWish::Narrow(_) | ReachWish::Person(_) => {}
        }
        record.reach = reach;
        Ok(settled)
    }
}
