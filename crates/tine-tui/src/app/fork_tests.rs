//! `/fork`: what it makes, when it waits, and who gives it up.

use crossterm::event::{KeyCode, KeyModifiers};
use tine_runtime::ForkWords;

use super::fixture::{agent, id};
use super::tests::*;
use super::*;

#[test]
fn a_fork_that_is_refused_gives_its_line_back() {
    let mut app = session(&[agent(1, None)]);
    for typed in ["/fork \"try it", "/fork --sideways"] {
        assert_eq!(type_in(&mut app, typed), []);
        assert_eq!(app.input().text(), typed);
    }
    let typed = "/fork --worktree \"try it\"";
    assert!(matches!(type_in(&mut app, typed).as_slice(), [Effect::Fork(..)]));
    app.update(Event::NotForked(id(1), "error: no repository".into()));
    assert_eq!(app.input().text(), typed);
}

#[test]
fn fork_without_arguments_makes_an_idle_child_and_moves_the_focus() {
    let mut app = session(&[agent(1, None)]);
    app.input().set("unsent");
    let words = ForkWords::default();
    assert_eq!(app.command(command::Verb::Fork, ""), [Effect::Fork(id(1), words.clone())]);
    let effects = app.update(forked(1, 2, words));
    assert_eq!(effects, [Effect::Read(id(2), None), Effect::Price(id(2))]);
    assert_eq!(app.focus, Some(id(2)));
    assert!(app.input().is_empty());
    // What was being written to the parent is still there.
    press(&mut app, KeyCode::Left, KeyModifiers::ALT);
    assert_eq!((app.focus, app.input().text().as_str()), (Some(id(1)), "unsent"));
}

#[test]
fn fork_with_a_prompt_sends_it_to_the_child_at_once() {
    let mut app = session(&[agent(1, None)]);
    let words = ForkWords { prompt: Some("try it".into()), ..ForkWords::default() };
    assert_eq!(type_in(&mut app, "/fork \"try it\""), [Effect::Fork(id(1), words.clone())]);
    let effects = app.update(forked(1, 2, words));
    assert_eq!(effects.last(), Some(&Effect::Run(id(2), Some("try it".into()))));
}

#[test]
fn fork_in_the_background_leaves_the_focus_where_it_is() {
    let mut app = session(&[agent(1, None)]);
    let prompt = Some("look".to_owned());
    let words = ForkWords { prompt, background: true, ..ForkWords::default() };
    let effects = app.update(forked(1, 2, words));
    assert_eq!(effects, [Effect::Run(id(2), Some("look".into()))]);
    assert_eq!(app.focus, Some(id(1)));
    insta::assert_snapshot!(said(&app).join("\n"), @"Forked child 02020202");
}

#[test]
fn whose_run_was_asked_for_is_waited_for_before_it_says_anything() {
    let mut app = session(&[agent(1, None)]);
    let prompt = Some("look".to_owned());
    app.update(forked(1, 2, ForkWords { prompt, background: true, ..ForkWords::default() }));
    type_in(&mut app, "/wait 0 02020202");
    insta::assert_snapshot!(said(&app).join("\n"), @"
    02020202: running
    time is up; 1 of 1 not finished
    Forked child 02020202
    ");
    // What is said to it meanwhile is mail of that run, not a second run.
    assert_eq!(app.say_to(id(2), "and there".into()), [Effect::Send(id(2), "and there".into())]);
}

#[test]
fn fork_says_what_is_wrong_before_anything_waits() {
    let mut app = session(&[agent(1, None)]);
    app.update(Event::Happened(id(1), Happening::Began));
    tool(&mut app, true);
    for text in ["/fork 'try'", "/fork \"try", "/fork \"a\" b", "/fork --at x", "/fork --model"] {
        assert_eq!(type_in(&mut app, text), []);
        assert!(app.forks.is_empty(), "{text}");
    }
    insta::assert_snapshot!(said(&app).join("\n"), @r#"
    Error: Prompt must be quoted (usage: /fork "prompt")
    Error: Unterminated quoted string
    Error: Unexpected text after the prompt: b
    Error: --at takes the number of an entry, not x
    Error: --model requires an argument
    "#);
}

#[test]
fn a_fork_that_waits_for_tools_says_so_and_there_is_one_at_a_time() {
    let mut app = session(&[agent(1, None)]);
    app.update(Event::Happened(id(1), Happening::Began));
    tool(&mut app, true);
    assert_eq!(type_in(&mut app, "/fork"), [Effect::Fork(id(1), ForkWords::default())]);
    app.update(Event::ForkWaits(id(1)));
    assert_eq!(type_in(&mut app, "/fork"), []);
    insta::assert_snapshot!(said(&app).join("\n"), @"
    Waiting for tools to complete... (Esc gives it up)
    Fork already in progress
    ");
    app.update(Event::NotForked(id(1), "error: no".into()));
    assert_eq!(type_in(&mut app, "/fork"), [Effect::Fork(id(1), ForkWords::default())]);
}

#[test]
fn a_fork_while_a_reply_streams_begins_before_it_and_says_so() {
    let mut app = session(&[agent(1, None)]);
    for happening in [Happening::Began, Happening::Request, Happening::Text("Half a".into())] {
        app.update(Event::Happened(id(1), happening));
    }
    assert_eq!(type_in(&mut app, "/fork"), [Effect::Fork(id(1), ForkWords::default())]);
    insta::assert_snapshot!(said(&app).join("\n"), @"The fork begins before the reply that comes in now; this agent goes on");
    app.update(forked(1, 2, ForkWords::default()));
    assert!(!app.lives.contains_key(&id(2)), "nothing of the reply is the child's");
    assert_eq!(app.lives[&id(1)].text, "Half a");
}

#[test]
fn escape_gives_a_waiting_fork_up_before_it_interrupts_anything() {
    let mut app = session(&[agent(1, None)]);
    app.update(Event::Happened(id(1), Happening::Began));
    tool(&mut app, true);
    type_in(&mut app, "/fork");
    app.update(Event::ForkWaits(id(1)));
    assert_eq!(key(&mut app, KeyCode::Esc), [Effect::GiveUpFork(id(1))]);
    assert!(app.forks.is_empty());
    assert_eq!(key(&mut app, KeyCode::Esc), [Effect::Stop(id(1))]);
}
