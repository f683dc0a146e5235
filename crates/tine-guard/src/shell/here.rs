//! Input that stands in the command itself: `<<'EOF'` and `<<<`.
//!
//! Of here-documents only those with a quoted name are read, in whose text nothing is expanded, at most one a line. What a
//! command gets as its input does no more than a file that it reads, so the text itself is not judged.

use super::grammar::Reader;
use super::refusal::Refusal;
use super::word::read_word;

/// A here-document that was announced, and whose text begins on the next line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Announced<'a> {
    /// The line that ends it.
    name: &'a str,
    /// Where it was announced.
    at: usize,
}

/// Reads `<<'NAME'` or `<<< WORD`; the reader stands before it.
pub(super) fn read_here(reader: &mut Reader<'_>) -> Result<(), Refusal> {
    let refusal = reader.refuse(3, "a here-document must have a plain name in quotes");
    let at = reader.at;
    let rest = reader.text.get(at..).unwrap_or_default();
    if let Some(word) = rest.strip_prefix("<<<") {
        let blanks = word.len() - word.trim_start_matches([' ', '\t']).len();
        reader.at += 3 + blanks;
        if matches!(reader.peek(), None | Some(b'\n' | b';' | b'|' | b'&' | b'<' | b'>' | b'#')) {
            return Err(refusal);
        }
        return read_word(reader).map(|_| ());
    }
    let quoted = rest.trim_start_matches('<').trim_start_matches([' ', '\t']);
    let quote = quoted.chars().next().filter(|c| matches!(c, '\'' | '"'));
    let Some((name, after)) = quote.and_then(|quote| quoted[1..].split_once(quote)) else {
        return Err(refusal);
    };
    let plain = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    let ends = after.starts_with([' ', '\t', '\n', ';', '|', '&', '<', '>']);
    if !plain || !ends || reader.announced.is_some() {
        return Err(refusal);
    }
    reader.announced = Some(Announced { name, at });
    reader.at = reader.text.len() - after.len();
    Ok(())
}

/// Skips a line end that stands between commands, and the here-document that begins there.
pub(super) fn skip_line_end(reader: &mut Reader<'_>) -> Result<(), Refusal> {
    let line_end = reader.at;
    reader.at += 1;
    let Some(here) = reader.announced.take() else { return Ok(()) };
    let refuse = |why| Err(Refusal::new(here.at, "<<", why));
    // Shells differ on where the text begins if a word goes on over the end of the line.
    if reader.text[here.at..line_end].contains('\n') {
        return refuse("a word over several lines behind a here-document");
    }
    let body = &reader.text[reader.at..];
    let mut length = 0;
    for line in body.split_inclusive('\n') {
        length += line.len();
        if line.strip_suffix('\n').unwrap_or(line) == here.name {
            reader.at += length;
            return Ok(());
        }
    }
    refuse("the end of the here-document is missing")
}

/// Refuses a here-document whose text never began.
pub(super) fn check_ended(reader: &Reader<'_>) -> Result<(), Refusal> {
    match reader.announced {
        Some(here) => Err(Refusal::new(here.at, "<<", "the text of the here-document is missing")),
        None => Ok(()),
    }
}
