//! What is known of the text that a command prints: whether it is a number, or names that are there already.
//!
//! This decides whether the text may become the word of a command with harmful options. Where nothing is known, it may be
//! anything.

use super::expand::MARK;
use super::value::Value;
use crate::shell::word::Word;

/// Commands that print names of files and the like, whatever their operands are: the files must be there.
const NAMERS: [&str; 7] = ["arch", "fd", "fdfind", "hostname", "logname", "pwd", "whoami"];

/// Commands that print lines as they got them.
const PASSERS: [&str; 7] = ["cat", "head", "sort", "tac", "tail", "tee", "uniq"];

/// What the command prints; `None` where it prints nothing.
pub(super) fn of(name: &str, arguments: &[Word], input: &Value) -> Option<Value> {
    let has = |option: &str| arguments.iter().any(|word| word.text == option);
    let operands = || arguments.iter().filter(|word| !word.text.starts_with('-'));
    let letters = |letter: char| {
        arguments.iter().any(|word| {
            word.text.starts_with('-') && !word.text.starts_with("--") && word.text.contains(letter)
        })
    };
    let words: Vec<&str> = arguments.iter().map(|word| word.text.as_str()).collect();
    Some(match name {
        "cd" | "true" | "false" | "test" | "[" | "sleep" => return None,
        "seq" if arguments.iter().all(|word| super::value::is_number(&word.text)) => Value::Number,
        "nproc" => Value::Number,
        "wc" if operands().next().is_none() => match arguments {
            [only] if matches!(only.text.as_str(), "-l" | "-w" | "-c" | "-m") => Value::Number,
            _ => Value::Numbered,
        },
        "wc" => Value::Numbered,
        "date" if matches!(arguments, [only] if only.text == "+%s" || only.text == "+%Y") => {
            Value::Number
        }
        "id" if matches!(arguments, [only] if only.text == "-u" || only.text == "-g") => {
            Value::Number
        }
        "stat" => match words.as_slice() {
            ["-c", "%s" | "%Y" | "%a", _] | ["-c%s" | "-c%Y" | "-c%a", _] => Value::Number,
            _ => Value::Any,
        },
        "find" if !has("-printf") && !has("-ls") && plain_operands(arguments) => Value::Names,
        "ls" if !letters('l') && plain_operands(arguments) => Value::Names,
        "basename" | "dirname" | "realpath" | "readlink" | "which" if plain_operands(arguments) => {
            Value::Names
        }
        "rg" if !letters('l') => Value::Any,
        "grep" | "egrep" | "fgrep" | "rg" => of_search(arguments, input),
        name if NAMERS.contains(&name) => Value::Names,
        "git" => of_git(arguments),
        name if PASSERS.contains(&name) => {
            let values = matches!(name, "head" | "tail");
            let files = operands().any(|word| !(values && super::value::is_number(&word.text)));
            if files || name == "uniq" && letters('c') {
                Value::Any
            } else {
                input.clone().without_texts()
            }
        }
        "cut" | "awk" | "gawk" | "mawk" => of_field(name, arguments, input),
        "tr" if has("-d") => match arguments.last().map(|word| word.text.as_str()) {
            Some(" " | "[:space:]" | "\\n" | "\n" | "\r" | "\\r" | " \n" | " \\n") => {
                input.clone().without_texts()
            }
            _ => Value::Any,
        },
        _ => Value::Any,
    })
}

/// Whether no operand could be printed as an option: `basename x/-o` prints `-o`.
fn plain_operands(arguments: &[Word]) -> bool {
    let mut behind = false;
    arguments.iter().all(|word| {
        behind |= word.text == "--";
        let hidden = word.text.contains("/-") || word.text.contains(char::is_whitespace);
        let dashes = behind && word.text.starts_with('-') && word.text != "--";
        let given = word.text.contains('=') && word.text.starts_with("--");
        !(hidden || dashes || given) && word.is_known()
    })
}

/// `grep` passes lines on, counts them, or names files.
fn of_search(arguments: &[Word], input: &Value) -> Value {
    let letters: String = arguments
        .iter()
        .filter(|word| word.text.starts_with('-') && !word.text.starts_with("--"))
        .map(|word| word.text.as_str())
        .collect();
    let long = arguments.iter().any(|word| word.text.starts_with("--"));
    let operands = arguments.iter().filter(|word| !word.text.starts_with('-')).count();
    if letters.contains(['l', 'L']) && plain_operands(arguments) && !long {
        return Value::Names;
    }
    // A pattern and at most one file, so that no name stands before the number.
    let plain = letters.chars().all(|c| "-cnivwxEFPsm123456789".contains(c))
        && operands <= 2
        && arguments.iter().all(|word| word.glob.is_none());
    if letters.contains('c') && plain && !long {
        return Value::Number;
    }
    if letters.contains('n') && plain && !long {
        return Value::Numbered;
    }
    if operands <= 1 && !letters.contains(['o', 'r', 'R', 'f', 'e']) && !long {
        return input.clone().without_texts();
    }
    Value::Any
}

/// Git's names of files, commits and branches. None of them may begin with a dash.
fn of_git(arguments: &[Word]) -> Value {
    const PLAIN: [&str; 22] = words!(
        "--short --abbrev-ref --show-toplevel --verify --quiet -q --name-only -r --cached --others --exclude-standard \
        -o -c -m --staged --show-current --tags --abbrev=0 -z --oneline --merged --max-parents=0"
    );
    let mut rest = arguments.iter().skip_while(|word| word.text.starts_with('-'));
    let Some(name) = rest.next() else { return Value::Any };
    let words: Vec<&str> = rest.map(|word| word.text.as_str()).collect();
    let plain_format = |word: &str| {
        let format =
            word.strip_prefix("--format=").or_else(|| word.strip_prefix("--pretty=format:"));
        format.is_some_and(|format| {
            let fields = ["%h", "%H", "%ct", "%at", "", "%(refname)", "%(refname:short)"];
            fields.contains(&format)
        })
    };
    let limit = |word: &str| {
        word.strip_prefix('-').is_some_and(|rest| {
            let rest = rest.strip_prefix('n').unwrap_or(rest);
            !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    let known = |word: &&str| {
        !word.starts_with('-')
            || PLAIN.contains(word)
            || plain_format(word)
            || limit(word)
            || matches!(*word, "-n" | "--all" | "--reverse" | "--diff-filter=d" | "--first-parent")
            || *word == "--"
            || *word == "--count"
    };
    let all = words.iter().all(known);
    let says = |word: &str| words.contains(&word);
    match name.text.as_str() {
        "rev-list" if says("--count") && all => Value::Number,
        // It prints words that it does not know as they are.
        "rev-parse" => {
            let known =
                ["--short", "--abbrev-ref", "--show-toplevel", "--verify", "--git-dir", "-q"];
            if words.iter().all(|word| known.contains(word) || !word.starts_with('-')) {
                Value::Names
            } else {
                Value::Any
            }
        }
        "rev-list" | "merge-base" | "symbolic-ref" | "ls-files" | "describe" | "tag"
        | "hash-object" | "write-tree"
            if all && !words.iter().any(|word| word.contains(MARK) && word.starts_with('-')) =>
        {
            Value::Names
        }
        "ls-tree" | "diff" | "show" | "diff-tree" if says("--name-only") && all => {
            if name.text == "show" && !words.iter().any(|word| plain_format(word)) {
                Value::Any
            } else {
                Value::Names
            }
        }
        "branch" if says("--show-current") => Value::Names,
        "branch" | "for-each-ref" if words.iter().any(|word| plain_format(word)) && all => {
            Value::Names
        }
        "log" if words.iter().any(|word| plain_format(word)) && all && !says("--name-only") => {
            Value::Names
        }
        _ => Value::Any,
    }
}

/// One field of each line.
fn of_field(name: &str, arguments: &[Word], input: &Value) -> Value {
    let words: Vec<&str> = arguments.iter().map(|word| word.text.as_str()).collect();
    let first = match (name, words.as_slice()) {
        (
            "cut",
            ["-d:" | "-d ", "-f1"] | ["-d", ":" | " ", "-f1"] | ["-d", ":" | " ", "-f", "1"],
        )
        | ("cut", ["-f1", "-d:" | "-d "]) => true,
        ("cut", ["-c1-7" | "-c1-8"]) => false,
        (_, [program]) if name != "cut" => {
            match program.trim_matches(['{', '}', ' ']).strip_prefix("print $") {
                Some("1") => true,
                Some(digits)
                    if digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.is_empty() =>
                {
                    return match input {
                        Value::Names => Value::Names,
                        _ => Value::Any,
                    };
                }
                _ => return Value::Any,
            }
        }
        (_, ["-F:", program]) if name != "cut" => *program == "{print $1}",
        _ => return Value::Any,
    };
    match input {
        Value::Names | Value::Number => input.clone(),
        Value::Numbered if first => Value::Number,
        _ => Value::Any,
    }
}
