//! The head and the tail of an output of any length, in bounded memory.

use std::collections::VecDeque;

/// The longest UTF-8 character.
const CHARACTER_BYTES_MAX: usize = 4;

/// Collects bytes; keeps enough of both ends to show half of the limit from each.
#[derive(Debug)]
pub(crate) struct Excerpt {
    characters_max: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    /// Whether bytes are in neither, and how many characters and line ends begin there.
    lost: bool,
    lost_characters: usize,
    lost_lines: usize,
}

impl Excerpt {
    pub(crate) fn new(characters_max: usize) -> Self {
        Self {
            characters_max,
            head: Vec::new(),
            tail: VecDeque::new(),
            lost: false,
            lost_characters: 0,
            lost_lines: 0,
        }
    }

    /// Bytes that each end may hold.
    fn end_bytes_max(&self) -> usize {
        self.characters_max.div_ceil(2) * CHARACTER_BYTES_MAX
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let end_max = self.end_bytes_max();
        let (first, rest) = bytes.split_at(bytes.len().min(end_max - self.head.len()));
        self.head.extend_from_slice(first);
        self.tail.extend(rest);
        let excess = self.tail.len().saturating_sub(end_max);
        self.lost |= excess > 0;
        for byte in self.tail.drain(..excess) {
            self.lost_characters += usize::from(begins_character(byte));
            self.lost_lines += usize::from(byte == b'\n');
        }
    }

    /// Returns true if nothing was collected.
    pub(crate) fn is_empty(&self) -> bool {
        self.head.is_empty()
    }

    /// What was collected so far; it begins anew.
    pub(crate) fn take(&mut self) -> Self {
        std::mem::replace(self, Self::new(self.characters_max))
    }

    /// The text; where it was too long, a line in the middle says how much was cut.
    pub(crate) fn finish(mut self) -> String {
        let lost = self.lost;
        if !lost {
            self.head.extend(self.tail.drain(..));
        }
        let head = String::from_utf8_lossy(&self.head);
        // The first bytes of the tail may belong to a character that is counted as lost.
        let tail: Vec<u8> =
            self.tail.iter().copied().skip_while(|byte| lost && !begins_character(*byte)).collect();
        let tail = String::from_utf8_lossy(&tail);
        let total = head.chars().count() + tail.chars().count() + self.lost_characters;
        if total <= self.characters_max {
            return format!("{head}{tail}");
        }
        let head_end = self.characters_max.div_ceil(2);
        let tail_length = self.characters_max - head_end;
        let (head_kept, head_cut) = split_at_character(&head, head_end);
        let (whole, cut_before) =
            if lost { (&*tail, head_cut.matches('\n').count()) } else { (head_cut, 0) };
        let skipped = whole.chars().count().saturating_sub(tail_length);
        let (tail_cut, tail_kept) = split_at_character(whole, skipped);
        let cut_lines = cut_before + self.lost_lines + tail_cut.matches('\n').count();
        let cut_characters = total - head_kept.chars().count() - tail_kept.chars().count();
        format!("{head_kept}\n… {cut_characters} characters ({cut_lines} lines) cut …\n{tail_kept}")
    }
}

fn begins_character(byte: u8) -> bool {
    byte & 0b1100_0000 != 0b1000_0000
}

fn split_at_character(text: &str, characters: usize) -> (&str, &str) {
    let end = text.char_indices().nth(characters).map_or(text.len(), |(end, _)| end);
    text.split_at(end)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn excerpt(text: &str, characters_max: usize, step: usize) -> String {
        let mut excerpt = Excerpt::new(characters_max);
        for chunk in text.as_bytes().chunks(step) {
            excerpt.push(chunk);
        }
        excerpt.finish()
    }

    #[test]
    fn the_middle_is_cut_and_counted() {
        assert_eq!(excerpt("äöü", 3, 1), "äöü");
        let text: String = (0..100).map(|n| format!("{n:02}\n")).collect();
        insta::assert_snapshot!(excerpt(&text, 18, 7), @"
        00
        01
        02

        … 282 characters (94 lines) cut …
        97
        98
        99
        ");
        insta::assert_snapshot!(excerpt("0123456789", 6, 3), @"
        012
        … 4 characters (0 lines) cut …
        789
        ");
    }

    #[test]
    fn a_character_cut_by_both_ends_is_counted_once() {
        // The head ends after the first byte of the crab, and only its other bytes are lost.
        let text = format!("{}🦀{}", "x".repeat(7), "y".repeat(8));
        insta::assert_snapshot!(excerpt(&text, 4, 1), @"
        xx
        … 12 characters (0 lines) cut …
        yy
        ");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn both_ends_are_kept_and_nothing_is_miscounted(
            text in "[a-cäß🦀\n]{0,200}",
            characters_max in 2_usize..40,
            step in 1_usize..50,
        ) {
            let shown = excerpt(&text, characters_max, step);
            let total = text.chars().count();
            if total <= characters_max {
                prop_assert_eq!(shown, text);
            } else {
                let half = characters_max.div_ceil(2);
                let characters: Vec<char> = text.chars().collect();
                let head: String = characters[..half].iter().collect();
                let tail: String = characters[total - (characters_max - half)..].iter().collect();
                let middle = &characters[half..total - (characters_max - half)];
                let lines = middle.iter().filter(|c| **c == '\n').count();
                prop_assert_eq!(
                    shown,
                    format!("{head}\n… {} characters ({lines} lines) cut …\n{tail}", middle.len())
                );
            }
        }
    }
}
