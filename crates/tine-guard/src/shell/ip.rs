//! `ip`: addresses, links, routes and neighbours, only shown.
//!
//! `ip` takes any beginning of a word for the word, and which one depends on the version, so only words that its manual
//! writes out are read. What follows `show` chooses among what is shown and changes nothing.

use super::refusal::Refusal;
use super::utility::ReadPath;
use super::word::Word;

/// How things are shown. Not `-b` (commands from a file), `-n` and `-a` (other namespaces), `-r` (asks name servers).
const OPTIONS: [&str; 27] = [
    "-4",
    "-6",
    "-0",
    "-h",
    "-human",
    "-human-readable",
    "-s",
    "-stats",
    "-statistics",
    "-d",
    "-details",
    "-o",
    "-oneline",
    "-br",
    "-brief",
    "-j",
    "-json",
    "-p",
    "-pretty",
    "-c",
    "-color",
    "-color=never",
    "-color=auto",
    "-color=always",
    "-c=never",
    "-N",
    "-iec",
];

/// What is shown; the single letters are those that its manual uses.
const OBJECTS: [&str; 12] = [
    "address",
    "addr",
    "a",
    "link",
    "l",
    "route",
    "r",
    "neighbour",
    "neighbor",
    "neigh",
    "n",
    "rule",
];

/// Judges the arguments of `ip`.
pub(super) fn judge(arguments: &[Word]) -> Result<Vec<ReadPath>, Refusal> {
    let refuse = |word: &Word, why: &str| Err(Refusal::new(word.at, &word.text, why));
    let shows = |word: &Word| OPTIONS.contains(&word.text.as_str()) && word.glob.is_none();
    let options = arguments.iter().take_while(|word| shows(word)).count();
    match &arguments[options..] {
        [] => Err(Refusal::new(0, "ip", "what it shows is missing")),
        [version] if matches!(version.text.as_str(), "-V" | "-Version") => Ok(Vec::new()),
        [object, ..] if !OBJECTS.contains(&object.text.as_str()) => {
            refuse(object, "not on the list of what `ip` may show")
        }
        [_] => Ok(Vec::new()),
        [_, verb, ..] if !matches!(verb.text.as_str(), "show" | "list") => {
            refuse(verb, "`ip` may only `show`")
        }
        [_, _, chosen @ ..] => match chosen.iter().find(|word| !is_choice(word)) {
            Some(word) => refuse(word, "not a plain name or address"),
            None => Ok(Vec::new()),
        },
    }
}

/// A name, an address or a prefix such as `10.0.0.0/8`. A longer path would name code to load, as `type ../x` does.
fn is_choice(word: &Word) -> bool {
    let (text, length) = word.text.split_once('/').unwrap_or((&word.text, "0"));
    let plain = |c: char| c.is_ascii_alphanumeric() || "._:@-".contains(c);
    word.glob.is_none()
        && text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == ':')
        && text.chars().all(plain)
        && !length.is_empty()
        && length.bytes().all(|byte| byte.is_ascii_digit())
}
