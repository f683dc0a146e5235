//! Trust in the terminal: one line at the start, and a way to give it.

use super::home;
use crate::pty::Terminal;
use crate::support::Ran;

#[test]
fn the_terminal_says_what_does_not_count_and_lends_itself_to_trust() {
    let home = home();
    home.write("work/.tine/config.toml", "model = \"sim/echo@openai\"\n");
    let mut terminal = Terminal::start(&home, &[]);
    terminal.screen("brings along do not");
    terminal.type_in("/trust\r");
    terminal.until("Type yes or no", 1);
    // No single key grants.
    terminal.see("t\r", "is not trusted");
    terminal.see_at_rest("\r", "brings along do not");
    terminal.type_in("/trust\r");
    // The first question is on the screen again before the second is put, and what is typed before that answers nothing.
    terminal.until("Type yes or no", 2);
    terminal.see("yes\r", "is trusted: 1 file");
    terminal.see_at_rest("\r", "brings along do not");
    terminal.type_in("/quit\r");
    assert_eq!(terminal.end().0, 0);

    let mut terminal = Terminal::start(&home, &[]);
    let screen = terminal.screen("sim/echo@openai");
    assert!(!screen.contains("do not count"), "{screen}");
    terminal.type_in("/quit\r");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn lines_say_what_does_not_count_and_take_a_whole_order() {
    let home = home();
    home.write("work/.tine/config.toml", "model = \"sim/echo@openai\"\n");
    let told = |typed: &str| {
        let ran = Ran::of(home.tine(&["--plain"]).write_stdin(typed));
        home.shown(&ran)
    };
    check!(told("/trust\n/trust --yes\n"), @r#"
    code: 0
    --- stdout
    [no agent yet · sim/echo]
    Say what is to be done; /help lists all commands.
    the settings that [HOME]/work brings along do not count until you trust them; `/trust` shows them
    `/trust` asks at a terminal of its own; here say it all (--no-edit, --text, --take, --yes)
    tine trust --yes
    [HOME]/work brings along:
    .tine/config.toml
        model = "sim/echo@openai"
    [HOME]/work is trusted: 1 file
    --- stderr
    "#);
    assert!(!told("hello\n").contains("do not count"));
}
