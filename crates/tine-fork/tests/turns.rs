//! The turn loop against a scripted model: outcomes, tools, limits, what is kept.

#![expect(clippy::unwrap_used, reason = "a step that fails is a failed test")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use tine_fork::run::{
    Compactor, Conversation, Journal, JournalError, MemoryJournal, Observer, RequestRecord, Run,
    RunEvent, RunLimits, RunReport,
};
use tine_fork::tools::{CallContext, ToolAnswer, ToolCall};
use tine_fork::{AllowAllFilter, AutoMemFilter, ToolDispatcher, ToolFilter};
use tine_history::History;
use tine_llm::{BrokenCause, LlmError};
use tine_model::{Block, EntryId, Message, ModelSettings, Outcome, RawJson, StopReason, Usage};
use tine_testkit::{Answer, ScriptedModel};
use tine_wire::{FailureKind, Head, HeadParts, MarkPoints, Overflow, Partial};
use tokio::sync::Barrier;
use tokio_util::sync::CancellationToken;

fn conversation() -> Conversation {
    let settings = ModelSettings {
        model: "anthropic/m".parse().unwrap(),
        max_tokens: 100,
        thinking: None,
        effort: None,
    };
    let (system, tools) = ("Be brief.".to_owned(), Vec::new());
    let head = Head::render(HeadParts::new(settings, system, tools));
    Conversation::new(Arc::new(head), History::new(), MarkPoints::default())
}

/// Answers each call with its tool's name; `Meet` calls wait for each other, `Wait` waits for the cancellation.
struct Tools {
    meeting: Barrier,
}

impl Tools {
    fn new() -> Self {
        Self { meeting: Barrier::new(2) }
    }
}

#[async_trait]
impl ToolDispatcher for Tools {
    fn is_read_only(&self, tool: &str) -> bool {
        tool == "Meet"
    }

    fn own_call(&self, call: &ToolCall) -> Result<ToolCall, ToolAnswer> {
        match call.name.as_str() {
            "Foreign" => {
                let (name, input) = ("Own".to_owned(), RawJson::parse(r#"{"y":2}"#).unwrap());
                Ok(ToolCall { id: call.id.clone(), name, input })
            }
            "Unanswered" => Err(ToolAnswer::error("Nobody answers this.")),
            _ => Ok(call.clone()),
        }
    }

    fn told(&self, asked: &ToolCall, own: &ToolCall, answer: ToolAnswer) -> ToolAnswer {
        if asked.name == own.name {
            return answer;
        }
        ToolAnswer { text: format!("for {}: {}", asked.name, answer.text), ..answer }
    }

    fn only_calls(&self, tool: &str) -> bool {
        tool == "Patch"
    }

    async fn dispatch(&self, call: &ToolCall, context: &CallContext) -> ToolAnswer {
        match call.name.as_str() {
            "Script" | "Patch" => return context.calls.call("Inner", call.input.clone()).await,
            "Inner" => return context.calls.call("Deeper", call.input.clone()).await,
            "Meet" => {
                self.meeting.wait().await;
            }
            "Wait" => context.cancel.cancelled().await,
            "Print" => {
                context.output.begin();
                for line in 0..1_000 {
                    context.output.print(format!("{line}\n").as_bytes());
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
            }
            _ => {}
        }
        ToolAnswer::ok(format!("{} {}", call.name, call.input))
    }
}

#[derive(Default)]
struct Notes {
    /// Why requests without a whole reply ended.
    stops: Mutex<Vec<String>>,
    memory: MemoryJournal,
    notices: Mutex<Vec<String>>,
}

#[async_trait]
impl Journal for Notes {
    async fn message(&self, message: &Arc<Message>) -> Result<EntryId, JournalError> {
        self.memory.message(message).await
    }

    fn now_ms(&self) -> i64 {
        0
    }

    async fn request_answered(&self, record: &RequestRecord) -> Result<(), JournalError> {
        if let StopReason::Other(stop) = &record.stop {
            self.stops.lock().unwrap().push(stop.clone());
        }
        Ok(())
    }

    async fn notice(&self, text: &str) -> Result<(), JournalError> {
        self.notices.lock().unwrap().push(text.to_owned());
        Ok(())
    }
}

struct NoInner;

impl ToolFilter for NoInner {
    fn allows(&self, tool: &str, _input: &RawJson) -> bool {
        tool != "Inner"
    }

    fn denial_message(&self, tool: &str, _input: &RawJson) -> String {
        format!("{tool} is refused.")
    }
}

struct NoShell;

impl ToolFilter for NoShell {
    fn allows(&self, tool: &str, _input: &RawJson) -> bool {
        tool != "Bash"
    }

    fn denial_message(&self, _tool: &str, _input: &RawJson) -> String {
        "No shell here; use Grep.".to_owned()
    }
}

#[derive(Default)]
struct Setup {
    limits: RunLimits,
    notes: Notes,
    cancel: CancellationToken,
}

impl Setup {
    async fn run(&self, model: &ScriptedModel, observer: &dyn Observer) -> RunReport {
        self.run_filtered(model, observer, &AllowAllFilter).await
    }

    async fn run_filtered(
        &self,
        model: &ScriptedModel,
        observer: &dyn Observer,
        filter: &dyn ToolFilter,
    ) -> RunReport {
        self.run_with(model, observer, (filter, None)).await
    }

    async fn run_with(
        &self,
        model: &ScriptedModel,
        observer: &dyn Observer,
        (filter, compactor): (&dyn ToolFilter, Option<&dyn Compactor>),
    ) -> RunReport {
        let run = Run {
            conversation: &mut conversation(),
            llm: model,
            tools: &Tools::new(),
            agent: "tester",
            filter,
            journal: &self.notes,
            observer,
            limits: self.limits,
            reminder: None,
            seat: None,
            cache: None,
            compactor,
            cancel: self.cancel.clone(),
        };
        run.go(Some(Message::user("go"))).await
    }
}

fn nobody(_: RunEvent) {}

fn results(message: &Message) -> Vec<String> {
    let text = |block: &Block| match block {
        Block::ToolResult { call, content, is_error } => {
            let text = content.first().and_then(Block::as_text).unwrap_or_default();
            format!("{call} {is_error} {text}")
        }
        other => format!("{other:?}"),
    };
    message.blocks().iter().map(text).collect()
}

#[tokio::test(start_paused = true)]
async fn read_only_calls_run_together_and_results_keep_call_order() {
    let calls = [("a", "Meet", "{}"), ("b", "Meet", "{}"), ("c", "Write", r#"{"x":1}"#)];
    let model = ScriptedModel::new([Answer::calls(calls), Answer::text("done")]);
    let report = Setup::default().run(&model, &nobody).await;
    assert_eq!(report.outcome, Outcome::Completed);
    assert_eq!((report.turns, report.tool_uses), (2, 3));
    let expected = ["a false Meet {}", "b false Meet {}", r#"c false Write {"x":1}"#];
    assert_eq!(results(&report.messages[2]), expected);
    assert_eq!(report.final_text().as_deref(), Some("done"));
}

#[tokio::test(start_paused = true)]
async fn what_a_call_prints_is_told_a_few_times_a_second() {
    let model = ScriptedModel::new([Answer::calls([("a", "Print", "{}")]), Answer::text("done")]);
    let told = Mutex::new(Vec::new());
    let observer = |event: RunEvent| match event {
        RunEvent::ToolStarted { call } => told.lock().unwrap().push(format!("{} starts", call.id)),
        RunEvent::ToolProgress { id, tail } => {
            let last = tail.lines().last().unwrap_or("nothing");
            told.lock().unwrap().push(format!("{id} has printed {last}"));
        }
        RunEvent::ToolFinished { id, .. } => told.lock().unwrap().push(format!("{id} ends")),
        _ => {}
    };
    Setup::default().run(&model, &observer).await;
    insta::assert_snapshot!(told.into_inner().unwrap().join("\n"), @"
    a starts
    a has printed 0
    a has printed 250
    a has printed 500
    a has printed 750
    a ends
    ");
}

#[tokio::test(start_paused = true)]
async fn a_refused_call_is_an_answer_and_the_run_goes_on() {
    let model = ScriptedModel::new([Answer::calls([("a", "Bash", "{}")]), Answer::text("ok")]);
    let report = Setup::default().run_filtered(&model, &nobody, &NoShell).await;
    assert_eq!(report.outcome, Outcome::Completed);
    assert_eq!(results(&report.messages[2]), ["a true No shell here; use Grep."]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_a_call_makes_meets_the_same_filter_and_is_seen() {
    let calls = [("a", "Script", r#"{"x":1}"#)];
    let told = |filter: &'static dyn ToolFilter| async move {
        let model = ScriptedModel::new([Answer::calls(calls), Answer::text("ok")]);
        let seen = Mutex::new(Vec::new());
        let observer = |event: RunEvent| match event {
            RunEvent::ToolStarted { call } => {
                seen.lock().unwrap().push(format!("{} {} {}", call.id, call.name, call.input));
            }
            RunEvent::ToolFinished { id, answer } => {
                seen.lock().unwrap().push(format!("{id} = {}", answer.text));
            }
            _ => {}
        };
        let report = Setup::default().run_filtered(&model, &observer, filter).await;
        assert_eq!((report.outcome, report.tool_uses), (Outcome::Completed, 1));
        seen.into_inner().unwrap().join("\n")
    };
    insta::assert_snapshot!(told(&AllowAllFilter).await, @r#"
    a Script {"x":1}
    a.1 Inner {"x":1}
    a.1 = A tool that was called by a tool cannot call another.
    a = A tool that was called by a tool cannot call another.
    "#);
    insta::assert_snapshot!(told(&NoInner).await, @r#"
    a Script {"x":1}
    a.1 Inner {"x":1}
    a.1 = Inner is refused.
    a = Inner is refused.
    "#);
}

/// Lets through none but the dispatcher's own tools.
struct OwnOnly;

impl ToolFilter for OwnOnly {
    fn allows(&self, tool: &str, _input: &RawJson) -> bool {
        tool == "Own"
    }

    fn denial_message(&self, tool: &str, _input: &RawJson) -> String {
        format!("{tool} is none of its own.")
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_is_judged_and_seen_in_the_words_of_the_tool_that_answers_it() {
    let calls = [
        ("a", "Foreign", r#"{"x":1}"#),
        ("b", "Unanswered", "{}"),
        ("c", "Patch", "{}"),
        ("d", "Other", "{}"),
    ];
    let model = ScriptedModel::new([Answer::calls(calls), Answer::text("ok")]);
    let seen = Mutex::new(Vec::new());
    let observer = |event: RunEvent| match event {
        RunEvent::ToolStarted { call } => {
            seen.lock().unwrap().push(format!("{} {} {}", call.id, call.name, call.input));
        }
        RunEvent::ToolFinished { id, answer } => {
            seen.lock().unwrap().push(format!("{id} = {}", answer.text));
        }
        _ => {}
    };
    let report = Setup::default().run_filtered(&model, &observer, &OwnOnly).await;
    insta::assert_snapshot!(seen.into_inner().unwrap().join("\n"), @r#"
    a Own {"y":2}
    a = Own {"y":2}
    b = Nobody answers this.
    c Patch {}
    c.1 Inner {}
    c.1 = Inner is none of its own.
    c = Inner is none of its own.
    d Other {}
    d = Other is none of its own.
    "#);
    // The model made a call of another name, and is told of that.
    insta::assert_snapshot!(results(&report.messages[2]).join("\n"), @r#"
    a false for Foreign: Own {"y":2}
    b true Nobody answers this.
    c true Inner is none of its own.
    d true Other is none of its own.
    "#);
    assert!(report.messages[1].blocks().iter().any(|block| match block {
        Block::ToolUse { name, .. } => name == "Foreign",
        _ => false,
    }));
}

#[tokio::test(start_paused = true)]
async fn a_denial_says_enough_to_go_on_in_the_same_run() {
    let home = tempfile::tempdir().unwrap();
    let memory = home.path().canonicalize().unwrap();
    let filter = AutoMemFilter::new(&memory).unwrap();
    let inside = serde_json::json!({ "file_path": memory.join("note.md"), "content": "x" });
    let inside = inside.to_string();
    let model = ScriptedModel::new([
        Answer::calls([("a", "Write", r#"{"file_path":"note.md"}"#)]),
        Answer::calls([("b", "FileWrite", r#"{"file_path":"note.md","content":"x"}"#)]),
        Answer::calls([("c", "FileWrite", inside.as_str())]),
        Answer::text("noted"),
    ]);
    let report = Setup::default().run_filtered(&model, &nobody, &filter).await;
    assert_eq!((report.outcome, report.turns), (Outcome::Completed, 4));
    let told = [2, 4, 6].map(|at| results(&report.messages[at]).join("\n")).join("\n");
    insta::assert_snapshot!(told.replace(&*memory.to_string_lossy(), "MEMORY"), @r#"
    a true Denied: there is no tool `Write`. Did you mean `FileWrite`?
    b true Denied: `note.md` is not an absolute path. Write only files inside `MEMORY`; give absolute paths.
    c false FileWrite {"file_path":"MEMORY/note.md","content":"x"}
    "#);
}

#[tokio::test(start_paused = true)]
async fn arguments_that_are_no_object_are_told_to_the_model() {
    let model =
        ScriptedModel::new([Answer::calls([("a", "Grep", "{\"pat")]), Answer::text("sorry")]);
    let report = Setup::default().run(&model, &nobody).await;
    assert_eq!(report.outcome, Outcome::Completed);
    let told = &results(&report.messages[2])[0];
    assert!(told.starts_with("a true The arguments of this call are not a JSON object"), "{told}");
}

#[tokio::test(start_paused = true)]
async fn without_turns_nothing_is_sent() {
    let model = ScriptedModel::new([]);
    let limits = RunLimits { turns: 0, ..RunLimits::default() };
    let report = Setup { limits, ..Setup::default() }.run(&model, &nobody).await;
    assert_eq!((report.outcome, report.turns), (Outcome::TurnLimit, 0));
    assert!(model.requests().is_empty());
}

#[tokio::test(start_paused = true)]
async fn time_that_is_up_stops_the_model_call_and_keeps_what_was_said() {
    let model = ScriptedModel::new([Answer::text_then_hang("half a thought")]);
    let limits = RunLimits { time: Some(Duration::from_secs(9)), ..RunLimits::default() };
    let setup = Setup { limits, ..Setup::default() };
    let report = setup.run(&model, &nobody).await;
    assert_eq!(report.outcome, Outcome::TimedOut);
    assert_eq!(report.final_text().as_deref(), Some("half a thought"));
    assert!(!setup.cancel.is_cancelled(), "the caller's token is never cancelled");
}

#[tokio::test(start_paused = true)]
async fn a_request_that_was_stopped_without_an_answer_is_known() {
    for (turns, sent) in [(9, vec!["cancelled"]), (0, vec![])] {
        let model = ScriptedModel::new([Answer::hang()]);
        let time = Some(Duration::from_secs(9));
        let limits = RunLimits { time, turns, ..RunLimits::default() };
        let setup = Setup { limits, ..Setup::default() };
        setup.run(&model, &nobody).await;
        assert_eq!(*setup.notes.stops.lock().unwrap(), sent);
    }
}

#[tokio::test(start_paused = true)]
async fn no_request_goes_out_once_the_time_is_up() {
    // Without a pause of its own nothing lets a timer be seen.
    let model = ScriptedModel::answering(|_| Answer::calls([("a", "Write", "{}")]));
    let limits = RunLimits { time: Some(Duration::ZERO), ..RunLimits::default() };
    let report = Setup { limits, ..Setup::default() }.run(&model, &nobody).await;
    assert_eq!((report.outcome, model.requests().len()), (Outcome::TimedOut, 0));
}

#[tokio::test(start_paused = true)]
async fn a_panic_of_a_client_ends_the_run_and_loses_nothing_of_it() {
    let asked = AtomicUsize::new(0);
    let model = ScriptedModel::answering(move |_| match asked.fetch_add(1, Ordering::Relaxed) {
        0 => Answer::calls([("a", "Write", "{}")]),
        _ => panic!("a bug"),
    });
    let report = Setup::default().run(&model, &nobody).await;
    assert_eq!(report.outcome, Outcome::Failed("the run panicked: a bug".into()));
    assert_eq!((report.turns, report.messages.len(), report.requests.len()), (1, 3, 1));
}

#[tokio::test(start_paused = true)]
async fn an_abort_stops_a_running_tool_and_answers_every_call() {
    let calls = [("a", "Wait", "{}"), ("b", "Write", "{}")];
    let model = ScriptedModel::new([Answer::calls(calls)]);
    let setup = Setup::default();
    let stop = async {
        // Paused time passes once the run has nothing left to do but wait for its tool.
        tokio::time::sleep(Duration::from_secs(1)).await;
        setup.cancel.cancel();
    };
    let (report, ()) = tokio::join!(setup.run(&model, &nobody), stop);
    assert_eq!(report.outcome, Outcome::Aborted);
    let expected = ["a false Wait {}", "b true Stopped before it finished."];
    assert_eq!(results(&report.messages[2]), expected);
}

#[tokio::test(start_paused = true)]
async fn a_broken_reply_is_kept_beside_the_conversation() {
    let partial = Partial {
        message: Some(tine_testkit::replies::text("half")),
        usage: Usage { uncached: 7, ..Usage::default() },
        id: None,
    };
    let broken = LlmError::Broken { partial: Box::new(partial), cause: BrokenCause::Ended };
    let model = ScriptedModel::new([Answer::error(broken)]);
    let setup = Setup::default();
    let report = setup.run(&model, &nobody).await;
    let why = "the reply broke off: the connection ended before the reply was complete";
    assert_eq!(report.outcome, Outcome::Failed(why.to_owned()));
    assert_eq!(report.messages.len(), 1, "only the prompt counts");
    assert_eq!(report.usage.uncached, 7);
    let notices = setup.notes.notices.lock().unwrap().clone();
    assert_eq!(notices, ["Part of a reply that broke off:\nhalf"]);
}

fn cut_off(uncached: u64) -> Answer {
    let partial = Partial {
        message: Some(tine_testkit::replies::text("half")),
        usage: Usage { uncached, ..Usage::default() },
        id: None,
    };
    let cause = BrokenCause::Ended;
    Answer::text_then_error("half", LlmError::Broken { partial: Box::new(partial), cause })
}

#[tokio::test(start_paused = true)]
async fn a_reply_that_breaks_off_is_asked_for_again_and_paid_for() {
    let model = ScriptedModel::new([cut_off(7), cut_off(8), Answer::text("whole")]);
    let setup = Setup::default();
    let seen = Mutex::new(Vec::new());
    let observer = |event: RunEvent| {
        let line = match event {
            RunEvent::Request { turn } => format!("request {turn}"),
            RunEvent::Retry { attempt, cause, .. } => format!("retry {attempt}: {cause}"),
            RunEvent::Message(message) => format!("message {}", message.text()),
            _ => return,
        };
        seen.lock().unwrap().push(line);
    };
    let report = setup.run(&model, &observer).await;
    assert_eq!((report.outcome, report.turns), (Outcome::Completed, 1));
    let cut: Vec<Usage> = report.requests.iter().take(2).map(|spent| spent.usage).collect();
    assert_eq!(cut.iter().map(|usage| usage.uncached).sum::<u64>(), 15);
    assert_eq!(cut[0].output, 1, "what was not reported counts by its length");
    assert_eq!(report.requests.len(), 3);
    let [first, .., last] = &model.requests()[..] else { panic!("no requests") };
    assert_eq!(first, last, "the same bytes again");
    insta::assert_snapshot!(seen.lock().unwrap().join("\n"), @"
    message go
    request 1
    retry 1: the reply broke off: the connection ended before the reply was complete
    request 1
    retry 2: the reply broke off: the connection ended before the reply was complete
    request 1
    message whole
    ");
}

#[tokio::test(start_paused = true)]
async fn a_reply_that_is_no_answer_is_asked_for_again_and_is_never_a_success() {
    let stopped =
        |text: &str, word: &str| Answer::text(text).with_stop(StopReason::Other(word.to_owned()));
    let malformed = move || stopped("half a call", "MALFORMED_FUNCTION_CALL");
    let model = ScriptedModel::new([malformed(), Answer::text(" "), Answer::text("whole")]);
    let setup = Setup::default();
    let report = setup.run(&model, &nobody).await;
    assert_eq!((report.outcome, report.turns), (Outcome::Completed, 1));
    assert_eq!((report.messages.len(), report.requests.len()), (2, 3), "all are paid for");
    let notices = setup.notes.notices.lock().unwrap().clone();
    insta::assert_snapshot!(notices.join("\n"), @"
    A reply that is no answer (the provider ended the reply with `MALFORMED_FUNCTION_CALL`: the model wrote a tool call that cannot be read):
    half a call
    A reply that is no answer (the reply holds neither words nor a tool call):
     
    ");

    // It never becomes one: the conversation stays as it was, and the reason is told.
    let model = ScriptedModel::answering(move |_| malformed());
    let report = Setup::default().run(&model, &nobody).await;
    assert_eq!((model.requests().len(), report.messages.len()), (3, 1));
    let Outcome::Failed(why) = report.outcome else { panic!("{:?}", report.outcome) };
    insta::assert_snapshot!(why, @"the model gave no answer: the provider ended the reply with `MALFORMED_FUNCTION_CALL`: the model wrote a tool call that cannot be read");
    assert_eq!(
        report.error.map(|error| matches!(error, tine_fork::run::RunError::Llm(_))),
        Some(true)
    );

    // Words behind an unknown end are kept, and are no success either.
    let model = ScriptedModel::new([stopped("all of it?", "eclipse")]);
    let report = Setup::default().run(&model, &nobody).await;
    assert_eq!(report.final_text().as_deref(), Some("all of it?"));
    assert!(matches!(&report.outcome, Outcome::Failed(why) if why.contains("`eclipse`")));

    // A window that is full is called that.
    let full = Answer::text("half").with_stop(StopReason::ContextExceeded);
    let report = Setup::default().run(&ScriptedModel::new([full]), &nobody).await;
    assert!(matches!(&report.outcome, Outcome::Failed(why) if why.contains("model's window")));
}

/// Has a window that each cut reply fills, and makes room so often.
struct Roomy {
    left: AtomicUsize,
}

#[async_trait]
impl Compactor for Roomy {
    async fn compact(
        &self,
        _conversation: &mut Conversation,
        _last: Option<&Usage>,
        _cancel: &CancellationToken,
    ) -> Result<Option<Usage>, JournalError> {
        Ok(None)
    }

    fn is_full(&self, _usage: &Usage) -> bool {
        true
    }

    async fn make_room(
        &self,
        _conversation: &mut Conversation,
        _overflow: &Overflow,
        _round: u32,
        _cancel: &CancellationToken,
    ) -> Result<Option<Vec<Usage>>, JournalError> {
        let is_left = |left: usize| left.checked_sub(1);
        let made = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, is_left);
        Ok(made.is_ok().then(|| vec![Usage { uncached: 5, ..Usage::default() }]))
    }
}

#[tokio::test(start_paused = true)]
async fn room_is_made_where_the_window_is_full_a_few_times() {
    let cut = || Answer::text("half").with_stop(StopReason::MaxTokens);
    let long = || Answer::refused(FailureKind::Overflow, "prompt is too long");
    let run = async |answers: Vec<Answer>, left: usize| {
        let model = ScriptedModel::new(answers);
        let (setup, roomy) = (Setup::default(), Roomy { left: AtomicUsize::new(left) });
        let report = setup.run_with(&model, &nobody, (&AllowAllFilter, Some(&roomy))).await;
        (report, model.requests().len())
    };
    let (report, requests) = run(vec![long(), cut(), Answer::text("whole")], 9).await;
    assert_eq!((&report.outcome, requests), (&Outcome::Completed, 3));
    assert_eq!(report.messages.len(), 2, "the cut reply is not part of the conversation");
    // Two summaries and two replies are paid for.
    assert_eq!(report.requests.len(), 4);

    let (report, requests) = run((0..9).map(|_| long()).collect(), 9).await;
    assert!(matches!(report.outcome, Outcome::Failed(_)), "{:?}", report.outcome);
    assert_eq!(requests, 4, "three rounds, and no more");

    let (report, requests) = run((0..9).map(|_| long()).collect(), 1).await;
    assert!(matches!(report.outcome, Outcome::Failed(_)), "{:?}", report.outcome);
    assert_eq!(requests, 2, "nothing more could be left out");
}

#[tokio::test(start_paused = true)]
async fn a_reply_that_always_breaks_off_ends_the_run() {
    let model = ScriptedModel::answering(|_| cut_off(7));
    let report = Setup::default().run(&model, &nobody).await;
    assert!(matches!(report.outcome, Outcome::Failed(_)), "{:?}", report.outcome);
    assert_eq!(model.requests().len(), 11);
}

#[tokio::test(start_paused = true)]
async fn a_wait_for_another_try_can_be_cancelled() {
    let model = ScriptedModel::answering(|_| cut_off(7));
    let setup = Setup::default();
    let stop = |event: RunEvent| {
        if matches!(event, RunEvent::Retry { .. }) {
            setup.cancel.cancel();
        }
    };
    let report = setup.run(&model, &stop).await;
    assert_eq!((report.outcome, model.requests().len()), (Outcome::Aborted, 1));
}

#[tokio::test(start_paused = true)]
async fn a_cut_reply_and_a_refusal_are_outcomes_of_their_own() {
    for (stop, outcome) in
        [(StopReason::MaxTokens, Outcome::LengthCut), (StopReason::Refusal, Outcome::Refused)]
    {
        let model = ScriptedModel::new([Answer::text("well").with_stop(stop)]);
        let report = Setup::default().run(&model, &nobody).await;
        assert_eq!(report.outcome, outcome);
        assert_eq!(report.final_text().as_deref(), Some("well"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_panicking_observer_does_not_end_the_run() {
    let model = ScriptedModel::new([Answer::text("fine")]);
    let seen = AtomicUsize::new(0);
    let panicking = |_: RunEvent| {
        seen.fetch_add(1, Ordering::Relaxed);
        panic!("observer");
    };
    let report = Setup::default().run(&model, &panicking).await;
    assert_eq!(report.outcome, Outcome::Completed);
    assert!(seen.load(Ordering::Relaxed) > 1);
}

#[tokio::test(start_paused = true)]
async fn the_final_text_is_never_the_parents() {
    let nothing = Answer::text("").with_stop(StopReason::Refusal);
    let model = ScriptedModel::new([Answer::calls([("a", "Write", "{}")]), nothing]);
    let mut parent = conversation();
    parent.push(EntryId(1), Arc::new(Message::user("q")));
    parent.push(EntryId(2), Arc::new(tine_testkit::replies::text("the parent's words")));
    let run = Run {
        conversation: &mut parent.fork(),
        llm: &model,
        tools: &Tools::new(),
        agent: "tester",
        filter: &AllowAllFilter,
        journal: &MemoryJournal::default(),
        observer: &nobody,
        limits: RunLimits::default(),
        reminder: None,
        seat: None,
        cache: None,
        compactor: None,
        cancel: CancellationToken::new(),
    };
    let report = run.go(Some(Message::user("task"))).await;
    assert_eq!(report.final_text(), None);
}

fn sent_once() -> (Conversation, tine_wire::Assembled) {
    let mut parent = conversation();
    parent.push(EntryId(1), Arc::new(Message::user("q")));
    let (_, first) = parent.request(true);
    parent.answered(&first, Some("msg_1".to_owned()));
    parent.push(EntryId(2), Arc::new(tine_testkit::replies::text("a")));
    (parent, first)
}

#[test]
fn a_lineage_asks_from_its_first_request_on() {
    let (mut parent, first) = sent_once();
    let text =
        |assembled: &tine_wire::Assembled| String::from_utf8(assembled.body.to_vec()).unwrap();
    let end = r#"],"diagnostics":{"previous_message_id":null}}"#;
    assert!(text(&first).ends_with(end), "{}", text(&first));
    let end = r#"],"diagnostics":{"previous_message_id":"msg_1"}}"#;
    assert!(text(&parent.request(true).1).ends_with(end));
    assert!(!text(&parent.request(false).1).contains("diagnostics"));
}

#[test]
fn a_rewritten_lineage_knows_what_it_sent() {
    let (mut parent, _) = sent_once();
    let (_, next) = parent.request(false);
    assert!(!parent.has_parted(&next));
    assert_eq!(parent.difference(&next), None);
    let (head, mut shorter) = (conversation().head().clone(), History::new());
    shorter.push(EntryId(3), Arc::new(Message::user("what was said before, in short")));
    let mut compacted = parent.rewritten(Arc::new(head), shorter);
    let (_, next) = compacted.request(false);
    assert!(compacted.has_parted(&next));
    let difference = compacted.difference(&next).unwrap();
    assert_eq!(difference.to_string(), "message 1, block 1 (user text)");
}

#[test]
fn a_fork_from_an_earlier_place_does_not_differ_from_what_it_left() {
    let (mut parent, _) = sent_once();
    parent.push(EntryId(3), Arc::new(Message::user("more")));
    let (_, second) = parent.request(false);
    parent.answered(&second, None);
    let mut earlier = History::new();
    for item in parent.history().iter().take(2) {
        earlier.push(item.entry, Arc::clone(&item.message));
    }
    let head = Arc::new(parent.head().clone());
    let mut child = parent.fork().rewritten(head, earlier);
    child.push(EntryId(4), Arc::new(Message::user("another way")));
    let (_, request) = child.request(false);
    assert_eq!(child.difference(&request), None);
}
