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
pub(crate) const FILE: (&str, &str) =
    ("packing.md", "# For the mountains\n\n- boots\n- a rope\n- woollen socks\n- a map\n");

/// What the simulator answers in the place of a model.
pub(crate) const SCENARIO: &str = r#"
name = "story"
description = "Packs for a journey."
tokens_per_second = 60

[[turn]]
when = { user_contains = "packing list", tool_results = 0 }
thinking = "I should read it before I say anything."
text = "I read it first."
tool_calls = [{ name = "FileRead", input = { file_path = "packing.md" } }]

[[turn]]
when = { user_contains = "packing list" }
text = """It is a list **for the mountains**, four things long:

1. *boots* and *woollen socks*, so somebody walks far,
2. a *rope*, so somebody climbs,
3. a *map*, so nobody was there before.

What is missing is something to drink. For another journey I would begin in a fork: this conversation stays as it is."""

[[turn]]
when = { user_contains = "the sea", tool_results = 0 }
text = "I know the list from before the fork; I look whether it is still the same."
tool_calls = [{ name = "FileRead", input = { file_path = "packing.md" } }]

[[turn]]
when = { user_contains = "the sea", tool_results = 1 }
text = "One line is wrong at the sea:"
tool_calls = [{ name = "FileEdit", input = { file_path = "packing.md", old_string = "- a rope\n", new_string = "- a towel\n- sun cream\n" } }]

[[turn]]
when = { user_contains = "the sea" }
text = "The rope stays at home."
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
    Type("What is on my packing list?"),
    Press(ENTER),
    See("I should read it"),
    See("four things long"),
    See("so somebody climbs"),
    Rest("stays as it is."),
    Picture(
        "A reply",
        "The reply came in word by word, as Markdown. The call before it is one line, and so is what it brought; the reasoning stands above.",
    ),
    Type("/fork \"And for the sea?\""),
    Press(ENTER),
    See("I know the list"),
    // Words from before the question are a prompt. Ctrl+P keeps them for later.
    Type("And a hat?"),
    See("wants to use"),
    See("keeps it and answers"),
    Press(CTRL_P),
    See("Enter confirms"),
    Picture(
        "A question",
        "`/fork` made a child that knows the whole conversation, and went there. The child wants to change a file, which nobody has allowed: it asks. Letters go to the line; Enter on an empty line confirms the marked choice. Ctrl+P has set the begun line aside, and it comes back.",
    ),
    Press(ENTER),
    Rest("The rope stays at home."),
    Picture("What has changed", "The call is one line; behind it stands how much was changed."),
    Press(CTRL_C),
    Press(CTRL_O),
    See("sun cream"),
    Picture("The change", "Ctrl+O opens calls and reasoning: the change, line by line."),
    Press(CTRL_O),
    Gone("sun cream"),
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
