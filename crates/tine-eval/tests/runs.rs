//! Whole suites, answered from scripts.

#![expect(clippy::unwrap_used, reason = "a step that fails is a failed test")]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tine_eval::{
    Client, Recorder, Replayer, RunOptions, RunReport, Runner, Suite, SuiteReport, Tape,
    TapeWriter, junit,
};
use tine_fork::DefaultForkSubagent;
use tine_fork::host::Ids;
use tine_llm::LlmClient;
use tine_testkit::{Answer, FakeClock, FakeIds, ScriptedModel, replies};

const MODEL: &str = "anthropic/m";

struct Clock(FakeClock);

impl tine_fork::host::Clock for Clock {
    fn now_ms(&self) -> i64 {
        self.0.now_ms()
    }
}

struct Counted(FakeIds);

impl Ids for Counted {
    fn random(&self) -> [u8; 16] {
        self.0.next_bytes()
    }
}

fn suite(text: &str, directory: &Path) -> Suite {
    Suite::parse(text, Path::new("suite.toml"), directory).unwrap()
}

fn runner(options: RunOptions) -> Runner {
    let (clock, ids) = (Arc::new(Clock(FakeClock::new(1))), Arc::new(Counted(FakeIds::new())));
    Runner { forks: DefaultForkSubagent::new().with_host(clock, ids), options }
}

async fn run_with(suite: &Suite, llm: Arc<dyn LlmClient>, options: RunOptions) -> SuiteReport {
    let client = Client { model: MODEL.parse().unwrap(), llm, account: "a".into() };
    let clients = vec![client; suite.cases.len()];
    runner(options).run(suite, &clients, &|_| {}).await
}

/// Runs one at a time, so that the script's answers meet the runs in order.
async fn run(text: &str, answers: Vec<Answer>) -> (SuiteReport, Arc<ScriptedModel>) {
    let model = Arc::new(ScriptedModel::new(answers));
    let options = RunOptions { jobs: 1, ..RunOptions::default() };
    let suite = suite(text, Path::new("/"));
    (run_with(&suite, Arc::clone(&model) as _, options).await, model)
}

fn only(report: &SuiteReport) -> &RunReport {
    &report.cases[0].runs[0]
}

fn call(tool: &str, input: &serde_json::Value) -> Answer {
    Answer::calls([("c1", tool, input.to_string().as_str())])
}

#[tokio::test]
async fn what_is_not_as_expected_is_told_in_words() {
    let text = r#"
        [[case]]
        name = "all"
        prompt = "go"
        [case.expect]
        report = { contains = "yes", matches = '^\d+$', absent = "No", has_scope = true }
        tool_calls = { must = ["FileRead", "Glob(*.rs)"], must_not = "Glob", min = 2, max = 0 }
        files = { "a.txt" = true, "b.txt" = ["x"], "c.txt" = false }
        max_tokens = 1
        max_turns = 1
        max_cost_usd = 0.5
    "#;
    let write = call("FileWrite", &serde_json::json!({ "file_path": "c.txt", "content": "" }));
    let glob = call("Glob", &serde_json::json!({ "pattern": "*" }));
    let (report, _) = run(text, vec![write, glob, Answer::text("no, it is not")]).await;
    insta::assert_snapshot!(only(&report).complaints().join("\n"), @r#"
    the report does not contain `yes`; it says: no, it is not
    the report does not match `^\d+$`; it says: no, it is not
    the report contains `No`; it says: no, it is not
    the report has no scope; it says: no, it is not
    it did not call FileRead; it called FileWrite, Glob
    it did not call Glob(*.rs); it called FileWrite, Glob
    it called Glob with {"pattern":"*"}
    it made 2 calls, expected at most 0
    it used 30 tokens, expected at most 1
    it took 3 turns, expected at most 1
    what it cost is not known: the model has no known price
    the file `a.txt` is not there
    the file `b.txt` is not there
    the file `c.txt` is there
    "#);
    assert!(!report.passed());
}

#[tokio::test]
async fn each_run_begins_with_the_fixture_and_leaves_nothing() {
    let beside = tempfile::tempdir().unwrap();
    std::fs::create_dir(beside.path().join("fix")).unwrap();
    std::fs::write(beside.path().join("fix/a.txt"), "one\n").unwrap();
    let text = r#"
        [[case]]
        name = "edits"
        prompt = "go"
        fixture = "fix"
        repeat = 2
        expect.files = { "a.txt" = "two" }
    "#;
    let read = || call("FileRead", &serde_json::json!({ "file_path": "a.txt" }));
    let edit =
        serde_json::json!({ "file_path": "a.txt", "old_string": "one", "new_string": "two" });
    let answers = vec![read(), call("FileEdit", &edit), Answer::text("ok")];
    let again = vec![read(), call("FileEdit", &edit), Answer::text("ok")];
    let model = Arc::new(ScriptedModel::new(answers.into_iter().chain(again)));
    let options = RunOptions { jobs: 1, ..RunOptions::default() };
    let report = run_with(&suite(text, beside.path()), Arc::clone(&model) as _, options).await;
    assert_eq!((report.cases[0].passed(), report.cases[0].runs.len()), (2, 2), "{report:?}");
    assert_eq!(std::fs::read_to_string(beside.path().join("fix/a.txt")).unwrap(), "one\n");
}

#[tokio::test]
async fn nothing_that_differs_from_run_to_run_is_sent() {
    let text = r#"
        [[case]]
        name = "looks"
        prompt = "go"
        tools = ["Bash", "FileRead", "FileWrite"]
        repeat = 2
        expect.files = { "sub/a.txt" = "here" }
    "#;
    let answers = || {
        let path = "/tine-eval/case/sub/a.txt";
        let write = serde_json::json!({ "file_path": path, "content": "here\n" });
        [
            call(
                "Bash",
                &serde_json::json!({ "command": "pwd; echo $TMPDIR; ls -ld --time-style=+%s ." }),
            ),
            call("FileRead", &serde_json::json!({ "file_path": "none.txt" })),
            call("FileWrite", &write),
            call(
                "Bash",
                &serde_json::json!({ "command": "cat /tine-eval/case/sub/a.txt; echo x > /etc/x" }),
            ),
            Answer::text("ok"),
        ]
    };
    let model = Arc::new(ScriptedModel::new(answers().into_iter().chain(answers())));
    let options = RunOptions { jobs: 1, ..RunOptions::default() };
    let report = run_with(&suite(text, Path::new("/")), Arc::clone(&model) as _, options).await;
    assert!(report.passed(), "{report:?}");
    let bodies: Vec<String> = model.requests().iter().map(|request| request.text()).collect();
    let (first, second) = bodies.split_at(5);
    assert_eq!(first, second);
    let last = &first[4];
    assert!(last.contains("/tine-eval/case\\n/tine-eval/tmp"), "{last}");
    assert!(last.contains("here") && last.contains("/etc/x: "), "{last}");
    assert!(!last.contains(std::env::temp_dir().join("tine-eval-").to_str().unwrap()), "{last}");
}

#[tokio::test]
async fn a_case_reaches_nothing_outside_its_copy() {
    let outside = tempfile::tempdir().unwrap();
    let path = outside.path().canonicalize().unwrap().join("x.txt");
    std::fs::write(&path, "untouched").unwrap();
    let text = "[[case]]\nname = \"a\"\nprompt = \"go\"\n[[case]]\nname = \"b\"\nprompt = \"go\"\nfilter = \"read-only\"";
    let write = serde_json::json!({ "file_path": path, "content": "y" });
    let answers = vec![
        call("FileWrite", &write),
        call("FileRead", &serde_json::json!({ "file_path": path })),
        call("Bash", &serde_json::json!({ "command": "ls" })),
        Answer::text("ok"),
        call("FileWrite", &serde_json::json!({ "file_path": "own.txt", "content": "y" })),
        Answer::text("ok"),
    ];
    let (_, model) = run(text, answers).await;
    let requests = model.requests();
    let told = |at: usize| requests[at].text();
    assert!(
        told(1).contains("Denied: ") && told(2).matches("Denied: ").count() == 2,
        "{}",
        told(2)
    );
    assert!(told(3).contains("There is no tool `Bash`."), "{}", told(3));
    assert!(told(5).contains("\"is_error\":true"), "{}", told(5));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "untouched");
}

#[tokio::test]
async fn results_keep_the_order_of_the_suite_whoever_ends_first() {
    let text = r#"
        [[case]]
        name = "one"
        prompt = "first"
        repeat = 3
        expect.report = { contains = "first" }
        [[case]]
        name = "two"
        prompt = "second"
        expect.report = { contains = "second" }
    "#;
    let model = ScriptedModel::answering(|request| {
        Answer::text(if request.text().contains("second") { "second" } else { "first" })
    });
    let (suite, done) = (suite(text, Path::new("/")), AtomicUsize::new(0));
    let client =
        Client { model: MODEL.parse().unwrap(), llm: Arc::new(model), account: "a".into() };
    let runner = runner(RunOptions { jobs: 4, ..RunOptions::default() });
    let report = runner
        .run(&suite, &vec![client; 2], &|progress| {
            assert_eq!(progress.total, 4);
            done.fetch_add(1, Ordering::Relaxed);
        })
        .await;
    assert!(report.passed(), "{report:?}");
    let runs: Vec<usize> = report.cases.iter().map(|case| case.runs.len()).collect();
    assert_eq!((runs, done.into_inner()), (vec![3, 1], 4));
}

#[tokio::test(start_paused = true)]
async fn a_run_that_takes_too_long_is_ended() {
    let text =
        "[[case]]\nname = \"slow\"\nprompt = \"go\"\ntimeout = 30\nexpect.outcome = \"timed_out\"";
    let (report, _) = run(text, vec![Answer::text_then_hang("half")]).await;
    assert!(report.passed(), "{report:?}");
    assert_eq!(only(&report).duration, std::time::Duration::from_secs(30));
}

#[tokio::test]
async fn what_was_stopped_or_refused_failed_and_did_not_stray() {
    let text = "[[case]]\nname = \"a\"\nprompt = \"go\"\nstray = \"loop\"";
    let model: Arc<dyn LlmClient> = Arc::new(ScriptedModel::new([]));
    let report =
        run_with(&suite(text, Path::new("/")), Arc::clone(&model), RunOptions::default()).await;
    insta::assert_snapshot!(only(&report).complaints().join("\n"), @"it failed: request failed: the script has no answer to request 1");
    let options = RunOptions::default();
    options.cancel.cancel();
    let report = run_with(&suite(text, Path::new("/")), model, options).await;
    insta::assert_snapshot!(only(&report).complaints().join("\n"), @"it was not begun: the evaluation was stopped");
    assert_eq!((report.passed(), report.strays().unwrap().runs), (false, 0));
}

#[tokio::test]
async fn a_recorded_suite_is_repeated_from_its_tape() {
    let text = r#"
        [[case]]
        name = "looks"
        prompt = "Find the files."
        directive = "worker"
        repeat = 2
        messages = [{ role = "user", text = "Hello." }, { role = "assistant", text = "Hello!" }]
        expect.tool_calls = { must = "Glob" }
        expect.report = { has_scope = true }
    "#;
    let answer = || {
        let glob = replies::text_and_calls("I look.", [("c1", "Glob", r#"{"pattern":"*"}"#)]);
        [Answer::message(glob), Answer::text("Scope: find\nResult: none")]
    };
    let suite = suite(text, Path::new("/"));
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("tape.jsonl");
    let model = MODEL.parse().unwrap();
    let writer = TapeWriter::create(&path, &suite.name, (None, Some(&model))).unwrap();
    let scripted = ScriptedModel::new(answer().into_iter().chain(answer()));
    let recorder = Recorder::new(Arc::new(scripted), model, Arc::clone(&writer));
    let options = || RunOptions { jobs: 1, ..RunOptions::default() };
    let first = run_with(&suite, Arc::new(recorder), options()).await;
    assert!(first.passed(), "{first:?}");
    assert_eq!(writer.finish().unwrap(), (4, 0));
    let tape = Tape::load(&path).unwrap();
    let again = run_with(&suite, Arc::new(Replayer::new(tape.clone())), options()).await;
    assert!(again.passed(), "{again:?}");
    let seen = |report: &SuiteReport| {
        let run = |run: &RunReport| (run.text.clone(), run.calls.clone(), run.usage);
        report.cases.iter().flat_map(|case| case.runs.iter().map(run)).collect::<Vec<_>>()
    };
    assert_eq!(seen(&first), seen(&again));
    let options = RunOptions { repeat: Some(3), ..options() };
    let thrice = run_with(&suite, Arc::new(Replayer::new(tape)), options).await;
    insta::assert_snapshot!(thrice.cases[0].runs[2].complaints().join("\n"), @"it failed: request failed: the tape has this request 2 times, and it was asked again");
}

#[tokio::test]
async fn the_junit_report_has_a_test_for_each_run() {
    let text = r#"
        [[case]]
        name = "says <yes>"
        prompt = "go"
        repeat = 2
        expect.report = { contains = "yes" }
    "#;
    let (mut report, _) =
        run(text, vec![Answer::text("yes & more"), Answer::text("\u{1b}[31mno")]).await;
    for run in report.cases.iter_mut().flat_map(|case| &mut case.runs) {
        run.duration = std::time::Duration::from_millis(1_250);
    }
    insta::assert_snapshot!(junit(&report).unwrap(), @r#"
    <?xml version="1.0" encoding="UTF-8"?>
    <testsuites name="tine eval" tests="2" skipped="0" failures="1" errors="0" time="2.500">
        <testsuite name="suite" tests="2" skipped="0" errors="0" failures="1" time="2.500">
            <testcase name="says &lt;yes&gt; #1" classname="suite" time="1.250">
                <properties>
                    <property name="model" value="anthropic/m"/>
                    <property name="tokens" value="10"/>
                </properties>
                <system-out>yes &amp; more</system-out>
            </testcase>
            <testcase name="says &lt;yes&gt; #2" classname="suite" time="1.250">
                <properties>
                    <property name="model" value="anthropic/m"/>
                    <property name="tokens" value="10"/>
                </properties>
                <failure message="the report does not contain `yes`; it says: no" type="completed">the report does not contain `yes`; it says: no</failure>
                <system-out>no</system-out>
            </testcase>
        </testsuite>
    </testsuites>
    "#);
}

/// A memory that nobody has kept yet.
#[tokio::test]
async fn a_dream_begins_with_no_notes_where_the_case_has_none() {
    let text = r#"
        [[case]]
        name = "first"
        prompt = "User: Times are in UTC."
        directive = "dream"
        expect.files = { "memory/MEMORY.md" = { contains = "UTC", absent = "local" }, "made.txt" = false }
    "#;
    let write = |id, name: &str| {
        let input = serde_json::json!({ "file_path": name, "content": "Times are in UTC.\n" });
        (id, "FileWrite", input.to_string())
    };
    let calls =
        [write("c1", "/tine-eval/case/memory/MEMORY.md"), write("c2", "/tine-eval/case/made.txt")];
    let calls = calls.each_ref().map(|(id, tool, input)| (*id, *tool, input.as_str()));
    let answers =
        vec![Answer::message(replies::text_and_calls("I note it.", calls)), Answer::text("Noted.")];
    let (report, _) = run(text, answers).await;
    assert!(report.passed(), "{report:?}");
}
