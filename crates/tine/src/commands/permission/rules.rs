//! `tine permission rules`: what is in force here, and who said so.

use serde::Serialize;
use tine_model::AgentState;
use tine_runtime::{PermissionFilter, PermissionRow};

use super::{PermissionJson, bring_up_to_date};
use crate::cli::{LimitArgs, RulesArgs};
use crate::config::{RuleList, WrittenRule};
use crate::context::Context;
use crate::fail::Failure;
use crate::limits;
use crate::output;
use crate::render::table::{Align, Table};
use tine_tui::words::one_line;

/// The JSON shape of the rules. Others rely on it: fields are only ever added.
#[derive(Serialize)]
struct RulesJson<'a> {
    mode: &'static str,
    mode_from: Option<&'a str>,
    deadline_seconds: u64,
    default: &'static str,
    wait: bool,
    rules: Vec<RuleJson<'a>>,
    answers: Vec<PermissionJson<'a>>,
}

#[derive(Serialize)]
struct RuleJson<'a> {
    list: &'static str,
    rule: &'a str,
    file: String,
    line: usize,
}

pub(super) async fn rules(context: &Context, args: RulesArgs) -> Result<u8, Failure> {
    bring_up_to_date(context).await?;
    let config = &context.config;
    let given = LimitArgs::default();
    // Read as a run would read them, so that a mistake shows here too.
    limits::rules(config, &given)?;
    let mode = limits::mode(config, &given)?;
    let policy = limits::queue(config, &given)?;
    let of = |list| config.rules.iter().filter(move |rule: &&WrittenRule| rule.list == list);
    let written: Vec<&WrittenRule> = RuleList::ALL.into_iter().flat_map(of).collect();
    let answers = standing(context).await?;
    if args.json {
        let rules = written.iter().map(|rule| RuleJson {
            list: rule.list.as_str(),
            rule: &rule.text,
            file: rule.file.display().to_string(),
            line: rule.line,
        });
        output::json(&RulesJson {
            mode: mode.as_str(),
            mode_from: config.permission_mode.as_ref().map(|setting| setting.origin.as_str()),
            deadline_seconds: policy.deadline.as_secs(),
            default: policy.fallback.as_str(),
            wait: policy.wait,
            rules: rules.collect(),
            answers: answers.iter().map(PermissionJson::of).collect(),
        })?;
        return Ok(0);
    }
    let from = config.permission_mode.as_ref().map(|set| format!(", from {}", set.origin));
    let mut text = format!("mode {}{}\n", mode.as_str(), from.unwrap_or_default());
    if !written.is_empty() {
        text.push('\n');
        text.push_str(&rule_table(&written).to_text_within(output::stdout_columns()));
    }
    if !answers.is_empty() {
        text.push('\n');
        text.push_str(&answer_table(&answers).to_text_within(output::stdout_columns()));
    }
    output::write_out(&text)?;
    Ok(0)
}

/// Answers beyond one call, of trees that somebody lives in.
async fn standing(context: &Context) -> Result<Vec<PermissionRow>, Failure> {
    let runtime = &context.runtime;
    let mut rows = Vec::new();
    for row in runtime.request_rows(None, PermissionFilter::Standing).await? {
        if runtime.agent(row.root).await?.state != AgentState::Dead {
            rows.push(row);
        }
    }
    Ok(rows)
}

fn rule_table(rules: &[&WrittenRule]) -> Table {
    let mut table =
        Table::new(&[("LIST", Align::Left), ("RULE", Align::Left), ("FROM", Align::Left)]);
    for rule in rules {
        table.row([
            rule.list.as_str().into(),
            one_line(&rule.text).into(),
            format!("{}:{}", rule.file.display(), rule.line).into(),
        ]);
    }
    table
}

fn answer_table(rows: &[PermissionRow]) -> Table {
    let mut table = Table::new(&[
        ("ANSWER", Align::Left),
        ("FOR", Align::Left),
        ("OF", Align::Left),
        ("COVERS", Align::Left),
        ("ID", Align::Left),
    ]);
    for row in rows {
        let covers = row.rule.as_ref().unwrap_or(&row.what);
        let scope = row.scope.map_or("", |scope| scope.as_str());
        let of = if scope == "agent" { row.agent } else { row.root };
        table.row([
            row.state.as_str().into(),
            scope.into(),
            of.short().into(),
            one_line(covers).into(),
            row.id.short().into(),
        ]);
    }
    table
}
