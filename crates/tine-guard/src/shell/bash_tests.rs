//! The differential test against bash itself: for every text that the grammar recognises, the words that bash runs are
//! the words that the recogniser saw.
//!
//! Programs are generated from pieces of grammar and mutated. Bash runs each in an empty directory, which is its whole `PATH`,
//! and without builtins, so that every command ends in the handler for commands that were not found, which records its words.
//! Each program runs twice: once all commands succeed, once all fail; so both sides of `&&` and `||` are seen.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use super::{SimpleCommand, commands, simple};
use crate::shell::syntax::parse;
use crate::shell::syntax::tree::{Item, Link, List};
use crate::shell::word::Word;

/// Programs that are generated in a usual run, and where everything is tested.
const PROGRAMS: (u32, u32) = (6_000, 50_000);

/// Of so many programs one at least must be recognised, so that the test means something.
const RECOGNISED_ONE_OF: usize = 8;

/// Least recognised programs that must hold each form which is easily lost among what is refused.
const FORM_MIN: usize = 6;

/// Where `~` leads.
const HOME: &str = "/home-of-nobody";

/// A value that becomes two words outside quotes.
const USER: &str = "one  two";

/// Reads programs, each ended by NUL; writes a line per command: the program's number and the words, each after a byte 2,
/// newlines as byte 1. No recognised text holds these bytes. One line is one write, so that those of a pipeline, which run at
/// the same time, do not mix.
const HARNESS: &str = r#"
record=$1 programs=$2 status=$3
command_not_found_handle() {
  builtin enable printf
  line=$number
  for word in "$@"; do line+=$'\x02'${word//$'\n'/$'\x01'}; done
  builtin printf '%s\n' "$line" >>"$record"
  return $status
}
HOME=/home-of-nobody USER='one  two'
PATH=$PWD
exec 8<"$programs"
number=0
names=()
while IFS= read -r name; do names+=("$name"); done < <(enable -a)
for line in "${names[@]}"; do
  name=${line##* }
  case $name in builtin|return|enable|eval|let|read) ;; *) enable -n "$name" ;; esac
done
builtin enable -n let
while IFS= builtin read -r -d '' -u 8 program; do
  number=$((number + 1))
  builtin eval "$program" 2>/dev/null 8<&-
done
"#;

/// A small generator of numbers, so that every run sees the same programs.
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

const NAMES: [&str; 16] = [
    "ls", "cat", "echo", "grep", "a", "x1", "printf", "test", "cd", "[", "true", "git", "if",
    "time", "let", "g++",
];
const PLAIN: [&str; 26] = [
    "a",
    "-l",
    "--all",
    "b.txt",
    "a=b",
    "1",
    "22",
    "x/y",
    "./z",
    "-",
    "--",
    "@{u}",
    "HEAD~1",
    "HEAD^",
    "a:b",
    "é",
    "日本",
    "%s",
    "+x",
    "a,b",
    "main..x",
    "stash@{0}",
    "a#b",
    "=",
    "]",
    "-n5",
];
const ODD: [&str; 40] = [
    "*", "a*", "?", "[ab]", "[", "a[", "~", "~/x", "~a", "x~", "a=~", "!", "!=", "!a", "{a,b}",
    "{a}", "{1..3}", "a{", "}", "@{a,b}", "$", "$a", "$(a)", "`a`", "\\", "\\a", "\\ ", "\\\\",
    "\\$", "\\'", "\\\"", "a\\*", "\\#", "#", "# x", "\\~", "^", "\\\n", "é\\é", "\\-",
];
const SINGLE: [&str; 12] = [
    "''",
    "'a b'",
    "'$a'",
    "'`'",
    "'\"'",
    "'a\nb'",
    "'\\'",
    "'#'",
    "'é'",
    "';'",
    "'*'",
    "'a'\\''b'",
];
const DOUBLE: [&str; 22] = [
    "\"\"",
    "\"a b\"",
    "\"$\"",
    "\"a$\"",
    "\"$a\"",
    "\"\\$a\"",
    "\"\\\\\"",
    "\"\\\"\"",
    "\"\\n\"",
    "\"'\"",
    "\"*\"",
    "\"~\"",
    "\"!\"",
    "\"a!b\"",
    "\"$ \"",
    "\"$|x\"",
    "\"a$)\"",
    "\"$/\"",
    "\"$.\"",
    "\"\\`\"",
    "\"a\nb\"",
    "\"{a,b}\"",
];
const BETWEEN: [&str; 18] = [
    " ; ",
    ";",
    " && ",
    "&&",
    " || ",
    "||",
    " | ",
    "|",
    "\n",
    "\n\n",
    " \n ",
    " & ",
    " |& ",
    ";;",
    " | \n ",
    " && # x\n",
    ";\n",
    " # c\n",
];
const REDIRECTS: [&str; 24] = [
    ">/dev/null",
    "> /dev/null",
    "2>/dev/null",
    "2>&1",
    ">&2",
    "&>/dev/null",
    "&>>/dev/null",
    ">&/dev/null",
    "</dev/null",
    "1>&2",
    ">&1",
    "2>>/dev/null",
    "< /dev/null",
    "0</dev/null",
    ">& 2",
    ">a",
    "<a",
    "2>&-",
    "<&0",
    ">|/dev/null",
    "2> /dev/null",
    ">>/dev/null",
    "22>/dev/null",
    "{a}>/dev/null",
];
const VARIABLES: [&str; 20] = [
    "$?",
    "\"$?\"",
    "$HOME",
    "\"$HOME\"",
    "\"$HOME/x\"",
    "$USER",
    "\"$USER\"",
    "${USER}",
    "\"${USER} x\"",
    "$PWD/a",
    "\"$PATH\"",
    "\"$PWD\"",
    "$HOMER",
    "${HOME:-a}",
    "$a$USER",
    "${?}",
    "\"x$?y\"",
    "$USER$?",
    "$$",
    "$USER[",
];
const BRACES: [&str; 20] = [
    "{a,b}",
    "x/{a,b}.c",
    "{a,b}{c,d}",
    "{a,{b,c}d}",
    "a{,b}",
    "{,a}",
    "{1..3}",
    "{3..1}",
    "{01..3}",
    "{a,b",
    "a,b}",
    "{a,b}}",
    "{*,b}",
    "--x={a,b}",
    "@{a,b}",
    "{a..c}",
    "{a,$HOME}",
    "{1..2,x}",
    "{a,\"b c\"}",
    "{-,+}{-,+}",
];
const HERE: [&str; 12] = [
    "<<'EOF'",
    "<<\"EOF\"",
    "<< 'EOF'",
    "<<'EOF'",
    "<<-'EOF'",
    "<<EOF",
    "<<'E F'",
    "<<<a",
    "<<< \"$USER b\"",
    "<<< 'a\nb'",
    "<<'EOF'x",
    "0<<'EOF'",
];
const BODIES: [&str; 10] = [
    "\nEOF\n",
    "\na; b\nEOF\n",
    "\n$(a) `b`\nEOF",
    "\n EOF\nEOF \nEOF\nls\n",
    "\n'\nEOF\n",
    "\n\\\nEOF\n",
    "\nEOFX\nEOF\n",
    "\n<<'EOF'\nEOF\n",
    "\nx",
    "\n\tEOF\nEOF\ngrep a\n",
];
const ANSI: [&str; 8] =
    ["$'a'", "$'\\t'", "$'a\\nb'", "$'\\''", "$'\\\\\"\\\"'", "$'\\x41'", "$''", "$'`$a'"];
const NOISE: [&str; 30] = [
    " ", "  ", "\t", "\n", "\r", "\u{b}", "\u{c}", "\u{1}", "\u{7f}", "\u{a0}", "\u{200b}",
    "\u{85}", "'", "\"", "\\", "$", "`", "(", ")", "{", "}", "*", "~", "!", "#", "&", ";", "|",
    "<", ">",
];

fn word(dice: &mut Dice) -> String {
    let mut word = String::new();
    for _ in 0..=dice.below(3) / 2 + dice.below(2) {
        word.push_str(match dice.below(15) {
            0..=5 => dice.pick(&PLAIN),
            6 | 7 => dice.pick(&SINGLE),
            8 | 9 => dice.pick(&DOUBLE),
            10 => dice.pick(&VARIABLES),
            11 => dice.pick(&BRACES),
            12 if dice.below(2) == 0 => dice.pick(&ANSI),
            _ => dice.pick(&ODD),
        });
    }
    word
}

fn program(dice: &mut Dice) -> String {
    let mut text = String::new();
    for command in 0..=dice.below(4) {
        if command > 0 {
            text.push_str(dice.pick(&BETWEEN));
        }
        if dice.below(20) == 0 {
            text.push_str("! ");
        }
        if dice.below(16) == 0 {
            text.push_str(dice.pick(&["time ", "time -p ", "time  ", "time -- ", "time -p -p "]));
        }
        if dice.below(25) == 0 {
            text.push_str(dice.pick(&REDIRECTS));
            text.push(' ');
        }
        text.push_str(dice.pick(&NAMES));
        for _ in 0..dice.below(5) {
            text.push_str(if dice.below(12) == 0 { "  " } else { " " });
            if dice.below(6) == 0 {
                text.push_str(dice.pick(&REDIRECTS))
            } else {
                text.push_str(&word(dice))
            }
        }
    }
    if dice.below(10) == 0 {
        text.push(' ');
        text.push_str(dice.pick(&HERE));
        text.push_str(dice.pick(&[
            "",
            "",
            " a",
            " | a",
            "; ls",
            " && ls -l",
            " # x",
            " |",
            " &&",
            " 'a\nb'",
        ]));
        text.push_str(dice.pick(&BODIES));
    }
    if dice.below(8) == 0 {
        text.push_str(dice.pick(&[" ", "\n", ";", " # end", " &", "\\"]));
    }
    // A third is damaged: what comes out is often still accepted by bash, and seldom what was meant.
    for _ in 0..dice.below(9) / 6 * (1 + dice.below(2)) {
        let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        let at = places[dice.below(places.len())];
        if dice.below(2) == 0 {
            text.insert_str(at, dice.pick(&NOISE));
        } else {
            text.remove(at);
        }
        if text.is_empty() {
            text.push('a');
        }
    }
    text
}

/// Whether what bash runs depends on more than the text: files that exist, and inputs that are opened.
fn depends_on_files(commands: &[SimpleCommand]) -> bool {
    commands.iter().any(|command| {
        command
            .words
            .iter()
            .any(|word| word.glob.is_some() && (word.text.contains('/') || !word.is_known()))
            || command
                .inputs
                .iter()
                .any(|input| !matches!(input.text.as_str(), "/dev/null" | "/dev/stdin"))
    })
}

/// The words of the commands that run when each returns `status`, sorted, because those of a pipeline come in any order.
fn expected(text: &str, list: &List, status: u8, directory: &str) -> Vec<Vec<String>> {
    let mut ran = Vec::new();
    let mut succeeded = true;
    for Item { link, pipeline, .. } in list {
        let runs = match link {
            Link::Sequence => true,
            Link::And => succeeded,
            Link::Or => !succeeded,
        };
        if runs {
            let words = |command| {
                let one = |word| expanded(word, succeeded, directory);
                simple(command).unwrap().words.iter().flat_map(one).collect::<Vec<String>>()
            };
            ran.extend(pipeline.iter().map(words));
            let before = text[..pipeline[0].at].trim_end_matches([' ', '\t']);
            succeeded = (status == 0) != before.ends_with('!');
        }
    }
    ran.sort();
    ran
}

/// The words that one word becomes, after a command that succeeded or failed.
fn expanded(word: &Word, succeeded: bool, directory: &str) -> Vec<String> {
    let mut out = String::new();
    let mut done = 0;
    for variable in &word.variables {
        out.push_str(&word.text[done..variable.start]);
        let value = match variable.name.as_str() {
            "HOME" => HOME,
            "USER" => USER,
            "?" => ["1", "0"][usize::from(succeeded)],
            "PWD" | "PATH" => directory,
            other => panic!("{other} has no value here"),
        };
        out.push_str(&if variable.quoted { value.to_owned() } else { value.replace(' ', "\0") });
        done = variable.end;
    }
    out.push_str(&word.text[done..]);
    if word.tilde {
        out = out.replacen('~', HOME, 1);
    }
    if !out.contains('\0') {
        return vec![out];
    }
    out.split('\0').filter(|piece| !piece.is_empty()).map(str::to_owned).collect()
}

/// What bash ran of each program.
fn ran_by_bash(directory: &Path, programs: &[&str], status: u8) -> Vec<Vec<Vec<String>>> {
    let (record, list) = (directory.join("record"), directory.join("programs"));
    fs::write(&record, "").unwrap();
    fs::write(
        &list,
        programs.iter().flat_map(|text| [text.as_bytes(), b"\0"]).collect::<Vec<_>>().concat(),
    )
    .unwrap();
    let empty = directory.join("empty");
    fs::create_dir_all(&empty).unwrap();
    #[expect(clippy::disallowed_methods, reason = "bash is the oracle of this test")]
    let done = Command::new("bash")
        .args(["--norc", "--noprofile", "-c", HARNESS, "harness"])
        .args([record.as_os_str(), list.as_os_str()])
        .arg(status.to_string())
        .current_dir(&empty)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("LC_ALL", "C.UTF-8")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .output()
        .expect("this test needs bash in PATH");
    assert!(fs::read_dir(&empty).unwrap().next().is_none(), "a program left a file behind");
    let record = String::from_utf8(fs::read(&record).unwrap()).unwrap();
    let mut ran = vec![Vec::new(); programs.len()];
    for line in record.lines() {
        let mut fields = line.split('\u{2}');
        let number: usize = fields.next().unwrap().parse().unwrap();
        ran[number - 1]
            .push(fields.map(|word| word.replace('\u{1}', "\n")).collect::<Vec<String>>());
    }
    for commands in &mut ran {
        commands.sort();
    }
    assert!(
        ran.iter().any(|ran| !ran.is_empty()),
        "bash ran nothing: {}",
        String::from_utf8_lossy(&done.stderr)
    );
    ran
}

#[test]
fn bash_runs_the_words_that_were_recognised() {
    let mut dice = Dice(0x7469_6e65_2073_6865);
    let (usual, all) = PROGRAMS;
    let count = tine_testkit::cases("random programs", usual, all);
    let texts: Vec<String> = (0..count).map(|_| program(&mut dice)).collect();
    let mut skipped = 0;
    let recognised: Vec<(&str, List)> = texts
        .iter()
        .map(|text| (text.as_str(), parse(text, true)))
        .filter(|(_, parsed)| parsed.strict.is_none())
        .map(|(text, parsed)| (text, parsed.list))
        .filter(|(_, list)| {
            let skip = depends_on_files(&commands(list).unwrap());
            skipped += usize::from(skip);
            !skip
        })
        .collect();
    let directory = tine_testkit::scratch();
    let empty = directory.path().canonicalize().unwrap().join("empty");
    let empty = empty.to_str().unwrap();
    let programs: Vec<&str> = recognised.iter().map(|(text, _)| *text).collect();
    let mut differences = Vec::new();
    for status in [0, 1] {
        let ran = ran_by_bash(directory.path(), &programs, status);
        for ((text, list), ran) in recognised.iter().zip(ran) {
            let expected = expected(text, list, status, empty);
            if ran != expected {
                differences.push(format!(
                    "{text:?} (status {status})\n  bash: {ran:?}\n  ours: {expected:?}"
                ));
            }
        }
    }
    println!(
        "{count} programs, {} recognised and run twice, {skipped} left out because they depend on files, {} differences",
        recognised.len(),
        differences.len()
    );
    for form in ["$?", "$HOME", "${", "$'", "{a,", "..", "<<'", "<<<", "time "] {
        let count = programs.iter().filter(|text| text.contains(form)).count();
        println!("{count} of the recognised hold `{form}`");
        assert!(count >= FORM_MIN, "only {count} recognised programs hold {form:?}");
    }
    let count = differences.len();
    differences.truncate(20);
    assert!(differences.is_empty(), "{count} differences:\n{}", differences.join("\n"));
    let least = texts.len() / RECOGNISED_ONE_OF;
    assert!(recognised.len() >= least, "only {} were recognised", recognised.len());
}
