//! Which gate a client's requests pass.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use reqwest::Url;

use super::pass::RateGate;
use crate::Secret;

/// From so many gates on, those that no client uses are forgotten. A process has as many as it has models, times keys.
const GATES_KEPT_MAX: usize = 256;

/// The rate gates of a process. Clients that are made with the same one (or a clone, which is the same) and have the same base
/// URL, key and model share a gate; whoever runs a process should hold exactly one.
#[derive(Clone, Default)]
pub struct RateGates {
    gates: Arc<Mutex<Vec<Entry>>>,
}

struct Entry {
    base_url: Url,
    key: Secret,
    model: String,
    gate: Arc<RateGate>,
}

impl RateGates {
    /// No gates yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The gate of an account (told by its key) for a model.
    pub(crate) fn gate(&self, base_url: &Url, key: &Secret, model: &str) -> Arc<RateGate> {
        let mut gates = self.gates.lock().unwrap_or_else(PoisonError::into_inner);
        let known = gates.iter().find(|entry| {
            entry.base_url == *base_url
                && entry.key.expose() == key.expose()
                && entry.model == model
        });
        if let Some(entry) = known {
            return Arc::clone(&entry.gate);
        }
        if gates.len() >= GATES_KEPT_MAX {
            gates.retain(|entry| Arc::strong_count(&entry.gate) > 1);
        }
        let gate = Arc::<RateGate>::default();
        let (base_url, key, model) = (base_url.clone(), key.clone(), model.to_owned());
        gates.push(Entry { base_url, key, model, gate: Arc::clone(&gate) });
        gate
    }
}

impl fmt::Debug for RateGates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gates = self.gates.lock().unwrap_or_else(PoisonError::into_inner);
        f.debug_struct("RateGates").field("gates", &gates.len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_account_and_model_share_a_gate() {
        let gates = RateGates::new();
        let get = |url: &str, key: &str, model: &str| {
            gates.clone().gate(&url.parse().unwrap(), &Secret::new(key), model)
        };
        let gate = get("https://a.example", "k", "m");
        assert!(Arc::ptr_eq(&gate, &get("https://a.example/", "k\n", "m")));
        for other in [
            get("https://b.example", "k", "m"),
            get("https://a.example", "l", "m"),
            get("https://a.example", "k", "n"),
        ] {
            assert!(!Arc::ptr_eq(&gate, &other));
        }
        assert_eq!(format!("{gates:?}"), "RateGates { gates: 4 }");
    }

    #[test]
    fn gates_that_nobody_uses_are_forgotten() {
        let gates = RateGates::new();
        let url: Url = "https://a.example".parse().unwrap();
        let key = Secret::new("k");
        let used = gates.gate(&url, &key, "used");
        for number in 0..2 * GATES_KEPT_MAX {
            gates.gate(&url, &key, &number.to_string());
        }
        assert!(gates.gates.lock().unwrap().len() <= GATES_KEPT_MAX);
        assert!(Arc::ptr_eq(&used, &gates.gate(&url, &key, "used")));
    }
}
