//! Reading a utility's arguments against its allow list, as getopt reads them.
//!
//! Options are recognised wherever they stand before `--`, because GNU permutes; a system that does not permute takes
//! such a word for an operand, which is the lesser thing. Long names are exact: an abbreviation is refused, since which
//! option it means depends on the version.

use super::refusal::Refusal;
use super::word::{Word, refuse};

/// The options that a utility may be given. `-h`-like options that only print help need no mention.
#[derive(Clone, Copy, Debug)]
pub(super) struct Options {
    /// Letters; `:` after one: it takes a value, `::`: it may have one attached, `<`: it takes a path.
    pub(super) short: &'static str,
    /// Names; with `=`: takes a value, with `[=]`: may have one attached, with `=<`: takes a path.
    pub(super) long: &'static [&'static str],
    /// Whether `-20` is a number.
    pub(super) numbers: bool,
    /// Whether a short option's value may be attached to it. Where a program reads its options otherwise, what looks
    /// attached may be more options.
    pub(super) attached: bool,
    /// Whether no option of the utility does harm, also none that is not listed; then a wildcard may become anything.
    pub(super) any_harmless: bool,
    /// Options whose value is the next word whatever it looks like, by every program of the name: the pattern of a search.
    pub(super) takes_dashes: &'static [&'static str],
}

/// One option that was given.
#[derive(Clone, Copy, Debug)]
pub(super) struct Given<'a> {
    /// The letter or the long name, without dashes.
    pub(super) name: &'a str,
    /// Its value.
    pub(super) value: Option<&'a str>,
    /// The word that holds the value, or the option itself.
    pub(super) word: &'a Word,
    /// Whether the value is a path.
    pub(super) path: bool,
}

/// The arguments, told apart.
#[derive(Debug, Default)]
pub(super) struct Parsed<'a> {
    pub(super) options: Vec<Given<'a>>,
    pub(super) operands: Vec<&'a Word>,
}

impl Parsed<'_> {
    /// Whether one of the options was given.
    pub(super) fn has(&self, names: &[&str]) -> bool {
        self.options.iter().any(|given| names.contains(&given.name))
    }

    /// The paths among the values.
    pub(super) fn path_values(&self) -> impl Iterator<Item = (&str, &Word)> {
        self.options
            .iter()
            .filter(|given| given.path)
            .filter_map(|given| Some((given.value?, given.word)))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    Nothing,
    Attached,
    Value,
    Path,
}

/// What every refused wildcard is told.
const GLOB_WHY: &str = "a wildcard here may become an option or another operand";

impl Options {
    /// Tells options, values and operands apart; the error names the first word that is not on the list.
    pub(super) fn parse<'a>(&'a self, arguments: &'a [Word]) -> Result<Parsed<'a>, Refusal> {
        let mut parsed = Parsed::default();
        let mut rest = arguments.iter();
        while let Some(word) = rest.next() {
            if word.text == "--" {
                if let Some(split) = rest.as_slice().iter().find(|word| !word.stays_whole()) {
                    return Err(split.refuse_unknown());
                }
                parsed.operands.extend(rest);
                break;
            }
            self.check_unknown(word)?;
            if !word.text.starts_with('-') || word.text == "-" {
                self.check_operand_glob(word)?;
                parsed.operands.push(word);
            } else if let Some(long) = word.text.strip_prefix("--") {
                self.long(word, long, &mut rest, &mut parsed)?;
            } else if word.glob.is_some() && !self.any_harmless {
                return refuse(word, GLOB_WHY);
            } else if !(self.numbers && is_number(&word.text[1..])) {
                self.cluster(word, &mut rest, &mut parsed)?;
            }
        }
        Ok(parsed)
    }

    /// Outside quotes a variable may become any words, and at the beginning of a word any option. Where the beginning is
    /// known, the word is what it begins like.
    fn check_unknown(&self, word: &Word) -> Result<(), Refusal> {
        let option = word.may_be_option() || word.glob.is_some();
        let harm = word.text.starts_with('-') || option && !self.any_harmless;
        if !word.is_known() && (harm || !word.stays_whole()) {
            return Err(word.refuse_unknown());
        }
        Ok(())
    }

    fn check_operand_glob(&self, word: &Word) -> Result<(), Refusal> {
        match word.glob {
            Some(0) if !self.any_harmless => refuse(word, GLOB_WHY),
            _ => Ok(()),
        }
    }

    fn long<'a>(
        &'a self,
        word: &'a Word,
        long: &'a str,
        rest: &mut std::slice::Iter<'a, Word>,
        parsed: &mut Parsed<'a>,
    ) -> Result<(), Refusal> {
        let (name, value) =
            long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
        let takes = self.long_takes(name);
        let fixed = word.glob.is_none_or(|at| value.is_some() && at >= name.len() + 3);
        if !fixed && !self.any_harmless {
            return refuse(word, GLOB_WHY);
        }
        let unknown =
            || Refusal::new(word.at, &word.text, "not on the list of options that only read");
        let (value, holder) = match (takes.ok_or_else(unknown)?, value) {
            (Takes::Nothing, Some(_)) => {
                return refuse(word, "this option takes no value");
            }
            (Takes::Nothing | Takes::Attached, value)
            | (Takes::Value | Takes::Path, value @ Some(_)) => (value, word),
            (Takes::Value | Takes::Path, None) => {
                let next = self.separate_value(word, name, rest)?;
                (Some(next.text.as_str()), next)
            }
        };
        let path = takes == Some(Takes::Path);
        parsed.options.push(Given { name, value, word: holder, path });
        Ok(())
    }

    fn cluster<'a>(
        &'a self,
        word: &'a Word,
        rest: &mut std::slice::Iter<'a, Word>,
        parsed: &mut Parsed<'a>,
    ) -> Result<(), Refusal> {
        for (at, letter) in word.text.char_indices().skip(1) {
            let end = at + letter.len_utf8();
            let name = &word.text[at..end];
            let Some(takes) = self.short_takes(letter) else {
                let shown =
                    if word.text.len() == 2 { word.text.clone() } else { format!("-{name}") };
                return Err(Refusal::new(
                    word.at,
                    &shown,
                    "not on the list of options that only read",
                ));
            };
            let attached = (end < word.text.len()).then(|| &word.text[end..]);
            if takes == Takes::Nothing {
                parsed.options.push(Given { name, value: None, word, path: false });
                continue;
            }
            if attached.is_some() && !self.attached {
                return refuse(word, "the value of an option must stand by itself");
            }
            let (value, holder) = match attached {
                None if takes != Takes::Attached => {
                    let next = self.separate_value(word, name, rest)?;
                    (Some(next.text.as_str()), next)
                }
                attached => (attached, word),
            };
            parsed.options.push(Given { name, value, word: holder, path: takes == Takes::Path });
            return Ok(());
        }
        Ok(())
    }

    /// The next word as an option's value. One that looks like an option is refused, because programs differ on
    /// whether they take it for the value.
    fn separate_value<'a>(
        &self,
        option: &Word,
        name: &str,
        rest: &mut std::slice::Iter<'a, Word>,
    ) -> Result<&'a Word, Refusal> {
        let Some(value) = rest.next() else {
            return refuse(option, "the value of this option is missing");
        };
        let negative = value
            .text
            .strip_prefix('-')
            .is_some_and(|digits| digits.is_empty() || is_number(digits));
        let certain = negative || self.takes_dashes.contains(&name) && value.is_known();
        if value.text.starts_with('-') && !certain {
            return refuse(value, "a value that looks like an option");
        }
        if value.glob.is_some() && !self.any_harmless {
            return refuse(value, GLOB_WHY);
        }
        if !(value.is_known() || self.any_harmless && value.stays_whole()) {
            return Err(value.refuse_unknown());
        }
        Ok(value)
    }

    fn short_takes(&self, letter: char) -> Option<Takes> {
        if matches!(letter, ':' | '<') {
            return None;
        }
        let at = self.short.find(letter)? + letter.len_utf8();
        Some(match &self.short.as_bytes()[at..] {
            [b':', b':', ..] => Takes::Attached,
            [b':', ..] => Takes::Value,
            [b'<', ..] => Takes::Path,
            _ => Takes::Nothing,
        })
    }

    fn long_takes(&self, name: &str) -> Option<Takes> {
        if matches!(name, "help" | "version") {
            return Some(Takes::Nothing);
        }
        self.long.iter().find_map(|entry| {
            Some(match entry.strip_prefix(name)? {
                "" => Takes::Nothing,
                "[=]" => Takes::Attached,
                "=" => Takes::Value,
                "=<" => Takes::Path,
                _ => return None,
            })
        })
    }
}

pub(super) fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}
