//! The launchers, and the options that programs have before their subcommands.

use std::collections::BTreeSet;

use super::{Launched, base_name, held, text_of, value_of, with_data};
use crate::shell::evaluate::{Reader, UNKNOWN};

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
    of_kind(Kind::Shell, launcher("hyperfine", "SMLPDrcimnpsuw", "Ni", 0)),
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
    launcher("perf record", "", "", 0),
    launcher("perf stat", "", "", 0),
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
    of_kind(Kind::Shell, launcher("tmux new", "cefFnstxy", "AdDEPX", 0)),
    of_kind(Kind::Shell, launcher("tmux new-session", "cefFnstxy", "AdDEPX", 0)),
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
const LONG_FLAGS: [&str; 18] = words!(
    "--background --detach --foreground --fork --ignore-environment --interactive --no-run-if-empty \
    --non-interactive --null --preserve-env --preserve-status --privileged --quiet --recursive --rm --tty \
    --verbose --wait"
);

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
        &words!(
            "--as --cluster --context --kubeconfig -n --namespace -s --server --token --user -v"
        ),
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

pub(super) fn by_table(words: &[String]) -> Vec<Launched> {
    let mut found = Vec::new();
    for launcher in LAUNCHERS {
        let Some(arguments) = launcher.arguments(words) else { continue };
        let starts = starts(arguments, launcher);
        found.extend(starts.into_iter().filter_map(|at| launcher.runs(arguments, at)));
    }
    found.extend(held(words));
    found
}

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
pub(in crate::shell) fn subcommands(program: &str, arguments: &[String]) -> BTreeSet<usize> {
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
