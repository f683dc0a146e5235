//! Forks that a program makes with the library, in the store.

use std::sync::Arc;

use async_trait::async_trait;
use tine_fork::request::{HeadParts, Lifetimes};
use tine_fork::tools::{CallContext, ToolAnswer, ToolCall};
use tine_fork::{
    CacheSafeParams, DefaultForkSubagent, ForkParams, ForkSubagent, ParentContext, ParentRequest,
    ToolDispatcher,
};
use tine_model::{AgentState, Message, Standing};
use tine_runtime::StoreRegistry;
use tine_store::AgentFilter;
use tine_testkit::{Answer, ScriptedModel};

use crate::fixture::{House, options};

struct Echo;

#[async_trait]
impl ToolDispatcher for Echo {
    fn is_read_only(&self, _tool: &str) -> bool {
        true
    }

    async fn dispatch(&self, call: &ToolCall, _context: &CallContext) -> ToolAnswer {
        ToolAnswer::ok(call.input.to_string())
    }
}

/// Shows: a listed run leaves rows and a transcript that `tine ps` shows, a hidden one leaves nothing.
#[tokio::test]
async fn a_fork_of_the_library_is_a_worker_of_its_parent_in_the_store() {
    let answers = ["parent", "hidden", "listed"].map(Answer::text);
    let house = House::new(ScriptedModel::new(answers)).await;
    let root = house.root().await;
    house.runtime.run(root, Some("hello".into()), &options()).await.unwrap();
    let record = house.runtime.store().agent(root).await.unwrap();
    let House { home: _home, model, runtime, .. } = house;
    let runtime = Arc::new(runtime);
    let forks = DefaultForkSubagent::new()
        .with_registry(Arc::new(StoreRegistry::new(Arc::clone(&runtime))));
    let request = ParentRequest {
        head: HeadParts::new(record.settings.clone(), "Be brief.".into(), vec![]),
        headers: vec![],
        lifetimes: Lifetimes::default(),
        messages: vec![Message::user("hello")],
    };
    let params = |skip_transcript: bool| ForkParams {
        skip_transcript,
        ..ForkParams::new(
            ParentContext::new(root.to_string()),
            (model.clone(), Arc::new(Echo)),
            CacheSafeParams::from_parent_request(&request),
            "and now?",
        )
    };
    let agents = async || runtime.store().agents(AgentFilter::All).await.unwrap();
    forks.fork(params(true)).await.unwrap().join().await.unwrap();
    assert_eq!(agents().await.len(), 1);
    let listed = forks.fork(params(false)).await.unwrap().join().await.unwrap();
    assert_eq!(listed.final_text.as_deref(), Some("listed"));
    let [_, child] = agents().await.try_into().unwrap();
    assert_eq!((child.parent, child.standing, child.depth), (Some(root), Standing::Worker, 1));
    assert_eq!(child.state, AgentState::Idle);
    let fold = runtime.fold(child.id, None).await.unwrap();
    let texts: Vec<String> = fold.items().map(|item| item.message.text()).collect();
    assert_eq!(texts[texts.len() - 2..], ["and now?", "listed"]);
    assert_eq!(runtime.store().recent_requests(child.id, i64::MAX, 9).await.unwrap().len(), 1);
}
