//! The differential test of the wide grammar against bash itself: whatever bash starts of an accepted text was seen by the
//! verdict, and data never becomes an option of a command whose options may write.
//!
//! Programs are generated over readers and run in a folder with some files. Commands that bash does not find end in the
//! handler, which records their words and prints: names where the command prints names, and hostile data where it prints
//! what is in files. Those that `xargs` runs are stubs that record in the same way.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use super::expand::{MARK, NAMES, NUMBER};
use super::{Reader, follow};
use crate::shell::syntax::parse;

/// Programs that are generated in a usual run, and where everything is tested.
const PROGRAMS: (u32, u32) = (3_000, 60_000);

/// Of so many programs one at least must be accepted, so that the test means something.
const ACCEPTED_ONE_OF: usize = 12;

/// Commands whose options may write or run: data must not become one.
const HARMFUL: [&str; 4] = ["sort", "uniq", "git", "sed"];

/// What every shell of the test knows before it runs a program. A line is one write, so that those of a pipeline do not mix.
const HANDLER: &str = r#"
command_not_found_handle() {
  local line= word
  builtin mapfile -t lines <"$RECORD"
  (( ${#lines[@]} > 60 )) && exit 1
  for word in "$@"; do line+=${word//$'\n'/$'\x01'}$'\x02'; done
  builtin printf '%s\n' "$line" >>"$RECORD"
  case $1 in
    ls | git | basename | pwd) builtin printf 'n1\nn 2\n' ;;
    wc) builtin printf '3\n' ;;
    *) builtin printf -- '-o out\n-oout\nrm a\n$(rm b)\n' ;;
  esac
  return $(( ${#lines[@]} % 3 == 2 ))
}
"#;

/// A stub of a program.
const STUB: &str = r#"#!/bin/bash
line=${0##*/}$'\x02'
for word in "$@"; do line+=${word//$'\n'/$'\x01'}$'\x02'; done
builtin printf '%s\n' "$line" >>"$RECORD"
"#;

struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        // xorshift64*
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let mixed = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33;
        usize::try_from(mixed).unwrap_or(0) % limit
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}

const NAMES_OF_COMMANDS: [&str; 18] = [
    "ls",
    "cat",
    "sort",
    "uniq",
    "wc",
    "grep x",
    "head",
    "basename",
    "pwd",
    "git ls-files",
    "tail",
    "echo",
    "echo",
    "printf %s",
    "sed -n 1p",
    "rm",
    "sort --",
    "true",
];
const PLAIN: [&str; 16] = [
    "a", "b", "-l", "-o", "-n", "x y", "'-o out'", "\"x y\"", "*.x", "n*", "{a,b}", "-", "5",
    "./a", "''", "-oout",
];
const VARIABLES: [&str; 16] = [
    "$v",
    "\"$v\"",
    "$w",
    "\"$w\"",
    "${v}",
    "${v%.x}",
    "\"${w##*/}\"",
    "${v:-a}",
    "\"${w:--o}\"",
    "a$v",
    "./\"$w\"",
    "$((n+1))",
    "${#v}",
    "${v/a/-o}",
    "-$v",
    "${v:=b}",
];

fn word(dice: &mut Dice, depth: usize) -> String {
    match dice.below(12) {
        0..=4 => dice.pick(&PLAIN).to_owned(),
        5..=8 => dice.pick(&VARIABLES).to_owned(),
        9 if depth > 0 => format!("$({})", list(dice, depth - 1)),
        10 if depth > 0 => format!("\"$({})\"", list(dice, depth - 1)),
        11 if depth > 0 => format!("`{}`", dice.pick(&["ls", "cat a", "echo -o", "pwd"])),
        _ => "a".to_owned(),
    }
}

fn simple(dice: &mut Dice, depth: usize) -> String {
    match dice.below(14) {
        0 | 1 => format!("v={}", word(dice, depth)),
        2 => format!("w={}", word(dice, depth)),
        3 => "n=$((n+1))".to_owned(),
        4 => format!("[ -n \"{}\" ]", dice.pick(&["$v", "$w", "a"])),
        5 => format!(
            "xargs {}{}",
            dice.pick(&["", "-n1 ", "-I{} "]),
            dice.pick(&["wc", "sort", "wc -l {}", "sort {}", "sort a", "rm"])
        ),
        6 => dice
            .pick(&["break", "read -r v", "read -r v w", "continue", "v+=' -o'", "w=(a -o)"])
            .to_owned(),
        _ => {
            let mut text = dice.pick(&NAMES_OF_COMMANDS).to_owned();
            for _ in 0..dice.below(3) {
                text.push(' ');
                text.push_str(&word(dice, depth));
            }
            if dice.below(8) == 0 {
                text.push_str(dice.pick(&[
                    " 2>/dev/null",
                    " <<< \"$v\"",
                    " < a",
                    " < <(ls)",
                    " >out",
                ]));
            }
            text
        }
    }
}

fn command(dice: &mut Dice, depth: usize) -> String {
    if depth == 0 {
        return simple(dice, depth);
    }
    let inner = depth - 1;
    match dice.below(14) {
        0 => format!(
            "for v in {} {}; do {}; done",
            word(dice, inner),
            word(dice, inner),
            list(dice, inner)
        ),
        1 => format!(
            "if {}; then {}; else {}; fi",
            list(dice, inner),
            list(dice, inner),
            list(dice, inner)
        ),
        2 => format!("while read -r v; do {}; done", list(dice, inner)),
        3 => format!("{} | while read w; do {}; done", simple(dice, inner), list(dice, inner)),
        4 => format!(
            "case {} in a) {};; *) {};; esac",
            word(dice, inner),
            list(dice, inner),
            list(dice, inner)
        ),
        5 => format!("( {} )", list(dice, inner)),
        6 => format!("{{ {}; }}", list(dice, inner)),
        7 => format!("[[ {} == {} ]] && {}", word(dice, 0), word(dice, 0), simple(dice, inner)),
        8 => format!("for ((n=0; n<2; n++)); do {}; done", list(dice, inner)),
        9 => format!("{} | {}", simple(dice, inner), simple(dice, inner)),
        10 => format!("cat <<E\n{}\nE\n", word(dice, inner)),
        _ => simple(dice, inner),
    }
}

fn list(dice: &mut Dice, depth: usize) -> String {
    let mut text = command(dice, depth);
    for _ in 0..dice.below(3) {
        let joint =
            if text.ends_with('\n') { "" } else { dice.pick(&["; ", " && ", " || ", "\n"]) };
        text.push_str(joint);
        text.push_str(&command(dice, depth));
    }
    text.trim_end_matches('\n').to_owned() + if text.ends_with("\nE\n") { "\n" } else { "" }
}

/// Whether the words that ran are those that were seen: a mark stands for any words.
fn covers(seen: &[String], ran: &[&str], harmful: bool) -> bool {
    let Some((first, rest)) = seen.split_first() else { return ran.is_empty() };
    if first.contains([MARK, NAMES]) {
        let fits = |word: &&str| !(harmful && word.starts_with('-'));
        let most = ran.iter().take_while(|word| fits(word)).count();
        return (0..=most).any(|count| covers(rest, &ran[count..], harmful));
    }
    let Some((word, more)) = ran.split_first() else { return false };
    let number = first.contains(NUMBER) && word.chars().any(|c| c.is_ascii_digit());
    // A wildcard becomes the names that it covers.
    let wild = first.contains(['*', '?', '[']);
    if wild
        && !word.starts_with('-')
        && (0..=ran.len()).any(|count| covers(rest, &ran[count..], harmful))
    {
        return true;
    }
    (first == word || number) && covers(rest, more, harmful && first != "--")
}

fn files(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// What bash started, a line each. The record is the program's own: what it leaves running may write later.
fn ran_by_bash(root: &Path, number: u32, program: &str) -> String {
    let record = root.join(format!("record-{number}"));
    fs::write(&record, "").unwrap();
    #[expect(clippy::disallowed_methods, reason = "bash is the oracle of this test")]
    let done = Command::new("timeout")
        .args(["-s", "KILL", "3", "bash", "--norc", "--noprofile", "-c", program])
        .current_dir(root.join("work"))
        .env_clear()
        .env("PATH", root.join("bin"))
        .env("BASH_ENV", root.join("handler"))
        .env("RECORD", &record)
        .env("LC_ALL", "C.UTF-8")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    done.expect("this test needs bash and timeout in PATH");
    let ran = fs::read_to_string(&record).unwrap();
    fs::remove_file(&record).unwrap();
    ran
}

#[test]
fn bash_starts_only_what_was_seen() {
    let mut dice = Dice(0x7769_6465_2073_6865);
    let (usual, all) = PROGRAMS;
    let count = tine_testkit::cases("random programs", usual, all);
    let directory = tine_testkit::scratch();
    let root = directory.path();
    for folder in ["work", "bin"] {
        fs::create_dir(root.join(folder)).unwrap();
    }
    for name in ["a", "b", "n1", "n 2", "c.x"] {
        fs::write(root.join("work").join(name), "-o out\nrm a\n").unwrap();
    }
    fs::write(root.join("handler"), HANDLER).unwrap();
    for stub in ["wc", "sort"] {
        let path = root.join("bin").join(stub);
        fs::write(&path, STUB).unwrap();
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    for real in ["/usr/bin/xargs", "/bin/bash", "/usr/bin/bash", "/usr/bin/timeout"] {
        let name = Path::new(real).file_name().unwrap();
        let _ = std::os::unix::fs::symlink(real, root.join("bin").join(name));
    }
    let before = files(&root.join("work"));
    let (mut accepted, mut started, mut wrong) = (0, 0, Vec::new());
    for number in 0..count {
        let text = list(&mut dice, 3);
        let wide = follow(&parse(&text, true), Reader::Call);
        if wide.refusal().is_some() {
            continue;
        }
        accepted += 1;
        for line in ran_by_bash(root, number, &text).lines() {
            started += 1;
            let words: Vec<&str> =
                line.strip_suffix('\u{2}').unwrap_or(line).split('\u{2}').collect();
            let words: Vec<String> = words.iter().map(|word| word.replace('\u{1}', "\n")).collect();
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let harmful = HARMFUL.contains(&words[0]);
            if !wide.seen.iter().any(|seen| covers(seen, &words, harmful)) {
                wrong.push(format!("{text:?}\n  bash ran {words:?}\n  seen {:?}", wide.seen));
            }
        }
        if files(&root.join("work")) != before {
            wrong.push(format!("{text:?} left {:?}", files(&root.join("work"))));
            break;
        }
    }
    println!(
        "{count} programs, {accepted} accepted, {started} commands started by bash, {} unseen",
        wrong.len()
    );
    wrong.sort_by_key(String::len);
    wrong.truncate(10);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let least = usize::try_from(count).unwrap_or(0) / ACCEPTED_ONE_OF;
    assert!(accepted >= least, "only {accepted} were accepted");
    assert!(started * 2 > accepted, "bash started only {started} commands");
}
