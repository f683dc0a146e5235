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
       agent          state              cost  cache  files  used  title
    ▸* parser         ● running         $1.23    93%      –    1m  Why is the parse…
       ├─ faster      ● running       $0.0456    99%      3    2m
       │  ├─ read     ✓ completed           ?     0%      –    3m  Read all of src …
       │  ├─ measure  ! lost                –      –      –    4m  Measure it
       │  └─ rewrite  ? permission    $0.0009    99%     12    5m  Rewrite the lexer
       ├─ smaller     ◌ elsewhere           –      –      –    6m
       └─ older       ‖ interrupted         –      –      –    7m
          └─ wrong    † dead                –      –      –    8m
       09090909       ○ idle                –      –      –    9m  Fix the login of…











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
       agent          kind        state          fork        cost  cache  files  model                   used  directory             title
     * parser         talk        ● running      own        $1.23    93%      –  sim/echo                  1m  /srv                  Why is the parser slow?
    ▸  ├─ faster      background  ● running      @42      $0.0456    99%      4  sim/echo                  2m  its worktree
       │  ├─ read     worker      ✓ completed    @43            ?     0%      –  sim/echo                  3m  /srv                  Read all of src and say what it does
       │  ├─ measure  worker      ! lost         @44            –      –      –  sim/echo                  4m  /srv                  Measure it
       │  └─ rewrite  worker      ? permission   @45      $0.0009    99%     12  sim/echo                  5m  its worktree          Rewrite the lexer
       ├─ smaller     background  ◌ elsewhere    @46            –      –      –  sim/echo                  6m  /srv
       └─ older       fork        ‖ interrupted  @47            –      –      –  sim/echo                  7m  /srv
          └─ wrong    fork        † dead         @48            –      –      –  sim/echo                  8m  /srv
       09090909       talk        ○ idle         own            –      –      –  sim/echo                  9m  …e/user/projects/web  Fix the login of the web page































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
       agent          state              cost  cache  files  used  title
     * parser         ● running         $1.23    93%      –    1m  Why is the parse…
       ├─ faster      ● running       $0.0456    99%      3    2m
       │  ├─ read     ✓ completed           ?     0%      –    3m  Read all of src …
       │  ├─ measure  ! lost                –      –      –    4m  Measure it
    ▸  │  └─ rewrite  ? permission    $0.0009    99%     12    5m  Rewrite the lexer
       ├─ smaller     ◌ elsewhere           –      –      –    6m
       └─ older       ‖ interrupted         –      –      –    7m
       09090909       ○ idle                –      –      –    9m  Fix the login of…





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
       agent                     state              cost  cache  used  title
       …            └─ 19191919  ○ idle                –      –    0s
       …            └─ 1a1a1a1a  ○ idle                –      –    0s
       …            └─ 1b1b1b1b  ○ idle                –      –    0s
       …            └─ 1c1c1c1c  ○ idle                –      –    0s
       …            └─ 1d1d1d1d  ○ idle                –      –    0s
    ▸* …            └─ 1e1e1e1e  ○ idle                –      –    0s
    Enter go  Space peek  m send  r rename  s stop  x kill  / find  Esc close
    sim/echo · default (Shift+Tab)
    ");
}

fn picker() -> App {
    let mut app = busy(NOW_MS);
    app.directory = "/srv".to_owned();
    app.open_picker();
    key(&mut app, KeyCode::Right);
    app
}

#[test]
fn earlier_conversations_on_a_small_screen() {
    insta::assert_snapshot!(screen(&mut picker(), SMALL), @"
    Conversations  5 rows, 9 agents · this directory first, the last used first
       agent         used  forks  directory             title
    ▸* parser          1m         here                  Why is the parser slow?
       ├─ faster       2m     +3  here
       ├─ smaller      6m         here
       └─ older        7m         here
       09090909        9m         …e/user/projects/web  Fix the login of the web pa…









    ── parser ──────────────────────────────────────────────────────────────────────
    ● running here: waiting for the model, for 0.0 s
    stands parser
    works in /srv
    asked Why is the parser slow?
    it has said nothing yet
    find: ▏  Esc closes  Enter opens  → shows its forks  ← hides them  Tab preview
    sim/echo · 1 question (Ctrl+P) · 4 running · default (Shift+Tab)
    ");
}

#[test]
fn earlier_conversations_on_a_large_screen_by_a_word() {
    let mut app = picker();
    "web".chars().for_each(|letter| key(&mut app, KeyCode::Char(letter)));
    insta::assert_snapshot!(screen(&mut app, (120, 20)), @"
    Conversations  1 found, 9 agents · this directory first, the last used first
       agent         used  forks  state              cost  directory             title
    ▸  09090909        9m         ○ idle                –  …e/user/projects/web  Fix the login of the web page









    ── 09090909 ────────────────────────────────────────────────────────────────────────────────────────────────────────────
    ○ idle
    stands 09090909
    works in /home/user/projects/web
    asked Fix the login of the web page
    it has said nothing of its own
    find: web▏  Esc shows all  Enter opens  → shows its forks  ← hides them  Tab preview  ↑↓ move
    sim/echo · 1 question (Ctrl+P) · 4 running · default (Shift+Tab)
    ");
}
