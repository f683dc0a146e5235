//! What was sent in the terminal, in the next one.

use crate::pty::Terminal;
use crate::talk;

#[test]
fn what_was_sent_is_recalled_and_found_after_a_restart() {
    let home = talk::home();
    let mut terminal = Terminal::start(&home, &[]);
    terminal.screen("Say what is to be done.");
    terminal.see_at_rest("hello\r", "You said: hello");
    terminal.type_in("/quit\r");
    assert_eq!(terminal.end().0, 0);

    let mut terminal = Terminal::start(&home, &[]);
    terminal.screen("Say what is to be done.");
    // The last one is the command that left.
    terminal.see("\u{1b}[A", "❯ /quit");
    terminal.see("\u{1b}[A", "❯ hello");
    terminal.type_in("\u{15}");
    terminal.screen_where("an empty line", |screen| !screen.contains("❯ hello"));
    terminal.see("\u{12}hel", "(search) `hel`");
    terminal.screen("❯ hello");
    terminal.see_at_rest("\r\u{5}!\r", "You said: hello!");
    terminal.type_in("/quit\r");
    assert_eq!(terminal.end().0, 0);
}
