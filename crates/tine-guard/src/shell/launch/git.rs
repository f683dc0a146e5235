//! Commands that git runs by its settings and options.

use super::{Launched, is_unknown, subcommands, text_of};
use crate::shell::evaluate::Reader;
use crate::shell::reading::is_git_command;

/// Settings of git that name a program, by their beginnings and ends. Source: git-config(1), git 2.47.
const GIT_BEGINS: [&str; 2] = ["alias.", "pager."];

const GIT_ENDS: [&str; 22] = words!(
    ".clean .cmd .command .driver .external .helper .process .program .receivepack .smudge .textconv .uploadpack \
    core.alternaterefscommand core.askpass core.editor core.fsmonitor core.gitproxy core.pager core.sshcommand \
    interactive.difffilter protocol.ext.allow sequence.editor"
);

fn names_program(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    GIT_BEGINS.iter().any(|begin| key.starts_with(begin))
        || GIT_ENDS.iter().any(|end| key.ends_with(end))
}

/// The commands that git runs by its settings and options. A subcommand that it does not have is an alias, which may be any command.
pub(super) fn git(arguments: &[String]) -> Vec<Launched> {
    let text = |text: &str| text_of(Reader::Shell, &[text.trim_start_matches('!').to_owned()]);
    let mut found = Vec::new();
    for (at, word) in arguments.iter().enumerate() {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        let next = arguments.get(at + 1);
        match key {
            "--config-env" => found.push(Launched::Unknown),
            "--upload-pack" | "--receive-pack" | "--exec" | "--extcmd" if !value.is_empty() => {
                found.push(text(value));
            }
            "-x" | "-u" | "--exec" | "--extcmd" | "--upload-pack" | "--receive-pack" => {
                found.extend(next.map(|next| text(next)));
            }
            _ if names_program(key) => {
                found.push(if value.is_empty() {
                    next.map_or(Launched::Unknown, |next| text(next))
                } else {
                    text(value)
                });
            }
            _ => {}
        }
        if let Some(command) = word.strip_prefix("ext::") {
            found.push(text(command));
        }
    }
    let subcommands = subcommands("git", arguments);
    let known = |at: &usize| {
        let word = &arguments[*at];
        is_git_command(word) || word.starts_with('-') || is_unknown(word)
    };
    if !subcommands.is_empty() && !subcommands.iter().any(known) {
        found.push(Launched::Unknown);
    }
    found
}
