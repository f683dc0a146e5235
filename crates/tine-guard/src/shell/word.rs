//! One word of a command, with its quotes removed as bash removes them.

use super::grammar::Reader;
use super::refusal::Refusal;
use super::variable::{Variable, read_variable};

/// A word whose text is known, but for variables; where it holds a wildcard, up to the wildcard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    /// The text after removal of quotes.
    pub(super) text: String,
    /// Byte offset in the command.
    pub(super) at: usize,
    /// Whether any part of it was quoted or escaped.
    pub(super) quoted: bool,
    /// Bytes of `text` before the first wildcard outside quotes: the word may become any number of words, and all that
    /// is known of them is this beginning.
    pub(super) glob: Option<usize>,
    /// Whether it begins with a `~` that becomes the home directory.
    pub(super) tilde: bool,
    /// Variables in it, in order; in `text` each stands as `$NAME`.
    pub(super) variables: Vec<Variable>,
}

/// Reads the word that begins here; the next byte must be none that separates words.
pub(super) fn read_word(reader: &mut Reader<'_>) -> Result<Word, Refusal> {
    let mut word = Word {
        text: String::new(),
        at: reader.at,
        quoted: false,
        glob: None,
        tilde: false,
        variables: Vec::new(),
    };
    while let Some(byte) = reader.peek() {
        match byte {
            b' ' | b'\t' | b'\n' | b';' | b'|' | b'&' | b'<' | b'>' => break,
            b'\'' => single_quoted(reader, &mut word)?,
            b'"' => double_quoted(reader, &mut word)?,
            b'\\' => escaped(reader, &mut word)?,
            b'$' if reader.peek_at(1) == Some(b'\'') => ansi_quoted(reader, &mut word)?,
            b'$' => read_variable(reader, &mut word, false)?,
            b'`' => return Err(reader.refuse(1, "a command substitution")),
            b'(' | b')' => return Err(reader.refuse(1, "a subshell, function or pattern")),
            b'{' => at_braces(reader, &mut word)?,
            b'}' => return Err(reader.refuse(1, "a brace outside quotes")),
            b'~' => tilde(reader, &mut word)?,
            b'!' => exclamation(reader, &mut word)?,
            b'*' | b'?' | b'[' => {
                word.glob.get_or_insert(word.text.len());
                take(reader, &mut word);
            }
            _ => take(reader, &mut word),
        }
    }
    if word.text == "[" && !word.quoted {
        word.glob = None;
    }
    Ok(word)
}

/// One character of the text into the word.
fn take(reader: &mut Reader<'_>, word: &mut Word) {
    if let Some(character) = reader.text.get(reader.at..).and_then(|rest| rest.chars().next()) {
        word.text.push(character);
        reader.at += character.len_utf8();
    }
}

fn single_quoted(reader: &mut Reader<'_>, word: &mut Word) -> Result<(), Refusal> {
    let rest = reader.text.get(reader.at + 1..).unwrap_or_default();
    let Some(length) = rest.find('\'') else {
        return Err(reader.refuse(1, "a quote that is not closed"));
    };
    word.text.push_str(&rest[..length]);
    word.quoted = true;
    reader.at += length + 2;
    Ok(())
}

/// `$'…'` with the escapes that every shell which knows it reads alike.
fn ansi_quoted(reader: &mut Reader<'_>, word: &mut Word) -> Result<(), Refusal> {
    let unclosed = reader.refuse(2, "a quote that is not closed");
    word.quoted = true;
    reader.at += 2;
    loop {
        match (reader.peek(), reader.peek_at(1)) {
            (None, _) => return Err(unclosed),
            (Some(b'\''), _) => {
                reader.at += 1;
                return Ok(());
            }
            (Some(b'\\'), Some(escape @ (b't' | b'n' | b'\\' | b'\'' | b'"'))) => {
                word.text.push(match escape {
                    b't' => '\t',
                    b'n' => '\n',
                    other => char::from(other),
                });
                reader.at += 2;
            }
            (Some(b'\\'), _) => {
                return Err(reader.refuse(2, "an escape of this kind is not judged"));
            }
            _ => take(reader, word),
        }
    }
}

/// Inside double quotes a `$` is itself only where nothing after it could be expanded.
fn double_quoted(reader: &mut Reader<'_>, word: &mut Word) -> Result<(), Refusal> {
    let unclosed = reader.refuse(1, "a quote that is not closed");
    word.quoted = true;
    reader.at += 1;
    loop {
        match (reader.peek(), reader.peek_at(1)) {
            (None, _) => return Err(unclosed),
            (Some(b'"'), _) => {
                reader.at += 1;
                return Ok(());
            }
            (Some(b'`'), _) => return Err(reader.refuse(1, "a command substitution")),
            (
                Some(b'$'),
                Some(b'"' | b' ' | b'|' | b')' | b'/' | b',' | b'.' | b':' | b';' | b'%'),
            ) => {
                take(reader, word);
            }
            (Some(b'$'), _) => read_variable(reader, word, true)?,
            (Some(b'\\'), Some(b'"' | b'\\' | b'$' | b'`')) => {
                reader.at += 1;
                take(reader, word);
            }
            (Some(b'\\'), Some(b'\n')) => {
                return Err(reader.refuse(1, "an escaped line end inside a word"));
            }
            _ => take(reader, word),
        }
    }
}

fn escaped(reader: &mut Reader<'_>, word: &mut Word) -> Result<(), Refusal> {
    match reader.peek_at(1) {
        Some(b' '..=b'~') => {
            reader.at += 1;
            word.quoted = true;
            take(reader, word);
            Ok(())
        }
        Some(b'\n') => Err(reader.refuse(1, "an escaped line end inside a word")),
        _ => Err(reader.refuse(2, "an escape of this kind is not judged")),
    }
}

/// `@{…}` as git writes it, and `{}` as a word: without a comma or two dots bash expands neither.
fn at_braces(reader: &mut Reader<'_>, word: &mut Word) -> Result<(), Refusal> {
    let rest = reader.text.get(reader.at + 1..).unwrap_or_default();
    let inner = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "-.".contains(c)));
    let after_at = reader.at > 0 && reader.text.as_bytes()[reader.at - 1] == b'@';
    match inner {
        Some(length)
            if length > 0
                && after_at
                && rest[length..].starts_with('}')
                && !rest[..length].contains("..") =>
        {
            word.text.push_str(&reader.text[reader.at..reader.at + length + 2]);
            reader.at += length + 2;
            Ok(())
        }
        _ => Err(reader.refuse(1, "a brace outside quotes")),
    }
}

/// At the beginning `~` and `~/` are the home directory; within a word a `~` is itself after what cannot make bash
/// take it for another home.
fn tilde(reader: &mut Reader<'_>, word: &mut Word) -> Result<(), Refusal> {
    if reader.at == word.at {
        let ends = matches!(
            reader.peek_at(1),
            None | Some(b' ' | b'\t' | b'\n' | b';' | b'|' | b'&' | b'/' | b'<' | b'>')
        );
        if !ends {
            return Err(reader.refuse(2, "somebody's home directory"));
        }
        word.tilde = true;
        take(reader, word);
        return Ok(());
    }
    let before = reader.text.as_bytes()[reader.at - 1];
    if before.is_ascii_alphanumeric() || b"_.}^@~-".contains(&before) {
        take(reader, word);
        Ok(())
    } else {
        Err(reader.refuse(1, "a `~` here is not judged"))
    }
}

/// `!` alone and `!=` are themselves; elsewhere another shell would take it for history.
fn exclamation(reader: &mut Reader<'_>, word: &mut Word) -> Result<(), Refusal> {
    let next = reader.peek_at(1);
    let begins = reader.at == word.at;
    if begins && matches!(next, None | Some(b' ' | b'\t' | b'\n' | b';' | b'|' | b'&' | b'=')) {
        take(reader, word);
        return Ok(());
    }
    Err(reader.refuse(2, "a `!` inside a word is not judged"))
}
