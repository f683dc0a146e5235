//! Commands that run other commands: `env`, `timeout`, `sudo`, `xargs`, `find -exec`, `sh -c`, `ssh`.
//!
//! A launcher is told by its name and a short description of its options. Where a word may be the value of an option that is
//! not described, or the command, both are taken. What a launcher runs from a file, or by a language of its own (`awk`, `make`,
//! `python -c`), is not seen.

use std::collections::BTreeSet;

use super::reading::is_mark;
use super::wide::{Reader, UNKNOWN, is_run};

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

/// How the words behind a launcher's own become a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// They are the command.
    Words,
    /// A shell reads them as one text.
    Shell,
    /// They are the command, and further words come from its input.
    Data,
}

/// A program that runs the command that stands behind its own words.
struct Launcher {
    /// Its name, and the words before its options, such as `docker exec`.
    name: &'static str,
    /// Letters of options that take a value.
    valued: &'static str,
    /// Letters of options that take none. Any other letter may do either.
    flags: &'static str,
    /// Operands before the command, such as the time of `timeout`.
    operands: usize,
    kind: Kind,
}

const fn launcher(
    name: &'static str,
    valued: &'static str,
    flags: &'static str,
    operands: usize,
) -> Launcher {
    Launcher { name, valued, flags, operands, kind: Kind::Words }
}

const fn of_kind(kind: Kind, launcher: Launcher) -> Launcher {
    Launcher { kind, ..launcher }
}

/// The launchers. Options: the manuals of util-linux 2.40, coreutils 9.5, findutils 4.10, sudo 1.9, OpenSSH 9.9, Docker 27.
const LAUNCHERS: &[Launcher] = &[
    launcher("asdf exec", "", "", 0),
    launcher("bubblewrap", "", "", 0),
    launcher("builtin", "", "", 0),
    launcher("bundle exec", "", "", 0),
    launcher("busybox", "", "", 0),
    launcher("bwrap", "", "", 0),
    launcher("caffeinate", "tw", "disu", 0),
    launcher("choom", "np", "", 0),
    launcher("chroot", "", "", 1),
    launcher("chrt", "DPT", "abdfimorRv", 1),
    launcher("command", "", "p", 0),
    launcher("conda run", "np", "v", 0),
    launcher("dbus-run-session", "", "", 0),
    launcher("direnv exec", "", "", 1),
    launcher("doas", "aCu", "Lns", 0),
    launcher("docker compose exec", "euw", "dT", 1),
    launcher("docker compose run", "euvw", "dT", 1),
    launcher("docker container exec", "euw", "dit", 1),
    launcher("docker exec", "euw", "dit", 1),
    launcher("docker run", "acehlmpuvw", "dPitq", 1),
    launcher("env", "Cu", "0iv", 0),
    launcher("exec", "a", "cl", 0),
    launcher("faketime", "f", "m", 1),
    launcher("fakeroot", "bils", "u", 0),
    launcher("firejail", "", "", 0),
    launcher("flock", "Ew", "enosuxF", 1),
    launcher("gdb", "", "", 0),
    launcher("git bisect run", "", "", 0),
    of_kind(Kind::Shell, launcher("git submodule foreach", "", "q", 0)),
    launcher("guix shell", "", "", 0),
    launcher("i386", "", "R", 0),
    launcher("ionice", "cnpPu", "t", 0),
    launcher("kubectl exec", "cn", "itq", 1),
    launcher("linux32", "", "R", 0),
    launcher("linux64", "", "R", 0),
    launcher("ltrace", "AaDeFlnopsuwx", "bcCfhiLrStV", 0),
    launcher("lxc exec", "", "", 1),
    launcher("mise exec", "", "", 0),
    launcher("mise x", "", "", 0),
    launcher("nice", "n", "", 0),
    launcher("nohup", "", "", 0),
    launcher("npm exec", "", "", 0),
    launcher("nsenter", "", "", 0),
    of_kind(Kind::Data, launcher("parallel", "", "", 0)),
    launcher("pipenv run", "", "", 0),
    launcher("pkexec", "", "", 0),
    launcher("pnpm exec", "", "", 0),
    launcher("podman exec", "euw", "ditl", 1),
    launcher("podman run", "acehlmpuvw", "dPitq", 1),
    launcher("poetry run", "", "", 0),
    launcher("proot", "", "", 0),
    launcher("prlimit", "p", "", 0),
    launcher("runuser", "ugG", "", 0),
    launcher("rustup run", "", "", 1),
    launcher("setarch", "", "R", 0),
    launcher("setarch", "", "R", 1),
    launcher("setpriv", "", "", 0),
    launcher("setsid", "", "cfw", 0),
    launcher("ssh-agent", "aEOPt", "cDdks", 0),
    of_kind(Kind::Shell, launcher("ssh", "BbcDEeFIiJLlmOopPQRSWw", "46AaCfGgKkMNnqsTtVvXxYy", 1)),
    launcher("stdbuf", "ioe", "", 0),
    launcher("strace", "abEeIOoPpSsUuX", "ACcDdFfhiknNqrtTvVwxyYzZ", 0),
    launcher("sudo", "CDghpRrTtUu", "ABbEeHiKklNnPSsVv", 0),
    launcher("systemd-run", "EHGMptu", "dGPqrSt", 0),
    launcher("taskset", "p", "ac", 1),
    launcher("time", "fo", "apqvV", 0),
    launcher("timeout", "ks", "pfv", 1),
    launcher("toybox", "", "", 0),
    launcher("unbuffer", "", "p", 0),
    launcher("unshare", "GRSlw", "CcfhimnprTUuV", 0),
    launcher("uv run", "", "", 0),
    launcher("uvx", "", "", 0),
    launcher("valgrind", "", "", 0),
    of_kind(Kind::Shell, launcher("watch", "nq", "bcdegprtwx", 0)),
    of_kind(Kind::Data, launcher("xargs", "adEILnPs", "0oprtx", 0)),
    launcher("x86_64", "", "R", 0),
    launcher("yarn exec", "", "", 0),
];

/// Long options of launchers that take no value in the next word.
const LONG_FLAGS: [&str; 18] = [
    "--background",
    "--detach",
    "--foreground",
    "--fork",
    "--ignore-environment",
    "--interactive",
    "--no-run-if-empty",
    "--non-interactive",
    "--null",
    "--preserve-env",
    "--preserve-status",
    "--privileged",
    "--quiet",
    "--recursive",
    "--rm",
    "--tty",
    "--verbose",
    "--wait",
];

/// Shells with the language of the standard. What they read from a file is not seen.
const SHELLS: [&str; 7] = ["ash", "bash", "dash", "ksh", "mksh", "rbash", "sh"];

/// Shells with languages of their own, which are not read.
const OTHER_SHELLS: [&str; 7] = ["csh", "elvish", "fish", "nu", "tcsh", "xonsh", "zsh"];

/// Programs whose options before the subcommand say where and how, with the options that take a value in the next word.
const SUBCOMMANDS: &[(&str, &[&str])] = &[
    ("apt", &["-o", "-c", "-t"]),
    ("apt-get", &["-o", "-c", "-t"]),
    ("aws", &["--endpoint-url", "--output", "--profile", "--query", "--region", "--color"]),
    ("az", &["--output", "-o", "--query", "--subscription"]),
    ("brew", &[]),
    ("bun", &["--cwd", "-c", "--config"]),
    ("bundle", &["--gemfile"]),
    ("cargo", &["-C", "-Z", "--color", "--config"]),
    ("composer", &["-d", "--working-dir"]),
    ("docker", &["--config", "-c", "--context", "-H", "--host", "-l", "--log-level"]),
    ("dotnet", &[]),
    ("firebase", &["-P", "--project"]),
    ("flyctl", &["-t", "--access-token"]),
    ("gcloud", &["--account", "--configuration", "--project", "--format"]),
    ("gh", &["-R", "--repo"]),
    (
        "git",
        &["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--attr-source"],
    ),
    ("glab", &["-R", "--repo"]),
    ("go", &["-C"]),
    ("gradle", &["-p", "-b", "-I", "-g"]),
    ("helm", &["--kube-context", "--kubeconfig", "-n", "--namespace"]),
    ("hg", &["-R", "--repository", "--cwd", "--config"]),
    ("jj", &["-R", "--repository", "--config", "--color"]),
    (
        "kubectl",
        &[
            "--as",
            "--cluster",
            "--context",
            "--kubeconfig",
            "-n",
            "--namespace",
            "-s",
            "--server",
            "--token",
            "--user",
            "-v",
        ],
    ),
    ("make", &["-C", "-f", "-I", "-j", "-l", "-o", "-W", "--directory", "--file"]),
    ("mvn", &["-f", "-s", "-P", "-pl", "-T"]),
    ("npm", &["-C", "--loglevel", "--prefix", "--registry", "-w", "--workspace"]),
    ("pip", &["--cert", "--log", "--proxy", "--python"]),
    ("pip3", &["--cert", "--log", "--proxy", "--python"]),
    ("pnpm", &["-C", "--dir", "-F", "--filter", "--loglevel"]),
    ("podman", &["-c", "--connection", "--log-level", "--root", "--runroot", "--url"]),
    ("poetry", &["-C", "--directory", "-P", "--project"]),
    ("rustup", &[]),
    ("svn", &["--config-dir", "--password", "--username"]),
    ("systemctl", &["-H", "-M", "-n", "-o", "-p", "-t"]),
    ("terraform", &[]),
    ("tofu", &[]),
    ("uv", &["--cache-dir", "--config-file", "--directory", "--project"]),
    ("vercel", &["-A", "-S", "-t", "--cwd", "--scope", "--token"]),
    ("yarn", &["--cwd"]),
];

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
        "git" => return git(arguments).into_iter().chain(by_table(words)).collect(),
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

/// Settings of git that name a program, by their beginnings and ends. Source: git-config(1), git 2.47.
const GIT_BEGINS: [&str; 2] = ["alias.", "pager."];
const GIT_ENDS: [&str; 22] = [
    ".clean",
    ".cmd",
    ".command",
    ".driver",
    ".external",
    ".helper",
    ".process",
    ".program",
    ".receivepack",
    ".smudge",
    ".textconv",
    ".uploadpack",
    "core.alternaterefscommand",
    "core.askpass",
    "core.editor",
    "core.fsmonitor",
    "core.gitproxy",
    "core.pager",
    "core.sshcommand",
    "interactive.difffilter",
    "protocol.ext.allow",
    "sequence.editor",
];

fn names_program(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    GIT_BEGINS.iter().any(|begin| key.starts_with(begin))
        || GIT_ENDS.iter().any(|end| key.ends_with(end))
}

/// What git runs by its settings and options. A subcommand that it does not have is an alias, which may be any command.
fn git(arguments: &[String]) -> Vec<Launched> {
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
        super::reading::is_git_command(word) || word.starts_with('-') || is_unknown(word)
    };
    if !subcommands.is_empty() && !subcommands.iter().any(known) {
        found.push(Launched::Unknown);
    }
    found
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

fn by_table(words: &[String]) -> Vec<Launched> {
    let mut found = Vec::new();
    for launcher in LAUNCHERS {
        let Some(arguments) = launcher.arguments(words) else { continue };
        let starts = starts(arguments, launcher);
        found.extend(starts.into_iter().filter_map(|at| launcher.runs(arguments, at)));
    }
    found.extend(held(words));
    found
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

impl Launcher {
    /// What stands behind its name, if the words are a call of it.
    fn arguments<'a>(&self, words: &'a [String]) -> Option<&'a [String]> {
        let name = base_name(words.first()?);
        let mut own = self.name.split(' ');
        if own.next() != Some(name) {
            return None;
        }
        let mut rest = &words[1..];
        for word in own {
            let at = subcommands(name, rest).into_iter().find(|at| rest[*at] == word)?;
            rest = &rest[at + 1..];
        }
        Some(rest)
    }

    /// What it runs if the command begins at this word.
    fn runs(&self, arguments: &[String], at: usize) -> Option<Launched> {
        let mut words = arguments.get(at..).filter(|words| !words.is_empty())?.to_vec();
        match self.kind {
            Kind::Words => Some(Launched::Words(words)),
            Kind::Shell => Some(text_of(Reader::Shell, &words)),
            Kind::Data => {
                if let Some(end) = words.iter().position(|word| word.starts_with(":::")) {
                    words.truncate(end);
                }
                let place = value_of(&arguments[..at], &["-I", "-i", "--replace"]);
                let place = place.filter(|place| !place.is_empty()).unwrap_or("{}".to_owned());
                let mut words: Vec<String> =
                    words.iter().map(|word| with_data(word, &place)).collect();
                words.push(UNKNOWN.to_string());
                Some(Launched::Words(words))
            }
        }
    }
}

/// The words at which the command of a launcher may begin.
fn starts(arguments: &[String], launcher: &Launcher) -> BTreeSet<usize> {
    let short = |letters: &str| {
        let mut rest = letters.chars();
        while let Some(letter) = rest.next() {
            if launcher.valued.contains(letter) {
                return if rest.as_str().is_empty() { Takes::Value } else { Takes::Nothing };
            }
            if !launcher.flags.contains(letter) && !letter.is_ascii_digit() {
                return Takes::Either;
            }
        }
        Takes::Nothing
    };
    let takes = |word: &str| match word.strip_prefix("--") {
        Some(long) if long.contains('=') || LONG_FLAGS.contains(&word) => Takes::Nothing,
        Some(_) => Takes::Either,
        None => short(&word[1..]),
    };
    walk(arguments, launcher.operands, takes)
}

/// The words that may be the subcommand of a program, behind its own options.
pub(super) fn subcommands(program: &str, arguments: &[String]) -> BTreeSet<usize> {
    let Some((_, valued)) = SUBCOMMANDS.iter().find(|(known, _)| *known == program) else {
        return BTreeSet::from([0]).into_iter().filter(|at| *at < arguments.len()).collect();
    };
    let takes = |word: &str| match valued.contains(&word) {
        true => Takes::Value,
        false if word.contains('=') || word.len() > 2 && !word.starts_with("--") => Takes::Nothing,
        false if program == "git" || word.len() == 2 => Takes::Nothing,
        false => Takes::Either,
    };
    walk(arguments, 0, takes)
}

/// Whether an option takes the next word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Takes {
    Nothing,
    Value,
    Either,
}

/// The words that may be the first behind options, assignments and so many operands.
fn walk(words: &[String], operands: usize, takes: impl Fn(&str) -> Takes) -> BTreeSet<usize> {
    let (mut found, mut done) = (BTreeSet::new(), BTreeSet::new());
    let mut open = vec![(0, operands, false)];
    while let Some((at, left, ended)) = open.pop() {
        let Some(word) = words.get(at).filter(|_| done.insert((at, left, ended))) else { continue };
        let is_option = !ended && word.starts_with(['-', '+']);
        if !ended && word == "--" {
            open.push((at + 1, left, true));
        } else if is_option {
            let takes = takes(word);
            if takes != Takes::Value {
                open.push((at + 1, left, ended));
            }
            if takes != Takes::Nothing {
                open.push((at + 2, left, ended));
            }
        } else if is_assignment(word) {
            open.push((at + 1, left, ended));
        } else if left > 0 {
            open.push((at + 1, left - 1, ended));
        } else {
            found.insert(at);
        }
    }
    found
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}
