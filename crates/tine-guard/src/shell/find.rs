//! `find`: its starting points and its expression. Only tests and printing are on the list; what runs, deletes or
//! writes is not.

use super::refusal::Refusal;
use super::utility::ReadPath;
use super::word::{Variable, Word, refuse};

const OPTIONS: [&str; 7] = ["-H", "-L", "-P", "-O0", "-O1", "-O2", "-O3"];

/// Parts of an expression that stand alone.
const ALONE: [&str; 31] = words!(
    "! ( ) , -not -a -and -o -or -true -false -empty -readable -nogroup -nouser -depth -d -mount -xdev -noleaf \
    -daystart -follow -ignore_readdir_race -noignore_readdir_race -warn -nowarn -print -print0 -ls -prune -quit"
);

/// Parts that take one word.
const WITH_VALUE: [&str; 31] = words!(
    "-name -iname -path -ipath -wholename -iwholename -regex -iregex -lname -ilname -type -xtype -size -mtime \
    -mmin -atime -amin -ctime -cmin -user -group -uid -gid -perm -links -inum -maxdepth -mindepth -used -fstype \
    -regextype"
);

/// Parts that take a file to compare with.
const WITH_PATH: [&str; 4] = ["-newer", "-anewer", "-cnewer", "-samefile"];

/// Judges the arguments of `find`.
pub(super) fn judge(arguments: &[Word]) -> Result<Vec<ReadPath>, Refusal> {
    let mut paths = Vec::new();
    let mut rest = arguments.iter().peekable();
    while rest.next_if(|word| OPTIONS.contains(&word.text.as_str())).is_some() {}
    while let Some(word) = rest.next_if(|word| !begins_expression(word)) {
        // No part of an expression holds a slash or begins otherwise.
        let certain = !word.may_be_option() && !word.text.starts_with(['!', '(', ')', ',']);
        let divides = |variable: &Variable| word.glob.is_some_and(|glob| glob <= variable.start);
        let whole = word.stays_whole() && !word.variables.iter().any(divides);
        if !word.is_known() && !(whole && (certain || word.is_below_variable())) {
            return Err(word.refuse_unknown());
        }
        if word.glob == Some(0) {
            return refuse(word, "a wildcard here may become part of the expression");
        }
        paths.push(ReadPath::of(word, false));
    }
    while let Some(word) = rest.next() {
        let part = word.text.as_str();
        if word.glob.is_some() {
            return Err(Refusal::new(
                word.at,
                part,
                "a wildcard here may become part of the expression",
            ));
        }
        let is_time = newer_than_time(part);
        let takes_path = WITH_PATH.contains(&part) || is_time == Some(false);
        let takes_value = WITH_VALUE.contains(&part) || part == "-printf" || is_time == Some(true);
        if ALONE.contains(&part) || matches!(part, "--help" | "--version" | "-help" | "-version") {
            continue;
        }
        if !takes_path && !takes_value {
            return Err(Refusal::new(word.at, part, "not on the list of what `find` may do"));
        }
        let Some(value) = rest.next() else {
            return Err(Refusal::new(word.at, part, "the value of this part is missing"));
        };
        if !value.is_known() {
            return Err(value.refuse_unknown());
        }
        if value.glob.is_some() && !cannot_be_expression(value) {
            return refuse(value, "a wildcard here may become part of the expression");
        }
        if takes_path {
            paths.push(ReadPath::of(value, false));
        }
    }
    Ok(paths)
}

fn begins_expression(word: &Word) -> bool {
    (word.text.starts_with('-') && word.text != "-")
        || matches!(word.text.as_str(), "!" | "(" | ")" | ",")
}

/// `-newerXY`: whether the value is a time, and no file.
fn newer_than_time(part: &str) -> Option<bool> {
    match part.strip_prefix("-newer")?.as_bytes() {
        [b'a' | b'B' | b'c' | b'm', b't'] => Some(true),
        [b'a' | b'B' | b'c' | b'm', b'a' | b'B' | b'c' | b'm'] => Some(false),
        _ => None,
    }
}

/// Whether nothing that the wildcard may become is a part of an expression: they all would hold a dot, and no part
/// does.
fn cannot_be_expression(word: &Word) -> bool {
    let tail = word.text.rsplit(['*', '?', ']']).next().unwrap_or_default();
    tail.contains('.') || word.glob.is_some_and(|at| at > 0 && !word.text.starts_with('-'))
}

#[cfg(test)]
pub(super) fn parts() -> impl Iterator<Item = &'static str> {
    ALONE.into_iter().chain(WITH_VALUE).chain(WITH_PATH).filter(|part| part.starts_with('-'))
}
