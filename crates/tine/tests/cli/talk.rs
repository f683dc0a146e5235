//! `tine` alone: a person at the terminal, from the first words to the way back to the shell.

use crate::pty::Terminal;
use crate::run::SCENARIO;
use crate::support::Home;

/// A home whose new agents have the model of the scenario.
pub(crate) fn home() -> Home {
    let home = Home::new();
    let model = home.near_model(SCENARIO);
    home.write("config.toml", &format!("model = \"{model}\"\n"));
    home
}

/// What begins the use of the whole screen.
const SCREEN_TAKEN: &str = "\u{1b}[?1049h";

/// What ends the use of the whole screen.
const SCREEN_GIVEN_BACK: &str = "\u{1b}[?1049l";

#[test]
fn words_of_the_command_line_are_said_first() {
    let home = home();
    let mut terminal = Terminal::start(&home, &["look around"]);
    terminal.screen("That is all.");
    terminal.at_rest("cached · $");
    terminal.type_in("\u{4}");
    assert_eq!(terminal.end().0, 0);
    let mut terminal = Terminal::start(&home, &["-c", "hello"]);
    terminal.screen("You said: hello");
    terminal.at_rest("cached · $");
    terminal.type_in("\u{4}");
    assert_eq!(terminal.end().0, 0);
    assert_eq!(home.json(&["ps", "--json"]).as_array().map(Vec::len), Some(1));
    // Without a model they wait for one.
    home.write("config.toml", "");
    let terminal = Terminal::start(&home, &["hello"]);
    terminal.screen("there is no model yet; type the number of one");
    let model = home.near_model(SCENARIO);
    let terminal = Terminal::start(&home, &["-m", &model, "hello"]);
    terminal.screen("You said: hello");
}

#[test]
fn words_are_answered_and_a_fork_takes_their_place() {
    let home = home();
    let mut terminal = Terminal::start(&home, &[]);
    terminal.screen("Say what is to be done.");
    terminal.see("look around\r", "That is all.");
    let screen = terminal.at_rest("cached · $");
    shape!(home.masked(&screen), @"
      (the agent is told its working directory)

    ▌ look around

    ∴ I should look first.

    I look.

    ● Glob *.txt in .
      ⎿ no file in `.` matches

    I have looked.

    That is all.







    ── [AGENT8] ────────────────────────────────────────────────────────────────────
    ❯
    sim/../case.toml · 0 of 1M context · 0% cached · $0 · default
    ");

    let screen = terminal.see_at_rest("/fork \"hello\"\r", "You said: hello");
    assert!(screen.contains("Forked from "), "{screen}");
    // Back at the parent nothing was said.
    let screen = terminal.see("/parent\r", "1 fork");
    assert!(!screen.contains("You said") && screen.contains("Forked child"), "{screen}");

    // That the fork is done may be said at the foot for a while: it ended as this screen turned away from it.
    terminal.type_in("\u{14}");
    let screen = terminal.screen_where("the tree, with its status line", |screen| {
        screen.contains("2 agents, 0 running") && screen.contains("% cached")
    });
    shape!(home.masked(&screen), @"
    Agents  2 agents, 0 running, 0 dead · cost and cache of all requests
       agent         state              cost  cache  files  used  title
    ▸* [AGENT8]      ○ idle          $0    0%      –    0s  look around
       └─ [AGENT8]   ○ idle          $0    0%      –    0s  hello


















    Enter go  Space peek  m send  r rename  s stop  x kill  / find  Esc close
    sim/../case.toml · 0 of 1M context · 0% cached · $0 · default
    ");
    terminal.see("\u{1b}[B\r", "You said: hello");
    terminal.type_in("/quit\r");
    let (code, text) = terminal.end();
    assert_eq!(code, 0);
    assert!(text.contains(SCREEN_GIVEN_BACK), "{text}");
}

/// A program that types, or a paste into a terminal that does not mark pastes, is faster than any reader.
#[test]
fn what_is_typed_at_once_is_read_to_its_end_whatever_its_length() {
    let home = home();
    let mut terminal = Terminal::start(&home, &[]);
    terminal.screen("Say what is to be done.");
    for length in [1_500, 3_500] {
        terminal.type_in(&("x".repeat(length) + "END"));
        terminal.screen("xEND");
        terminal.type_in("\u{15}");
        terminal.screen_where("an empty line", |screen| !screen.contains("xEND"));
    }
}

#[test]
fn mistakes_in_fork_change_nothing() {
    let home = home();
    let mut terminal = Terminal::start(&home, &[]);
    terminal.screen("Say what is to be done.");
    terminal.see("/fork\r", "there is no agent yet");
    terminal.see("hello\r", "You said: hello");
    for (typed, said) in [
        ("/fork try it\r", "Error: Prompt must be quoted (usage: /fork \"prompt\")"),
        ("\u{3}/fork \"try it\r", "Error: Unterminated quoted string"),
        ("\u{3}/fork \"a\" b\r", "Error: Unexpected text after the prompt: b"),
        ("\u{3}/kill\r", "Error: Cannot kill root agent"),
        ("/rewind there\r", "Mark not found: there"),
    ] {
        terminal.see(typed, said);
    }
    terminal.type_in("/frok\r");
    terminal.screen("there is no command /frok; did you mean /fork?");
    assert_eq!(home.json(&["ps", "--json"]).as_array().unwrap().len(), 1);
    terminal.type_in("\u{3}\u{3}\u{3}");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn a_question_shows_the_whole_command_and_its_choices() {
    let home = home();
    let mut terminal = Terminal::start(&home, &[]);
    terminal.screen("Say what is to be done.");
    terminal.see("the command\r", "wants to use");
    terminal.screen("Enter confirms");
    // The question may be drawn before the call.
    let screen = terminal.screen("○ Bash echo hi");
    shape!(home.masked(&screen), @"
      (the agent is told its working directory)

    ▌ the command

    ○ Bash echo hi; exec false




    … asks for permission · 0 s
    ────────────────────────────────────────────────────────────────────────────────
    ? [AGENT8] wants to use Bash
      echo hi; exec false
      in [HOME]/work: no rule allows this command, and it may do more than
      read: `exec` at column 10: not on the list of commands that only read
      ▸ 1 yes, once
        2 yes, and from now on `Bash(echo hi; exec false)`
        3 no
      Enter confirms · ↑↓ or a digit chooses · or type what to do instead · Ctrl+O
      shows all · Esc answers later
      auto-denied in 59m
    ── [AGENT8] ────────────────────────────────────────────────────────────────────
    ❯
    sim/../case.toml · 1 question (Ctrl+P) · 1 running · 0 context · default
    ");
    terminal.see_at_rest("\r", "It said:");
    terminal.see("/cost\r", "tine cost");
    terminal.type_in("q/quit\r");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn escape_interrupts_and_a_killed_terminal_leaves_everything() {
    let home = home();
    let mut terminal = Terminal::start(&home, &[]);
    terminal.screen("Say what is to be done.");
    terminal.see("stall\r", "The first part.");
    terminal.see("\u{1b}", "Interrupted. What was done is kept");
    terminal.see("stall\r", "The first part.");
    terminal.kill();

    let mut terminal = Terminal::start(&home, &["--continue"]);
    terminal.screen("/resume goes on");
    terminal.screen("▌ stall");
    // The reply is missing, and asked for again.
    terminal.see("/resume\r", "… answering");
    terminal.see_at_rest("\u{1b}", "Interrupted. What was done is kept");
    terminal.see_at_rest("/resume\r", "You said: Go on from where you were interrupted.");
    terminal.see_at_rest("hello\r", "You said: hello");
    terminal.type_in("\u{4}");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn what_an_interrupted_agent_has_not_read_comes_back_into_the_line() {
    let home = home();
    let mut terminal = Terminal::start(&home, &[]);
    terminal.screen("Say what is to be done.");
    terminal.see("stall\r", "The first part.");
    terminal.see("second\r", "▌ second  (queued: read at its next turn)");
    let screen = terminal.see("\u{1b}", "❯ second");
    assert!(!screen.contains("queued"), "{screen}");
    // It was not read meanwhile, and is read once.
    let screen = terminal.see_at_rest("\r", "You said: second");
    assert_eq!(screen.matches("▌ second").count(), 1, "{screen}");
    terminal.type_in("/quit\r");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn the_terminal_is_given_back_to_the_shell_and_to_a_system_that_goes_down() {
    let home = home();
    let mut terminal = Terminal::start(&home, &[]);
    terminal.screen("Say what is to be done.");
    terminal.see("stall\r", "The first part.");
    // Nobody has started this one from a shell, so it goes on at once.
    terminal.type_in("\u{1a}");
    terminal.until(SCREEN_GIVEN_BACK, 1);
    terminal.until(SCREEN_TAKEN, 2);
    terminal.screen("The first part.");
    terminal.terminate();
    let (code, text) = terminal.end();
    assert_eq!((code, text.matches(SCREEN_GIVEN_BACK).count()), (0, 2), "{text}");
    // Its title is kept and comes back, and the mouse stays the terminal's.
    let count = |sequence: &str| text.matches(sequence).count();
    assert!(text.contains("\u{1b}]2;… tine · work\u{7}"), "{text}");
    let counts = ["\u{1b}[22;2t", "\u{1b}[23;2t", "\u{1b}[?1000h"].map(count);
    assert_eq!(counts, [2, 2, 0], "{text}");
    let state = &home.json(&["ps", "--json"])[0]["state"];
    assert_eq!(state, "interrupted");
}

#[test]
fn without_a_terminal_there_is_nothing_to_talk_in() {
    let home = home();
    shape!(home.shown(&home.ran(&[])), @r#"
    code: 2
    --- stdout
    --- stderr
    error: there is no terminal to talk in
    hint: `tine run "PROMPT"` answers in a pipe, and `tine --plain` talks in one; `tine --help` lists all commands
    "#);
}
