//! Limits and permissions of a run, from the command line and the settings.

use std::error::Error;
use std::sync::Arc;

use tine_fork::run::RunLimits;
use tine_guard::{PermissionMode, Rule, RuleError, Rules, TOOL_NAMES};
use tine_model::Decision;
use tine_runtime::{Permissions, QueuePolicy, SharedMode};

use crate::ask::{Asked, a_person_is_there};
use crate::cli::{ConfineArg, LimitArgs};
use crate::config::{Config, RuleList, Setting};
use crate::context::Context;
use crate::durations::duration;
use crate::fail::Failure;
use crate::render::screen::Screen;

/// The permissions of a run, and the one who answers its questions.
pub(crate) struct Guarded {
    pub(crate) permissions: Permissions,
    pub(crate) asked: Asked,
}

impl Guarded {
    /// Permissions of a run that asks in the terminal that it was typed in, or on `screen` when a person is there. `stdin_is_free`
    /// says that standard input is not used for anything else.
    pub(crate) fn new(
        Context { config, terminal, .. }: &Context,
        args: &LimitArgs,
        screen: &Arc<Screen>,
        stdin_is_free: bool,
    ) -> Result<Self, Failure> {
        let is_read_only = args.confine.place == Some(ConfineArg::ReadOnly);
        let mode = match terminal {
            Some(terminal) if args.permission_mode.is_none() && !is_read_only => {
                terminal.mode.clone()
            }
            Some(_) | None => mode(config, args)?.into(),
        };
        let permissions = permissions(config, args, mode)?;
        let asked = if terminal.is_some() {
            Asked::Elsewhere
        } else if stdin_is_free && a_person_is_there() {
            Asked::Person(Arc::clone(screen))
        } else {
            Asked::Nobody(permissions.queue.wait.then(|| Arc::clone(screen)))
        };
        let asks = !matches!(asked, Asked::Nobody(_));
        Ok(Self { permissions: Permissions { asks, ..permissions }, asked })
    }
}

/// Permissions by the settings and the command line, of a run that asks nobody.
pub(crate) fn permissions(
    config: &Config,
    args: &LimitArgs,
    mode: SharedMode,
) -> Result<Permissions, Failure> {
    Ok(Permissions {
        queue: queue(config, args)?,
        accepts_worktree_edits: config.worktree.accept_edits.unwrap_or(true),
        ..Permissions::new(mode, rules(config, args)?)
    })
}

/// Where a run stops by itself. `turns` is the limit where none is given.
pub(crate) fn run_limits(args: &LimitArgs, turns: u32) -> RunLimits {
    RunLimits { turns: args.max_turns.unwrap_or(turns), time: args.timeout, tokens: args.budget }
}

const RULE_HINT: &str =
    "a rule is a tool, as `FileWrite`, or a tool and a pattern, as `Bash(git log *)`";

const MODE_HINT: &str = "default asks before it changes things, accept-edits lets files of the directory be written, plan or read-only changes nothing, bypass asks nothing";

pub(crate) fn mode(config: &Config, args: &LimitArgs) -> Result<PermissionMode, Failure> {
    if let Some(text) = &args.permission_mode {
        return text
            .parse()
            .map_err(|error| Failure::usage("--permission-mode").because(&error).hint(MODE_HINT));
    }
    // Commands that may write nothing, and a tool that may, would be no read-only run.
    if args.confine.place == Some(ConfineArg::ReadOnly) {
        return Ok(PermissionMode::ReadOnly);
    }
    let Some(set) = &config.permission_mode else { return Ok(PermissionMode::default()) };
    set.value.parse().map_err(|error| {
        Failure::input(format!("permission_mode from {}", set.origin))
            .because(&error)
            .hint(MODE_HINT)
    })
}

/// The rules of the settings and of the command line.
pub(crate) fn rules(config: &Config, args: &LimitArgs) -> Result<Rules, Failure> {
    let mut rules = Rules {
        allow: given("--allow", &args.allow)?,
        ask: Vec::new(),
        deny: given("--deny", &args.deny)?,
    };
    for written in &config.rules {
        let (file, line) = (written.file.display(), written.line);
        let wrong = |failure: Failure| failure.hint(RULE_HINT);
        let place = || Failure::input(format!("a permission rule in {file}, line {line}"));
        let rule: Rule = written.text.parse().map_err(|error| wrong(place().because(&error)))?;
        of_a_tool(&rule).map_err(|error| wrong(place().because(&error)))?;
        match written.list {
            RuleList::Allow => rules.allow.push(rule),
            RuleList::Ask => rules.ask.push(rule),
            RuleList::Deny => rules.deny.push(rule),
        }
    }
    Ok(rules)
}

/// How questions are put.
pub(crate) fn queue(config: &Config, args: &LimitArgs) -> Result<QueuePolicy, Failure> {
    let asking = &config.asking;
    let usual = QueuePolicy::default();
    let bad = |name: &str, setting: &Setting<String>, hint: &str| {
        let Setting { value, origin } = setting;
        Failure::input(format!("permissions.{name} from {origin} cannot be `{value}`")).hint(hint)
    };
    let deadline = match &asking.deadline {
        None => usual.deadline,
        Some(set) => duration(&set.value).ok_or_else(|| {
            bad("deadline", set, "it is a number and a unit, such as 90s, 30m, 1h or 2d")
        })?,
    };
    let fallback = match &asking.default {
        None => usual.fallback,
        Some(set) => Decision::from_name(&set.value)
            .ok_or_else(|| bad("default", set, "it is `deny` or `allow`"))?,
    };
    let wait = args.wait_for_permission || asking.wait.as_ref().is_some_and(|set| set.value);
    Ok(QueuePolicy { deadline, fallback, wait })
}

fn given(option: &str, texts: &[String]) -> Result<Vec<Rule>, Failure> {
    let wrong = |error: &dyn Error| Failure::usage(option).because(error).hint(RULE_HINT);
    let read = |text: &String| -> Result<Rule, Failure> {
        let rule = text.parse().map_err(|error: RuleError| wrong(&error))?;
        of_a_tool(&rule).map_err(|error| wrong(&error))?;
        Ok(rule)
    };
    texts.iter().map(read).collect()
}

/// Refuses a rule that no call would ever meet.
fn of_a_tool(rule: &Rule) -> Result<(), NoTool> {
    let name = rule.tool();
    if TOOL_NAMES.contains(&name) {
        return Ok(());
    }
    // Other agents' names of the same tools end ours: Read, Edit, Write.
    let begins = TOOL_NAMES.into_iter().find(|known| known.ends_with(name));
    let likeness = |known: &&str| strsim::jaro(known, name);
    let near =
        TOOL_NAMES.into_iter().max_by(|one, other| likeness(one).total_cmp(&likeness(other)));
    let meant = begins.or(near.filter(|near| likeness(near) >= 0.8));
    Err(match meant {
        Some(meant) => NoTool::Near { name: name.to_owned(), meant },
        None => NoTool::Unknown { name: name.to_owned(), all: TOOL_NAMES.join(", ") },
    })
}

/// A rule names no tool of tine's.
#[derive(Debug, thiserror::Error)]
enum NoTool {
    #[error("there is no tool `{name}`; did you mean `{meant}`?")]
    Near { name: String, meant: &'static str },
    #[error("there is no tool `{name}`; tools are {all}")]
    Unknown { name: String, all: String },
}

#[cfg(test)]
mod tests {
    use tine_guard::{Call, Verdict, Width, judge};

    use super::*;
    use crate::cli::ConfineArgs;
    use crate::config::{AskSettings, WrittenRule};

    fn check(args: LimitArgs) -> String {
        let config = Config::default();
        match mode(&config, &args).and_then(|_| rules(&config, &args)) {
            Ok(_) => "ok".to_owned(),
            Err(failure) => format!("{} {}", failure.code, failure.text()),
        }
    }

    #[test]
    fn a_bad_rule_and_a_bad_mode_are_usage_errors_with_advice() {
        let allow = vec!["bash(ls)".to_owned()];
        insta::assert_snapshot!(check(LimitArgs { allow, ..LimitArgs::default() }), @"
        2 error: --allow: `bash` is not a tool; did you mean `Bash`?
        hint: a rule is a tool, as `FileWrite`, or a tool and a pattern, as `Bash(git log *)`
        ");
        let permission_mode = Some("yolo".to_owned());
        insta::assert_snapshot!(check(LimitArgs { permission_mode, ..LimitArgs::default() }), @"
        2 error: --permission-mode: unknown permission mode `yolo`, expected default, accept-edits, read-only or bypass
        hint: default asks before it changes things, accept-edits lets files of the directory be written, plan or read-only changes nothing, bypass asks nothing
        ");
    }

    fn written(list: RuleList, text: &str) -> WrittenRule {
        WrittenRule { list, text: text.to_owned(), file: "/c.toml".into(), line: 7 }
    }

    #[test]
    fn a_read_only_wall_comes_with_read_only_permissions_unless_others_are_asked_for() {
        let mode = |permission_mode: Option<&str>| {
            let permission_mode = permission_mode.map(str::to_owned);
            let place = Some(ConfineArg::ReadOnly);
            let confine = ConfineArgs { place, ..ConfineArgs::default() };
            let args = LimitArgs { confine, permission_mode, ..LimitArgs::default() };
            super::mode(&Config::default(), &args).unwrap()
        };
        assert_eq!(mode(None), PermissionMode::ReadOnly);
        assert_eq!(mode(Some("default")), PermissionMode::Default);
    }

    #[test]
    fn the_command_line_adds_to_the_settings() {
        let rules_of =
            |list| Config { rules: vec![written(list, "Bash(rm *)")], ..Config::default() };
        let args = LimitArgs { deny: vec!["FileWrite".to_owned()], ..LimitArgs::default() };
        assert_eq!(rules(&rules_of(RuleList::Deny), &args).unwrap().deny.len(), 2);
        assert_eq!(rules(&rules_of(RuleList::Ask), &args).unwrap().ask.len(), 1);
    }

    #[test]
    fn a_bad_rule_in_a_file_is_named_with_its_line() {
        let config =
            Config { rules: vec![written(RuleList::Allow, "bash(ls)")], ..Config::default() };
        let text = rules(&config, &LimitArgs::default()).unwrap_err().text();
        insta::assert_snapshot!(text, @"
        error: a permission rule in /c.toml, line 7: `bash` is not a tool; did you mean `Bash`?
        hint: a rule is a tool, as `FileWrite`, or a tool and a pattern, as `Bash(git log *)`
        ");
    }

    #[test]
    fn settings_that_say_nothing_are_refused() {
        let set = |value: &str| Some(Setting { value: value.to_owned(), origin: "/c.toml".into() });
        let mut config = Config::default();
        config.asking.default = set("maybe");
        let text = queue(&config, &LimitArgs::default()).unwrap_err().text();
        insta::assert_snapshot!(text, @"
        error: permissions.default from /c.toml cannot be `maybe`
        hint: it is `deny` or `allow`
        ");
        config.asking = AskSettings { deadline: set("soon"), ..AskSettings::default() };
        let text = queue(&config, &LimitArgs::default()).unwrap_err().text();
        insta::assert_snapshot!(text, @"
        error: permissions.deadline from /c.toml cannot be `soon`
        hint: it is a number and a unit, such as 90s, 30m, 1h or 2d
        ");
        config.asking = AskSettings { deadline: set("5m"), ..AskSettings::default() };
        let args = LimitArgs { wait_for_permission: true, ..LimitArgs::default() };
        let policy = queue(&config, &args).unwrap();
        assert_eq!((policy.deadline.as_secs(), policy.wait), (300, true));
    }

    /// What is said of one command when each place has this list or none.
    fn verdict(
        user: Option<RuleList>,
        project: Option<RuleList>,
        given: Option<RuleList>,
    ) -> &'static str {
        let text = || "Bash(make x)".to_owned();
        let of = |list| written(list, &text());
        let config = Config {
            rules: user.into_iter().chain(project).map(of).collect(),
            ..Config::default()
        };
        let only = |list| if given == Some(list) { vec![text()] } else { Vec::new() };
        let args = LimitArgs {
            allow: only(RuleList::Allow),
            deny: only(RuleList::Deny),
            ..LimitArgs::default()
        };
        let rules = rules(&config, &args).unwrap();
        let input = tine_model::RawJson::parse(r#"{"command":"make x"}"#).unwrap();
        let call = Call::new("Bash", &input, "/srv".as_ref());
        match judge(&call, PermissionMode::Default, Width::Strict, &rules) {
            Verdict::Allow => "allow",
            Verdict::Read => "read",
            Verdict::Ask(_) => "ask",
            Verdict::Deny(_) => "deny",
        }
    }

    #[test]
    fn deny_beats_ask_and_ask_beats_allow_wherever_they_are_written() {
        use RuleList::{Allow, Ask, Deny};
        let strength = |word: &str| ["allow", "ask", "deny"].iter().position(|w| *w == word);
        for user in [None, Some(Allow), Some(Ask), Some(Deny)] {
            for given in [None, Some(Allow), Some(Deny)] {
                let own = verdict(user, None, given);
                // A project's file holds no allow rules: `config` refuses it.
                for project in [None, Some(Ask), Some(Deny)] {
                    let said = [user, project, given];
                    let expected = if said.contains(&Some(Deny)) {
                        "deny"
                    } else if said.contains(&Some(Ask)) || !said.contains(&Some(Allow)) {
                        "ask"
                    } else {
                        "allow"
                    };
                    let found = verdict(user, project, given);
                    assert_eq!(found, expected, "{said:?}");
                    assert!(strength(found) >= strength(own), "a project widens: {said:?}");
                }
            }
        }
    }
}
