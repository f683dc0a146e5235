//! What the guard knows of one utility, and the judging of a command by it.

use super::options::{Options, Parsed};
use super::refusal::Refusal;
use super::word::{Word, all_known, refuse};

/// A file or folder that an accepted command reads, as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReadPath {
    /// The text; with wildcards where `glob`.
    pub(crate) text: String,
    /// Whether it holds wildcards that the shell replaces.
    pub(crate) glob: bool,
    /// Whether it begins with a `~`, or holds a variable, that the shell replaces.
    pub(crate) tilde: bool,
    /// Whether what is in the file is printed, and not only its name or size.
    pub(crate) contents: bool,
    /// Whether the shell goes there: later relative paths may begin there.
    pub(crate) moves: bool,
}

impl ReadPath {
    /// A word that is a path.
    pub(super) fn of(word: &Word, contents: bool) -> Self {
        Self {
            text: word.text.clone(),
            glob: word.glob.is_some(),
            tilde: word.tilde || !word.is_known(),
            contents,
            moves: false,
        }
    }

    /// The directory itself, which a search reads where no other is named.
    pub(super) fn within_directory(contents: bool) -> Self {
        Self { text: ".".into(), glob: false, tilde: false, contents, moves: false }
    }

    /// Part of a word that is a path.
    pub(super) fn within(text: &str, word: &Word, contents: bool) -> Self {
        Self {
            text: text.to_owned(),
            glob: word.glob.is_some(),
            tilde: !word.is_known(),
            contents,
            moves: false,
        }
    }
}

/// What the operands of a utility are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operands {
    /// Files and folders, at most so many.
    Paths(usize),
    /// A pattern, unless an option gave one, then files and folders.
    PatternThenPaths,
    /// Words that name no file, at most so many.
    Words(usize),
}

/// As many operands as are given.
pub(super) const ANY: usize = usize::MAX;

/// A condition that no list of options can say.
pub(super) type Condition = fn(&Parsed<'_>) -> Result<(), Refusal>;

/// One utility.
#[derive(Clone, Copy, Debug)]
pub(super) struct Utility {
    pub(super) name: &'static str,
    pub(super) options: Options,
    pub(super) operands: Operands,
    /// Whether it prints what is in the files.
    contents: bool,
    condition: Option<Condition>,
}

impl Utility {
    /// A utility without options that prints what is in any number of files.
    pub(super) const fn new(name: &'static str) -> Self {
        let options = Options {
            short: "",
            long: &[],
            numbers: false,
            attached: true,
            any_harmless: false,
            takes_dashes: &[],
        };
        Self { name, options, operands: Operands::Paths(ANY), contents: true, condition: None }
    }

    pub(super) const fn short(mut self, short: &'static str) -> Self {
        self.options.short = short;
        self
    }

    pub(super) const fn long(mut self, long: &'static [&'static str]) -> Self {
        self.options.long = long;
        self
    }

    /// `-20` is a number.
    pub(super) const fn numbers(mut self) -> Self {
        self.options.numbers = true;
        self
    }

    /// It does not read its options as getopt does: values stand by themselves.
    pub(super) const fn values_apart(mut self) -> Self {
        self.options.attached = false;
        self
    }

    /// No option of it does harm, listed or not.
    pub(super) const fn any_option_harmless(mut self) -> Self {
        self.options.any_harmless = true;
        self
    }

    /// The value of these options is the next word, also where it begins with a dash.
    pub(super) const fn takes_dashes(mut self, options: &'static [&'static str]) -> Self {
        self.options.takes_dashes = options;
        self
    }

    pub(super) const fn operands(mut self, operands: Operands) -> Self {
        self.operands = operands;
        self
    }

    /// It prints names, sizes and times of files, but nothing that is in them.
    pub(super) const fn names_only(mut self) -> Self {
        self.contents = false;
        self
    }

    pub(super) const fn condition(mut self, condition: Condition) -> Self {
        self.condition = Some(condition);
        self
    }

    /// Judges the arguments; the paths that the command would read.
    pub(super) fn judge(&self, arguments: &[Word]) -> Result<Vec<ReadPath>, Refusal> {
        if self.condition.is_some() {
            all_known(arguments)?;
        }
        let parsed = self.options.parse(arguments)?;
        self.check_count(&parsed, arguments)?;
        if let Some(condition) = self.condition {
            condition(&parsed)?;
        }
        let mut paths: Vec<ReadPath> = parsed
            .path_values()
            .map(|(text, word)| ReadPath {
                tilde: word.tilde || !word.is_known(),
                ..ReadPath::within(text, word, true)
            })
            .collect();
        let given = parsed.has(&["e", "regexp", "f", "file"]);
        let operands = match self.operands {
            Operands::Paths(_) => &parsed.operands[..],
            Operands::PatternThenPaths if given => &parsed.operands[..],
            // A wildcard in the pattern may become files, and a variable an option with a file.
            Operands::PatternThenPaths => {
                let certain = |word: &&Word| word.glob.is_none() && word.is_known();
                let pattern = parsed.operands.first().is_some_and(certain);
                &parsed.operands[usize::from(pattern)..]
            }
            Operands::Words(_) => &[],
        };
        paths.extend(operands.iter().map(|word| ReadPath::of(word, self.contents)));
        let recursive = !self.name.ends_with("grep")
            || parsed.has(&["r", "R", "recursive", "dereference-recursive", "cached", "untracked"]);
        if operands.is_empty() && recursive && self.operands == Operands::PatternThenPaths {
            paths.push(ReadPath::within_directory(self.contents));
        }
        Ok(paths)
    }

    fn check_count(&self, parsed: &Parsed<'_>, arguments: &[Word]) -> Result<(), Refusal> {
        let (Operands::Paths(max) | Operands::Words(max)) = self.operands else { return Ok(()) };
        if max == ANY {
            return Ok(());
        }
        if let Some(extra) = parsed.operands.get(max) {
            let why = match max {
                0 => format!("`{}` may have no operand here", self.name),
                _ => format!("`{}` may have at most {max} operands here", self.name),
            };
            return refuse(extra, why);
        }
        // Where options must come first, whatever stands behind the operand is a second one, `--` too.
        if let (Some(operand), Some(last), Operands::Paths(1)) =
            (parsed.operands.first(), arguments.last(), self.operands)
            && !std::ptr::eq(*operand, last)
        {
            let why = format!("nothing may stand behind the operand of `{}`", self.name);
            return refuse(last, why);
        }
        match parsed.operands.iter().find(|word| word.glob.is_some()) {
            Some(word) if !self.options.any_harmless => {
                let why =
                    format!("a wildcard may become more operands than `{}` may have", self.name);
                refuse(word, why)
            }
            _ => Ok(()),
        }
    }
}
