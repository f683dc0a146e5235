//! How forks end, and what they have then.

use std::sync::Arc;
use std::time::Duration;

use tine_fork::{DelegateMode, ForkError, ForkParams, ForkSubagent, ToolFilter};
use tine_llm::LlmError;
use tine_model::{Message, Outcome, RawJson, StopReason, Usage};
use tine_testkit::{Answer, Gate, ScriptedModel, replies};
use tine_wire::FailureKind;

use crate::house::{House, every_format, model, results};

struct NoFail;

impl ToolFilter for NoFail {
    fn allows(&self, tool: &str, _input: &RawJson) -> bool {
        tool != "Fail"
    }

    fn denial_message(&self, tool: &str, _input: &RawJson) -> String {
        format!("{tool} is refused here; use Echo.")
    }
}

every_format! {
    /// Shows: a fork's parameters are context, client, tools, prompt, snapshot, filter, source, label, overrides, turns,
    /// observer, visibility, mode, time limit and abort.
    async fn a_fork_answers_what_it_is_asked(house: House) {
        let result = house.done([Answer::text("The answer.")]).await;
        assert_eq!((&result.outcome, result.final_text.as_deref()), (&Outcome::Completed, Some("The answer.")));
        assert_eq!((result.turns, result.tool_uses, result.usage), (1, 0, replies::USAGE));
        assert_eq!((result.label.as_str(), result.source.as_str()), ("fork", "fork"));
        assert_eq!(result.into_text().unwrap(), "The answer.");
    }

    /// Shows: with max_turns = 0 nothing is called, and the parameters are still checked.
    async fn with_no_turns_nothing_is_sent(house: House) {
        let model = model([]);
        let params = ForkParams { max_turns: 0, ..house.params(&model) };
        let result = house.fork(params).await.join().await.unwrap();
        assert_eq!((result.outcome, result.turns, model.requests().len()), (Outcome::TurnLimit, 0, 0));
        let empty = ForkParams { max_turns: 0, prompt_messages: vec![replies::text("mine")], ..house.params(&model) };
        assert!(matches!(house.forks.fork(empty).await, Err(ForkError::NothingToAnswer)));
    }

    /// Shows: every way to end is an outcome of its own, and carries partial messages and usage.
    async fn every_end_is_told_apart_and_keeps_its_work(house: House) {
        let call = || Answer::calls([("c1", "Echo", "{}")]);
        let refused = || Answer::refused(FailureKind::InvalidRequest, "no");
        let endings: [(Vec<Answer>, &str); 5] = [
            (vec![call(), Answer::text("ok")], "completed"),
            (vec![call(), call()], "turn_limit"),
            (vec![call(), Answer::text("half").with_stop(StopReason::MaxTokens)], "length_cut"),
            (vec![call(), Answer::text("no").with_stop(StopReason::Refusal)], "refused"),
            (vec![call(), refused()], "failed"),
        ];
        for (answers, expected) in endings {
            let params = ForkParams { max_turns: 2, ..house.params(&model(answers)) };
            let result = house.fork(params).await.join().await.unwrap();
            assert_eq!(result.outcome.as_str(), expected);
            assert_eq!(result.error.is_some(), expected == "failed");
            assert!(result.messages.len() >= 3, "the prompt, the call and its result: {expected}");
            assert!(result.usage.output >= replies::USAGE.output && result.tool_uses >= 1);
        }
    }

    /// Shows: a fork whose result was read leaves its token alone, so that what its tools began under it goes on; the parent's
    /// token still stops that.
    async fn a_consumed_completion_cancels_nothing(house: House) {
        let answers = || [Answer::calls([("c1", "Begin", "{}")]), Answer::text("ok")];
        let mut fork = house.fork(house.params(&model(answers()))).await;
        let token = fork.abort_token();
        let result = fork.take_completion().unwrap().await.unwrap();
        drop(fork);
        assert_eq!((result.outcome, token.is_cancelled()), (Outcome::Completed, false));
        house.done(answers()).await;
        let begun = house.tools.begun.lock().unwrap().clone();
        assert_eq!(begun.iter().map(|it| it.is_cancelled()).collect::<Vec<_>>(), [false, false]);
        house.parent.abort.cancel();
        assert!(token.is_cancelled() && begun.iter().all(|it| it.is_cancelled()));
    }

    /// Shows: abort interrupts a model call and keeps what had arrived.
    async fn abort_stops_a_model_call(house: House) {
        let model = model([Answer::text_then_hang("half a sen")]);
        let params = ForkParams { mode: DelegateMode::ForkAndForget, ..house.params(&model) };
        let fork = house.fork(params).await;
        model.requested(1).await;
        fork.cancel();
        let result = fork.join().await.unwrap();
        assert_eq!(result.outcome, Outcome::Aborted);
        assert_eq!(result.final_text.as_deref(), Some("half a sen"));
        assert!(!house.parent.abort.is_cancelled());
    }

    /// Shows: abort interrupts a running tool, one that listens and one that does not.
    async fn abort_stops_a_running_tool(house: House) {
        for (tool, told) in [("Wait", "c1 true stopped"), ("Stuck", "c1 true Stopped before it finished.")] {
            let model = model([Answer::calls([("c1", tool, "{}")])]);
            let params = ForkParams { mode: DelegateMode::ForkAndForget, ..house.params(&model) };
            let fork = house.fork(params).await;
            while house.tools.called.lock().unwrap().last().is_none_or(|last| last != tool) {
                tokio::task::yield_now().await;
            }
            house.parent.abort.clone().child_token().cancel();
            fork.cancel();
            let result = fork.join().await.unwrap();
            assert_eq!(result.outcome, Outcome::Aborted);
            assert_eq!(results(result.messages.last().unwrap()), [told]);
        }
    }

    /// Shows: the time limit is over the whole run, is told apart from abort, and keeps messages and usage.
    async fn the_time_limit_ends_the_whole_run(house: House) {
        let model = model([Answer::calls([("c1", "Echo", "{}")]), Answer::hang()]);
        let timeout = Some(Duration::from_secs(30));
        let params = ForkParams { timeout, ..house.params(&model) };
        let result = house.fork(params).await.join().await.unwrap();
        assert_eq!((result.outcome, result.turns), (Outcome::TimedOut, 1));
        assert_eq!((result.messages.len(), result.usage), (3, replies::USAGE));
        assert!(!house.parent.abort.is_cancelled(), "a time limit is the fork's own");
    }

    /// Shows: abort cascades from parent to child and never back.
    async fn abort_runs_downwards_only(house: House) {
        let model = model([Answer::hang(), Answer::hang(), Answer::hang()]);
        let external = tokio_util::sync::CancellationToken::new();
        let background = || ForkParams { mode: DelegateMode::ForkAndForget, ..house.params(&model) };
        let own = house.fork(background()).await;
        let called = ForkParams { external_abort: Some(external.clone()), ..background() };
        let called = house.fork(called).await;
        let sibling = house.fork(background()).await;
        model.requested(3).await;
        own.cancel();
        assert_eq!(own.join().await.unwrap().outcome, Outcome::Aborted);
        assert!(!house.parent.abort.is_cancelled() && !external.is_cancelled());
        external.cancel();
        assert_eq!(called.join().await.unwrap().outcome, Outcome::Aborted);
        assert!(!sibling.is_ended() && !house.parent.abort.is_cancelled());
        house.parent.abort.cancel();
        assert_eq!(sibling.join().await.unwrap().outcome, Outcome::Aborted);
    }

    /// Shows: a denied call is a structured tool result, and the model goes on in the same run.
    async fn a_denied_call_is_a_result_and_the_run_goes_on(house: House) {
        let model = model([Answer::calls([("c1", "Fail", "{}"), ("c2", "Echo", "{}")]), Answer::text("ok")]);
        let params = ForkParams { tool_filter: Arc::new(NoFail), ..house.params(&model) };
        let result = house.fork(params).await.join().await.unwrap();
        assert_eq!(result.outcome, Outcome::Completed);
        let told = results(&result.messages[2]);
        assert_eq!(told[0], "c1 true Fail is refused here; use Echo.");
        assert_eq!(*house.tools.called.lock().unwrap(), ["Echo"], "what is refused is not dispatched");
    }

    /// Shows: a tool's failure is a result marked as an error, and an unknown tool is named.
    async fn a_failing_and_an_unknown_tool_are_results(house: House) {
        let calls = Answer::calls([("c1", "Fail", "{}"), ("c2", "Fly", "{}")]);
        let result = house.done([calls, Answer::text("ok")]).await;
        assert_eq!(results(&result.messages[2]), ["c1 true it broke", "c2 true There is no tool `Fly`."]);
    }

    /// Shows: results of one turn stand in call order.
    async fn results_stand_in_call_order(house: House) {
        house.tools.gate.open();
        let calls = [("c1", "Gated", "{}"), ("c2", "Echo", "{}"), ("c3", "Echo", "{}"), ("c4", "Gated", "{}")];
        let result = house.done([Answer::calls(calls), Answer::text("ok")]).await;
        let order: Vec<String> = results(&result.messages[2]).iter().map(|line| line[..2].to_owned()).collect();
        assert_eq!(order, ["c1", "c2", "c3", "c4"]);
        assert_eq!(result.tool_uses, 4);
    }

    /// Shows: text and thinking beside tool calls are kept.
    async fn what_stands_beside_calls_is_kept(house: House) {
        let beside = replies::text_and_calls("Let me look.", [("c1", "Echo", "{}")]);
        let result = house.done([Answer::message(beside.clone()), Answer::text("ok")]).await;
        assert_eq!(*result.messages[1], beside);
    }

    /// Shows: the final text comes from the fork's own turns only.
    async fn the_final_text_is_never_the_parents(house: House) {
        let nothing = Answer::text("").with_stop(StopReason::Refusal);
        let result = house.done([Answer::calls([("c1", "Echo", "{}")]), nothing]).await;
        assert_eq!((result.outcome, result.final_text), (Outcome::Refused, None));
    }

    /// Shows: usage and cache usage are sums over the turns.
    async fn usage_is_summed_over_the_turns(house: House) {
        let usage = Usage { uncached: 5, read: Some(100), write_short: Some(7), output: 2, ..Usage::default() };
        let call = Answer::calls([("c1", "Echo", "{}")]).with_usage(usage);
        let result = house.done([call, Answer::text("ok").with_usage(usage)]).await;
        assert_eq!((result.usage.read, result.usage.write_short, result.usage.output), (Some(200), Some(14), 4));
        assert_eq!(result.requests.iter().map(|spent| spent.usage).collect::<Vec<_>>(), [usage, usage]);
    }

    /// Shows: Sync returns when the fork has ended, background at once.
    async fn sync_waits_and_background_does_not(house: House) {
        let gate = Gate::new();
        let model = model([Answer::text("now"), Answer::text("later").behind(&gate)]);
        let waited = house.fork(house.params(&model)).await;
        assert!(waited.is_ended());
        let params = ForkParams { mode: DelegateMode::ForkAndForget, ..house.params(&model) };
        let background = house.fork(params).await;
        assert!(!background.is_ended());
        gate.open();
        assert_eq!(background.join().await.unwrap().final_text.as_deref(), Some("later"));
        assert_eq!(waited.join().await.unwrap().final_text.as_deref(), Some("now"));
    }

    /// Shows: what did not complete is an error for those who want the text, with everything inside.
    async fn an_incomplete_fork_is_an_error_that_keeps_its_result(house: House) {
        let result = house.done([Answer::refused(FailureKind::InvalidRequest, "no such model")]).await;
        assert!(matches!(result.error, Some(tine_fork::run::RunError::Llm(LlmError::Refused { .. }))));
        let error = result.into_text().unwrap_err();
        assert_eq!(error.to_string(), "the fork did not complete: invalid request: no such model");
        let ForkError::Incomplete(result) = error else { panic!("another error") };
        assert_eq!(result.messages.iter().map(|m| m.text()).collect::<Vec<_>>(), ["go"]);
    }

    /// Shows: a fork without a prompt answers what the parent was asked last.
    async fn without_a_prompt_it_answers_what_the_parent_was_asked(house: House) {
        let model = model([Answer::text("there")]);
        let params = ForkParams { prompt_messages: Vec::<Message>::new(), ..house.params(&model) };
        let result = house.fork(params).await.join().await.unwrap();
        assert_eq!((result.outcome, result.messages.len()), (Outcome::Completed, 1));
    }
}

/// Shows: a fork of a host's conversation goes on without the reasoning that another account signed, and keeps its own.
#[tokio::test(start_paused = true)]
async fn what_another_account_signed_is_left_out_and_what_the_fork_thinks_stays() {
    const THOUGHT: &str = r#"{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"theirs"},{"type":"text","text":"seen"}]}"#;
    const OWN: &str = r#"{"role":"assistant","content":[{"type":"thinking","thinking":"well","signature":"ours"},{"type":"tool_use","id":"c1","name":"Echo","input":{}}]}"#;
    let read = |json| tine_wire::read_message(tine_model::WireFormat::Anthropic, json).unwrap();
    let mut house = House::new("anthropic/m");
    house.request.messages.extend([read(THOUGHT), Message::user("and?")]);
    let model = ScriptedModel::answering(move |request| {
        let text = request.text();
        match (text.contains("theirs"), text.contains("\"ours\"")) {
            (true, _) => Answer::refused(
                FailureKind::InvalidRequest,
                "messages.1.content.0: Invalid `signature` in `thinking` block",
            ),
            (false, false) => Answer::message(read(OWN)),
            (false, true) => Answer::text("done"),
        }
    });
    let params = house.params(&Arc::new(model));
    let result = house.fork(params).await.join().await.unwrap();
    assert_eq!((result.outcome, result.turns), (Outcome::Completed, 2));
}
