//! Patterns of rules for commands, and which commands they meet.
//!
//! A pattern is words as a shell reads them, with `*` for any text: `git push*`, `cargo test *`. It is held against the words of
//! one command, however those were written. A pattern that itself has an operator (`cd x && make *`) is compared with the text of the
//! line instead, by the `wildcard` module; one with a variable or an assignment (`CI=1 make *`) in both ways.

use std::path::Path;

use crate::shell::reading::{Command, CommandReading, NAME_WORDS, WORDS, is_mark};
use crate::shell::{NAMES, UNKNOWN};
use crate::wildcard;

/// Stands between words. No text of a command holds it.
const BETWEEN: char = '\0';

/// Longest command that is compared where words of it are not known; what is behind it counts as not known.
const UNCERTAIN_CHARACTERS_MAX: usize = 4_096;

/// The pattern of a rule for a shell tool.
#[derive(Clone, Debug)]
pub(crate) struct CommandPattern {
    /// As it was written.
    text: String,
    /// Its words with [`BETWEEN`] between them and `*` for any text; `None` for one with an operator.
    words: Option<String>,
    /// Whether it is compared with the text of a line, too.
    by_text: bool,
}

/// Whether a pattern meets what a command may become.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Meets {
    No,
    /// It may: the reason, as a fragment.
    Perhaps(String),
    Yes,
}

impl CommandPattern {
    pub(crate) fn new(text: &str) -> Self {
        let words = words_of(text);
        let by_text = words.is_none() || is_of_a_line(text);
        Self { text: text.to_owned(), words, by_text }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Whether a rule that allows covers this command and all that it launches. Only the command as it is written counts:
    /// what may have become of its name is another program.
    pub(crate) fn allows(&self, command: &Command) -> bool {
        let Some(pattern) = &self.words else { return false };
        let line = command.words.join("\0");
        patterns(pattern).any(|pattern| covers(pattern, &line, |a, b| a == b))
    }

    /// Whether a rule that denies or asks meets a command of the text.
    pub(crate) fn meets(&self, text: &str, reading: &CommandReading, directory: &Path) -> Meets {
        if self.by_text && wildcard::touches(&self.text, text) {
            return Meets::Yes;
        }
        let Some(pattern) = &self.words else { return Meets::No };
        let mut perhaps = reading.uncertain.clone();
        for command in reading.all() {
            match Self::meets_command(pattern, command, directory) {
                Meets::Yes => return Meets::Yes,
                Meets::Perhaps(why) => {
                    perhaps.get_or_insert(why);
                }
                Meets::No => {}
            }
        }
        perhaps.map_or(Meets::No, Meets::Perhaps)
    }

    /// Whether a rule that denies or asks meets this command, whatever others it launches.
    pub(crate) fn meets_alone(&self, command: &Command, directory: &Path) -> Meets {
        let Some(pattern) = &self.words else { return Meets::No };
        Self::meets_command(pattern, command, directory)
    }

    fn meets_command(pattern: &str, command: &Command, directory: &Path) -> Meets {
        let mut perhaps = None;
        for spelling in command.spellings(directory) {
            let line = spelling.join("\0");
            if patterns(pattern).any(|pattern| covers(pattern, &line, same_loosely)) {
                return Meets::Yes;
            }
            let uncertain = line.contains(is_mark).then(|| joined(spelling));
            let may_meet =
                |line: String| patterns(pattern).any(|pattern| may_cover(pattern, &line));
            if uncertain.is_some_and(may_meet) {
                let shown = command.shown();
                perhaps.get_or_insert_with(|| format!("not every word of `{shown}` is known"));
            }
        }
        if command.launches_unknown {
            let shown = command.shown();
            perhaps.get_or_insert_with(|| format!("what `{shown}` runs is not known"));
        }
        perhaps.map_or(Meets::No, Meets::Perhaps)
    }
}

/// Whether the rules that allow, together, cover every command of a text.
pub(crate) fn all_allowed<'a>(
    patterns: impl Iterator<Item = &'a CommandPattern> + Clone,
    text: &str,
    reading: &CommandReading,
) -> bool {
    let as_text = |pattern: &CommandPattern| {
        if pattern.by_text { wildcard::allows(&pattern.text, text) } else { pattern.text == text }
    };
    if patterns.clone().any(as_text) {
        return true;
    }
    let certain = reading.uncertain.is_none() && !reading.does_more;
    let covered = |command: &Command| patterns.clone().any(|pattern| pattern.allows(command));
    certain && !reading.commands.is_empty() && reading.commands.iter().all(covered)
}

/// The pattern, and the one for the command alone of one for a command with any arguments.
fn patterns(pattern: &str) -> impl Iterator<Item = &str> {
    let bare = pattern.strip_suffix("\0*").filter(|bare| !bare.is_empty());
    std::iter::once(pattern).chain(bare)
}

/// The words as one text. A mark for any number of words stands for what is between them, too.
fn joined(words: &[String]) -> String {
    let mut line = String::new();
    for (at, word) in words.iter().enumerate() {
        match (at, word.starts_with([WORDS, NAME_WORDS])) {
            (0, true) => line.push(UNKNOWN),
            (0, false) | (_, true) => line.push_str(word),
            (_, false) => {
                line.push(BETWEEN);
                line.push_str(word);
            }
        }
    }
    line
}

/// The words of a pattern; `None` where it has an operator.
fn words_of(pattern: &str) -> Option<String> {
    let mut out = String::new();
    let (mut quote, mut is_between) = (None, false);
    let mut characters = pattern.trim_start().chars().peekable();
    while let Some(character) = characters.next() {
        if quote.is_none() && matches!(character, ' ' | '\t') {
            is_between = true;
            continue;
        }
        if std::mem::take(&mut is_between) {
            out.push(BETWEEN);
        }
        match (character, quote) {
            ('\'' | '"', None) if closes(character, characters.clone()) => {
                quote = Some(character);
            }
            (_, Some(open)) if open == character => quote = None,
            ('\\', None | Some('"')) => {
                let next = characters.peek().copied();
                let escapes = next.is_some_and(|next| quote.is_none() || "\"\\$`".contains(next));
                out.push(if escapes { characters.next().unwrap_or('\\') } else { '\\' });
            }
            (';' | '&' | '|' | '<' | '>' | '(' | ')' | '\n' | '`', None) => return None,
            (other, _) => out.push(other),
        }
    }
    Some(out)
}

/// Whether the pattern speaks of more than the words of a command: of variables, braces, wildcards of the shell, or what stands before
/// a command.
fn is_of_a_line(pattern: &str) -> bool {
    let first = pattern.split_whitespace().next().unwrap_or_default();
    let before = matches!(first, "!" | "time" | "{" | "if" | "for" | "while" | "until" | "case");
    let assigns = first.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    });
    before || assigns || pattern.contains(['$', '~', '?', '[', ',']) || pattern.contains("..")
}

/// Whether a quote is closed in what follows; else it is a character as any.
fn closes(quote: char, mut rest: impl Iterator<Item = char>) -> bool {
    rest.any(|character| character == quote)
}

/// A blank inside a word is as good as one between two where a rule denies.
fn same_loosely(pattern: char, text: char) -> bool {
    let blank = |c| matches!(c, BETWEEN | ' ' | '\t' | '\n');
    pattern == text || blank(pattern) && blank(text)
}

/// Whether the text is the literal pieces of the pattern in order, with anything where a `*` stands. What is not certain is met by
/// a `*` alone. Walks all positions at once, so no pattern makes it slow.
fn covers(pattern: &str, text: &str, same: impl Fn(char, char) -> bool) -> bool {
    let text: Vec<char> = text.chars().collect();
    let mut reached = vec![0];
    for (index, piece) in pattern.split('*').enumerate() {
        let Some(first) = reached.first().copied() else { return false };
        if index > 0 {
            reached = (first..=text.len()).collect();
        }
        for literal in piece.chars() {
            let next = |at: usize| text.get(at).filter(|c| same(literal, **c)).map(|_| at + 1);
            reached = reached.into_iter().filter_map(next).collect();
        }
    }
    reached.last() == Some(&text.len())
}

/// Whether the text may become one that the pattern covers: some text has both forms.
fn may_cover(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let mut characters: Vec<char> = text.chars().take(UNCERTAIN_CHARACTERS_MAX).collect();
    if text.chars().nth(UNCERTAIN_CHARACTERS_MAX).is_some() {
        characters.push(UNKNOWN);
    }
    let mut reached = vec![false; pattern.len() + 1];
    reached[0] = true;
    for character in characters {
        skip_wildcards(&pattern, &mut reached);
        if is_mark(character) {
            // Any text may stand here, or any words; where names stand, no dash comes first.
            let is_names = matches!(character, NAMES | NAME_WORDS);
            let may_begin = |at: usize| !is_names || pattern.get(at) != Some(&'-');
            let is_several = matches!(character, WORDS | NAME_WORDS);
            let begin = |at: usize| match pattern.get(at) {
                _ if !reached[at] => None,
                Some('*') => Some(at),
                Some(next) if is_several => {
                    (same_loosely(*next, BETWEEN) && may_begin(at + 1)).then_some(at + 1)
                }
                _ => (!is_several && may_begin(at)).then_some(at),
            };
            let first = (0..reached.len()).find_map(begin);
            if !is_several {
                reached.fill(false);
            }
            if let Some(first) = first {
                reached[first..].fill(true);
            }
            continue;
        }
        let mut next = vec![false; pattern.len() + 1];
        for (at, part) in pattern.iter().enumerate().filter(|(at, _)| reached[*at]) {
            match part {
                '*' => next[at] = true,
                part => next[at + 1] |= same_loosely(*part, character),
            }
        }
        reached = next;
    }
    skip_wildcards(&pattern, &mut reached);
    reached[pattern.len()]
}

/// A wildcard may stand for nothing.
fn skip_wildcards(pattern: &[char], reached: &mut [bool]) {
    for (at, part) in pattern.iter().enumerate() {
        reached[at + 1] |= *part == '*' && reached[at];
    }
}

#[cfg(test)]
#[path = "command_pattern_tests.rs"]
mod tests;
