//! The delegation tool: a fork of another agent does a task while the caller waits.

use std::sync::Arc;
use std::time::Duration;

use tine_fork::delegate::{DelegateTool, Peer, Peers};
use tine_fork::{DelegateMode, ForkParams, ForkResult, ToolDispatcher};
use tine_llm::LlmClient;
use tine_model::{Message, Outcome};
use tine_testkit::{Answer, ScriptedModel};

use crate::house::{House, every_format, model, results};

/// The tool in front of the house's own, with the peers `lib` and `lib-2`, which answer as `peer` does.
fn tool(house: &House, peer: &Arc<ScriptedModel>, tools: Arc<dyn ToolDispatcher>) -> DelegateTool {
    let (last_request, llm) = (house.inherited(), Arc::clone(peer) as Arc<dyn LlmClient>);
    let peers = move |id: &str| {
        let is_known = ["lib", "lib-2"].contains(&id);
        is_known.then(|| Peer::new(last_request.clone(), (Arc::clone(&llm), Arc::clone(&tools))))
    };
    let own = Arc::clone(&house.tools) as Arc<dyn ToolDispatcher>;
    let peers: Arc<dyn Peers> = Arc::new(peers);
    DelegateTool::new(Arc::new(house.forks.clone()), peers, own)
}

fn plain(house: &House, peer: &Arc<ScriptedModel>) -> DelegateTool {
    tool(house, peer, Arc::clone(&house.tools) as _).allowing(["lib", "lib-*"])
}

/// The parameters of a caller that has this tool.
fn caller(house: &House, model: &Arc<ScriptedModel>, tool: DelegateTool) -> ForkParams {
    ForkParams { tool_dispatcher: Arc::new(tool), ..house.params(model) }
}

/// A caller that delegates once with these arguments.
async fn ask(house: &House, tool: DelegateTool, arguments: &str) -> ForkResult {
    let model = model([Answer::calls([("c1", "delegate", arguments)]), Answer::text("ok")]);
    house.fork(caller(house, &model, tool)).await.join().await.unwrap()
}

/// What the caller was told.
fn told(result: &ForkResult) -> String {
    results(&result.messages[2]).join("\n")
}

const TASK: &str = r#"{"agent_id":"lib","task":"count","context":"in src"}"#;

every_format! {
    /// Shows: a sync delegation answers with the peer's final text, from a fork that inherits what the peer knows.
    async fn the_answer_is_the_final_text_of_a_fork_of_the_peer(house: House) {
        let peer = model([Answer::calls([("p1", "Echo", "{}")]), Answer::text("Three.")]);
        let result = ask(&house, plain(&house, &peer), TASK).await;
        assert_eq!((&result.outcome, told(&result).as_str()), (&Outcome::Completed, "c1 false Three."));
        let requests = peer.requests();
        let first = requests[0].text();
        for part in ["The parent's words.", "hands you a task", "Task:\\ncount", "Context from `", "in src"] {
            assert!(first.contains(part), "{part} is not in {first}");
        }
        assert!(requests[1].text().contains("{} by lib"), "the peer's tools are told its id");
    }

    /// Shows: calls of other tools go to the embedder's own.
    async fn other_tools_are_as_they_were(house: House) {
        let model = model([Answer::calls([("c1", "Echo", "{}"), ("c2", "Fly", "{}")]), Answer::text("ok")]);
        let tool = plain(&house, &model);
        assert!(tool.is_read_only("Echo") && !tool.is_read_only("delegate"));
        let result = house.fork(caller(&house, &model, tool)).await.join().await.unwrap();
        let agent = result.run_id;
        assert_eq!(told(&result), format!("c1 false {{}} by {agent}\nc2 true There is no tool `Fly`."));
    }

    /// Shows: only allowed peers may be asked, the allow list takes a trailing `*`, an empty one allows nobody, and a refusal
    /// names the allowed peers.
    async fn only_allowed_peers_are_asked(house: House) {
        let peer = model([Answer::text("Yes.")]);
        let asked = |id: &str| format!(r#"{{"agent_id":"{id}","task":"count"}}"#);
        let result = ask(&house, plain(&house, &peer), &asked("lib-2")).await;
        assert_eq!(told(&result), "c1 false Yes.");
        let result = ask(&house, plain(&house, &peer), &asked("other")).await;
        let told_other = "c1 true You may not delegate to `other`. Allowed: `lib`, `lib-*` (`*` stands for any end).";
        assert_eq!((told(&result).as_str(), result.outcome), (told_other, Outcome::Completed));
        let result = ask(&house, plain(&house, &peer), &asked("lib-9")).await;
        assert_eq!(told(&result), "c1 true There is no agent `lib-9` now. Allowed: `lib`, `lib-*` (`*` stands for any end).");
        let nobody = plain(&house, &peer).allowing(Vec::<String>::new());
        let result = ask(&house, nobody, &asked("lib")).await;
        assert_eq!(told(&result), "c1 true You may not delegate to `lib`. You may delegate to nobody.");
        let result = ask(&house, plain(&house, &peer), "{}").await;
        assert_eq!(told(&result), "c1 true `agent_id` is missing or blank.");
        assert_eq!(peer.requests().len(), 1, "a refused delegation starts nothing");
    }

    /// Shows: a delegation has a time limit of 30 s by default, which ends the task and not the caller.
    async fn a_time_out_ends_the_task_and_not_the_caller(house: House) {
        let peer = model([Answer::calls([("p1", "Echo", "{}")]), Answer::text_then_hang("So far 2")]);
        let began = tokio::time::Instant::now();
        let result = ask(&house, plain(&house, &peer), TASK).await;
        assert_eq!(began.elapsed(), Duration::from_secs(30));
        assert_eq!(result.outcome, Outcome::Completed, "the caller goes on");
        assert!(!house.parent.abort.is_cancelled());
        let expected = "c1 true `lib` did not complete the task.\noutcome: timed_out (after 30000 ms)\nturns: 1\n\
            tool calls: 1\npartial answer:\nSo far 2";
        assert_eq!(told(&result), expected);
    }

    /// Shows: what goes wrong with the peer is an answer that says what.
    async fn a_failure_is_an_answer(house: House) {
        let peer = model([]);
        let result = ask(&house, plain(&house, &peer), TASK).await;
        let expected = "c1 true `lib` did not complete the task.\noutcome: failed (request failed: the script has no answer to \
            request 1)\nturns: 0\ntool calls: 0\npartial answer: none";
        assert_eq!((told(&result).as_str(), result.outcome), (expected, Outcome::Completed));
    }

    /// Shows: the caller's abort cancels the delegated fork.
    async fn the_callers_abort_ends_the_task(house: House) {
        let peer = model([Answer::hang()]);
        let model = model([Answer::calls([("c1", "delegate", TASK)])]);
        let params = caller(&house, &model, plain(&house, &peer));
        let fork = house.fork(ForkParams { mode: DelegateMode::ForkAndForget, ..params }).await;
        peer.requested(1).await;
        fork.cancel();
        let result = fork.join().await.unwrap();
        assert_eq!(result.outcome, Outcome::Aborted);
        assert!(told(&result).contains("outcome: aborted"), "{}", told(&result));
        house.forks.idle().await;
        assert!(!house.parent.abort.is_cancelled());
    }

    /// Shows: there is no delegation inside a delegation, unless it is allowed, and then only so deep.
    async fn a_delegated_task_is_not_delegated_on_unless_allowed(house: House) {
        for (depth, expected) in [(1, "cannot delegate it on"), (2, "deep")] {
            let deepest = model([Answer::text("deep")]);
            let inner = plain(&house, &deepest).nested(depth);
            let peer = model([Answer::calls([("p1", "delegate", TASK)]), Answer::text("up")]);
            let outer = tool(&house, &peer, Arc::new(inner)).allowing(["*"]).nested(depth);
            let result = ask(&house, outer, TASK).await;
            assert_eq!(told(&result), "c1 false up");
            let inner = peer.requests()[1].text();
            assert!(inner.contains(expected), "{inner}");
            assert_eq!(deepest.requests().len(), depth as usize - 1);
        }
    }
}

#[tokio::test]
async fn a_peer_that_says_nothing_has_not_done_its_task() {
    let house = House::new("anthropic/m");
    let nothing = || Answer::message(Message::new(tine_model::Role::Assistant, vec![]));
    let peer = model([nothing(), nothing(), nothing()]);
    let result = ask(&house, plain(&house, &peer), TASK).await;
    // It is asked again, and its silence is no success.
    let expected = "c1 true `lib` did not complete the task.\noutcome: failed (the model gave no answer: the reply holds neither \
        words nor a tool call)\nturns: 0\ntool calls: 0\npartial answer: none";
    assert_eq!(told(&result), expected);
}
