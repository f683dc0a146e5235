//! Limits and permissions of a run, from the command line and the settings.

use std::sync::Arc;
use std::time::Duration;

use tine_fork::RunLimits;
use tine_guard::{PermissionMode, Rule, Rules};
use tine_runtime::{Asker, Permissions};

use crate::ask::{Nobody, TerminalAsker, a_person_is_there};
use crate::cli::{ConfineArg, LimitArgs};
use crate::config::Config;
use crate::fail::Failure;
use crate::render::screen::Screen;

/// What a run may do, and the calls that it was refused because nobody could be asked.
pub(crate) struct Guarded {
    pub(crate) permissions: Permissions,
    pub(crate) nobody: Arc<Nobody>,
}

impl Guarded {
    /// Permissions of a run that asks on `screen` when a person is there. `stdin_is_free` says that standard input is
    /// not used for anything else.
    pub(crate) fn new(
        config: &Config,
        args: &LimitArgs,
        screen: &Arc<Screen>,
        stdin_is_free: bool,
    ) -> Result<Self, Failure> {
        let nobody = Arc::new(Nobody::default());
        let asker: Arc<dyn Asker> = if stdin_is_free && a_person_is_there() {
            Arc::new(TerminalAsker::new(Arc::clone(screen)))
        } else {
            Arc::clone(&nobody) as Arc<dyn Asker>
        };
        let permissions = Permissions::new(mode(config, args)?, rules(config, args)?, asker);
        Ok(Self { permissions, nobody })
    }
}

/// Where a run stops by itself. `turns` is the limit where none is given.
pub(crate) fn run_limits(args: &LimitArgs, turns: u32) -> RunLimits {
    RunLimits {
        turns: args.max_turns.unwrap_or(turns),
        time: args.timeout.map(Duration::from_secs),
        tokens: args.budget,
    }
}

const RULE_HINT: &str =
    "a rule is a tool, as `FileWrite`, or a tool and a pattern, as `Bash(git log *)`";

const MODE_HINT: &str = "default asks before it changes things, accept-edits lets files of the directory be written, read-only changes nothing, bypass asks nothing";

fn mode(config: &Config, args: &LimitArgs) -> Result<PermissionMode, Failure> {
    if let Some(text) = &args.permission_mode {
        return text
            .parse()
            .map_err(|error| Failure::usage("--permission-mode").because(&error).hint(MODE_HINT));
    }
    // Commands that may write nothing, and a tool that may, would be no read-only run.
    if args.confine == Some(ConfineArg::ReadOnly) {
        return Ok(PermissionMode::ReadOnly);
    }
    let Some(set) = &config.permission_mode else { return Ok(PermissionMode::default()) };
    set.value.parse().map_err(|error| {
        Failure::input(format!("permission_mode from {}", set.origin))
            .because(&error)
            .hint(MODE_HINT)
    })
}

fn rules(config: &Config, args: &LimitArgs) -> Result<Rules, Failure> {
    let lists = &config.permissions;
    let mut rules = Rules::parse(&lists.allow, &lists.ask, &lists.deny).map_err(|error| {
        Failure::input("a permission rule in config.toml").because(&error).hint(RULE_HINT)
    })?;
    rules.allow.extend(given("--allow", &args.allow)?);
    rules.deny.extend(given("--deny", &args.deny)?);
    Ok(rules)
}

fn given(option: &str, texts: &[String]) -> Result<Vec<Rule>, Failure> {
    let read = |text: &String| {
        text.parse().map_err(|error| Failure::usage(option).because(&error).hint(RULE_HINT))
    };
    texts.iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
        hint: default asks before it changes things, accept-edits lets files of the directory be written, read-only changes nothing, bypass asks nothing
        ");
    }

    #[test]
    fn a_read_only_wall_comes_with_read_only_permissions_unless_others_are_asked_for() {
        let mode = |permission_mode: Option<&str>| {
            let permission_mode = permission_mode.map(str::to_owned);
            let confine = Some(ConfineArg::ReadOnly);
            let args = LimitArgs { confine, permission_mode, ..LimitArgs::default() };
            super::mode(&Config::default(), &args).unwrap()
        };
        assert_eq!(mode(None), PermissionMode::ReadOnly);
        assert_eq!(mode(Some("default")), PermissionMode::Default);
    }

    #[test]
    fn the_command_line_adds_to_the_settings() {
        let mut config = Config::default();
        config.permissions.deny.push("Bash(rm *)".to_owned());
        let args = LimitArgs { deny: vec!["FileWrite".to_owned()], ..LimitArgs::default() };
        assert_eq!(rules(&config, &args).unwrap().deny.len(), 2);
    }
}
