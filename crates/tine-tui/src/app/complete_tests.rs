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
    assert_eq!(offered(&app), ["/rename ", "/rewind ", "/resume ", "/reap ", "/recover "]);
    key(&mut app, KeyCode::Down);
    key(&mut app, KeyCode::Tab);
    assert_eq!(app.input().text(), "/rewind ");
    assert_eq!(offered(&app), [""; 0]);
    app.input().set("");
    // Who has marked nothing sends what is written.
    write(&mut app, "/tre");
    key(&mut app, KeyCode::Enter);
    insta::assert_snapshot!(said(&app).join("\n"), @"there is no command /tre; did you mean /tree?");
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
