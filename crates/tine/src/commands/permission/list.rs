//! `tine permission list`: who asks for what, where, why, how long it waits, and what happens then.

use tine_model::{AgentRecord, AgentState, Decision, PermissionScope, PermissionState};
use tine_runtime::{PermissionFilter, PermissionRow, offers};

use super::{PermissionJson, bring_up_to_date};
use crate::cli::ListPermissionsArgs;
use crate::commands::listing;
use crate::context::Context;
use crate::fail::Failure;
use crate::output;
use crate::render::question::{self, question};
use crate::render::record::Shown;
use tine_tui::age::age;
use tine_tui::words::{DIM, YELLOW, one_line, styled};

pub(super) async fn list(context: &Context, args: ListPermissionsArgs) -> Result<u8, Failure> {
    let now_ms = bring_up_to_date(context).await?;
    let runtime = &context.runtime;
    let tree = match &args.tree {
        None => None,
        Some(text) => Some(context.agent(text).await?),
    };
    let filter = if args.all { PermissionFilter::All } else { PermissionFilter::Pending };
    let rows = runtime.request_rows(tree, filter).await?;
    if args.json {
        output::json(&rows.iter().map(PermissionJson::of).collect::<Vec<_>>())?;
        return Ok(0);
    }
    if rows.is_empty() {
        output::say("no agent asks for permission");
        return Ok(0);
    }
    let mut blocks = Vec::with_capacity(rows.len());
    for row in &rows {
        let shown = listing::shown(context, runtime.agent(row.agent).await?).await?;
        blocks.push(block(row, &shown, now_ms));
    }
    output::write_out(&blocks.join("\n"))?;
    Ok(0)
}

/// A request on some lines, the last one ended.
fn block(row: &PermissionRow, shown: &Shown, now_ms: i64) -> String {
    let label = shown.record.name.as_deref();
    let label = label.or_else(|| shown.task.as_ref().map(|task| task.directive.as_str()));
    let asked = question::Shown::of(row, label);
    let columns = output::stdout_columns().unwrap_or(usize::MAX);
    let (mut text, _) = question(&styled(YELLOW, &row.id.short()), &asked, columns);
    let mut line = |words: &str| text.push_str(&format!("\n  {}", styled(DIM, words)));
    match row.state {
        PermissionState::Pending => {
            line(&waits(row, now_ms));
            line(&reach(row));
            if let Some(words) = without_run(&shown.record) {
                line(&words);
            }
        }
        PermissionState::Allowed
        | PermissionState::Denied
        | PermissionState::Expired
        | PermissionState::Withdrawn => line(&settled(row, now_ms)),
    }
    text.push('\n');
    text
}

fn waits(row: &PermissionRow, now_ms: i64) -> String {
    let then = match row.fallback {
        Decision::Allow => "allowed",
        Decision::Deny => "denied",
    };
    format!("waits {} more, then it is {then}", age(row.deadline_ms, now_ms))
}

/// What an answer beyond this call covers, and how far a yes may go.
fn reach(row: &PermissionRow) -> String {
    let covers = match &row.rule {
        Some(rule) => format!("rule `{}`", one_line(rule)),
        None => "no rule says this; beyond once it covers these arguments alone".to_owned(),
    };
    let wider = offers(row).into_iter().map(|offer| format!(" or `{}`", one_line(&offer.rule)));
    format!("{covers}{} · a yes reaches: {}", wider.collect::<String>(), up_to(row.widest))
}

fn up_to(widest: PermissionScope) -> String {
    let within = PermissionScope::ALL.iter().filter(|scope| scope.is_within(widest));
    within.map(|scope| scope.as_str()).collect::<Vec<_>>().join(", ")
}

/// What becomes of an answer where nobody waits for it.
fn without_run(record: &AgentRecord) -> Option<String> {
    match record.state {
        AgentState::Running => None,
        AgentState::Idle | AgentState::Interrupted | AgentState::Dead => Some(format!(
            "its run was cut off; `tine run --resume {}` goes on with the answer",
            record.id.short()
        )),
    }
}

fn settled(row: &PermissionRow, now_ms: i64) -> String {
    let ago = age(now_ms, row.answered_ms.unwrap_or(row.created_ms));
    let scope = match row.scope {
        None | Some(PermissionScope::Once) => String::new(),
        Some(scope) => format!(" ({})", scope.as_str()),
    };
    let by = row.answered_by.as_deref().map(one_line);
    if row.state == PermissionState::Expired {
        let why = by.unwrap_or_else(|| "nobody answered in time".to_owned());
        return format!("{why}, so the default counted {ago} ago: {}", row.fallback.as_str());
    }
    let by = by.map(|by| format!(" by {by}")).unwrap_or_default();
    format!("{}{scope}{by} {ago} ago", row.state.as_str())
}
