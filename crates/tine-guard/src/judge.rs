//! The verdict: rules first, then the mode.

use std::path::Path;

use crate::call::{Call, Subject, Target};
use crate::command::Judged;
use crate::command_pattern::Meets;
use crate::paths::PathPlace;
use crate::protected::steers_agents;
use crate::rule::{Rule, Rules, allows};
use crate::shell::Width;
use crate::verdict::{PermissionMode, Reason, Verdict};

/// Judges one call.
///
/// A call whose arguments cannot be read without doubt is denied in every mode. Then a deny rule
/// decides, then what the mode forbids or permits outright, then an ask rule, then an allow rule,
/// and where no rule speaks, the mode. A shell command that only reads is judged as its reads are: the rules of the
/// reading tools hold for the files that it names, and without a rule it is free inside the directory. The verdict says
/// then that it is a read. `width` is how much counts as one; it may be wide only where a read-only wall stands, behind
/// which the caller runs what is [`Verdict::Read`].
pub fn judge(call: &Call<'_>, mode: PermissionMode, width: Width, rules: &Rules) -> Verdict {
    match call.subject() {
        Ok(subject) => judge_subject(call.tool, call.directory, subject, (mode, width, rules)),
        Err(reason) => Verdict::Deny(reason.clone()),
    }
}

/// Judges a read of a file by its absolute path, as one of the tool that reads files. It must hold no link.
pub fn judge_read(directory: &Path, path: &Path, mode: PermissionMode, rules: &Rules) -> Verdict {
    let subject = Subject::Read(Target::new(directory, &path.to_string_lossy()));
    judge_subject("FileRead", directory, &subject, (mode, Width::Strict, rules))
}

fn judge_subject(
    tool: &str,
    directory: &Path,
    subject: &Subject,
    (mode, width, rules): (PermissionMode, Width, &Rules),
) -> Verdict {
    let aim = Aim::of(directory, subject, width);
    let meets = |rule: &Rule| match (&aim, subject) {
        (Aim::Command(judged), Subject::Command(command)) if judged.touched_by(rule, command) => {
            Meets::Yes
        }
        _ => rule.meets(tool, subject),
    };
    let (denied, in_doubt) = first(&rules.deny, meets);
    if let Some(rule) = denied {
        return Verdict::Deny(Reason::new(format!("the rule `{rule}` denies it")));
    }
    if let Some((rule, why)) = in_doubt
        && !rules.allow.iter().any(|rule| rule.is_exactly(tool, subject))
    {
        return Verdict::Ask(Reason::new(format!("the rule `{rule}` may deny it: {why}")));
    }
    let writes = match &aim {
        Aim::Command(command) => command.not_read_only.as_ref().map(|why| format!(" ({why})")),
        Aim::Write(_) => Some(String::new()),
        Aim::Look(_) | Aim::Script | Aim::Crew | Aim::Unknown => None,
    };
    match (mode, writes) {
        (PermissionMode::Bypass, _) => return Verdict::Allow,
        (PermissionMode::ReadOnly, Some(why)) => {
            let reason = format!("{tool} changes things and the mode is read-only{why}");
            return Verdict::Deny(Reason::new(reason));
        }
        (PermissionMode::ReadOnly | PermissionMode::Default | PermissionMode::AcceptEdits, _) => {}
    }
    let (asked, in_doubt) = first(&rules.ask, meets);
    if let Some(rule) = asked {
        return Verdict::Ask(Reason::new(format!("the rule `{rule}` asks")));
    }
    if let Some((rule, why)) = in_doubt {
        return Verdict::Ask(Reason::new(format!("the rule `{rule}` may ask: {why}")));
    }
    if allows(&rules.allow, tool, subject) {
        return Verdict::Allow;
    }
    without_rule(tool, mode, aim)
}

/// Returns true if the allow rules cover a call.
pub fn allowed_by_rule(call: &Call<'_>, rules: &Rules) -> bool {
    call.subject().is_ok_and(|subject| allows(&rules.allow, call.tool, subject))
}

/// What a call comes down to where no rule speaks.
enum Aim<'a> {
    Look(&'a Target),
    Write(&'a Target),
    Command(Judged),
    Script,
    Crew,
    Unknown,
}

impl<'a> Aim<'a> {
    fn of(directory: &Path, subject: &'a Subject, width: Width) -> Self {
        match subject {
            Subject::Read(target) | Subject::Search(target) => Self::Look(target),
            Subject::Write(target) => Self::Write(target),
            Subject::Command(command) => {
                Self::Command(Judged::new(directory, &command.shell, width))
            }
            Subject::Script(_) => Self::Script,
            Subject::Crew(_) => Self::Crew,
            Subject::Unknown => Self::Unknown,
        }
    }
}

/// The rule that meets the call, and the one that may, with the reason. Of several the one that comes first in the alphabet, so
/// that what is told does not depend on the order of the list.
fn first(
    rules: &[Rule],
    meets: impl Fn(&Rule) -> Meets,
) -> (Option<String>, Option<(String, String)>) {
    let (mut certain, mut in_doubt) = (Vec::new(), Vec::new());
    for rule in rules {
        match meets(rule) {
            Meets::Yes => certain.push(rule.to_string()),
            Meets::Perhaps(why) => in_doubt.push((rule.to_string(), why)),
            Meets::No => {}
        }
    }
    (certain.into_iter().min(), in_doubt.into_iter().min())
}

fn without_rule_for_command(command: Judged) -> Verdict {
    let reason = match (command.not_read_only, command.objection) {
        (Some(why), _) => {
            format!("no rule allows this command, and it may do more than read: {why}")
        }
        (None, Some(objection)) => objection,
        (None, None) => return Verdict::Read,
    };
    Verdict::Ask(Reason::new(reason))
}

fn without_rule(tool: &str, mode: PermissionMode, aim: Aim<'_>) -> Verdict {
    let reason = match aim {
        Aim::Look(target) if target.secret => {
            format!("`{}` may hold keys or passwords", target.shown())
        }
        Aim::Look(target) => match target.place {
            PathPlace::Inside(_) => return Verdict::Allow,
            PathPlace::Outside(_) => format!("`{}` is outside the directory", target.shown()),
        },
        Aim::Write(target) if mode == PermissionMode::AcceptEdits => {
            if target.is_harmless_to_write() {
                return Verdict::Allow;
            }
            match target.place {
                PathPlace::Inside(_) if target.secret => {
                    format!("`{}` may hold keys or passwords", target.shown())
                }
                PathPlace::Inside(ref path) if steers_agents(path) => {
                    format!("`{}` tells agents what to do", target.shown())
                }
                PathPlace::Inside(_) => format!("`{}` can start programs later", target.shown()),
                PathPlace::Outside(_) => format!("`{}` is outside the directory", target.shown()),
            }
        }
        Aim::Write(target) => format!("{tool} would write `{}`", target.shown()),
        Aim::Command(command) => return without_rule_for_command(command),
        Aim::Script | Aim::Crew => return Verdict::Allow,
        Aim::Unknown => format!("no rule allows the tool `{}`", tool.escape_debug()),
    };
    Verdict::Ask(Reason::new(reason))
}
