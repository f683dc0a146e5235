//! Permission modes in the terminal.

use crate::pty::Terminal;
use crate::support::Home;

/// Shift+Tab, as terminals send it.
const SHIFT_TAB: &str = "\u{1b}[Z";

/// A model that writes twenty files and one that starts programs, and says what became of the last one.
fn scenario() -> String {
    let write = |path: &str| {
        format!(
            "{{ name = \"FileWrite\", input = {{ file_path = \"{path}\", content = \"x\\n\" }} }}"
        )
    };
    let files: Vec<String> = (1..=20).map(|number| write(&format!("src/{number}.rs"))).collect();
    format!(
        r#"name = "edits"

[[turn]]
when = {{ user_contains = "edit", tool_results = 0 }}
tool_calls = [{files}]

[[turn]]
when = {{ user_contains = "hook", tool_results = 0 }}
tool_calls = [{hook}]

[[turn]]
text = "It said: {{{{tool_result.last}}}}"
"#,
        files = files.join(",\n"),
        hook = write(".husky/pre-commit"),
    )
}

fn home() -> Home {
    let home = Home::new();
    let model = home.near_model(&scenario());
    home.write("config.toml", &format!("model = \"{model}\"\n"));
    home
}

fn requests(home: &Home) -> usize {
    home.json(&["permission", "list", "--all", "--json"]).as_array().unwrap().len()
}

#[test]
fn twenty_edits_behind_one_key_ask_nothing_and_a_hook_asks() {
    let home = home();
    let mut terminal = Terminal::start(&home, &[]);
    terminal.screen("default (Shift+Tab)");
    terminal.see(SHIFT_TAB, "accept-edits: agents edit files");
    terminal.see_at_rest("edit\r", "It said:");
    assert_eq!(requests(&home), 0);
    assert_eq!(std::fs::read_dir(home.work().join("src")).unwrap().count(), 20);
    terminal.screen("· accept-edits");
    terminal.see("hook\r", "`.husky/pre-commit` can start programs later");
    assert_eq!(requests(&home), 1);
}

#[test]
fn a_rule_for_the_folder_asks_nothing_more_there_and_still_asks_about_a_hook() {
    let home = home();
    let mut terminal = Terminal::start(&home, &[]);
    terminal.screen("Say what is to be done.");
    terminal.see("edit\r", "Enter confirms");
    terminal.see("3", "▸ 3 yes, and from now on `FileWrite(src/**)`");
    let screen = terminal.see("\r", "without a question.");
    assert!(home.masked(&screen).contains("Allow `FileWrite([HOME]/work/src/**)`"), "{screen}");
    terminal.screen("Enter adds this rule");
    terminal.see_at_rest("\r", "It said:");
    assert_eq!(requests(&home), 1, "one answer serves all");
    assert_eq!(std::fs::read_dir(home.work().join("src")).unwrap().count(), 20);
    terminal.see("hook\r", "wants to use FileWrite");
}

#[test]
fn a_key_at_the_question_answers_what_the_new_mode_allows() {
    let home = home();
    let mut terminal = Terminal::start(&home, &[]);
    terminal.screen("Say what is to be done.");
    terminal.see("edit\r", "wants to use");
    terminal.type_in(SHIFT_TAB);
    terminal.at_rest("It said:");
    let all = home.json(&["permission", "list", "--all", "--json"]);
    assert_eq!(all[0]["answered_by"], "the permission mode");
}

#[test]
fn the_mode_of_the_start_is_shown_and_other_names_are_understood() {
    for (name, shown) in [
        ("plan", "plan (read-only)"),
        ("acceptEdits", "accept-edits"),
        ("bypassPermissions", "bypass"),
    ] {
        let home = home();
        let terminal = Terminal::start(&home, &["--permission-mode", name]);
        terminal.screen(&format!("{shown} (Shift+Tab)"));
    }
    let home = home();
    let mut terminal = Terminal::start(&home, &["--permission-mode", "plan"]);
    terminal.screen("plan (read-only)");
    terminal.see_at_rest("hook\r", "the mode is read-only");
    assert_eq!(requests(&home), 0);
}
