//! `sed`: its options, and a recogniser of scripts that neither write, read other files nor run anything.
//!
//! A script is a language of its own. Recognised are addresses, blocks, and the commands that change or print the
//! pattern space; `w`, `W`, `r`, `R`, `e` and the flags of `s` that do the same are not.

use super::options::Options;
use super::refusal::Refusal;
use super::utility::ReadPath;
use super::word::Word;

/// Not `-l`, which takes a value here and none elsewhere, so that its value would be a script there.
const OPTIONS: Options = Options {
    short: "nrEe:suz",
    long: &words!(
        "quiet silent expression= regexp-extended separate unbuffered null-data posix sandbox debug"
    ),
    numbers: false,
    attached: true,
    any_harmless: false,
    takes_dashes: &[],
};

/// Judges the arguments of `sed`.
pub(super) fn judge(arguments: &[Word]) -> Result<Vec<ReadPath>, Refusal> {
    let parsed = OPTIONS.parse(arguments)?;
    let mut operands = &parsed.operands[..];
    let mut scripts: Vec<(&str, &Word)> = Vec::new();
    let first_operand = operands.first().map_or(usize::MAX, |word| word.at);
    for given in &parsed.options {
        if let ("e" | "expression", Some(script)) = (given.name, given.value) {
            // Where options may not follow operands, that operand is the script.
            if given.word.at >= first_operand {
                let why = "a script must stand before the files";
                return Err(Refusal::new(given.word.at, script, why));
            }
            scripts.push((script, given.word));
        }
    }
    // Where options may not follow operands, `--help` behind a script is a file, and the script runs.
    let tells = parsed.has(&["help", "version"]) && arguments.len() == 1;
    if scripts.is_empty() && !tells {
        let Some((script, rest)) = operands.split_first() else {
            return Err(Refusal::new(0, "sed", "the script is missing"));
        };
        scripts.push((&script.text, script));
        operands = rest;
    }
    for (script, word) in scripts {
        if word.glob.is_some() {
            return Err(Refusal::new(word.at, script, "a wildcard in a script"));
        }
        let mut script = Script { bytes: script.as_bytes(), at: 0 };
        if let Err(why) = script.commands() {
            let piece = String::from_utf8_lossy(&script.bytes[script.at.min(script.bytes.len())..])
                .into_owned();
            let piece = if piece.is_empty() { word.text.clone() } else { piece };
            return Err(Refusal::new(word.at, &piece, format!("in a script of `sed`: {why}")));
        }
    }
    Ok(operands.iter().map(|word| ReadPath::of(word, true)).collect())
}

/// A place in a script.
struct Script<'a> {
    bytes: &'a [u8],
    at: usize,
}

type Step = Result<(), &'static str>;

impl Script<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip(&mut self, set: &[u8]) {
        while self.peek().is_some_and(|byte| set.contains(&byte)) {
            self.at += 1;
        }
    }

    fn digits(&mut self) -> bool {
        let start = self.at;
        self.skip(b"0123456789");
        self.at > start
    }

    fn commands(&mut self) -> Step {
        let mut depth = 0_usize;
        loop {
            self.skip(b" \t\n;");
            let Some(byte) = self.peek() else { break };
            if byte == b'}' {
                depth = depth.checked_sub(1).ok_or("a block ends that did not begin")?;
                self.at += 1;
                self.end_of_command()?;
                continue;
            }
            self.addresses()?;
            self.skip(b" \t");
            if self.peek() == Some(b'!') {
                self.skip(b"! \t");
            }
            if self.peek() == Some(b'{') {
                depth += 1;
                self.at += 1;
                continue;
            }
            self.command()?;
        }
        if depth == 0 { Ok(()) } else { Err("a block is not closed") }
    }

    fn addresses(&mut self) -> Step {
        if !self.address()? {
            return Ok(());
        }
        self.skip(b" \t");
        if self.peek() == Some(b',') {
            self.at += 1;
            self.skip(b" \t");
            if matches!(self.peek(), Some(b'+' | b'~')) {
                self.at += 1;
            }
            if !self.address()? {
                return Err("the second address is missing");
            }
        }
        Ok(())
    }

    /// One address, where one stands.
    fn address(&mut self) -> Result<bool, &'static str> {
        match self.peek() {
            Some(b'$') => self.at += 1,
            Some(b'0'..=b'9') => {
                self.digits();
                if self.peek() == Some(b'~') {
                    self.at += 1;
                    self.digits();
                }
            }
            Some(byte @ (b'/' | b'\\')) => {
                self.at += 1;
                let delimiter = if byte == b'/' { byte } else { self.delimiter()? };
                self.until(delimiter)?;
                self.skip(b"IM");
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Skips to behind the delimiter. Implementations differ on a delimiter inside brackets, so that is refused.
    fn until(&mut self, delimiter: u8) -> Step {
        let mut bracket: Option<usize> = None;
        loop {
            let Some(byte) = self.peek() else { return Err("an expression is not closed") };
            self.at += 1;
            match byte {
                b'\\' => {
                    let next = self.peek();
                    if matches!(next, None | Some(b'\n')) {
                        return Err("an escaped line end");
                    }
                    // Programs differ on whether it escapes there.
                    let counts =
                        next == Some(delimiter) || matches!(next, Some(b'[' | b']' | b'\\'));
                    if bracket.is_some() && counts {
                        return Err("an escape inside brackets");
                    }
                    self.at += 1;
                }
                _ if byte == delimiter && bracket.is_some() => {
                    return Err("the delimiter inside brackets");
                }
                _ if byte == delimiter => return Ok(()),
                b'\n' => return Err("a line end inside an expression"),
                b'[' if bracket.is_none() => {
                    if self.peek() == Some(b'^') {
                        self.at += 1;
                    }
                    bracket = Some(self.at);
                }
                b'[' if matches!(self.peek(), Some(b':' | b'.' | b'=')) => self.class(delimiter)?,
                b']' if bracket.is_some_and(|start| self.at - 1 > start) => bracket = None,
                _ => {}
            }
        }
    }

    /// A class such as `[:alpha:]` inside brackets, from behind its first bracket; its own last bracket ends nothing else.
    fn class(&mut self, delimiter: u8) -> Step {
        const NAME_BYTES_MAX: usize = 8;
        let rest = &self.bytes[self.at..];
        let name = rest.iter().skip(1).take_while(|byte| byte.is_ascii_lowercase()).count();
        let ends = rest.first() == Some(&b':') && rest[name + 1..].starts_with(b":]");
        // The delimiter ends an expression before anybody looks for classes.
        let holds = delimiter == b':' || delimiter == b']' || delimiter.is_ascii_lowercase();
        if !ends || holds || name == 0 || name > NAME_BYTES_MAX {
            return Err("brackets inside brackets");
        }
        self.at += name + 3;
        Ok(())
    }

    fn command(&mut self) -> Step {
        let Some(byte) = self.peek() else { return Err("a command is missing") };
        self.at += 1;
        match byte {
            b'p' | b'P' | b'd' | b'D' | b'g' | b'G' | b'h' | b'H' | b'x' | b'n' | b'N' | b'='
            | b'z' | b'F' => {}
            b'q' | b'Q' | b'l' => {
                self.skip(b" \t");
                self.digits();
            }
            b's' => {
                let delimiter = self.delimiter()?;
                self.until(delimiter)?;
                self.until(delimiter)?;
                self.skip(b"gpiIMm0123456789");
            }
            b'y' => {
                let delimiter = self.delimiter()?;
                self.until(delimiter)?;
                self.until(delimiter)?;
            }
            b':' | b'b' | b't' | b'T' => {
                self.skip(b" \t");
                while self.peek().is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
                    self.at += 1;
                }
            }
            // Text to print, up to the end of its line. An escape could join it with what follows.
            b'a' | b'i' | b'c' => {
                let rest = &self.bytes[self.at..];
                let text = rest.split(|byte| *byte == b'\n').next().unwrap_or_default();
                if text.contains(&b'\\') || text.iter().all(|byte| matches!(byte, b' ' | b'\t')) {
                    return Err("text with an escape, or none");
                }
                self.at += text.len();
            }
            _ => {
                self.at -= 1;
                return Err("a command that is not on the list");
            }
        }
        self.end_of_command()
    }

    fn delimiter(&mut self) -> Result<u8, &'static str> {
        let delimiter =
            self.peek().filter(u8::is_ascii_punctuation).ok_or("a delimiter of this kind")?;
        if matches!(delimiter, b'\\' | b'[' | b']' | b'{' | b'}' | b';') {
            return Err("a delimiter of this kind");
        }
        self.at += 1;
        Ok(delimiter)
    }

    fn end_of_command(&mut self) -> Step {
        self.skip(b" \t");
        match self.peek() {
            None | Some(b';' | b'\n' | b'}') => Ok(()),
            _ => Err("something that is not on the list follows a command"),
        }
    }
}
