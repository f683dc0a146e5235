//! The safe subset of the shell's grammar.
//!
//! A text is recognised only where the words that bash would run are known without running anything: plain words,
//! quotes, escapes, pipes, lists, comments, harmless redirects, `time`. Everything else is refused, also where it would do no
//! harm. One pass over the bytes, no recursion. That the words are bash's own is shown by the
//! differential test beside this module.

use super::brace::read_braces;
use super::characters::is_allowed;
use super::here::{Announced, check_ended, read_here, skip_line_end};
use super::refusal::Refusal;
use super::word::{Word, read_word};

/// Most simple commands of one text; nobody reads more in a prompt, and it bounds what the judges after this one do.
const COMMANDS_MAX: usize = 500;

/// A simple command as bash would run it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SimpleCommand {
    /// What stands between it and the command before it.
    pub(super) link: Link,
    /// Whether the pipeline that begins here is negated.
    pub(super) negated: bool,
    /// The name, then the arguments. Never empty.
    pub(super) words: Vec<Word>,
    /// The files that are opened as its input.
    pub(super) inputs: Vec<Word>,
}

/// How a command follows the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Link {
    /// The first command, or after `;` or a newline.
    Sequence,
    /// After `|`.
    Pipe,
    /// After `&&`.
    And,
    /// After `||`.
    Or,
}

/// Words that are no command names where a command begins.
const RESERVED: [&str; 16] = [
    "if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case", "esac",
    "select", "function", "time", "coproc",
];

/// Reads a whole text.
pub(super) fn recognise(text: &str) -> Result<Vec<SimpleCommand>, Refusal> {
    if let Some((at, character)) = text.char_indices().find(|(_, c)| !is_allowed(*c)) {
        let piece = character.to_string();
        return Err(Refusal::new(at, &piece, "a control, blank or invisible character"));
    }
    let mut reader = Reader::new(text);
    let mut commands = Vec::new();
    let mut link = Link::Sequence;
    loop {
        reader.skip_lines()?;
        if reader.peek().is_none() && link == Link::Sequence {
            break;
        }
        if commands.len() == COMMANDS_MAX {
            let why = format!("more than {COMMANDS_MAX} commands are not judged");
            return Err(Refusal::new(reader.at, "", why));
        }
        commands.push(reader.simple_command(link)?);
        match reader.operator()? {
            Some(next) => link = next,
            None => break,
        }
    }
    check_ended(&reader)?;
    if commands.is_empty() { Err(Refusal::new(0, "", "there is no command")) } else { Ok(commands) }
}

/// A place in the text.
pub(super) struct Reader<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
    /// The here-document that begins at the next line end.
    pub(super) announced: Option<Announced<'a>>,
    /// Words that braces made so far.
    pub(super) made: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0, announced: None, made: 0 }
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.peek_at(0)
    }

    pub(super) fn peek_at(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + ahead).copied()
    }

    /// Quotes the text from `at` to the end of what looks like one piece.
    pub(super) fn refuse(&self, length: usize, why: &str) -> Refusal {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let piece: String = rest.chars().take(length).collect();
        Refusal::new(self.at, &piece, why)
    }

    /// Blanks, and line ends escaped after a blank, where bash's reading is certain.
    fn skip_blanks(&mut self) -> Result<(), Refusal> {
        loop {
            match (self.peek(), self.peek_at(1)) {
                (Some(b' ' | b'\t'), _) => self.at += 1,
                (Some(b'\\'), Some(b'\n')) => {
                    let before = self.at.checked_sub(1).map(|at| self.text.as_bytes()[at]);
                    let after = self.peek_at(2);
                    if !matches!(before, Some(b' ' | b'\t')) || matches!(after, Some(b'#' | b'\\'))
                    {
                        return Err(self.refuse(1, "an escaped line end inside a word"));
                    }
                    self.at += 2;
                }
                _ => return Ok(()),
            }
        }
    }

    fn skip_comment(&mut self) {
        while self.peek().is_some_and(|byte| byte != b'\n') {
            self.at += 1;
        }
    }

    /// Blanks, newlines and comments, where a command may begin.
    fn skip_lines(&mut self) -> Result<(), Refusal> {
        loop {
            self.skip_blanks()?;
            match self.peek() {
                Some(b'\n') => skip_line_end(self)?,
                Some(b'#') => self.skip_comment(),
                _ => return Ok(()),
            }
        }
    }

    fn simple_command(&mut self, link: Link) -> Result<SimpleCommand, Refusal> {
        let mut command =
            SimpleCommand { link, negated: false, words: Vec::new(), inputs: Vec::new() };
        let start = self.at;
        if link != Link::Pipe && self.peek() == Some(b'!') && matches!(self.peek_at(1), Some(b' '))
        {
            command.negated = true;
            self.at += 1;
        }
        if link != Link::Pipe && !command.negated {
            self.skip_time()?;
        }
        loop {
            self.skip_blanks()?;
            match self.peek() {
                None | Some(b'\n' | b';' | b'|') => break,
                Some(b'&') if self.peek_at(1) != Some(b'>') => break,
                Some(b'#') => self.skip_comment(),
                Some(b'(' | b')') => return Err(self.refuse(1, "a subshell or function")),
                Some(b'&' | b'<' | b'>' | b'0'..=b'9') if self.redirect(&mut command)? => {}
                Some(_) if command.words.is_empty() => {
                    let name = read_word(self)?;
                    check_name(&name)?;
                    command.words.push(name);
                }
                Some(_) => match read_braces(self)? {
                    Some(words) => command.words.extend(words),
                    None => command.words.push(read_word(self)?),
                },
            }
        }
        if command.words.is_empty() {
            self.at = if self.peek().is_none() { start } else { self.at };
            return Err(self.refuse(2, "a command is missing here"));
        }
        Ok(command)
    }

    /// The reserved word `time`, with or without `-p`, before a pipeline. Behind `|` it would be another command.
    fn skip_time(&mut self) -> Result<(), Refusal> {
        for word in ["time", "-p"] {
            let rest = self.text.get(self.at..).unwrap_or_default();
            match rest.strip_prefix(word) {
                Some(after) if after.starts_with([' ', '\t']) => self.at += word.len(),
                _ => break,
            }
            self.skip_blanks()?;
        }
        Ok(())
    }

    /// Reads a redirect where one stands; `false` where a plain word does.
    fn redirect(&mut self, command: &mut SimpleCommand) -> Result<bool, Refusal> {
        if self.peek() == Some(b'<') && self.peek_at(1) == Some(b'<') {
            return read_here(self).map(|()| true);
        }
        let digits =
            (0..).take_while(|n| self.peek_at(*n).is_some_and(|b| b.is_ascii_digit())).count();
        let (first, second) = (self.peek_at(digits), self.peek_at(digits + 1));
        if digits > 0 && !matches!(first, Some(b'<' | b'>')) {
            return Ok(false);
        }
        let descriptor = if digits == 0 { None } else { self.peek() };
        let start = self.at;
        let refuse = |reader: &Self, why: &str| {
            let piece = reader.text.get(start..reader.at).unwrap_or_default();
            Refusal::new(start, piece, why)
        };
        let (length, kind) = match (first, second, self.peek_at(digits + 2)) {
            (Some(b'&'), Some(b'>'), Some(b'>')) => (3, Redirect::Write),
            (Some(b'&'), Some(b'>'), _) => (2, Redirect::Write),
            (Some(b'>'), Some(b'>'), _) => (2, Redirect::Write),
            (Some(b'>'), Some(b'&'), _) => (2, Redirect::Copy),
            (Some(b'>'), Some(b'|' | b'('), _) => (2, Redirect::Refused),
            (Some(b'>'), _, _) => (1, Redirect::Write),
            (Some(b'<'), Some(b'<' | b'&' | b'>' | b'('), _) => (2, Redirect::Refused),
            _ => (1, Redirect::Read),
        };
        self.at += digits + length;
        if kind == Redirect::Refused {
            return Err(refuse(self, "a redirect of this kind is not judged"));
        }
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.at += 1;
        }
        if matches!(
            self.peek(),
            None | Some(b'\n' | b';' | b'|' | b'&' | b'<' | b'>' | b'(' | b')' | b'#')
        ) {
            return Err(refuse(self, "a redirect without a plain target"));
        }
        let target = read_word(self)?;
        let known = target.glob.is_none() && !target.quoted && !target.tilde && target.is_known();
        let to_null = known && target.text == "/dev/null";
        match kind {
            Redirect::Write if !matches!(descriptor, None | Some(b'0'..=b'2')) || digits > 1 => {
                Err(refuse(self, "only descriptors 0, 1 and 2 may be redirected"))
            }
            Redirect::Write if to_null => Ok(true),
            Redirect::Write => Err(refuse(self, "output may only go to /dev/null")),
            Redirect::Copy if digits == 0 && to_null => Ok(true),
            Redirect::Copy => {
                let plain = known && matches!(target.text.as_str(), "1" | "2");
                let from = matches!(descriptor, None | Some(b'1' | b'2')) && digits <= 1;
                if plain && from {
                    Ok(true)
                } else {
                    Err(refuse(self, "only descriptors 1 and 2 may be joined"))
                }
            }
            Redirect::Read | Redirect::Refused => {
                let device = target.text.starts_with("/dev/")
                    && !matches!(target.text.as_str(), "/dev/null" | "/dev/stdin");
                if digits > 1
                    || !matches!(descriptor, None | Some(b'0'))
                    || target.glob.is_some()
                    || !target.is_known()
                    || device
                {
                    return Err(refuse(self, "input may only come from a file that is named here"));
                }
                command.inputs.push(target);
                Ok(true)
            }
        }
    }

    /// What stands after a command: how the next one follows, or `None` at the end.
    fn operator(&mut self) -> Result<Option<Link>, Refusal> {
        let (link, length) = match (self.peek(), self.peek_at(1)) {
            (None, _) => return Ok(None),
            (Some(b'\n'), _) => {
                skip_line_end(self)?;
                return Ok(Some(Link::Sequence));
            }
            (Some(b';'), Some(b';' | b'&')) => return Err(self.refuse(2, "a case separator")),
            (Some(b';'), _) => (Link::Sequence, 1),
            (Some(b'|'), Some(b'|')) => (Link::Or, 2),
            (Some(b'|'), Some(b'&')) => {
                return Err(self.refuse(2, "a pipe of this kind is not judged"));
            }
            (Some(b'|'), _) => (Link::Pipe, 1),
            (Some(b'&'), Some(b'&')) => (Link::And, 2),
            _ => return Err(self.refuse(1, "a command may not go to the background")),
        };
        self.at += length;
        Ok(Some(link))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Redirect {
    Write,
    Copy,
    Read,
    Refused,
}

/// A command's name is a bare word: no quotes that could hide it, no path, no assignment, no reserved word.
fn check_name(word: &Word) -> Result<(), Refusal> {
    let refuse = |why| Err(Refusal::new(word.at, &word.text, why));
    if word.quoted || word.tilde {
        return refuse("a quoted or escaped command name is not judged");
    }
    if word.text == "[" {
        return Ok(());
    }
    if word.text.contains('=') {
        return refuse("an assignment may change what runs");
    }
    if word.text.contains('/') {
        return refuse("a command named by a path is not judged");
    }
    if RESERVED.contains(&word.text.as_str()) {
        return refuse("a compound command is not judged");
    }
    let begins = word.text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
    let plain = word.text.chars().all(|c| c.is_ascii_alphanumeric() || "_.+-".contains(c));
    if begins && plain && word.glob.is_none() { Ok(()) } else { refuse("not a plain command name") }
}

#[cfg(test)]
#[path = "bash_tests.rs"]
mod bash_tests;
