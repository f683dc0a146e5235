//! A law over random trees: what is brought back is exactly what the ancestor does not have, natively or from any of its forks.

use std::collections::{BTreeSet, HashMap};

use proptest::prelude::*;
use tine_store::{EntryKind, NewEntry};

use super::*;
use crate::fixture::House;

/// One step of a tree's life. Numbers are taken modulo what exists.
#[derive(Debug, Clone, Copy)]
enum Step {
    Say(usize),
    Fork(usize),
    /// Whose conclusions, and how many agents above it.
    Merge(usize, usize),
    /// The last message no longer counts.
    Rewind(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0..9usize).prop_map(Step::Say),
        3 => (0..9usize).prop_map(Step::Fork),
        4 => (0..9usize, 0..4usize).prop_map(|(agent, above)| Step::Merge(agent, above)),
        1 => (0..9usize).prop_map(Step::Rewind),
    ];
    prop::collection::vec(step, 1..30)
}

/// A tree, and which entries the envelopes in it stand for.
struct Tree {
    house: House,
    agents: Vec<AgentId>,
    stands_for: HashMap<EntryId, BTreeSet<EntryId>>,
}

impl Tree {
    async fn append(&self, agent: AgentId) {
        let store = self.house.runtime.store();
        let acquire = tine_store::Acquire {
            agent,
            owner: "test",
            is_alive: &|_| true,
            notice: &|_| String::new(),
            now_ms: 1,
        };
        let lease = store.acquire(acquire).await.unwrap();
        let body = r#"{"role":"assistant","blocks":[{"text":"said"}]}"#.to_owned();
        let row = NewEntry { kind: EntryKind::Message, body, at_ms: 1, title: None };
        store.append(agent, lease.fence, &[row]).await.unwrap();
        store.release(&lease).await.unwrap();
    }

    /// The messages that an agent has, and those that it was told of.
    async fn known(&self, agent: AgentId) -> (BTreeSet<EntryId>, BTreeSet<EntryId>) {
        let fold = self.house.runtime.fold(agent, None).await.unwrap();
        let native: BTreeSet<EntryId> = fold.items().map(|item| item.entry).collect();
        let told = native.iter().filter_map(|entry| self.stands_for.get(entry)).flatten();
        let told = told.copied().collect();
        (native, told)
    }

    /// The messages in an agent's log, whether they still count or not.
    async fn rows(&self, agent: AgentId) -> BTreeSet<EntryId> {
        let rows = self.house.runtime.store().lineage(agent, None).await.unwrap();
        rows.into_iter().map(|row| row.id).collect()
    }

    async fn merge(&mut self, source: AgentId, above: usize) {
        let line = self.house.runtime.store().ancestry(source).await.unwrap();
        let Some(most) = line.len().checked_sub(1).filter(|most| *most > 0) else { return };
        let into = line[above % most].id;
        let (shared, (_, told)) = (self.rows(into).await, self.known(into).await);
        let (native, _) = self.known(source).await;
        let expected: BTreeSet<EntryId> =
            native.into_iter().filter(|id| !shared.contains(id) && !told.contains(id)).collect();
        let merge = MergeBack { into: Some(into), ..given(source, "told") };
        match self.house.runtime.merge_back(merge).await {
            Ok(MergedBack { part, arrival: Arrival::Appended(entry) }) => {
                let range = (Some(&part.first), Some(&part.last), part.messages);
                assert_eq!(range, (expected.first(), expected.last(), expected.len()));
                self.stands_for.insert(entry, expected);
            }
            Err(RuntimeError::NothingToBringBack { .. }) => {
                assert_eq!(expected, BTreeSet::new());
            }
            other => panic!("{other:?}"),
        }
    }

    async fn step(&mut self, step: Step) {
        let agent = |number: usize| self.agents[number % self.agents.len()];
        match step {
            Step::Say(number) => self.append(agent(number)).await,
            Step::Fork(number) => {
                let made = self.house.runtime.fork(fork_of(agent(number))).await.unwrap();
                self.agents.push(made.child);
            }
            Step::Merge(number, above) => self.merge(agent(number), above).await,
            Step::Rewind(number) => {
                let agent = agent(number);
                let fold = self.house.runtime.fold(agent, None).await.unwrap();
                let kept = fold.items().map(|item| item.entry).collect::<Vec<_>>();
                let to = kept.len().checked_sub(2).map(|at| kept[at]);
                self.house
                    .runtime
                    .rewind(agent, to.map_or(RewindTo::Beginning, RewindTo::Entry))
                    .await
                    .unwrap();
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn what_comes_back_is_what_the_ancestor_does_not_have(steps in steps()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let house = House::new(ScriptedModel::new([])).await;
            let agents = vec![house.root().await];
            let mut tree = Tree { house, agents, stands_for: HashMap::new() };
            for step in steps {
                tree.step(step).await;
            }
        });
    }
}
