//! What a server was asked for in all: requests and tokens by kind, for each model that was named.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tine_model::Usage;

/// Sums of one model.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    requests: u64,
    refused: u64,
    usage: Usage,
}

impl Sum {
    fn to_json(self) -> Value {
        let Self { requests, refused, usage } = self;
        json!({
            "requests": requests,
            "refused": refused,
            "uncached_tokens": usage.uncached,
            "write_short_tokens": usage.write_short.unwrap_or(0),
            "write_long_tokens": usage.write_long.unwrap_or(0),
            "read_tokens": usage.read.unwrap_or(0),
            "output_tokens": usage.output,
        })
    }
}

/// The sums of all models.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    models: BTreeMap<String, Sum>,
}

impl Totals {
    /// Counts one answered request; without a usage it was refused, or cost nothing.
    pub(crate) fn count(&mut self, model: &str, usage: Option<Usage>) {
        let sum = self.models.entry(model.to_owned()).or_default();
        match usage {
            Some(usage) => {
                sum.requests += 1;
                sum.usage += usage;
            }
            None => sum.refused += 1,
        }
    }

    /// As `GET /sim/usage` gives it.
    pub(crate) fn to_json(&self) -> Value {
        let mut total = Sum::default();
        for sum in self.models.values() {
            total.requests += sum.requests;
            total.refused += sum.refused;
            total.usage += sum.usage;
        }
        let models: serde_json::Map<String, Value> =
            self.models.iter().map(|(name, sum)| (name.clone(), sum.to_json())).collect();
        json!({"total": total.to_json(), "models": models})
    }
}
