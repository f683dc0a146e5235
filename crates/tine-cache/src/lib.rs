//! What the cache is worth: what is known of models and their prices, which entries are live, how a fan-out should start,
//! whether a request read what it should have read, and what all of it cost.
//!
//! Pure arithmetic over reported usage. This crate talks to no provider, keeps no file and reads no clock.

mod estimate;
mod explicit;
mod facts;
mod fan;
mod forms;
mod ledger;
mod models;
mod plan;
mod price;
mod prices;
mod tokens;
mod verdict;
mod warm;

pub use estimate::{Estimate, EstimateParts, ExpectedRun, estimate};
pub use explicit::{explicit_break_even, pays_explicit};
pub use facts::{Facts, SharesAt};
pub use fan::{FanCost, Sibling, fan_cost, fork_costs};
pub use forms::{Bill, Forms, Shape, closed_forms};
pub use ledger::{
    Expectation, InFlight, Ledger, LiveEntry, Missing, Place, PlaceState, Scope, SlotPass,
    SlotReach,
};
pub use models::{Models, ModelsError, Named};
pub use plan::{
    Asked, FIRST_EVENT_MS, Launch, Plan, PlanCosts, REQUEST_MS, Situation, Warmth, plan,
};
pub use price::{Price, Rates, Tier};
pub use prices::Prices;
pub use tokens::BYTES_PER_TOKEN;
pub use verdict::{Judgement, Verdict, judge};
pub use warm::{Keep, keep, pings_worth};
