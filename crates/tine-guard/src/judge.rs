//! The verdict: rules first, then the mode.

use crate::call::{Call, Subject};
use crate::command::Judged;
use crate::paths::PathPlace;
use crate::rule::{Rule, Rules};
use crate::verdict::{PermissionMode, Reason, Verdict};

/// Judges one call.
///
/// A call whose arguments cannot be read without doubt is denied in every mode. Then a deny rule
/// decides, then what the mode forbids or permits outright, then an ask rule, then an allow rule,
/// and where no rule speaks, the mode. A shell command that only reads is judged as its reads are: the rules of the
/// reading tools hold for the files that it names, and without a rule it is free inside the directory.
pub fn judge(call: &Call<'_>, mode: PermissionMode, rules: &Rules) -> Verdict {
    let subject = match Subject::of(call) {
        Ok(subject) => subject,
        Err(reason) => return Verdict::Deny(reason),
    };
    let command = match &subject {
        Subject::Command(text) => Some(Judged::new(call.directory, text)),
        Subject::Read(_)
        | Subject::Search(_)
        | Subject::Write(_)
        | Subject::Script(_)
        | Subject::Unknown => None,
    };
    let touches = |rule: &Rule| {
        rule.touches(call.tool, &subject)
            || command.as_ref().is_some_and(|command| command.touched_by(rule))
    };
    if let Some(rule) = first(&rules.deny, touches) {
        return Verdict::Deny(Reason::new(format!("the rule `{rule}` denies it")));
    }
    let writes = match (&subject, &command) {
        (_, Some(command)) => command.not_read_only.as_ref().map(|why| format!(" ({why})")),
        (Subject::Write(_), None) => Some(String::new()),
        (_, None) => None,
    };
    match (mode, writes) {
        (PermissionMode::Bypass, _) => return Verdict::Allow,
        (PermissionMode::ReadOnly, Some(why)) => {
            let reason = format!("{} changes things and the mode is read-only{why}", call.tool);
            return Verdict::Deny(Reason::new(reason));
        }
        (PermissionMode::ReadOnly | PermissionMode::Default | PermissionMode::AcceptEdits, _) => {}
    }
    if let Some(rule) = first(&rules.ask, touches) {
        return Verdict::Ask(Reason::new(format!("the rule `{rule}` asks")));
    }
    if rules.allow.iter().any(|rule| rule.allows(call.tool, &subject)) {
        return Verdict::Allow;
    }
    match command {
        Some(command) => without_rule_for_command(command),
        None => without_rule(call.tool, mode, &subject),
    }
}

/// The covering rule that comes first in the alphabet, so that the reason does not depend on the
/// order of the list.
fn first(rules: &[Rule], covers: impl Fn(&Rule) -> bool) -> Option<String> {
    rules.iter().filter(|rule| covers(rule)).map(ToString::to_string).min()
}

fn without_rule_for_command(command: Judged) -> Verdict {
    let reason = match (command.not_read_only, command.objection) {
        (Some(why), _) => {
            format!("no rule allows this command, and it may do more than read: {why}")
        }
        (None, Some(objection)) => objection,
        (None, None) => return Verdict::Allow,
    };
    Verdict::Ask(Reason::new(reason))
}

fn without_rule(tool: &str, mode: PermissionMode, subject: &Subject) -> Verdict {
    let reason = match subject {
        Subject::Read(target) | Subject::Search(target) if target.secret => {
            format!("`{}` may hold keys or passwords", target.shown())
        }
        Subject::Read(target) | Subject::Search(target) => match target.place {
            PathPlace::Inside(_) => return Verdict::Allow,
            PathPlace::Outside(_) => format!("`{}` is outside the directory", target.shown()),
        },
        Subject::Write(target) if mode == PermissionMode::AcceptEdits => {
            if target.is_harmless_to_write() {
                return Verdict::Allow;
            }
            match target.place {
                PathPlace::Inside(_) => format!("`{}` is a sensitive place", target.shown()),
                PathPlace::Outside(_) => format!("`{}` is outside the directory", target.shown()),
            }
        }
        Subject::Write(target) => format!("{tool} would write `{}`", target.shown()),
        Subject::Command(_) => "no rule allows this command".to_owned(),
        Subject::Script(_) => return Verdict::Allow,
        Subject::Unknown => format!("no rule allows the tool `{}`", tool.escape_debug()),
    };
    Verdict::Ask(Reason::new(reason))
}
