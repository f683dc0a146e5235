//! The strict verdict: the profile of the reader in which the words that bash runs are certain.
//!
//! The reader notes the first piece that goes beyond it: plain words, quotes, escapes, pipes, lists, comments, harmless
//! redirects and `time` stay within. Without such a note every command is a simple one, and each is judged by the tables.

use super::git;
use super::refusal::Refusal;
use super::syntax::tree::{Change, Command, List, Node, Part, Redirect, Template};
use super::table;
use super::utility::ReadPath;
use super::word::{Variable, Word};

/// A simple command as bash would run it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SimpleCommand {
    /// The name, then the arguments. Never empty.
    pub(super) words: Vec<Word>,
    /// The files that are opened as its input.
    inputs: Vec<Word>,
}

/// The commands of a text of which the reader noted nothing.
pub(super) fn commands(list: &List) -> Result<Vec<SimpleCommand>, Refusal> {
    list.iter().flat_map(|item| &item.pipeline).map(simple).collect()
}

fn simple(command: &Command) -> Result<SimpleCommand, Refusal> {
    let refusal = || Refusal::new(command.at, "", "this is not judged");
    let Node::Simple { words, .. } = &command.node else { return Err(refusal()) };
    let words: Vec<Word> = words.iter().map(word).collect::<Option<_>>().ok_or_else(refusal)?;
    let input = |redirect: &Redirect| match redirect {
        Redirect::File(file) => Some(word(file)),
        _ => None,
    };
    let inputs = command.redirects.iter().filter_map(input).collect::<Option<_>>();
    Ok(SimpleCommand { words, inputs: inputs.ok_or_else(refusal)? })
}

/// The word, if nothing in it is run or computed.
fn word(template: &Template) -> Option<Word> {
    let mut word = Word::new(template.at);
    for part in &template.parts {
        match part {
            Part::Text { text, quoted } => {
                word.text.push_str(text);
                word.quoted |= quoted;
            }
            Part::Glob(character) => {
                word.glob.get_or_insert(word.text.len());
                word.text.push(*character);
            }
            Part::Tilde => {
                word.tilde = true;
                word.text.push('~');
            }
            Part::Parameter { name, change: Change::None, quoted } => {
                let start = word.text.len();
                word.text.push('$');
                word.text.push_str(name);
                let end = word.text.len();
                word.variables.push(Variable { name: name.clone(), start, end, quoted: *quoted });
            }
            _ => return None,
        }
    }
    Some(word)
}

/// Judges the commands; the paths that they would read.
pub(super) fn judge(commands: &[SimpleCommand]) -> Result<Vec<ReadPath>, Refusal> {
    let mut paths = Vec::new();
    let mut moved = false;
    for command in commands {
        paths.extend(command.inputs.iter().map(|word| ReadPath::of(word, true)));
        let name = &command.words[0];
        if moved && name.text == "git" {
            let why =
                "after `cd` it may be another repository, whose configuration may run programs";
            return Err(Refusal::new(name.at, "git", why));
        }
        moved |= name.text == "cd";
        paths.extend(table::judge(&command.words)?);
    }
    Ok(paths)
}

/// The first command that may start programs which the settings of a repository name, as it is told.
pub(super) fn starts_programs(commands: &[SimpleCommand]) -> Option<String> {
    commands.iter().find_map(|command| {
        let (name, arguments) = command.words.split_first()?;
        let starts = name.text == "git" && git::may_start_programs(arguments);
        starts.then(|| match git::subcommand(arguments) {
            Some(subcommand) => format!("git {subcommand}"),
            None => name.text.clone(),
        })
    })
}

#[cfg(test)]
#[path = "bash_tests.rs"]
mod bash_tests;
