//! Expansion: the words that a template becomes, as far as they are known.
//!
//! What is not known stands in a word as a mark. Where it cannot be an option, the word counts as one whose text is known;
//! where it may be anything, as one that holds a variable.

use super::names::{from_outside, may_be_set};
use super::value::{Text, Value};
use super::walk::{Evaluator, Judged};
use crate::shell::refusal::Refusal;
use crate::shell::syntax::tree::{Arithmetic, Change, Part, Template};
use crate::shell::word::{Variable, Word};

/// Stands in a word for what is not known. No accepted text holds it.
pub(crate) const MARK: char = '\u{f8ff}';

/// Stands before a wildcard that begins a word: names of files, none of which is meant for an option.
pub(crate) const NAMES: char = '\u{f8fe}';

/// Stands in a word for a number: digits that nobody writes, so that it is told from one that stands there.
pub(crate) const NUMBER: &str = "414141414141414";

/// Most forms of one command that its variables may give it.
const FORMS_MAX: usize = 64;

/// Longest text that a variable is followed through, in bytes; a text may double it many times.
const TEXT_BYTES_MAX: usize = 1024;

/// Most bytes that variables may put into one command.
const FORM_BYTES_MAX: usize = 128 * 1024;

/// Most words of a command that is judged in several forms.
const FORM_WORDS_MAX: usize = 200;

/// A part of a word, as far as its text is known.
#[derive(Clone, Debug)]
pub(super) enum Piece {
    Literal(String, bool),
    Glob(char),
    Home,
    Of(Value, bool),
}

impl Evaluator<'_> {
    /// What is known of each part. Every substitution in it is judged.
    pub(super) fn pieces(&mut self, template: &Template) -> Judged<Vec<Piece>> {
        template.parts.iter().map(|part| self.piece(part, template.at)).collect()
    }

    fn piece(&mut self, part: &Part, at: usize) -> Judged<Piece> {
        Ok(match part {
            Part::Text { text, quoted } => Piece::Literal(text.clone(), *quoted),
            Part::Glob(character) => Piece::Glob(*character),
            // Where the text sets the variable, it is what that says.
            Part::Tilde if self.is_loose("HOME") || self.variables.get("HOME").is_some() => {
                Piece::Of(Value::Any, true)
            }
            Part::Tilde => Piece::Home,
            Part::Sequence => Piece::Of(Value::Number, true),
            Part::Unknown => Piece::Of(Value::Any, false),
            Part::Number(arithmetic) => {
                self.compute(arithmetic)?;
                Piece::Of(Value::Number, true)
            }
            Part::Command { list, quoted } => Piece::Of(self.substitute(list)?, *quoted),
            Part::Process(list) => {
                self.substitute(list)?;
                Piece::Of(Value::Names, true)
            }
            Part::Parameter { name, change, quoted } => {
                if let (Change::Instead { with, .. }, false) = (change, quoted)
                    && let Err(refusal) = check_unquoted(with)
                {
                    self.object(refusal);
                    self.pieces(with)?;
                    return Ok(Piece::Of(Value::Any, false));
                }
                let value = self.parameter(name, change, at);
                let value = self.soften(value, Value::Any)?;
                let several = matches!(change, Change::All) || matches!(name.as_str(), "@" | "*");
                let quoted = *quoted && !several;
                // Words are divided in another way then.
                let divided = self.is_loose("IFS") || self.variables.get("IFS").is_some();
                Piece::Of(if divided && !quoted { Value::Any } else { value }, quoted)
            }
        })
    }

    /// The value of a variable; the refusal of one that may hold a key.
    pub(super) fn variable(&self, name: &str, at: usize) -> Judged<Value> {
        if self.is_loose(name) {
            return Ok(Value::Any);
        }
        if let Some(value) = self.variables.get(name) {
            return Ok(value.clone());
        }
        from_outside(name)
            .ok_or_else(|| Refusal::new(at, &format!("${name}"), "a variable that may hold a key"))
    }

    fn parameter(&mut self, name: &str, change: &Change, at: usize) -> Judged<Value> {
        if let Change::Other(with) = change {
            self.is_indirect = true;
            self.pieces(with)?;
            return Ok(Value::Any);
        }
        let value = self.variable(name, at);
        let value = self.soften(value, Value::Any)?;
        Ok(match change {
            Change::Other(_) => Value::Any,
            Change::None | Change::All => value,
            Change::Element(index) => {
                self.compute(index)?;
                value
            }
            Change::Length => Value::Number,
            Change::Instead { with, assigns } => {
                let all = value.or(self.value(with)?);
                if *assigns {
                    let judged = self.assign(name, all.clone(), at);
                    self.soften(judged, ())?;
                }
                all
            }
            Change::Cut(pattern) => {
                self.pieces(pattern)?;
                shortened(value)
            }
            Change::Case => shortened(value),
            Change::Slice(parts) => {
                for part in parts {
                    self.compute(part)?;
                }
                shortened(value)
            }
            Change::Replace { pattern, with } => {
                self.pieces(pattern)?;
                let with = self.value(with)?;
                let plain = with
                    .only()
                    .is_some_and(|text| !text.contains('-') && !text.contains(char::is_whitespace));
                if plain { shortened(value) } else { Value::Any }
            }
        })
    }

    /// Sets a variable; the refusal of one that a text may not set.
    pub(super) fn assign(&mut self, name: &str, value: Value, at: usize) -> Judged<()> {
        self.note_assignment(name);
        self.note_held(name, &value);
        let long = match &value {
            Value::Texts(texts) => texts.iter().any(|text| text.text.len() > TEXT_BYTES_MAX),
            _ => false,
        };
        self.variables.set(name, if long { value.without_texts() } else { value });
        if !may_be_set(name) {
            self.does_more = true;
            return Err(Refusal::new(at, name, "this variable may change what programs do"));
        }
        Ok(())
    }

    /// Goes through an expression: all that it computes with must be numbers, because bash expands the text of a variable again.
    pub(super) fn compute(&mut self, arithmetic: &Arithmetic) -> Judged<()> {
        let refuse = |all: &mut Self, piece: &str| {
            let why = "only numbers may be computed with: bash runs what other texts hold";
            all.is_indirect = true;
            all.object(Refusal::new(arithmetic.at, piece, why));
        };
        for part in &arithmetic.parts {
            match self.piece(part, arithmetic.at)? {
                Piece::Of(value, _) if value.is_number() => {}
                _ => refuse(self, "$"),
            }
        }
        for name in &arithmetic.names {
            let empty = |value: &Value| value.only() == Some("");
            let number = match self.variables.get(name) {
                Some(value) => value.is_number() || empty(value),
                None => {
                    may_be_set(name) && !self.is_within || from_outside(name) == Some(Value::Number)
                }
            };
            if !number || self.is_loose(name) {
                refuse(self, name);
            }
        }
        if arithmetic.sets {
            for name in &arithmetic.names {
                let judged = self.assign(name, Value::Number, arithmetic.at);
                self.soften(judged, ())?;
            }
        }
        Ok(())
    }

    /// What is known of the text of a template where the shell does not split it.
    pub(super) fn value(&mut self, template: &Template) -> Judged<Value> {
        let pieces = self.pieces(template)?;
        Ok(joined(&pieces))
    }

    /// The words that a command may get: each form is one way that its variables may turn out.
    pub(super) fn forms(&mut self, templates: &[Template]) -> Judged<Vec<Vec<Word>>> {
        let mut all = Vec::new();
        for template in templates {
            all.push((template.at, self.pieces(template)?));
        }
        let count = |pieces: &[Piece]| {
            let of_piece = |piece: &Piece| match piece {
                Piece::Of(Value::Texts(texts), _) => texts.len().max(1),
                _ => 1,
            };
            pieces.iter().map(of_piece).fold(1_usize, usize::saturating_mul)
        };
        let bytes = |pieces: &[Piece]| {
            let of_piece = |piece: &Piece| match piece {
                Piece::Of(Value::Texts(texts), _) => {
                    texts.iter().map(|text| text.text.len()).max().unwrap_or(0)
                }
                _ => 0,
            };
            pieces.iter().map(of_piece).sum::<usize>()
        };
        let long = all.iter().map(|(_, pieces)| bytes(pieces)).sum::<usize>() > FORM_BYTES_MAX;
        let forms = all.iter().map(|(_, pieces)| count(pieces)).fold(1, usize::saturating_mul);
        if forms == 1 || forms > FORMS_MAX || long || all.len() > FORM_WORDS_MAX {
            let only = |(at, pieces): (usize, Vec<Piece>)| {
                let several = |piece: &Piece| matches!(piece, Piece::Of(Value::Texts(texts), _) if texts.len() != 1);
                let coarse = long || pieces.iter().any(several);
                let pieces =
                    if coarse { pieces.into_iter().map(less_known).collect() } else { pieces };
                Builder::new(at).build(&pieces)
            };
            return Ok(vec![all.into_iter().flat_map(only).collect()]);
        }
        let mut done: Vec<Vec<Word>> = vec![Vec::new()];
        for (at, pieces) in all {
            let words: Vec<Vec<Word>> =
                alternatives(&pieces).iter().map(|pieces| Builder::new(at).build(pieces)).collect();
            done = done
                .iter()
                .flat_map(|before| {
                    words.iter().map(move |words| [before.as_slice(), words.as_slice()].concat())
                })
                .collect();
        }
        Ok(done)
    }
}

/// Where an expansion is not quoted, but a piece of it is, that piece is not divided: such a text is not followed.
fn check_unquoted(with: &Template) -> Judged<()> {
    let divided = |part: &Part| match part {
        Part::Text { text, quoted: true } => text.contains([' ', '\t', '\n', '*', '?', '[', '\\']),
        Part::Parameter { quoted, .. } | Part::Command { quoted, .. } => *quoted,
        _ => false,
    };
    if with.parts.iter().any(divided) {
        Err(Refusal::new(with.at, "", "a quote inside an expansion without quotes"))
    } else {
        Ok(())
    }
}

/// What is known of a text of which something was cut off.
fn shortened(value: Value) -> Value {
    match value {
        Value::Number | Value::Names => Value::Names,
        Value::Texts(texts) if texts.iter().all(|text| !text.text.contains('-') && !text.home) => {
            Value::Names
        }
        Value::Texts(_) | Value::Numbered | Value::Any => Value::Any,
    }
}

fn less_known(piece: Piece) -> Piece {
    match piece {
        Piece::Of(value, quoted) => Piece::Of(value.without_texts(), quoted),
        other => other,
    }
}

/// Every way in which the texts of the variables may turn out.
fn alternatives(pieces: &[Piece]) -> Vec<Vec<Piece>> {
    if pieces.len() > FORM_WORDS_MAX {
        return vec![pieces.iter().cloned().map(less_known).collect()];
    }
    let mut all: Vec<Vec<Piece>> = vec![Vec::new()];
    for piece in pieces {
        let choices: Vec<Piece> = match piece {
            Piece::Of(Value::Texts(texts), quoted) => texts
                .iter()
                .map(|text| Piece::Of(Value::Texts([text.clone()].into()), *quoted))
                .collect(),
            other => vec![other.clone()],
        };
        all = all
            .iter()
            .flat_map(|before| {
                choices.iter().map(move |choice| {
                    let mut longer = before.clone();
                    longer.push(choice.clone());
                    longer
                })
            })
            .collect();
    }
    all
}

/// What is known of the pieces as one text.
fn joined(pieces: &[Piece]) -> Value {
    let mut all: Option<Value> = None;
    for piece in pieces {
        let next = match piece {
            Piece::Literal(text, _) => Value::text(text),
            Piece::Glob(character) => Value::text(&character.to_string()),
            Piece::Home => Value::home(),
            Piece::Of(value, _) => value.clone(),
        };
        all = Some(match all {
            None => next,
            Some(before) => behind(before, next),
        });
    }
    all.unwrap_or_else(|| Value::text(""))
}

/// What is known of one text behind another.
pub(super) fn behind(before: Value, next: Value) -> Value {
    if before.only() == Some("") {
        return next;
    }
    match (&before, &next) {
        (_, Value::Texts(_)) if next.only() == Some("") => before,
        (Value::Texts(first), Value::Texts(second)) if first.len() * second.len() <= FORMS_MAX => {
            let join = |one: &Text, other: &Text| Text {
                text: format!("{}{}", one.text, other.text),
                home: one.home,
            };
            let texts =
                first.iter().flat_map(|one| second.iter().map(move |other| join(one, other)));
            let all = Value::Texts(texts.collect());
            match &all {
                Value::Texts(texts) if texts.iter().any(|t| t.text.len() > TEXT_BYTES_MAX) => {
                    all.without_texts()
                }
                _ => all,
            }
        }
        (_, Value::Number) if before.is_number() => Value::Number,
        (Value::Number, _) if next.is_number() => Value::Number,
        _ => {
            // Behind a text the first word of the next is no word of its own.
            let goes_on = match &next {
                Value::Texts(texts) => texts.iter().all(|text| {
                    let inner = text.text.starts_with(char::is_whitespace);
                    text.text
                        .split_whitespace()
                        .skip(usize::from(!inner))
                        .all(|w| !w.starts_with('-'))
                }),
                other => other.is_names(),
            };
            let certain = match &before {
                Value::Texts(texts) => texts.iter().all(|text| !text.text.trim().is_empty()),
                _ => true,
            };
            if before.is_names() && (goes_on && certain || next.is_names()) {
                Value::Names
            } else {
                Value::Any
            }
        }
    }
}

/// Builds the words of one form.
struct Builder {
    words: Vec<Word>,
    current: Option<Word>,
    /// True if the piece before may end with a blank that divides words.
    may_divide: bool,
    at: usize,
}

impl Builder {
    fn new(at: usize) -> Self {
        Self { words: Vec::new(), current: None, may_divide: false, at }
    }

    fn word(&mut self) -> &mut Word {
        self.current.get_or_insert_with(|| Word {
            text: String::new(),
            at: self.at,
            quoted: false,
            glob: None,
            tilde: false,
            variables: Vec::new(),
        })
    }

    fn build(mut self, pieces: &[Piece]) -> Vec<Word> {
        for piece in pieces {
            match piece {
                Piece::Literal(text, quoted) => {
                    let may_divide = self.may_divide && text.starts_with('-');
                    let word = self.word();
                    if may_divide && !word.may_be_option() {
                        // Behind a blank it is an option.
                        let end = word.text.len();
                        let (name, quoted) = (String::new(), true);
                        word.variables.insert(0, Variable { name, start: 0, end, quoted });
                    }
                    word.text.push_str(text);
                    word.quoted |= *quoted;
                }
                Piece::Glob(character) => self.glob(*character),
                Piece::Home => {
                    let word = self.word();
                    word.tilde = word.text.is_empty();
                    word.text.push('~');
                }
                Piece::Of(value, quoted) => self.value(value, *quoted),
            }
            self.may_divide =
                matches!(piece, Piece::Of(Value::Names | Value::Numbered | Value::Any, false));
        }
        self.words.extend(self.current);
        self.words
    }

    fn glob(&mut self, character: char) {
        let word = self.word();
        if word.text.is_empty() {
            word.text.push(NAMES);
            // A name that is picked by its first character may be meant for an option.
            if character != '*' {
                let end = word.text.len();
                word.variables.push(Variable { name: String::new(), start: 0, end, quoted: true });
                word.glob = Some(0);
            }
        }
        word.glob.get_or_insert(word.text.len());
        word.text.push(character);
    }

    fn value(&mut self, value: &Value, quoted: bool) {
        match value {
            Value::Texts(texts) => texts.iter().for_each(|text| self.text(text, quoted)),
            Value::Number => {
                self.word().text.push_str(NUMBER);
            }
            Value::Names => {
                let word = self.word();
                word.text.push(MARK);
                if !quoted {
                    word.glob.get_or_insert(word.text.len());
                }
            }
            Value::Numbered | Value::Any => {
                let word = self.word();
                let start = word.text.len();
                word.text.push(MARK);
                let end = word.text.len();
                word.variables.push(Variable { name: String::new(), start, end, quoted: true });
                if !quoted {
                    word.glob.get_or_insert(start);
                }
            }
        }
    }

    fn text(&mut self, text: &Text, quoted: bool) {
        if quoted {
            let word = self.word();
            word.tilde |= text.home && word.text.is_empty();
            word.text.push_str(&text.text);
            word.quoted = true;
            return;
        }
        let mut home = text.home;
        for character in text.text.chars() {
            match character {
                ' ' | '\t' | '\n' => self.words.extend(self.current.take()),
                '*' | '?' | '[' | '\\' => self.glob(character),
                _ => {
                    let word = self.word();
                    word.tilde |= home && word.text.is_empty();
                    word.text.push(character);
                }
            }
            home = false;
        }
    }
}
