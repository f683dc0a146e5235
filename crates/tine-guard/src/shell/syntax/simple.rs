//! Simple commands: assignments, the name, arguments, redirects.

use super::Read;
use super::command::MISSING;
use super::parser::Parser;
use super::tree::{Assignment, Command, Node, Part, Redirect, Template};
use super::word::name_length;
use crate::shell::refusal::Refusal;

/// Why redirects are not judged.
const KIND: &str = "a redirect of this kind is not judged";

const NULL: &str = "output may only go to /dev/null";

impl Parser<'_> {
    pub(super) fn simple(&mut self) -> Read<Command> {
        let at = self.at;
        let (mut assignments, mut words, mut redirects) = (Vec::new(), Vec::new(), Vec::new());
        loop {
            self.skip_blanks()?;
            match self.peek() {
                None | Some(b'\n' | b';' | b'|' | b')') => break,
                Some(b'&') if self.peek_at(1) != Some(b'>') => break,
                Some(b'#') => self.skip_comment(),
                Some(b'(') => {
                    let why = "a function or list is not judged here";
                    if words.len() != 1 || !assignments.is_empty() {
                        return self.refuse(1, why);
                    }
                    self.object(1, why);
                    self.at += 1;
                    self.skip_blanks()?;
                    if !self.eat(")") {
                        return self.refuse(1, why);
                    }
                    let node = self.function()?;
                    return Ok(Command { node, redirects, at });
                }
                Some(_) if self.redirect(&mut redirects)? => {}
                Some(_) if words.is_empty() => match self.assignment()? {
                    Some(assignment) => assignments.push(assignment),
                    None => words.extend(self.name()?),
                },
                Some(_) => words.extend(self.words()?),
            }
        }
        let braced = words.is_empty() && self.at > at;
        if assignments.is_empty() && words.is_empty() && redirects.is_empty() && !braced {
            return self.refuse(2, MISSING);
        }
        if words.is_empty() {
            self.only_wide(2, MISSING);
        }
        Ok(Command { node: Node::Simple { assignments, words }, redirects, at })
    }

    /// The name of a command, usually a bare word that hides nothing; with braces it may become several words.
    fn name(&mut self) -> Read<Vec<Template>> {
        const PLAIN: &str = "not a plain command name";
        let start = self.at;
        let word = self.word()?;
        let name = word.bare().unwrap_or_default();
        let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "_.+-:".contains(c));
        if name == "[" {
            return Ok(vec![word]);
        }
        if name.is_empty() || !plain || name.starts_with(['-', '+', '.']) {
            let piece = self.slice(start, self.at);
            let hides = |part: &Part| matches!(part, Part::Text { quoted: true, .. });
            let why = match word.parts.iter().any(hides) {
                true => "a quoted or escaped command name is not judged",
                false if piece.contains('/') => "a command named by a path is not judged",
                false => PLAIN,
            };
            self.object_to(Refusal::new(start, piece, why));
            self.at = start;
            return self.words();
        }
        if name.contains(':') {
            self.only_wide_since(start, PLAIN);
        }
        Ok(vec![word])
    }

    fn assignment(&mut self) -> Read<Option<Assignment>> {
        let rest = self.rest();
        let length = name_length(rest);
        let (append, sign) = match rest.as_bytes().get(length..) {
            Some([b'=', ..]) => (false, 1),
            Some([b'+', b'=', ..]) => (true, 2),
            Some([b'[', ..]) if length > 0 => return self.element(length),
            _ => return Ok(None),
        };
        if length == 0 {
            return Ok(None);
        }
        let whole = rest.find([' ', '\t', '\n', ';', '|', '&', '(']).unwrap_or(rest.len());
        self.only_wide(whole, "an assignment may change what runs");
        let (name, at) = (rest[..length].to_owned(), self.at);
        self.at += length + sign;
        if self.eat("(") {
            let (mut values, mut subscripts) = (Vec::new(), Vec::new());
            loop {
                self.skip_lines()?;
                const WHY: &str = "a list of this kind is not judged";
                match self.peek() {
                    Some(b')') => break,
                    Some(b'[') => {
                        self.object(1, WHY);
                        let place = self.place();
                        self.at += 1;
                        match self.arithmetic("]") {
                            Ok(subscript) if self.eat("=") || self.eat("+=") => {
                                subscripts.push(subscript);
                                values.push(self.word()?);
                            }
                            read => {
                                let refusal = Refusal::new(at, "[", WHY);
                                self.back(place, read.err().unwrap_or(refusal))?;
                                values.extend(self.words()?);
                            }
                        }
                    }
                    Some(b'<') if self.peek_at(1) != Some(b'(') => return self.refuse(1, WHY),
                    None | Some(b';' | b'|' | b'&' | b'>' | b'(') => return self.refuse(1, WHY),
                    _ => values.extend(self.words()?),
                }
            }
            self.at += 1;
            return Ok(Some(Assignment { name, append, values, list: true, subscripts, at }));
        }
        let value = self.word()?;
        if value.parts.is_empty() && matches!(self.peek(), Some(b'<' | b'>' | b'(')) {
            self.object(1, "an assignment of this kind is not judged");
        }
        let (values, subscripts) = (vec![value], Vec::new());
        Ok(Some(Assignment { name, append, values, list: false, subscripts, at }))
    }

    /// `NAME[…]=…`, where it is one: what the list holds then is not followed.
    fn element(&mut self, length: usize) -> Read<Option<Assignment>> {
        self.object(length + 1, "an element of a list is not judged here");
        let (place, at) = (self.place(), self.at);
        let name = self.rest()[..length].to_owned();
        self.at += length + 1;
        let subscript = self.arithmetic("]")?;
        if !(self.eat("=") || self.eat("+=")) {
            let why = "an element of a list is not judged here";
            self.back(place, Refusal::new(at, &name, why))?;
            return Ok(None);
        }
        let mut value = self.word()?;
        value.parts.push(Part::Unknown);
        let (values, subscripts) = (vec![value], vec![subscript]);
        Ok(Some(Assignment { name, append: true, values, list: true, subscripts, at }))
    }

    /// Reads a redirect where one stands; `false` where a plain word does.
    pub(super) fn redirect(&mut self, redirects: &mut Vec<Redirect>) -> Read<bool> {
        let rest = self.rest();
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let sign = &rest[digits..];
        let descriptor = &rest[..digits];
        let input = matches!(descriptor, "" | "0");
        let output = matches!(descriptor, "" | "1" | "2");
        if (sign.starts_with("<(") || sign.starts_with(">(")) && digits == 0 {
            if sign.starts_with(">(") {
                self.object(2, KIND);
            }
            return Ok(false);
        }
        if rest.starts_with('{') && self.names_descriptor() {
            let end = rest.find('}').unwrap_or_default();
            self.object(end + 1, "a redirect that sets a variable");
            self.at += end + 1;
            return self.redirect(redirects);
        }
        if !(sign.starts_with(['<', '>']) || digits == 0 && sign.starts_with("&>")) {
            return Ok(false);
        }
        let here = sign.starts_with("<<") && !sign.starts_with("<<<");
        if here {
            if !input {
                self.object(2, KIND);
            }
            if digits > 0 {
                self.only_wide(digits + 2, KIND);
            }
            self.at += digits;
            redirects.push(Redirect::Document(self.announce()?));
            return Ok(true);
        }
        let forms = ["<<<", "&>>", "&>", ">>", ">&", ">|", "<&", "<>", ">", "<"];
        let form = forms.into_iter().find(|form| sign.starts_with(form)).unwrap_or_default();
        let start = self.at;
        self.at += digits + form.len();
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.at += 1;
        }
        let process = self.rest().starts_with("<(") || self.rest().starts_with(">(");
        if !process
            && matches!(
                self.peek(),
                None | Some(b'\n' | b';' | b'|' | b'&' | b'<' | b'>' | b'(' | b')' | b'#')
            )
        {
            return self.refuse(1, "a redirect without a plain target");
        }
        let target = self.word()?;
        let digits_only = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if matches!(self.peek(), Some(b'<' | b'>')) && target.bare().is_some_and(digits_only) {
            return self.refuse(1, "a redirect without a plain target");
        }
        let bare = target.bare().unwrap_or_default();
        let piece = self.slice(start, self.at).to_owned();
        let copies = |text: &str| {
            text == "-" || text.trim_end_matches('-').bytes().all(|b| b.is_ascii_digit())
        };
        let joins = matches!(bare, "/dev/stdout" | "/dev/stderr") && !form.contains('&');
        let (redirect, why) = match form {
            "<<<" if input => {
                if digits > 0 {
                    self.only_wide_since(start, KIND);
                }
                (Redirect::Text(target), None)
            }
            "<" if input => {
                if !is_certain_file(&target) {
                    let why = "input may only come from a file that is named here";
                    self.only_wide_since(start, why);
                }
                (Redirect::File(target), None)
            }
            ">" | ">>" | "&>" | "&>>" if output || descriptor == "0" => {
                if bare == "/dev/null" {
                    return Ok(true);
                }
                if joins && output {
                    self.only_wide_since(start, NULL);
                    return Ok(true);
                }
                (Redirect::Output(target), Some(NULL))
            }
            ">&" if output => {
                if matches!(bare, "1" | "2") || digits == 0 && bare == "/dev/null" {
                    return Ok(true);
                }
                let redirect = if copies(bare) && !bare.is_empty() {
                    Redirect::Copy
                } else {
                    Redirect::Output(target)
                };
                (redirect, Some("only descriptors 1 and 2 may be joined"))
            }
            _ => {
                let redirect = match form {
                    "<<<" => Redirect::Text(target),
                    "<" => Redirect::File(target),
                    "<&" | ">&" => Redirect::Copy,
                    _ => Redirect::Output(target),
                };
                (redirect, Some(KIND))
            }
        };
        if let Some(why) = why {
            self.object_to(Refusal::new(start, &piece, why));
        }
        redirects.push(redirect);
        Ok(true)
    }

    /// True for `{NAME}` before a redirect.
    fn names_descriptor(&self) -> bool {
        let rest = &self.rest()[1..];
        let name = name_length(rest);
        name > 0 && (rest[name..].starts_with("}<") || rest[name..].starts_with("}>"))
    }
}

/// True if it is certain which file a redirect reads.
fn is_certain_file(target: &Template) -> bool {
    let certain = |part: &Part| matches!(part, Part::Text { .. } | Part::Tilde);
    let text = target.literal().unwrap_or_default();
    let device = text.starts_with("/dev/") && !matches!(text.as_str(), "/dev/null" | "/dev/stdin");
    target.parts.iter().all(certain) && !device
}
