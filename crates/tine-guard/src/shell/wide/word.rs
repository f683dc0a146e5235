//! Words: quotes, variables, substitutions.

use super::parser::Parser;
use super::tree::{Change, Part, Template};
use crate::shell::brace;
use crate::shell::refusal::Refusal;

type Read<T> = Result<T, Refusal>;

/// Longest word with a brace, in bytes; each brace looks at the rest of it.
const BRACE_BYTES_MAX: usize = 1024;

/// Why braces are refused that bash might read otherwise.
const BRACES: &str = "braces of this kind are not judged";

impl Template {
    /// Characters that stay as they are.
    fn push(&mut self, text: &str, quoted: bool) {
        if let Some(Part::Text { text: last, quoted: same }) = self.parts.last_mut()
            && *same == quoted
        {
            last.push_str(text);
            return;
        }
        self.parts.push(Part::Text { text: text.to_owned(), quoted });
    }

    fn push_char(&mut self, character: char, quoted: bool) {
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
        if is_sequence(source) {
            self.at += length;
            return Ok(vec![Template { parts: vec![Part::Sequence], at }]);
        }
        let Some(texts) = brace::expanded(source) else {
            return Err(Refusal::new(at, source, BRACES));
        };
        self.at += length;
        let word = |text: &String| {
            let mut inner = Parser::new(text);
            let word = inner.nested(|inner| inner.plain_word(true))?;
            Ok(Template { at, ..word })
        };
        texts.iter().map(word).collect()
    }

    /// Reads a word without brace expansion.
    pub(super) fn word(&mut self) -> Read<Template> {
        self.nested(|parser| parser.plain_word(false))
    }

    fn plain_word(&mut self, braces: bool) -> Read<Template> {
        let mut word = Template { at: self.at, parts: Vec::new() };
        let start = self.at;
        if self.peek() == Some(b'#') {
            return self.refuse(1, "a comment here is not judged");
        }
        if matches!(self.peek(), Some(b'<')) && self.peek_at(1) == Some(b'(') {
            if !matches!(self.before(), None | Some(b' ' | b'\t' | b'\n')) {
                return self.refuse(2, "a word that goes on with `<(…)`");
            }
            self.at += 2;
            let list = self.substituted(b')')?;
            word.parts.push(Part::Process(list));
            return match self.peek() {
                Some(byte) if !ends_word(byte) => {
                    self.refuse(1, "a word that goes on behind `<(…)`")
                }
                _ => Ok(word),
            };
        }
        while let Some(byte) = self.peek().filter(|byte| !ends_word(*byte)) {
            match byte {
                b'\'' => self.single_quoted(&mut word)?,
                b'"' => self.double_quoted(&mut word)?,
                b'\\' => self.escaped(&mut word)?,
                b'$' if self.peek_at(1) == Some(b'\'') => self.ansi_quoted(&mut word)?,
                b'$' if self.peek_at(1) == Some(b'"') => {
                    return self.refuse(2, "a translated text is not judged");
                }
                b'$' => self.expansion(&mut word, false)?,
                b'`' => self.backticks(&mut word, false)?,
                b'{' if !braces => self.brace(&mut word)?,
                b'~' if self.at == start => self.tilde(&mut word)?,
                b'~' if matches!(self.before(), Some(b':' | b'=')) => {
                    return self.refuse(1, "a `~` here is not judged");
                }
                b'*' | b'?' | b'[' => {
                    word.parts.push(Part::Glob(char::from(byte)));
                    self.at += 1;
                }
                _ => {
                    let Some(character) = self.next_char() else { break };
                    word.push_char(character, false);
                }
            }
        }
        Ok(word)
    }

    /// `{}`, `@{…}` and other braces that bash leaves as they are.
    fn brace(&mut self, word: &mut Template) -> Read<()> {
        let rest = self.rest();
        let length = rest.find([' ', '\t', '\n', ';']).unwrap_or(rest.len());
        let source = &rest[..length];
        if source.len() > BRACE_BYTES_MAX {
            return self.refuse(1, BRACES);
        }
        let name = name_length(&source[1..]) + 1;
        if source[name..].starts_with("}<") || source[name..].starts_with("}>") {
            return self.refuse(name + 1, "a redirect that sets a variable");
        }
        if source.contains([',', '"', '\'', '$', '`', '\\']) || source.contains("..") {
            return self.refuse(1, BRACES);
        }
        self.at += 1;
        word.push("{", false);
        Ok(())
    }

    fn tilde(&mut self, word: &mut Template) -> Read<()> {
        let next = self.peek_at(1);
        if !next.is_none_or(|byte| ends_word(byte) || byte == b'/') {
            return self.refuse(2, "somebody's home directory");
        }
        self.at += 1;
        word.parts.push(Part::Tilde);
        Ok(())
    }

    fn single_quoted(&mut self, word: &mut Template) -> Read<()> {
        let Some(length) = self.rest()[1..].find('\'') else {
            return self.refuse(1, "a quote that is not closed");
        };
        word.push(&self.rest()[1..=length], true);
        self.at += length + 2;
        Ok(())
    }

    /// `$'…'` with the escapes that every shell which knows it reads alike.
    fn ansi_quoted(&mut self, word: &mut Template) -> Read<()> {
        self.at += 2;
        word.push("", true);
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
                (Some(b'\\'), _) => return self.refuse(2, "an escape of this kind is not judged"),
                _ => {
                    let Some(character) = self.next_char() else { continue };
                    word.push_char(character, true);
                }
            }
        }
    }

    fn double_quoted(&mut self, word: &mut Template) -> Read<()> {
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
            (Some(b'\\'), Some(b'\n')) => self.refuse(1, "an escaped line end inside a word"),
            _ => {
                if let Some(character) = self.next_char() {
                    word.push_char(character, true);
                }
                Ok(())
            }
        }
    }

    fn escaped(&mut self, word: &mut Template) -> Read<()> {
        match self.peek_at(1) {
            Some(byte @ b' '..=b'~') => {
                word.push_char(char::from(byte), true);
                self.at += 2;
                Ok(())
            }
            Some(b'\n') => self.refuse(1, "an escaped line end inside a word"),
            _ => self.refuse(2, "an escape of this kind is not judged"),
        }
    }

    fn backticks(&mut self, word: &mut Template, quoted: bool) -> Read<()> {
        let inner = &self.rest()[1..];
        let Some(length) = inner.find('`') else {
            return self.refuse(1, "backticks that are not closed");
        };
        if inner[..length].contains(['\\', '"']) {
            return self.refuse(1, "quotes inside backticks are not judged");
        }
        let end = self.at + 1 + length;
        self.at += 1;
        let list = self.until(end, |parser| parser.nested(|parser| parser.list(&[])))?;
        self.at += 1;
        word.parts.push(Part::Command { list, quoted });
        Ok(())
    }

    /// The list of a substitution, and the byte that closes it.
    fn substituted(&mut self, close: u8) -> Read<super::tree::List> {
        if self.awaits_document() {
            return self.refuse(1, "a substitution behind a here-document is not judged");
        }
        let list = self.nested(|parser| parser.list(&[]))?;
        self.check_ended()?;
        if self.peek() != Some(close) {
            return self.refuse(1, "a substitution that is not closed");
        }
        self.at += 1;
        Ok(list)
    }

    /// What begins with `$`.
    pub(super) fn expansion(&mut self, word: &mut Template, quoted: bool) -> Read<()> {
        let part = match (self.peek_at(1), self.peek_at(2)) {
            (Some(b'('), Some(b'(')) => {
                self.at += 3;
                Part::Number(self.arithmetic("))")?)
            }
            (Some(b'('), _) => {
                self.at += 2;
                Part::Command { list: self.substituted(b')')?, quoted }
            }
            (Some(b'{'), _) => {
                self.at += 2;
                self.nested(|parser| parser.braced(quoted))?
            }
            (Some(b'['), _) => return self.refuse(2, "an expansion of this kind is not judged"),
            _ => {
                self.at += 1;
                match self.parameter_name() {
                    Some(name) => Part::Parameter { name, change: Change::None, quoted },
                    None => {
                        word.push("$", quoted);
                        return Ok(());
                    }
                }
            }
        };
        word.parts.push(part);
        Ok(())
    }

    /// A variable's name, or one of the signs that stand for one.
    fn parameter_name(&mut self) -> Option<String> {
        let rest = self.rest();
        let name = name_length(rest);
        let length = match rest.chars().next() {
            _ if name > 0 => name,
            Some(c) if c.is_ascii_digit() || "?#$@*!-".contains(c) => 1,
            _ => return None,
        };
        self.at += length;
        Some(rest[..length].to_owned())
    }

    /// `${…}`; the reader stands behind the brace.
    fn braced(&mut self, quoted: bool) -> Read<Part> {
        let counts = self.peek() == Some(b'#') && self.peek_at(1) != Some(b'}');
        self.at += usize::from(counts);
        if self.peek() == Some(b'!') {
            return self.refuse(2, "a variable that is named by another");
        }
        let Some(name) = self.parameter_name() else {
            return self.refuse(2, "an expansion of this kind is not judged");
        };
        let mut change = Change::None;
        if self.peek() == Some(b'[') {
            self.at += 1;
            change = if self.eat("@]") || self.eat("*]") {
                Change::All
            } else {
                Change::Element(self.arithmetic("]")?)
            };
        }
        if counts {
            change = Change::Length;
        } else if self.peek() != Some(b'}') {
            let element = !matches!(change, Change::None);
            change = self.change(quoted)?;
            if element && matches!(change, Change::Instead { assigns: true, .. }) {
                return self.refuse(1, "an expansion that sets an element");
            }
        }
        if !self.eat("}") {
            return self.refuse(1, "an expansion of this kind is not judged");
        }
        Ok(Part::Parameter { name, change, quoted })
    }

    fn change(&mut self, quoted: bool) -> Read<Change> {
        for (sign, assigns) in [(":-", false), (":+", false), (":=", true), (":?", false)] {
            if self.eat(sign) || self.eat(&sign[1..]) {
                let with = Box::new(self.operand(quoted, &[])?);
                return Ok(Change::Instead { with, assigns });
            }
        }
        for sign in ["##", "#", "%%", "%"] {
            if self.eat(sign) {
                return Ok(Change::Cut(Box::new(self.operand(false, &[])?)));
            }
        }
        for sign in ["^^", "^", ",,", ","] {
            if self.eat(sign) {
                return Ok(Change::Case);
            }
        }
        if self.eat("/") {
            let _ = self.eat("/") || self.eat("#") || self.eat("%");
            let pattern = Box::new(self.operand(false, b"/")?);
            let with = match self.eat("/") {
                true => self.operand(quoted, &[])?,
                false => Template::default(),
            };
            return Ok(Change::Replace { pattern, with: Box::new(with) });
        }
        if self.eat(":") {
            let mut parts = vec![self.arithmetic_before(b":}")?];
            if self.eat(":") {
                parts.push(self.arithmetic_before(b"}")?);
            }
            return Ok(Change::Slice(parts));
        }
        self.refuse(2, "an expansion of this kind is not judged")
    }

    /// The word behind an operator inside `${…}`, up to the brace or one of the bytes.
    fn operand(&mut self, quoted: bool, stops: &[u8]) -> Read<Template> {
        let mut word = Template { at: self.at, parts: Vec::new() };
        while let Some(byte) = self.peek().filter(|byte| *byte != b'}' && !stops.contains(byte)) {
            match byte {
                b'\'' if quoted => return self.refuse(1, "a quote inside an expansion in quotes"),
                b'\'' => self.single_quoted(&mut word)?,
                b'"' => self.double_quoted(&mut word)?,
                b'\\' => self.escaped(&mut word)?,
                b'$' if matches!(self.peek_at(1), Some(b'\'' | b'"')) => {
                    return self.refuse(2, "a quote of this kind inside an expansion");
                }
                b'$' => self.nested(|parser| parser.expansion(&mut word, quoted))?,
                b'`' => self.backticks(&mut word, quoted)?,
                b'{' | b'\n' | b'<' | b'>' => {
                    return self.refuse(1, "an expansion of this kind is not judged");
                }
                b'*' | b'?' | b'[' if !quoted => {
                    word.parts.push(Part::Glob(char::from(byte)));
                    self.at += 1;
                }
                _ => {
                    let Some(character) = self.next_char() else { break };
                    word.push_char(character, quoted);
                }
            }
        }
        Ok(word)
    }
}

/// Bytes of the name that the text begins with.
pub(super) fn name_length(text: &str) -> usize {
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
