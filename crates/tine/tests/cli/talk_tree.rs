//! The tree of all agents, driven through the real binary.

use crate::pty::Terminal;
use crate::support::Home;
use crate::talk::home;

/// A terminal with a talk, and below it a fork at work and one that has nothing to do; the tree is open.
fn open(home: &Home) -> Terminal {
    let mut terminal = Terminal::start(home, &[]);
    terminal.screen("Say what is to be done.");
    terminal.see_at_rest("hello\r", "You said: hello");
    for (typed, said) in [
        ("/rename talk\r", "── talk"),
        ("/fork --bg --name still\r", "1 fork"),
        ("/fork \"stall\" --bg --name slow\r", "slow: "),
    ] {
        terminal.see(typed, said);
    }
    terminal.see("\u{14}", "3 agents, 1 running");
    terminal
}

#[test]
fn the_tree_shows_who_works_and_lets_one_look_rename_send_and_come_back() {
    let home = home();
    let mut terminal = open(&home);
    // The second of the forks, closely.
    let screen = terminal.see("cj ", "── slow");
    assert!(screen.contains("● running here"), "{screen}");
    assert!(screen.contains("stands talk › slow, forked at entry"), "{screen}");
    terminal.see("k", "it has said nothing of its own");
    // Another name, at the foot.
    terminal.see("r\u{15}quiet\r", "── quiet");
    // Words, and the answer is seen without going there.
    let screen = terminal.see("mhow are you?\r", "▌ You said: how are you?");
    assert!(screen.contains("Agents  3 agents"), "{screen}");
    // There, and back.
    terminal.see("\r", "── quiet · ↑ talk");
    terminal.screen("▌ how are you?");
    terminal.see("/back\r", "── talk");
    terminal.see("\u{14}/slow\r", "with `slow`: 1");
    terminal.see("s", "interrupted");
    terminal.type_in("q/quit\r");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn the_tree_says_what_changed_and_kills_after_a_question() {
    let home = home();
    let mut terminal = open(&home);
    terminal.see("cj", "▸  └─ slow");
    // A page lies over the tree, or a word stands below it; the tree is there again.
    terminal.see("D", "worktree");
    terminal.see("x", "kill slow? y/n");
    terminal.see("n", "nobody was killed");
    terminal.see("xy", "3 agents, 0 running, 1 dead");
    terminal.see("d", "† dead");
    // A change of another process is seen.
    home.ran(&["rename", "still", "moved"]);
    terminal.screen("moved");
    terminal.type_in("q/quit\r");
    assert_eq!(terminal.end().0, 0);
}
