//! Lines of a stream that may hold anything: no text, no end, no bound.

use std::io::{self, BufRead, Read};

/// The longest line that is kept. A call's arguments may hold a whole file; more than this is no call.
pub(super) const LINE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// One line without its end.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    Text(String),
    /// Bytes that are no text.
    NotText,
    /// Longer than the limit; the rest of it was skipped.
    TooLong,
}

/// The next line; `None` at the end.
pub(super) fn next(from: &mut impl BufRead, bytes_max: u64) -> io::Result<Option<Line>> {
    let mut line = Vec::new();
    // The end of the line counts too, so a full line of the longest size is told from a longer one.
    from.by_ref().take(bytes_max + 1).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Ok(None);
    }
    if line.last() == Some(&b'\n') {
        line.pop();
    } else if line.len() as u64 > bytes_max {
        from.skip_until(b'\n')?;
        return Ok(Some(Line::TooLong));
    }
    Ok(Some(String::from_utf8(line).map_or(Line::NotText, Line::Text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_one_answer() {
        let mut stream = &b"one\n\n\xff\nmuch too long\n1234\nlast"[..];
        let mut lines = Vec::new();
        while let Some(line) = next(&mut stream, 4).unwrap() {
            lines.push(line);
        }
        let text = |text: &str| Line::Text(text.to_owned());
        let expected =
            [text("one"), text(""), Line::NotText, Line::TooLong, text("1234"), text("last")];
        assert_eq!(lines, expected);
    }
}
