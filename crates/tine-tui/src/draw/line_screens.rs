//! The line that is written, and what stands below it.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::screens::screen;
use crate::app::fixture::{agent, id};
use crate::app::{App, Event, Happening, History};
use crate::host::HistoryEntry;

fn session() -> App {
    let mut app = App::at(0);
    app.update(Event::Registry(vec![agent(1, None)], Vec::new()));
    app.go(id(1));
    app
}

fn press(app: &mut App, letter: char, modifiers: KeyModifiers) {
    app.update(Event::Key(KeyEvent::new(KeyCode::Char(letter), modifiers)));
}

fn write(app: &mut App, text: &str) {
    text.chars().for_each(|letter| press(app, letter, KeyModifiers::NONE));
}

#[test]
fn everyday_commands_are_offered_first_and_the_others_are_counted() {
    let mut app = session();
    write(&mut app, "/");
    insta::assert_snapshot!(screen(&mut app, (60, 14)), @"
    ── 01010101 ────────────────────────────────────────────────
    ❯ /
    ▸ /help         all commands and keys, or those with a word
      /model        the model of new agents, or a fork of this …
      /resume       go on where this was interrupted, or find a…
      /new          begin with a new agent
      /fork         try another way without losing this one
      /tree         see all agents, and go to one
      /diff         what an agent has changed in its worktree
      /rewind       go back to a mark, or before the last prompt
      … 37 more
    sim/echo · Esc closes the offers · default (Shift+Tab)
    ");
}

#[test]
fn a_search_shows_what_it_seeks_and_what_it_has_found() {
    let mut app = session();
    let entry = HistoryEntry { directory: String::new(), text: "mend the\nparser".to_owned() };
    app.history = History::of(String::new(), vec![entry]);
    press(&mut app, 'r', KeyModifiers::CONTROL);
    insta::assert_snapshot!(screen(&mut app, (60, 5)), @"
    ── 01010101 ────────────────────────────────────────────────
    ❯
    (search) ``: Ctrl+R older · Enter takes · Esc gives up
    sim/echo · default (Shift+Tab)
    ");
    write(&mut app, "pars");
    insta::assert_snapshot!(screen(&mut app, (60, 6)), @"
    ── 01010101 ────────────────────────────────────────────────
    ❯ mend the
      parser
    (search) `pars`: Ctrl+R older · Enter takes · Esc gives up
    sim/echo · default (Shift+Tab)
    ");
    write(&mut app, "x");
    insta::assert_snapshot!(screen(&mut app, (76, 6)), @"
    ── 01010101 ────────────────────────────────────────────────────────────────
    ❯ mend the
      parser
    (search, nothing more) `parsx`: Ctrl+R older · Enter takes · Esc gives up
    sim/echo · default (Shift+Tab)
    ");
}

#[test]
fn words_that_wait_stand_below_the_reply_that_grows() {
    let mut app = session();
    for happening in [Happening::Began, Happening::Request, Happening::Text("A reply".into())] {
        app.update(Event::Happened(id(1), happening));
    }
    for text in ["second question", "third, which is so long that it needs another line"] {
        write(&mut app, text);
        app.update(Event::Key(KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE)));
    }
    app.update(Event::Happened(id(1), Happening::Text(" that grows.".into())));
    insta::assert_snapshot!(screen(&mut app, (60, 14)), @"
    A reply that grows.

    ▌ second question  (queued: read at its next turn)

    ▌ third, which is so long that it needs another line
    ▌ (queued: read at its next turn)



    … answering · 0.0 s · Esc interrupts
    ── 01010101 ────────────────────────────────────────────────
    ❯
    sent; it is read at the next turn
    ");
}
