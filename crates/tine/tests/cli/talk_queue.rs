//! Questions of runs of other processes, on the screen of a terminal that runs nothing itself.

use crate::crash::start;
use crate::permission::until_asked;
use crate::pty::Terminal;
use crate::support::Home;
use crate::talk;

/// Begins a run elsewhere that asks and waits; it ends once it has its answer.
fn asks(home: &Home) -> std::process::Child {
    let model = home.near_model(crate::run::SCENARIO);
    start(home, &["run", "--model", &model, "--wait-for-permission", "--json", "the command"])
}

fn said(child: std::process::Child) -> String {
    let output = child.wait_with_output().unwrap();
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    result["text"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_run_elsewhere_asks_here_and_goes_on_with_the_answer() {
    let home = talk::home();
    let mut terminal = Terminal::start(&home, &[]);
    terminal.screen("Say what is to be done.");
    terminal.see_at_rest("hello\r", "You said: hello");
    let run = asks(&home);
    let asked = until_asked(&home);
    terminal.screen("wants to use");
    let screen = terminal.see("\u{10}", "Enter confirms");
    for part in ["another tree · in another process", "auto-denied in ", "echo hi; exec false"] {
        assert!(screen.contains(part), "no {part:?} in\n{screen}");
    }
    terminal.type_in("\r");
    assert!(said(run).starts_with("It said: hi"));
    let all = home.json(&["permission", "list", "--all", "--json"]);
    assert_eq!(all[0]["id"], asked["id"]);
    assert_eq!((&all[0]["state"], &all[0]["scope"]), (&"allowed".into(), &"once".into()));
    assert_eq!(all[0]["answered_by"], "another terminal");
    terminal.screen("is done");
    terminal.type_in("/quit\r");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn a_question_that_is_answered_elsewhere_goes_away_and_one_that_waited_before_is_shown() {
    let home = talk::home();
    let run = asks(&home);
    let asked = until_asked(&home);
    let mut terminal = Terminal::start(&home, &[]);
    let screen = terminal.screen("1 question (Ctrl+P)");
    assert!(screen.contains("wants to use") && screen.contains("Ctrl+P answers"), "{screen}");
    home.done(&["permission", "deny", asked["id"].as_str().unwrap()]);
    let screen = terminal.screen("refused without your word: Bash: echo hi; exec false");
    assert!(!screen.contains("wants to use"), "{screen}");
    assert!(said(run).contains("Denied by the user"));
    terminal.type_in("\u{4}");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn a_question_of_a_run_that_died_is_a_number_until_one_goes_to_it() {
    let home = talk::home();
    let mut run = asks(&home);
    until_asked(&home);
    run.kill().unwrap();
    run.wait().unwrap();
    let mut terminal = Terminal::start(&home, &[]);
    let is_number =
        |screen: &str| screen.contains("1 question (Ctrl+P)") && !screen.contains("wants to use");
    terminal.screen_where("the question is a number", is_number);
    terminal.see_at_rest("hello\r", "You said: hello");
    let screen = terminal.see("\u{10}", "Enter confirms");
    assert!(screen.contains("cut off; it reads the answer once"), "{screen}");
    terminal.type_in("\u{1b}");
    terminal.screen_where("the question is a number again", is_number);
    terminal.type_in("/quit\r");
    assert_eq!(terminal.end().0, 0);
}
