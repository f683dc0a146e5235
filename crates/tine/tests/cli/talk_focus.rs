//! The focus belongs to the person: forks that waited, and agents that another process kills.

use tine_testkit::until;

use crate::pty::Terminal;
use crate::support::Home;

/// A command that waits until the test lets it end, and words that are repeated.
const SCENARIO: &str = r#"
name = "focus"

[[turn]]
when = { user_contains = "wait", tool_results = 0 }
tool_calls = [{ name = "Bash", input = { command = "until [ -e go ]; do sleep 0.05; done; echo over" } }]

[[turn]]
when = { user_contains = "wait" }
text = "The wait is over."

[[turn]]
text = "You said: {{user}}"
"#;

fn home() -> Home {
    let home = Home::new();
    let model = home.near_model(SCENARIO);
    let settings = format!("model = \"{model}\"\n[permissions]\nallow = [\"Bash\"]\n");
    home.write("config.toml", &settings);
    home
}

/// The ids of all agents, the newest first.
fn ids(home: &Home) -> Vec<String> {
    let agents = home.json(&["ps", "--json"]);
    let id = |agent: &serde_json::Value| agent["id"].as_str().unwrap().to_owned();
    agents.as_array().unwrap().iter().map(id).collect()
}

#[test]
fn a_person_who_types_while_a_fork_waits_loses_no_letter() {
    let home = home();
    let mut terminal = Terminal::start(&home, &[]);
    terminal.screen("Say what is to be done.");
    terminal.see("please wait\r", "running Bash");
    terminal.see("/fork \"moved\"\r", "a fork waits for the tools · Esc gives the fork up");
    terminal.see("I am typing", "❯ I am typing");
    home.write("work/go", "");
    terminal.screen("Alt+→ goes to it");
    terminal.see_at_rest(" to the end", "❯ I am typing to the end");
    terminal.see_at_rest("\r", "You said: I am typing to the end");
    let screen = terminal.see("\u{1b}[1;3C", "You said: moved");
    assert!(!screen.contains("I am typing"), "{screen}");
    terminal.type_in("/quit\r");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn a_fork_that_waited_takes_along_whoever_waits_for_it() {
    let home = home();
    let mut terminal = Terminal::start(&home, &[]);
    terminal.screen("Say what is to be done.");
    terminal.see("please wait\r", "running Bash");
    terminal.see("/fork \"moved\"\r", "a fork waits for the tools");
    home.write("work/go", "");
    let screen = terminal.screen("You said: moved");
    assert!(screen.contains("Forked from "), "{screen}");
    terminal.at_rest("You said: moved");
    // The one that it was forked from goes on meanwhile, and leaving would ask about it.
    until("all are done", || {
        let agents = home.json(&["ps", "--all", "--json"]);
        agents.as_array().unwrap().iter().all(|agent| agent["state"] == "idle")
    });
    terminal.type_in("/quit\r");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn a_kill_in_another_process_is_said_and_the_line_goes_to_the_parent_but_not_to_its_model() {
    let home = home();
    let mut terminal = Terminal::start(&home, &[]);
    terminal.screen("Say what is to be done.");
    terminal.see_at_rest("hello\r", "You said: hello");
    terminal.see_at_rest("/fork \"child\"\r", "You said: child");
    terminal.see("half a sen", "❯ half a sen");
    let agents = ids(&home);
    home.done(&["kill", &agents[0]]);
    let screen = terminal.screen("Enter asks before it is sent.");
    assert!(screen.contains("was killed by another process"), "{screen}");
    assert!(screen.contains("❯ half a sen") && !screen.contains("↑"), "{screen}");
    terminal.see("tence\r", "Enter again sends it to");
    terminal.see_at_rest("\r", "You said: half a sentence");
    assert!(home.done(&["show", &agents[1]]).contains("half a sentence"));
    terminal.type_in("/quit\r");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn a_line_of_a_session_without_a_screen_that_was_for_the_dead_is_not_sent() {
    let home = home();
    let mut terminal = Terminal::start(&home, &["--plain"]);
    terminal.until("Say what is to be done", 1);
    terminal.type_in("hello\n");
    terminal.until("You said: hello", 1);
    terminal.type_in("/fork \"child\"\n");
    terminal.until("You said: child", 1);
    let agents = ids(&home);
    home.done(&["kill", &agents[0]]);
    terminal.until("was killed by another process", 1);
    terminal.type_in("for the child\n");
    terminal.until("Not sent: for the child", 1);
    terminal.type_in("for the parent\n");
    terminal.until("You said: for the parent", 1);
    assert!(!home.done(&["show", &agents[1]]).contains("for the child"));
    terminal.type_in("\u{4}");
    assert_eq!(terminal.end().0, 0);
}
