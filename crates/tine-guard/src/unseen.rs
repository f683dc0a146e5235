//! Characters that a person does not see. Models read them all.

/// Returns true for a character that a person does not see as itself: control characters, characters without ink that are no
/// ordinary blanks, marks of the reading direction, and the parts of a character that only change the one before. The one list for
/// prompts, for what people trust, for output and for frames.
pub fn is_unseen(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}')
        || matches!(character, '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}')
        || matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(character, '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}')
        || matches!(character, '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}')
        || matches!(character, '\u{fff0}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}')
        || matches!(character, '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_ink_is_unseen_and_letters_and_blanks_are_seen() {
        let unseen = [
            '\u{1b}',
            '\u{ad}',
            '\u{115f}',
            '\u{1160}',
            '\u{200b}',
            '\u{200d}',
            '\u{202e}',
            '\u{2066}',
            '\u{2800}',
            '\u{3164}',
            '\u{fe0f}',
            '\u{feff}',
            '\u{ffa0}',
            '\u{e0041}',
        ];
        assert!(unseen.into_iter().all(is_unseen));
        assert!(
            [' ', '\u{a0}', 'a', 'ß', '語', '𝄞', '✓', '⠿'].into_iter().all(|seen| !is_unseen(seen))
        );
    }
}
