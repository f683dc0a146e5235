//! Why a text is not read-only, and where in it the piece stands.

/// The longest piece of a command that a reason quotes; a reason is one line of a prompt.
const PIECE_CHARACTERS_MAX: usize = 40;

/// One refused piece of a command text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    /// Byte offset of the piece.
    at: usize,
    /// The piece as it is shown, already harmless on a line.
    piece: String,
    /// Why, as a fragment that follows the place.
    why: String,
}

impl Refusal {
    /// `piece` is quoted from the text or is what the text means at byte `at`.
    pub(super) fn new(at: usize, piece: &str, why: impl Into<String>) -> Self {
        Self { at, piece: shown(piece), why: why.into() }
    }

    /// The sentence, with the place as a person counts it: characters from 1, and the line where there are several.
    pub(super) fn told(&self, text: &str) -> String {
        let before = text.get(..self.at).unwrap_or(text);
        let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
        let place = if text.trim_end().contains('\n') {
            let line = before.matches('\n').count() + 1;
            format!("line {line}, column {column}")
        } else {
            format!("column {column}")
        };
        match self.piece.as_str() {
            "" => format!("at {place}: {}", self.why),
            piece => format!("`{piece}` at {place}: {}", self.why),
        }
    }
}

/// A piece on one line, cut, with everything escaped that would not be seen as itself.
fn shown(piece: &str) -> String {
    let mut out = String::new();
    for (index, character) in piece.chars().enumerate() {
        if index == PIECE_CHARACTERS_MAX {
            out.push('…');
            break;
        }
        if character == ' ' || super::characters::is_plain(character) {
            out.push(character);
        } else {
            out.extend(character.escape_default());
        }
    }
    out
}
