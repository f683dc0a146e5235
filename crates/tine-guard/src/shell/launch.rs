//! Commands that run other commands: `env`, `timeout`, `sudo`, `xargs`, `find -exec`, `sh -c`, `ssh`.
//!
//! A launcher is told by its name and a short description of its options. Where a word may be the value of an option that is
//! not described, or the command, both are taken. What a launcher runs from a file, or by a language of its own (`awk`, `make`,
//! `python -c`), is not seen.

mod git;
mod table;

use self::table::by_table;
pub(super) use self::table::subcommands;
use super::evaluate::{Reader, UNKNOWN, is_run};
use super::reading::is_mark;

/// What a command runs itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Launched {
    /// A command, without a shell.
    Words(Vec<String>),
    /// A text that a shell reads.
    Text(Reader, String),
    /// Something that is not known.
    Unknown,
}

/// Shells with the language of the standard. What they read from a file is not seen.
const SHELLS: [&str; 7] = ["ash", "bash", "dash", "ksh", "mksh", "rbash", "sh"];

/// Shells with languages of their own, which are not read.
const OTHER_SHELLS: [&str; 7] = ["csh", "elvish", "fish", "nu", "tcsh", "xonsh", "zsh"];

/// The last part of a path.
pub(crate) fn base_name(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// True if what the word becomes is not known in every part.
fn is_unknown(word: &str) -> bool {
    word.contains(is_mark)
}

/// What a command runs itself, and what may be it. `input` is the text of its input, where that is known; `reader` is the shell
/// that runs the command.
pub(super) fn launched(words: &[String], input: Option<&str>, reader: Reader) -> Vec<Launched> {
    let own = if reader == Reader::Shell { Reader::Shell } else { Reader::Bash };
    let Some((name, arguments)) = words.split_first() else { return Vec::new() };
    let name = base_name(name);
    let reader = if name.ends_with("bash") { Reader::Bash } else { Reader::Shell };
    if SHELLS.contains(&name) {
        return shell(arguments, reader, input);
    }
    if OTHER_SHELLS.contains(&name) {
        let shell = shell(arguments, reader, None).into_iter();
        return shell.map(|_| Launched::Unknown).collect();
    }
    let plain = match arguments {
        [dashes, rest @ ..] if dashes == "--" => rest,
        all => all,
    };
    let has = |letters: &[char]| {
        arguments.iter().any(|word| word.starts_with('-') && word.contains(letters))
    };
    let names = |word: &str| arguments.iter().any(|argument| argument == word);
    match name {
        "eval" => return vec![text_of(own, plain)],
        "fc" => return vec![Launched::Unknown],
        "history" if has(&['s', 'p']) => return vec![Launched::Unknown],
        "set" if has(&['H']) || names("histexpand") || names("history") => {
            return vec![Launched::Unknown];
        }
        "shopt" if names("expand_aliases") => return vec![Launched::Unknown],
        "compgen" | "complete" if has(&['C', 'F', 'W']) => return vec![Launched::Unknown],
        "bind" if has(&['x']) => return vec![Launched::Unknown],
        "enable" if has(&['f']) => return vec![Launched::Unknown],
        "mapfile" | "readarray" if has(&['C']) => {
            let text = value_of(arguments, &["-C"]);
            return vec![text.map_or(Launched::Unknown, |text| text_of(own, &[text]))];
        }
        "." | "source" => {
            let given = plain.first().filter(|file| is_given(file));
            return given.map(|_| Launched::Unknown).into_iter().collect();
        }
        "su" | "sg" | "newgrp" if value_of(arguments, &["-c", "--command"]).is_none() => {
            return vec![Launched::Unknown];
        }
        "start-stop-daemon" => {
            let program = value_of(arguments, &["-x", "-a", "--exec", "--startas"]);
            let rest = arguments.iter().skip_while(|word| *word != "--").skip(1).cloned();
            let words = |program| std::iter::once(program).chain(rest).collect();
            return program.map(|program| Launched::Words(words(program))).into_iter().collect();
        }
        "trap" => {
            return plain
                .first()
                .map(|text| text_of(own, std::slice::from_ref(text)))
                .into_iter()
                .collect();
        }
        "alias" => return aliases(arguments, own),
        "find" => return find(arguments),
        "su" | "sg" | "newgrp" | "script" | "runuser" | "nix-shell" | "rlwrap" | "flock"
        | "npx" => {
            let text = value_of(arguments, &["-c", "--command", "--run"]);
            let text = text.into_iter().map(|text| text_of(Reader::Shell, &[text]));
            return text.chain(by_table(words)).collect();
        }
        "env" => {
            let text = value_of(arguments, &["-S", "--split-string"]);
            let text = text.into_iter().map(|text| match text.contains('\\') {
                // Its escapes are its own.
                true => Launched::Unknown,
                false => text_of(Reader::Shell, &[text]),
            });
            return text.chain(by_table(words)).collect();
        }
        "git" => return git::git(arguments).into_iter().chain(by_table(words)).collect(),
        // A name means another program then.
        "hash" if arguments.iter().any(|word| word.starts_with("-p")) => {
            return vec![Launched::Unknown];
        }
        "command" if arguments.iter().any(|word| matches!(word.as_str(), "-v" | "-V")) => {
            return Vec::new();
        }
        _ => {}
    }
    by_table(words)
}

/// Whether the file is one that the command line gives: a descriptor, or what a substitution makes.
fn is_given(file: &str) -> bool {
    file.starts_with("/dev/") || file.starts_with("/proc/") || is_unknown(file)
}

/// A text that a shell reads, from words that are joined by blanks.
fn text_of(reader: Reader, words: &[String]) -> Launched {
    let text = words.join(" ");
    if is_unknown(&text) { Launched::Unknown } else { Launched::Text(reader, text) }
}

/// `alias NAME=TEXT`.
fn aliases(arguments: &[String], reader: Reader) -> Vec<Launched> {
    let values = arguments.iter().filter_map(|word| word.split_once('='));
    values.map(|(_, text)| text_of(reader, &[text.to_owned()])).collect()
}

/// The value of an option, attached or in the next word. A letter may stand in a cluster with others.
fn value_of(arguments: &[String], options: &[&str]) -> Option<String> {
    arguments.iter().enumerate().find_map(|(at, word)| {
        let next = || arguments.get(at + 1).cloned();
        options.iter().find_map(|option| {
            if option.starts_with("--") {
                return match word.strip_prefix(option)? {
                    "" => next(),
                    rest => rest.strip_prefix('=').map(str::to_owned),
                };
            }
            let letters = word.strip_prefix('-').filter(|letters| !letters.starts_with('-'))?;
            match letters.split_once(&option[1..])? {
                (before, _) if !before.bytes().all(|byte| byte.is_ascii_alphanumeric()) => None,
                (_, "") => next(),
                (_, rest) => Some(rest.to_owned()),
            }
        })
    })
}

/// `sh -c TEXT`, and a shell that reads its input.
fn shell(arguments: &[String], reader: Reader, input: Option<&str>) -> Vec<Launched> {
    let mut at = 0;
    let (mut takes_text, mut reads_input) = (false, false);
    while let Some(word) = arguments.get(at) {
        if is_unknown(word) && !takes_text {
            return vec![Launched::Unknown];
        }
        let letters = match word.strip_prefix(['-', '+']) {
            Some("" | "-") => {
                at += 1;
                break;
            }
            Some(letters) => letters,
            None => break,
        };
        at += 1;
        if letters.starts_with('-') {
            let valued = matches!(letters, "-rcfile" | "-init-file" | "-init-command");
            takes_text |= letters == "-command";
            at += usize::from(valued);
            continue;
        }
        takes_text |= letters.contains('c');
        reads_input |= letters.contains('s');
        at += letters.chars().filter(|letter| matches!(letter, 'o' | 'O')).count();
    }
    match arguments.get(at) {
        Some(text) if takes_text => vec![text_of(reader, std::slice::from_ref(text))],
        Some(file) if !reads_input && !is_given(file) => Vec::new(),
        _ => vec![input.map_or(Launched::Unknown, |text| Launched::Text(reader, text.to_owned()))],
    }
}

/// What `find` runs.
fn find(arguments: &[String]) -> Vec<Launched> {
    let mut found = Vec::new();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if matches!(word.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir") {
            let inner = words.by_ref().take_while(|word| !matches!(word.as_str(), ";" | "+"));
            found.push(Launched::Words(inner.map(|word| with_data(word, "{}")).collect()));
        }
    }
    // What is not known may be one of its actions.
    if arguments.iter().any(|word| word.starts_with(UNKNOWN)) {
        found.push(Launched::Unknown);
    }
    found
}

/// The word with what is not known in place of a text.
fn with_data(word: &str, place: &str) -> String {
    word.replace(place, UNKNOWN.encode_utf8(&mut [0; 4]))
}

/// Texts that assignments among the words put into variables which programs run, and options that hold a command.
fn held(words: &[String]) -> Vec<Launched> {
    let run = |word: &String| {
        let (name, value) = word.split_once('=')?;
        is_run(name).then(|| text_of(Reader::Shell, &[value.trim_start_matches('!').to_owned()]))
    };
    let mut found: Vec<Launched> = words.iter().filter_map(run).collect();
    let name = words.first().map_or("", |name| base_name(name));
    for (_, option) in COMMAND_OPTIONS.iter().filter(|(program, _)| *program == name) {
        let is_setting = option.ends_with('=');
        let text = match is_setting {
            true => words.iter().find_map(|word| Some(word.split_once(option)?.1.to_owned())),
            false => value_of(&words[1..], &[option]),
        };
        found.extend(text.map(|text| text_of(Reader::Shell, &[text])));
    }
    found
}

/// Options of programs whose value is a command: a setting (`NAME=`) wherever it stands, or an option.
const COMMAND_OPTIONS: &[(&str, &str)] = &[
    ("rsync", "-e"),
    ("rsync", "--rsh"),
    ("scp", "ProxyCommand="),
    ("sftp", "ProxyCommand="),
    ("sort", "--compress-program"),
    ("split", "--filter"),
    ("ssh", "LocalCommand="),
    ("ssh", "ProxyCommand="),
    ("tar", "--checkpoint-action=exec="),
    ("tar", "-F"),
    ("tar", "-I"),
    ("tar", "--info-script"),
    ("tar", "--to-command"),
    ("tar", "--use-compress-program"),
];
