//! `tine permission`: the questions that agents wait with, the answers, and the rules.

mod answer;
mod list;
mod rules;
mod why;

use serde::Serialize;
use tine_runtime::{PermissionRow, offers};

use crate::cli::PermissionCommand;
use crate::commands::listing;
use crate::context::Context;
use crate::fail::Failure;
use tine_tui::age::rfc3339;

/// The JSON shape of a request. Others rely on it: fields are only ever added.
#[derive(Serialize)]
struct PermissionJson<'a> {
    id: String,
    agent: String,
    root: String,
    tool: &'a str,
    what: &'a str,
    input: Option<serde_json::Value>,
    directory: &'a str,
    why: &'a str,
    warning: Option<&'a str>,
    rule: Option<&'a str>,
    /// Wider rules that an answer may cover instead.
    offers: Vec<String>,
    widest: &'static str,
    created_at: String,
    deadline_at: String,
    default: &'static str,
    state: &'static str,
    decision: Option<&'static str>,
    scope: Option<&'static str>,
    answered_by: Option<&'a str>,
    answered_at: Option<String>,
    reason: Option<&'a str>,
    /// Whether the one who asked has acted on the answer.
    used: bool,
}

impl<'a> PermissionJson<'a> {
    fn of(row: &'a PermissionRow) -> Self {
        Self {
            id: row.id.to_string(),
            agent: row.agent.to_string(),
            root: row.root.to_string(),
            tool: &row.tool,
            what: &row.what,
            input: serde_json::from_str(&row.input).ok(),
            directory: &row.directory,
            why: &row.why,
            warning: row.warning.as_deref(),
            rule: row.rule.as_deref(),
            offers: offers(row).into_iter().map(|offer| offer.rule).collect(),
            widest: row.widest.as_str(),
            created_at: rfc3339(row.created_ms),
            deadline_at: rfc3339(row.deadline_ms),
            default: row.fallback.as_str(),
            state: row.state.as_str(),
            decision: row.decision().map(|decision| decision.as_str()),
            scope: row.scope.map(|scope| scope.as_str()),
            answered_by: row.answered_by.as_deref(),
            answered_at: row.answered_ms.map(rfc3339),
            reason: row.reason.as_deref(),
            used: row.taken_ms.is_some(),
        }
    }
}

pub(crate) async fn permission(
    context: &Context,
    command: PermissionCommand,
) -> Result<u8, Failure> {
    match command {
        PermissionCommand::List(args) => list::list(context, args).await,
        PermissionCommand::Allow(args) => answer::allow(context, args).await,
        PermissionCommand::Deny(args) => answer::deny(context, args).await,
        PermissionCommand::Revoke(args) => answer::revoke(context, args).await,
        PermissionCommand::Rules(args) => rules::rules(context, args).await,
        PermissionCommand::Why(args) => why::why(context, &args),
    }
}

/// Makes states what they are now. A deadline is for the run that waits to see.
async fn bring_up_to_date(context: &Context) -> Result<i64, Failure> {
    listing::recover(context).await?;
    let now_ms = context.runtime.ports().clock.now_ms();
    Ok(now_ms)
}
