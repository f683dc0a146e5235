//! A question at the keyboard: letters go to the line, and each answer takes its steps.

use crate::pty::Terminal;
use crate::support::Home;
use crate::talk;

/// A model that writes a file of two hundred lines.
pub(crate) fn long_file() -> Home {
    let content: String = (1..=200).map(|number| format!("line {number}\\n")).collect();
    let home = Home::new();
    let model = home.near_model(&format!(
        r#"name = "write"

[[turn]]
when = {{ tool_results = 0 }}
tool_calls = [{{ name = "FileWrite", input = {{ file_path = "src/a.rs", content = "{content}" }} }}]

[[turn]]
text = "It said: {{{{tool_result.last}}}}"
"#
    ));
    home.write("config.toml", &format!("model = \"{model}\"\n"));
    home
}

/// The panel once keys answer it.
const ARMED: &str = "Enter confirms";

/// A terminal whose agent asks. It has just appeared.
fn asked(home: &Home) -> Terminal {
    let mut terminal = Terminal::start(home, &[]);
    terminal.screen("Say what is to be done.");
    terminal.see("the command\r", "wants to use");
    terminal
}

/// The same, where this was typed behind the prompt, before the question could appear. The app's own tests have a clock, and show
/// what is typed in the moment after it.
fn asked_while_typing(home: &Home, typed: &str) -> Terminal {
    let mut terminal = Terminal::start(home, &[]);
    terminal.screen("Say what is to be done.");
    terminal.see_at_rest("hello\r", "You said: hello");
    terminal.see(&format!("the command\r{typed}"), "wants to use");
    terminal
}

fn settings(home: &Home) -> String {
    std::fs::read_to_string(home.path().join("config.toml")).unwrap()
}

/// State and scope of the request, and the reason of the answer.
fn request(home: &Home) -> String {
    let all = home.json(&["permission", "list", "--all", "--json"]);
    assert_eq!(all.as_array().unwrap().len(), 1);
    format!("{} {} {}", all[0]["state"], all[0]["scope"], all[0]["reason"])
}

#[test]
fn words_that_are_typed_before_a_question_appears_are_a_prompt() {
    let home = talk::home();
    let before = settings(&home);
    let mut terminal = asked_while_typing(&home, "what does this command do?");
    let screen = terminal.screen("❯ what does this command do?");
    assert!(screen.contains("Enter sends your line as a prompt"), "{screen}");
    terminal.see("\r", "sent; it is read at the next turn");
    assert_eq!(request(&home), r#""pending" null null"#);
    terminal.screen(ARMED);
    terminal.see("\u{1b}", "Ctrl+P answers");
    assert_eq!(settings(&home), before);
}

#[test]
fn words_at_a_question_that_was_read_mean_no_and_the_model_is_told() {
    let home = talk::home();
    let before = settings(&home);
    let mut terminal = asked(&home);
    terminal.screen(ARMED);
    terminal.see("what does this command do?", "Enter: no, and");
    terminal.see_at_rest("\r", "It said: Denied by the user: what does this command do? Do not");
    assert_eq!(request(&home), r#""denied" "once" "what does this command do?""#);
    assert_eq!(settings(&home), before);
}

#[test]
fn enter_on_an_empty_line_allows_once() {
    let home = talk::home();
    let mut terminal = asked(&home);
    terminal.screen(ARMED);
    terminal.see_at_rest("\r", "It said: hi");
    assert_eq!(request(&home), r#""allowed" "once" null"#);
}

#[test]
fn a_line_that_says_no_denies() {
    let home = talk::home();
    let mut terminal = asked(&home);
    terminal.screen(ARMED);
    terminal.see("no", "Enter: no");
    terminal.see_at_rest("\r", "It said: Denied by the user.");
    assert_eq!(request(&home), r#""denied" "once" null"#);
}

#[test]
fn always_takes_two_steps_and_the_second_names_the_rule() {
    let home = talk::home();
    let mut terminal = asked(&home);
    terminal.screen(ARMED);
    terminal.see("2", "▸ 2 yes, and from now on `Bash(echo hi; exec false)`");
    let screen = terminal.see("\r", "Allow `Bash(echo hi; exec false)` without a question:");
    assert!(!screen.contains(ARMED), "{screen}");
    assert_eq!(request(&home), r#""pending" null null"#);
    terminal.screen("Enter adds this rule");
    terminal.see("3", "▸ 3 always");
    terminal.see_at_rest("\r", "It said: hi");
    assert_eq!(request(&home), r#""allowed" "always" null"#);
    assert!(settings(&home).contains("allow = [\"Bash(echo hi; exec false)\"]"));
}

#[test]
fn sentences_of_any_first_letter_grant_nothing() {
    for sentence in ["yes, but with make", "2 files are wrong", "\u{fc}brigens: nein"] {
        let home = talk::home();
        let before = settings(&home);
        let mut terminal = asked_while_typing(&home, sentence);
        terminal.screen(&format!("❯ {sentence}"));
        terminal.see("\r", "sent; it is read at the next turn");
        assert_eq!(request(&home), r#""pending" null null"#);
        terminal.screen(ARMED);
        terminal.see(sentence, "Enter: no, and");
        terminal.see_at_rest("\r", "Denied by the user: ");
        assert!(request(&home).starts_with(r#""denied" "once""#));
        assert_eq!(settings(&home), before);
    }
}

#[test]
fn no_first_letter_grants_anything_soon_or_late() {
    for is_late in [false, true] {
        let home = Home::new();
        let model = home.near_model(
            r#"name = "ran"

[[turn]]
when = { tool_results = 0 }
tool_calls = [{ name = "Bash", input = { command = "echo hi > ran; exec false" } }]

[[turn]]
text = "It said: {{tool_result.last}}"
"#,
        );
        home.write("config.toml", &format!("model = \"{model}\"\n"));
        let before = settings(&home);
        let mut terminal = asked(&home);
        if is_late {
            terminal.screen(ARMED);
        }
        let sentence = |first: char| format!("{first}es, but");
        let typed_and_deleted = |first| {
            let sentence = sentence(first);
            let delete = "\u{7f}".repeat(sentence.len());
            sentence + &delete
        };
        terminal.type_in(&('a'..='z').map(typed_and_deleted).collect::<String>());
        // The last one is there once all before were taken.
        let last = sentence('y') + " why?";
        terminal.type_in(&last);
        terminal.screen(&format!("❯ {last}"));
        terminal.type_in("\r");
        terminal.screen_where("the words are sent, or mean no", |screen| {
            screen.contains("sent; it is read at the next turn") || screen.contains("It said: ")
        });
        let state = request(&home);
        assert!(!state.contains("allowed"), "{state}, late: {is_late}");
        terminal.kill();
        assert!(!home.work().join("ran").exists(), "it ran, late: {is_late}");
        assert_eq!(settings(&home), before);
    }
}

#[test]
fn a_long_file_is_opened_and_read_to_its_end_before_it_is_allowed() {
    let home = long_file();
    let mut terminal = Terminal::start(&home, &[]);
    terminal.screen("Say what is to be done.");
    terminal.see("go\r", "Ctrl+O shows all of it");
    terminal.screen(ARMED);
    // Enter means yes, and shows what was not seen first.
    let screen = terminal.see("\r", "a new file of 200 lines");
    assert!(screen.contains("  1 + line 1"), "{screen}");
    terminal.see(&"\u{1b}[6~".repeat(4), " 90 + line 90");
    terminal.see("\u{1b}[F", "200 + line 200");
    terminal.see("q", ARMED);
    terminal.see_at_rest("\r", "It said: created");
}
