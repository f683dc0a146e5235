//! What a new agent is told.

use std::path::{Path, PathBuf};

use tine_fork::envelope::{escape_frame_line, escape_frame_tags};

use crate::crew::definition::Definitions;

/// The system prompt of a new lineage. It holds nothing that changes: no time, no directory, no names. `instructions` are
/// the project's own, as they were when the agent was made.
pub fn system_prompt(instructions: Option<&str>) -> String {
    let base = "You are an agent that works on a user's files from the command line, through tools.\n\
        \n\
        Look before you act: read the files that matter, and search instead of guessing. Read a file before you change \
        it. Make the change that was asked for and nothing else; follow the conventions that the project already has. \
        When something fails, read the error and find its cause. Call tools that do not depend on each other in one \
        turn. A call that is refused stays refused: find another way, or say what you could not do.\n\
        \n\
        Your text is shown in a terminal. Answer briefly and plainly, say what you did and what you found, and name \
        files as path:line.";
    match instructions {
        None => base.to_owned(),
        Some(instructions) => {
            let instructions = escape_frame_tags(instructions.trim());
            format!("{base}\n\nInstructions of this project:\n\n{instructions}")
        }
    }
}

/// Most submodules that an agent is told by name.
const SUBMODULES_TOLD_MAX: usize = 10;

/// What an agent is told of its worktree. The first two are its directory and the one that it stands for, the next two the tops
/// of both checkouts.
pub(crate) fn worktree_notice(
    (directory, before): (&str, &str),
    (path, origin): (&str, &str),
    ports: Option<(u16, u16)>,
    submodules: &[PathBuf],
    has_history: bool,
) -> String {
    let [directory, before, path, origin] =
        [directory, before, path, origin].map(escape_frame_line);
    let mut notice = format!(
        "<worktree>\nFrom here on you work in {directory}, in a git worktree of your own.\n"
    );
    if has_history {
        notice.push_str(&format!(
            "The conversation above was held in {before}. A path below {origin} that it names stands for the same path below \
            {path} now, whose content may differ: read a file again before you change it.\n"
        ));
    } else {
        notice.push_str(&format!("It was made from {before}.\n"));
    }
    notice.push_str(&format!(
        "Write below {path} only; {origin} belongs to whoever works there. HEAD is detached: commit your work here, \
        and make no branch. Stashes, branches, tags, remotes and settings of the repository are shared with others, and are refused."
    ));
    if let Some((first, last)) = ports {
        notice
            .push_str(&format!("\nPrograms that you start may listen on ports {first} to {last}."));
    }
    if !submodules.is_empty() {
        let shown: Vec<String> = submodules
            .iter()
            .take(SUBMODULES_TOLD_MAX)
            .map(|path| escape_frame_line(&path.to_string_lossy()))
            .collect();
        let more = match submodules.len() - shown.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        notice.push_str(&format!(
            "\nSubmodules have no files here and stay at their commits: {}{more}. Write nothing into their folders, for it is no \
            part of your work. `git submodule update` is refused; if you need their files, say so: a person can bring them.",
            shown.join(", ")
        ));
    }
    notice.push_str("\n</worktree>");
    notice
}

/// What a fork is told that works in another directory than its parent.
pub(crate) fn moved_notice(directory: &str, before: &str) -> String {
    let [directory, before] = [directory, before].map(escape_frame_line);
    format!(
        "<environment>\nWorking directory: {directory}\nThe conversation above was held in {before}: relative paths in it belong \
        there.\n</environment>"
    )
}

/// What an agent is told whose last run was on another machine.
pub(crate) fn home_notice(directory: &str) -> String {
    let directory = escape_frame_line(directory);
    format!(
        "<environment>\nWorking directory: {directory}\nWhat was done last was done on another machine, and the files that it worked on \
        are here now: a path in its working directory stands for the same path in this one.\n</environment>"
    )
}

/// What the first prompt of a lineage carries about its surroundings. It is part of a message, never of the head.
pub fn environment_note(directory: &Path, agents: &Definitions) -> String {
    let directory = escape_frame_line(&directory.to_string_lossy());
    let mut note = format!("<environment>\nWorking directory: {directory}");
    if !agents.is_empty() {
        note.push_str("\nAgents that can be started by name (subagent_type):");
        for agent in agents.iter() {
            let (name, does) = (&agent.name, escape_frame_tags(&agent.description));
            note.push_str(&format!("\n- {}: {does}", escape_frame_line(name)));
        }
    }
    note.push_str("\n</environment>");
    note
}
