//! The tree of all agents, driven through the real binary.

use crate::pty::Terminal;
use crate::support::Home;
use crate::talk::home;

/// A terminal with a talk, and below it a fork at work and one that has nothing to do; the tree is open.
fn open(home: &Home) -> Terminal {
    let mut terminal = Terminal::start(home, &[]);
    terminal.screen("Say what is to be done.");
    terminal.type_in("hello\r");
    terminal.at_rest("You said: hello");
    for (typed, said) in [
        ("/rename talk\r", "── talk"),
        ("/fork --bg --name still\r", "1 fork"),
        ("/fork \"stall\" --bg --name slow\r", "slow: "),
    ] {
        terminal.type_in(typed);
        terminal.screen(said);
    }
    terminal.type_in("\u{14}");
    terminal.screen("3 agents, 1 running");
    terminal
}

#[test]
fn the_tree_shows_who_works_and_lets_one_look_rename_send_and_come_back() {
    let home = home();
    let mut terminal = open(&home);
    // The second of the forks, closely.
    terminal.type_in("cj ");
    let screen = terminal.screen("── slow");
    assert!(screen.contains("● running here"), "{screen}");
    assert!(screen.contains("stands talk › slow, forked at entry"), "{screen}");
    terminal.type_in("k");
    terminal.screen("it has said nothing of its own");
    // Another name, at the foot.
    terminal.type_in("r\u{15}quiet\r");
    terminal.screen("── quiet");
    // Words, and the answer is seen without going there.
    terminal.type_in("mhow are you?\r");
    let screen = terminal.screen("▌ You said: how are you?");
    assert!(screen.contains("Agents  3 agents"), "{screen}");
    // There, and back.
    terminal.type_in("\r");
    terminal.screen("── quiet · ↑ talk");
    terminal.screen("▌ how are you?");
    terminal.type_in("/back\r");
    terminal.screen("── talk");
    terminal.type_in("\u{14}/slow\r");
    terminal.screen("with `slow`: 1");
    terminal.type_in("s");
    terminal.screen("interrupted");
    terminal.type_in("q/quit\r");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn the_tree_says_what_changed_and_kills_after_a_question() {
    let home = home();
    let mut terminal = open(&home);
    terminal.type_in("cj");
    terminal.screen("▸  └─ slow");
    // A page lies over the tree, or a word stands below it; the tree is there again.
    terminal.type_in("D");
    terminal.screen("worktree");
    terminal.type_in("x");
    terminal.screen("kill slow? y/n");
    terminal.type_in("n");
    terminal.screen("nobody was killed");
    terminal.type_in("xy");
    terminal.screen("3 agents, 0 running, 1 dead");
    terminal.type_in("d");
    terminal.screen("† dead");
    // A change of another process is seen.
    home.ran(&["rename", "still", "moved"]);
    terminal.screen("moved");
    terminal.type_in("q/quit\r");
    assert_eq!(terminal.end().0, 0);
}
