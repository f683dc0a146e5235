//! `awk`: programs that print. No `system`, no output but what it prints, no pipes, no files that the program opens but by a
//! plain name. The wall stands behind this; the check asks what the program is for.

use super::expand::{MARK, NAMES};
use crate::shell::refusal::Refusal;
use crate::shell::utility::ReadPath;
use crate::shell::word::{Word, refuse};

/// Most slashes of which it is not certain whether they divide; each doubles the readings.
const UNCERTAIN_MAX: usize = 6;

/// Words after which a slash begins an expression though a name stands before it.
const KEYWORDS: [&str; 12] = [
    "print", "printf", "return", "in", "if", "while", "for", "do", "else", "case", "exit",
    "getline",
];

/// Judges the arguments; the files that it reads.
pub(super) fn judge(name: &Word, arguments: &[Word]) -> Result<Vec<ReadPath>, Refusal> {
    let mut rest = arguments.iter();
    let program = loop {
        let Some(word) = rest.next() else {
            return refuse(name, "the program of `awk` is missing");
        };
        let text = word.text.as_str();
        match text {
            "--" => match rest.next() {
                Some(program) => break program,
                None => return refuse(name, "the program of `awk` is missing"),
            },
            "--version" | "--posix" | "--re-interval" | "-b" | "--csv" => continue,
            _ if word.glob.is_some() => {
                return refuse(word, "data without quotes may become the program");
            }
            "-F" | "-v" if rest.as_slice().first().is_some_and(|value| value.glob.is_some()) => {
                return refuse(word, "data without quotes may become the program");
            }
            "-F" => drop(rest.next()),
            "-v" => {
                let sets = rest.next().map_or("", |word| word.text.as_str());
                let variable = sets.split_once('=').map_or("", |(name, _)| name);
                if !is_own_name(variable) {
                    return refuse(word, "not a variable that a program may be given");
                }
            }
            _ if text.starts_with("-F") && word.is_known() => {}
            _ if text.starts_with("-v")
                && is_own_name(text[2..].split('=').next().unwrap_or("")) => {}
            _ if text.starts_with('-') || word.may_be_option() || word.glob == Some(0) => {
                return refuse(word, "not on the list of options that only read");
            }
            _ => break word,
        }
    };
    if arguments.iter().any(|word| word.text == "--version") && arguments.len() == 1 {
        return Ok(Vec::new());
    }
    if !program.is_known() || program.glob.is_some() || program.text.contains([MARK, NAMES]) {
        return refuse(program, "data may not be part of a program");
    }
    if let Err((piece, why)) = check(&program.text) {
        return Err(Refusal::new(program.at, &piece, format!("in a program of `awk`: {why}")));
    }
    let mut paths = Vec::new();
    for word in rest {
        let named = crate::shell::syntax::name_length(&word.text);
        let steers =
            named > 0 && word.text[named..].starts_with('=') && !is_own_name(&word.text[..named]);
        if word.text.contains("/inet") || steers || word.may_be_option() && word.text.contains('=')
        {
            return refuse(word, "not a file that is named");
        }
        let sets = word.text.split_once('=').is_some_and(|(name, _)| is_own_name(name));
        if !sets {
            paths.push(ReadPath::of(word, true));
        }
    }
    Ok(paths)
}

/// Whether a program may be given the variable: not one that decides which files are read.
fn is_own_name(name: &str) -> bool {
    crate::shell::syntax::name_length(name) == name.len()
        && !name.is_empty()
        && !matches!(name, "ARGV" | "ARGC" | "ENVIRON" | "PROCINFO")
}

/// What a token was, as far as a slash behind it is concerned.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// A slash begins an expression.
    Operator,
    /// A slash divides.
    Operand,
    /// A closing parenthesis: it may be either.
    Close,
}

type Wrong = (String, &'static str);

/// Refuses what is not known to only print, in every way that the program may be read.
fn check(program: &str) -> Result<(), Wrong> {
    let squeezed: String = program.chars().filter(|c| !c.is_whitespace()).collect();
    if squeezed.contains("system(") || program.contains("\\\n") {
        return Err(("system(".to_owned(), "it would run a command"));
    }
    if program.contains("/inet") {
        return Err(("/inet".to_owned(), "it would open a connection"));
    }
    let mut open =
        vec![Reading { at: 0, before: Before::Operator, printing: false, depth: 0, uncertain: 0 }];
    let mut whole = false;
    let mut unread = None;
    while let Some(mut reading) = open.pop() {
        match reading.read(program, &mut open) {
            Ok(()) => whole = true,
            Err(Stop::Wrong(wrong)) => return Err(wrong),
            Err(Stop::Unread) => unread = Some((String::new(), "it cannot be read with certainty")),
        }
    }
    match (whole, unread) {
        (true, _) | (false, None) => Ok(()),
        (false, Some(wrong)) => Err(wrong),
    }
}

enum Stop {
    /// The program does what it must not.
    Wrong(Wrong),
    /// Read like this it is no program.
    Unread,
}

/// One way to read a program, at one place.
#[derive(Clone)]
struct Reading {
    at: usize,
    before: Before,
    /// Whether a `print` is open whose output could go elsewhere.
    printing: bool,
    /// Parentheses and brackets that are open.
    depth: usize,
    uncertain: usize,
}

fn wrong<T>(piece: &str, why: &'static str) -> Result<T, Stop> {
    Err(Stop::Wrong((piece.to_owned(), why)))
}

impl Reading {
    fn read(&mut self, text: &str, open: &mut Vec<Self>) -> Result<(), Stop> {
        let bytes = text.as_bytes();
        while let Some(byte) = bytes.get(self.at).copied() {
            let next = bytes.get(self.at + 1).copied();
            match byte {
                b' ' | b'\t' => self.at += 1,
                b'#' => {
                    self.at += text[self.at..].find('\n').unwrap_or(text.len() - self.at);
                }
                b'\n' | b';' | b'{' | b'}' => self.end_statement(text, byte),
                b'"' => {
                    self.at = end_of(text, self.at + 1, b'"').ok_or(Stop::Unread)?;
                    self.before = Before::Operand;
                }
                b'/' => {
                    if self.before == Before::Close {
                        if self.uncertain == UNCERTAIN_MAX {
                            return wrong("/", "it cannot be read with certainty");
                        }
                        self.uncertain += 1;
                        let other = Self { before: Before::Operand, ..self.clone() };
                        open.push(other);
                        self.before = Before::Operator;
                    }
                    if self.before == Before::Operand {
                        self.operator(1);
                    } else {
                        let start = self.at + 1;
                        self.at = end_of(text, start, b'/').ok_or(Stop::Unread)?;
                        if !brackets_are_plain(&text[start..self.at - 1]) {
                            return wrong("/", "it cannot be read with certainty");
                        }
                        self.before = Before::Operand;
                    }
                }
                b'|' if next == Some(b'|') => self.operator(2),
                b'|' => return wrong("|", "it would run a command"),
                b'@' => return wrong("@", "it would load or call something unseen"),
                b'\\' | b'`' | b'\'' => return wrong("\\", "this is not judged"),
                b'>' if self.printing && self.depth == 0 => {
                    self.redirect(text)?;
                }
                b'(' | b'[' => {
                    self.depth += 1;
                    self.operator(1);
                }
                b')' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    self.at += 1;
                    self.before = if byte == b')' { Before::Close } else { Before::Operand };
                }
                b'+' | b'-' if next == Some(byte) => {
                    // `i++ / 2` divides, `++ /x/` is nothing that anybody writes.
                    self.at += 2;
                    if self.before == Before::Operator {
                        self.before = Before::Operator;
                    }
                }
                byte if byte.is_ascii_alphabetic() || byte == b'_' => self.name(text)?,
                byte if byte.is_ascii_digit() || byte == b'.' => {
                    let rest = &text[self.at..];
                    let digit = |c: char| c.is_ascii_alphanumeric() || c == '.';
                    self.at += rest.find(|c| !digit(c)).unwrap_or(rest.len());
                    self.before = Before::Operand;
                }
                byte if byte.is_ascii() => self.operator(1),
                _ => return wrong("", "this is not judged"),
            }
        }
        Ok(())
    }

    fn operator(&mut self, length: usize) {
        self.at += length;
        self.before = Before::Operator;
    }

    /// A statement ends, unless it goes on over the end of the line.
    fn end_statement(&mut self, text: &str, byte: u8) {
        let before = text[..self.at].trim_end_matches([' ', '\t']);
        let goes_on = byte == b'\n'
            && (before.ends_with([',', '?', ':'])
                || before.ends_with("&&")
                || before.ends_with("||"));
        // A comment in between hides how the line ends.
        let comment = before.rsplit('\n').next().is_some_and(|line| line.contains('#'));
        if !(goes_on || comment && byte == b'\n') && self.depth == 0 {
            self.printing = false;
        }
        self.operator(1);
    }

    fn name(&mut self, text: &str) -> Result<(), Stop> {
        let rest = &text[self.at..];
        let length = crate::shell::syntax::name_length(rest);
        let name = &rest[..length];
        self.at += length;
        self.before = if KEYWORDS.contains(&name) { Before::Operator } else { Before::Operand };
        match name {
            "system" => wrong("system", "it would run a command"),
            "ARGV" | "ARGC" => wrong(name, "it may name the files that are read"),
            "print" | "printf" => {
                self.printing = true;
                Ok(())
            }
            "getline" => self.getline(text),
            _ => Ok(()),
        }
    }

    /// `getline`, perhaps from a file: its name must be plain.
    fn getline(&mut self, text: &str) -> Result<(), Stop> {
        let rest = text[self.at..].trim_start_matches([' ', '\t']);
        let name = crate::shell::syntax::name_length(rest);
        let rest = rest[name..].trim_start_matches([' ', '\t']);
        let Some(file) = rest.strip_prefix('<') else {
            return if rest.starts_with(['[', '$']) {
                wrong("getline", "where it reads is not certain")
            } else {
                Ok(())
            };
        };
        let file = file.trim_start();
        let plain = file.strip_prefix('"').and_then(|inner| inner.split_once('"'));
        let follows = |after: &str| {
            let after = after.trim_start_matches([' ', '\t']);
            after.is_empty() || after.starts_with([')', ';', '}', '\n'])
        };
        match plain {
            Some((path, after)) if !path.contains('\\') && follows(after) => Ok(()),
            _ => wrong("getline", "the file that it reads must be named"),
        }
    }

    /// `>` behind `print`: only to the terminal.
    fn redirect(&mut self, text: &str) -> Result<(), Stop> {
        let rest = text[self.at..].trim_start_matches('>').trim_start_matches([' ', '\t']);
        let terminal = ["\"/dev/stderr\"", "\"/dev/stdout\""].into_iter().find_map(|name| {
            let after = rest.strip_prefix(name)?.trim_start_matches([' ', '\t']);
            (after.is_empty() || after.starts_with([';', '}', '\n'])).then_some(after)
        });
        match terminal {
            Some(after) => {
                self.at = text.len() - after.len();
                Ok(())
            }
            None => wrong(">", "it would write a file"),
        }
    }
}

/// The place behind the next such byte that is not escaped, on the same line.
fn end_of(text: &str, from: usize, close: u8) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = from;
    while let Some(byte) = bytes.get(at).copied() {
        match byte {
            b'\\' => at += 1,
            b'\n' => return None,
            byte if byte == close => return Some(at + 1),
            _ => {}
        }
        at += 1;
    }
    None
}

/// Whether every bracket of an expression is closed in the eyes of every awk: some take a slash inside brackets for the end,
/// and some do not.
fn brackets_are_plain(expression: &str) -> bool {
    let odd = ["[]", "[^]", "[.", "[="].iter().any(|piece| expression.contains(piece));
    let classes = expression.match_indices("[:").all(|(at, _)| {
        let rest = &expression[at + 2..];
        rest.trim_start_matches(|c: char| c.is_ascii_lowercase()).starts_with(":]")
    });
    let (mut depth, mut escaped) = (0_usize, false);
    for character in expression.chars() {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    !odd && classes && depth == 0
}
