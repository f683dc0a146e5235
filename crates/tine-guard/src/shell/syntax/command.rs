//! Texts, lists and pipelines.

use super::Read;
use super::parser::Parser;
use super::tree::{Command, Item, Link, List, Node, Template};
use crate::shell::characters::is_allowed;
use crate::shell::refusal::Refusal;

/// Words that begin or divide compound commands.
const RESERVED: [&str; 19] = [
    "if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case", "esac",
    "in", "select", "function", "time", "coproc", "{", "}",
];

/// Why the strict verdict judges no lists in lists.
const COMPOUND: &str = "a compound command is not judged";

/// Why a list or pipeline ends too early.
pub(super) const MISSING: &str = "a command is missing here";

/// Why commands of rare kinds are not judged.
pub(super) const RARE: &str = "a command of this kind is not judged";

/// A text as it was read.
#[derive(Debug)]
pub(in crate::shell) struct Parsed {
    /// Its commands, up to where its reading is not certain.
    pub(in crate::shell) list: List,
    pub(in crate::shell) documents: Vec<Template>,
    /// The first piece that no verdict accepts.
    pub(in crate::shell) objection: Option<Refusal>,
    /// The first piece that the strict verdict does not accept.
    pub(in crate::shell) strict: Option<Refusal>,
    /// The place from which on bash's own reading is not certain.
    pub(in crate::shell) unread: Option<Refusal>,
}

/// Reads a whole text.
pub(in crate::shell) fn parse(text: &str, is_bash: bool) -> Parsed {
    let mut parser = Parser::new(text);
    if let Some((at, character)) = text.char_indices().find(|(_, c)| !is_allowed(*c)) {
        let why = "a control, blank or invisible character";
        parser.object_to(Refusal::new(at, character.encode_utf8(&mut [0; 4]), why));
    }
    parser.is_bash = is_bash;
    let mut list = List::new();
    let read = parser.nested(|parser| {
        parser.list_into(&mut list, &[])?;
        match parser.peek() {
            Some(_) => parser.refuse(2, "this closes nothing"),
            None => Ok(()),
        }
    });
    if read.is_ok() {
        parser.check_ended();
        if list.is_empty() {
            parser.object_to(Refusal::new(0, "", "there is no command"));
        }
    }
    let Parser { documents, objection, strict, .. } = parser;
    let unread = read.err();
    Parsed { list, documents, objection, strict: strict.or_else(|| unread.clone()), unread }
}

impl Parser<'_> {
    /// The reserved word that stands here, as a whole word.
    pub(super) fn reserved(&self) -> Option<&'static str> {
        let rest = self.rest();
        let length =
            rest.find([' ', '\t', '\n', ';', '|', '&', '<', '>', '(', ')']).unwrap_or(rest.len());
        RESERVED.into_iter().find(|word| *word == &rest[..length])
    }

    pub(super) fn expect(&mut self, word: &str) -> Read<()> {
        self.skip_blanks()?;
        if self.reserved() != Some(word) {
            return self.refuse(8, &format!("`{word}` is missing here"));
        }
        self.at += word.len();
        Ok(())
    }

    /// Reads commands up to one of the reserved words, a closing parenthesis, `;;` or the end; these stay.
    pub(super) fn list(&mut self, stops: &[&str]) -> Read<List> {
        let mut items = List::new();
        self.list_into(&mut items, stops)?;
        Ok(items)
    }

    fn list_into(&mut self, items: &mut List, stops: &[&str]) -> Read<()> {
        let mut link = Link::Sequence;
        loop {
            self.skip_lines()?;
            let stops_here = match self.peek() {
                None | Some(b')') => true,
                Some(b';') => matches!(self.peek_at(1), Some(b';' | b'&')),
                _ => self.reserved().is_some_and(|word| stops.contains(&word)),
            };
            if stops_here && link == Link::Sequence {
                return Ok(());
            }
            items.push(Item { link, pipeline: self.pipeline()?, background: false });
            self.skip_blanks()?;
            link = match (self.peek(), self.peek_at(1)) {
                (None | Some(b')'), _) | (Some(b';'), Some(b';' | b'&')) => return Ok(()),
                (Some(b'\n'), _) => {
                    self.line_end()?;
                    Link::Sequence
                }
                (Some(b'&'), Some(b'&')) => self.link(2, Link::And),
                (Some(b'|'), Some(b'|')) => self.link(2, Link::Or),
                (Some(b';'), _) => self.link(1, Link::Sequence),
                (Some(b'&'), _) => {
                    self.object(1, "a command may not go to the background");
                    if let Some(last) = items.last_mut() {
                        last.background = true;
                    }
                    self.link(1, Link::Sequence)
                }
                _ => return self.refuse(1, "a command cannot go on like this"),
            };
        }
    }

    fn link(&mut self, length: usize, link: Link) -> Link {
        self.at += length;
        link
    }

    fn pipeline(&mut self) -> Read<Vec<Command>> {
        self.skip_blanks()?;
        let mut first = true;
        while self.prefix(first)? {
            self.skip_blanks()?;
            first = false;
        }
        let mut commands = Vec::new();
        loop {
            commands.push(self.nested(Self::command)?);
            self.skip_blanks()?;
            let joined = self.rest().starts_with("|&");
            if self.peek() != Some(b'|') || self.peek_at(1) == Some(b'|') {
                return Ok(commands);
            }
            if joined {
                self.only_wide(2, "a pipe of this kind is not judged");
            }
            self.at += 1 + usize::from(joined);
            self.skip_lines()?;
            if self.reserved() == Some("time") {
                self.object(4, "behind `|` this is another command");
            }
        }
    }

    /// Takes `!`, or `time` with its options, where one stands before a pipeline.
    fn prefix(&mut self, first: bool) -> Read<bool> {
        let next = |parser: &Self, ahead| matches!(parser.peek_at(ahead), Some(b' ' | b'\t'));
        if self.peek() == Some(b'!') && next(self, 1) {
            if !first || self.peek_at(1) != Some(b' ') {
                self.only_wide(1, RARE);
            }
            self.at += 1;
            return Ok(true);
        }
        if self.reserved() != Some("time") {
            return Ok(false);
        }
        if !first || !next(self, "time".len()) {
            self.only_wide("time".len(), COMPOUND);
        }
        self.at += "time".len();
        self.skip_blanks()?;
        if self.rest().starts_with("-p") && next(self, 2) {
            self.at += "-p".len();
            self.skip_blanks()?;
        }
        if self.rest().starts_with("--") && next(self, 2) {
            self.object(2, RARE);
            self.at += "--".len();
        }
        Ok(true)
    }

    pub(super) fn command(&mut self) -> Read<Command> {
        self.count()?;
        let at = self.at;
        match (self.peek(), self.reserved()) {
            (Some(b'('), _) => self.only_wide(1, "a subshell or function"),
            (_, Some(word)) => self.only_wide(word.len(), COMPOUND),
            _ => {}
        }
        let node = match self.peek() {
            Some(b'(') if self.peek_at(1) == Some(b'(') => {
                let place = self.place();
                self.at += 2;
                match self.arithmetic("))") {
                    Ok(arithmetic) => Node::Compute(arithmetic),
                    Err(refusal) => {
                        self.back(place, refusal)?;
                        self.subshell()?
                    }
                }
            }
            Some(b'(') => self.subshell()?,
            _ => match self.reserved() {
                Some("{") => {
                    self.at += 1;
                    let list = self.whole_list(&["}"])?;
                    self.expect("}")?;
                    Node::Group { list, subshell: false }
                }
                Some("if") => self.conditional()?,
                Some(word @ ("while" | "until")) => {
                    self.at += word.len();
                    let condition = self.whole_list(&["do"])?;
                    Node::Loop { condition, body: self.body()?, until: word == "until" }
                }
                Some("for") => self.for_loop("for")?,
                Some("case") => self.case()?,
                Some("select") => {
                    self.object("select".len(), RARE);
                    self.for_loop("select")?
                }
                Some("function") => {
                    self.object("function".len(), RARE);
                    self.at += "function".len();
                    self.skip_blanks()?;
                    self.word()?;
                    self.skip_blanks()?;
                    if self.eat("(") {
                        self.skip_blanks()?;
                        if !self.eat(")") {
                            return self.refuse(1, RARE);
                        }
                    }
                    self.function()?
                }
                Some("coproc") => {
                    self.object("coproc".len(), RARE);
                    self.at += "coproc".len();
                    self.coprocess()?
                }
                // Behind `|` and `!` it is a command.
                Some("time") => return self.simple(),
                Some(word) => return self.refuse(word.len(), "a command is missing before this"),
                None if self.rest().starts_with("[[")
                    && matches!(self.peek_at(2), Some(b' ' | b'\t' | b'\n')) =>
                {
                    self.only_wide(2, COMPOUND);
                    if self.peek_at(2) != Some(b' ') {
                        self.object(2, RARE);
                    }
                    let place = self.place();
                    match self.condition() {
                        Ok(node) => node,
                        Err(refusal) => {
                            self.back(place, refusal)?;
                            self.words_of_condition()?
                        }
                    }
                }
                None => return self.simple(),
            },
        };
        let mut redirects = Vec::new();
        loop {
            self.skip_blanks()?;
            if !self.redirect(&mut redirects)? {
                break;
            }
        }
        Ok(Command { node, redirects, at })
    }

    /// A list that is not empty.
    pub(super) fn whole_list(&mut self, stops: &[&str]) -> Read<List> {
        let list = self.nested(|parser| parser.list(stops))?;
        if list.is_empty() { self.refuse(2, MISSING) } else { Ok(list) }
    }
}
