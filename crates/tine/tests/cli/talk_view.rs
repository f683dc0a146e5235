//! The conversation in `tine`: pointing at messages, forking from them, colours of code and changes.

use crate::pty::Terminal;
use crate::run::SCENARIO;
use crate::support::Home;
use crate::talk;

/// Ctrl and an arrow, as terminals send them.
const POINT_UP: &str = "\u{1b}[1;5A";

/// The text `look around` on the clipboard, as terminals are told.
const COPIED: &str = "\u{1b}]52;c;bG9vayBhcm91bmQ=\u{1b}\\";

#[test]
fn a_fork_from_a_prompt_that_was_inherited_begins_before_it() {
    let home = Home::new();
    let model = home.near_model(SCENARIO);
    home.write("config.toml", &format!("model = \"{model}\"\n"));
    let mut terminal = Terminal::start(&home, &[]);
    terminal.screen("Say what is to be done.");
    terminal.see_at_rest("look around\r", "That is all.");
    terminal.see_at_rest("hello\r", "You said: hello");
    terminal.see_at_rest("/fork\r", "Forked from ");

    // Above the reply stands the prompt.
    terminal.type_in(POINT_UP);
    let screen = terminal.see(POINT_UP, "┃ ▌ hello");
    // The end of the parent's run, where it is told only now, stands in the place of the keys.
    assert!(screen.contains("f fork from here") || screen.contains("is done"), "{screen}");
    // Its line is there before its conversation is, in which the keys below point.
    terminal.type_in("f");
    terminal.screen_where("the fork without the prompt", |screen| {
        screen.contains("❯ hello")
            && screen.contains("That is all.")
            && !screen.contains("You said")
    });
    terminal.type_in("\u{3}");

    // A call keeps its result, whatever was pointed at.
    for _ in 0..2 {
        terminal.type_in(POINT_UP);
    }
    terminal.screen("┃ ● Glob");
    terminal.type_in("f");
    terminal.screen_where("the fork behind the call", |screen| {
        screen.contains("The fork point moved to entry")
            && screen.contains("● Glob")
            && !screen.contains("That is all.")
    });

    // Before the first prompt nothing was said.
    for _ in 0..5 {
        terminal.type_in(POINT_UP);
    }
    terminal.screen("┃ ▌ look around");
    terminal.type_in("y");
    terminal.until(COPIED, 1);
    let screen = terminal.see("f", "❯ look around");
    assert!(!screen.contains("I have looked"), "{screen}");
    let screen = terminal.see_at_rest("\r", "I have looked.");
    assert!(screen.contains("(the agent is told its working directory)"), "{screen}");
    terminal.type_in("/quit\r");
    assert_eq!(terminal.end().0, 0);
    let agents = home.json(&["ps", "--json"]);
    let fork_points: Vec<bool> =
        agents.as_array().unwrap().iter().map(|agent| agent["fork_point"].is_null()).collect();
    assert_eq!(fork_points.iter().filter(|is_null| **is_null).count(), 2, "{agents}");
}

#[test]
fn a_screen_of_another_size_is_filled_anew() {
    let home = Home::new();
    let model = home.near_model(SCENARIO);
    home.write("config.toml", &format!("model = \"{model}\"\n"));
    let mut terminal = Terminal::start(&home, &[]);
    terminal.screen("Say what is to be done.");
    terminal.see_at_rest("hello\r", "You said: hello");
    for (rows, columns) in [(12, 40), (50, 160), (1, 1), (24, 80)] {
        terminal.resize(rows, columns);
        if rows > 1 {
            let rule = "─".repeat(usize::from(columns) - "── 01234567 ".chars().count());
            let fits = |line: &str| line.starts_with("── ") && line.ends_with(&format!(" {rule}"));
            let is_filled = |screen: &str| screen.lines().any(fits) && screen.contains("❯");
            terminal.screen_where("a rule from side to side", is_filled);
        }
    }
    terminal.see_at_rest("hello again\r", "You said: hello again");
    terminal.type_in("/quit\r");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn a_flag_leaves_nothing_behind_and_help_is_searched() {
    let home = talk::home();
    let mut terminal = Terminal::start(&home, &[]);
    terminal.screen("Say what is to be done.");
    let flag = "\u{1f1e8}\u{1f1ed}";
    terminal.see_at_rest(&format!("hello {flag}\r"), &format!("You said: hello {flag}"));
    let screen = terminal.see("/help\r", "/ finds");
    assert!(!screen.contains('\u{1f1ed}'), "{screen}");
    terminal.type_in("/SIBLING");
    terminal.screen_where("what is found", |screen| {
        screen.contains("go to the sibling before") && !screen.contains("/fork")
    });
}

/// A model that runs a command which ends once a file is there.
const SLOW: &str = r#"
name = "slow"

[[turn]]
when = { tool_results = 0 }
[[turn.tool_calls]]
name = "Bash"
input = { command = "echo first; until test -e go; do sleep 0.05; done; echo last" }

[[turn]]
text = "It is over."
"#;

#[test]
fn a_command_is_seen_while_it_runs() {
    let home = Home::new();
    let model = home.near_model(SLOW);
    home.write("config.toml", &format!("model = \"{model}\"\npermissions.allow = [\"Bash\"]\n"));
    let mut terminal = Terminal::start(&home, &[]);
    terminal.screen("Say what is to be done.");
    terminal.type_in("run it\r");
    terminal.screen_where("its time and its first line", |screen| {
        screen.contains("⎿ running · ") && screen.contains("\n    first\n")
    });
    std::fs::write(home.work().join("go"), "").unwrap();
    // The words of a reply come as they are said, and results once they stand in the log.
    terminal.screen_where("the result and the words behind it", |screen| {
        screen.contains("⎿ first\n    last\n") && screen.contains("It is over.")
    });
}
