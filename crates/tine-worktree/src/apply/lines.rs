//! Changed lines come into a file whose bytes git would not give back, and all others stay as they are.
//!
//! Git merges what its filters leave of files. What it makes of the lines of one is carried over to the file as it stands: lines that git has
//! no more of go, new ones come with the line ends of the file, and what a filter takes out stays beside the lines that it stood beside.

use similar::{Algorithm, DiffOp, capture_diff_slices};

/// Largest file that is gone through line by line, and most lines of one. What is larger comes as git writes it.
pub(super) const BYTES_MAX: u64 = 8 * 1024 * 1024;
const LINES_MAX: usize = 20_000;

/// The end of a file's lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineEnd {
    Lf,
    Crlf,
}

/// A file as it stands, line by line along what git has of it.
struct Aligned<'a> {
    /// Of each line that git has, the line of the file.
    lines: Vec<Option<&'a [u8]>>,
    /// Lines of the file before each line that git has, and at the end, that git has not.
    beside: Vec<Vec<&'a [u8]>>,
}

/// Returns the file `bytes`, of which git has `before`, with the changes that lead from there to `after`; `None` where it is too large.
pub(super) fn carry(before: &[u8], after: &[u8], bytes: &[u8]) -> Option<Vec<u8>> {
    let texts = [before, after, bytes];
    let lines = texts.map(|text| text.split_inclusive(|byte| *byte == b'\n').collect::<Vec<_>>());
    let is_large =
        texts.iter().any(|text| u64::try_from(text.len()).is_ok_and(|bytes| bytes > BYTES_MAX))
            || lines.iter().any(|lines| lines.len() > LINES_MAX);
    if is_large {
        return None;
    }
    let [before, after, standing] = lines;
    let end = usual_end(&standing);
    let mut aligned = align(&before, &standing);
    let mut carried = Vec::with_capacity(bytes.len());
    let mut at = 0;
    for operation in diff(&before, &after) {
        let (op, old, new) = (operation.tag(), operation.old_range(), operation.new_range());
        match op {
            similar::DiffTag::Equal => {
                for (number, new) in old.zip(new) {
                    beside(&mut aligned, number, &mut carried);
                    if let Some(line) = aligned.lines[number] {
                        carried.extend_from_slice(&ended_as(
                            line,
                            (before[number], after[new]),
                            end,
                        ));
                    }
                    at = number + 1;
                }
            }
            similar::DiffTag::Delete | similar::DiffTag::Insert | similar::DiffTag::Replace => {
                beside(&mut aligned, at, &mut carried);
                new.for_each(|new| carried.extend_from_slice(&with_end(after[new], end)));
                // What stood beside the lines that go stays, behind those that come.
                for number in old {
                    beside(&mut aligned, number, &mut carried);
                    at = number + 1;
                }
            }
        }
    }
    beside(&mut aligned, before.len(), &mut carried);
    Some(carried)
}

/// Adds to `carried` the lines before a line that the file has and git has not, once.
fn beside(aligned: &mut Aligned<'_>, number: usize, carried: &mut Vec<u8>) {
    for line in aligned.beside.get_mut(number).map(std::mem::take).unwrap_or_default() {
        carried.extend_from_slice(line);
    }
}

fn align<'a>(before: &[&[u8]], standing: &[&'a [u8]]) -> Aligned<'a> {
    let mut aligned =
        Aligned { lines: vec![None; before.len()], beside: vec![Vec::new(); before.len() + 1] };
    for operation in diff(before, standing) {
        let (old, new) = (operation.old_range(), operation.new_range());
        // As many lines in the place of as many are the same ones, as a filter writes them.
        if old.len() == new.len() {
            old.zip(new).for_each(|(old, new)| aligned.lines[old] = Some(standing[new]));
        } else {
            aligned.beside[old.end].extend(&standing[new]);
        }
    }
    aligned
}

/// Which lines are the same but for their ends.
fn diff(one: &[&[u8]], other: &[&[u8]]) -> Vec<DiffOp> {
    let [one, other] =
        [one, other].map(|lines| lines.iter().map(|line| bare(line)).collect::<Vec<_>>());
    capture_diff_slices(Algorithm::Myers, &one, &other)
}

/// A line without its end.
fn bare(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

fn usual_end(lines: &[&[u8]]) -> LineEnd {
    let ended = lines.iter().filter(|line| line.ends_with(b"\n")).count();
    let pairs = lines.iter().filter(|line| line.ends_with(b"\r\n")).count();
    if pairs * 2 > ended { LineEnd::Crlf } else { LineEnd::Lf }
}

/// A new line with the end that the file's lines have. The last one may have none.
fn with_end(line: &[u8], end: LineEnd) -> Vec<u8> {
    match (line.ends_with(b"\n"), end) {
        (false, _) => line.to_vec(),
        (true, LineEnd::Lf) => [bare(line), b"\n"].concat(),
        (true, LineEnd::Crlf) => [bare(line), b"\r\n"].concat(),
    }
}

/// A line of the file. Where git's line got an end or lost it, so does this one.
fn ended_as(line: &[u8], (old, new): (&[u8], &[u8]), end: LineEnd) -> Vec<u8> {
    match (old.ends_with(b"\n"), new.ends_with(b"\n")) {
        (true, true) | (false, false) => line.to_vec(),
        (true, false) => bare(line).to_vec(),
        (false, true) => with_end(&[bare(line), b"\n"].concat(), end),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(before: &str, after: &str, bytes: &str, expected: &str) {
        let carried = carry(before.as_bytes(), after.as_bytes(), bytes.as_bytes()).unwrap();
        assert_eq!(String::from_utf8(carried).unwrap(), expected);
    }

    #[test]
    fn lines_that_did_not_change_keep_their_ends() {
        check("a\nb\n", "a\nnew\nb\n", "a\r\nb\r\n", "a\r\nnew\r\nb\r\n");
        check("a\nb\nc\n", "a\nB\nc\n", "a\r\nb\r\nc\n", "a\r\nB\r\nc\n");
        check("a\nb\n", "a\n", "a\r\nb\r\n", "a\r\n");
        check("a\nb\n", "", "a\r\nb\r\n", "");
        check("", "a\n", "", "a\n");
        // LF in a checkout in which git writes pairs.
        check("a\nb\n", "a\nb\nc\n", "a\nb\n", "a\nb\nc\n");
    }

    #[test]
    fn the_last_line_ends_as_git_has_it() {
        check("a\nb", "a\nb\n", "a\r\nb", "a\r\nb\r\n");
        check("a\nb\n", "a\nb", "a\r\nb\r\n", "a\r\nb");
        check("a", "a\nb", "a", "a\nb");
    }

    #[test]
    fn what_a_filter_takes_out_stays() {
        let standing = "1\nOUT x\n2\nOUT y\n";
        check("1\n2\n", "1\n2\n3\n", standing, "1\nOUT x\n2\nOUT y\n3\n");
        check("1\n2\n", "one\n2\n", standing, "one\nOUT x\n2\nOUT y\n");
        check("1\n2\n", "1\n", standing, "1\nOUT x\nOUT y\n");
        check("1\n2\n", "0\n1\n2\n", standing, "0\n1\nOUT x\n2\nOUT y\n");
    }

    #[test]
    fn what_a_filter_writes_otherwise_stays() {
        check("$Id$\na\n", "$Id$\nb\n", "$Id: 12 $\na\n", "$Id: 12 $\nb\n");
        check("+a\n", "+a\n+b\n", "a\n", "a\n+b\n");
    }

    #[test]
    fn too_large_ones_are_left_to_git() {
        let many = "a\n".repeat(LINES_MAX + 1);
        assert_eq!(carry(many.as_bytes(), b"", b""), None);
    }

    /// The lines without their ends.
    fn joined(lines: &[u8], end: &str) -> Vec<u8> {
        lines.iter().flat_map(|line| format!("{line}{end}").into_bytes()).collect()
    }

    proptest! {
        #[test]
        fn a_file_of_pairs_gets_what_git_would_write_in_pairs(
            before in prop::collection::vec(0..6_u8, 0..12),
            after in prop::collection::vec(0..6_u8, 0..12),
        ) {
            let carried = carry(&joined(&before, "\n"), &joined(&after, "\n"), &joined(&before, "\r\n"));
            let expected = if before.is_empty() { joined(&after, "\n") } else { joined(&after, "\r\n") };
            prop_assert_eq!(carried, Some(expected));
        }

        #[test]
        fn nothing_changes_where_git_changes_nothing(
            before in prop::collection::vec(0..6_u8, 0..12),
            bytes in prop::collection::vec(any::<u8>(), 0..60),
        ) {
            let before = joined(&before, "\n");
            let carried = carry(&before, &before, &bytes).unwrap();
            // What git has and the file has not does not come.
            prop_assert_eq!(carried, bytes);
        }
    }
}
