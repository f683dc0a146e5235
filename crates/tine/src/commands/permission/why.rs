//! `tine permission why`: the commands in a line, the rules that meet each, and the verdict.

use serde::Serialize;
use tine_guard::{Call, Explanation, SeenCommand, Verdict, explain};
use tine_model::RawJson;

use crate::cli::{LimitArgs, WhyArgs};
use crate::commands::doctor::read_width;
use crate::context::Context;
use crate::fail::{Failure, PERMISSION};
use crate::limits;
use crate::output;
use crate::render::table::{Align, Table};
use tine_tui::words::{GREEN, RED, YELLOW, one_line, styled};

/// The JSON shape. Others rely on it: fields are only ever added.
#[derive(Serialize)]
struct WhyJson<'a> {
    /// `allow`, `read`, `ask` or `deny`.
    verdict: &'static str,
    reason: Option<String>,
    commands: Vec<CommandJson<'a>>,
    /// Why there may be more commands.
    uncertain: Option<&'a str>,
    /// Whether it redirects, sets variables, or leaves a command in the background: no allow rule covers that.
    does_more: bool,
}

#[derive(Serialize)]
struct CommandJson<'a> {
    command: &'a str,
    /// How many launchers stand around it.
    depth: usize,
    /// Whether it runs something that is not known.
    runs_unknown: bool,
    rules: Vec<RuleJson<'a>>,
}

#[derive(Serialize)]
struct RuleJson<'a> {
    list: &'static str,
    rule: &'a str,
    /// Whether it meets the command only where unknown words turn out so.
    perhaps: bool,
}

pub(super) fn why(context: &Context, args: &WhyArgs) -> Result<u8, Failure> {
    let given = LimitArgs::default();
    let rules = limits::rules(&context.config, &given)?;
    let mode = limits::mode(&context.config, &given)?;
    let input = serde_json::json!({ "command": args.command }).to_string();
    let input = RawJson::parse(&input)
        .map_err(|error| Failure::input("the command cannot be read").because(&error))?;
    let directory = context.directory.as_path();
    let call = Call::new("Bash", &input, directory);
    let Some(explanation) = explain(&call, mode, read_width(directory), &rules) else {
        return Err(Failure::input("the command cannot be read")
            .hint("it is longer than a command can be, or holds a NUL character"));
    };
    if args.json {
        output::json(&json(&explanation))?;
    } else {
        output::write_out(&told(&explanation))?;
    }
    Ok(if explanation.verdict.is_free() { 0 } else { PERMISSION })
}

fn word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Allow => "allow",
        Verdict::Read => "read",
        Verdict::Ask(_) => "ask",
        Verdict::Deny(_) => "deny",
    }
}

fn json(explanation: &Explanation) -> WhyJson<'_> {
    let reason = match &explanation.verdict {
        Verdict::Ask(reason) | Verdict::Deny(reason) => Some(reason.to_string()),
        Verdict::Allow | Verdict::Read => None,
    };
    WhyJson {
        verdict: word(&explanation.verdict),
        reason,
        commands: explanation.commands.iter().map(command_json).collect(),
        uncertain: explanation.uncertain.as_deref(),
        does_more: explanation.does_more,
    }
}

fn command_json(seen: &SeenCommand) -> CommandJson<'_> {
    let rules = seen.rules.iter();
    CommandJson {
        command: &seen.command,
        depth: seen.depth,
        runs_unknown: seen.runs_unknown,
        rules: rules
            .map(|met| RuleJson { list: met.list, rule: &met.rule, perhaps: met.perhaps })
            .collect(),
    }
}

/// The verdict in a sentence, then a line for each command and rule.
fn told(explanation: &Explanation) -> String {
    let mut text = match &explanation.verdict {
        Verdict::Allow => format!("{}: it runs without a question\n", styled(GREEN, "allowed")),
        Verdict::Read => format!("{}: it only reads, so it runs\n", styled(GREEN, "allowed")),
        Verdict::Ask(reason) => format!("{}: {reason}\n", styled(YELLOW, "asked about")),
        Verdict::Deny(reason) => format!("{}: {reason}\n", styled(RED, "denied")),
    };
    let mut table = Table::new(&[("COMMAND", Align::Left), ("RULE", Align::Left)]);
    for seen in &explanation.commands {
        let indent = "  ".repeat(seen.depth);
        let command = one_line(&seen.command);
        let mut rules: Vec<String> = seen
            .rules
            .iter()
            .map(|met| {
                let perhaps = if met.perhaps { ", perhaps" } else { "" };
                format!("{} {}{perhaps}", met.list, one_line(&met.rule))
            })
            .collect();
        if rules.is_empty() {
            rules.push("none".to_owned());
        }
        table.row([format!("{indent}{command}").into(), rules.join("; ").into()]);
        if seen.runs_unknown {
            table.row([format!("{indent}  …").into(), "not known".into()]);
        }
    }
    if !explanation.commands.is_empty() {
        text.push('\n');
        text.push_str(&table.to_text_within(output::stdout_columns()));
    }
    let is_asked = matches!(explanation.verdict, Verdict::Ask(_));
    let covered =
        |seen: &SeenCommand| seen.depth > 0 || seen.rules.iter().any(|met| met.list == "allow");
    if is_asked && explanation.does_more && explanation.commands.iter().all(covered) {
        text.push_str(
            "\nRules cover its commands, but it also redirects, sets variables, or leaves a command in the background.\n",
        );
    }
    if let Some(why) = &explanation.uncertain {
        text.push_str(&format!("\nThere may be more commands: {}.\n", one_line(why)));
    }
    text
}
