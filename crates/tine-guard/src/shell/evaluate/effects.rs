//! Effects of commands on variables, and the places where bash may run the text of a variable.

use super::expand::{MARK, NAMES};
use super::names::is_run;
use super::value::Value;
use super::walk::Evaluator;
use crate::shell::syntax::name_length;
use crate::shell::word::Word;

/// Commands of the shell that may set the variables that they name.
const SETTERS: [&str; 15] = words!(
    "declare export getopts let local mapfile printf read readarray readonly set shift typeset unset wait"
);

/// Commands of the shell that may set any variable.
const SET_ANY: [&str; 4] = [".", "eval", "source", "trap"];

impl Evaluator<'_> {
    /// Notes what an assignment may do later.
    pub(super) fn note_assignment(&mut self, name: &str) {
        if self.functions > 0
            && let Some(names) = &mut self.loose
        {
            names.insert(name.to_owned());
        }
    }

    /// Notes a text in a variable that the shell or a program may run.
    pub(super) fn note_held(&mut self, name: &str, value: &Value) {
        if is_run(name) {
            self.held.push(value.only().map(str::to_owned));
        }
    }

    /// Notes where bash may run what a word holds: it computes subscripts, the values of variables that are numbers, and names.
    pub(super) fn note_computed(&mut self, words: &[Word]) {
        let Some((name, arguments)) = words.split_first() else { return };
        let unknown = |word: &Word| {
            !word.is_known() || word.glob.is_some() || word.text.contains([MARK, NAMES])
        };
        let names = |word: &Word| word.text.split('=').next().unwrap_or_default().contains('[');
        let is_value = |at: usize, options: &[&str]| {
            at.checked_sub(1).is_some_and(|at| options.contains(&arguments[at].text.as_str()))
        };
        let all = || arguments.iter().enumerate();
        self.note_lists(name, arguments);
        self.is_indirect |= match name.text.as_str() {
            "declare" | "typeset" | "local" | "export" | "readonly" => {
                arguments.iter().any(|word| {
                    let letters = word.text.strip_prefix(['-', '+']).unwrap_or_default();
                    letters.contains(['i', 'n']) && name.text != "export" || names(word) || {
                        unknown(word) && !word.text.contains('=')
                    }
                })
            }
            "let" => arguments.iter().any(|word| {
                let mut parts = word.text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
                let held = |part: &str| {
                    self.is_loose(part)
                        || self.variables.get(part).is_some_and(|value| !value.is_number())
                };
                unknown(word) || word.text.contains('[') || parts.any(held)
            }),
            "printf" => {
                all().any(|(at, word)| is_value(at, &["-v"]) && (unknown(word) || names(word)))
            }
            "wait" => {
                all().any(|(at, word)| is_value(at, &["-p"]) && (unknown(word) || names(word)))
            }
            "test" | "[" => all()
                .any(|(at, word)| is_value(at, &["-v", "-R"]) && (unknown(word) || names(word))),
            "read" | "mapfile" | "readarray" | "unset" | "getopts" => all().any(|(at, word)| {
                let valued = ["-p", "-rp", "-d", "-n", "-N", "-t", "-u", "-i", "-s", "-c", "-C"];
                !is_value(at, &valued) && (unknown(word) || names(word))
            }),
            _ => false,
        };
    }

    /// Notes the lists that a command of the shell declares. Bash reads the text of their value as a list, and expands in it.
    fn note_lists(&mut self, name: &Word, arguments: &[Word]) {
        if !["declare", "typeset", "local", "readonly"].contains(&name.text.as_str()) {
            return;
        }
        let letters = |word: &Word| {
            word.text.strip_prefix('-').is_some_and(|letters| letters.contains(['a', 'A']))
        };
        let declares = arguments.iter().any(letters);
        for word in arguments.iter().filter(|word| !word.text.starts_with(['-', '+'])) {
            let (variable, value) = word.text.split_once('=').unwrap_or((&word.text, ""));
            if declares {
                self.lists.insert(variable.to_owned());
            }
            let unknown = !word.is_known() || value.contains([MARK, NAMES]);
            self.is_indirect |= value.starts_with('(') || unknown && self.lists.contains(variable);
        }
    }

    /// Gives up what is known of the variables that a command of the shell may set.
    pub(super) fn loosen(&mut self, words: &[Word]) {
        let Some((name, arguments)) = words.split_first() else { return };
        let text = name.text.as_str();
        if !name.is_known() || text.contains([MARK, NAMES]) || SET_ANY.contains(&text) {
            self.loose = None;
            return;
        }
        let mut plain = arguments.iter().map(|word| word.text.as_str());
        if text == "set" && plain.any(|word| !word.starts_with(['-', '+']) || word == "--") {
            self.arguments_are_unknown();
        }
        // What `command` and `builtin` run may be these as well.
        if !SETTERS.contains(&text) && !matches!(text, "command" | "builtin") {
            return;
        }
        for word in arguments {
            let unknown = !word.is_known() || word.text.contains([MARK, NAMES]);
            match (unknown, name_length(&word.text)) {
                (true, 0) => self.loose = None,
                (_, 0) => {}
                (_, length) => {
                    let names = self.loose.as_mut();
                    if let Some(names) = names {
                        names.insert(word.text[..length].to_owned());
                    }
                }
            }
        }
    }
}
