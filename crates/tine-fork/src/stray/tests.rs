use std::collections::HashSet;
use std::sync::Arc;

use proptest::prelude::*;
use tine_model::{Block, Outcome, RawJson, Role, ToolCallId, Usage};
use tine_testkit::replies;

use super::echo::shingles;
use super::evidence::acts;
use super::*;
use crate::outcome::{ForkResult, ForkRunId, Identity};
use crate::params::QuerySource;
use crate::worker::{Inherits, directive_task, fresh_directive};

fn worker_directive(task: &str) -> String {
    crate::worker::worker_directive(task, &Inherits::default())
}

/// A fork to be examined: everything else is as in a fork that did well.
struct Fork {
    inherited: Vec<Message>,
    directive: String,
    acts: Vec<Act>,
    report: Option<String>,
    outcome: Outcome,
}

impl Fork {
    /// A worker with this task, which read a file and reported in form.
    fn worker(task: &str) -> Self {
        Self {
            inherited: Vec::new(),
            directive: worker_directive(task),
            acts: vec![act("FileRead", r#"{"file_path":"own.txt"}"#, "content")],
            report: Some(format!("Scope: {task}\nResult: done\nFiles changed: none\nIssues: none")),
            outcome: Outcome::Completed,
        }
    }

    fn inheriting(mut self, messages: impl IntoIterator<Item = Message>) -> Self {
        self.inherited = messages.into_iter().collect();
        self
    }

    fn seen(&self) -> Vec<String> {
        let evidence = Evidence {
            inherited: self.inherited.iter().collect(),
            directive: self.directive.clone(),
            is_worker: directive_task(&self.directive).is_some(),
            acts: self.acts.clone(),
            report: self.report.clone(),
            outcome: &self.outcome,
            done: None,
            denied: None,
        };
        examine(&evidence).iter().map(|found| format!("{}: {}", found.check, found.seen)).collect()
    }
}

fn act(tool: &str, input: &str, answer: &str) -> Act {
    let (tool, input, answer) = (tool.to_owned(), input.to_owned(), answer.to_owned());
    Act { tool, input, answer, is_error: false }
}

#[test]
fn a_fork_that_does_its_task_raises_no_alarm() {
    let inherited = [
        Message::user(
            "Plan the release.\n- Update the changelog in CHANGELOG.md\n- Bump the version in Cargo.toml",
        ),
        replies::text("I will begin with the changelog."),
    ];
    let mut fork = Fork::worker("Count the modules in src/lib.rs.").inheriting(inherited);
    assert_eq!(fork.seen(), [""; 0]);
    fork.report = Some(
        "Scope: count the modules\nResult: there are 12 modules\nFiles changed: none\n\
         Issues: the changelog in CHANGELOG.md needs an update and the version in Cargo.toml a bump; left alone"
            .to_owned(),
    );
    assert_eq!(fork.seen(), [""; 0], "what is named under Issues was left alone");
}

#[test]
fn a_task_that_asks_for_work_needs_a_call() {
    let no_calls = |task: &str| {
        let fork = Fork { acts: Vec::new(), ..Fork::worker(task) };
        fork.seen()
    };
    assert_eq!(
        no_calls("Run the tests."),
        ["no_work: the task asks for work (`run`) and no tool was called"]
    );
    assert_eq!(
        no_calls("What does src/a.rs do?"),
        ["no_work: the task asks for work (`src/a.rs`) and no tool was called"]
    );
    assert_eq!(no_calls("Say in one sentence what we decided and/or dropped."), [""; 0]);
    assert_eq!(no_calls("Say what the last change and the test were about."), [""; 0], "no orders");
    assert_eq!(no_calls("First think, then update it.").len(), 1);
    let aborted = Fork { acts: Vec::new(), outcome: Outcome::Aborted, ..Fork::worker("Run it.") };
    assert_eq!(aborted.seen(), [""; 0]);
}

#[test]
fn what_the_parent_has_read_need_not_be_read_again() {
    let read = replies::calls([("c1", "FileRead", r#"{"file_path":"src/a.rs"}"#)]);
    let result = |is_error| {
        let block = Block::result(ToolCallId("c1".into()), "fn main() {}", is_error);
        Message::new(Role::User, vec![block])
    };
    let seen = |task: &str, is_error| {
        let fork = Fork { acts: Vec::new(), ..Fork::worker(task) };
        fork.inheriting([Message::user("Read."), read.clone(), result(is_error)]).seen().len()
    };
    assert_eq!(seen("Count the functions of a.rs.", false), 0);
    assert_eq!(seen("Count the functions of a.rs.", true), 1, "it could not be read");
    assert_eq!(seen("Count the functions of a.rs and b.rs.", false), 1);
    assert_eq!(seen("Rename the functions of a.rs.", false), 1, "what was read was not changed");
}

#[test]
fn an_item_of_the_plan_in_other_words_is_no_foreign_task() {
    let plan = "The files:\n- src/lexer.rs reads tokens\n- src/parser.rs builds the tree\n\nThe plan:\n\
        1. Fix the crash of the parser on empty input in src/parser.rs\n2. [ ] Write a test for it to tests/empty.rs\n\
        3. Update the notes in NOTES.md\n4. [x] Add a lint to clippy.toml";
    let with = |task: &str, file: &str| {
        let mut fork = Fork::worker(task).inheriting([Message::user("Plan."), replies::text(plan)]);
        let input = serde_json::json!({ "file_path": file, "content": "x" }).to_string();
        fork.acts.push(act("FileWrite", &input, "ok"));
        fork.seen().len()
    };
    let crash = "Fix the parser's crash on empty input.";
    assert_eq!(with(crash, "src/parser.rs"), 0, "the first item, in other words");
    assert_eq!(with(crash, "src/lexer.rs"), 0, "a file that the parent spoke of is no task");
    assert_eq!(with(crash, "tests/empty.rs"), 1, "the second item");
    assert_eq!(with(crash, "./NOTES.md"), 1, "the third item");
    assert_eq!(with(crash, "clippy.toml"), 0, "what is ticked off is done");
    assert_eq!(with("Update the notes.", "NOTES.md"), 0);
}

const EARLIER: &str = "The parser has two weak places. First, the lexer reads the whole file before it looks at the first \
    token, so a large file needs twice its size in memory. Second, errors are told by byte and not by line, \
    which nobody can use. Both can be mended without a change of the grammar.";

#[test]
fn a_report_that_was_inherited_is_an_echo() {
    let told = |report: &str| {
        let fork = Fork {
            report: Some(format!("Scope: the printer\nResult: {report}")),
            ..Fork::worker("Review the printer.")
        };
        fork.inheriting([Message::user("Review the parser."), replies::text(EARLIER)]).seen()
    };
    assert_eq!(told(EARLIER), ["echo: 100% of the report stands in inherited message 2"]);
    let near = EARLIER.replace("two weak places", "some weak places").replace("nobody", "no one");
    assert_eq!(told(&near).len(), 1, "a word changed here and there");
    let half = &EARLIER[..EARLIER.len() / 2];
    assert_eq!(told(half).len(), 1, "a part of a longer text");
    let other = "Read as a whole file and told by byte, the input of the printer costs memory; a stream would not, and lines in errors would help its users more than offsets do.";
    assert_eq!(told(other), [""; 0], "the same things in other words");
}

#[test]
fn what_was_found_again_or_told_again_is_no_echo() {
    let mut fork = Fork::worker("Review the printer.").inheriting([replies::text(EARLIER)]);
    fork.report = Some(format!("Scope: the printer\nResult: the file says: {EARLIER}"));
    fork.acts = vec![act("FileRead", r#"{"file_path":"notes.md"}"#, EARLIER)];
    assert_eq!(fork.seen(), [""; 0]);
    let mut fork =
        Fork::worker("Repeat the report on the parser.").inheriting([replies::text(EARLIER)]);
    fork.report = Some(format!("Scope: the parser\nResult: {EARLIER}"));
    assert_eq!(fork.seen(), [""; 0], "what was asked for");
    let task = format!("Check whether this is still true: {EARLIER}");
    let mut fork = Fork::worker(&task).inheriting([replies::text(EARLIER)]);
    fork.report = Some(format!("Scope: {task}\nResult: it is"));
    assert_eq!(fork.seen(), [""; 0]);
}

#[test]
fn a_worker_says_its_scope() {
    let told = |report: Option<&str>| {
        Fork { report: report.map(str::to_owned), ..Fork::worker("Look.") }.seen()
    };
    assert_eq!(told(Some("All is fine.")), ["missing_scope: the report says no scope"]);
    assert_eq!(told(Some("Scope:\nResult: fine")), ["missing_scope: the report says no scope"]);
    assert_eq!(told(None), ["missing_scope: there is no report"]);
    assert_eq!(told(Some("Here it is.\n**Scope:** look")), [""; 0]);
    let peer = Fork {
        directive: "Look.".to_owned(),
        report: Some("Fine.".to_owned()),
        ..Fork::worker("")
    };
    assert_eq!(peer.seen(), [""; 0], "only workers are told to");
}

#[test]
fn a_foreign_task_is_known_by_its_files_its_calls_or_its_claims() {
    let agenda = "Next I will:\n1. Rename the config loader in src/config.rs\n2. Delete the unused cache layer";
    let fork = || {
        Fork::worker("Count the lines of README.md.")
            .inheriting([Message::user("Go on."), replies::text(agenda)])
    };
    let mut edits = fork();
    edits.acts.push(act("FileEdit", r#"{"file_path":"src/config.rs","old":"a","new":"b"}"#, "ok"));
    assert_eq!(
        edits.seen(),
        [
            "foreign_task: `src/config.rs` was changed, which belongs to `Rename the config loader in src/config.rs`"
        ]
    );
    let mut refused = edits;
    refused.acts.last_mut().unwrap().is_error = true;
    assert_eq!(
        refused.seen(),
        [""; 0],
        "a refused edit changed nothing, and one term is a coincidence"
    );
    let mut searches = fork();
    searches.acts.push(act("Grep", r#"{"pattern":"unused cache layer","path":"delete"}"#, "none"));
    assert_eq!(
        searches.seen(),
        ["foreign_task: its calls are about `Delete the unused cache layer`"]
    );
    let mut claims = fork();
    claims.report = Some(
        "Scope: lines of README.md\nResult: 12 lines; I also deleted the unused cache layer."
            .to_owned(),
    );
    assert_eq!(claims.seen(), ["foreign_task: its report claims `Delete the unused cache layer`"]);
}

#[test]
fn a_siblings_task_is_read_off_the_call_that_made_it() {
    let input =
        serde_json::json!({ "prompt": worker_directive("Write the glossary to docs/glossary.md") });
    let calls = replies::calls([("c1", "Agent", input.to_string().as_str())]);
    let mut fork = Fork::worker("Write the index to docs/index.md")
        .inheriting([Message::user("Split it."), calls]);
    fork.acts = vec![act(
        "FileWrite",
        r#"{"file_path":"docs/index.md","content":"see glossary.md"}"#,
        "ok",
    )];
    assert_eq!(fork.seen(), [""; 0], "what a file says is not which file it is");
    fork.acts.push(act("FileWrite", r#"{"file_path":"docs/glossary.md","content":"x"}"#, "ok"));
    assert_eq!(
        fork.seen(),
        [
            "foreign_task: `docs/glossary.md` was changed, which belongs to `Write the glossary to docs/glossary.md`"
        ]
    );
}

#[test]
fn calls_that_come_again_without_progress_are_a_loop() {
    let again = |acts: &[(&str, &str)], times: usize| {
        let acts = acts.iter().map(|(tool, answer)| act(tool, r#"{"pattern":"x"}"#, answer));
        let acts: Vec<Act> = acts.collect();
        Fork {
            acts: acts.iter().cycle().take(acts.len() * times).cloned().collect(),
            ..Fork::worker("Find x.")
        }
        .seen()
    };
    assert_eq!(again(&[("Grep", "none")], 2), [""; 0]);
    assert_eq!(again(&[("Grep", "none")], 3), ["loop: the same calls came 3 times in a row: Grep"]);
    assert_eq!(
        again(&[("Grep", "none"), ("Glob", "none")], 3),
        ["loop: the same calls came 3 times in a row: Grep, Glob"]
    );
    let mut polls = Fork::worker("Find x.");
    polls.acts =
        (0..9).map(|at| act("Grep", r#"{"pattern":"x"}"#, &format!("{at} hits"))).collect();
    assert_eq!(polls.seen(), [""; 0], "another answer is progress");
}

#[test]
fn a_worker_that_hands_its_task_on_is_a_loop() {
    let mut fork = Fork::worker("Find x.");
    let hand = |to: &str| act("Agent", &serde_json::json!({ "prompt": to }).to_string(), "started");
    fork.acts = vec![hand("you"), hand("and you")];
    assert_eq!(fork.seen(), ["loop: the work was handed on 2 times, by `Agent`"]);
    fork.directive = "Find x.".to_owned();
    assert_eq!(fork.seen(), [""; 0], "who is no worker may");
}

#[test]
fn evidence_is_read_off_the_messages() {
    let messages = [
        Message::user(worker_directive("Find x.")),
        replies::calls([("a", "Grep", r#"{"pattern":"x"}"#), ("b", "Glob", "{}")]),
        Message::new(
            Role::User,
            vec![
                Block::result(ToolCallId("b".into()), "two", true),
                Block::result(ToolCallId("a".into()), "one", false),
            ],
        ),
        replies::calls([("a", "Grep", "{}")]),
    ];
    let messages: Vec<&Message> = messages.iter().collect();
    let acts = acts(&messages);
    let seen: Vec<String> = acts
        .iter()
        .map(|a| format!("{} {} {} {}", a.tool, a.input, a.answer, a.is_error))
        .collect();
    assert_eq!(seen, [r#"Grep {"pattern":"x"} one false"#, "Glob {} two true", "Grep {}  false"]);
    assert!(RawJson::parse(&acts[0].input).is_ok());
}

/// A run that completed with these messages of its own.
fn run(own: impl IntoIterator<Item = Message>) -> RunReport {
    RunReport {
        outcome: Outcome::Completed,
        messages: own.into_iter().map(Arc::new).collect(),
        usage: Usage::default(),
        requests: Vec::new(),
        turns: 1,
        tool_uses: 0,
        denials: crate::tools::Denials::default(),
        error: None,
        reached: None,
    }
}

fn checks(findings: &[Finding]) -> Vec<Check> {
    findings.iter().map(|finding| finding.check).collect()
}

#[test]
fn a_workers_run_is_examined_with_its_directive_or_its_task_alone() {
    let inherited = [Message::user("Review the parser."), replies::text(EARLIER)];
    let task = "Run the tests of the printer.";
    for told in [worker_directive(task), fresh_directive(task), task.to_owned()] {
        let report = run([Message::user(&*told), replies::text(EARLIER)]);
        let findings = examine_worker(&report, &inherited, &told);
        assert_eq!(checks(&findings), [Check::NoWork, Check::Echo, Check::MissingScope], "{told}");
    }
}

#[test]
fn a_nudged_worker_is_examined_with_all_its_runs() {
    let directive = worker_directive("Run the tests.");
    let first = run([
        Message::user(&*directive),
        replies::calls([("c1", "Bash", r#"{"command":"make test"}"#)]),
        Message::new(Role::User, vec![Block::result(ToolCallId("c1".into()), "ok", false)]),
        replies::text("All is fine."),
    ]);
    let findings = examine_worker(&first, &[], &directive);
    assert_eq!(checks(&findings), [Check::MissingScope]);
    let nudge = nudge(&findings).unwrap();
    let second = run([Message::user(nudge), replies::text("Scope: run the tests\nResult: fine")]);
    assert_eq!(checks(&examine_worker(&second, &[], &directive)), [Check::NoWork]);
    let own = first.messages.iter().chain(&second.messages).map(|message| &**message);
    let evidence = Evidence::of_worker(own, &second.outcome, &[], &directive);
    assert_eq!(examine(&evidence), []);
}

#[test]
fn a_fork_of_the_library_is_a_worker_if_it_was_told_so() {
    let fork = |prompt: Vec<Block>| {
        let identity = Identity {
            run_id: ForkRunId::from_random([0; 16]),
            agent: "a".into(),
            label: String::new(),
            source: QuerySource::Eval,
        };
        ForkResult::new(identity, run([Message::new(Role::User, prompt), replies::text("Fine.")]))
    };
    let text = |text: &str| Block::Text(text.to_owned());
    let told = fork(vec![text("Mind the time."), text(&worker_directive("Say yes."))]);
    let evidence = Evidence::of(&told, &[]);
    assert_eq!((&*evidence.task(), evidence.is_worker), ("Say yes.", true));
    let quotes = fork(vec![text("What is <fork-boilerplate>?"), text("Say it.")]);
    let evidence = Evidence::of(&quotes, &[]);
    let asked = ("What is <fork-boilerplate>?\n\nSay it.", false);
    assert_eq!((&*evidence.task(), evidence.is_worker), asked);
}

#[test]
fn an_echo_is_looked_for_in_the_latest_texts() {
    let seen = |later: Message| {
        let inherited = [replies::text(EARLIER), later];
        let mut fork = Fork::worker("Review the printer.").inheriting(inherited);
        fork.report = Some(EARLIER.to_owned());
        fork.seen().iter().filter(|seen| seen.starts_with("echo")).count()
    };
    let long = "ä".repeat(ECHO_BYTES_MAX);
    let log = Block::result(ToolCallId("c1".into()), long.as_str(), false);
    assert_eq!(seen(Message::new(Role::User, vec![log])), 1, "a log takes nobody's place");
    assert_eq!(seen(Message::user(long)), 0, "what stands before all that was long ago");
}

#[test]
fn the_title_of_ones_own_task_is_no_foreign_task() {
    let call = |title: &str, prompt: &str| {
        serde_json::json!({ "description": title, "prompt": prompt }).to_string()
    };
    let own = "Look for holes in the login of src/auth.rs";
    let calls = [call("Security audit", own), call("Speed audit", "Measure src/speed.rs")];
    let calls = replies::calls([("c1", "Agent", &*calls[0]), ("c2", "Agent", &*calls[1])]);
    let mut fork = Fork::worker(own).inheriting([Message::user("Split it."), calls]);
    fork.acts.push(act("Grep", r#"{"pattern":"security|audit"}"#, "none"));
    assert_eq!(fork.seen(), [""; 0]);
    fork.acts.push(act("Grep", r#"{"pattern":"speed"}"#, "none"));
    assert_eq!(fork.seen(), ["foreign_task: its calls are about `Speed audit`"]);
}

#[test]
fn the_words_of_the_checks_are_read_back() {
    for check in Check::ALL {
        assert_eq!(check.as_str().parse(), Ok(check));
    }
    insta::assert_snapshot!("work".parse::<Check>().unwrap_err(), @"unknown check `work`, expected one of `no_work`, `echo`, `missing_scope`, `foreign_task`, `loop`, `claims`, `too_long`, `denied`");
}

proptest! {
    /// Shows: a text is an echo of any text that it is a part of, whatever the case and the marks around its words.
    #[test]
    fn shingles_of_a_part_are_shingles_of_the_whole(words in prop::collection::vec("[a-z]{1,6}", 4..40), from in 0usize..20) {
        let whole = words.join(" ");
        let part = words[from.min(words.len())..].join(", ").to_uppercase();
        let whole: HashSet<u64> = shingles(&whole).collect();
        prop_assert!(shingles(&part).all(|shingle| whole.contains(&shingle)));
    }

    /// Shows: no text is too odd for the checks.
    #[test]
    fn no_text_is_too_odd(task in ".{0,80}", inherited in ".{0,200}", report in ".{0,200}", input in ".{0,40}") {
        let mut fork = Fork::worker(&task).inheriting([Message::user(inherited)]);
        fork.report = Some(report);
        fork.acts = vec![act("Bash", &input, ""), act("FileWrite", &input, "")];
        prop_assert!(fork.seen().len() <= Check::ALL.len());
    }
}
