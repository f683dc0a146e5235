//! Words that are commands of other programs, and what does the same here.

use super::rewind::FILES_BACK;

const ANSWERS: &[(&[&str], &str)] = &[
    (
        &["init"],
        "tine reads AGENTS.md or CLAUDE.md. Say `Write an AGENTS.md for this project`, and an agent makes one",
    ),
    (
        &["config", "settings"],
        "settings are in your config.toml: /doctor shows each of them and its file, `tine man` explains them",
    ),
    (
        &["status", "stats"],
        "/tree shows what each agent does, /cost what they cost, /doctor the settings",
    ),
    (
        &["context"],
        "the foot of the screen says how much of the model's window is full, /cache which parts it has; /compact makes room",
    ),
    (
        &["memory"],
        "tine reads AGENTS.md or CLAUDE.md at the beginning of a conversation: write there what each one is to know",
    ),
    (
        &["copy"],
        "y copies the message that you point at, /help copy names the keys; /export FILE writes all",
    ),
    (
        &["login", "logout", "auth"],
        "leave, and `tine login` stores the key of a provider, `tine logout` removes it",
    ),
    (
        &["review"],
        "say what is to be reviewed, such as `Review what changed since the last commit`",
    ),
    (&["mcp"], "tine has no MCP servers yet"),
    (
        &["plan"],
        "/mode plan lets agents read and change nothing; /mode default lets them ask again",
    ),
    (
        &["allowed-tools", "approvals"],
        "/permissions shows what is allowed, /mode changes how much is",
    ),
];

/// Names for taking changes of files back.
const UNDOES: [&str; 4] = ["undo", "restore", "revert", "checkpoint"];

/// Returns the answer to such a word.
pub(super) fn answer(name: &str) -> Option<String> {
    if UNDOES.contains(&name) {
        return Some(format!(
            "/rewind takes the last prompt back, and leaves files as they are. {FILES_BACK}"
        ));
    }
    let answer = ANSWERS.iter().find(|(names, _)| names.contains(&name));
    answer.map(|(_, answer)| (*answer).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::COMMANDS;

    #[test]
    fn no_command_is_answered_in_the_place_of_being_done() {
        let known = COMMANDS.iter().flat_map(|command| command.names);
        let answered: Vec<_> = known.filter(|name| answer(name).is_some()).collect();
        assert!(answered.is_empty(), "{answered:?}");
    }
}
