//! Commands: simple ones, pipelines, lists, and what holds lists.

use super::parser::Parser;
use super::tree::{Assignment, Command, Item, Link, List, Node, Part, Redirect, Template, Test};
use super::word::name_length;
use crate::shell::characters::is_allowed;
use crate::shell::refusal::Refusal;

type Read<T> = Result<T, Refusal>;

/// Words that begin or divide compound commands.
const RESERVED: [&str; 19] = [
    "if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case", "esac",
    "in", "select", "function", "time", "coproc", "{", "}",
];

/// Why the strict verdict judges no lists in lists.
const COMPOUND: &str = "a compound command is not judged";

/// Why redirects are not judged.
const KIND: &str = "a redirect of this kind is not judged";
const NULL: &str = "output may only go to /dev/null";

/// Why a list or pipeline ends too early.
const MISSING: &str = "a command is missing here";

/// Why commands of rare kinds are not judged.
const RARE: &str = "a command of this kind is not judged";

/// A text as it was read.
#[derive(Debug)]
pub(in crate::shell) struct Parsed {
    /// Its commands; none where its reading is not certain.
    pub(in crate::shell) list: List,
    pub(super) documents: Vec<Template>,
    /// The first piece that no verdict accepts.
    pub(super) objection: Option<Refusal>,
    /// The first piece that the strict verdict does not accept.
    pub(in crate::shell) strict: Option<Refusal>,
    /// Where bash's own reading is not certain.
    pub(super) unread: Option<Refusal>,
}

/// Reads a whole text.
pub(in crate::shell) fn parse(text: &str, is_bash: bool) -> Parsed {
    let mut parser = Parser::new(text);
    if let Some((at, character)) = text.char_indices().find(|(_, c)| !is_allowed(*c)) {
        let why = "a control, blank or invisible character";
        parser.object_to(Refusal::new(at, character.encode_utf8(&mut [0; 4]), why));
    }
    parser.is_bash = is_bash;
    let read = parser.nested(|parser| {
        let list = parser.list(&[])?;
        match parser.peek() {
            Some(_) => parser.refuse(2, "this closes nothing"),
            None => Ok(list),
        }
    });
    if read.is_ok() {
        parser.check_ended();
    }
    if read.as_ref().is_ok_and(List::is_empty) {
        parser.object_to(Refusal::new(0, "", "there is no command"));
    }
    let Parser { documents, objection, strict, .. } = parser;
    let (list, unread) = match read {
        Ok(list) => (list, None),
        Err(refusal) => (List::new(), Some(refusal)),
    };
    Parsed { list, documents, objection, strict: strict.or_else(|| unread.clone()), unread }
}

impl Parser<'_> {
    /// The reserved word that stands here, as a whole word.
    fn reserved(&self) -> Option<&'static str> {
        let rest = self.rest();
        let length =
            rest.find([' ', '\t', '\n', ';', '|', '&', '<', '>', '(', ')']).unwrap_or(rest.len());
        RESERVED.into_iter().find(|word| *word == &rest[..length])
    }

    fn expect(&mut self, word: &str) -> Read<()> {
        self.skip_blanks()?;
        if self.reserved() != Some(word) {
            return self.refuse(8, &format!("`{word}` is missing here"));
        }
        self.at += word.len();
        Ok(())
    }

    /// Reads commands up to one of the reserved words, a closing parenthesis, `;;` or the end; these stay.
    pub(super) fn list(&mut self, stops: &[&str]) -> Read<List> {
        let (mut items, mut link) = (List::new(), Link::Sequence);
        loop {
            self.skip_lines()?;
            let stops_here = match self.peek() {
                None | Some(b')') => true,
                Some(b';') => matches!(self.peek_at(1), Some(b';' | b'&')),
                _ => self.reserved().is_some_and(|word| stops.contains(&word)),
            };
            if stops_here && link == Link::Sequence {
                return Ok(items);
            }
            items.push(Item { link, pipeline: self.pipeline()?, background: false });
            self.skip_blanks()?;
            link = match (self.peek(), self.peek_at(1)) {
                (None | Some(b')'), _) | (Some(b';'), Some(b';' | b'&')) => return Ok(items),
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

    fn command(&mut self) -> Read<Command> {
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

    /// `( … )`.
    fn subshell(&mut self) -> Read<Node> {
        self.at += 1;
        let list = self.whole_list(&[])?;
        if !self.eat(")") {
            return self.refuse(1, "a subshell that is not closed");
        }
        Ok(Node::Group { list, subshell: true })
    }

    /// The body of a function; the reader stands behind its name and parentheses.
    fn function(&mut self) -> Read<Node> {
        self.skip_lines()?;
        Ok(Node::Function(Box::new(self.nested(Self::command)?)))
    }

    /// `coproc`, with or without a name; the reader stands behind it.
    fn coprocess(&mut self) -> Read<Node> {
        self.skip_blanks()?;
        let name = name_length(self.rest());
        let behind = self.rest()[name..].trim_start_matches([' ', '\t']);
        let compound = ["{", "(", "if ", "for ", "while ", "until ", "case ", "[[ "];
        let is_reserved = self.reserved().is_some();
        if name > 0 && !is_reserved && compound.iter().any(|begin| behind.starts_with(begin)) {
            self.at += name;
            self.skip_blanks()?;
        }
        Ok(Node::Coprocess(Box::new(self.nested(Self::command)?)))
    }

    /// A list that is not empty.
    fn whole_list(&mut self, stops: &[&str]) -> Read<List> {
        let list = self.nested(|parser| parser.list(stops))?;
        match list.is_empty() {
            true => self.refuse(2, MISSING),
            false => Ok(list),
        }
    }

    /// `do … done`.
    fn body(&mut self) -> Read<List> {
        self.skip_lines()?;
        self.expect("do")?;
        let body = self.whole_list(&["done"])?;
        self.expect("done")?;
        Ok(body)
    }

    fn conditional(&mut self) -> Read<Node> {
        self.at += "if".len();
        let mut arms = Vec::new();
        loop {
            let condition = self.whole_list(&["then"])?;
            self.expect("then")?;
            arms.push((condition, self.whole_list(&["elif", "else", "fi"])?));
            match self.reserved() {
                Some("elif") => self.at += "elif".len(),
                Some("else") => {
                    self.at += "else".len();
                    let otherwise = Some(self.whole_list(&["fi"])?);
                    self.expect("fi")?;
                    return Ok(Node::If { arms, otherwise });
                }
                _ => {
                    self.expect("fi")?;
                    return Ok(Node::If { arms, otherwise: None });
                }
            }
        }
    }

    fn for_loop(&mut self, keyword: &str) -> Read<Node> {
        self.at += keyword.len();
        self.skip_blanks()?;
        if self.eat("((") {
            let mut parts = Vec::new();
            for _ in 0..2 {
                parts.push(self.arithmetic(";")?);
            }
            parts.push(self.arithmetic("))")?);
            self.skip_blanks()?;
            let _ = self.eat(";");
            return Ok(Node::Count { parts, body: self.body_or_group()? });
        }
        let name = self.rest()[..name_length(self.rest())].to_owned();
        if name.is_empty() {
            return self.refuse(1, "the name of the loop's variable is missing");
        }
        self.at += name.len();
        self.skip_lines()?;
        if self.reserved() != Some("in") {
            // It goes through the arguments of the script or function.
            self.object(8, "`in` is missing here");
            let _ = self.eat(";");
            let words = vec![Template { parts: vec![Part::Unknown], at: self.at }];
            return Ok(Node::For { name, words, body: self.body_or_group()? });
        }
        self.expect("in")?;
        let mut words = Vec::new();
        loop {
            self.skip_blanks()?;
            match self.peek() {
                Some(b';') if self.peek_at(1) != Some(b';') => {
                    self.at += 1;
                    break;
                }
                Some(b'\n') => break,
                Some(b'#') => self.skip_comment(),
                None | Some(b';' | b'|' | b'&' | b'>' | b'(' | b')') => {
                    return self.refuse(1, "this cannot stand in the words of a loop");
                }
                Some(b'<') if self.peek_at(1) != Some(b'(') => {
                    return self.refuse(1, "this cannot stand in the words of a loop");
                }
                _ => words.extend(self.words()?),
            }
        }
        Ok(Node::For { name, words, body: self.body_or_group()? })
    }

    /// `do … done`, or the braces that may stand in its place.
    fn body_or_group(&mut self) -> Read<List> {
        self.skip_lines()?;
        if self.reserved() != Some("{") {
            return self.body();
        }
        self.object(8, "`do` is missing here");
        self.at += 1;
        let list = self.whole_list(&["}"])?;
        self.expect("}")?;
        Ok(list)
    }

    fn case(&mut self) -> Read<Node> {
        self.at += "case".len();
        self.skip_blanks()?;
        let word = self.word()?;
        self.skip_lines()?;
        self.expect("in")?;
        let (mut arms, mut falls) = (Vec::new(), false);
        loop {
            self.skip_lines()?;
            if self.reserved() == Some("esac") {
                self.at += "esac".len();
                return Ok(Node::Case { word, arms, falls });
            }
            let _ = self.eat("(");
            let mut patterns = Vec::new();
            loop {
                self.skip_blanks()?;
                patterns.push(self.word()?);
                self.skip_blanks()?;
                if self.eat(")") {
                    break;
                }
                if !self.eat("|") {
                    return self.refuse(1, "the pattern of a case is not closed");
                }
            }
            let list = self.nested(|parser| parser.list(&["esac"]))?;
            arms.push((patterns, list));
            if self.rest().starts_with(";&") || self.rest().starts_with(";;&") {
                self.object(2, "a case that falls through");
                falls = true;
                let _ = self.eat(";;&") || self.eat(";&");
            } else if !self.eat(";;") {
                self.expect("esac")?;
                return Ok(Node::Case { word, arms, falls });
            }
        }
    }

    /// `[[ … ]]`.
    fn condition(&mut self) -> Read<Node> {
        self.at += 2;
        let (mut tests, mut open) = (Vec::new(), 0_usize);
        loop {
            while self.space_in_condition()? && matches!(self.peek(), Some(b'(')) || self.negates()
            {
                open += usize::from(self.peek() == Some(b'('));
                self.at += 1;
            }
            tests.push(self.test()?);
            while self.space_in_condition()? && open > 0 && self.eat(")") {
                open -= 1;
            }
            if open == 0 && self.rest().starts_with("]]") {
                self.at += 2;
                return Ok(Node::Condition(tests));
            }
            if !(self.eat("&&") || self.eat("||")) {
                return self.refuse(2, "a condition of this kind is not judged");
            }
        }
    }

    /// `[[ … ]]` of a rare kind: its words, so that what they run is seen.
    fn words_of_condition(&mut self) -> Read<Node> {
        self.at += 2;
        let mut tests = Vec::new();
        loop {
            self.space_in_condition()?;
            match self.peek() {
                None => return self.refuse(2, "a condition of this kind is not judged"),
                Some(_) if self.eat("]]") => return Ok(Node::Condition(tests)),
                Some(b'<' | b'>') if self.peek_at(1) != Some(b'(') => self.at += 1,
                Some(b'(' | b')' | b'&' | b'|' | b';') => self.at += 1,
                Some(_) => tests.push(Test::Word(self.word()?)),
            }
        }
    }

    /// Skips blanks and line ends; always true.
    fn space_in_condition(&mut self) -> Read<bool> {
        self.skip_blanks()?;
        while self.peek() == Some(b'\n') {
            self.line_end()?;
            self.skip_blanks()?;
        }
        Ok(true)
    }

    fn negates(&self) -> bool {
        self.peek() == Some(b'!') && matches!(self.peek_at(1), Some(b' ' | b'\t'))
    }

    /// One test inside `[[ … ]]`.
    fn test(&mut self) -> Read<Test> {
        let first = self.word_in_condition()?;
        self.space_in_condition()?;
        let closes = |parser: &Self| {
            ["]]", "&&", "||", ")"].iter().any(|sign| parser.rest().starts_with(sign))
        };
        if closes(self) {
            return Ok(Test::Word(first));
        }
        if let Some(test) = first.bare().filter(|text| text.starts_with('-') && text.len() == 2) {
            return Ok(Test::Of(test.to_owned(), self.word_in_condition()?));
        }
        let at = self.at;
        while self.peek().is_some_and(|byte| !matches!(byte, b' ' | b'\t' | b'\n')) {
            self.at += 1;
        }
        let operator = self.slice(at, self.at).to_owned();
        self.space_in_condition()?;
        let other = if operator == "=~" { self.pattern()? } else { self.word_in_condition()? };
        Ok(Test::Compare(first, operator, other))
    }

    fn word_in_condition(&mut self) -> Read<Template> {
        let word = self.word()?;
        match word.parts.is_empty() {
            true => self.refuse(2, "a condition of this kind is not judged"),
            false => Ok(word),
        }
    }

    /// A regular expression: a word in which parentheses and bars are themselves.
    fn pattern(&mut self) -> Read<Template> {
        let mut all = Template { at: self.at, parts: Vec::new() };
        loop {
            all.parts.extend(self.word()?.parts);
            match self.peek() {
                Some(b'(' | b')' | b'|') if !self.rest().starts_with("||") => self.at += 1,
                None | Some(b' ' | b'\t' | b'\n') => break,
                _ => return self.refuse(1, "an expression of this kind is not judged"),
            }
        }
        Ok(all)
    }

    fn simple(&mut self) -> Read<Command> {
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
        self.only_wide(length + sign, "an assignment may change what runs");
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
    fn redirect(&mut self, redirects: &mut Vec<Redirect>) -> Read<bool> {
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
                let redirect = match copies(bare) && !bare.is_empty() {
                    true => Redirect::Copy,
                    false => Redirect::Output(target),
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

/// Whether it is certain which file a redirect reads.
fn is_certain_file(target: &Template) -> bool {
    let certain = |part: &Part| matches!(part, Part::Text { .. } | Part::Tilde);
    let text = target.literal().unwrap_or_default();
    let device = text.starts_with("/dev/") && !matches!(text.as_str(), "/dev/null" | "/dev/stdin");
    target.parts.iter().all(certain) && !device
}
