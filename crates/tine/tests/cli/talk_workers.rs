//! Workers that a person starts at the terminal, driven through the real binary.

use crate::pty::Terminal;
use crate::support::Home;

/// Workers whose command asks, workers whose model never ends its words, and a parent that says what came of them.
const SCENARIO: &str = r#"
name = "workers"

[[turn]]
when = { user_contains = "task-notification" }
text = "I have read the reports."

[[turn]]
when = { user_contains = "lead them", tool_results = 0 }
tool_calls = [{ name = "Agent", input = { prompt = "stall", description = "slow" } }]

[[turn]]
when = { user_contains = "the command", tool_results = 0 }
tool_calls = [{ name = "Bash", input = { command = "echo hi; exec false" } }]

[[turn]]
when = { user_contains = "the command" }
text = "Scope: the command\nResult: it said {{tool_result.last}}"

[[turn]]
when = { user_contains = "stall" }
text = "The first part. The rest never comes, because the connection stalls here and says nothing."
fault = { stall_after_events = 4 }

[[turn]]
text = "You said: {{user}}"
"#;

fn home() -> Home {
    let home = Home::new();
    let model = home.near_model(SCENARIO);
    home.write("config.toml", &format!("model = \"{model}\"\n"));
    home
}

fn begun(home: &Home, arguments: &[&str]) -> Terminal {
    let terminal = Terminal::start(home, arguments);
    terminal.screen("Say what is to be done.");
    terminal
}

fn quit(mut terminal: Terminal) {
    terminal.type_in("/quit\r");
    assert_eq!(terminal.end().0, 0);
}

/// The word of each list for the worker.
fn words(home: &Home) -> [String; 2] {
    let ps = home.ran(&["ps"]).stdout;
    let tasks = home.json(&["task", "list", "--json"]);
    let state = ps.lines().find(|line| line.contains("worker")).unwrap_or_default();
    let word = state.split_whitespace().find(|word| word.starts_with("interr")).unwrap_or_default();
    [word.to_owned(), tasks["tasks"][0]["status"].as_str().unwrap().to_owned()]
}

#[test]
fn a_fan_asks_at_the_terminal_and_its_reports_are_read_by_the_agent() {
    let home = home();
    let mut terminal = begun(&home, &[]);
    terminal.see_at_rest("hello\r", "You said: hello");
    // A mistake costs no word.
    let screen = terminal.see("/fan -d \"the command\" --wrktree\r", "unexpected argument");
    assert!(screen.contains("❯ /fan -d \"the command\" --wrktree"), "{screen}");
    let take_back = "\u{7f}".repeat("--wrktree".len());
    terminal.see(&format!("{take_back}-d \"say this\"\r"), "wants to use Bash");
    terminal.screen("Enter confirms");
    terminal.see("\r", "I have read the reports.");
    let screen = terminal.at_rest("first turns");
    assert!(screen.contains("I have read the reports."), "{screen}");
    let tasks = home.json(&["task", "list", "--json"]);
    let status = |at: usize| tasks["tasks"][at]["status"].clone();
    assert_eq!((status(0), status(1)), ("completed".into(), "completed".into()), "{tasks}");
    quit(terminal);
}

#[test]
fn words_to_an_agent_that_stops_are_answered_once_its_workers_have_ended() {
    let home = home();
    let mut terminal = begun(&home, &[]);
    terminal.see("lead them\r", "slow: ");
    terminal.see("\u{1b}", "what runs below");
    terminal.see("are you there?\r", "sent; it is read");
    terminal.type_in("\u{1b}");
    // Both are in one message: the words, and what came of the worker.
    let screen = terminal.at_rest("I have read the reports.");
    assert!(screen.contains("▌ are you there?"), "{screen}");
    quit(terminal);
}

#[test]
fn what_came_of_a_fan_that_was_refused_is_plain_text() {
    let home = home();
    let mut terminal = begun(&home, &[]);
    terminal.see("/fan -d \"the command\"\r", "wants to use Bash");
    terminal.screen("Enter confirms");
    let screen = terminal.see("no\r", "0 of 1 workers completed");
    assert!(screen.contains("first turns"), "{screen}");
    assert!(!screen.contains("u{1b}") && !screen.contains("[2m"), "{screen}");
    terminal.at_rest("I have read the reports.");
    quit(terminal);
}

#[test]
fn a_task_of_the_first_screen_begins_an_agent_and_is_taken_up_after_an_interruption() {
    let home = home();
    let mut terminal = begun(&home, &[]);
    terminal.see("/task start \"stall\" -d slow\r", "started ");
    terminal.screen("slow: ");
    terminal.type_in("\u{3}\u{3}");
    let (code, _) = terminal.end();
    assert_eq!(code, 0);
    assert_eq!(words(&home), ["interrupted", "interrupted"]);

    let mut terminal = Terminal::start(&home, &["--continue"]);
    terminal.see("\u{14}", "‖ interrupted");
    terminal.see("q/resume\r", "resumed ");
    terminal.see("\u{14}", "1 running");
    terminal.type_in("q/quit\r/quit\r");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn a_fork_of_the_first_screen_begins_an_agent() {
    let home = home();
    let mut terminal = begun(&home, &[]);
    terminal.see_at_rest("/fork \"hello\"\r", "You said: hello");
    assert_eq!(home.json(&["ps", "--json"]).as_array().unwrap().len(), 1);
    terminal.see_at_rest("/new\r/fork \"again\" --name second\r", "You said: again");
    assert_eq!(home.json(&["ps", "--json"]).as_array().unwrap().len(), 3);
    quit(terminal);
}

#[test]
fn what_the_terminal_confines_is_stored_and_inherited() {
    let home = home();
    let confine = ["--confine", "directory", "--network", "crates.io:443"];
    let mut terminal = begun(&home, &confine);
    terminal.see_at_rest("hello\r", "You said: hello");
    terminal.see_at_rest("/fork \"again\"\r", "You said: again");
    terminal.see_at_rest("/task start \"say this\"\r", "I have read the reports.");
    quit(terminal);
    let agents = home.json(&["ps", "--json"]);
    for agent in agents.as_array().unwrap() {
        let reach = (&agent["reach"], &agent["hosts"][0]);
        assert_eq!(reach, (&"directory".into(), &"crates.io:443".into()), "{agent}");
    }
    assert_eq!(agents.as_array().unwrap().len(), 3);
    let refused = home.ran(&["--plain", "--network", "crates.io:443"]);
    check!(refused.stderr, @"
    error: --network is for confined runs
    hint: commands that are not confined have the network anyway
    ");
}
