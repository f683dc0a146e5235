//! Splitting any text into commands and words, tolerantly: what cannot be read is taken as words.

/// One command of a text.
#[derive(Debug, Default)]
pub(super) struct Piece {
    /// Its words, quotes removed.
    pub(super) words: Vec<String>,
    /// Where its output goes.
    pub(super) targets: Vec<String>,
    /// Whether it reads from the command before it.
    pub(super) piped: bool,
}

/// Programs that run the rest of their words.
const WRAPPERS: [&str; 15] = [
    "sudo", "doas", "env", "nohup", "time", "nice", "ionice", "timeout", "command", "exec",
    "builtin", "xargs", "stdbuf", "setsid", "then",
];

/// Words before a command in a compound one.
const BEFORE: [&str; 6] = ["do", "else", "if", "while", "until", "!"];

/// Options of wrappers that take the next word.
const WRAPPER_VALUES: [&str; 12] =
    ["-u", "-g", "-n", "-I", "-P", "-L", "-s", "-k", "-c", "-o", "-C", "-S"];

impl Piece {
    /// The program's name without its folder, and its arguments; what only runs it is left out.
    pub(super) fn program(&self) -> Option<(&str, &[String])> {
        let mut rest = &self.words[..];
        loop {
            let (first, more) = rest.split_first()?;
            let name = first.rsplit('/').next().unwrap_or(first);
            if is_assignment(first) || BEFORE.contains(&name) {
                rest = more;
            } else if WRAPPERS.contains(&name) {
                rest = more;
                while let Some((word, after)) = rest.split_first() {
                    let number = word.starts_with(|c: char| c.is_ascii_digit());
                    if !(word.starts_with('-') || is_assignment(word) || number) {
                        break;
                    }
                    let takes = WRAPPER_VALUES.contains(&word.as_str()) && !after.is_empty();
                    rest = if takes { &after[1..] } else { after };
                }
            } else {
                return Some((name, more));
            }
        }
    }

    /// The text that a shell, or a shell elsewhere, is given to run.
    pub(super) fn shell_text(&self) -> Option<&str> {
        let (name, arguments) = self.program()?;
        match name {
            "sh" | "bash" | "zsh" | "dash" | "ksh" | "su" => {
                let at = arguments.iter().position(|word| {
                    word.starts_with('-') && !word.starts_with("--") && word.ends_with('c')
                })?;
                arguments.get(at + 1).map(String::as_str)
            }
            "eval" | "ssh" => arguments.last().map(String::as_str),
            _ => None,
        }
    }
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

/// The commands of a text, also those in subshells and substitutions outside quotes.
pub(super) fn pieces(text: &str) -> Vec<Piece> {
    let mut reader = Reader::default();
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\'' => {
                reader.word.get_or_insert_default();
                for inner in characters.by_ref().take_while(|c| *c != '\'') {
                    reader.push(inner);
                }
            }
            '"' => {
                reader.word.get_or_insert_default();
                while let Some(inner) = characters.next() {
                    match inner {
                        '"' => break,
                        '\\' => characters.next().into_iter().for_each(|c| reader.push(c)),
                        _ => reader.push(inner),
                    }
                }
            }
            '\\' => match characters.next() {
                Some('\n') | None => {}
                Some(escaped) => reader.push(escaped),
            },
            '#' if reader.word.is_none() => while characters.next_if(|c| *c != '\n').is_some() {},
            '|' => {
                let pipe = characters.next_if_eq(&'|').is_none();
                characters.next_if_eq(&'&');
                reader.end_piece(pipe);
            }
            '>' => {
                characters.next_if(|c| matches!(c, '>' | '|'));
                // A number before it is a descriptor, and `>&2` no file.
                let descriptor =
                    reader.word.as_deref().is_some_and(|w| w.chars().all(|c| c.is_ascii_digit()));
                if descriptor {
                    reader.word = None;
                }
                reader.end_word();
                reader.target = characters.next_if_eq(&'&').is_none();
            }
            '&' if characters.peek() == Some(&'>') => reader.end_word(),
            ';' | '&' | '\n' | '(' | ')' | '`' => reader.end_piece(false),
            ' ' | '\t' | '\r' => reader.end_word(),
            '{' | '}' if reader.word.is_none() => {}
            _ => reader.push(character),
        }
    }
    reader.end_piece(false);
    reader.pieces
}

#[derive(Default)]
struct Reader {
    pieces: Vec<Piece>,
    piece: Piece,
    word: Option<String>,
    /// Whether the next word is where output goes.
    target: bool,
}

impl Reader {
    fn push(&mut self, character: char) {
        self.word.get_or_insert_default().push(character);
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        if std::mem::take(&mut self.target) {
            self.piece.targets.push(word);
        } else {
            self.piece.words.push(word);
        }
    }

    fn end_piece(&mut self, pipe: bool) {
        self.end_word();
        self.target = false;
        let piece = std::mem::replace(&mut self.piece, Piece { piped: pipe, ..Piece::default() });
        if !piece.words.is_empty() || !piece.targets.is_empty() {
            self.pieces.push(piece);
        }
    }
}
