//! Questions as events in and effects out.

use crossterm::event::{KeyCode, KeyModifiers};
use tine_model::{AgentRecord, AgentState, PermissionScope, Standing};
use tine_runtime::Answer;

use super::fixture::{agent, id, request, request_id};
use super::questions::GLANCE_MS;
use super::tests::{control, key, press, said, session, write};
use super::*;

const YES: Answer = Answer::Allow(PermissionScope::Once);
const NO: Answer = Answer::Deny(PermissionScope::Once);

/// A session whose person has written nothing for a while.
fn quiet() -> App {
    let mut app = session(&[agent(1, None)]);
    app.update(Event::Happened(id(1), Happening::Began));
    app.now_ms += PAUSE_BEFORE_ANSWER_MS;
    app
}

fn ask(app: &mut App, byte: u8) {
    app.update(Event::Asked(Box::new(request(byte, 1, PermissionScope::Tree))));
}

/// Whoever looks sees all of the question in front, and takes a moment for it.
fn look(app: &mut App) {
    app.questions.is_seen();
    app.now_ms += GLANCE_MS;
}

fn front(app: &App) -> Option<tine_model::PermissionId> {
    app.questions.front().map(|request| request.id)
}

#[test]
fn a_question_takes_no_key_from_somebody_who_writes() {
    let mut app = session(&[agent(1, None)]);
    key(&mut app, KeyCode::Char('y'));
    app.update(Event::Asked(Box::new(request(1, 1, PermissionScope::Once))));
    look(&mut app);
    assert_eq!(key(&mut app, KeyCode::Char('y')), []);
    assert_eq!(app.input().text(), "yy");
    control(&mut app, 'p');
    assert_eq!(key(&mut app, KeyCode::Char('a')), [], "farther than was offered");
    assert_eq!(key(&mut app, KeyCode::Char('y')), [Effect::Answer(request_id(1), YES)]);
    assert_eq!((app.questions.has_keys, app.input().text().as_str()), (false, "yy"));
}

#[test]
fn a_question_is_answered_by_one_key_where_nobody_writes() {
    let mut app = quiet();
    ask(&mut app, 1);
    ask(&mut app, 2);
    look(&mut app);
    let tree = Answer::Allow(PermissionScope::Tree);
    assert_eq!(key(&mut app, KeyCode::Char('t')), [Effect::Answer(request_id(1), tree)]);
    look(&mut app);
    assert_eq!(key(&mut app, KeyCode::Char('n')), [Effect::Answer(request_id(2), NO)]);
    assert!(app.questions.is_empty() && !app.questions.has_keys);
}

#[test]
fn a_question_from_elsewhere_takes_no_key_before_one_goes_to_it() {
    let mut app = session(&[agent(1, None), agent(2, None)]);
    app.now_ms += PAUSE_BEFORE_ANSWER_MS;
    app.update(Event::Asked(Box::new(request(1, 2, PermissionScope::Always))));
    look(&mut app);
    assert_eq!(key(&mut app, KeyCode::Char('w')), []);
    assert_eq!(app.input().text(), "w");
    control(&mut app, 'p');
    let always = Answer::Allow(PermissionScope::Always);
    assert_eq!(key(&mut app, KeyCode::Char('w')), [Effect::Answer(request_id(1), always)]);
}

#[test]
fn behind_a_question_of_here_one_from_elsewhere_takes_no_key() {
    let mut app = quiet();
    ask(&mut app, 1);
    app.update(Event::Asked(Box::new(request(2, 2, PermissionScope::Once))));
    look(&mut app);
    assert_eq!(key(&mut app, KeyCode::Char('y')), [Effect::Answer(request_id(1), YES)]);
    look(&mut app);
    assert_eq!(key(&mut app, KeyCode::Char('y')), []);
    assert_eq!((app.questions.len(), app.input().text().as_str()), (1, "y"));
}

#[test]
fn what_is_typed_as_a_question_comes_is_for_the_line() {
    let mut app = quiet();
    ask(&mut app, 1);
    app.questions.is_seen();
    for letter in ['y', 'e', 's'] {
        assert_eq!(key(&mut app, KeyCode::Char(letter)), []);
        app.now_ms += GLANCE_MS;
    }
    assert_eq!((app.questions.len(), app.input().text().as_str()), (1, "yes"));
}

#[test]
fn a_key_that_is_pressed_twice_answers_one_question() {
    let mut app = quiet();
    ask(&mut app, 1);
    ask(&mut app, 2);
    look(&mut app);
    assert_eq!(key(&mut app, KeyCode::Char('y')), [Effect::Answer(request_id(1), YES)]);
    app.questions.is_seen();
    assert_eq!(key(&mut app, KeyCode::Char('y')), []);
    assert_eq!((app.questions.len(), app.input().is_empty()), (1, true));
}

#[test]
fn a_question_is_allowed_only_after_all_of_it_was_shown_and_refused_at_any_time() {
    let mut app = quiet();
    ask(&mut app, 1);
    ask(&mut app, 2);
    app.now_ms += GLANCE_MS;
    assert_eq!(key(&mut app, KeyCode::Char('y')), []);
    assert!(
        matches!(&app.overlay, Some(Overlay::Page(Page { text, from: 0, .. })) if text.contains("make test"))
    );
    key(&mut app, KeyCode::Char('q'));
    assert_eq!(key(&mut app, KeyCode::Char('y')), [Effect::Answer(request_id(1), YES)]);
    app.now_ms += GLANCE_MS;
    assert_eq!(key(&mut app, KeyCode::Char('n')), [Effect::Answer(request_id(2), NO)]);
}

#[test]
fn one_goes_from_question_to_question_without_answering() {
    let mut app = quiet();
    (1..=3).for_each(|byte| ask(&mut app, byte));
    look(&mut app);
    key(&mut app, KeyCode::Right);
    assert_eq!((front(&app), app.questions.number()), (Some(request_id(2)), 2));
    key(&mut app, KeyCode::Left);
    key(&mut app, KeyCode::Left);
    assert_eq!((front(&app), app.questions.number()), (Some(request_id(3)), 3));
    look(&mut app);
    assert_eq!(key(&mut app, KeyCode::Char('y')), [Effect::Answer(request_id(3), YES)]);
    assert_eq!(front(&app), Some(request_id(1)));
    assert!(app.questions.has_keys);
    key(&mut app, KeyCode::Esc);
    assert!(!app.questions.has_keys);
    insta::assert_snapshot!(said(&app).join("\n"), @"the question waits; Ctrl+P goes back to it");
}

#[test]
fn a_question_that_somebody_else_answers_goes_and_the_one_in_front_stays() {
    let mut app = quiet();
    (1..=3).for_each(|byte| ask(&mut app, byte));
    look(&mut app);
    key(&mut app, KeyCode::Right);
    app.update(Event::Settled(request_id(1), Some("allowed without your word: a".into())));
    assert_eq!((front(&app), app.questions.number()), (Some(request_id(2)), 1));
    app.update(Event::Settled(request_id(2), None));
    assert_eq!(front(&app), Some(request_id(3)));
    app.update(Event::Settled(request_id(3), None));
    assert!(!app.questions.has_keys);
    insta::assert_snapshot!(said(&app).join("\n"), @"allowed without your word: a");
}

#[test]
fn a_request_that_is_put_again_stands_once_and_keeps_its_place() {
    let mut app = quiet();
    ask(&mut app, 1);
    ask(&mut app, 2);
    ask(&mut app, 1);
    assert_eq!((app.questions.len(), front(&app)), (2, Some(request_id(1))));
}

#[test]
fn the_queue_is_looked_at_once_a_deadline_is_past() {
    let mut app = App::at(0);
    ask(&mut app, 1);
    app.now_ms = 59_999;
    assert_eq!(app.update(Event::Tick), []);
    app.now_ms = 60_000;
    assert_eq!(app.update(Event::Tick), [Effect::LookAtQueue]);
}

#[test]
fn who_asks_is_told_by_what_it_is_to_whom_and_where_it_runs() {
    let running = |record: AgentRecord| AgentRecord { state: AgentState::Running, ..record };
    let worker = |byte, of| AgentRecord { standing: Standing::Worker, ..agent(byte, Some(of)) };
    let agents = [
        agent(1, None),
        worker(2, 1),
        agent(3, None),
        agent(4, Some(3)),
        running(worker(5, 4)),
        worker(6, 4),
    ];
    let mut app = session(&agents);
    [1, 2]
        .into_iter()
        .for_each(|byte| drop(app.update(Event::Happened(id(byte), Happening::Began))));
    let told = |byte| app.standing_of(&request(1, byte, PermissionScope::Once)).join(" · ");
    insta::assert_snapshot!([1, 2, 3, 5, 6].map(told).join("\n"), @"
    worker of 01010101
    another tree · cut off; it reads the answer once it is resumed
    worker of 04040404 · tree of 03030303 · in another process
    worker of 04040404 · tree of 03030303 · cut off; it reads the answer once it is resumed
    ");
}

#[test]
fn texts_name_the_keys_that_the_person_has() {
    let mut app = quiet();
    let changes = [("answer".to_owned(), vec!["f9".to_owned()])];
    app.keys = Keys::with(&changes.into_iter().collect()).unwrap();
    ask(&mut app, 1);
    app.now_ms += GLANCE_MS;
    press(&mut app, KeyCode::F(9), KeyModifiers::NONE);
    insta::assert_snapshot!(said(&app).join("\n"), @"the question waits; F9 goes back to it");
}

#[test]
fn a_question_can_be_looked_at_whole_before_it_is_answered() {
    let mut app = session(&[agent(1, None)]);
    app.update(Event::Happened(id(1), Happening::Began));
    app.now_ms += PAUSE_BEFORE_ANSWER_MS;
    app.update(Event::Asked(Box::new(request(1, 1, PermissionScope::Once))));
    app.now_ms += 1_000;
    key(&mut app, KeyCode::Char('v'));
    let Some(Overlay::Page(Page { title, text, from: 0, .. })) = &app.overlay else {
        panic!("{:?}", app.overlay)
    };
    assert_eq!((title.as_str(), text.as_str()), ("Bash of 01010101", "command:\nmake test\n"));
    // The key that closes the page answers nothing.
    assert_eq!(key(&mut app, KeyCode::Char('y')), []);
    let answered = key(&mut app, KeyCode::Char('y'));
    assert_eq!(answered.len(), 1);
}

#[test]
fn an_answer_leaves_the_keys_to_the_next_question_and_a_pause_gives_them_to_one_that_waits() {
    let mut app = session(&[agent(1, None)]);
    app.update(Event::Happened(id(1), Happening::Began));
    write(&mut app, "x");
    key(&mut app, KeyCode::Backspace);
    app.update(Event::Asked(Box::new(request(1, 1, PermissionScope::Once))));
    assert!(!app.questions.has_keys, "somebody writes");
    app.now_ms += PAUSE_BEFORE_ANSWER_MS;
    app.update(Event::Tick);
    assert!(app.questions.has_keys);
    app.questions.is_seen();
    app.now_ms += 1_000;
    assert_eq!(key(&mut app, KeyCode::Char('y')).len(), 1);
    app.now_ms += 100;
    app.update(Event::Asked(Box::new(request(2, 1, PermissionScope::Once))));
    app.questions.is_seen();
    assert!(app.questions.has_keys);
    assert_eq!(key(&mut app, KeyCode::Char('y')), [], "the same key twice");
    app.now_ms += 1_000;
    assert_eq!(key(&mut app, KeyCode::Char('y')).len(), 1);
    // Who writes has the line for as long as it holds anything.
    write(&mut app, "x");
    app.update(Event::Asked(Box::new(request(3, 1, PermissionScope::Once))));
    app.now_ms += 10 * PAUSE_BEFORE_ANSWER_MS;
    app.update(Event::Tick);
    assert!(!app.questions.has_keys);
}

#[test]
fn a_pause_gives_no_keys_to_a_question_of_another_process_that_came_to_the_front() {
    let mut app = session(&[agent(1, None), agent(2, None)]);
    app.update(Event::Happened(id(1), Happening::Began));
    write(&mut app, "x");
    key(&mut app, KeyCode::Backspace);
    for (number, of) in [(1, 1), (2, 2)] {
        app.update(Event::Asked(Box::new(request(number, of, PermissionScope::Once))));
    }
    app.update(Event::Settled(request_id(1), None));
    app.now_ms += PAUSE_BEFORE_ANSWER_MS;
    app.update(Event::Tick);
    assert!(!app.questions.has_keys);
}
