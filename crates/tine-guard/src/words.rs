//! Lists of words, written as one text.

/// Makes an array of the words of a text that blanks divide, when the program is compiled.
macro_rules! words {
    ($text:expr) => {{
        const TEXT: &str = $text;
        const WORDS: [&str; $crate::words::count(TEXT)] = $crate::words::split(TEXT);
        WORDS
    }};
}

/// The words of the text.
pub(crate) const fn count(text: &str) -> usize {
    let (bytes, mut at, mut count) = (text.as_bytes(), 0, 0);
    while at < bytes.len() {
        count += (bytes[at] != b' ' && (at == 0 || bytes[at - 1] == b' ')) as usize;
        at += 1;
    }
    count
}

/// The first `N` words of the text.
pub(crate) const fn split<const N: usize>(text: &str) -> [&str; N] {
    let (mut words, mut rest, mut done) = ([""; N], text, 0);
    while done < N {
        let (bytes, mut start) = (rest.as_bytes(), 0);
        while bytes[start] == b' ' {
            start += 1;
        }
        let mut end = start;
        while end < bytes.len() && bytes[end] != b' ' {
            end += 1;
        }
        let (head, tail) = rest.split_at(end);
        words[done] = head.split_at(start).1;
        (rest, done) = (tail, done + 1);
    }
    words
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_text_is_divided_at_its_blanks() {
        const NONE: [&str; 0] = words!("");
        assert_eq!(
            words!(
                "a -b  --c=d \
            e"
            ),
            ["a", "-b", "--c=d", "e"]
        );
        assert_eq!(NONE.len(), words!("  ").len());
    }
}
