//! Commands that change the shell's own state: what they may change.

use super::expand::MARK;
use super::names::is_harmless;
use super::value::Value;
use super::walk::{Evaluator, Judged};
use crate::shell::word::{Word, refuse};

/// A variable's name, written plainly. Bash would run code in a subscript behind it.
fn plain_name(word: &Word) -> Judged<&str> {
    let name = word.text.as_str();
    let plain = crate::shell::syntax::name_length(name) == name.len() && !name.is_empty();
    if plain && word.is_known() && word.glob.is_none() {
        Ok(name)
    } else {
        refuse(word, "not the plain name of a variable")
    }
}

impl Evaluator<'_> {
    /// `read`: variables from its input.
    pub(super) fn read(
        &mut self,
        arguments: &[Word],
        (input, divided): (&Value, bool),
    ) -> Judged<()> {
        let mut names = Vec::new();
        let mut rest = arguments.iter();
        let mut list = false;
        while let Some(word) = rest.next() {
            match word.text.as_str() {
                "-r" | "-s" | "-rs" => {}
                "-a" | "-ra" => list = true,
                "-d" | "-rd" | "-n" | "-N" | "-t" | "-rn" | "-p" | "-rp" => {
                    if rest.next().is_none_or(|value| value.glob.is_some()) {
                        return refuse(word, "the value of this option is missing");
                    }
                }
                "-d''" | "--" => {}
                text if text.starts_with('-') => {
                    return refuse(word, "not on the list of options of `read`");
                }
                _ => names.push((plain_name(word)?, word.at)),
            }
        }
        let value = match input {
            _ if divided => Value::Any,
            Value::Names | Value::Number => input.clone(),
            _ => Value::Any,
        };
        let value = if list || names.len() > 1 { value.without_texts() } else { value };
        if names.is_empty() {
            self.variables.set("REPLY", value);
            return Ok(());
        }
        names.into_iter().try_for_each(|(name, at)| self.assign(name, value.clone(), at))
    }

    /// `mapfile`: a list from its input. Not `-C`, which runs a command.
    pub(super) fn read_list(&mut self, name: &Word, arguments: &[Word]) -> Judged<()> {
        let mut rest = arguments.iter();
        let mut names = Vec::new();
        while let Some(word) = rest.next() {
            match word.text.as_str() {
                "-t" => {}
                "-d" | "-n" | "-s" | "-td" => {
                    if rest.next().is_none_or(|value| value.glob.is_some()) {
                        return refuse(word, "the value of this option is missing");
                    }
                }
                text if text.starts_with('-') => {
                    return refuse(word, "not on the list of options that only read");
                }
                _ => names.push((plain_name(word)?, word.at)),
            }
        }
        match names.as_slice() {
            [(name, at)] => self.assign(name, Value::Any, *at),
            _ => refuse(name, "one list must be named"),
        }
    }

    /// `set`, `shopt`, `unset`, `export`.
    pub(super) fn shell_state(&mut self, name: &Word, arguments: &[Word]) -> Judged<()> {
        if arguments.is_empty() {
            return refuse(name, "without an argument it prints everything, keys included");
        }
        for word in arguments {
            if !word.is_known() || word.glob.is_some() || word.text.contains(MARK) {
                return refuse(word, "what changes the shell must be plain");
            }
        }
        let text = |word: &Word| word.text.clone();
        match name.text.as_str() {
            "set" => {
                let allowed = |word: &&Word| {
                    let text = word.text.as_str();
                    let letters = text.strip_prefix(['-', '+']).unwrap_or_default();
                    !letters.is_empty() && letters.chars().all(|c| "eufxo".contains(c))
                        || matches!(text, "pipefail" | "errexit" | "nounset" | "noglob" | "xtrace")
                };
                let bad = arguments.iter().find(|word| !allowed(word));
                // `-o` takes the next word, and alone prints.
                match bad {
                    Some(word) => refuse(word, "not on the list of what `set` may change"),
                    None => Ok(()),
                }
            }
            "shopt" => {
                const OPTIONS: [&str; 6] =
                    ["globstar", "nullglob", "dotglob", "failglob", "nocaseglob", "nocasematch"];
                let (first, rest) = arguments.split_at(1);
                let known = rest.iter().all(|word| OPTIONS.contains(&word.text.as_str()));
                if matches!(text(&first[0]).as_str(), "-s" | "-u" | "-q") && known {
                    Ok(())
                } else {
                    refuse(name, "not on the list of what `shopt` may change")
                }
            }
            "unset" => {
                for word in arguments {
                    self.assign(plain_name(word)?, Value::text(""), word.at)?;
                }
                Ok(())
            }
            _ => {
                for word in arguments {
                    let Some((name, value)) = word.text.split_once('=') else {
                        return refuse(word, "an exported variable must be given its value here");
                    };
                    if !is_harmless(name, Some(value)) {
                        return refuse(word, "this variable may change what programs do");
                    }
                }
                Ok(())
            }
        }
    }
}
