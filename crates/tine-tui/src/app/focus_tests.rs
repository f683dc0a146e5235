//! The focus: who follows to a fork, and what becomes of it and of the line when the agent that is seen dies elsewhere.

use crossterm::event::{KeyCode, KeyModifiers};
use tine_model::{AgentRecord, AgentState};
use tine_runtime::ForkWords;

use super::fixture::{agent, id};
use super::questions::GLANCE_MS;
use super::tests::{control, forked, key, press, said, session, tool, type_in};
use super::*;

/// A session at an agent whose tool runs, with a fork of it that waits.
fn waiting(agents: &[AgentRecord]) -> App {
    let mut app = session(agents);
    app.update(Event::Happened(id(1), Happening::Began));
    tool(&mut app, true);
    assert_eq!(type_in(&mut app, "/fork \"try it\""), [Effect::Fork(id(1), words())]);
    app.update(Event::ForkWaits(id(1)));
    app
}

/// The tool ends, and the fork is made.
fn end_wait(app: &mut App, child: u8) -> Vec<Effect> {
    tool(app, false);
    app.update(forked(1, child, words()))
}

fn words() -> ForkWords {
    ForkWords { prompt: Some("try it".to_owned()), ..ForkWords::default() }
}

fn letters(app: &mut App, text: &str) {
    text.chars().for_each(|letter| drop(key(app, KeyCode::Char(letter))));
}

fn dead(byte: u8, parent: Option<u8>) -> AgentRecord {
    AgentRecord { state: AgentState::Dead, ..agent(byte, parent) }
}

#[test]
fn a_fork_that_waited_takes_along_whoever_waits_for_it() {
    let mut app = waiting(&[agent(1, None)]);
    let effects = end_wait(&mut app, 2);
    assert_eq!(app.focus, Some(id(2)));
    assert_eq!(effects.last(), Some(&Effect::Run(id(2), Some("try it".into()))));
}

#[test]
fn a_fork_that_waited_leaves_whoever_writes_and_says_how_to_go_there() {
    let mut app = waiting(&[agent(1, None)]);
    letters(&mut app, "I am typ");
    let effects = end_wait(&mut app, 2);
    letters(&mut app, "ing here");
    assert_eq!((app.focus, app.input().text().as_str()), (Some(id(1)), "I am typing here"));
    assert_eq!(effects, [Effect::Run(id(2), Some("try it".into()))]);
    insta::assert_snapshot!(said(&app).last().unwrap(), @"Forked child 02020202; Alt+→ goes to it");
    press(&mut app, KeyCode::Right, KeyModifiers::ALT);
    assert_eq!((app.focus, app.input().text().as_str()), (Some(id(2)), ""));
}

#[test]
fn a_fork_that_waited_leaves_whoever_is_elsewhere_and_other_agents_can_be_forked() {
    let mut app = waiting(&[agent(1, None), agent(3, Some(1))]);
    app.go(id(3));
    assert_eq!(type_in(&mut app, "/fork"), [Effect::Fork(id(3), ForkWords::default())]);
    app.update(forked(3, 4, ForkWords::default()));
    assert_eq!(app.focus, Some(id(4)), "the wait is the other agent's");
    letters(&mut app, "more");
    end_wait(&mut app, 2);
    assert_eq!((app.focus, app.input().text().as_str()), (Some(id(4)), "more"));
    insta::assert_snapshot!(said(&app).last().unwrap(), @"Forked child 02020202 from 01010101; /resume 02020202 goes to it");
    type_in(&mut app, "/resume 02020202");
    assert_eq!(app.focus, Some(id(2)));
}

#[test]
fn a_fork_that_waited_closes_no_page_and_takes_no_key_from_it() {
    let mut app = waiting(&[agent(1, None)]);
    control(&mut app, 't');
    end_wait(&mut app, 2);
    assert!(matches!(app.overlay, Some(Overlay::Tree(_))) && app.focus == Some(id(1)));
    insta::assert_snapshot!(said(&app).last().unwrap(), @"Forked child 02020202; Alt+→ goes to it");
}

#[test]
fn where_the_terminal_keeps_the_line_a_fork_that_waited_takes_nobody_along() {
    let mut app = waiting(&[agent(1, None)]);
    app.face = Face::Lines;
    end_wait(&mut app, 2);
    assert_eq!(app.focus, Some(id(1)));
    // What is written before is for this fork.
    app.face = Face::Pipe;
    assert_eq!(type_in(&mut app, "/fork"), [Effect::Fork(id(1), ForkWords::default())]);
    app.update(forked(1, 3, ForkWords::default()));
    assert_eq!(app.focus, Some(id(3)));
}

#[test]
fn escape_gives_up_the_fork_of_the_agent_that_is_seen_alone() {
    let mut app = waiting(&[agent(1, None), agent(3, Some(1))]);
    app.go(id(3));
    key(&mut app, KeyCode::Esc);
    assert!(app.fork_waits(id(1)));
    app.go(id(1));
    key(&mut app, KeyCode::Esc);
    assert!(!app.fork_waits(id(1)));
    assert_eq!(app.word.as_ref().unwrap().0, "the fork is given up; nothing has changed");
}

#[test]
fn a_death_elsewhere_is_said_and_the_focus_goes_to_the_nearest_above_that_lives() {
    let mut app = session(&[agent(1, None), agent(2, Some(1)), agent(3, Some(2))]);
    app.go(id(3));
    app.update(Event::Registry(vec![agent(1, None), dead(2, Some(1)), dead(3, Some(2))], vec![]));
    assert_eq!(app.focus, Some(id(1)));
    insta::assert_snapshot!(said(&app).join("\n"), @"
    03030303 was killed by another process; this is 01010101, the nearest above it that lives
    02020202 was killed
    ");
    // It is said once.
    let count = said(&app).len();
    app.update(Event::Registry(vec![agent(1, None), dead(2, Some(1)), dead(3, Some(2))], vec![]));
    assert_eq!(said(&app).len(), count);
}

#[test]
fn the_line_goes_along_and_enter_asks_before_it_is_sent_to_another() {
    let mut app = session(&[agent(1, None), agent(2, Some(1))]);
    app.input().set("a draft for the parent");
    app.go(id(2));
    letters(&mut app, "half a sen");
    app.update(Event::Registry(vec![agent(1, None), dead(2, Some(1))], Vec::new()));
    letters(&mut app, "tence");
    assert_eq!((app.focus, app.input().text().as_str()), (Some(id(1)), "half a sentence"));
    app.now_ms += 60_000;
    app.update(Event::Tick);
    assert_eq!(key(&mut app, KeyCode::Enter), []);
    insta::assert_snapshot!(said(&app).join("\n"), @"
    02020202 was killed by another process; this is 01010101, the nearest above it that lives
    What you were writing is in the line; Enter asks before it is sent.
    this may be for 02020202, which is dead; Enter again sends it to 01010101
    ");
    assert_eq!(app.input().text(), "half a sentence");
    let sent = key(&mut app, KeyCode::Enter);
    assert_eq!(sent, [Effect::Run(id(1), Some("half a sentence".into()))]);
    key(&mut app, KeyCode::Up);
    key(&mut app, KeyCode::Up);
    assert_eq!(app.input().text(), "a draft for the parent");
}

#[test]
fn words_begun_in_the_moment_of_a_death_are_asked_about_and_later_ones_are_not() {
    let begin = || {
        let mut app = session(&[agent(1, None), agent(2, Some(1))]);
        app.go(id(2));
        app.update(Event::Registry(vec![agent(1, None), dead(2, Some(1))], Vec::new()));
        app
    };
    let mut app = begin();
    assert_eq!(type_in(&mut app, "for the dead"), []);
    let mut app = begin();
    app.now_ms += GLANCE_MS;
    letters(&mut app, "later");
    assert_eq!(key(&mut app, KeyCode::Enter), [Effect::Run(id(1), Some("later".into()))]);
}

#[test]
fn who_was_killed_and_reaped_between_two_looks_is_dead_and_who_was_just_made_is_not() {
    let mut app = session(&[agent(1, None), agent(2, Some(1))]);
    app.go(id(2));
    app.update(Event::Registry(vec![agent(1, None)], Vec::new()));
    assert_eq!(app.focus, Some(id(1)));
    app.update(forked(1, 3, ForkWords::default()));
    // These rows were read before.
    app.update(Event::Registry(vec![agent(1, None)], Vec::new()));
    assert_eq!(app.focus, Some(id(3)));
}

#[test]
fn the_death_of_a_root_leads_to_the_first_screen_with_the_line() {
    let mut app = session(&[agent(1, None)]);
    letters(&mut app, "unsent");
    app.update(Event::Registry(vec![dead(1, None)], Vec::new()));
    assert_eq!((app.focus, app.input().text().as_str()), (None, "unsent"));
    assert_eq!(key(&mut app, KeyCode::Enter), []);
    assert_eq!(key(&mut app, KeyCode::Enter), [Effect::Begin("unsent".into())]);
    insta::assert_snapshot!(app.lobby_words[0].1, @"
    01010101 was killed by another process; nobody above it lives; the next words begin with a new agent
    What you were writing is in the line; Enter asks before it is sent.
    ");
}

#[test]
fn a_line_of_a_terminal_or_a_pipe_that_was_for_the_dead_is_not_sent() {
    for (face, focus) in [(Face::Lines, 1), (Face::Pipe, 2)] {
        let mut app = session(&[agent(1, None), agent(2, Some(1))]);
        app.go(id(2));
        app.face = face;
        app.update(Event::Registry(vec![agent(1, None), dead(2, Some(1))], Vec::new()));
        app.now_ms += 60_000;
        app.update(Event::Tick);
        assert_eq!(app.update(Event::Line("for the dead".into())), []);
        assert_eq!(app.focus, Some(id(focus)));
    }
}

#[test]
fn control_characters_never_come_into_a_line_and_that_is_said() {
    let mut app = session(&[agent(1, None)]);
    app.update(Event::Paste("a\u{1b}[31mb\n\tc\u{0}".into()));
    assert_eq!(app.word.as_ref().unwrap().0, "2 control characters left out: they cannot be sent");
    assert_eq!(key(&mut app, KeyCode::Enter), [Effect::Run(id(1), Some("ab\n\tc".into()))]);
    app.update(Event::Happened(id(1), Happening::Ended));
    app.update(Event::Written("from\u{7} the editor\n".into()));
    assert_eq!(app.input().text(), "from the editor");
    control(&mut app, 't');
    key(&mut app, KeyCode::Char('m'));
    app.update(Event::Paste("mail\u{1b}".into()));
    assert_eq!(
        key(&mut app, KeyCode::Enter).last(),
        Some(&Effect::Run(id(1), Some("mail".into())))
    );
}

#[test]
fn in_lines_the_character_of_esc_does_what_esc_does_and_words_name_what_works_there() {
    let mut app = session(&[agent(1, None)]);
    (app.face, app.keys) = (Face::Lines, Keys::in_lines());
    app.update(Event::Happened(id(1), Happening::Began));
    tool(&mut app, true);
    app.update(Event::Line("/fork".into()));
    app.update(Event::ForkWaits(id(1)));
    assert_eq!(said(&app).last().unwrap(), "Waiting for tools to complete... (Ctrl+C gives it up)");
    assert_eq!(app.update(Event::Line("\u{1b}".into())), [Effect::GiveUpFork(id(1))]);
    assert_eq!(app.word.as_ref().unwrap().0, "the fork is given up; nothing has changed");
    assert_eq!(app.update(Event::Line("\u{1b}".into())), [Effect::Stop(id(1))]);
    app.update(Event::Happened(id(1), Happening::Ended));
    // An arrow key is a sequence there.
    let sent = app.update(Event::Line("hel\u{1b}[Dlo\u{1b}[A".into()));
    assert_eq!(sent, [Effect::Run(id(1), Some("hello".into()))]);
    app.update(Event::Happened(id(1), Happening::Ended));
    assert_eq!(app.update(Event::Line("\u{1b}\u{1b}".into())), []);
}

#[test]
fn at_a_dead_agent_nothing_is_sent_and_the_line_stays() {
    let mut app = session(&[agent(1, None), dead(2, Some(1))]);
    app.go(id(2));
    assert_eq!(type_in(&mut app, "hello"), []);
    assert_eq!(app.input().text(), "hello");
    insta::assert_snapshot!(said(&app).join("\n"), @"02020202 is dead; nothing was sent. F4 goes back");
}

#[test]
fn deaths_elsewhere_of_others_are_told_and_end_their_waiting_forks() {
    let mut app = waiting(&[agent(1, None), agent(2, Some(1)), agent(3, None)]);
    app.go(id(3));
    app.word = None;
    app.update(Event::Registry(vec![dead(1, None), dead(2, Some(1)), agent(3, None)], vec![]));
    assert!(!app.fork_waits(id(1)) && app.lives.is_empty());
    insta::assert_snapshot!(said(&app).join("\n"), @"
    01010101 is dead; nothing was forked from it
    2 agents killed (Ctrl+T)
    ");
}
