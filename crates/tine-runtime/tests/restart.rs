//! Law: whatever tree of agents was made, with clear and rewind anywhere, a restart brings every agent back exactly.

#![expect(clippy::unwrap_used, reason = "a step that fails is a failed test")]

mod fixture;

use fixture::{House, options};
use proptest::prelude::*;
use tine_fork::run::RunLimits;
use tine_model::{AgentId, EntryId};
use tine_runtime::{ForkSpec, RewindTo, RunOptions};
use tine_testkit::ScriptedModel;

#[derive(Debug, Clone)]
enum Step {
    Say(usize),
    Fork(usize),
    ForkAt(usize, usize),
    Clear(usize),
    Rewind(usize, usize),
    RewindToNothing(usize),
    Restart,
}

fn step() -> impl Strategy<Value = Step> {
    let agent = || 0usize..6;
    prop_oneof![
        6 => agent().prop_map(Step::Say),
        3 => agent().prop_map(Step::Fork),
        2 => (agent(), 0usize..20).prop_map(|(a, at)| Step::ForkAt(a, at)),
        1 => agent().prop_map(Step::Clear),
        2 => (agent(), 0usize..20).prop_map(|(a, to)| Step::Rewind(a, to)),
        1 => agent().prop_map(Step::RewindToNothing),
        1 => Just(Step::Restart),
    ]
}

/// What an agent must remember, kept the naive way: a copy of everything.
#[derive(Clone)]
struct Naive {
    id: AgentId,
    texts: Vec<(EntryId, String)>,
}

impl Naive {
    fn entry(&self, index: usize) -> Option<EntryId> {
        let texts = self.texts.len().max(1);
        self.texts.get(index % texts).map(|(entry, _)| *entry)
    }
}

async fn remembered(house: &House, agent: AgentId) -> Vec<(EntryId, String)> {
    let fold = house.runtime.fold(agent, None).await.unwrap();
    fold.items().map(|item| (item.entry, item.message.text())).collect()
}

/// Writes one message without asking a model.
async fn say(house: &House, agent: AgentId, text: &str) {
    let limits = RunLimits { turns: 0, ..RunLimits::default() };
    let silent = RunOptions { limits, ..options() };
    house.runtime.run(agent, Some(text.to_owned()), &silent).await.unwrap();
}

async fn apply(house: House, agents: &mut Vec<Naive>, number: usize, step: Step) -> House {
    let count = agents.len();
    match step {
        Step::Restart => return house.reopened().await,
        Step::Say(a) => {
            let naive = &mut agents[a % count];
            say(&house, naive.id, &format!("message {number}")).await;
            let last = remembered(&house, naive.id).await.pop().unwrap();
            assert!(last.1.ends_with(&format!("message {number}")), "{last:?}");
            naive.texts.push(last);
        }
        Step::Fork(a) => {
            let parent = agents[a % count].clone();
            let spec = ForkSpec::of(parent.id);
            let id = house.runtime.fork(spec).await.unwrap().child;
            agents.push(Naive { id, ..parent });
        }
        Step::ForkAt(a, at) => {
            let parent = agents[a % count].clone();
            let Some(at) = parent.entry(at) else { return house };
            let spec = ForkSpec { at: Some(at), ..ForkSpec::of(parent.id) };
            let id = house.runtime.fork(spec).await.unwrap().child;
            // The fork point is a place in the log: a clear or rewind behind it is not inherited, so what counts there
            // is what counted when the entry was the last.
            let texts = remembered(&house, id).await;
            let upto = house.runtime.fold(parent.id, Some(at)).await.unwrap();
            let expected: Vec<_> = upto.items().map(|i| (i.entry, i.message.text())).collect();
            assert_eq!(texts, expected);
            agents.push(Naive { id, texts });
        }
        Step::Clear(a) => {
            let naive = &mut agents[a % count];
            house.runtime.clear(naive.id).await.unwrap();
            naive.texts.clear();
        }
        Step::Rewind(a, to) => {
            let naive = &mut agents[a % count];
            let Some(to) = naive.entry(to) else { return house };
            house.runtime.rewind(naive.id, RewindTo::Entry(to)).await.unwrap();
            naive.texts.retain(|(entry, _)| *entry <= to);
        }
        Step::RewindToNothing(a) => {
            let naive = &mut agents[a % count];
            house.runtime.rewind(naive.id, RewindTo::Beginning).await.unwrap();
            naive.texts.clear();
        }
    }
    house
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_agent_comes_back_exactly(steps in prop::collection::vec(step(), 1..30)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut house = House::new(ScriptedModel::new([])).await;
            let id = house.root().await;
            let mut agents = vec![Naive { id, texts: Vec::new() }];
            for (number, step) in steps.into_iter().enumerate() {
                house = apply(house, &mut agents, number, step).await;
            }
            let house = house.reopened().await;
            for naive in &agents {
                assert_eq!(remembered(&house, naive.id).await, naive.texts, "{}", naive.id);
            }
        });
    }
}
