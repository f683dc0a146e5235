//! Commands by what they are for: the order of `tine help` and of the reference.

use std::fmt::Write as _;

use clap::Command;
use clap::builder::StyledStr;

/// Commands that belong together.
pub(crate) struct Group {
    pub(crate) heading: &'static str,
    pub(crate) commands: &'static [&'static str],
}

const fn group(heading: &'static str, commands: &'static [&'static str]) -> Group {
    Group { heading, commands }
}

/// All groups, everyday commands first. Each visible command stands in one of them.
pub(crate) const GROUPS: &[Group] = &[
    group("Talk", &["run", "ps", "show", "send", "rename", "mark", "rewind", "clear", "compact"]),
    group("Fork", &["fork", "fan", "pick", "task", "tree", "merge-back"]),
    group("Take over work", &["diff", "apply", "merge", "cherry-pick", "worktree"]),
    group("Watch and stop", &["wait", "logs", "away", "stop", "kill", "hide", "rm"]),
    group("Permissions", &["permission", "trust", "guard"]),
    group("Cost and cache", &["cost", "budget", "cache"]),
    group("Import and export", &["import", "export", "digest"]),
    group("Other programs", &["mcp", "with", "gateway"]),
    group("Other machines", &["worker", "cluster"]),
    group("Notes of a project", &["dream", "tick"]),
    group(
        "Set up and try",
        &["login", "logout", "models", "demo", "doctor", "completions", "man", "sim", "eval"],
    ),
];

/// The usage: a prompt and a command exclude each other.
const USAGE: &str = "tine [OPTIONS] [PROMPT]\n       tine [OPTIONS] COMMAND ...";

/// Gives the command line a help that lists commands in groups.
pub(crate) fn grouped(command: Command) -> Command {
    let header = *command.get_styles().get_header();
    let literal = *command.get_styles().get_literal();
    let width = GROUPS.iter().flat_map(|group| group.commands).map(|name| name.len()).max();
    let width = width.unwrap_or_default();
    let mut list = String::new();
    for Group { heading, commands } in GROUPS {
        let _ = writeln!(list, "\n{header}{heading}:{header:#}");
        for name in *commands {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(StyledStr::to_string).unwrap_or_default();
            let _ = writeln!(list, "  {literal}{name:<width$}{literal:#}  {about}");
        }
    }
    let template = format!(
        "{{before-help}}{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{list}\n{header}Arguments:{header:#}\n{{positionals}}\n\n\
        {header}Options:{header:#}\n{{options}}{{after-help}}"
    );
    command.override_usage(USAGE).help_template(template)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_visible_command_stands_in_one_group() {
        let listed: Vec<&str> = GROUPS.iter().flat_map(|group| group.commands).copied().collect();
        let once: BTreeSet<&str> = listed.iter().copied().collect();
        assert_eq!(once.len(), listed.len());
        let command = crate::cli::command();
        let visible = command.get_subcommands().filter(|sub| !sub.is_hide_set());
        assert_eq!(visible.map(Command::get_name).collect::<BTreeSet<_>>(), once);
    }
}
