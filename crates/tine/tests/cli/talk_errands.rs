//! Commands of the terminal beside talking and forking, driven through the real binary.

use crate::merge_back::editor;
use crate::pty::{Terminal, plain};
use crate::support::Home;
use crate::talk::home;

/// A terminal in which something was said.
fn begun(home: &Home, variables: &[(&str, &str)]) -> Terminal {
    let mut terminal = Terminal::start_with(home, &[], variables);
    terminal.screen("Say what is to be done.");
    terminal.see_at_rest("hello\r", "You said: hello");
    terminal
}

fn quit(mut terminal: Terminal) {
    terminal.type_in("/quit\r");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn a_side_question_is_answered_on_a_page_and_becomes_a_fork_by_one_key() {
    let home = home();
    let mut terminal = begun(&home, &[]);
    let screen = terminal.see("/side why is that?\r", "f makes a fork that");
    assert!(screen.contains("You said: why is that?"), "{screen}");
    // Nothing of it is in the conversation.
    let screen = terminal.see("\u{1b}", "▌ hello");
    assert!(!screen.contains("why is that?"), "{screen}");
    terminal.see("/btw why is that?\r", "f makes a fork that");
    terminal.see("f", "Forked from ");
    let screen = terminal.at_rest("▌ why is that?");
    assert!(screen.contains("You said: why is that?"), "{screen}");
    assert_eq!(home.json(&["ps", "--json"]).as_array().unwrap().len(), 2);
    quit(terminal);
}

#[test]
fn a_command_of_the_persons_own_is_run_and_the_agent_knows_it() {
    let home = home();
    let mut terminal = begun(&home, &[]);
    let screen = terminal.see("!echo from the shell\r", "● ! echo from the shell");
    assert!(screen.contains("from the shell"), "{screen}");
    terminal.see_at_rest("what is new?\r", "You said: what is new?");
    quit(terminal);
    let agents = home.json(&["ps", "--json"]);
    let id = agents[0]["id"].as_str().unwrap();
    let log = home.ran(&["show", id, "--full"]).stdout;
    assert!(log.contains("$ echo from the shell\n   from the shell"), "{log}");
}

#[test]
fn a_command_before_the_first_words_is_known_to_the_agent_that_begins() {
    let home = home();
    let mut terminal = Terminal::start_with(&home, &[], &[]);
    terminal.screen("Say what is to be done.");
    terminal.see("!echo early bird\r", "(the agent that begins here reads it)");
    terminal.see_at_rest("what is new?\r", "You said: what is new?");
    quit(terminal);
    let agents = home.json(&["ps", "--json"]);
    let log = home.ran(&["show", agents[0]["id"].as_str().unwrap(), "--full"]).stdout;
    assert!(log.contains("$ echo early bird\n   early bird"), "{log}");
}

#[test]
fn a_file_that_a_prompt_names_is_offered_and_handed_over() {
    let home = home();
    std::fs::create_dir_all(home.work().join("src")).unwrap();
    std::fs::write(home.work().join("src/main.rs"), "fn main() {}\n").unwrap();
    let mut terminal = begun(&home, &[]);
    terminal.see("what is in @mai", "▸ @src/main.rs");
    let screen = terminal.see_at_rest("\t?\r", "You said: what is in @src/main.rs ?");
    assert!(screen.contains("(with src/main.rs, 1 line)"), "{screen}");
    quit(terminal);
    let agents = home.json(&["ps", "--json"]);
    let log = home.ran(&["show", agents[0]["id"].as_str().unwrap(), "--full"]).stdout;
    assert!(log.contains("<attached-file path=\"src/main.rs\">\n   fn main() {}"), "{log}");
}

#[test]
fn merge_back_opens_the_editor_and_the_parent_gets_the_text() {
    let home = home();
    let editor = editor(&home, "printf 'It works.\\n' > \"$2\"");
    let mut terminal = begun(&home, &[("EDITOR", &editor)]);
    terminal.see_at_rest("/fork \"try it\"\r", "You said: try it");
    terminal.type_in("/merge-back\r");
    terminal.until("Enter goes back to the conversation", 1);
    terminal.see("\r", "You said: try it");
    terminal.see("/parent\r", "It works.");
    quit(terminal);
}

#[test]
fn killed_agents_are_reaped_and_a_wait_says_what_was_waited_for() {
    let home = home();
    let mut terminal = begun(&home, &[]);
    for (typed, said) in [
        ("/hide\r", "No dead agents to hide"),
        ("/wait\r", "Error: nobody below this agent has anything to do"),
        ("/fork \"stall\" --bg --name slow\r", "Forked child"),
        ("/wait 0 slow\r", "time is up; 1 of 1 not finished"),
        ("/wait slow\r", "waiting for 1 of 1 agent"),
        ("\u{1b}", "you wait no more; nothing was stopped"),
        ("/hide slow\r", "is not dead"),
        ("/kill -y slow\r", "terminated"),
        ("/hide\r", "Hid 1 agent"),
    ] {
        terminal.see(typed, said);
    }
    terminal.see("\u{14}", "1 agent,");
    terminal.type_in("q/quit\r");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn a_conversation_is_exported_and_the_way_back_is_said() {
    let home = home();
    let mut terminal = begun(&home, &[]);
    terminal.see("/rename talk\r", "── talk");
    terminal.see("/export talk.md\r", "Done: tine export");
    let text = std::fs::read_to_string(home.work().join("talk.md")).unwrap();
    assert!(text.contains("You said: hello"), "{text}");
    let screen = terminal.see("/export\r", "any other key closes");
    assert!(screen.contains("You said: hello"), "{screen}");
    terminal.type_in("q/quit\r");
    let (code, text) = terminal.end();
    assert_eq!(code, 0);
    assert!(text.contains("`tine -r talk` goes on here"), "{text}");
}

#[test]
fn a_request_that_fails_is_told_and_the_agent_can_go_on() {
    let home = home();
    let mut terminal = begun(&home, &[]);
    terminal.see_at_rest("key\r", "bad key");
    terminal.see_at_rest("hello again\r", "You said: hello again");
    quit(terminal);
}

#[test]
fn keys_are_those_of_the_settings_and_mistakes_in_them_are_told() {
    let home = home();
    let settings = std::fs::read_to_string(home.path().join("config.toml")).unwrap();
    home.write("config.toml", &format!("{settings}[keys]\ntree = \"f3\"\n"));
    let mut terminal = begun(&home, &[]);
    terminal.see("\u{14}\u{1b}OR", "1 agent,");
    terminal.see("q/help\r", "(F3)");
    terminal.type_in("q/quit\r");
    assert_eq!(terminal.end().0, 0);
    home.write("config.toml", &format!("{settings}[keys]\ntree = \"ctrl+o\"\n"));
    let (code, text) = Terminal::start(&home, &[]).end();
    assert_eq!(code, 42);
    shape!(home.masked(&plain(&text)), @"
    error: a key of the settings cannot be used: Ctrl+O would mean `tree` and `open`
    hint: give one of them another key, or none: []; see [keys] in [HOME]/config.toml
    ");
}
