//! The queue of questions: kept before anybody is asked, answered by whoever is first, found again after a crash.

#![expect(clippy::unwrap_used, reason = "a step that fails is a failed test")]

mod fixture;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use fixture::{House, options};
use tine_cache::Asked;
use tine_guard::Rules;
use tine_model::{AgentId, Decision, Outcome, PermissionScope, PermissionState};
use tine_runtime::{
    Answer, Answered, DEADLINE_DEFAULT, EventFilter, EventKind, FanSpec, ForkSpec, Heard, NotKept,
    PermissionRequest, QueuePolicy, RuleBook, RunOptions,
};
use tine_store::{AnswerPermission, PermissionFilter, PermissionRow, Store, StoreError};
use tine_testkit::{Answer as Reply, ScriptedModel, until_some_async};
use tokio_util::sync::CancellationToken;

/// Who answers at the run's terminal.
const HERE: &str = "the run's terminal";

/// The rules that answers reach to.
#[derive(Default)]
struct Book(Mutex<Vec<(Decision, String)>>);

impl RuleBook for Book {
    fn keep(&self, decision: Decision, rule: &str) -> Result<String, NotKept> {
        self.0.lock().unwrap().push((decision, rule.to_owned()));
        Ok(format!("kept {rule}"))
    }
}

/// Does the work beside somebody who is handed what is asked, one question after the other.
async fn asking<T>(
    house: &House,
    work: impl Future<Output = T>,
    mut answer: impl AsyncFnMut(PermissionRequest),
) -> T {
    let (mut told, over) = (house.runtime.subscribe(EventFilter::All), CancellationToken::new());
    let work = async {
        let _over = over.clone().drop_guard();
        work.await
    };
    let terminal = async {
        // Both branches are cancel-safe.
        while let Some(heard) = tokio::select! {
            biased;
            heard = told.next() => heard,
            () = over.cancelled() => None,
        } {
            let Heard::Event(event) = heard else { panic!("{heard:?}") };
            if let EventKind::Asked(request) = &event.kind {
                answer((**request).clone()).await;
            }
        }
    };
    tokio::join!(work, terminal).0
}

/// Does the work beside somebody who gives these answers, and is asked no more than that; what was asked, and what became of each
/// answer.
async fn answering<T>(
    house: &House,
    work: impl Future<Output = T>,
    answers: impl IntoIterator<Item = Answer>,
) -> (T, Vec<(PermissionRequest, Answered)>) {
    let (mut answers, mut asked) = (answers.into_iter(), Vec::new());
    let answer = async |request: PermissionRequest| {
        let answer = answers.next().unwrap();
        let answered = house.runtime.answer_request(request.id, answer, HERE).await.unwrap();
        asked.push((request, answered));
    };
    (asking(house, work, answer).await, asked)
}

/// A run that somebody watches who answers.
fn watched() -> RunOptions {
    let mut options = options();
    options.permissions.asks = true;
    options
}

/// A run that nobody watches.
fn alone(queue: QueuePolicy) -> RunOptions {
    let mut options = options();
    options.permissions.queue = queue;
    options
}

fn patient() -> QueuePolicy {
    QueuePolicy { wait: true, ..QueuePolicy::default() }
}

fn touch(call: &'static str, file: &str) -> Reply {
    Reply::calls([(call, "Bash", format!(r#"{{"command":"touch {file}"}}"#).as_str())])
}

async fn house(replies: impl IntoIterator<Item = Reply>) -> House {
    House::new(ScriptedModel::new(replies)).await
}

async fn pending(store: &dyn Store) -> Vec<PermissionRow> {
    store.permissions(None, PermissionFilter::Pending).await.unwrap()
}

/// Waits until so many requests are in the queue: the store is asked as another process would ask it.
async fn until_pending(house: &House, count: usize) -> Vec<PermissionRow> {
    let look = async || {
        let rows = pending(&**house.runtime.store()).await;
        (rows.len() == count).then_some(rows)
    };
    until_some_async("so many requests in the queue", look).await
}

fn word(row: &PermissionRow, decision: Decision, scope: PermissionScope) -> AnswerPermission {
    let by = "another terminal".to_owned();
    AnswerPermission {
        id: row.id,
        decision,
        scope,
        rule: None,
        by,
        reason: None,
        now_ms: 1_000_001,
    }
}

fn exists(house: &House, file: &str) -> bool {
    house.home.path().join(file).exists()
}

#[tokio::test]
async fn a_workers_question_from_two_below_is_in_the_roots_queue_before_anybody_is_asked() {
    let report = || Reply::text("Scope: all\nResult: ok");
    let house = house([report(), touch("c1", "x"), report()]).await;
    let root = house.root().await;
    let fan = |parent| {
        let directives = vec!["work".to_owned()];
        FanSpec { fork: tine_runtime::ForkSpec::of(parent), directives, plan: Asked::Auto }
    };
    let above = house.runtime.fan(fan(root), &options()).await.unwrap();
    let (options, mut asked) = (watched(), Vec::new());
    let run = house.runtime.fan(fan(above.tasks[0].agent), &options);
    let answer = async |request: PermissionRequest| {
        let rows = pending(&**house.runtime.store()).await;
        let yes = Answer::Allow(PermissionScope::Once);
        house.runtime.answer_request(request.id, yes, HERE).await.unwrap();
        asked.push((request, rows));
    };
    let worker = asking(&house, run, answer).await.unwrap().tasks[0].agent;
    assert_eq!(asked.len(), 1);
    let (request, rows) = asked.remove(0);
    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0].id, rows[0].agent, rows[0].root), (request.id, worker, root));
    assert_eq!(rows[0].what, "Bash: touch x");
    assert!(rows[0].why.starts_with("no rule allows this command"), "{}", rows[0].why);
    assert_eq!(rows[0].rule.as_deref(), Some("Bash(touch x)"));
    let deadline_ms = i64::try_from(DEADLINE_DEFAULT.as_millis()).unwrap();
    assert_eq!(rows[0].deadline_ms - rows[0].created_ms, deadline_ms);
    assert!(exists(&house, "x"));
    let row = house.runtime.store().permission(request.id).await.unwrap();
    assert_eq!((row.state, row.scope), (PermissionState::Allowed, Some(PermissionScope::Once)));
    assert!(row.taken_ms.is_some());
}

#[tokio::test]
async fn whoever_is_first_answers_and_the_other_is_told() {
    let house = house([touch("c1", "x"), Reply::text("done")]).await;
    let root = house.root().await;
    let (options, mut told) = (watched(), house.runtime.subscribe(EventFilter::All));
    let run = house.runtime.run(root, Some("go".into()), &options);
    let elsewhere = async |request: PermissionRequest| {
        let row = house.runtime.store().permission(request.id).await.unwrap();
        let yes = word(&row, Decision::Allow, PermissionScope::Once);
        house.runtime.store().answer_permission(yes).await.unwrap();
    };
    let run = asking(&house, run, elsewhere).await;
    assert_eq!(run.unwrap().report.outcome, Outcome::Completed);
    assert!(exists(&house, "x"));
    let settled = std::iter::from_fn(|| told.try_next()).filter_map(|heard| match heard {
        Heard::Event(event) => match &event.kind {
            EventKind::Settled(row) => Some((row.state, row.answered_by.clone())),
            _ => None,
        },
        Heard::Lagged(missed) => panic!("{missed} events were missed"),
    });
    let told = [(PermissionState::Allowed, Some("another terminal".to_owned()))];
    assert_eq!(settled.collect::<Vec<_>>(), told);
}

#[tokio::test]
async fn a_run_without_a_listener_takes_the_default_at_once() {
    for (fallback, done) in [(Decision::Deny, false), (Decision::Allow, true)] {
        let house = house([touch("c1", "x"), Reply::text("done")]).await;
        let root = house.root().await;
        let options = alone(QueuePolicy { fallback, ..QueuePolicy::default() });
        let run = house.runtime.run(root, Some("go".into()), &options).await.unwrap();
        assert_eq!(run.report.outcome, Outcome::Completed);
        assert_eq!(exists(&house, "x"), done);
        let told = house.model.requests()[1].text();
        assert_eq!(told.contains("nobody can be asked here"), !done, "{told}");
        let rows = house.runtime.store().permissions(Some(root), PermissionFilter::All).await;
        assert_eq!(rows.unwrap()[0].state, PermissionState::Expired);
    }
}

#[tokio::test]
async fn a_run_that_waits_for_another_process_is_answered_or_comes_to_its_deadline() {
    for (fallback, done) in [(Decision::Deny, false), (Decision::Allow, true)] {
        let house = house([touch("c1", "x"), touch("c2", "y"), Reply::text("done")]).await;
        let root = house.root().await;
        // Longer than this test takes, and much shorter than a command may run.
        let deadline = Duration::from_secs(40);
        let options = alone(QueuePolicy { fallback, deadline, ..patient() });
        let run = house.runtime.run(root, Some("go".into()), &options);
        let elsewhere = async {
            let first = until_pending(&house, 1).await.remove(0);
            let yes = word(&first, Decision::Allow, PermissionScope::Once);
            house.runtime.store().answer_permission(yes).await.unwrap();
            let look = async || {
                let rows = pending(&**house.runtime.store()).await;
                rows.into_iter().find(|row| row.id != first.id)
            };
            let second = until_some_async("the second request", look).await;
            // A clock that is set ends no question, nor does another process that looks.
            house.clock.advance_ms(2 * (second.deadline_ms - second.created_ms));
            assert_eq!(house.runtime.requests_waiting().await.unwrap().len(), 1);
            assert_eq!(until_pending(&house, 1).await[0].id, second.id);
            // The time in which the run has waited does; it may begin to wait behind its row.
            let passed = async || {
                tokio::time::pause();
                tokio::time::advance(deadline).await;
                tokio::time::resume();
                let row = house.runtime.store().permission(second.id).await.unwrap();
                (row.state != PermissionState::Pending).then_some(())
            };
            until_some_async("the deadline", passed).await;
        };
        let (run, ()) = tokio::join!(run, elsewhere);
        assert_eq!(run.unwrap().report.outcome, Outcome::Completed);
        assert_eq!((exists(&house, "x"), exists(&house, "y")), (true, done));
        let told = house.model.requests()[2].text();
        assert_eq!(told.contains("nobody answered in time"), !done, "{told}");
    }
}

/// Runs until a question waits, and lets go of the run as a crash would.
async fn cut_off_while_it_waits(house: House, agent: AgentId) -> (House, PermissionRow) {
    let options = alone(patient());
    let row = tokio::select! {
        run = house.runtime.run(agent, Some("go".into()), &options) => panic!("{run:?}"),
        mut rows = until_pending(&house, 1) => rows.remove(0),
    };
    let house = house.reopened().await;
    house.runtime.recover().await.unwrap();
    (house, row)
}

#[tokio::test]
async fn an_answer_given_while_nobody_ran_is_used_when_the_run_goes_on() {
    for (decision, done) in [(Decision::Allow, true), (Decision::Deny, false)] {
        let house = house([touch("c1", "x"), Reply::text("done")]).await;
        let root = house.root().await;
        let (house, row) = cut_off_while_it_waits(house, root).await;
        let answer = AnswerPermission {
            reason: Some("not here".to_owned()),
            ..word(&row, decision, PermissionScope::Once)
        };
        house.runtime.store().answer_permission(answer).await.unwrap();
        let run = house.runtime.run(root, None, &options()).await.unwrap();
        assert_eq!(run.report.outcome, Outcome::Completed);
        assert_eq!(exists(&house, "x"), done);
        let told = house.model.requests()[1].text();
        assert_eq!(told.contains("Denied by the user: not here."), !done, "{told}");
        let row = house.runtime.store().permission(row.id).await.unwrap();
        assert!(row.taken_ms.is_some(), "it served");
    }
}

#[tokio::test]
async fn a_question_that_waits_still_is_asked_again_under_the_same_row() {
    let house = house([touch("c1", "x"), Reply::text("done")]).await;
    let root = house.root().await;
    let (house, row) = cut_off_while_it_waits(house, root).await;
    house.clock.advance_ms(60_000);
    let options = watched();
    let run = house.runtime.run(root, None, &options);
    let (run, asked) = answering(&house, run, [Answer::Allow(PermissionScope::Once)]).await;
    assert_eq!(run.unwrap().report.outcome, Outcome::Completed);
    let (request, _) = &asked[0];
    assert_eq!((request.id, request.deadline_ms), (row.id, row.deadline_ms + 60_000));
    assert!(exists(&house, "x"));
}

#[tokio::test]
async fn a_question_that_its_reader_leaves_takes_the_default_unless_the_run_waits_for_others() {
    for wait in [false, true] {
        let house = house([touch("c1", "x"), Reply::text("done")]).await;
        let root = house.root().await;
        let mut options = watched();
        options.permissions.queue.wait = wait;
        let run = house.runtime.run(root, Some("go".into()), &options);
        let leave = async |request: PermissionRequest| {
            house.runtime.leave_unanswered(request.id);
            if wait {
                let yes = Answer::Allow(PermissionScope::Once);
                house.runtime.answer_request(request.id, yes, "another").await.unwrap();
            }
        };
        let run = asking(&house, run, leave).await.unwrap();
        assert_eq!(run.report.outcome, Outcome::Completed);
        assert_eq!(exists(&house, "x"), wait);
        let told = house.model.requests()[1].text();
        assert_eq!(told.contains("nobody can be asked here"), !wait, "{told}");
    }
}

#[tokio::test]
async fn beside_a_call_that_waited_the_others_are_told_to_be_unknown() {
    let calls = [
        ("c1", "Bash", r#"{"command":"touch x"}"#),
        ("c2", "Glob", r#"{"pattern":"*"}"#),
        ("c3", "Bash", r#"{"command":"touch y"}"#),
    ];
    let house = house([Reply::calls(calls), Reply::text("done")]).await;
    let root = house.root().await;
    let (house, row) = cut_off_while_it_waits(house, root).await;
    let yes = word(&row, Decision::Allow, PermissionScope::Once);
    house.runtime.store().answer_permission(yes).await.unwrap();
    house.runtime.run(root, Some("and now?".into()), &options()).await.unwrap();
    assert_eq!((exists(&house, "x"), exists(&house, "y")), (true, false));
    let told = house.model.requests()[1].text();
    assert_eq!(told.matches("whether it was carried out is not known").count(), 2, "{told}");
    assert!(told.contains("and now?"), "{told}");
}

#[tokio::test]
async fn an_answer_stands_as_far_as_its_scope_and_a_no_beats_a_yes() {
    use PermissionScope::{Agent, Tree};
    let replies = (0..12).map(|_| [touch("c", "x"), Reply::text("done")]).collect::<Vec<_>>();
    let mut house = house(replies.into_iter().flatten()).await;
    let book = Arc::new(Book::default());
    house.runtime = house.runtime.clone().with_rule_book(book.clone());
    let root = house.root().await;
    let options = watched();
    let fork = async |parent| {
        let spec = ForkSpec::of(parent);
        house.runtime.fork(spec).await.unwrap().child
    };
    let mut told = Vec::new();
    // Whether a question is asked on a run of this agent, and whether the command ran.
    let mut run = async |agent, answer: Option<Answer>| {
        let _ = std::fs::remove_file(house.home.path().join("x"));
        let run = house.runtime.run(agent, Some("go".into()), &options);
        let (run, asked) = answering(&house, run, answer).await;
        run.unwrap();
        let is_asked = !asked.is_empty();
        told.extend(asked.into_iter().filter_map(|(_, answered)| answered.kept));
        (is_asked, exists(&house, "x"))
    };
    let once = || Some(Answer::Allow(PermissionScope::Once));
    assert_eq!(run(root, once()).await, (true, true));
    assert_eq!(run(root, Some(Answer::Allow(Agent))).await, (true, true));
    assert_eq!(run(root, None).await, (false, true));
    let child = fork(root).await;
    assert_eq!(run(child, Some(Answer::Allow(Tree))).await, (true, true), "not inherited");
    let grandchild = fork(child).await;
    assert_eq!(run(grandchild, None).await, (false, true));
    let stranger = house.root().await;
    assert_eq!(run(stranger, once()).await, (true, true));
    let stranger = house.root().await;
    assert_eq!(run(stranger, Some(Answer::Deny(Tree))).await, (true, false));
    let child = fork(stranger).await;
    assert_eq!(run(child, None).await, (false, false));
    let rows = house.runtime.store().permissions(Some(stranger), PermissionFilter::Standing).await;
    house.runtime.store().revoke_permission(rows.unwrap()[0].id, 1).await.unwrap();
    let always = Some(Answer::Allow(PermissionScope::Always));
    assert_eq!(run(child, always).await, (true, true));
    assert_eq!(run(child, None).await, (false, true));
    assert_eq!(*book.0.lock().unwrap(), [(Decision::Allow, "Bash(touch x)".to_owned())]);
    assert_eq!(told, [Ok("kept Bash(touch x)".to_owned())]);
}

#[tokio::test]
async fn a_deny_rule_beats_every_answer_that_stands() {
    let house = house([touch("c1", "x"), Reply::text("ok"), touch("c2", "x"), Reply::text("ok")]);
    let house = house.await;
    let root = house.root().await;
    let mut options = watched();
    let run = house.runtime.run(root, Some("go".into()), &options);
    let (run, _) = answering(&house, run, [Answer::Allow(PermissionScope::Tree)]).await;
    run.unwrap();
    std::fs::remove_file(house.home.path().join("x")).unwrap();
    let rules = Rules::parse(&[], &[], &["Bash(touch *)"]).unwrap();
    options.permissions.rules = Arc::new(rules);
    let run = house.runtime.run(root, Some("again".into()), &options);
    answering(&house, run, []).await.0.unwrap();
    assert!(!exists(&house, "x"));
}

#[tokio::test]
async fn an_answer_for_the_tree_serves_the_siblings_that_wait() {
    let reply = |request: &tine_testkit::Captured| match request.text().contains("toolu") {
        true => Reply::text("Scope: all\nResult: ok"),
        false => Reply::calls([("toolu_1", "Bash", r#"{"command":"touch x"}"#)]),
    };
    let house = House::new(ScriptedModel::answering(reply)).await;
    let root = house.root().await;
    let directives = vec!["one".to_owned(), "two".to_owned(), "three".to_owned()];
    let spec =
        FanSpec { fork: tine_runtime::ForkSpec::of(root), directives, plan: Asked::Together };
    let options = alone(patient());
    let fan = house.runtime.fan(spec, &options);
    let answered = async {
        let rows = until_pending(&house, 3).await;
        let yes = word(&rows[1], Decision::Allow, PermissionScope::Tree);
        house.runtime.store().answer_permission(yes).await.unwrap();
        rows
    };
    let (fan, rows) = tokio::join!(fan, answered);
    assert_eq!(fan.unwrap().tasks.len(), 3);
    for row in rows {
        let row = house.runtime.store().permission(row.id).await.unwrap();
        assert_eq!(row.state, PermissionState::Allowed);
    }
}

#[tokio::test]
async fn a_stopped_run_withdraws_its_question() {
    let house = house([touch("c1", "x")]).await;
    let root = house.root().await;
    let options = alone(patient());
    let cancel = options.cancel.clone();
    let run = house.runtime.run(root, Some("go".into()), &options);
    let stop = async {
        let row = until_pending(&house, 1).await.remove(0);
        cancel.cancel();
        row
    };
    let (run, row) = tokio::join!(run, stop);
    assert_eq!(run.unwrap().report.outcome, Outcome::Aborted);
    let row = house.runtime.store().permission(row.id).await.unwrap();
    assert_eq!(row.state, PermissionState::Withdrawn);
    let late =
        house.runtime.store().answer_permission(word(&row, Decision::Allow, PermissionScope::Once));
    assert!(matches!(late.await, Err(StoreError::Settled { .. })));
}

#[tokio::test]
async fn a_question_that_a_rule_has_answered_meanwhile_does_not_wait_on() {
    let house = house([touch("c1", "x"), Reply::text("done")]).await;
    let root = house.root().await;
    let (house, row) = cut_off_while_it_waits(house, root).await;
    let mut options = options();
    options.permissions.rules = Arc::new(Rules::parse(&["Bash(touch x)"], &[], &[]).unwrap());
    house.runtime.run(root, None, &options).await.unwrap();
    assert!(exists(&house, "x"));
    let row = house.runtime.store().permission(row.id).await.unwrap();
    assert_eq!(row.state, PermissionState::Withdrawn);
}

#[cfg(unix)]
#[tokio::test]
async fn a_yes_to_a_call_through_a_link_is_for_this_call() {
    let edit = r#"{"file_path":"link","content":"new"}"#;
    let house = house([Reply::calls([("c1", "FileWrite", edit)]), Reply::text("done")]).await;
    let outside = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(outside.path().join("f"), house.home.path().join("link")).unwrap();
    let root = house.root().await;
    let options = alone(patient());
    let run = house.runtime.run(root, Some("go".into()), &options);
    let answered = async {
        let row = until_pending(&house, 1).await.remove(0);
        let wide = word(&row, Decision::Allow, PermissionScope::Agent);
        let refused = house.runtime.store().answer_permission(wide).await;
        assert!(matches!(refused, Err(StoreError::TooWide { .. })));
        let no = word(&row, Decision::Deny, PermissionScope::Tree);
        house.runtime.store().answer_permission(no).await.unwrap();
        row
    };
    let (_, row) = tokio::join!(run, answered);
    assert_eq!(row.widest, PermissionScope::Once);
    let real = outside.path().canonicalize().unwrap().join("f");
    let named = row.why.contains(&*real.to_string_lossy());
    assert!(named && row.why.ends_with("through a symbolic link"), "{}", row.why);
}

#[tokio::test]
async fn a_question_about_what_no_rule_can_allow_offers_no_rule_for_good() {
    let house = house([touch("c1", "x"), Reply::text("done")]).await;
    let root = house.root().await;
    let mut options = watched();
    options.permissions.rules = Arc::new(Rules::parse(&[], &["Bash"], &[]).unwrap());
    let run = house.runtime.run(root, Some("go".into()), &options);
    let (run, asked) = answering(&house, run, [Answer::Deny(PermissionScope::Once)]).await;
    run.unwrap();
    // An ask rule beats an allow rule, so writing one would change nothing.
    assert_eq!(asked[0].0.widest, PermissionScope::Tree);
}

#[tokio::test]
async fn a_wider_rule_covers_other_calls_of_the_tree_but_none_that_a_rule_asks_about() {
    let test = |call, words: &str| {
        let input = format!(r#"{{"command":"cargo test {words}"}}"#);
        Reply::calls([(call, "Bash", input.as_str())])
    };
    let replies =
        [test("c1", "--help"), test("c2", "-h"), test("c3", "--version"), Reply::text("")];
    let house = house(replies).await;
    let root = house.root().await;
    let mut options = watched();
    options.permissions.rules = Arc::new(Rules::parse(&[], &["Bash(* --version)"], &[]).unwrap());
    let offered = "Bash(cargo test *)".to_owned();
    let answers = [
        Answer::AllowRule(PermissionScope::Tree, offered.clone()),
        Answer::Deny(PermissionScope::Once),
    ];
    let run = house.runtime.run(root, Some("go".into()), &options);
    let (run, asked) = answering(&house, run, answers).await;
    run.unwrap();
    let asked: Vec<_> = asked.into_iter().map(|(request, _)| request).collect();
    let what: Vec<&str> = asked.iter().map(|request| request.what.as_str()).collect();
    assert_eq!(what, ["Bash: cargo test --help", "Bash: cargo test --version"]);
    let offers = asked[0].offers.iter().map(|offer| offer.rule.clone()).collect::<Vec<_>>();
    assert_eq!((offers, asked[1].offers.len()), (vec![offered], 0));
}
