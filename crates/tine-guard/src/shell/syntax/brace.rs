//! Brace expansion, where it is certain: `src/{a,b}.rs`, `{1..3}`.
//!
//! A word in plain characters is expanded as text, in bash's order, before anything else in it is read; each result is then
//! read as a word of its own. Quotes, escapes, variables, `~` and brackets together with braces are not judged.

/// Most words that one word may become; agents write a handful, and the bound keeps `{a,b}{a,b}…` from growing.
const WORDS_MAX: usize = 64;

/// Deepest nesting of braces; nobody reads more.
const DEPTH_MAX: usize = 4;

/// Longest word with braces, in bytes; it bounds how deep the reading of one group after another goes.
const BYTES_MAX: usize = 1024;

/// Whether the word has braces that become several, or that bash might read otherwise.
pub(super) fn is_braced(source: &str) -> bool {
    let empty_only = !source.replace("{}", "").contains(['{', '}']);
    let several = source.contains([',', '.']) && !only_at_braces(source) && !empty_only;
    source.contains('{') && source.chars().all(is_plain) && several
}

/// The texts that the word becomes; `None` where that is not certain or too much.
pub(super) fn expanded(source: &str) -> Option<Vec<String>> {
    if source.len() > BYTES_MAX { None } else { expand(source, 0) }
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_-./,{}*?+@%:=^".contains(c)
}

/// Whether its braces are those of git's `@{…}`, which a comma or two dots elsewhere do not concern.
fn only_at_braces(source: &str) -> bool {
    source.match_indices('{').all(|(at, _)| {
        let inner = source[at + 1..].split('}').next().unwrap_or_default();
        source[..at].ends_with('@') && !inner.contains([',', '{']) && !inner.contains("..")
    })
}

/// The texts that a text becomes; `None` where that is not certain or too much.
fn expand(text: &str, depth: usize) -> Option<Vec<String>> {
    let Some(open) = text.find('{') else {
        return (!text.contains('}')).then(|| vec![text.to_owned()]);
    };
    let (pieces, close) = group(text, open)?;
    if depth == DEPTH_MAX || text[..open].contains('}') {
        return None;
    }
    let mut middles = Vec::new();
    match pieces.as_slice() {
        [only] => middles = sequence(only)?,
        several => {
            for piece in several {
                middles.extend(expand(piece, depth + 1)?);
                if middles.len() > WORDS_MAX {
                    return None;
                }
            }
        }
    }
    let tails = expand(&text[close + 1..], depth)?;
    if middles.len() * tails.len() > WORDS_MAX {
        return None;
    }
    let joined = |middle: &String| {
        let before = format!("{}{middle}", &text[..open]);
        tails.iter().map(move |tail| format!("{before}{tail}")).collect::<Vec<String>>()
    };
    Some(middles.iter().flat_map(joined).collect())
}

/// The pieces between the commas of the group that opens at `open`, and where it closes.
fn group(text: &str, open: usize) -> Option<(Vec<&str>, usize)> {
    let mut pieces = Vec::new();
    let (mut depth, mut start) = (0_usize, open + 1);
    for (at, byte) in text.bytes().enumerate().skip(open) {
        match byte {
            b'{' => depth += 1,
            b'}' if depth == 1 => {
                pieces.push(&text[start..at]);
                return Some((pieces, at));
            }
            b'}' => depth -= 1,
            b',' if depth == 1 => {
                pieces.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    None
}

/// `1..3`: whole numbers without signs and leading zeros, upwards or downwards.
fn sequence(text: &str) -> Option<Vec<String>> {
    const DIGITS_MAX: usize = 6;
    let number = |text: &str| {
        let plain = text.bytes().all(|byte| byte.is_ascii_digit()) && text.len() <= DIGITS_MAX;
        (plain && (text == "0" || !text.starts_with('0'))).then(|| text.parse::<usize>().ok())?
    };
    let (first, last) = text.split_once("..")?;
    let (first, last) = (number(first)?, number(last)?);
    if first.abs_diff(last) >= WORDS_MAX {
        return None;
    }
    let all = first.min(last)..=first.max(last);
    let texts = all.map(|number| number.to_string());
    Some(if first > last { texts.rev().collect() } else { texts.collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> String {
        expand(text, 0).map_or_else(|| "refused".to_owned(), |texts| texts.join(" "))
    }

    #[test]
    fn braces_become_words_in_the_order_of_bash() {
        insta::assert_snapshot!(check("src/{a,b}.rs"), @"src/a.rs src/b.rs");
        insta::assert_snapshot!(check("a{b,c}d{e,f}"), @"abde abdf acde acdf");
        insta::assert_snapshot!(check("{a,b{c,d}}"), @"a bc bd");
        insta::assert_snapshot!(check("a{,.bak}"), @"a a.bak");
        insta::assert_snapshot!(check("a{8..11}b"), @"a8b a9b a10b a11b");
        insta::assert_snapshot!(check("{2..0}"), @"2 1 0");
    }

    #[test]
    fn what_bash_might_read_otherwise_or_grows_is_refused() {
        for text in [
            "{a}",
            "{}",
            "a{",
            "{a,b",
            "a}b{c,d}",
            "{a,b}}",
            "{01..3}",
            "{a..c}",
            "{1..900}",
            "{1..3..2}",
        ] {
            assert_eq!(check(text), "refused", "{text}");
        }
        assert_eq!(check(&"{a,b}".repeat(7)), "refused");
        assert_eq!(check(&"{a,".repeat(9_000)), "refused");
        assert_eq!(check(&format!("{}{}", "{a,".repeat(5), "}".repeat(5))), "refused");
    }
}
