//! The history, and the search in it.

use crossterm::event::{KeyCode, KeyModifiers};

use super::fixture::{agent, id};
use super::tests::*;
use super::*;
use crate::host::HistoryEntry;

/// A session in `/srv` with texts of earlier ones.
fn session_with(texts: &[(&str, &str)]) -> App {
    let mut app = session(&[agent(1, None), agent(2, Some(1))]);
    let entry = |(directory, text): &(&str, &str)| HistoryEntry {
        directory: (*directory).to_owned(),
        text: (*text).to_owned(),
    };
    app.history = History::of("/srv".to_owned(), texts.iter().map(entry).collect());
    app
}

const TEXTS: [(&str, &str); 4] =
    [("/srv", "mend the parser"), ("/a", "count words"), ("/srv", "run"), ("/b", "count words")];

#[test]
fn arrows_recall_what_was_sent_in_this_directory_by_whichever_agent() {
    let mut app = session_with(&TEXTS);
    type_in(&mut app, "/mode x");
    type_in(&mut app, "/mode");
    type_in(&mut app, "hello");
    type_in(&mut app, " not this");
    app.go(id(2));
    let mut seen = Vec::new();
    for _ in 0..6 {
        key(&mut app, KeyCode::Up);
        seen.push(app.input().text());
    }
    assert_eq!(seen, ["hello", "/mode", "/mode x", "run", "mend the parser", "mend the parser"]);
    let unwritten: Vec<_> = app.history.take_unwritten().into_iter().map(|e| e.text).collect();
    assert_eq!(unwritten, ["/mode x", "/mode", "hello"]);
    control(&mut app, 'n');
    assert_eq!(app.line().text(), "run");
    control(&mut app, 'p');
    assert_eq!(app.line().text(), "mend the parser");
}

#[test]
fn a_search_finds_the_newest_first_and_each_text_once() {
    let mut app = session_with(&TEXTS);
    app.input().set("draft");
    control(&mut app, 'r');
    write(&mut app, "ou");
    assert_eq!(app.input().text(), "count words");
    control(&mut app, 'r');
    assert!(app.search.as_ref().unwrap().has_failed, "the other one is the same");
    key(&mut app, KeyCode::Backspace);
    key(&mut app, KeyCode::Backspace);
    write(&mut app, "u");
    control(&mut app, 'r');
    assert_eq!(app.input().text(), "run");
    // It is taken to be edited, and not sent.
    assert_eq!(key(&mut app, KeyCode::Enter), []);
    write(&mut app, "!");
    assert_eq!(app.input().text(), "run!");
}

#[test]
fn a_search_that_is_given_up_leaves_what_stood_there() {
    for (code, modifiers) in [
        (KeyCode::Esc, KeyModifiers::NONE),
        (KeyCode::Char('g'), KeyModifiers::CONTROL),
        (KeyCode::Char('c'), KeyModifiers::CONTROL),
    ] {
        let mut app = session_with(&TEXTS);
        app.input().set("draft");
        control(&mut app, 'r');
        write(&mut app, "par");
        assert_eq!(app.input().text(), "mend the parser");
        assert_eq!(press(&mut app, code, modifiers), []);
        assert_eq!((app.input().text().as_str(), app.is_searching()), ("draft", false));
    }
}

#[test]
fn another_key_takes_what_was_found_and_means_what_it_means() {
    let mut app = session_with(&TEXTS);
    control(&mut app, 'r');
    write(&mut app, "par");
    control(&mut app, 'k');
    assert_eq!(app.input().text(), "mend the ");
    control(&mut app, 'r');
    control(&mut app, 't');
    assert!(matches!(app.overlay, Some(Overlay::Tree(_))) && !app.is_searching());
}

#[test]
fn kills_join_over_agents_and_only_without_another_key_between() {
    let mut app = session_with(&[]);
    app.input().set("one two");
    control(&mut app, 'w');
    control(&mut app, 'w');
    app.go(id(2));
    control(&mut app, 'y');
    assert_eq!(app.input().text(), "one two");
    control(&mut app, 'w');
    key(&mut app, KeyCode::Left);
    control(&mut app, 'w');
    control(&mut app, 'y');
    assert_eq!(app.input().text(), "one ");
    // Ctrl+D leaves on an empty line only.
    control(&mut app, 'a');
    assert_eq!(control(&mut app, 'd'), []);
    assert_eq!(app.input().text(), "ne ");
    control(&mut app, 'u');
    control(&mut app, 'k');
    assert_eq!(control(&mut app, 'd'), [Effect::Quit]);
}
