//! Pointing at messages, without a terminal.

use crossterm::event::{KeyCode, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use tine_model::{Block, Entry, EntryBody, EntryId, Message, RawJson, Role, ToolCallId, ToolInput};
use tine_runtime::{FoldedEntry, ForkMade, ForkWords};

use tine_runtime::RewindTo;

use super::fixture::{agent, id};
use super::tests::{key, press, said, session};
use super::{App, Effect, Event, Happening, Scroll, Seen};

fn entry(number: i64, message: Message) -> FoldedEntry {
    let body = EntryBody::Message(message.into());
    let entry = Entry { id: EntryId(number), agent: id(1), at_ms: 0, body };
    FoldedEntry { entry, effective: true }
}

/// Two prompts; between them a turn with a call, whose results stand in an entry without a piece of its own.
fn conversation() -> Vec<FoldedEntry> {
    let call = ToolCallId("t1".to_owned());
    let asks = vec![
        Block::Thinking { text: "hm".into(), signature: None },
        Block::Text("I look.".into()),
        Block::ToolUse {
            id: call.clone(),
            name: "Bash".into(),
            input: ToolInput::Valid(RawJson::parse(r#"{"command":"ls"}"#).unwrap()),
        },
    ];
    vec![
        entry(1, Message::user("first")),
        entry(3, Message::new(Role::Assistant, asks)),
        entry(4, Message::new(Role::User, vec![Block::result(call, "a.txt", false)])),
        entry(6, Message::user("second")),
        entry(8, Message::new(Role::Assistant, vec![Block::Text("Done.".into())])),
    ]
}

fn pointing() -> App {
    let mut app = session(&[agent(1, None)]);
    app.update(Event::Log { agent: id(1), after: None, entries: conversation() });
    app
}

fn up(app: &mut App, times: usize) {
    for _ in 0..times {
        press(app, KeyCode::Up, KeyModifiers::CONTROL);
    }
}

fn letter(app: &mut App, letter: char) -> Vec<Effect> {
    key(app, KeyCode::Char(letter))
}

fn at(entry: i64) -> ForkWords {
    ForkWords { at: Some(EntryId(entry)), ..ForkWords::default() }
}

fn forked(asked: Option<i64>) -> Event {
    let made = ForkMade {
        child: id(2),
        parent: id(1),
        fork_point: Some(EntryId(4)),
        moved_from: asked.map(EntryId),
        record: agent(2, Some(1)),
        digest: None,
        worktree: None,
        open_calls: Vec::new(),
    };
    Event::Forked(Box::new((made, ForkWords::default())))
}

#[test]
fn a_fork_from_a_prompt_has_not_heard_it_and_offers_it_to_be_edited() {
    let mut app = pointing();
    up(&mut app, 2);
    assert_eq!(letter(&mut app, 'f'), [Effect::Fork(id(1), at(4))]);
    app.update(forked(None));
    assert_eq!((app.focus, app.input().text().as_str()), (Some(id(2)), "second"));
    app.go(id(1));
    assert!(!app.is_pointing() && app.input().is_empty());
}

#[test]
fn a_fork_from_a_reply_has_heard_it_and_says_where_it_had_to_part() {
    let mut app = pointing();
    up(&mut app, 1);
    assert_eq!(letter(&mut app, 'f'), [Effect::Fork(id(1), at(8))]);
    assert_eq!(letter(&mut app, 'f'), [], "one at a time");
    app.update(Event::NotForked(id(1), "error: no".into()));
    up(&mut app, 2);
    assert_eq!(letter(&mut app, 'f'), [Effect::Fork(id(1), at(3))]);
    app.update(forked(Some(3)));
    app.update(Event::Log { agent: id(2), after: None, entries: conversation() });
    assert!(app.input().is_empty());
    insta::assert_snapshot!(said(&app).join("\n"), @"The fork point moved to entry 4: the calls of entry 3 keep their results");
}

#[test]
fn a_fork_from_the_first_prompt_inherits_nothing() {
    let mut app = pointing();
    up(&mut app, 6);
    assert_eq!(letter(&mut app, 'f'), [Effect::ForkEmpty(id(1))]);
    app.update(forked(None));
    assert_eq!(app.input().text(), "first");
}

#[test]
fn a_rewind_keeps_the_results_of_calls_and_takes_a_prompt_back() {
    let mut app = pointing();
    up(&mut app, 3);
    assert_eq!(letter(&mut app, 'r'), [Effect::Rewind(id(1), RewindTo::Entry(EntryId(3)))]);
    up(&mut app, 2);
    assert_eq!(letter(&mut app, 'r'), [Effect::Rewind(id(1), RewindTo::Before(EntryId(6)))]);
    app.update(Event::Happened(id(1), Happening::Began));
    up(&mut app, 1);
    assert_eq!(letter(&mut app, 'r'), []);
    insta::assert_snapshot!(said(&app).join("\n"), @"Error: the agent runs; Esc interrupts it first");
}

#[test]
fn one_piece_opens_by_a_key_and_by_a_click_and_stays_open_when_the_log_is_read_anew() {
    let mut app = pointing();
    up(&mut app, 3);
    let open = |app: &App| {
        let room = app.room().unwrap();
        (0..room.pieces.len()).filter(|piece| room.is_open(*piece)).collect::<Vec<_>>()
    };
    key(&mut app, KeyCode::Enter);
    assert_eq!(open(&app), [3]);
    app.update(Event::Log { agent: id(1), after: None, entries: conversation() });
    assert_eq!((open(&app), app.room().unwrap().pointed), (vec![3], Some(3)));
    letter(&mut app, 'o');
    assert!(open(&app).is_empty());
    app.seen = Seen { top: 2, places: vec![(0, 0), (1, 0), (1, 1)] };
    for (row, opened) in [(3, vec![1]), (1, vec![1]), (9, vec![1]), (4, vec![])] {
        let kind = MouseEventKind::Down(MouseButton::Left);
        let modifiers = KeyModifiers::NONE;
        app.update(Event::Mouse(MouseEvent { kind, column: 0, row, modifiers }));
        assert_eq!(open(&app), opened, "{row}");
    }
    assert_eq!(app.room().unwrap().scroll, Scroll::At { piece: 0, line: 0 }, "it does not move");
}

#[test]
fn a_key_that_writes_ends_it_and_writes_and_below_the_last_message_is_the_line() {
    let mut app = pointing();
    up(&mut app, 1);
    letter(&mut app, 'x');
    assert_eq!((app.is_pointing(), app.input().text().as_str()), (false, "x"));
    up(&mut app, 1);
    assert_eq!(key(&mut app, KeyCode::Esc), []);
    assert!(!app.is_pointing());
    up(&mut app, 1);
    app.update(Event::Paste("y".into()));
    assert_eq!((app.is_pointing(), app.input().text().as_str()), (false, "xy"));
    app.update(Event::Happened(id(1), Happening::Began));
    up(&mut app, 2);
    assert_eq!(key(&mut app, KeyCode::Esc), [], "the turn goes on");
    up(&mut app, 2);
    key(&mut app, KeyCode::Down);
    key(&mut app, KeyCode::Down);
    assert_eq!((app.is_pointing(), app.room().unwrap().scroll), (false, Scroll::Bottom));
}

#[test]
fn what_is_copied_is_the_text_itself() {
    let mut app = pointing();
    up(&mut app, 3);
    assert_eq!(letter(&mut app, 'y'), [Effect::Copy("a.txt".into())]);
    up(&mut app, 1);
    assert_eq!(letter(&mut app, 'y'), [Effect::Copy("I look.".into())]);
    insta::assert_snapshot!(said(&app).join("\n"), @"copied 7 characters");
}

#[test]
fn the_screen_takes_the_mouse_and_gives_it_back() {
    let mut app = pointing();
    assert_eq!(key(&mut app, KeyCode::F(2)), [Effect::Mouse(true)]);
    insta::assert_snapshot!(said(&app).join("\n"), @"the mouse scrolls and opens now; F2 lets it select text again");
    assert_eq!(key(&mut app, KeyCode::F(2)), [Effect::Mouse(false)]);
    insta::assert_snapshot!(said(&app).join("\n"), @"the mouse selects text again");
}

#[test]
fn who_reads_further_up_stays_there_when_the_log_is_read_anew() {
    let mut app = pointing();
    let place = Scroll::At { piece: 4, line: 1 };
    app.room_mut().unwrap().scroll = place;
    app.update(Event::Log { agent: id(1), after: None, entries: conversation() });
    assert_eq!(app.room().unwrap().scroll, place);
}
