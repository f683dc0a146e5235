//! Tokens of a rendered prompt. A token is four bytes of one message; what is left at a message's end is a token of its
//! own, so that the counts of messages add up and a message's tokens do not depend on what stands before it.

use crate::limits::BYTES_PER_TOKEN;

const TOKEN_BYTES: usize = BYTES_PER_TOKEN as usize;

/// One token: its bytes. Two are equal exactly when their bytes are.
pub(crate) type Token = u32;

/// Fills the last token of a message: a byte that no UTF-8 text contains.
const FILLER: u8 = 0xFF;

/// The tokens of some messages.
pub(crate) fn of(messages: &[String]) -> Vec<Token> {
    let chunks = messages.iter().flat_map(|message| message.as_bytes().chunks(TOKEN_BYTES));
    let token = |chunk: &[u8]| {
        let mut bytes = [FILLER; TOKEN_BYTES];
        bytes[..chunk.len()].copy_from_slice(chunk);
        Token::from_le_bytes(bytes)
    };
    chunks.map(token).collect()
}

/// Tokens that two sequences share from their beginning.
pub(crate) fn common(left: &[Token], right: &[Token]) -> usize {
    left.iter().zip(right).take_while(|(left, right)| left == right).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_ends_early_is_not_the_beginning_of_another() {
        let of = |text: &str| of(&[text.to_owned()]);
        assert_eq!((of("abcdefgh").len(), of("abcdefghi").len(), of("").len()), (2, 3, 0));
        assert_eq!(common(&of("abcdef"), &of("abcdefgh")), 1);
        assert_eq!(common(&of("abcd"), &of("abcdefgh")), 1);
    }
}
