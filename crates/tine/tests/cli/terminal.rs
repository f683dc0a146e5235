//! What only a terminal shows: words as they come, questions, Ctrl-C, the live block of a fan.

use crate::pty::{Terminal, plain};
use crate::run::SCENARIO;
use crate::support::Home;

/// The end of what stands before the answer to a question.
const PROMPT: &str = "or what to do instead: ";

/// The text before the second step of an answer.
const SECOND_PROMPT: &str = "A number adds this rule";

#[test]
fn words_appear_between_the_lines_of_the_calls() {
    let home = Home::new();
    let model = home.model(SCENARIO);
    let (code, text) = Terminal::start(&home, &["run", "-m", &model, "look around"]).end();
    assert_eq!(code, 0);
    shape!(home.masked(&plain(&text)), @"
    agent [AGENT8] · sim/[HOME]/case.toml
    ∴ I should look first.
    I look.

    ● Glob *.txt in .
      ⎿ no file in `.` matches

    I have looked.

    That is all.

    completed · 2 turns · 1 tool call · $0 at anthropic/claude-opus-5-5 prices
    0 read, 0 written, 0 uncached, 0 output · go on: tine run --resume [AGENT8]
    ");
}

#[test]
fn a_question_is_answered_from_the_keyboard() {
    let home = Home::new();
    let model = home.model(SCENARIO);
    let mut terminal = Terminal::start(&home, &["run", "-m", &model, "the command"]);
    terminal.until(PROMPT, 1);
    terminal.type_in("a\n");
    terminal.until(PROMPT, 2);
    terminal.type_in("y\n");
    let (code, text) = terminal.end();
    assert_eq!(code, 0, "{text}");
    shape!(home.masked(&plain(&text)), @"
    agent [AGENT8] · sim/[HOME]/case.toml
    ● Bash echo hi; exec false

    ? [AGENT8] wants to use Bash
      echo hi; exec false
      in [HOME]/work:
      no rule allows this command, and it may do more than read: `exec` at column
      10: not on the list of commands that only read
      1 yes, once
      2 yes, and from now on `Bash(echo hi; exec false)`
      3 no
    Allow it? [y] once, [N] no, a number, [v] all of it, or what to do instead: a
    `a` is no answer
    Allow it? [y] once, [N] no, a number, [v] all of it, or what to do instead: y
      ⎿ exit code 1: hi
    It said: hi
    [exit code 1]

    completed · 2 turns · 1 tool call · $0 at anthropic/claude-opus-5-5 prices
    0 read, 0 written, 0 uncached, 0 output · go on: tine run --resume [AGENT8]
    ");
}

/// A terminal that an agent's command has made for itself holds no person.
#[test]
fn nobody_is_asked_where_an_agents_command_runs() {
    let home = Home::new();
    let model = home.model(SCENARIO);
    let agent = [("TINE_AGENT", "00000000-0000-4000-8000-000000000000")];
    let arguments = ["run", "-m", &model, "the command"];
    let (code, text) = Terminal::start_with(&home, &arguments, &agent).end();
    assert_eq!(code, 56, "{text}");
    assert!(!text.contains(PROMPT), "{text}");
}

#[test]
fn words_at_a_question_deny_and_the_model_is_told() {
    let home = Home::new();
    let model = home.model(SCENARIO);
    let mut terminal = Terminal::start(&home, &["run", "-m", &model, "the command"]);
    terminal.until(PROMPT, 1);
    terminal.type_in("use make\n");
    let (code, text) = terminal.end();
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("It said: Denied by the user: use make."), "{text}");
}

#[test]
fn a_long_file_is_allowed_only_after_all_of_it_was_shown() {
    let home = Home::new();
    let content: String = (1..=60).map(|number| format!("line {number}\\n")).collect();
    let model = home.model(&format!(
        r#"name = "write"

[[turn]]
when = {{ tool_results = 0 }}
tool_calls = [{{ name = "FileWrite", input = {{ file_path = "src/a.rs", content = "{content}" }} }}]

[[turn]]
text = "done"
"#
    ));
    let mut terminal = Terminal::start(&home, &["run", "-m", &model, "go"]);
    terminal.until("… 20 more lines", 1);
    terminal.until(PROMPT, 1);
    terminal.type_in("y\n");
    terminal.until("there is more of it; read it, and answer again:", 1);
    terminal.until("a new file of 60 lines", 1);
    terminal.until("+ line 57", 1);
    terminal.until(PROMPT, 2);
    terminal.type_in("y\n");
    let (code, text) = terminal.end();
    assert_eq!(code, 0, "{text}");
    assert!(home.work().join("src/a.rs").exists());
}

#[test]
fn enter_alone_and_the_end_of_input_mean_no() {
    let home = Home::new();
    let model = home.model(SCENARIO);
    for key in ["\n", "\u{4}"] {
        let mut terminal = Terminal::start(&home, &["run", "-m", &model, "the command"]);
        terminal.until(PROMPT, 1);
        terminal.type_in(key);
        let (code, text) = terminal.end();
        assert_eq!(code, 0, "{text}");
        assert!(text.contains("It said: Denied by the user."), "{text}");
    }
}

#[test]
fn ctrl_c_keeps_what_came_and_says_how_to_go_on() {
    let home = Home::new();
    let model = home.model(SCENARIO);
    let mut terminal = Terminal::start(&home, &["run", "-m", &model, "stall"]);
    terminal.until("The first part", 1);
    terminal.type_in("\u{3}");
    let (code, text) = terminal.end();
    assert_eq!(code, 130);
    let text = plain(&text);
    let tail: Vec<&str> = text.lines().skip_while(|line| !line.contains("stopping")).collect();
    shape!(tail.join("\n"), @r#"
    stopping; Ctrl-C again quits at once
    aborted · 0 turns · $0 at anthropic/claude-opus-5-5 prices
    0 read, 0 written, 0 uncached, 0 output · go on: tine run --resume [AGENT8]
    error: interrupted
    hint: what came is kept; `tine run --resume [AGENT8] "go on"` goes on
    "#);
    let agent = &home.json(&["ps", "--json"])[0];
    assert_eq!(agent["state"], "interrupted");
    let shown = home.done(&["show", agent["id"].as_str().unwrap()]);
    assert!(shown.contains("The first part"), "{shown}");
}

#[test]
fn ctrl_c_ends_an_open_question() {
    let home = Home::new();
    let model = home.model(SCENARIO);
    let mut terminal = Terminal::start(&home, &["run", "-m", &model, "the command"]);
    terminal.until(PROMPT, 1);
    terminal.type_in("\u{3}");
    let (code, text) = terminal.end();
    assert_eq!(code, 130, "{text}");
}

#[test]
fn a_question_that_is_answered_elsewhere_goes_away() {
    let home = Home::new();
    let model = home.model(SCENARIO);
    let terminal = Terminal::start(&home, &["run", "-m", &model, "the command"]);
    terminal.until(PROMPT, 1);
    let asked = home.json(&["permission", "list", "--json"]);
    home.done(&["permission", "allow", asked[0]["id"].as_str().unwrap()]);
    let (code, text) = terminal.end();
    assert_eq!(code, 0, "{text}");
    let text = plain(&text);
    let tail: Vec<&str> = text.lines().skip_while(|line| !line.contains("Allow it?")).collect();
    shape!(tail[1..4].join("\n"), @"
    answered elsewhere: Bash: echo hi; exec false: allowed by tine permission
      ⎿ exit code 1: hi
    It said: hi
    ");
}

#[test]
fn always_writes_the_rule_that_was_shown() {
    let home = Home::new();
    let model = home.model(SCENARIO);
    let mut terminal = Terminal::start(&home, &["run", "-m", &model, "the command"]);
    terminal.until(PROMPT, 1);
    terminal.type_in("2\n");
    terminal.until("Allow `Bash(echo hi; exec false)` without a question:", 1);
    terminal.until(SECOND_PROMPT, 1);
    terminal.type_in("3\n");
    let (code, text) = terminal.end();
    assert_eq!(code, 0, "{text}");
    let kept = std::fs::read_to_string(home.path().join("config.toml")).unwrap();
    assert_eq!(kept, "[permissions]\nallow = [\"Bash(echo hi; exec false)\"]\n");
    let (code, text) = Terminal::start(&home, &["run", "-m", &model, "the command"]).end();
    assert!(code == 0 && !text.contains("Allow it?"), "{text}");
}

#[test]
fn a_fan_has_a_line_for_each_worker_and_asks_above_them() {
    let home = Home::new().without_nudges();
    let model = home.model(SCENARIO);
    home.import(&model, "base", 2);
    let fan = ["fan", "base", "-d", "look for it", "-d", "run the command", "--confine", "off"];
    let mut terminal = Terminal::start(&home, &fan);
    terminal.until(PROMPT, 1);
    terminal.type_in("2\n");
    terminal.until(SECOND_PROMPT, 1);
    terminal.type_in("1\n");
    let (code, text) = terminal.end();
    assert_eq!(code, 0, "{text}");
    let question = plain(&text);
    assert!(question.contains("? run the command ("), "{question}");
    let last = text.rsplit("\u{1b}[J").next().unwrap();
    // The columns are as wide as their figures, which depend on the length of the home's path.
    let last = plain(last).replace("WRITTEN    READ", "WRITTEN   READ");
    shape!(home.masked(&last), @"
    ✓ look for it      done in 0 s                           2 turns  0 tokens
    ✓ run the command  done in 0 s                           2 turns  0 tokens
    2 of 2 ended · cache: 0 written, 0 read · 0 uncached · 0 output

    1/2 look for it
    [AGENT8] · completed · 2 turns · 1 tool call · 0 s
    look at it: the report says no scope

    I have looked.

    That is all.

    2/2 run the command
    [AGENT8] · completed · 2 turns · 1 tool call · 0 s
    look at it: the report says no scope

    It said: hi
    [exit code 1]

    TOKENS       WRITTEN   READ  UNCACHED  OUTPUT
    first turns [TOKENS]
    all turns [TOKENS]
    $0 at anthropic/claude-opus-5-5 prices, 0% efficient
    each for itself $0 · one first $0 · all cached before $0
    best possible $0 · without a cache $0
    ");
    for line in plain(&text).lines() {
        assert!(line.chars().count() <= usize::from(crate::pty::COLUMNS), "{line}");
    }
}

#[test]
fn quiet_leaves_the_words_alone() {
    let home = Home::new();
    let model = home.model(SCENARIO);
    let (_, text) = Terminal::start(&home, &["run", "-q", "-m", &model, "hello"]).end();
    assert_eq!(text, "You said: hello\r\n");
}

#[test]
fn no_color_leaves_colours_out_and_keeps_the_block() {
    let home = Home::new();
    let model = home.model(SCENARIO);
    home.import(&model, "base", 2);
    let fan = ["fan", "base", "-d", "look for it", "-d", "hello"];
    let (code, text) = Terminal::start_with(&home, &fan, &[("NO_COLOR", "1")]).end();
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("\u{1b}[3A\r\u{1b}[J"), "{text:?}");
    let styles = text.split("\u{1b}[").skip(1).filter(|rest| {
        rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';').starts_with('m')
    });
    assert_eq!(styles.count(), 0, "{text:?}");
}

#[test]
fn conclusions_are_edited_before_they_are_brought_back() {
    let home = Home::new();
    let model = home.model(SCENARIO);
    home.done(&["run", "--name", "base", "--model", &model, "hello"]);
    home.done(&["fork", "base", "--name", "plan-b", "hello again"]);
    // The first variable that is set counts.
    let variables = [("VISUAL", "sed -i 1s/^.*/Mine./"), ("EDITOR", "false")];
    let (code, text) = Terminal::start_with(&home, &["merge-back", "plan-b"], &variables).end();
    assert_eq!(code, 0, "{text}");
    assert!(plain(&text).contains("brought "), "{text}");
    assert!(home.done(&["show", "base"]).contains("Mine."));
    home.done(&["run", "--resume", "plan-b", "more"]);
    // Without one, nothing is appended that nobody has seen.
    let (code, text) = Terminal::start(&home, &["merge-back", "plan-b"]).end();
    assert!(code == 42 && plain(&text).contains("no editor is set"), "{text}");
    let as_it_is = ["merge-back", "plan-b", "--no-edit"];
    let (code, text) = Terminal::start(&home, &as_it_is).end();
    assert_eq!(code, 0, "{text}");
}

#[test]
fn an_evaluation_says_how_far_it_is_and_ends_with_its_table() {
    let home = Home::new();
    let model = home.model(SCENARIO);
    let suite = "[[case]]\nname = \"speaks\"\nprompt = \"hello\"\nrepeat = 2\n";
    let suite = home.write("suite.toml", suite);
    let eval = ["eval", suite.to_str().unwrap(), "-m", &model];
    let (code, text) = Terminal::start(&home, &eval).end();
    assert_eq!(code, 0, "{text}");
    for line in ["the first runs are under way", "1 of 2 runs; speaks passed", "2 of 2 runs"] {
        assert!(plain(&text).contains(line), "{text}");
    }
    let last = plain(text.rsplit("\u{1b}[J").next().unwrap());
    assert!(last.starts_with("suite with sim/") && last.contains("2 of 2 runs passed"), "{last}");
}

#[test]
fn ctrl_c_stops_an_evaluation_and_leaves_nothing() {
    let home = Home::new();
    let model = home.model("name = \"slow\"\nfirst_byte_ms = 3600000\n[[turn]]\ntext = \"late\"\n");
    let suite = home.write("suite.toml", "[[case]]\nname = \"a\"\nprompt = \"go\"\nrepeat = 2\n");
    let temporary = home.path().join("tmp");
    std::fs::create_dir(&temporary).unwrap();
    let variables = [("TMPDIR", temporary.to_str().unwrap())];
    let eval = ["eval", suite.to_str().unwrap(), "-m", &model, "-j", "1"];
    let mut terminal = Terminal::start_with(&home, &eval, &variables);
    terminal.until("under way", 1);
    terminal.type_in("\u{3}");
    let (code, text) = terminal.end();
    assert_eq!(code, 130, "{text}");
    assert!(plain(&text).contains("0 of 2 runs passed"), "{text}");
    assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0);
}

#[test]
fn a_line_shows_a_difference_and_one_takes_the_work() {
    let home = crate::pick::home();
    let mut terminal = Terminal::start(&home, &crate::pick::TASK);
    let question = "Enter for none: ";
    terminal.until(question, 1);
    terminal.type_in("d1\r");
    terminal.until("diff --git a/count.txt b/count.txt", 1);
    terminal.until(question, 2);
    terminal.type_in("q\r");
    terminal.until("`q` is no answer", 1);
    terminal.until(question, 3);
    terminal.type_in("2\r");
    let (code, text) = terminal.end();
    assert_eq!(code, 0, "{text}");
    assert!(plain(&text).contains("applied 1 file of"), "{text}");
    assert!(home.work().join("count.txt").exists());

    let home = crate::pick::home();
    let mut terminal = Terminal::start(&home, &crate::pick::TASK);
    terminal.until(question, 1);
    terminal.type_in("\r");
    let (code, text) = terminal.end();
    assert_eq!(code, 0, "{text}");
    assert!(plain(&text).contains("nothing was taken; the best is"), "{text}");
    assert!(!home.work().join("count.txt").exists());
}

#[test]
fn ctrl_c_at_the_question_of_a_pick_takes_nothing() {
    let home = crate::pick::home();
    let mut terminal = Terminal::start(&home, &crate::pick::TASK);
    terminal.until("Enter for none: ", 1);
    terminal.type_in("\u{3}");
    let (code, text) = terminal.end();
    assert_eq!(code, 130, "{text}");
    assert!(plain(&text).contains("error: interrupted; nothing was taken"), "{text}");
    assert!(!home.work().join("count.txt").exists());
}

#[test]
fn a_person_is_asked_before_agents_end_for_good() {
    let home = crate::pick::home();
    let mut terminal = Terminal::start(&home, &["kill", "--root", "base"]);
    terminal.until("This ends 1 agent for good. Go on? [y/N]: ", 1);
    terminal.type_in("n\r");
    let (code, text) = terminal.end();
    assert_eq!(code, 42, "{text}");
    assert!(plain(&text).contains("nobody was killed: you did not agree"), "{text}");
    let terminal = Terminal::start(&home, &["kill", "--root", "--yes", "base"]);
    assert_eq!(terminal.end().0, 0);
    assert_eq!(home.json(&["ps", "--json"]).as_array().unwrap().len(), 0);
}
