//! What the word that is being written could become.

use crossterm::event::KeyCode;

use super::fixture::{agent, id};
use super::tests::*;
use super::*;

fn offered(app: &App) -> Vec<&str> {
    let offers = app.offers.as_ref().map(|offers| offers.offers.as_slice()).unwrap_or_default();
    offers.iter().map(|offer| offer.text.as_str()).collect()
}

#[test]
fn a_command_is_offered_while_it_is_written_and_taken_by_tab() {
    let mut app = session(&[agent(1, None)]);
    write(&mut app, "/re");
    assert_eq!(offered(&app), ["/resume ", "/rewind ", "/rename ", "/recover "]);
    key(&mut app, KeyCode::Down);
    key(&mut app, KeyCode::Tab);
    assert_eq!(app.input().text(), "/rewind ");
    assert_eq!(offered(&app), [""; 0]);
}

#[test]
fn enter_takes_the_marked_command_and_sends_it_if_it_needs_no_more() {
    let mut app = session(&[agent(1, None)]);
    let enter = |app: &mut App, text: &str| {
        app.input().set("");
        write(app, text);
        let effects = key(app, KeyCode::Enter);
        (app.input().text(), effects)
    };
    assert_eq!(enter(&mut app, "/mod"), ("/model ".to_owned(), Vec::new()));
    assert_eq!(key(&mut app, KeyCode::Enter), [Effect::Look], "it is sent now");
    assert!(app.input().is_empty());
    assert_eq!(enter(&mut app, "/cle"), (String::new(), vec![Effect::Clear(id(1))]));
    // A whole name is meant, though another one begins with it, and an agent is offered behind it.
    let mode = enter(&mut app, "/mode");
    assert_eq!((mode.0.as_str(), offered(&app).len()), ("", 0));
    assert_eq!(enter(&mut app, "/kill "), (String::new(), Vec::new()));
    // Unless the person has marked the other one.
    app.input().set("");
    write(&mut app, "/mode");
    assert_eq!(offered(&app), ["/mode ", "/model "]);
    key(&mut app, KeyCode::Down);
    key(&mut app, KeyCode::Enter);
    assert_eq!(app.input().text(), "/model ");
    assert_eq!(enter(&mut app, "/xyzzy").0, "/xyzzy");
}

#[test]
fn enter_takes_the_marked_file_and_sends_a_whole_path() {
    let mut app = session(&[agent(1, None)]);
    write(&mut app, "see @");
    let paths = ["src/main.rs", "src/main.rs.bak"].map(str::to_owned).to_vec();
    app.update(Event::Files(Some(id(1)), paths));
    write(&mut app, "mai");
    assert_eq!(key(&mut app, KeyCode::Enter), []);
    assert_eq!(app.input().text(), "see @src/main.rs ");
    app.input().set("");
    write(&mut app, "@src/main.rs");
    let sent = Effect::Run(id(1), Some("@src/main.rs".to_owned()));
    assert_eq!(key(&mut app, KeyCode::Enter), [sent]);
}

#[test]
fn everyday_commands_come_first() {
    let mut app = session(&[agent(1, None)]);
    write(&mut app, "/");
    assert_eq!(offered(&app)[..4], ["/help ", "/model ", "/resume ", "/new "]);
}

#[test]
fn agents_and_flags_are_offered_behind_the_commands_that_take_them() {
    let named = AgentRecord { name: Some("plan-b".into()), ..agent(2, Some(1)) };
    let mut app = session(&[agent(1, None), named]);
    write(&mut app, "/send pl");
    assert_eq!(offered(&app), ["plan-b "]);
    app.input().set("");
    write(&mut app, "/fork --w");
    assert_eq!(offered(&app), ["--worktree "]);
    key(&mut app, KeyCode::Tab);
    assert_eq!(app.input().text(), "/fork --worktree ");
}

#[test]
fn files_are_found_once_for_each_word_and_the_best_comes_first() {
    let mut app = session(&[agent(1, None)]);
    assert_eq!(write(&mut app, "see @"), [Effect::Files(Some(id(1)))]);
    assert_eq!(write(&mut app, "mai"), [], "it is being looked for");
    let paths = ["src/main.rs", "docs/mail.md", "src/lib.rs"].map(str::to_owned).to_vec();
    app.update(Event::Files(Some(id(1)), paths));
    assert_eq!(offered(&app).len(), 2);
    assert_eq!(offered(&app)[0], "@src/main.rs ");
    key(&mut app, KeyCode::Esc);
    assert_eq!(offered(&app), [""; 0]);
    write(&mut app, "n");
    key(&mut app, KeyCode::Tab);
    assert_eq!(app.input().text(), "see @src/main.rs ");
    // A new word looks again: files come and go.
    assert_eq!(write(&mut app, "@"), [Effect::Files(Some(id(1)))]);
}
