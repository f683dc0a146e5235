//! Arithmetic: numbers, names, operators, and expansions. Verdicts accept no subscripts: bash expands in them again.

use super::parser::Parser;
use super::tree::{Arithmetic, Change, Part, Template};
use super::word::name_length;
use crate::shell::refusal::Refusal;

/// Why an expression is refused.
const WHY: &str = "arithmetic of this kind is not judged";

impl Parser<'_> {
    /// Reads an expression up to what closes it, and takes that.
    pub(super) fn arithmetic(&mut self, close: &str) -> Result<Arithmetic, Refusal> {
        let stops = &close.as_bytes()[..1];
        let expression = self.nested(|parser| parser.expression(stops))?;
        if self.eat(close) { Ok(expression) } else { self.refuse(2, WHY) }
    }

    /// Reads an expression up to one of the bytes, which stays.
    pub(super) fn arithmetic_before(&mut self, stops: &[u8]) -> Result<Arithmetic, Refusal> {
        self.nested(|parser| parser.expression(stops))
    }

    fn expression(&mut self, stops: &[u8]) -> Result<Arithmetic, Refusal> {
        let mut all = Arithmetic { at: self.at, ..Arithmetic::default() };
        let (start, mut depth, mut choices) = (self.at, 0_usize, 0_usize);
        loop {
            let Some(byte) = self.peek() else { return self.refuse(1, WHY) };
            if depth == 0 && stops.contains(&byte) && !(byte == b':' && choices > 0) {
                break;
            }
            match byte {
                b'$' if matches!(self.peek_at(1), Some(b'\'' | b'"')) => {
                    self.object(2, WHY);
                    self.at += 1;
                }
                b'$' => self.expansion_in(&mut all)?,
                b'`' => {
                    self.object(1, WHY);
                    let mut word = Template::default();
                    self.backticks(&mut word, true)?;
                    all.parts.extend(word.parts);
                }
                b'[' => {
                    self.object(1, WHY);
                    depth += 1;
                    self.at += 1;
                }
                b']' if depth > 0 => {
                    depth -= 1;
                    self.at += 1;
                }
                b'A'..=b'Z' | b'a'..=b'z' | b'_' => self.name_in(&mut all),
                b'0'..=b'9' => self.number(),
                b'(' => {
                    depth += 1;
                    self.at += 1;
                }
                b')' if depth > 0 => {
                    depth -= 1;
                    self.at += 1;
                }
                b'?' | b':' => {
                    choices = if byte == b'?' { choices + 1 } else { choices.saturating_sub(1) };
                    self.at += 1;
                }
                b' ' | b'\t' | b'\n' | b'+' | b'-' | b'*' | b'/' | b'%' | b'<' | b'>' | b'='
                | b'!' | b'&' | b'|' | b'^' | b'~' | b',' => self.at += 1,
                // It is no arithmetic, but a list in two pairs of parentheses.
                b')' | b']' | b';' => return self.refuse(1, WHY),
                _ => {
                    self.object(1, WHY);
                    let _ = self.next_char();
                }
            }
        }
        let text = self.slice(start, self.at);
        let compares = ["==", "!=", "<=", ">="];
        let without = compares.iter().fold(text.to_owned(), |text, sign| text.replace(sign, ""));
        all.sets = without.contains('=') || text.contains("++") || text.contains("--");
        all.empty = text.trim().is_empty();
        all.constant = !all.empty && text.trim().bytes().all(|byte| byte.is_ascii_digit());
        // Two signs that meet over something that was taken out would set a name.
        all.sets |= text.contains("<<=") || text.contains(">>=");
        Ok(all)
    }

    fn name_in(&mut self, all: &mut Arithmetic) {
        let length = name_length(self.rest());
        all.names.push(self.rest()[..length].to_owned());
        self.at += length;
        if matches!(self.peek(), Some(b'[' | b'#' | b'$')) {
            self.object(1, WHY);
        }
    }

    /// Digits, and a base before a number.
    fn number(&mut self) {
        let rest = self.rest();
        let is_digit = |c: char| c.is_ascii_alphanumeric() || c == '_';
        self.at += rest.find(|c| !is_digit(c)).unwrap_or(rest.len());
        if self.peek() == Some(b'#') {
            self.at += 1;
            match self.peek() {
                Some(b'$') => {}
                Some(byte) if byte.is_ascii_digit() => self.number(),
                _ => self.object(1, WHY),
            }
        }
    }

    fn expansion_in(&mut self, all: &mut Arithmetic) -> Result<(), Refusal> {
        let mut word = Template::default();
        self.expansion(&mut word, true)?;
        for part in word.parts {
            match part {
                Part::Text { .. } => self.object(1, WHY),
                Part::Parameter { name, change: Change::None, .. } if name_length(&name) > 0 => {
                    all.parts.push(Part::Parameter { name, change: Change::None, quoted: true });
                }
                part => all.parts.push(part),
            }
        }
        // What follows would be joined to what was expanded.
        let joins =
            |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'[' | b'$' | b'#');
        if self.peek().is_some_and(joins) {
            self.object(1, WHY);
        }
        Ok(())
    }
}
