//! The tree of all agents, as a person sees it.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::screens::{LARGE, SMALL, screen};
use crate::app::fixture::{busy, id};
use crate::app::{App, Event, Fact, Peek};

/// The time of the session.
const NOW_MS: i64 = 3_600_000;

fn key(app: &mut App, code: KeyCode) {
    app.update(Event::Key(KeyEvent::new(code, KeyModifiers::NONE)));
}

fn open() -> App {
    let mut app = busy(NOW_MS);
    let control = KeyModifiers::CONTROL;
    app.update(Event::Key(KeyEvent::new(KeyCode::Char('t'), control)));
    app
}

#[test]
fn all_agents_on_a_small_screen() {
    let mut app = open();
    key(&mut app, KeyCode::Char('d'));
    insta::assert_snapshot!(screen(&mut app, SMALL), @"
    Agents  9 agents, 4 running, 1 dead · cost and cache of all requests
       agent          kind        state          fork        cost  cache  files
    ▸* parser         talk        ● running      own        $1.23    93%      –
       ├─ faster      background  ● running      @42      $0.0456    99%      3
       │  ├─ read     worker      ✓ completed    @43            ?     0%      –
       │  ├─ measure  worker      ! lost         @44            –      –      –
       │  └─ rewrite  worker      ? permission   @45      $0.0009    99%     12
       ├─ smaller     background  ◌ elsewhere    @46            –      –      –
       └─ older       fork        ‖ interrupted  @47            –      –      –
          └─ wrong    fork        † dead         @48            –      –      –
       09090909       talk        ○ idle         own            –      –      –











    Enter go  Space peek  m send  r rename  s stop  x kill  / find  Esc close
    sim/echo · 1 question (Ctrl+P) · 4 running · default (Shift+Tab)
    ");
}

#[test]
fn all_agents_on_a_large_screen_and_one_closely() {
    let mut app = open();
    key(&mut app, KeyCode::Char('d'));
    key(&mut app, KeyCode::Char('c'));
    key(&mut app, KeyCode::Char(' '));
    let words = Some("The lexer reads each byte twice.\nI measure it now.".to_owned());
    let peek = Peek { words, files: Some(4) };
    app.update(Event::Facts(Box::new(Fact::Looked(id(2), peek))));
    insta::assert_snapshot!(screen(&mut app, LARGE), @"
    Agents  9 agents, 4 running, 1 dead · cost and cache of all requests
       agent          kind        state          fork        cost  cache  files  model                    age  asked
     * parser         talk        ● running      own        $1.23    93%      –  sim/echo                  1m
    ▸  ├─ faster      background  ● running      @42      $0.0456    99%      4  sim/echo                  2m
       │  ├─ read     worker      ✓ completed    @43            ?     0%      –  sim/echo                  3m  Read all of src and say what it does
       │  ├─ measure  worker      ! lost         @44            –      –      –  sim/echo                  4m  Measure it
       │  └─ rewrite  worker      ? permission   @45      $0.0009    99%     12  sim/echo                  5m  Rewrite the lexer
       ├─ smaller     background  ◌ elsewhere    @46            –      –      –  sim/echo                  6m
       └─ older       fork        ‖ interrupted  @47            –      –      –  sim/echo                  7m
          └─ wrong    fork        † dead         @48            –      –      –  sim/echo                  8m
       09090909       talk        ○ idle         own            –      –      –  sim/echo                  9m































    ── faster ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
    ● running here: running Bash, for 0.0 s · Bash make bench
    stands parser › faster, forked at entry 42
    works in /srv
    worktree 4 changed files, 1 commit
    ▌ The lexer reads each byte twice. I measure it now.
    Enter go  Space peek  m send  r rename  s stop  x kill  / find  Esc close  D diff  A apply  f fork  d the dead  p parent  c child  ←→ siblings  Backspace back  ↑↓ move  Home End ends
    sim/echo · 1 question (Ctrl+P) · 4 running · default (Shift+Tab)
    ");
}

#[test]
fn a_look_at_one_leaves_room_for_others_on_a_small_screen() {
    let mut app = open();
    for letter in ['c', 'c', ']', ']', ' '] {
        key(&mut app, KeyCode::Char(letter));
    }
    insta::assert_snapshot!(screen(&mut app, SMALL), @"
    Agents  9 agents, 4 running, 1 dead · cost and cache of all requests
       agent          kind        state          fork        cost  cache  files
     * parser         talk        ● running      own        $1.23    93%      –
       ├─ faster      background  ● running      @42      $0.0456    99%      3
       │  ├─ read     worker      ✓ completed    @43            ?     0%      –
       │  ├─ measure  worker      ! lost         @44            –      –      –
    ▸  │  └─ rewrite  worker      ? permission   @45      $0.0009    99%     12
       ├─ smaller     background  ◌ elsewhere    @46            –      –      –
       └─ older       fork        ‖ interrupted  @47            –      –      –
       09090909       talk        ○ idle         own            –      –      –





    ── rewrite ─────────────────────────────────────────────────────────────────────
    ? waiting for permission: Bash: make test
    stands parser › faster › rewrite, forked at entry 45
    works in /srv
    worktree 12 changed files, 1 commit
    asked Rewrite the lexer
    it has said nothing of its own
    Enter go  Space peek  m send  r rename  s stop  x kill  / find  Esc close
    sim/echo · 1 question (Ctrl+P) · 4 running · default (Shift+Tab)
    ");
}

#[test]
fn what_is_asked_stands_at_the_foot() {
    let mut app = open();
    let mut foot = |letters: &str| {
        letters.chars().for_each(|letter| key(&mut app, KeyCode::Char(letter)));
        screen(&mut app, SMALL).lines().nth(22).unwrap().to_owned()
    };
    let all = [foot("cx"), foot("nr2")];
    insta::assert_snapshot!(all.join("\n"), @"
    kill faster and 3 agents below? y/n  Esc gives up
    new name of faster: faster2▏  Esc gives up
    ");
}

#[test]
fn a_long_chain_shows_its_nearest_generations() {
    let mut app = App::at(0);
    let chain = (0..=30).map(|byte: u8| crate::app::fixture::agent(byte, byte.checked_sub(1)));
    app.update(Event::Registry(chain.collect(), Vec::new()));
    app.go(id(30));
    app.update(Event::Key(KeyEvent::new(KeyCode::Char('t'), KeyModifiers::CONTROL)));
    insta::assert_snapshot!(screen(&mut app, (80, 10)), @"
    Agents  31 agents, 0 running, 0 dead · cost and cache of all requests
       agent                     kind        state              cost  cache  files
       …            └─ 19191919  fork        ○ idle                –      –      –
       …            └─ 1a1a1a1a  fork        ○ idle                –      –      –
       …            └─ 1b1b1b1b  fork        ○ idle                –      –      –
       …            └─ 1c1c1c1c  fork        ○ idle                –      –      –
       …            └─ 1d1d1d1d  fork        ○ idle                –      –      –
    ▸* …            └─ 1e1e1e1e  fork        ○ idle                –      –      –
    Enter go  Space peek  m send  r rename  s stop  x kill  / find  Esc close
    sim/echo · default (Shift+Tab)
    ");
}
