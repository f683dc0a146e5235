//! What the cache is worth: prices, what a fan-out cost beside what it could have cost, and whether to wait for a leader.
//!
//! Pure arithmetic over reported usage. This crate talks to no provider and reads no clock.

mod fan;
mod plan;
mod prices;

pub use fan::{FanCost, fan_cost};
pub use plan::{Launch, Prefix, SHORT_LIFETIME_MS, plan};
pub use prices::{Price, PriceError, Prices};
