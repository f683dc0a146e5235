//! Expansions: `$NAME`, `${…}`, `$(…)`, backticks, `$((…))`.

use super::Read;
use super::parser::Parser;
use super::tree::{Change, List, Part, Template};
use super::word::{EXPANSION, name_length};
use crate::shell::environment::may_be_shown;

impl Parser<'_> {
    pub(super) fn backticks(&mut self, word: &mut Template, quoted: bool) -> Read<()> {
        self.only_wide(1, "a command substitution");
        let inner = &self.rest()[1..];
        let Some(length) = end_of_backticks(inner) else {
            return self.refuse(1, "backticks that are not closed");
        };
        if inner[..length].contains(['\\', '"']) {
            self.object(1, "quotes inside backticks are not judged");
            let text = without_escapes(&inner[..length], quoted);
            self.at += length + 2;
            let list = self.within(&text, |parser| {
                let list = parser.list(&[])?;
                match parser.peek() {
                    Some(_) => parser.refuse(1, "what stands in backticks is not a whole command"),
                    None => Ok(list),
                }
            })?;
            word.parts.push(Part::Command { list, quoted });
            return Ok(());
        }
        let end = self.at + 1 + length;
        self.at += 1;
        let list = self.until(end, |parser| parser.nested(|parser| parser.list(&[])))?;
        self.at += 1;
        word.parts.push(Part::Command { list, quoted });
        Ok(())
    }

    /// The list of a substitution, and the byte that closes it.
    pub(super) fn substituted(&mut self, close: u8) -> Read<List> {
        if self.awaits_document() {
            return self.refuse(1, "a substitution behind a here-document is not judged");
        }
        let list = self.nested(|parser| parser.list(&[]))?;
        self.check_ended();
        if self.peek() != Some(close) {
            return self.refuse(1, "a substitution that is not closed");
        }
        self.at += 1;
        Ok(list)
    }

    /// What begins with `$`.
    pub(super) fn expansion(&mut self, word: &mut Template, quoted: bool) -> Read<()> {
        self.check_expansion(quoted);
        let part = match (self.peek_at(1), self.peek_at(2)) {
            (Some(b'('), Some(b'(')) => {
                let place = self.place();
                self.at += 3;
                match self.arithmetic("))") {
                    Ok(arithmetic) => Part::Number(arithmetic),
                    Err(refusal) => {
                        self.back(place, refusal)?;
                        self.at += 2;
                        Part::Command { list: self.substituted(b')')?, quoted }
                    }
                }
            }
            (Some(b'('), _) => {
                self.at += 2;
                Part::Command { list: self.substituted(b')')?, quoted }
            }
            (Some(b'{'), _) => {
                self.at += 2;
                self.nested(|parser| parser.braced(quoted))?
            }
            (Some(b'['), _) => {
                self.object(2, EXPANSION);
                self.at += 2;
                Part::Number(self.arithmetic("]")?)
            }
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

    /// Notes an expansion that is more than a variable which holds no key. In quotes a `$` is itself before some signs.
    fn check_expansion(&mut self, quoted: bool) {
        let rest = &self.rest()[1..];
        let inner = rest.strip_prefix('{').unwrap_or(rest);
        let length = if inner.starts_with('?') {
            1
        } else {
            inner.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(inner.len())
        };
        let (name, closed) = (&inner[..length], inner[length..].starts_with('}'));
        if name.is_empty() || rest.starts_with('{') && !closed {
            let itself = ['"', ' ', '|', ')', '/', ',', '.', ':', ';', '%'];
            if !(quoted && rest.starts_with(itself)) {
                self.only_wide(2, "an expansion outside single quotes");
            }
        } else if name != "?" && !may_be_shown(name) {
            self.only_wide(length + 1, "a variable that may hold anything");
        }
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
            self.object(2, "a variable that is named by another");
            return self.rest_of_expansion(quoted);
        }
        if matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'|')) {
            return self.refuse(2, EXPANSION);
        }
        let Some(name) = self.parameter_name() else {
            self.object(2, EXPANSION);
            return self.rest_of_expansion(quoted);
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
                self.object(1, "an expansion that sets an element");
            }
        }
        if !self.eat("}") {
            return self.refuse(1, EXPANSION);
        }
        Ok(Part::Parameter { name, change, quoted })
    }

    /// What is left of a `${…}` of a rare kind.
    fn rest_of_expansion(&mut self, quoted: bool) -> Read<Part> {
        let with = Box::new(self.operand(quoted, &[])?);
        if self.eat("}") {
            Ok(Part::Parameter { name: String::new(), change: Change::Other(with), quoted })
        } else {
            self.refuse(1, EXPANSION)
        }
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
            let with = if self.eat("/") { self.operand(quoted, &[])? } else { Template::default() };
            return Ok(Change::Replace { pattern, with: Box::new(with) });
        }
        if self.eat(":") {
            let mut parts = vec![self.arithmetic_before(b":}")?];
            if self.eat(":") {
                parts.push(self.arithmetic_before(b"}")?);
            }
            return Ok(Change::Slice(parts));
        }
        self.object(2, EXPANSION);
        Ok(Change::Other(Box::new(self.operand(quoted, &[])?)))
    }

    /// The word behind an operator inside `${…}`, up to the brace or one of the bytes.
    fn operand(&mut self, quoted: bool, stops: &[u8]) -> Read<Template> {
        let mut word = Template { at: self.at, parts: Vec::new() };
        while let Some(byte) = self.peek().filter(|byte| *byte != b'}' && !stops.contains(byte)) {
            match byte {
                b'\'' if quoted => {
                    self.object(1, "a quote inside an expansion in quotes");
                    self.at += 1;
                    word.push("'", true);
                }
                b'\'' => self.single_quoted(&mut word)?,
                b'"' => self.double_quoted(&mut word)?,
                b'\\' => self.escaped(&mut word)?,
                b'$' if matches!(self.peek_at(1), Some(b'\'')) => {
                    self.object(2, "a quote of this kind inside an expansion");
                    self.ansi_quoted(&mut word)?;
                }
                b'$' if matches!(self.peek_at(1), Some(b'"')) => {
                    self.object(2, "a quote of this kind inside an expansion");
                    self.at += 1;
                }
                b'$' => self.nested(|parser| parser.expansion(&mut word, quoted))?,
                b'`' => self.backticks(&mut word, quoted)?,
                b'<' | b'>' if self.peek_at(1) == Some(b'(') => {
                    self.object(1, EXPANSION);
                    self.process(&mut word)?;
                }
                b'{' | b'\n' | b'<' | b'>' => {
                    self.object(1, EXPANSION);
                    self.at += 1;
                    word.push_char(char::from(byte), quoted);
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

/// Bytes before the backtick that closes.
fn end_of_backticks(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.bytes().position(|byte| {
        let closes = byte == b'`' && !escaped;
        escaped = byte == b'\\' && !escaped;
        closes
    })
}

/// The text in backticks as the inner shell reads it.
fn without_escapes(text: &str, quoted: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let next = characters.peek().copied();
        let is_escape = character == '\\'
            && (matches!(next, Some('\\' | '`' | '$')) || quoted && next == Some('"'));
        match characters.next_if(|_| is_escape) {
            Some(escaped) => out.push(escaped),
            None => out.push(character),
        }
    }
    out
}
