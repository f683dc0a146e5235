//! The second oracle: accepted commands are run in a throw-away directory, and leave no trace there.
//!
//! Run are the plain corpus, and for every utility of the tables each of its options, beside files that are there and
//! names that are not. Before and after, the tree is compared: names, kinds, modes, times of change and contents.
//!
//! Commands find the programs of a written list and no others: what else a machine has may keep files of its own about what it
//! reads, which only the wall stops. What of the list is not installed is named as not run.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tine_testkit::{not_run, scratch, share};

use super::{TABLES, Utility};
use crate::shell::git;
use crate::shell::{Width, shell_verdict};

/// Longest run of one command, in seconds; some read a whole machine.
const SECONDS_MAX: &str = "5";

/// Trees that are used at the same time; each command has one for itself.
const WORKERS: usize = 4;

/// Those that commands find: of Debian's base, git, and a few small ones.
const PROGRAMS: &str = "\
    arch awk b2sum base32 base64 basename bash bc bunzip2 bzcat bzip2 cat cksum cmp column comm cp cut date \
    diff diff3 dir dirname du echo egrep env expand expr factor false fgrep file find fmt fold free \
    getconf getent git grep groups gunzip gzip hd head hexdump hostname iconv id join jq ln locale look ls \
    lsattr mawk md5sum mkdir mktemp mv namei nice nl nm nohup nproc numfmt objdump od paste perl \
    pr printenv printf pwd readelf readlink realpath rev rm sed seq sh sha1sum sha256sum shuf size \
    sleep sort stat strings tac tail tar tee test timeout touch tr true tsort tty uname unexpand uniq unxz unzip \
    unzstd vdir wc whereis which whoami xargs xxd xz xzcat zcat zipinfo zstd [";

/// The directory with them, beside the sample.
const PROGRAMS_DIRECTORY: &str = "programs";

/// Git's index, and the folder in which it is replaced.
const INDEX: [&str; 2] = ["work/.git", "work/.git/index"];

/// Makes the sample tree: files, archives, and a repository with some history.
const SAMPLE: &str = r#"
set -e
mkdir -p work/src work/docs work/tests work/.github/workflows home tmp
cd work
printf 'one\ntwo\nthree\n' >a; printf 'one\nfour\n' >b; printf 'x\n' >c; cp a a.txt; cp a 'file with spaces.txt'
printf '3 c\n1 a\n2 b\n' >numbers; printf 'a,b\n1,2\n' >data.csv; printf 'a b\nb c\n' >deps
printf '{"a":[{"b":2}],"version":"1","dependencies":{}}\n' | tee a.json x.json >package.json
printf 'fn main() {\n    // TODO\n}\n' >src/main.rs; cp src/main.rs src/lib.rs; printf '[package]\nversion = "1"\n' >Cargo.toml
printf '# A\n' >README.md; cp README.md docs/a.md; : >empty; ln -s a link; sha256sum a >sums.txt
tar -cf a.tar a b; tar -czf a.tgz a b; gzip -k c; mv c.gz a.gz
export GIT_AUTHOR_DATE='2024-01-01T00:00:00Z' GIT_COMMITTER_DATE='2024-01-01T00:00:00Z'
git init -q -b main; git add a src Cargo.toml README.md; git commit -qm one
echo more >>b; git add b; git commit -qm two; git tag v1.0.0; git branch feature; echo x >>a; git stash -q; echo y >>README.md
git remote add origin https://example.invalid/x.git
touch -d '2024-01-01' $(git ls-files); git status >/dev/null
"#;

#[derive(Debug, PartialEq, Eq)]
struct Entry {
    mode: u32,
    modified: (i64, i64),
    content: Vec<u8>,
}

fn snapshot(root: &Path) -> BTreeMap<String, Entry> {
    let mut entries = BTreeMap::new();
    let mut open = vec![root.to_path_buf()];
    while let Some(path) = open.pop() {
        let data = fs::symlink_metadata(&path).unwrap();
        let content = if data.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            Vec::new()
        } else if data.is_symlink() {
            fs::read_link(&path).unwrap().to_string_lossy().into_owned().into_bytes()
        } else {
            fs::read(&path).unwrap()
        };
        let entry =
            Entry { mode: data.mode(), modified: (data.mtime(), data.mtime_nsec()), content };
        entries.insert(path.strip_prefix(root).unwrap().to_string_lossy().into_owned(), entry);
    }
    entries
}

/// Links the programs of the list where commands look for them; the ones that are not installed.
fn link_programs(root: &Path) -> Vec<&'static str> {
    let directory = root.join(PROGRAMS_DIRECTORY);
    fs::create_dir(&directory).unwrap();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let link = |name: &str| {
        let mut files = places.iter().map(|place| place.join(name));
        let file = files.find(|file| file.is_file());
        file.is_some_and(|file| symlink(file, directory.join(name)).is_ok())
    };
    PROGRAMS.split_whitespace().filter(|name| !link(name)).collect()
}

fn bash(root: &Path, directory: &str, text: &str) -> std::process::Output {
    #[expect(clippy::disallowed_methods, reason = "the test watches what commands do")]
    Command::new("timeout")
        .args(["-s", "KILL", SECONDS_MAX, "bash", "--norc", "--noprofile", "-c", text])
        .current_dir(root.join(directory))
        .env_clear()
        .env("PATH", root.join(PROGRAMS_DIRECTORY))
        .env("HOME", root.join("home"))
        .env("TMPDIR", root.join("tmp"))
        .env("LC_ALL", "C.UTF-8")
        // Git's own word for readers that must not write down what they learned of the files' times.
        .env("GIT_OPTIONAL_LOCKS", "0")
        .envs([("GIT_AUTHOR_NAME", "n"), ("GIT_AUTHOR_EMAIL", "n@example.invalid")])
        .envs([("GIT_COMMITTER_NAME", "n"), ("GIT_COMMITTER_EMAIL", "n@example.invalid")])
        .stdin(Stdio::null())
        .output()
        .expect("this test needs bash and timeout in PATH")
}

/// Every option of a utility, alone, with a value, with a file that is there and with a name that is not.
fn of_utility(prefix: &str, utility: &Utility) -> Vec<String> {
    let mut forms: Vec<String> = ["", "a", "a new", "new", "HEAD"].map(str::to_owned).to_vec();
    let letters = utility.options.short.chars().filter(|letter| !matches!(letter, ':' | '<'));
    for letter in letters {
        forms.extend(["", " a new", " 1 a new"].map(|rest| format!("-{letter}{rest}")));
    }
    for long in utility.options.long {
        let name = long.trim_end_matches(['<', '=', ']', '[']);
        forms.extend([" a new", "=1 a"].map(|rest| format!("--{name}{rest}")));
    }
    forms.iter().map(|form| format!("{prefix}{} {form}", utility.name)).collect()
}

/// The commands to run: accepted ones only, each once, by name.
fn commands() -> Vec<String> {
    let plain = include_str!("../../tests/corpus/plain.txt").lines();
    let plain =
        plain.skip_while(|line| !line.starts_with("= ")).filter(|line| !line.starts_with("= "));
    let mut all: Vec<String> =
        plain.map(|line| line.replace('⏎', "\n").replace('⇥', "\t")).collect();
    for utility in TABLES.iter().flat_map(|table| table.iter()) {
        all.extend(of_utility("", utility));
    }
    for utility in git::utilities() {
        all.extend(of_utility("git ", utility));
    }
    for part in super::find::parts() {
        all.extend(["", " 1", " a", " f"].map(|value| format!("find . {part}{value}")));
    }
    all.retain(|text| shell_verdict(text, Width::Strict).read_only && !text.contains("sleep"));
    share("accepted commands", 0, all.iter().collect::<BTreeSet<_>>().into_iter().cloned())
}

/// The traces that one worker's share of the commands left.
fn traces(commands: &[String]) -> Vec<String> {
    let directory = scratch();
    let root = directory.path();
    link_programs(root);
    let made = bash(root, ".", SAMPLE);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let staged = || bash(root, "work", "git ls-files --stage").stdout;
    let (mut before, staged_before) = (snapshot(root), staged());
    let mut found = Vec::new();
    for text in commands {
        bash(root, "work", text);
        let after = snapshot(root);
        if after != before {
            let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
            let changed: Vec<&String> =
                names.into_iter().filter(|name| before.get(*name) != after.get(*name)).collect();
            // Git notes in its index when it last looked at a file; what is staged must stay the same.
            let only_times = changed.iter().all(|name| INDEX.contains(&name.as_str()));
            if !only_times || staged() != staged_before {
                found.push(format!("{text:?} changed {changed:?}"));
            }
            before = after;
        }
    }
    found
}

/// All texts of the corpora that the wide verdict accepts and the strict one does not.
fn wide_commands() -> Vec<String> {
    let corpora = [
        include_str!("../../tests/corpus/wide.txt"),
        include_str!("../../tests/corpus/wide_reads.txt"),
        include_str!("../../tests/corpus/wide_dangerous.txt"),
    ];
    let lines = corpora.iter().flat_map(|corpus| {
        corpus
            .lines()
            .skip_while(|line| !line.starts_with("= "))
            .filter(|line| !line.starts_with("= "))
    });
    let mut all: Vec<String> =
        lines.map(|line| line.replace('⏎', "\n").replace('⇥', "\t")).collect();
    all.retain(|text| {
        shell_verdict(text, Width::Wide).read_only && !shell_verdict(text, Width::Strict).read_only
    });
    all
}

#[test]
fn programs_that_the_wide_verdict_accepts_leave_no_trace() {
    let commands = wide_commands();
    assert!(commands.len() > 350, "{} programs", commands.len());
    leave_no_trace("accepted programs", &commands);
}

#[test]
fn accepted_commands_leave_no_trace() {
    leave_no_trace("accepted commands", &commands());
}

/// Runs the commands, several at the same time.
fn leave_no_trace(what: &str, commands: &[String]) {
    let directory = scratch();
    let missing = link_programs(directory.path());
    if !missing.is_empty() {
        let why = format!("not installed: {}", missing.join(" "));
        not_run("programs", &format!("{what} with {} programs", missing.len()), &why);
    }
    let found = in_shares(commands);
    println!("{} {what} were run", commands.len());
    assert!(found.is_empty(), "{} left a trace:\n{}", found.len(), found.join("\n"));
}

/// The traces that the commands left, run by several at the same time.
fn in_shares(commands: &[String]) -> Vec<String> {
    let shares: Vec<Vec<String>> = (0..WORKERS)
        .map(|worker| commands.iter().skip(worker).step_by(WORKERS).cloned().collect())
        .collect();
    std::thread::scope(|scope| {
        let workers: Vec<_> = shares.iter().map(|share| scope.spawn(|| traces(share))).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    })
}
