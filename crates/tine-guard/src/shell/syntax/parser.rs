//! The reader's place in the text, what it noted, blanks, line ends, here-documents.

use super::tree::Template;
use crate::shell::refusal::Refusal;

/// Deepest nesting of lists, words and expressions; nobody reads more, and it bounds the recursion.
const DEPTH_MAX: usize = 40;

/// Most commands of one text.
const COMMANDS_MAX: usize = 500;

/// A here-document that was announced, and whose text begins on the next line.
struct Announced {
    /// The line that ends it.
    name: String,
    /// Whether nothing in it is expanded.
    quoted: bool,
    /// Whether tabs before each line do not count.
    tabs: bool,
    at: usize,
    /// Its place among the documents.
    index: usize,
}

/// A place in the text.
pub(super) struct Parser<'a> {
    text: &'a str,
    pub(super) at: usize,
    /// Where the text ends for now: inside backticks it is their end.
    end: usize,
    depth: usize,
    commands: usize,
    announced: Vec<Announced>,
    /// The here-documents, in the order of their announcement.
    pub(super) documents: Vec<Template>,
    /// The first piece that was read but that no verdict accepts.
    pub(super) objection: Option<Refusal>,
    /// The first piece that the strict verdict does not accept.
    pub(super) strict: Option<Refusal>,
    /// Words that braces made.
    pub(super) made: usize,
    /// Whether bash reads the text; another shell knows no braces and no `$'…'`.
    pub(super) is_bash: bool,
    /// How often something was read a second time in another way.
    second_readings: usize,
}

/// A place in the text to which the reader may go back.
pub(super) struct Place {
    at: usize,
    depth: usize,
    end: usize,
    announced: usize,
    documents: usize,
}

/// Most pieces of one text that are read twice; it bounds the time.
const SECOND_READINGS_MAX: usize = 64;

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            end: text.len(),
            depth: 0,
            commands: 0,
            announced: Vec::new(),
            documents: Vec::new(),
            objection: None,
            strict: None,
            made: 0,
            is_bash: true,
            second_readings: 0,
        }
    }

    /// Notes that no verdict accepts what stands here, so many characters of it, and goes on.
    pub(super) fn object(&mut self, length: usize, why: &str) {
        if self.objection.is_none() {
            let refusal = self.refusal(length, why);
            self.object_to(refusal);
        }
    }

    /// The same of a piece elsewhere.
    pub(super) fn object_to(&mut self, refusal: Refusal) {
        self.strict.get_or_insert_with(|| refusal.clone());
        self.objection.get_or_insert(refusal);
    }

    /// Notes that only the wide verdict accepts what stands here, so many characters of it, and goes on.
    pub(super) fn only_wide(&mut self, length: usize, why: &str) {
        if self.strict.is_none() {
            self.strict = Some(self.refusal(length, why));
        }
    }

    /// The same of a piece that begins elsewhere and ends here.
    pub(super) fn only_wide_since(&mut self, start: usize, why: &str) {
        if self.strict.is_none() {
            self.strict = Some(Refusal::new(start, self.slice(start, self.at), why));
        }
    }

    pub(super) fn place(&self) -> Place {
        Place {
            at: self.at,
            depth: self.depth,
            end: self.end,
            announced: self.announced.len(),
            documents: self.documents.len(),
        }
    }

    /// Goes back, to read in another way what was read in vain. The refusal is what is told of it.
    pub(super) fn back(&mut self, place: Place, refusal: Refusal) -> Result<(), Refusal> {
        self.second_readings += 1;
        if self.second_readings > SECOND_READINGS_MAX {
            return Err(refusal);
        }
        (self.at, self.depth, self.end) = (place.at, place.depth, place.end);
        self.announced.truncate(place.announced);
        self.documents.truncate(place.documents);
        self.object_to(refusal);
        Ok(())
    }

    /// Reads a text that stands for a piece of this one, such as what is left of backticks without their escapes.
    pub(super) fn within<T>(
        &mut self,
        text: &str,
        read: impl FnOnce(&mut Parser<'_>) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let mut inner = Parser::new(text);
        inner.depth = self.depth;
        inner.is_bash = self.is_bash;
        inner.commands = self.commands;
        inner.second_readings = self.second_readings;
        inner.made = self.made;
        inner.documents = std::mem::take(&mut self.documents);
        let read = inner.nested(read);
        self.documents = inner.documents;
        self.commands = inner.commands;
        self.second_readings = inner.second_readings;
        self.made = inner.made;
        self.strict = self.strict.take().or(inner.strict);
        self.objection = self.objection.take().or(inner.objection);
        read
    }

    /// The text from here on.
    pub(super) fn rest(&self) -> &'a str {
        self.text.get(self.at..self.end).unwrap_or_default()
    }

    pub(super) fn slice(&self, from: usize, to: usize) -> &'a str {
        self.text.get(from..to).unwrap_or_default()
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.peek_at(0)
    }

    pub(super) fn peek_at(&self, ahead: usize) -> Option<u8> {
        let at = self.at + ahead;
        (at < self.end).then(|| self.text.as_bytes()[at])
    }

    /// The byte before this place.
    pub(super) fn before(&self) -> Option<u8> {
        self.at.checked_sub(1).map(|at| self.text.as_bytes()[at])
    }

    /// Takes the text where it stands here.
    pub(super) fn eat(&mut self, text: &str) -> bool {
        let here = self.rest().starts_with(text);
        self.at += if here { text.len() } else { 0 };
        here
    }

    /// Takes the character that stands here.
    pub(super) fn next_char(&mut self) -> Option<char> {
        let character = self.rest().chars().next()?;
        self.at += character.len_utf8();
        Some(character)
    }

    /// Quotes so many characters from here.
    pub(super) fn refuse<T>(&self, length: usize, why: &str) -> Result<T, Refusal> {
        Err(self.refusal(length, why))
    }

    fn refusal(&self, length: usize, why: &str) -> Refusal {
        let piece: String = self.rest().chars().take(length).collect();
        Refusal::new(self.at, &piece, why)
    }

    /// Reads something that may hold itself again.
    pub(super) fn nested<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        if self.depth == DEPTH_MAX {
            return self.refuse(1, "this is nested too deeply to be judged");
        }
        self.depth += 1;
        let read = read(self);
        self.depth -= 1;
        read
    }

    /// Reads what stands before `end` as if the text ended there.
    pub(super) fn until<T>(
        &mut self,
        end: usize,
        read: impl FnOnce(&mut Self) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let outer = std::mem::replace(&mut self.end, end);
        let announced = self.announced.len();
        let done = read(self).and_then(|done| match self.at == end {
            true if self.announced.len() == announced => Ok(done),
            _ => self.refuse(1, "what stands in backticks is not a whole command"),
        });
        self.end = outer;
        done
    }

    /// Counts a command.
    pub(super) fn count(&mut self) -> Result<(), Refusal> {
        self.commands += 1;
        if self.commands > COMMANDS_MAX {
            self.refuse(1, &format!("more than {COMMANDS_MAX} commands are not judged"))
        } else {
            Ok(())
        }
    }

    /// Blanks and escaped line ends.
    pub(super) fn skip_blanks(&mut self) -> Result<(), Refusal> {
        loop {
            match (self.peek(), self.peek_at(1)) {
                (Some(b' ' | b'\t'), _) => self.at += 1,
                (Some(b'\\'), Some(b'\n')) => {
                    let blank = matches!(self.before(), Some(b' ' | b'\t'));
                    if !blank || matches!(self.peek_at(2), Some(b'#' | b'\\')) {
                        self.object(1, "an escaped line end inside a word");
                    }
                    self.at += 2;
                }
                _ => return Ok(()),
            }
        }
    }

    pub(super) fn skip_comment(&mut self) {
        while self.peek().is_some_and(|byte| byte != b'\n') {
            self.at += 1;
        }
    }

    /// Blanks, line ends and comments, where a command may begin.
    pub(super) fn skip_lines(&mut self) -> Result<(), Refusal> {
        loop {
            self.skip_blanks()?;
            match self.peek() {
                Some(b'\n') => self.line_end()?,
                Some(b'#') => self.skip_comment(),
                _ => return Ok(()),
            }
        }
    }

    /// Takes a line end, and the here-documents that begin there.
    pub(super) fn line_end(&mut self) -> Result<(), Refusal> {
        self.at += 1;
        let line_end = self.at - 1;
        let announced = std::mem::take(&mut self.announced);
        for here in announced {
            // Shells differ on where the text begins if a word goes on over the end of the line.
            if self.slice(here.at, line_end).contains('\n') {
                let why = "a word over several lines behind it";
                self.object_to(Refusal::new(here.at, "<<", why));
            }
            self.document(&here)?;
        }
        Ok(())
    }

    fn document(&mut self, here: &Announced) -> Result<(), Refusal> {
        let start = self.at;
        for line in self.rest().split_inclusive('\n') {
            let bare = line.strip_suffix('\n').unwrap_or(line);
            let bare = if here.tabs { bare.trim_start_matches('\t') } else { bare };
            if bare == here.name {
                let after = self.at + line.len();
                return self.document_between(here, start, after);
            }
            self.at += line.len();
        }
        let why = "the end of the here-document is missing";
        self.object_to(Refusal::new(here.at, "<<", why));
        self.document_between(here, start, self.at)
    }

    /// Reads the text of a here-document that begins at `start` and ends here; the reader goes on at `after`.
    fn document_between(
        &mut self,
        here: &Announced,
        start: usize,
        after: usize,
    ) -> Result<(), Refusal> {
        let end = std::mem::replace(&mut self.at, start);
        let body = if here.quoted {
            Template::text(start, self.slice(start, end))
        } else {
            self.until(end, |parser| parser.nested(Self::document_text))?
        };
        if let Some(slot) = self.documents.get_mut(here.index) {
            *slot = body;
        }
        self.at = after;
        Ok(())
    }

    /// Reads `<<NAME`, in quotes or not; the reader stands before it. Returns its place among the documents.
    pub(super) fn announce(&mut self) -> Result<usize, Refusal> {
        const PLAIN: &str = "a here-document must have a plain name in quotes";
        let at = self.at;
        if !self.announced.is_empty() {
            self.only_wide(3, PLAIN);
        }
        self.at += 2;
        let tabs = self.eat("-");
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.at += 1;
        }
        let (start, place) = (self.at, self.place());
        let quote = self.peek().filter(|byte| matches!(byte, b'\'' | b'"'));
        self.at += usize::from(quote.is_some());
        let rest = self.rest();
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let length = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
        let mut name = rest[..length].to_owned();
        self.at += length;
        let closed = quote.is_none_or(|quote| self.peek() == Some(quote));
        self.at += usize::from(quote.is_some());
        let ends = self.rest().starts_with([' ', '\t', '\n', ';', '|', '&', '<', '>', ')']);
        let mut quoted = quote.is_some();
        if tabs || !quoted {
            self.only_wide_since(at, PLAIN);
        }
        if name.is_empty() || !closed || !ends {
            self.back(place, Refusal::new(at, "<<", "a here-document must have a plain name"))?;
            let word = self.word()?;
            let source = self.slice(start, self.at);
            quoted = source.contains(['\'', '"', '\\']);
            name = word.literal().unwrap_or_else(|| source.to_owned());
        }
        let index = self.documents.len();
        self.documents.push(Template { at, parts: Vec::new() });
        self.announced.push(Announced { name, quoted, tabs, at, index });
        Ok(index)
    }

    /// Whether a here-document waits for its line end.
    pub(super) fn awaits_document(&self) -> bool {
        !self.announced.is_empty()
    }

    /// Objects to here-documents whose text never began, and forgets them.
    pub(super) fn check_ended(&mut self) {
        if let Some(here) = std::mem::take(&mut self.announced).first() {
            let why = "the text of the here-document is missing";
            self.object_to(Refusal::new(here.at, "<<", why));
        }
    }
}
