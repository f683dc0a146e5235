//! The session that is recorded: what is typed, what is waited for, and what the pictures are called. Where the screen's words change,
//! this is the one file to change.

/// One step of the session.
pub(crate) enum Step {
    /// Types a text, letter by letter.
    Type(&'static str),
    /// Presses a key that leaves no letter: what the terminal sends for it.
    Press(&'static str),
    /// Waits until the screen holds a text.
    See(&'static str),
    /// Waits until it does not any more.
    Gone(&'static str),
    /// Waits until the screen holds a text and no agent runs.
    Rest(&'static str),
    /// Keeps a picture of the screen as it is: its title and what is to be seen.
    Picture(&'static str, &'static str),
}

use Step::{Gone, Picture, Press, Rest, See, Type};

/// The title of the recording.
pub(crate) const TITLE: &str = "tine: a conversation, a fork, a question and the way back";

/// The file that the session is about.
pub(crate) const FILE: (&str, &str) = (
    "fetch.py",
    "import time\n\ndef fetch(get, url):\n    for attempt in range(3):\n        try:\n            return get(url)\n        \
     except OSError:\n            time.sleep(1)\n",
);

/// What the simulator answers in the place of a model.
pub(crate) const SCENARIO: &str = r#"
name = "story"
description = "Looks at a function that gives up too quietly."
tokens_per_second = 60

[[turn]]
when = { user_contains = "give up", tool_results = 0 }
thinking = "I should read it before I say anything."
text = "I read it first."
tool_calls = [{ name = "FileRead", input = { file_path = "fetch.py" } }]

[[turn]]
when = { user_contains = "give up" }
text = """`fetch` tries **three times** and then falls out of its loop:

1. the last error is lost, so callers get *None*,
2. it sleeps once more after the last attempt,
3. the pause never grows.

There are two ways out: raise the last error, or return what went wrong. Try one in a fork: this conversation stays as it is."""

[[turn]]
when = { user_contains = "Raise it", tool_results = 0 }
text = "I know the function from before the fork; I look whether it is still the same."
tool_calls = [{ name = "FileRead", input = { file_path = "fetch.py" } }]

[[turn]]
when = { user_contains = "Raise it", tool_results = 1 }
text = "Three lines are enough:"
tool_calls = [{ name = "FileEdit", input = { file_path = "fetch.py", old_string = "            time.sleep(1)\n", new_string = "            if attempt == 2:\n                raise\n            time.sleep(2 ** attempt)\n" } }]

[[turn]]
when = { user_contains = "Raise it" }
text = "Callers see the error now, and the pause grows."
"#;

const ENTER: &str = "\r";
const ESCAPE: &str = "\u{1b}";
const CTRL_C: &str = "\u{3}";
const CTRL_O: &str = "\u{f}";
const CTRL_P: &str = "\u{10}";
const CTRL_T: &str = "\u{14}";

/// The session.
pub(crate) const STEPS: &[Step] = &[
    See("Say what is to be done."),
    Picture("The beginning", "An empty conversation. Whoever types here speaks to an agent."),
    Type("Why does fetch give up without a word?"),
    Press(ENTER),
    See("I should read it"),
    See("three times"),
    See("once more after"),
    Rest("stays as it is."),
    Picture(
        "A reply",
        "The reply came in word by word, as Markdown. The call before it is one line, and so is what it brought; the reasoning stands above.",
    ),
    Type("/fork \"Raise it.\""),
    Press(ENTER),
    See("I know the function"),
    // Words from before the question are a prompt. Ctrl+P keeps them for later.
    Type("And a test?"),
    See("wants to use"),
    See("keeps it and answers"),
    Press(CTRL_P),
    See("Enter confirms"),
    Picture(
        "A question",
        "`/fork` made a child that knows the whole conversation, and went there. The child wants to change a file, which nobody has allowed: it asks. Letters go to the line; Enter on an empty line confirms the marked choice. Ctrl+P has set the begun line aside, and it comes back.",
    ),
    Press(ENTER),
    Rest("the pause grows."),
    Picture("What has changed", "The call is one line; behind it stands how much was changed."),
    Press(CTRL_C),
    Press(CTRL_O),
    See("2 ** attempt"),
    Picture("The change", "Ctrl+O opens calls and reasoning: the change, line by line."),
    Press(CTRL_O),
    Gone("2 ** attempt"),
    Press(CTRL_T),
    See("2 agents"),
    Picture("The tree", "All agents. Enter goes to the one that is marked."),
    Press(ESCAPE),
    Gone("2 agents"),
    Type("/parent"),
    Press(ENTER),
    See("1 fork"),
    Rest("stays as it is."),
    Picture("Back", "The parent has heard nothing of what was said in the fork."),
];
