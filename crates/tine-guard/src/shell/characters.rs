//! Which characters a command may contain at all.
//!
//! What a person cannot see, or sees in another order than the shell reads it, is not judged. The list of what is
//! allowed beyond ASCII is by block: letters of all scripts, marks, punctuation and symbols that have a shape.

/// Whether the character may stand in a command: seen as itself, or a newline or tab.
pub(super) fn is_allowed(character: char) -> bool {
    matches!(character, '\n' | '\t' | ' ') || is_plain(character)
}

/// Whether the character is seen as itself: no control, no blank, nothing invisible or turning the reading direction.
pub(super) fn is_plain(character: char) -> bool {
    if character.is_ascii() {
        return character.is_ascii_graphic();
    }
    let blank_letter = matches!(character, '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}');
    let unseen_mark =
        matches!(character, '\u{34f}' | '\u{180b}'..='\u{180f}' | '\u{17b4}' | '\u{17b5}');
    if blank_letter || unseen_mark {
        return false;
    }
    character.is_alphanumeric()
        || matches!(character,
            '\u{a1}'..='\u{ac}' | '\u{ae}'..='\u{ff}'
            // Combining marks, and the marks of the scripts of South and South-East Asia.
            | '\u{300}'..='\u{36f}' | '\u{900}'..='\u{fff}'
            // Dashes, quotation marks, arrows, mathematical signs, boxes, dingbats; not the blank Braille cell.
            | '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{205e}' | '\u{2070}'..='\u{27ff}'
            | '\u{2801}'..='\u{2bff}'
            // CJK punctuation without its blank; full-width forms.
            | '\u{3001}'..='\u{303f}' | '\u{ff01}'..='\u{ff9f}' | '\u{ffa1}'..='\u{ffee}'
            // Emoji.
            | '\u{1f000}'..='\u{1faff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_of_any_script_are_plain_and_unseen_characters_are_not() {
        for plain in "aé日本ßжשع€–“→✓🚀한नमस्ते".chars() {
            assert!(is_plain(plain), "{plain:?}");
        }
        let unseen = "\0\u{1}\r\u{b}\u{c}\u{1b}\u{7f}\u{85}\u{a0}\u{ad}\u{61c}\u{1680}\u{180e}\u{2000}\u{200b}\u{200d}\
            \u{200e}\u{2028}\u{202e}\u{2060}\u{2066}\u{2800}\u{3000}\u{3164}\u{e000}\u{fe0f}\u{feff}\u{fff9}\u{fffd}\
            \u{e0041}\u{10ffff}";
        for character in unseen.chars() {
            assert!(!is_allowed(character), "{character:?}");
        }
        assert!(is_allowed('\t') && is_allowed('\n') && !is_plain('\n'));
    }
}
