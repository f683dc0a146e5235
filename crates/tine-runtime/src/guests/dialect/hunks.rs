//! Hunks of a patch, applied to a text.
//!
//! A hunk has no line numbers. Where it stands is found by its own lines, from the hunk before it on: as they are, then without the
//! blanks at their ends, then without those around them. What is kept stays as it is in the file.

use super::patch::{Hunk, Line};

/// The lines of a hunk that must stand in the file.
fn old_lines(lines: &[Line]) -> Vec<&str> {
    let old = lines.iter().filter_map(|line| match line {
        Line::Kept(text) | Line::Removed(text) => Some(text.as_str()),
        Line::Added(_) => None,
    });
    old.collect()
}

/// The text as the hunks leave it. Nothing is changed where one of them does not match: the error says which.
pub(super) fn apply(text: &str, hunks: &[Hunk]) -> Result<String, String> {
    let is_crlf = text.contains('\n')
        && text.split_inclusive('\n').all(|line| !line.ends_with('\n') || line.ends_with("\r\n"));
    let end = if is_crlf { "\r\n" } else { "\n" };
    let ends_open = !text.is_empty() && !text.ends_with('\n');
    let lines: Vec<&str> =
        text.split_inclusive('\n').map(|line| line.strip_suffix(end).unwrap_or(line)).collect();
    let mut new: Vec<&str> = Vec::with_capacity(lines.len());
    let mut position = 0;
    for (index, hunk) in hunks.iter().enumerate() {
        let whole = hunk.lines.as_slice();
        let (at, hunk_lines) = match place(&lines, position, (hunk, whole)) {
            Ok(at) => (at, whole),
            Err(why) => {
                // A blank line in front of the next file is hardly meant to stand in this one.
                let shorter = without_blank_end(whole);
                let at = place(&lines, position, (hunk, shorter)).ok();
                let at = at.filter(|_| shorter.len() < whole.len());
                (at.ok_or_else(|| format!("hunk {} does not match: {why}", index + 1))?, shorter)
            }
        };
        new.extend(&lines[position..at]);
        position = at;
        for line in hunk_lines {
            match line {
                Line::Kept(_) => {
                    new.extend(lines.get(position));
                    position += 1;
                }
                Line::Removed(_) => position += 1,
                Line::Added(text) => new.push(text),
            }
        }
    }
    new.extend(&lines[position..]);
    let mut text = new.join(end);
    if !new.is_empty() && !ends_open {
        text.push_str(end);
    }
    Ok(text)
}

/// The lines of a hunk without empty ones at their end.
fn without_blank_end(lines: &[Line]) -> &[Line] {
    let is_blank = |line: &Line| *line == Line::Kept(String::new());
    let kept = lines.iter().rposition(|line| !is_blank(line)).map_or(0, |last| last + 1);
    &lines[..kept]
}

/// The index of the line at which a hunk begins that has these lines.
fn place(
    lines: &[&str],
    from: usize,
    (hunk, hunk_lines): (&Hunk, &[Line]),
) -> Result<usize, String> {
    let mut from = from;
    for anchor in &hunk.anchors {
        let found = found(lines, from, &[anchor.as_str()]);
        from = 1 + found.ok_or_else(|| no_line(lines, from, anchor))?;
    }
    let old = old_lines(hunk_lines);
    if old.is_empty() {
        // Lines that are only added stand below their anchor, and without one at the end.
        let is_anchored = !hunk.anchors.is_empty() && !hunk.is_at_end;
        return Ok(if is_anchored { from } else { lines.len() });
    }
    if hunk.is_at_end
        && let Some(last) = lines.len().checked_sub(old.len()).filter(|last| *last >= from)
        && let Some(at) = found(lines, last, &old)
    {
        return Ok(at);
    }
    found(lines, from, &old).ok_or_else(|| {
        let first = old.iter().find(|line| found(lines, from, &[line]).is_none());
        match first {
            Some(line) => no_line(lines, from, line),
            None => {
                "its lines do not stand in the file in this order, one below the other".to_owned()
            }
        }
    })
}

fn no_line(lines: &[&str], from: usize, line: &str) -> String {
    let earlier = found(&lines[..from.min(lines.len())], 0, &[line]).is_some();
    let place =
        if earlier { "only above where the hunk before ends" } else { "nowhere in the file" };
    format!("`{line}` stands {place}")
}

/// Finds the first place at which these lines stand one below the other: as they are, or else with other blanks.
fn found(lines: &[&str], from: usize, wanted: &[&str]) -> Option<usize> {
    let alike: [fn(&str) -> &str; 3] = [|line| line, str::trim_end, str::trim];
    alike.iter().find_map(|plain| {
        let last = lines.len().checked_sub(wanted.len())?;
        let is_at = |at: &usize| {
            lines[*at..].iter().zip(wanted).all(|(line, wanted)| plain(line) == plain(wanted))
        };
        (from..=last).find(is_at)
    })
}

/// The smallest texts of whole lines that turn one text into the other, where the first occurs in the old text once. `None` for texts
/// that are equal, and for an old text that is empty.
pub(super) fn replacement(old: &str, new: &str) -> Option<(String, String)> {
    if old == new || old.is_empty() {
        return None;
    }
    let (before, after): (Vec<&str>, Vec<&str>) =
        (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
    let same = |(a, b): &(&&str, &&str)| a == b;
    let head = before.iter().zip(&after).take_while(same).count();
    let shorter = before.len().min(after.len());
    let tail = before.iter().rev().zip(after.iter().rev()).take_while(same).count();
    let tail = tail.min(shorter - head);
    let mut around = 0;
    loop {
        let (above, below) = (around.min(head), around.min(tail));
        let part = before[head - above..before.len() - tail + below].concat();
        let is_whole = above == head && below == tail;
        // Occurrences may overlap, and the first is the one that counts.
        let start = before[..head - above].concat().len();
        let mut occurrences = old.match_indices(&part);
        let is_first = occurrences.next().is_some_and(|(at, _)| at == start);
        if is_whole || !part.is_empty() && is_first && occurrences.next().is_none() {
            let into = after[head - above..after.len() - tail + below].concat();
            return Some((part, into));
        }
        around = (around * 2).max(1);
    }
}
