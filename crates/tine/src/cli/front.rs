//! The command line as people type it: `tine "prompt"`, `tine -p`, and the words that other programs have for the same.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, FromArgMatches as _};

use super::{Cli, command};
use crate::fail::Failure;

/// Letters of a word that may be wrong, missing or too many in a slip: one in a short word, so that `hello` is not meant as `help`.
const fn slips_max(letters: usize) -> usize {
    if letters < 6 { 1 } else { 2 }
}

/// Words that stand for others, with what takes their place and whether that goes to the front.
const STANDS_FOR: &[(&str, &[&str], Place)] = &[
    ("-p", &["run"], Place::Front),
    ("--print", &["run"], Place::Front),
    ("resume", &["--resume"], Place::Same),
    ("version", &["--version"], Place::Same),
    // Names of before.
    ("drop", &["worktree", "rm"], Place::Same),
    ("recover", &["worktree", "recover"], Place::Same),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// The place of the word.
    Same,
    /// Before everything else, so that the options of the command may stand on both sides of the word.
    Front,
}

/// Words of other programs that are no commands here, and what to do instead.
const ANSWERS: &[(&[&str], &str)] = &[
    (
        &["config", "settings"],
        "settings are in your config.toml: `tine doctor` shows each of them and its file, `tine man` explains them",
    ),
    (
        &["init"],
        "nothing is set up by a command: tine reads AGENTS.md or CLAUDE.md, and `tine \"Write an AGENTS.md for this project\"` makes one",
    ),
    (&["install"], "`tine mcp install HOST` puts tine into Claude Code, Codex or OpenCode"),
    (
        &["update", "upgrade"],
        "tine is updated as it was installed: in its repository, `git pull && cargo install --path crates/tine`",
    ),
    (
        &["exec", "ask", "print", "prompt"],
        "`tine run \"PROMPT\"` answers and leaves; `tine \"PROMPT\"` opens the terminal with it",
    ),
    (
        &["chat", "new", "start", "open"],
        "`tine` alone opens the terminal, `tine -c` the last conversation",
    ),
    (&["auth"], "`tine login` stores the key of a provider, `tine logout` removes it"),
    (
        &["attach", "switch"],
        "`tine -r AGENT` opens a conversation; `tine -r` alone finds it in a list",
    ),
    (&["status", "stats", "usage"], "`tine ps` lists agents, `tine cost` shows what they cost"),
    (&["serve", "server"], "tine has no server; `tine sim serve` serves the simulator"),
];

/// Names that other programs have for asking nothing.
const UNASKED: [&str; 3] = ["--yolo", "--dangerously-skip-permissions", "--full-auto"];

/// Arguments that are words to an agent, as a usage line names them.
const TEXTS: [&str; 4] = ["PROMPT]", "DIRECTIVE]", "PROMPT>", "TEXT]"];

/// A command line that cannot be carried out, or that only asked for help.
#[derive(Debug)]
pub(crate) enum Refused {
    Clap(Box<clap::Error>),
    Word(Failure),
}

impl From<clap::Error> for Refused {
    fn from(error: clap::Error) -> Self {
        Self::Clap(Box::new(error))
    }
}

/// Reads a command line; the first argument is the name of the program.
pub(crate) fn parse(arguments: Vec<OsString>) -> Result<Cli, Refused> {
    let command = command();
    let arguments = in_our_words(&command, arguments);
    let mut cli = Cli::from_arg_matches(&command.clone().try_get_matches_from(arguments)?)?;
    cli.talk.prompt.retain(|text| !text.trim().is_empty());
    match refused_prompt(&command, &cli.talk.prompt) {
        None => Ok(cli),
        Some(failure) => Err(Refused::Word(failure)),
    }
}

/// Advice on a mistake, where clap's own says too little.
pub(crate) fn hint(error: &clap::Error) -> Option<&'static str> {
    if gives_pick_two_tasks(error) {
        return Some(
            "every fork of pick gets the same task: one -d, and -n 3 for how many; `tine fan` gives each its own",
        );
    }
    let (ErrorKind::UnknownArgument, Some(ContextValue::String(argument))) =
        (error.kind(), error.get(ContextKind::InvalidArg))
    else {
        return None;
    };
    if UNASKED.contains(&argument.as_str()) {
        return Some(
            "`--permission-mode bypass` asks nothing; rules and protected files still hold",
        );
    }
    let takes_text = error.get(ContextKind::Usage).is_some_and(|usage| {
        let usage = usage.to_string();
        TEXTS.iter().any(|text| usage.contains(text))
    });
    (takes_text && !argument.starts_with('-')).then_some("a text of several words stands in quotes")
}

/// `tine fan` takes a task for each worker, and `tine pick` looks the same.
fn gives_pick_two_tasks(error: &clap::Error) -> bool {
    let usage = error.get(ContextKind::Usage).map(ToString::to_string).unwrap_or_default();
    let is_task = |argument: &ContextValue| argument.to_string().starts_with("--directive");
    error.kind() == ErrorKind::ArgumentConflict
        && usage.contains("tine pick")
        && error.get(ContextKind::PriorArg) == error.get(ContextKind::InvalidArg)
        && error.get(ContextKind::InvalidArg).is_some_and(is_task)
}

/// Replaces the first word that stands for another one. Whatever is behind a command is the command's.
fn in_our_words(command: &Command, mut arguments: Vec<OsString>) -> Vec<OsString> {
    let mut at = 1;
    while let Some(word) = arguments.get(at).and_then(|word| word.to_str()) {
        if let Some((_, ours, place)) = STANDS_FOR.iter().find(|(theirs, ..)| *theirs == word) {
            arguments.remove(at);
            let at = if *place == Place::Front { 1 } else { at };
            arguments.splice(at..at, ours.iter().map(OsString::from));
            break;
        }
        if word == "help" {
            let asks_again = |next: &OsString| next == "--help" || next == "-h";
            arguments.get(at + 1).is_some_and(asks_again).then(|| arguments.remove(at + 1));
            break;
        }
        if word == "--" || command.find_subcommand(word).is_some() {
            break;
        }
        let next = arguments.get(at + 1).and_then(|next| next.to_str());
        let is_value =
            takes_value(command, word) && next.is_some_and(|next| !next.starts_with('-'));
        at += if is_value { 2 } else { 1 };
    }
    arguments
}

/// Returns true for an option whose value is the next argument.
fn takes_value(command: &Command, word: &str) -> bool {
    let is_it = |option: &&Arg| match word.strip_prefix("--") {
        Some(long) => option.get_long() == Some(long),
        None => option.get_short().is_some_and(|short| word == format!("-{short}")),
    };
    command.get_arguments().find(is_it).is_some_and(|option| option.get_action().takes_values())
}

/// Refuses what was hardly meant as words for an agent.
fn refused_prompt(command: &Command, prompt: &[String]) -> Option<Failure> {
    let first = prompt.first()?;
    let is_word = |text: &str| text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    if is_word(first) {
        let no_command = || Failure::usage(format!("there is no command `{first}`"));
        let answer = ANSWERS.iter().find(|(words, _)| words.contains(&first.as_str()));
        if let Some((_, answer)) = answer {
            return Some(no_command().hint(*answer));
        }
        if let Some(near) = nearest(command, first) {
            return Some(match &prompt[1..] {
                [] => no_command()
                    .hint(format!("did you mean `tine {near}`?"))
                    .hint(format!("`tine run {first}` says this word to an agent")),
                rest => {
                    no_command().hint(format!("did you mean `tine {near} {}`?", rest.join(" ")))
                }
            });
        }
    }
    if prompt.len() > 1 {
        let quoted = prompt.join(" ");
        return Some(
            Failure::usage("a prompt of several words stands in quotes")
                .hint(format!("`tine \"{quoted}\"`; `tine help` lists the commands")),
        );
    }
    None
}

fn nearest<'c>(command: &'c Command, word: &str) -> Option<&'c str> {
    let visible = command.get_subcommands().filter(|sub| !sub.is_hide_set());
    let slips = |sub: &Command| {
        let names = std::iter::once(sub.get_name()).chain(sub.get_all_aliases());
        names.map(|name| strsim::osa_distance(name, word)).min().unwrap_or(usize::MAX)
    };
    // Clap adds `help` by itself, and only later.
    let help = ("help", strsim::osa_distance("help", word));
    let all = visible.map(|sub| (sub.get_name(), slips(sub))).chain([help]);
    let (nearest, slips) = all.min_by_key(|(_, slips)| *slips)?;
    (slips <= slips_max(word.len())).then_some(nearest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Command as Typed;

    fn typed(line: &str) -> Vec<OsString> {
        let quoted = line.split('\'').enumerate().flat_map(|(at, part)| match at % 2 {
            0 => part.split_whitespace().map(OsString::from).collect::<Vec<_>>(),
            _ => vec![OsString::from(part)],
        });
        std::iter::once(OsString::from("tine")).chain(quoted).collect()
    }

    fn read(line: &str) -> String {
        match parse(typed(line)) {
            Ok(Cli { command: Some(Typed::Run(run)), .. }) => {
                format!(
                    "run {:?} continue={} resume={:?}",
                    run.prompt, run.continue_last, run.resume
                )
            }
            Ok(Cli { command: Some(other), .. }) => {
                format!("{other:?}").split([' ', '(']).next().unwrap_or_default().to_lowercase()
            }
            Ok(Cli { talk, .. }) => {
                let (prompt, model, resume) = (talk.prompt, talk.model, talk.resume);
                format!(
                    "talk {prompt:?} continue={} resume={resume:?} model={model:?}",
                    talk.continue_last
                )
            }
            Err(Refused::Word(failure)) => failure.text(),
            Err(Refused::Clap(error)) => {
                error.to_string().lines().next().unwrap_or_default().to_owned()
            }
        }
    }

    #[test]
    fn a_prompt_needs_no_command() {
        insta::assert_snapshot!([
            "'fix the bug'", "hello", "-c 'go on'", "-m sim/echo hi", "-r base 'and now?'", "''",
            "-p 'fix it' -c", "-c -p 'fix it'", "-C run -p hi", "-m x/y -p hi", "hi --print", "resume",
            "resume base 'go on'", "-C ps resume base", "ls", "sessions --json", "version", "help --help",
            "run -p", "-- -p",
        ].map(|line| format!("{line}: {}", read(line))).join("\n"), @r#"
        'fix the bug': talk ["fix the bug"] continue=false resume=None model=None
        hello: talk ["hello"] continue=false resume=None model=None
        -c 'go on': talk ["go on"] continue=true resume=None model=None
        -m sim/echo hi: talk ["hi"] continue=false resume=None model=Some("sim/echo")
        -r base 'and now?': talk ["and now?"] continue=false resume=Some(Some("base")) model=None
        '': talk [] continue=false resume=None model=None
        -p 'fix it' -c: run Some("fix it") continue=true resume=None
        -c -p 'fix it': run Some("fix it") continue=true resume=None
        -C run -p hi: run Some("hi") continue=false resume=None
        -m x/y -p hi: run Some("hi") continue=false resume=None
        hi --print: run Some("hi") continue=false resume=None
        resume: talk [] continue=false resume=Some(None) model=None
        resume base 'go on': talk ["go on"] continue=false resume=Some(Some("base")) model=None
        -C ps resume base: talk [] continue=false resume=Some(Some("base")) model=None
        ls: ps
        sessions --json: ps
        version: tine 0.1.0
        help --help: A coding agent for the terminal, with a fork() for conversations.
        run -p: error: unexpected argument '-p' found
        -- -p: talk ["-p"] continue=false resume=None model=None
        "#);
    }

    #[test]
    fn slips_and_other_programs_words_are_told_what_is_meant() {
        insta::assert_snapshot!([
            "frok", "hlep", "forkk x", "config", "config set x", "init", "exec 'do it'", "fix the bug", "worktrees", "demos",
        ].map(|line| format!("{line}: {}", read(line))).join("\n"), @r#"
        frok: error: there is no command `frok`
        hint: did you mean `tine fork`?
        hint: `tine run frok` says this word to an agent
        hlep: error: there is no command `hlep`
        hint: did you mean `tine help`?
        hint: `tine run hlep` says this word to an agent
        forkk x: error: there is no command `forkk`
        hint: did you mean `tine fork x`?
        config: error: there is no command `config`
        hint: settings are in your config.toml: `tine doctor` shows each of them and its file, `tine man` explains them
        config set x: error: there is no command `config`
        hint: settings are in your config.toml: `tine doctor` shows each of them and its file, `tine man` explains them
        init: error: there is no command `init`
        hint: nothing is set up by a command: tine reads AGENTS.md or CLAUDE.md, and `tine "Write an AGENTS.md for this project"` makes one
        exec 'do it': error: there is no command `exec`
        hint: `tine run "PROMPT"` answers and leaves; `tine "PROMPT"` opens the terminal with it
        fix the bug: error: a prompt of several words stands in quotes
        hint: `tine "fix the bug"`; `tine help` lists the commands
        worktrees: error: there is no command `worktrees`
        hint: did you mean `tine worktree`?
        hint: `tine run worktrees` says this word to an agent
        demos: error: there is no command `demos`
        hint: did you mean `tine demo`?
        hint: `tine run demos` says this word to an agent
        "#);
    }
}
