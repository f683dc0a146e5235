//! What happens elsewhere, as events in and words out.

use crossterm::event::KeyCode;
use tine_model::{AgentState, TaskStatus};

use super::fixture::{agent, id, worker};
use super::tests::{key, said};
use super::*;

/// A root that the person sees, and workers of it; and then the same as they are later.
fn registry(workers: &[(u8, TaskStatus)]) -> Event {
    let (records, tasks): (Vec<_>, Vec<_>) =
        workers.iter().map(|(byte, status)| worker(*byte, 1, *status)).unzip();
    Event::Registry(std::iter::once(agent(1, None)).chain(records).collect(), tasks)
}

fn begin(workers: &[(u8, TaskStatus)]) -> App {
    let mut app = App::at(0);
    app.update(registry(workers));
    app.go(id(1));
    app
}

use TaskStatus::{Completed, Failed, Lost, Running};

#[test]
fn what_happened_before_is_not_told_and_what_happens_is_told_once() {
    let mut app = begin(&[(2, Completed), (3, Running)]);
    assert_eq!(said(&app), [""; 0]);
    let done = || registry(&[(2, Completed), (3, Completed)]);
    app.update(done());
    insta::assert_snapshot!(said(&app).join("\n"), @"03030303 count the words completed: 42 words");
    app.now_ms += WORD_MS;
    app.update(Event::Tick);
    app.update(done());
    assert_eq!(said(&app), [""; 0]);
}

#[test]
fn several_at_once_and_soon_after_each_other_are_counted() {
    let mut app = begin(&[(2, Running), (3, Running), (4, Running), (5, Running), (6, Running)]);
    let first = [(2, Completed), (3, Completed), (4, Failed), (5, Running), (6, Running)];
    app.update(registry(&first));
    let mut texts = said(&app);
    app.now_ms += 1_000;
    app.update(registry(&[(2, Completed), (3, Completed), (4, Failed), (5, Completed), (6, Lost)]));
    texts.extend(said(&app));
    insta::assert_snapshot!(texts.join("\n"), @"
    2 tasks completed, 1 failed (Ctrl+T)
    3 tasks completed, 1 failed, 1 lost (Ctrl+T)
    ");
}

#[test]
fn a_notice_waits_until_the_word_before_it_was_read() {
    let mut app = begin(&[(2, Running)]);
    app.tell("read me first");
    app.update(registry(&[(2, Failed)]));
    let mut texts = said(&app);
    app.now_ms += WORD_MS;
    app.update(Event::Tick);
    texts.extend(said(&app));
    insta::assert_snapshot!(texts.join("\n"), @"
    read me first
    02020202 count the words failed: the turn limit was reached
    ");
}

#[test]
fn forks_of_others_and_ends_of_their_runs_are_told() {
    let mut app = App::at(0);
    let with = |state| AgentRecord { state, ..agent(3, None) };
    let at = |app: &mut App, state, more: &[AgentRecord]| {
        let agents = [agent(1, None), with(state)];
        app.update(Event::Registry(agents.into_iter().chain(more.to_vec()).collect(), Vec::new()));
        app.tell_notices();
        let told = said(app);
        app.word = None;
        told
    };
    at(&mut app, AgentState::Running, &[]);
    app.go(id(1));
    let mut texts = at(&mut app, AgentState::Idle, &[]);
    texts.extend(at(&mut app, AgentState::Running, &[]));
    texts.extend(at(&mut app, AgentState::Interrupted, &[agent(4, Some(3))]));
    // One that the person forks is told where they are.
    app.begin_fork(id(1), None);
    texts.extend(at(&mut app, AgentState::Interrupted, &[agent(4, Some(3)), agent(5, Some(1))]));
    insta::assert_snapshot!(texts.join("\n"), @"
    03030303 is done
    1 agent interrupted, 1 fork made (Ctrl+T)
    ");
}

#[test]
fn who_has_ended_stays_in_the_strip_until_somebody_looks_or_a_while_is_over() {
    let mut app = begin(&[(2, Running), (3, Running)]);
    app.update(registry(&[(2, Completed), (3, Completed)]));
    assert_eq!(app.notices.ended.len(), 2);
    app.go(id(2));
    assert_eq!(app.notices.ended.len(), 1);
    app.now_ms += 60_000;
    app.update(Event::Tick);
    assert_eq!(app.notices.ended.len(), 0);
    app.update(registry(&[(2, Completed), (3, Running)]));
    app.update(registry(&[(2, Completed), (3, Completed)]));
    app.overlay = None;
    app.command(command::Verb::Tree, "");
    assert_eq!(app.notices.ended.len(), 0);
    key(&mut app, KeyCode::Esc);
}

#[test]
fn time_alone_makes_a_frame_only_where_something_shows_it() {
    let mut app = begin(&[]);
    assert!(!app.moves_with_time());
    app.tell("a word");
    assert!(app.moves_with_time());
    app.now_ms += WORD_MS;
    app.update(Event::Tick);
    assert!(!app.moves_with_time());
    app.update(Event::Happened(id(1), Happening::Began));
    assert!(app.moves_with_time());
}
