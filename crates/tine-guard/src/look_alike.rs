//! Letters that can be taken for others, for people who are asked about a text.
//!
//! A remark for people that never changes a verdict. What looks alike is told by the tables of Unicode (UTS 39).

use unicode_script::UnicodeScript as _;
use unicode_security::confusable_detection::skeleton;
use unicode_security::mixed_script::MixedScript as _;

/// A character that can be taken for one of ASCII.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LookAlike {
    /// The place in the text, in bytes.
    pub at: usize,
    /// The character.
    pub character: char,
    /// The text of ASCII that it looks like.
    pub like: String,
    /// The script that it is of.
    pub script: &'static str,
}

/// The use that a text is meant for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextUse {
    /// A command or a path, of which programs read each character as it is. Whole words count that could be of ASCII.
    Exact,
    /// Any text. Words of other scripts are usual there, and only those that mix scripts count.
    Content,
}

/// The characters of a text that can be taken for others, in their order.
pub fn look_alikes(text: &str, text_use: TextUse) -> Vec<LookAlike> {
    if text.is_ascii() {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut at = 0;
    for part in parts(text) {
        let is_word = part.starts_with(char::is_alphabetic);
        let counts = match (text_use, is_word) {
            _ if part.is_ascii() => false,
            (_, true) if !part.is_single_script() => true,
            (TextUse::Exact, _) => skeleton(part).all(|character| character.is_ascii()),
            (TextUse::Content, _) => false,
        };
        if counts {
            let places = part.char_indices();
            found.extend(places.filter_map(|(place, character)| look_alike(at + place, character)));
        }
        at += part.len();
    }
    found
}

/// The text in words, each without a break, and single characters between them.
fn parts(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let word = rest.find(|character: char| !character.is_alphabetic()).unwrap_or(rest.len());
        let (part, behind) = rest.split_at(word.max(first.len_utf8()));
        parts.push(part);
        rest = behind;
    }
    parts
}

fn look_alike(at: usize, character: char) -> Option<LookAlike> {
    let like: String = skeleton(character.encode_utf8(&mut [0; 4])).collect();
    let counts = !character.is_ascii() && like.is_ascii() && !like.is_empty();
    let script = character.script().full_name();
    counts.then_some(LookAlike { at, character, like, script })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text with each look-alike in brackets, by what it looks like.
    fn marked(text: &str, text_use: TextUse) -> String {
        let mut marked = text.to_owned();
        for found in look_alikes(text, text_use).iter().rev() {
            let end = found.at + found.character.len_utf8();
            marked.replace_range(found.at..end, &format!("[{} {}]", found.script, found.like));
        }
        marked
    }

    #[test]
    fn letters_of_other_scripts_are_found_in_commands_and_paths() {
        let exact = |text: &str| marked(text, TextUse::Exact);
        assert_eq!(exact("g\u{456}t push"), "g[Cyrillic i]t push");
        assert_eq!(exact("src/m\u{430}in.rs"), "src/m[Cyrillic a]in.rs");
        assert_eq!(exact("g\u{3bf} test"), "g[Greek o] test");
        // A whole word that could be one of ASCII.
        assert_eq!(
            exact("\u{441}\u{43e}\u{440}\u{443} a"),
            "[Cyrillic c][Cyrillic o][Cyrillic p][Cyrillic y] a"
        );
        assert_eq!(exact("\u{ff52}\u{ff4d} x"), "[Latin r][Latin rn] x");
        assert_eq!(exact("rm \u{2013}rf x"), "rm [Common -]rf x");
        assert_eq!(exact("a\u{a0}b"), "a[Common  ]b");
        for text in [
            "größe.txt",
            "\u{43f}\u{440}\u{438}\u{432}\u{435}\u{442}",
            "日本語ファイル",
            "cargo test",
        ] {
            assert_eq!(exact(text), text);
        }
    }

    #[test]
    fn in_other_texts_only_words_that_mix_scripts_count() {
        let content = |text: &str| marked(text, TextUse::Content);
        assert_eq!(content("let us\u{435}r = 1;"), "let us[Cyrillic e]r = 1;");
        let all_of_one = "\u{430} \u{441}\u{43e}\u{440}\u{443} \u{2013} ok";
        assert_eq!(content(all_of_one), all_of_one);
        for text in ["yaz\u{131}l\u{131}m", "naïve", "日本語ファイル", "Δt = 3"] {
            assert_eq!(content(text), text);
        }
    }

    proptest::proptest! {
        #[test]
        fn places_are_those_of_the_characters(text in "(?s).{0,40}") {
            for found in look_alikes(&text, TextUse::Exact) {
                proptest::prop_assert!(text[found.at..].starts_with(found.character));
            }
        }
    }
}
