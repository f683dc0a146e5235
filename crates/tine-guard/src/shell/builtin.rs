//! Commands that bash runs itself, and those that take any word: `echo`, `printf`, `test`, `cd`, `command`, `expr`.

use super::options::Options;
use super::refusal::Refusal;
use super::utility::ReadPath;
use super::word::{Word, refuse};

type Judged = Result<Vec<ReadPath>, Refusal>;

/// `echo`: prints its words, whatever they are.
pub(super) fn echo(_arguments: &[Word]) -> Judged {
    Ok(Vec::new())
}

/// `expr`: computes with its words and prints.
pub(super) fn expr(_arguments: &[Word]) -> Judged {
    Ok(Vec::new())
}

/// `printf`: `-v` and `%n` would set a variable.
pub(super) fn printf(arguments: &[Word]) -> Judged {
    let (arguments, dashes) = match arguments {
        [dashes, rest @ ..] if dashes.text == "--" => (rest, true),
        all => (all, false),
    };
    let Some(format) = arguments.first() else { return Ok(Vec::new()) };
    if (format.text.starts_with('-') && !dashes) || format.glob.is_some() || !format.is_known() {
        return refuse(format, "the format must be plain text");
    }
    match bad_conversion(&format.text) {
        None => Ok(Vec::new()),
        Some(bad) => Err(Refusal::new(format.at, bad, "a conversion that may set a variable")),
    }
}

/// The first conversion that is not known to only print. Not `%(…)T`: bash takes what is wrong between the parentheses for the
/// format again.
fn bad_conversion(format: &str) -> Option<&str> {
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        let tail = &rest[at + 1..];
        let spec =
            tail.trim_start_matches(|c: char| c.is_ascii_digit() || "#-+ 0'.*hlLjtz".contains(c));
        let used = match spec.as_bytes().first() {
            Some(
                b'%' | b's' | b'b' | b'q' | b'Q' | b'c' | b'd' | b'i' | b'o' | b'u' | b'x' | b'X'
                | b'e' | b'E' | b'f' | b'F' | b'g' | b'G' | b'a' | b'A',
            ) => Some(1),
            _ => None,
        };
        let Some(used) = used else { return Some(&rest[at..]) };
        rest = &spec[used..];
    }
    None
}

/// Tests of one file. Not `-w` and `-x`: behind a wall nothing is written and no program of the project starts, so that they would answer
/// wrongly.
const FILE_TESTS: [&str; 17] = [
    "-a", "-b", "-c", "-d", "-e", "-f", "-g", "-h", "-k", "-p", "-r", "-s", "-u", "-G", "-L", "-O",
    "-S",
];

/// Whether it tests one word, in `[[ … ]]` as well.
pub(super) fn is_test_of_one(operator: &str) -> bool {
    FILE_TESTS.contains(&operator) && operator != "-a" || matches!(operator, "-n" | "-z" | "-t")
}

/// Other operators. Not `-v` and `-R`: bash runs code in the subscript of a variable's name.
const OTHER_TESTS: [&str; 14] =
    ["-n", "-z", "-t", "-o", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef", "-N"];

/// What compares two texts.
const COMPARISONS: [&str; 3] = ["=", "==", "!="];

/// Whether the number of words and the operators alone decide what is tested, so that a word between them may be anything.
fn places_are_certain(arguments: &[Word]) -> bool {
    let arguments = match arguments {
        [not, rest @ ..] if not.text == "!" => rest,
        all => all,
    };
    let one_test = |word: &Word| {
        FILE_TESTS.contains(&word.text.as_str()) && word.text != "-a"
            || matches!(word.text.as_str(), "-n" | "-z")
    };
    let plain = |word: &Word| word.stays_whole() && word.glob.is_none();
    match arguments {
        [one] => plain(one),
        [test, one] => one_test(test) && plain(one),
        [one, operator, other] => {
            COMPARISONS.contains(&operator.text.as_str()) && plain(one) && plain(other)
        }
        _ => false,
    }
}

/// `test`.
pub(super) fn test(arguments: &[Word]) -> Judged {
    let mut paths = Vec::new();
    let unknown = arguments.iter().find(|word| !word.is_known());
    // Digits are never an operator.
    let digits = arguments.iter().all(|word| word.is_status() && word.glob.is_none());
    if let Some(unknown) = unknown.filter(|_| !digits && !places_are_certain(arguments)) {
        return Err(unknown.refuse_unknown());
    }
    for (index, word) in arguments.iter().enumerate() {
        let option = word.text.starts_with('-') && word.text.len() > 1;
        let number = option && word.text[1..].bytes().all(|b| b.is_ascii_digit());
        let known =
            FILE_TESTS.contains(&word.text.as_str()) || OTHER_TESTS.contains(&word.text.as_str());
        if option && !number && !known {
            return refuse(word, "not on the list of tests");
        }
        if word.glob.is_some_and(|at| at == 0 || option) {
            return refuse(word, "a wildcard here may become an operator");
        }
        let before = index.checked_sub(1).map(|before| arguments[before].text.as_str());
        if !option && before.is_some_and(|before| FILE_TESTS.contains(&before)) {
            paths.push(ReadPath::of(word, false));
        }
    }
    Ok(paths)
}

/// `[`: `test` with a closing bracket.
pub(super) fn bracket(arguments: &[Word]) -> Judged {
    match arguments.split_last() {
        Some((last, rest)) if last.text == "]" => test(rest),
        Some((last, _)) => refuse(last, "`[` must end with `]`"),
        None => Err(Refusal::new(0, "[", "`[` must end with `]`")),
    }
}

/// `cd` to a directory that is named; it changes nothing but where later words lead.
pub(super) fn cd(arguments: &[Word]) -> Judged {
    let arguments = match arguments {
        [dashes, rest @ ..] if dashes.text == "--" => rest,
        all => all,
    };
    match arguments {
        [] => {
            let home = ReadPath {
                text: "~".into(),
                glob: false,
                tilde: true,
                contents: false,
                moves: true,
            };
            Ok(vec![home])
        }
        [target]
            if target.glob.is_none()
                && target.stays_whole()
                && !target.text.starts_with('-')
                && !target.text.is_empty() =>
        {
            Ok(vec![ReadPath { moves: true, ..ReadPath::of(target, false) }])
        }
        [target, ..] => refuse(target, "`cd` may only go to one directory that is named"),
    }
}

const COMMAND: Options = Options {
    short: "vV",
    long: &[],
    numbers: false,
    attached: false,
    any_harmless: false,
    takes_dashes: &[],
};

/// `command`: only to ask where a command is.
pub(super) fn command(arguments: &[Word]) -> Judged {
    let asks = arguments.first().is_some_and(|word| matches!(word.text.as_str(), "-v" | "-V"));
    if !asks {
        return Err(Refusal::new(
            arguments.first().map_or(0, |word| word.at),
            arguments.first().map_or("command", |word| &word.text),
            "`command` may only ask with -v or -V",
        ));
    }
    COMMAND.parse(arguments).map(|_| Vec::new())
}
