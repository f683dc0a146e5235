//! Every way in which a line of the terminal can be wrong, or a run can end as it should not: what the screen says of it.

use crate::pty::Terminal;
use crate::support::Home;
use crate::talk::home;

/// What is typed, and what the screen holds after it.
type Step = (&'static str, &'static str);

/// Takes the line back.
const CLEAR: &str = "\u{3}";

/// Before anything was said.
const AT_FIRST: &[Step] = &[
    ("/fork\r", "Error: there is no agent yet; say something first"),
    ("/side why?\r", "Error: there is no agent yet; say something first"),
    ("/show\r", "Error: there is no agent yet; say something first"),
    ("/model x y\r", "Error: usage: /model [NAME]"),
    ("/model acme/x\r", "Error: Unknown model 'acme/x'"),
    ("/send\r", "Error: usage: /send AGENT TEXT"),
    ("/xyzzy\r", "there is no command /xyzzy; /help lists all"),
    // The line stays, to be mended.
    (CLEAR, "❯\n"),
    ("/frok\r", "there is no command /frok; did you mean /fork?"),
];

/// Of the fork. A line that is refused comes back, and is taken away before the next.
const FORKING: &[Step] = &[
    ("/fork 'try it'\r", "Error: Prompt must be quoted (usage: /fork \"prompt\")"),
    ("\u{3}/fork \"try it\r", "Error: Unterminated quoted string"),
    ("\u{3}/fork \"a\" b\r", "Error: Unexpected text after the prompt: b"),
    ("\u{3}/fork --sideways\r", "Error: Unknown flag --sideways"),
    ("\u{3}/fork --at\r", "Error: --at requires an argument"),
    ("\u{3}/fork --at x\r", "Error: --at takes the number of an entry, not x"),
    ("\u{3}/fork --at 4711\r", "has no entry 4711"),
    ("\u{3}/fork --worktree\r", "is in no git repository"),
    ("\u{3}/fork --model sim/echo\r", "--accept-cache-loss"),
];

/// Of what is said of an agent.
const OF_AGENTS: &[Step] = &[
    ("/send base\r", "Error: usage: /send AGENT TEXT"),
    ("/send nobody hello\r", "hint: `/tree` lists all agents"),
    ("/rename\r", "Error: usage: /rename NAME"),
    ("/kill\r", "Error: Cannot kill root agent"),
    ("/kill nobody\r", "Error: Agent not found: nobody"),
    ("/stop whoever\r", "Error: Agent not found: whoever"),
    ("/stop\r", "it does not run"),
    ("/resume noone\r", "Error: Agent not found: noone"),
    ("/hide nemo\r", "Error: Agent not found: nemo"),
    ("/wait outis\r", "Error: Agent not found: outis"),
    ("/wait\r", "Error: nobody below this agent has anything to do"),
    ("/wait 99999999999999999999\r", "Error: nobody waits that long"),
    ("/parent\r", "this agent has no parent"),
    ("/child\r", "nothing was forked from this agent"),
    ("\u{1b}[1;3A", "this agent has no siblings"),
];

/// Of the conversation.
const OF_TALK: &[Step] = &[
    ("/rewind there\r", "Mark not found: there"),
    ("/side\r", "Error: usage: /side QUESTION"),
    ("/show 99\r", "Error: nothing has this number; calls and reasoning have one each"),
    ("/show x\r", "Error: usage: /show [NUMBER]"),
    ("/compact a b\r", "Error: usage: /compact [--keep-tokens N]"),
    ("/compact --keep-tokens x\r", "Error: --keep-tokens takes a whole number"),
    ("/model a/b/c/d\r", "Error: Unknown model 'a/b/c/d'"),
    ("/cost 'half\r", "Error: Unterminated quoted string"),
    ("/cost whom\r", "error: no agent `whom`"),
    ("/diff\r", "has no worktree of its own"),
    ("/merge-back 'half\r", "Error: Unterminated quoted string"),
    ("/answer\r", "nobody asks anything"),
    ("key\r", "bad key"),
    ("cut\r", "The reply was cut at its longest. Say `go on`, and it does."),
    ("refuse\r", "The model refused. /rewind takes the last words back."),
    ("/clear\r", "The conversation starts anew"),
    ("/rewind\r", "error: there is nothing to go back to"),
];

/// While the agent runs.
const MEANWHILE: &[Step] = &[
    ("stall\r", "The first part."),
    ("/rewind\r", "Error: the agent runs; Esc interrupts it first"),
    ("/resume\r", "Error: the agent runs"),
    ("/fork --bg\r", "The fork begins before the reply that comes in now"),
    ("\u{1b}", "Interrupted. What was done is kept; say what comes next."),
    ("!sleep 60\r", "! sleep 60"),
    ("!echo\r", "a command runs already; Esc stops it"),
];

/// Makes the mistakes in a terminal, after an agent has said something.
fn make(mistakes: &[Step], begins: bool) -> Home {
    let home = home();
    let mut terminal = Terminal::start(&home, &[]);
    terminal.screen("Say what is to be done.");
    if begins {
        terminal.see_at_rest("hello\r", "You said: hello");
        terminal.see("/rename base\r", "── base");
    }
    for (typed, said) in mistakes {
        terminal.see(typed, said);
    }
    terminal.kill();
    home
}

#[test]
fn before_there_is_an_agent() {
    let home = make(AT_FIRST, false);
    assert_eq!(home.json(&["ps", "--json"]).as_array().unwrap().len(), 0);
}

#[test]
fn a_fork_that_cannot_be_made_leaves_no_agent() {
    let home = make(FORKING, true);
    assert_eq!(home.json(&["ps", "--json"]).as_array().unwrap().len(), 1);
}

#[test]
fn nobody_is_taken_for_somebody() {
    make(OF_AGENTS, true);
}

#[test]
fn what_is_wrong_with_a_line_is_said() {
    make(OF_TALK, true);
}

#[test]
fn what_cannot_be_done_while_an_agent_runs() {
    make(MEANWHILE, true);
}

#[test]
fn words_that_no_run_could_take_come_back_into_the_line() {
    let home = home();
    home.import("anthropic/x", "base", 2);
    let mut terminal = Terminal::start(&home, &["-r", "base"]);
    terminal.screen("message 1");
    terminal.type_in("a long thought\r");
    terminal.screen("no API key");
    terminal.screen("❯ a long thought");
    terminal.kill();
    let shown = home.done(&["show", "base"]);
    assert!(!shown.contains("a long thought"), "{shown}");
}
