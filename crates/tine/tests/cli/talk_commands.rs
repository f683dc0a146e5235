//! Every command of the terminal, driven through the real binary: what is typed, and what the screen says then.

use crate::merge_back::editor;
use crate::pty::Terminal;
use crate::support::{Home, Ran};
use crate::worktree::git;

/// A line, and what the screen holds after it.
type Step = (&'static str, &'static str);

const SCENARIO: &str = r##"
name = "commands"

[[turn]]
when = { user_contains = "What you answer now is appended" }
text = "A queue is faster."

[[turn]]
when = { user_contains = "WRITE", tool_results = 0 }
tool_calls = [{ name = "FileWrite", input = { file_path = "made.txt", content = "made\n" } }]

[[turn]]
when = { user_contains = "WRITE" }
text = "It is written."

[[turn]]
when = { user_contains = "COUNT", tool_results = 0 }
tool_calls = [{ name = "Bash", input = { command = "echo 1 > count.txt" } }]

[[turn]]
when = { user_contains = "COUNT" }
text = "Scope: to count\nResult: counted"

[[turn]]
when = { user_contains = "stall" }
text = "The first part. The rest never comes, because the connection stalls here and says nothing."
fault = { stall_after_events = 4 }

[[turn]]
text = "You said: {{user}}"
"##;

/// What the screen holds while an agent runs.
const RUNS: &str = "The first part.";

/// Ends the output of a command that had the terminal for itself.
const GOES_BACK: &str = "Enter goes back to the conversation";

/// Closes a page.
const CLOSE: Step = ("\u{1b}", "❯");

/// What one asks and changes where one is.
const HERE: &[Step] = &[
    ("/help\r", "Commands"),
    CLOSE,
    ("/?\r", "Commands"),
    CLOSE,
    ("/permissions\r", "mode default"),
    CLOSE,
    ("/questions\r", "no agent asks for permission"),
    CLOSE,
    ("/mode plan\r", "plan (read-only): agents read and change nothing"),
    ("/mode bypass\r", "bypass is asked for at the start"),
    ("/mode acceptEdits\r", "accept-edits: agents edit files"),
    ("/doctor\r", "no agent is held by a dead process"),
    CLOSE,
    ("/answer\r", "nobody asks anything"),
    ("/model\r", "a tour with the simulator"),
    ("WRITE it\r", "It is written."),
    ("/show\r", "Arguments:"),
    CLOSE,
    ("/show 1\r", "Arguments:"),
    CLOSE,
    ("/mark here\r", "Mark: here"),
    ("and then?\r", "You said: and then?"),
    ("/rewind here\r", "Rewound to here"),
    ("/rename base\r", "── base"),
    ("/cost\r", "tine cost"),
    CLOSE,
    ("/usage\r", "REQUESTS"),
    CLOSE,
    ("/cache\r", "tine cache explain"),
    CLOSE,
    ("/budget --usd 5\r", "tine budget"),
    CLOSE,
    ("/log\r", "tine logs"),
    CLOSE,
    ("/info\r", "tine show"),
    CLOSE,
    ("/tasks\r", "no tasks"),
    CLOSE,
    ("/export talk.json\r", "Done: tine export"),
    ("/compact\r", "nothing that could be left out"),
    ("/compact --keep-tokens 1\r", "Compacted: what stands above is summed up"),
    ("/clear\r", "The conversation starts anew"),
];

/// What one does with a fork in a worktree of its own.
const FORKED: &[Step] = &[
    ("hello\r", "You said: hello"),
    ("/rename base\r", "── base"),
    ("/fork \"WRITE it\" --worktree --name wt\r", "It is written."),
    ("/diff\r", "+made"),
    CLOSE,
    ("/diff --stat wt\r", "1 insertion(+)"),
    CLOSE,
    ("/worktrees\r", "1 file changed"),
    CLOSE,
    ("/merge\r", "error: the work has no commits"),
    ("/apply --dry-run\r", "would apply 1 file"),
    CLOSE,
    ("/apply\r", "applied 1 file"),
    CLOSE,
    ("/apply --undo wt\r", "tine apply --undo"),
    CLOSE,
    ("/drop\r", "removed"),
    CLOSE,
    ("/recover\r", "worktrees/work-"),
    CLOSE,
];

/// What one does with several agents.
const SEVERAL: &[Step] = &[
    ("hello\r", "You said: hello"),
    ("/rename base\r", "── base"),
    ("/fork \"try it\" --name other\r", "You said: try it"),
    ("/parent\r", "── base"),
    ("/child\r", "── other"),
    ("/back\r", "── base"),
    ("/send other \"think of tests\"\r", "Sent to "),
    ("/resume other\r", "── other"),
    ("/tree\r", "2 agents"),
    CLOSE,
    ("/agents\r", "2 agents"),
    CLOSE,
    ("/side why?\r", "f makes a fork that"),
    CLOSE,
    ("/btw why?\r", "f makes a fork that"),
    CLOSE,
    ("stall\r", RUNS),
    ("/stop\r", "Interrupted. What was done is kept"),
    ("/resume\r", "You said: Go on from where you were interrupted."),
    ("/resume\r", "this directory first"),
    CLOSE,
    ("/wait 0 base\r", "base: "),
    ("/kill\r", "? y/n"),
    ("y", "terminated"),
    ("/hide\r", "Hid 1 agent"),
    ("/fan -d \"try it\"\r", "</task-notification>"),
    ("/task list\r", "1 completed"),
    CLOSE,
    ("/new\r", "Say what is to be done."),
];

/// What has the terminal meanwhile.
const LENT: &[Step] = &[
    ("hello\r", "You said: hello"),
    ("/fork \"try it\"\r", "You said: try it"),
    ("/merge-back\r", GOES_BACK),
    ("\r", "You said: try it"),
    ("/trust\r", GOES_BACK),
    ("\r", "You said: try it"),
    ("/pick -d \"COUNT to one\" -n 2 --take best\r", GOES_BACK),
    ("\r", "You said: try it"),
];

/// The words that leave.
const LEAVING: [&str; 3] = ["/quit\r", "/exit\r", "/q\r"];

/// A home in a repository, whose agents may write.
fn home() -> Home {
    let home = Home::new();
    let model = home.near_model(SCENARIO);
    let allowed = "[permissions]\nallow = [\"FileWrite\", \"Bash\"]\n";
    home.write("config.toml", &format!("model = \"{model}\"\n{allowed}"));
    git(&home.work(), &["init", "-q", "-b", "main"]);
    git(&home.work(), &["config", "user.name", "Ann"]);
    git(&home.work(), &["config", "user.email", "ann@example.org"]);
    home.write("work/a.txt", "one\n");
    git(&home.work(), &["add", "-A"]);
    git(&home.work(), &["commit", "-qm", "First"]);
    home
}

fn go(steps: &[Step], leave: &str) {
    let home = home();
    let editor = editor(&home, "printf 'It works.\\n' > \"$2\"");
    let mut terminal = Terminal::start_with(&home, &[], &[("EDITOR", &editor)]);
    terminal.screen("Say what is to be done.");
    let mut lent = 0;
    for (typed, said) in steps {
        match *said {
            RUNS => drop(terminal.see(typed, said)),
            // The screen below shows what the last command said, and must not be taken for this one's word.
            GOES_BACK => {
                lent += 1;
                terminal.type_in(typed);
                terminal.until(said, lent);
            }
            said => drop(terminal.see_at_rest(typed, said)),
        }
    }
    terminal.type_in(leave);
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn commands_ask_and_change_where_one_is() {
    go(HERE, LEAVING[0]);
}

#[test]
fn commands_bring_the_work_of_a_fork_home() {
    go(FORKED, LEAVING[1]);
}

#[test]
fn commands_go_from_agent_to_agent() {
    go(SEVERAL, LEAVING[2]);
}

#[test]
fn commands_that_ask_have_the_terminal_meanwhile() {
    go(LENT, LEAVING[0]);
}

#[test]
fn the_last_conversation_is_the_one_that_was_left_also_in_a_worktree() {
    let home = home();
    let mut terminal = Terminal::start(&home, &[]);
    terminal.screen("Say what is to be done.");
    terminal.see_at_rest("hello\r", "You said: hello");
    terminal.see_at_rest("/fork \"WRITE it\" --worktree --name wt\r", "It is written.");
    terminal.type_in("/quit\r");
    assert_eq!(terminal.end().0, 0);
    let mut terminal = Terminal::start(&home, &["-c"]);
    terminal.screen("── wt");
    terminal.type_in("/quit\r");
    assert_eq!(terminal.end().0, 0);
    // A script goes on where it works.
    let ran = home.json(&["run", "-c", "--json", "hello"]);
    let agents = home.json(&["ps", "--json"]);
    let mut agents = agents.as_array().unwrap().iter();
    let wt = agents.find(|agent| agent["name"] == "wt").unwrap();
    assert_ne!(ran["agent"], wt["id"]);
}

#[test]
fn no_command_is_left_out_here() {
    let home = home();
    let help = Ran::of(home.tine(&["--plain"]).write_stdin("/help\n")).stdout;
    let names = help.lines().filter_map(|line| line.strip_prefix("  /")).flat_map(|line| {
        let names = line.split([',', ' ', ':']).filter_map(|word| word.strip_prefix('/'));
        let first = line.split([',', ' ', ':']).next().into_iter();
        first.chain(names).map(str::to_owned).collect::<Vec<_>>()
    });
    let steps = [HERE, FORKED, SEVERAL, LENT].concat();
    let typed = steps.iter().map(|(typed, _)| *typed).chain(LEAVING);
    let typed: Vec<&str> = typed.filter_map(|line| line.split_whitespace().next()).collect();
    let names: Vec<String> = names.map(|name| format!("/{name}")).collect();
    assert!(names.len() > 40, "{help}");
    let left_out: Vec<_> = names.iter().filter(|name| !typed.contains(&name.as_str())).collect();
    assert!(left_out.is_empty(), "{left_out:?}");
}
