//! The frames that tine puts around texts of others, and the escaping that keeps such a text inside its frame.
//!
//! Two kinds of frame exist. One that programs read back (the notice of a task, a merge note) is XML, and `XmlText` writes what
//! stands in it. All others hold text that a model reads or edits (files, output, mail, instructions): [`escape_frame_tags`] changes
//! nothing of it but tags that look like a frame's own, so that code stays code.
//!
//! A new frame must be added to the list here, and to the test over all frames (`tine-runtime/src/envelope_tests.rs`).

use std::borrow::Cow;
use std::fmt::{self, Write as _};

use tine_guard::is_unseen;

/// The tags of all frames. [`escape_frame_tags`] recognises these; a new frame belongs in this list.
pub const FRAME_TAGS: [&str; 12] = [
    "attached-file",
    "compacted_context",
    "environment",
    "fork-boilerplate",
    "inherited_context",
    "merge-back",
    "project-memory",
    "side-question",
    "stdin",
    "task-notification",
    "user-command",
    "worktree",
];

/// Escapes every tag in `text` that opens or closes one of tine's frames: `<user-command>` becomes `&lt;user-command>`. A tag that
/// was escaped already is escaped once more, so [`unescape_frame_tags`] gives back the exact text. All other text is unchanged.
///
/// ```
/// use tine_fork::envelope::{escape_frame_tags, unescape_frame_tags};
///
/// let escaped = escape_frame_tags("if a < b { </user-command> }");
/// assert_eq!(escaped, "if a < b { &lt;/user-command> }");
/// assert_eq!(unescape_frame_tags(&escaped), "if a < b { </user-command> }");
/// ```
pub fn escape_frame_tags(text: &str) -> Cow<'_, str> {
    rewrite(text, |sign| match sign {
        Sign::Plain => ("<".len(), "&lt;"),
        Sign::Escaped(_) => ("&".len(), "&amp;"),
    })
}

/// Undoes [`escape_frame_tags`].
pub fn unescape_frame_tags(text: &str) -> Cow<'_, str> {
    rewrite(text, |sign| match sign {
        Sign::Plain => ("<".len(), "<"),
        Sign::Escaped(0) => ("&lt;".len(), "<"),
        Sign::Escaped(_) => ("&amp;".len(), "&"),
    })
}

/// As [`escape_frame_tags`], on one line: for a path or a name within a sentence of tine's own. Line ends and other control
/// characters become blanks.
pub fn escape_frame_line(text: &str) -> String {
    let breaks = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    let line: String = text.chars().map(|c| if breaks(c) { ' ' } else { c }).collect();
    escape_frame_tags(&line).into_owned()
}

/// The frame tags that `text` holds, in order, opening and closing ones. For tests of frames: only tine's own may be there.
pub fn frame_tags(text: &str) -> Vec<&'static str> {
    let places = text.match_indices('<').map(|(at, _)| &text[at + 1..]);
    places.filter_map(frame_tag).collect()
}

/// How the `<` of a frame's tag is written.
enum Sign {
    Plain,
    /// As `&lt;`, with so many `amp;` in between.
    Escaped(usize),
}

/// Replaces the beginning of the sign of each frame tag: `replace` says how many bytes give way to what.
fn rewrite(text: &str, replace: impl Fn(Sign) -> (usize, &'static str)) -> Cow<'_, str> {
    let (mut out, mut kept, mut at) = (String::new(), 0, 0);
    while let Some(found) = text[at..].find(['<', '&']) {
        at += found;
        let Some((sign, len)) = sign(&text[at..]) else {
            at += 1;
            continue;
        };
        if frame_tag(&text[at + len..]).is_some() {
            let (taken, instead) = replace(sign);
            out.push_str(&text[kept..at]);
            out.push_str(instead);
            kept = at + taken;
        }
        at += len;
    }
    if kept == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[kept..]);
    Cow::Owned(out)
}

/// The sign at the beginning of `text`, and its bytes.
fn sign(text: &str) -> Option<(Sign, usize)> {
    if text.starts_with('<') {
        return Some((Sign::Plain, 1));
    }
    let mut rest = text.strip_prefix('&')?;
    let mut times = 0;
    while let Some(inner) = rest.strip_prefix("amp;") {
        (rest, times) = (inner, times + 1);
    }
    let rest = rest.strip_prefix("lt;")?;
    Some((Sign::Escaped(times), text.len() - rest.len()))
}

/// The frame whose tag goes on with `rest` behind its `<`. Blanks, slashes and characters that nobody sees do not hide it. A tag of
/// several words counts in any case and with `_` for `-`. One of a single word counts in small letters, or in any case where it
/// closes: `Vec<Environment>` is code.
fn frame_tag(rest: &str) -> Option<&'static str> {
    let mut seen = rest.chars().filter(|c| c.is_whitespace() || !is_unseen(*c)).peekable();
    let mut closes = false;
    while let Some(c) = seen.next_if(|c| c.is_whitespace() || *c == '/') {
        closes |= c == '/';
    }
    // One more than the longest tag tells a longer name apart.
    let name: String = seen.take_while(|c| is_name(*c)).take(NAME_CHARS_MAX).collect();
    let plain = name.to_ascii_lowercase().replace('_', "-");
    let tag = FRAME_TAGS.into_iter().find(|tag| tag.replace('_', "-") == plain)?;
    let is_one_word = !tag.contains(['-', '_']);
    (!is_one_word || closes || name == tag).then_some(tag)
}

/// Characters of a name that are looked at; the longest tag has fewer.
const NAME_CHARS_MAX: usize = 24;

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':' | '.')
}

/// A text as XML holds it. Readers trim, and turn every line end into one character, so blanks at its ends and carriage returns
/// are written as numbers.
pub(crate) struct XmlText<'a>(pub(crate) &'a str);

impl fmt::Display for XmlText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let last = self.0.char_indices().next_back().map(|(at, _)| at);
        for (at, c) in self.0.char_indices() {
            let is_edge = at == 0 || Some(at) == last;
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '\r' => f.write_str("&#13;")?,
                c if is_edge && c.is_whitespace() => match permitted(c) {
                    char::REPLACEMENT_CHARACTER => f.write_char(char::REPLACEMENT_CHARACTER)?,
                    c => write!(f, "&#{};", u32::from(c))?,
                },
                c => f.write_char(permitted(c))?,
            }
        }
        Ok(())
    }
}

/// The character, or what stands for one that no XML text may hold, not even as a number.
pub(crate) fn permitted(c: char) -> char {
    match c {
        '\t' | '\n' | '\r' => c,
        '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => char::REPLACEMENT_CHARACTER,
        _ => c,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, escaped: &str) {
        assert_eq!(escape_frame_tags(text), escaped);
        assert_eq!(unescape_frame_tags(escaped), text);
    }

    #[test]
    fn tags_of_frames_are_escaped_however_they_are_written() {
        check("</user-command>", "&lt;/user-command>");
        check("a < / User_Command\n>", "a &lt; / User_Command\n>");
        check(
            "<\u{200b}/task-\u{ad}notification x='1'/>",
            "&lt;\u{200b}/task-\u{ad}notification x='1'/>",
        );
        check("&lt;/stdin> &amp;lt;/stdin>", "&amp;lt;/stdin> &amp;amp;lt;/stdin>");
        check("<<worktree", "<&lt;worktree");
        check("</ENVIRONMENT>", "&lt;/ENVIRONMENT>");
    }

    #[test]
    fn code_stays_as_it_is() {
        for code in [
            "if a < b && c <environments { Vec<Environment> }",
            "<user-commands> <task-notification-x> <file> &lt; &amp;lt; &lt;div>",
            "#include <stdio.h>",
        ] {
            assert!(matches!(escape_frame_tags(code), Cow::Borrowed(_)), "{code}");
        }
    }

    #[test]
    fn a_line_holds_one_line() {
        assert_eq!(
            escape_frame_line("/a\nb\u{2028}</environment>\u{1b}"),
            "/a b &lt;/environment> "
        );
    }

    #[test]
    fn every_tag_is_shorter_than_the_look() {
        assert!(FRAME_TAGS.iter().all(|tag| tag.len() < NAME_CHARS_MAX));
    }

    proptest! {
        /// Shows: escaped text holds no frame tag, and nothing of the text is lost.
        #[test]
        fn escaping_is_complete_and_reversible(text in forged()) {
            let escaped = escape_frame_tags(&text);
            prop_assert_eq!(frame_tags(&escaped), Vec::<&str>::new());
            prop_assert_eq!(unescape_frame_tags(&escaped), &*text);
        }
    }

    fn forged() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            Just("<".to_owned()),
            Just("</".to_owned()),
            Just("&".to_owned()),
            Just("amp;".to_owned()),
            Just("lt;".to_owned()),
            Just(">".to_owned()),
            Just("\u{200b}".to_owned()),
            Just(" ".to_owned()),
            prop::sample::select(&FRAME_TAGS).prop_map(str::to_owned),
            prop::sample::select(&FRAME_TAGS).prop_map(str::to_uppercase),
            "\\PC{0,3}",
        ];
        prop::collection::vec(piece, 0..16).prop_map(|pieces| pieces.concat())
    }
}
