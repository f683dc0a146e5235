//! Secrets that are known by their own shape: rules that are data, in `rules/`.
//!
//! A rule is a regular expression and the words without which it cannot match, so most texts meet no expression at all. Expressions
//! are compiled when their words are first seen.

use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock};

use aho_corasick::{AhoCorasick, MatchKind};
use regex::bytes::{Captures, Regex, RegexBuilder};
use serde::Deserialize;

use super::assigned::{is_chance, is_mixed, is_reference};
use super::settings::in_settings;
use super::{Find, basic, begins_word, run};

const SUPPLEMENT: &str = include_str!("../../rules/supplement.toml");
const GITLEAKS: &str = include_str!("../../rules/gitleaks.toml");

/// Rules of gitleaks that are left out, because their shape is no secret by itself. `assigned.rs` and `shapes.rs` do better for those
/// of names and of private keys.
const LEFT_OUT: [&str; 10] = [
    "generic-api-key",
    "private-key",
    // Any value below `data:` in any text that says `secret`.
    "kubernetes-secret-yaml",
    // Any SHA-1 in a text that says `sourcegraph`; the supplement has the prefix.
    "sourcegraph-access-token",
    // `s.` and 24 letters: the field of a variable. The supplement has `hvs.`.
    "vault-service-token",
    // The supplement has the two that are certain, without a look over several lines.
    "curl-auth-header",
    "curl-auth-user",
    // Public by its own name.
    "flutterwave-public-key",
    // Its `.` stands for any character; the supplement escapes it.
    "slack-webhook-url",
    // Its group is a piece of the secret; the supplement takes all of it.
    "microsoft-teams-webhook",
];

/// What stands at the end of most rules of gitleaks. It takes one character for the end of a key; [`ends_key`] looks at it instead.
const END: &str = r#"(?:[\x60'"\s;]|\\[nr]|$)"#;

/// The beginning of those rules of gitleaks that know a secret by the name before it.
const CONTEXT: &str = r"[\w.-]{0,50}?(?:";

/// Longest match behind which the search goes on at its next word if it is no secret. A longer one is passed over, so that the time
/// stays linear.
const RETRY_BYTES_MAX: usize = 512;

/// Memory of one compiled expression; a rule that needs more is no rule for texts of this kind.
const COMPILED_BYTES_MAX: usize = 8 << 20;

#[derive(Deserialize)]
struct File {
    rules: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    id: String,
    regex: Option<String>,
    /// Only files of these names: a rule that is sure of nothing else.
    path: Option<String>,
    entropy: Option<f64>,
    /// The group that is the secret, where it is not the first.
    #[serde(rename = "secretGroup")]
    secret_group: Option<usize>,
    #[serde(default)]
    keywords: Vec<String>,
    #[serde(default)]
    check: Check,
}

/// What a rule asks beside the shape.
#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Check {
    #[default]
    None,
    Chance,
    Mixed,
    Basic,
    /// Nothing more, and a `$` is no sign of a variable.
    Hash,
}

/// One shape.
struct Rule {
    id: String,
    source: String,
    compiled: OnceLock<Option<Regex>>,
    entropy: f64,
    group: Option<usize>,
    check: Check,
    /// The secret stands where a word begins, and another one begins behind it.
    is_whole_word: bool,
    /// It counts among settings alone.
    in_settings: bool,
}

/// All rules, with the words that lead to them.
struct Rules {
    rules: Vec<Rule>,
    words: Option<AhoCorasick>,
    /// The rules of each word.
    led_to: Vec<Vec<usize>>,
}

static RULES: LazyLock<Rules> = LazyLock::new(|| {
    let files = [SUPPLEMENT, GITLEAKS].map(toml::from_str::<File>);
    Rules::new(files.into_iter().flatten().flat_map(|file| file.rules))
});

/// The secrets of known shape in a text, in order, without overlap.
pub(super) fn known(bytes: &[u8]) -> Vec<Find> {
    let rules = &*RULES;
    let Some(words) = &rules.words else { return Vec::new() };
    let mut is_led_to = vec![false; rules.rules.len()];
    let mut any = false;
    for found in words.find_overlapping_iter(bytes) {
        for rule in &rules.led_to[found.pattern().as_usize()] {
            is_led_to[*rule] = true;
            any = true;
        }
    }
    if !any {
        return Vec::new();
    }
    let mut finds = Vec::new();
    for (rule, _) in rules.rules.iter().zip(is_led_to).filter(|(_, is_led_to)| *is_led_to) {
        rule.find_all(bytes, &mut finds);
    }
    // Of several at one place the longest, and of equal ones the first rule's.
    finds.sort_by_key(|find| (find.range.start, usize::MAX - find.range.end));
    let mut end = 0;
    finds.retain(|find| {
        let is_new = find.range.start >= end;
        if is_new {
            end = find.range.end;
        }
        is_new
    });
    finds
}

impl Rules {
    fn new(entries: impl Iterator<Item = Entry>) -> Self {
        let (mut rules, mut words) = (Vec::new(), Vec::new());
        let (mut led_to, mut places) = (Vec::<Vec<usize>>::new(), HashMap::new());
        for entry in entries {
            if entry.path.is_some() || LEFT_OUT.contains(&entry.id.as_str()) {
                continue;
            }
            let Some(regex) = &entry.regex else { continue };
            for word in &entry.keywords {
                let place = *places.entry(word.to_ascii_lowercase()).or_insert_with_key(|word| {
                    words.push(word.clone());
                    led_to.push(Vec::new());
                    words.len() - 1
                });
                led_to[place].push(rules.len());
            }
            rules.push(Rule::new(&entry, regex));
        }
        let words = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::Standard)
            .build(words);
        Self { rules, words: words.ok(), led_to }
    }
}

impl Rule {
    fn new(entry: &Entry, regex: &str) -> Self {
        let in_settings = regex.contains(CONTEXT);
        let bounded = regex.strip_suffix(END);
        let source = bounded.unwrap_or(regex);
        let without_begin = source.strip_prefix(r"\b").map(str::to_owned);
        let without_begin = without_begin
            .or_else(|| Some(format!("(?i){}", source.strip_prefix(r"(?i)\b")?)))
            .unwrap_or_else(|| source.to_owned());
        let without_end = without_begin.strip_suffix(r"\b");
        Self {
            id: entry.id.replace('-', " "),
            is_whole_word: bounded.is_some() || without_end.is_some(),
            source: without_end.unwrap_or(&without_begin).to_owned(),
            compiled: OnceLock::new(),
            entropy: entry.entropy.unwrap_or(0.0),
            group: entry.secret_group,
            check: entry.check,
            in_settings,
        }
    }

    fn find_all(&'static self, bytes: &[u8], finds: &mut Vec<Find>) {
        let compile = || {
            // Bytes: what stands around a key need not be text, and tables of all alphabets take their time.
            let builder = &mut RegexBuilder::new(&self.source);
            builder.unicode(false).size_limit(COMPILED_BYTES_MAX).build().ok()
        };
        let Some(regex) = self.compiled.get_or_init(compile) else { return };
        let mut at = 0;
        while let Some(captures) = regex.captures_at(bytes, at) {
            let whole = captures.get(0).map_or(at..at + 1, |whole| whole.range());
            at = match self.secret(bytes, &captures) {
                Some(find) => {
                    let end = find.range.end;
                    finds.push(find);
                    end.max(whole.start + 1)
                }
                None if whole.len() > RETRY_BYTES_MAX => whole.end,
                // A key begins where a word does, so there is none within this one.
                None => word_end(bytes, whole.start).max(whole.start + 1),
            };
            if at > bytes.len() {
                break;
            }
        }
    }

    /// The secret of a match, if it is one.
    fn secret(&'static self, bytes: &[u8], captures: &Captures<'_>) -> Option<Find> {
        let first = || captures.iter().skip(1).flatten().find(|group| !group.is_empty());
        let group = self.group.map_or_else(first, |group| captures.get(group));
        let range = group.or_else(|| captures.get(0))?.range();
        let quote: fn(&u8) -> bool = |byte| matches!(byte, b'"' | b'\'' | b'\\' | b'`');
        let start =
            range.start + bytes[range.clone()].iter().take_while(|byte| quote(byte)).count();
        // A quote and a lone backslash stay, or a JSON text around them is none any more.
        let len = bytes.get(start..range.end)?.iter().position(quote);
        let end = len.map_or(range.end, |len| start + len);
        let is_cut = end < range.end && !bytes[end..range.end].iter().all(quote);
        let begins = !self.is_whole_word && captures.len() > 1 || begins_word(bytes, start);
        let ends = !self.is_whole_word || ends_key(bytes, end);
        // A full stop ends a sentence.
        let stops = bytes.get(start..end)?.iter().rev().take_while(|byte| **byte == b'.').count();
        let end = end - stops;
        let value = bytes.get(start..end)?;
        let is_secret = begins
            && ends
            && !is_cut
            && !value.is_empty()
            && (self.check == Check::Hash || !is_reference(value))
            && entropy(value) >= self.entropy
            && match self.check {
                Check::None | Check::Hash => true,
                Check::Chance => is_chance(value),
                Check::Mixed => is_mixed(value),
                Check::Basic => basic::is_user_and_password(value),
            }
            && (!self.in_settings || in_settings(bytes, start));
        is_secret.then(|| {
            // What goes on is part of it. It is looked for only here: the rest of a long word that is rejected at each of its
            // pieces would be read again and again.
            let end = run(bytes, end, usize::MAX, |byte| {
                byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
            });
            Find { range: start..end, kind: &self.id }
        })
    }
}

/// Returns true where nothing that could belong to a key follows.
fn ends_key(bytes: &[u8], end: usize) -> bool {
    bytes.get(end).is_none_or(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_')
}

fn word_end(bytes: &[u8], at: usize) -> usize {
    run(bytes, at, usize::MAX, |byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Bits of information per byte, as gitleaks counts them.
fn entropy(value: &[u8]) -> f64 {
    let mut counts = [0u32; 256];
    for byte in value {
        counts[usize::from(*byte)] += 1;
    }
    let all = value.len() as f64;
    let bits = |count: &u32| {
        let share = f64::from(*count) / all;
        -share * share.log2()
    };
    counts.iter().filter(|count| **count > 0).map(bits).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_compiles_and_has_its_words() {
        let rules = &*RULES;
        assert!(rules.rules.len() > 240, "{} rules", rules.rules.len());
        let mut led_to = vec![false; rules.rules.len()];
        rules.led_to.iter().flatten().for_each(|rule| led_to[*rule] = true);
        let lost = rules.rules.iter().zip(led_to).filter(|(_, led_to)| !led_to);
        assert_eq!(lost.map(|(rule, _)| rule.id.as_str()).collect::<Vec<_>>(), Vec::<&str>::new());
        let mut finds = Vec::new();
        for rule in &rules.rules {
            rule.find_all(b"plain", &mut finds);
            assert!(matches!(rule.compiled.get(), Some(Some(_))), "{}", rule.id);
        }
        assert_eq!(finds, []);
    }

    #[test]
    fn what_is_left_out_is_there() {
        for id in LEFT_OUT {
            assert!(GITLEAKS.contains(&format!("id = \"{id}\"")), "{id}");
        }
    }
}
