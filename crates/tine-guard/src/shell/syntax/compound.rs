//! Commands that hold lists: loops, conditions, cases, functions; and the tests of `[[`.

use super::Read;
use super::parser::Parser;
use super::tree::{List, Node, Part, Template, Test};
use super::word::name_length;

impl Parser<'_> {
    /// `( … )`.
    pub(super) fn subshell(&mut self) -> Read<Node> {
        self.at += 1;
        let list = self.whole_list(&[])?;
        if !self.eat(")") {
            return self.refuse(1, "a subshell that is not closed");
        }
        Ok(Node::Group { list, subshell: true })
    }

    /// The body of a function; the reader stands behind its name and parentheses.
    pub(super) fn function(&mut self) -> Read<Node> {
        self.skip_lines()?;
        Ok(Node::Function(Box::new(self.nested(Self::command)?)))
    }

    /// `coproc`, with or without a name; the reader stands behind it.
    pub(super) fn coprocess(&mut self) -> Read<Node> {
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

    /// `do … done`.
    pub(super) fn body(&mut self) -> Read<List> {
        self.skip_lines()?;
        self.expect("do")?;
        let body = self.whole_list(&["done"])?;
        self.expect("done")?;
        Ok(body)
    }

    pub(super) fn conditional(&mut self) -> Read<Node> {
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

    pub(super) fn for_loop(&mut self, keyword: &str) -> Read<Node> {
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

    pub(super) fn case(&mut self) -> Read<Node> {
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
    pub(super) fn condition(&mut self) -> Read<Node> {
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
    pub(super) fn words_of_condition(&mut self) -> Read<Node> {
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
        if word.parts.is_empty() {
            self.refuse(2, "a condition of this kind is not judged")
        } else {
            Ok(word)
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
}
