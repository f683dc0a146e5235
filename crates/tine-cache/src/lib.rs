//! Prices, closed-form costs and the fan-out plan.
