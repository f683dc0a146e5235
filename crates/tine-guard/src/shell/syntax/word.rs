//! Words: quotes, escapes, braces, wildcards.

use super::parser::Parser;
use super::tree::{Part, Template};
use super::{Read, brace};
use crate::shell::refusal::Refusal;

/// Longest word with a brace, in bytes; each brace looks at the rest of it.
const BRACE_BYTES_MAX: usize = 1024;

/// Most words that the braces of a text may make for the strict verdict.
const BRACE_WORDS_MAX: usize = 2048;

/// Why braces are refused that bash might read otherwise.
const BRACES: &str = "braces of this kind are not judged";

/// Why other pieces are refused.
pub(super) const EXPANSION: &str = "an expansion of this kind is not judged";
const BRACE: &str = "a brace outside quotes";
const ESCAPE: &str = "an escape of this kind is not judged";
const LINE_END: &str = "an escaped line end inside a word";

impl Template {
    /// Characters that stay as they are.
    pub(super) fn push(&mut self, text: &str, quoted: bool) {
        if let Some(Part::Text { text: last, quoted: same }) = self.parts.last_mut()
            && *same == quoted
        {
            last.push_str(text);
            return;
        }
        self.parts.push(Part::Text { text: text.to_owned(), quoted });
    }

    pub(super) fn push_char(&mut self, character: char, quoted: bool) {
        self.push(character.encode_utf8(&mut [0; 4]), quoted);
    }
}

fn ends_word(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b';' | b'|' | b'&' | b'<' | b'>' | b'(' | b')')
}

impl Parser<'_> {
    /// Reads the words that the word here becomes by its braces; usually one.
    pub(super) fn words(&mut self) -> Read<Vec<Template>> {
        let rest = self.rest();
        let length = rest.bytes().position(ends_word).unwrap_or(rest.len());
        let (source, at) = (&rest[..length], self.at);
        if !brace::is_braced(source) {
            return Ok(vec![self.word()?]);
        }
        if !self.is_bash {
            let mut word = self.word()?;
            word.parts.push(Part::Unknown);
            word.parts.retain(|part| !matches!(part, Part::Text { .. } | Part::Glob(_)));
            return Ok(vec![word]);
        }
        let Some(texts) = brace::expanded(source) else {
            if is_sequence(source) {
                self.only_wide(length, BRACES);
                self.at += length;
                return Ok(vec![Template { parts: vec![Part::Sequence], at }]);
            }
            self.object_to(Refusal::new(at, source, BRACES));
            return Ok(vec![self.word()?]);
        };
        self.made += texts.len();
        if texts.iter().any(String::is_empty) || self.made > BRACE_WORDS_MAX {
            self.only_wide(length, BRACES);
        }
        self.at += length;
        let mut words = Vec::new();
        for text in &texts {
            let word = self.within(text, |inner| inner.plain_word(true))?;
            words.push(Template { at, ..word });
        }
        Ok(words)
    }

    /// Reads a word without brace expansion.
    pub(super) fn word(&mut self) -> Read<Template> {
        self.nested(|parser| parser.plain_word(false))
    }

    fn plain_word(&mut self, braces: bool) -> Read<Template> {
        let mut word = Template { at: self.at, parts: Vec::new() };
        let (start, mut is_braced) = (self.at, false);
        if self.peek() == Some(b'#') {
            return self.refuse(1, "a comment here is not judged");
        }
        if matches!(self.peek(), Some(b'<')) && self.peek_at(1) == Some(b'(') {
            if !matches!(self.before(), None | Some(b' ' | b'\t' | b'\n')) {
                self.object(2, "a word that goes on with `<(…)`");
            }
            self.process(&mut word)?;
            if self.peek().is_some_and(|byte| !ends_word(byte)) {
                self.object(1, "a word that goes on behind `<(…)`");
            }
        }
        let starts_process =
            |parser: &Self, byte| matches!(byte, b'<' | b'>') && parser.peek_at(1) == Some(b'(');
        while let Some(byte) = self.peek() {
            if starts_process(self, byte) {
                self.object(2, "a word that goes on with `<(…)`");
                self.process(&mut word)?;
                continue;
            }
            if ends_word(byte) {
                break;
            }
            match byte {
                b'\'' => self.single_quoted(&mut word)?,
                b'"' => self.double_quoted(&mut word)?,
                b'\\' => self.escaped(&mut word)?,
                b'$' if self.peek_at(1) == Some(b'\'') => self.ansi_quoted(&mut word)?,
                b'$' if self.peek_at(1) == Some(b'"') => {
                    self.object(2, "a translated text is not judged");
                    self.at += 1;
                }
                b'$' => self.expansion(&mut word, false)?,
                b'`' => self.backticks(&mut word, false)?,
                b'{' if !braces && !is_braced => is_braced = self.brace(&mut word),
                b'}' => {
                    self.only_wide(1, BRACE);
                    self.at += 1;
                    word.push("}", false);
                }
                b'~' if self.at == start => self.tilde(&mut word),
                b'~' if matches!(self.before(), Some(b':' | b'=')) => {
                    self.object(1, "a `~` here is not judged");
                    self.at += 1;
                    word.parts.push(Part::Unknown);
                }
                b'*' | b'?' | b'[' => {
                    word.parts.push(Part::Glob(char::from(byte)));
                    self.at += 1;
                }
                b'~' | b'!' => {
                    self.sign_in_word(start);
                    self.at += 1;
                    word.push_char(char::from(byte), false);
                }
                _ => {
                    let Some(character) = self.next_char() else { break };
                    word.push_char(character, false);
                }
            }
        }
        if let [bracket @ Part::Glob('[')] = word.parts.as_mut_slice() {
            *bracket = Part::Text { text: "[".to_owned(), quoted: false };
        }
        if is_braced {
            // What the braces make of it is not known; what it runs is.
            word.parts.retain(|part| !matches!(part, Part::Text { .. } | Part::Glob(_)));
            word.parts.push(Part::Unknown);
        }
        Ok(word)
    }

    /// Notes a `~` or `!` in a word that begins at `start`, where another shell might take it for more than itself.
    fn sign_in_word(&mut self, start: usize) {
        let plain = match self.peek() {
            Some(b'~') => self.before().is_some_and(|before| {
                before.is_ascii_alphanumeric() || b"_.}^@~-".contains(&before)
            }),
            _ => {
                let ends = [b' ', b'\t', b'\n', b';', b'|', b'&', b'='];
                self.at == start && self.peek_at(1).is_none_or(|next| ends.contains(&next))
            }
        };
        if !plain {
            self.only_wide(2, "this sign inside a word is not judged");
        }
    }

    /// `<(…)` or `>(…)`.
    pub(super) fn process(&mut self, word: &mut Template) -> Read<()> {
        self.only_wide(2, "a redirect of this kind is not judged");
        if self.peek() == Some(b'>') {
            self.object(2, "a redirect of this kind is not judged");
        }
        self.at += 2;
        let list = self.substituted(b')')?;
        word.parts.push(Part::Process(list));
        Ok(())
    }

    /// `{}`, `@{…}` and other braces that bash leaves as they are; true for those that it may not.
    fn brace(&mut self, word: &mut Template) -> bool {
        let rest = self.rest();
        if let Some(length) = self.git_braces() {
            word.push(&rest[..length], false);
            self.at += length;
            return false;
        }
        self.only_wide(1, BRACE);
        let ends = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b';');
        let bytes = &rest.as_bytes()[..rest.len().min(BRACE_BYTES_MAX + 1)];
        let length = bytes.iter().position(ends).unwrap_or(bytes.len());
        let source = rest.get(..length).unwrap_or_default();
        let several = length > BRACE_BYTES_MAX
            || source.contains([',', '"', '\'', '$', '`', '\\'])
            || source.contains("..");
        if several {
            self.object(1, BRACES);
        }
        self.at += 1;
        word.push("{", false);
        several
    }

    /// The bytes of the braces of git's `@{…}` here, which are certain.
    fn git_braces(&self) -> Option<usize> {
        let inner = &self.rest()[1..];
        let length = inner.find(|c: char| !(c.is_ascii_alphanumeric() || "-.".contains(c)))?;
        let certain = length > 0
            && self.before() == Some(b'@')
            && inner[length..].starts_with('}')
            && !inner[..length].contains("..");
        certain.then_some(length + 2)
    }

    fn tilde(&mut self, word: &mut Template) {
        let next = self.peek_at(1);
        let own = next.is_none_or(|byte| ends_word(byte) || byte == b'/');
        if !own {
            self.object(2, "somebody's home directory");
        }
        self.at += 1;
        word.parts.push(if own { Part::Tilde } else { Part::Unknown });
    }

    pub(super) fn single_quoted(&mut self, word: &mut Template) -> Read<()> {
        let Some(length) = self.rest()[1..].find('\'') else {
            return self.refuse(1, "a quote that is not closed");
        };
        word.push(&self.rest()[1..=length], true);
        self.at += length + 2;
        Ok(())
    }

    /// `$'…'`. Verdicts accept the escapes that every shell which knows it reads alike.
    pub(super) fn ansi_quoted(&mut self, word: &mut Template) -> Read<()> {
        self.at += 2;
        word.push("", true);
        if !self.is_bash {
            word.parts.push(Part::Unknown);
        }
        loop {
            match (self.peek(), self.peek_at(1)) {
                (None, _) => return self.refuse(1, "a quote that is not closed"),
                (Some(b'\''), _) => {
                    self.at += 1;
                    return Ok(());
                }
                (Some(b'\\'), Some(escape @ (b't' | b'n' | b'\\' | b'\'' | b'"'))) => {
                    let escaped = match escape {
                        b't' => '\t',
                        b'n' => '\n',
                        other => char::from(other),
                    };
                    word.push_char(escaped, true);
                    self.at += 2;
                }
                (Some(b'\\'), _) => {
                    self.object(2, ESCAPE);
                    self.rare_escape(word);
                }
                _ => {
                    let Some(character) = self.next_char() else { continue };
                    word.push_char(character, true);
                }
            }
        }
    }

    /// An escape of `$'…'` by a number, or a rare letter. One that makes no character of its own is not known.
    fn rare_escape(&mut self, word: &mut Template) {
        self.at += 1;
        let Some(letter) = self.next_char() else { return };
        let numeral = match letter {
            'x' => Some((16, 2)),
            'u' => Some((16, 4)),
            'U' => Some((16, 8)),
            '0'..='7' => {
                self.at -= 1;
                Some((8, 3))
            }
            _ => None,
        };
        let Some((radix, most)) = numeral else {
            match letter {
                '?' => word.push_char('?', true),
                'a' | 'b' | 'e' | 'E' | 'f' | 'r' | 'v' => word.push_char('\u{1b}', true),
                'c' => {
                    let _ = self.next_char();
                    word.parts.push(Part::Unknown);
                }
                other => {
                    word.push("\\", true);
                    word.push_char(other, true);
                }
            }
            return;
        };
        let digits = self.rest().chars().take(most).take_while(|c| c.is_digit(radix)).count();
        let code = u32::from_str_radix(&self.rest()[..digits], radix).ok();
        self.at += digits;
        // A zero ends the text; above 127 the bytes depend on the locale.
        match code.filter(|code| (1..128).contains(code)).and_then(char::from_u32) {
            Some(character) => word.push_char(character, true),
            None => word.parts.push(Part::Unknown),
        }
    }

    pub(super) fn double_quoted(&mut self, word: &mut Template) -> Read<()> {
        let open = Refusal::new(self.at, "\"", "a quote that is not closed");
        self.at += 1;
        word.push("", true);
        loop {
            match self.peek() {
                None => return Err(open),
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(_) => self.quoted_piece(word, true)?,
            }
        }
    }

    /// The text of a here-document in which expansions count, up to where the text ends.
    pub(super) fn document_text(&mut self) -> Read<Template> {
        let mut word = Template { at: self.at, parts: Vec::new() };
        while self.peek().is_some() {
            self.quoted_piece(&mut word, false)?;
        }
        Ok(word)
    }

    /// One piece of what stands in double quotes.
    fn quoted_piece(&mut self, word: &mut Template, in_quotes: bool) -> Read<()> {
        match (self.peek(), self.peek_at(1)) {
            (Some(b'`'), _) => self.backticks(word, true),
            (Some(b'$'), _) => self.expansion(word, true),
            (Some(b'\\'), Some(byte @ (b'\\' | b'$' | b'`' | b'"')))
                if in_quotes || byte != b'"' =>
            {
                word.push_char(char::from(byte), true);
                self.at += 2;
                Ok(())
            }
            (Some(b'\\'), Some(b'\n')) => {
                self.object(1, LINE_END);
                self.at += 2;
                Ok(())
            }
            _ => {
                if let Some(character) = self.next_char() {
                    word.push_char(character, true);
                }
                Ok(())
            }
        }
    }

    pub(super) fn escaped(&mut self, word: &mut Template) -> Read<()> {
        match self.peek_at(1) {
            Some(byte @ b' '..=b'~') => {
                word.push_char(char::from(byte), true);
                self.at += 2;
                Ok(())
            }
            Some(b'\n') => {
                self.object(1, LINE_END);
                self.at += 2;
                Ok(())
            }
            _ => {
                self.object(2, ESCAPE);
                self.at += 1;
                word.push("\\", true);
                if let Some(character) = self.next_char() {
                    word.parts.pop();
                    word.push_char(character, true);
                }
                Ok(())
            }
        }
    }
}

/// Bytes of the name that the text begins with.
pub(in crate::shell) fn name_length(text: &str) -> usize {
    if !text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        return 0;
    }
    text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(text.len())
}

/// `{1..900}`: two whole numbers, perhaps with a step.
fn is_sequence(source: &str) -> bool {
    let Some(inner) = source.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) else {
        return false;
    };
    let parts: Vec<&str> = inner.split("..").collect();
    let number =
        |part: &&str| (1..=6).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
    matches!(parts.len(), 2 | 3) && parts.iter().all(number)
}
