//! The tables of `docs/reference.md` that come from the command line's own types. `TINE_WRITE_DOCS=1 cargo test -p tine --bin tine
//! reference` writes them.

use std::fmt::Write as _;
use std::path::Path;

use clap::{Arg, Command};

use crate::cli::{GROUPS, command};
use crate::fail::EXIT_CODES;

/// The page.
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference.md");

/// The variable that lets a test write it.
const WRITE: &str = "TINE_WRITE_DOCS";

fn commands() -> String {
    let tine = command();
    let mut text = String::new();
    for group in GROUPS {
        let _ = writeln!(text, "**{}**\n\n| command | what it does |\n|---|---|", group.heading);
        if text.matches("**").count() == 2 {
            let talks = tine.get_arguments().find(|one| one.get_id() == "prompt").unwrap();
            let _ = writeln!(text, "| `tine [PROMPT]` | {} |", talks.get_help().unwrap());
        }
        for name in group.commands {
            let command = tine.find_subcommand(name).unwrap();
            rows(&mut text, "tine", command);
        }
        text.push('\n');
    }
    text
}

/// A row for a command that does something, and for those below it.
fn rows(text: &mut String, above: &str, command: &Command) {
    let name = format!("{above} {}", command.get_name());
    if !command.is_subcommand_required_set() {
        let usage: String = command.get_arguments().filter_map(word).collect();
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        let _ = writeln!(text, "| `{name}{usage}` | {about} |");
    }
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        rows(text, &name, below);
    }
}

/// An argument in the usage of a command: what stands alone, and options that are required.
fn word(argument: &Arg) -> Option<String> {
    let name = match argument.get_value_names() {
        Some([name, ..]) => name.to_string(),
        _ => argument.get_id().to_string().to_uppercase(),
    };
    let many = argument.get_num_args().is_some_and(|count| count.max_values() > 1);
    let many = many || matches!(argument.get_action(), clap::ArgAction::Append);
    let more = if many { " …" } else { "" };
    match (argument.get_short(), argument.is_required_set()) {
        (Some(short), true) => Some(format!(" -{short} {name}{more}")),
        (None, true) if argument.is_positional() => Some(format!(" {name}{more}")),
        (_, false) if argument.is_positional() => Some(format!(" [{name}{more}]")),
        _ => None,
    }
}

fn exit_codes() -> String {
    let rows = EXIT_CODES.iter().map(|code| format!("| {} | {} |\n", code.code, code.meaning));
    format!("| code | meaning |\n|---|---|\n{}\n", rows.collect::<String>())
}

#[test]
fn the_reference_has_the_tables_of_the_command_line() {
    let page = std::fs::read_to_string(PAGE).unwrap();
    let mut made = page.clone();
    for (heading, table) in [("Commands", commands()), ("Exit codes", exit_codes())] {
        let begin = format!("## {heading}\n\n");
        let from = made.find(&begin).unwrap() + begin.len();
        // What is written by hand begins with the first line that is neither a table nor a heading in bold.
        let is_made = |line: &str| line.is_empty() || line.starts_with(['|', '*']);
        let lines = made[from..].split_inclusive('\n');
        let to: usize = lines.take_while(|line| is_made(line.trim_end())).map(str::len).sum();
        made.replace_range(from..from + to, &table);
    }
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(Path::new(PAGE), &made).unwrap();
    }
    assert!(page == made, "docs/reference.md is not up to date; `{WRITE}=1` writes it");
}
