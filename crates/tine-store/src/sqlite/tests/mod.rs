//! SQLite against the contract, and what only a file can suffer.

mod concurrency;
#[cfg(unix)]
mod fault;
mod figures;
mod opening;
mod remotes;

use std::path::PathBuf;

use async_trait::async_trait;
use proptest::prelude::*;
use tempfile::TempDir;

use crate::contract::{
    Fixture, Inherit, Operation, Spending, lineage_equals_the_naive_model, spending_passes_no_cap,
};
use crate::{EntryKind, OpenOptions, Result, SqliteStore, Store};

/// A store in a directory of its own.
pub(super) struct Directory(TempDir);

impl Directory {
    pub(super) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(super) fn path(&self) -> PathBuf {
        self.0.path().join("data").join("store.db")
    }

    pub(super) async fn sqlite(&self) -> SqliteStore {
        SqliteStore::open(self.path(), OpenOptions::default()).await.unwrap()
    }
}

#[async_trait]
impl Fixture for Directory {
    async fn open(&self) -> Result<Box<dyn Store>> {
        Ok(Box::new(SqliteStore::open(self.path(), OpenOptions::default()).await?))
    }
}

pub(super) fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

mod contract_suite {
    use super::Directory;

    crate::store_contract!(Directory::new());
}

fn operation() -> impl Strategy<Value = Operation> {
    let kind = prop::sample::select(EntryKind::ALL.to_vec());
    let inherit = prop_oneof![
        3 => Just(Inherit::LastEntry),
        2 => any::<usize>().prop_map(Inherit::Entry),
        1 => Just(Inherit::Nothing),
    ];
    prop_oneof![
        4 => (any::<usize>(), prop::collection::vec(kind, 0..4))
            .prop_map(|(agent, kinds)| Operation::Append { agent, kinds }),
        4 => (any::<usize>(), inherit, 0..3_usize)
            .prop_map(|(parent, inherit, more_children)| {
                Operation::Fork { parent, inherit, more_children }
            }),
        1 => Just(Operation::Root),
        2 => any::<usize>().prop_map(Operation::Remove),
        1 => Just(Operation::Reopen),
    ]
}

fn spending() -> impl Strategy<Value = Spending> {
    let agent = || 0..5_usize;
    prop_oneof![
        6 => (agent(), 0..60_u64, 0..40_u64)
            .prop_map(|(agent, tokens, micro_usd)| Spending::Reserve { agent, tokens, micro_usd }),
        5 => (any::<usize>(), 0..90_u64, 0..60_u64)
            .prop_map(|(which, tokens, micro_usd)| Spending::Record { which, tokens, micro_usd }),
        1 => any::<usize>().prop_map(|which| Spending::Release { which }),
        1 => (agent(), prop::option::of(0..300_u64), prop::option::of(0..200_u64))
            .prop_map(|(agent, tokens, micro_usd)| Spending::Cap { agent, tokens, micro_usd }),
        1 => agent().prop_map(|parent| Spending::Fork { parent }),
    ]
}

proptest! {
    // Each case is a store on disk, synced at every step.
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_tree_equals_the_naive_model(operations in prop::collection::vec(operation(), 1..25)) {
        let directory = Directory::new();
        block_on(lineage_equals_the_naive_model(&directory, &operations)).unwrap();
    }

    #[test]
    fn no_spending_passes_a_cap(operations in prop::collection::vec(spending(), 1..40)) {
        let directory = Directory::new();
        block_on(spending_passes_no_cap(&directory, &operations)).unwrap();
    }
}
