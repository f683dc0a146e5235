//! `jq`: a language without writing. Its options are read by its own rules: some take two words.

use super::refusal::Refusal;
use super::utility::ReadPath;
use super::word::Word;

/// Letters that may be joined.
const LETTERS: &str = "nrRcCMSejsah";

const ALONE: [&str; 17] = words!(
    "null-input raw-output raw-output0 raw-input compact-output color-output monochrome-output sort-keys \
    exit-status join-output slurp ascii-output tab seq stream unbuffered help"
);

/// Whether a filter says one of the words, where it is no field of an object. A text in quotes that says so counts as well.
fn names(filter: &str, words: &[&str]) -> bool {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    words.iter().any(|name| {
        filter.match_indices(name).any(|(at, _)| {
            let (before, after) = (&filter[..at], &filter[at + name.len()..]);
            let is_field = before.ends_with('.') && !before.ends_with("..");
            !is_field && !before.ends_with(is_name) && !after.starts_with(is_name)
        })
    })
}

/// Judges the arguments of `jq`.
pub(super) fn judge(arguments: &[Word]) -> Result<Vec<ReadPath>, Refusal> {
    let mut paths = Vec::new();
    let (mut filter_given, mut words_only) = (false, false);
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        let text = word.text.as_str();
        let refuse = |why: &str| Err(Refusal::new(word.at, text, why));
        if word.glob.is_some() && (word.glob == Some(0) || text.starts_with('-') || !filter_given) {
            return refuse("a wildcard here may become an option or the filter");
        }
        let mut value = || match rest.next() {
            Some(value) if value.glob.is_none() => Ok(value),
            _ => Err(Refusal::new(word.at, text, "the value of this option is missing")),
        };
        match text.strip_prefix("--") {
            Some("args" | "jsonargs") => words_only = true,
            Some("arg" | "argjson") => {
                value()?;
                value()?;
            }
            Some("slurpfile" | "rawfile") => {
                value()?;
                paths.push(ReadPath::of(value()?, true));
            }
            Some("indent") => {
                value()?;
            }
            Some("version") => {}
            Some(long) if ALONE.contains(&long) => {}
            Some(_) => return refuse("not on the list of options that only read"),
            None if text.len() > 1 && text.starts_with('-') => {
                if !text[1..].chars().all(|c| LETTERS.contains(c)) {
                    return refuse("not on the list of options that only read");
                }
            }
            None if !filter_given && names(text, &["env", "ENV"]) => {
                return refuse("the environment may hold keys");
            }
            None if !filter_given && names(text, &["import", "include", "modulemeta"]) => {
                return refuse("a filter may not read files that are not named beside it");
            }
            None if !filter_given => filter_given = true,
            None if words_only => {}
            None => paths.push(ReadPath::of(word, true)),
        }
    }
    Ok(paths)
}
