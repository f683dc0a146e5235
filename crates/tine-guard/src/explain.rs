//! Why a command gets its verdict: the commands that were seen in it, and the rules that meet each.

use crate::call::{Call, Subject};
use crate::command_pattern::Meets;
use crate::judge::judge;
use crate::rule::{Rule, Rules};
use crate::shell::Width;
use crate::shell::reading::Command;
use crate::verdict::{PermissionMode, Verdict};

/// What was seen in a command, and the verdict on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The commands, in order; behind each one those that it launches.
    pub commands: Vec<SeenCommand>,
    /// Why there may be more of them; `None` where these are all.
    pub uncertain: Option<String>,
    /// True if the line does something beside its commands, for which rules that allow them do not suffice: it redirects, sets
    /// variables, or leaves a command in the background.
    pub does_more: bool,
    /// The verdict on the whole.
    pub verdict: Verdict,
}

/// A command that may run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenCommand {
    /// Its words on one line, with `…` for what is not known.
    pub command: String,
    /// How many launchers stand around it.
    pub depth: usize,
    /// True if it runs something that is not known.
    pub runs_unknown: bool,
    /// The rules that meet it.
    pub rules: Vec<MetRule>,
}

/// A rule that meets a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetRule {
    /// The list that it stands in: `deny`, `ask` or `allow`.
    pub list: &'static str,
    /// The rule, as it is written.
    pub rule: String,
    /// True if it meets the command only where unknown words turn out so.
    pub perhaps: bool,
}

/// Explains the verdict on a call of a shell tool; `None` for a call of another tool, or one that cannot be read.
pub fn explain(
    call: &Call<'_>,
    mode: PermissionMode,
    width: Width,
    rules: &Rules,
) -> Option<Explanation> {
    let Ok(Subject::Command(text)) = call.subject() else { return None };
    let mut commands = Vec::new();
    let mut add = |command: &Command, depth: usize| {
        let of_list = |list: &'static str, all: &[Rule]| -> Vec<MetRule> {
            let own = all.iter().filter(|rule| rule.tool() == call.tool);
            let meets = |rule: &Rule| match (rule.command_pattern(), list) {
                (None, _) => Meets::Yes,
                (Some(pattern), "allow") if !pattern.allows(command) => Meets::No,
                (Some(_), "allow") => Meets::Yes,
                (Some(pattern), _) => pattern.meets_alone(command, &text.directory),
            };
            own.filter_map(|rule| match meets(rule) {
                Meets::No => None,
                met => {
                    let perhaps = met != Meets::Yes;
                    Some(MetRule { list, rule: rule.to_string(), perhaps })
                }
            })
            .collect()
        };
        let lists = [("deny", &rules.deny), ("ask", &rules.ask), ("allow", &rules.allow)];
        commands.push(SeenCommand {
            command: command.shown(),
            depth,
            runs_unknown: command.launches_unknown,
            rules: lists.into_iter().flat_map(|(list, all)| of_list(list, all)).collect(),
        });
    };
    let reading = text.shell.reading();
    let mut open: Vec<(&Command, usize)> = reading.commands.iter().rev().map(|c| (c, 0)).collect();
    while let Some((command, depth)) = open.pop() {
        add(command, depth);
        open.extend(command.launches.iter().rev().map(|inner| (inner, depth + 1)));
    }
    let verdict = judge(call, mode, width, rules);
    let (uncertain, does_more) = (reading.uncertain.clone(), reading.does_more);
    Some(Explanation { commands, uncertain, does_more, verdict })
}
