//! `tine permission allow`, `deny` and `revoke`.

use tine_model::{PermissionId, PermissionScope};
use tine_runtime::{Answer, PermissionRow, REASON_BYTES_MAX};

use super::{PermissionJson, bring_up_to_date};
use crate::cli::{AllowArgs, DenyArgs, RevokeArgs, ScopeArg};
use crate::context::Context;
use crate::fail::Failure;
use crate::inside::only_a_person;
use crate::output;
use crate::prompt::fill_from_stdin;
use tine_tui::words::one_line;

/// Whose word it is, for those who ask later.
const BY: &str = "tine permission";

impl From<ScopeArg> for PermissionScope {
    fn from(scope: ScopeArg) -> Self {
        match scope {
            ScopeArg::Once => Self::Once,
            ScopeArg::Agent => Self::Agent,
            ScopeArg::Tree => Self::Tree,
            ScopeArg::Always => Self::Always,
        }
    }
}

/// An agent that could answer would allow itself whatever it asked for.
fn check_answers() -> Result<(), Failure> {
    only_a_person("answers no question", "a person answers in a terminal")
}

pub(super) async fn allow(context: &Context, args: AllowArgs) -> Result<u8, Failure> {
    check_answers()?;
    let answer = match args.rule {
        Some(rule) => Answer::AllowRule(args.scope.into(), rule),
        None => Answer::Allow(args.scope.into()),
    };
    answer_all(context, (answer, "allowed"), &args.requests, args.json).await
}

pub(super) async fn deny(context: &Context, mut args: DenyArgs) -> Result<u8, Failure> {
    check_answers()?;
    fill_from_stdin(&mut args.reason)?;
    let reason = args.reason.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    if reason.as_ref().is_some_and(|text| text.len() > REASON_BYTES_MAX) {
        return Err(Failure::input(format!("the reason is longer than {REASON_BYTES_MAX} bytes"))
            .hint("`tine send AGENT TEXT` takes longer ones"));
    }
    let answer = match reason {
        Some(reason) => Answer::DenyBecause(args.scope.into(), reason),
        None => Answer::Deny(args.scope.into()),
    };
    answer_all(context, (answer, "denied"), &args.requests, args.json).await
}

pub(super) async fn revoke(context: &Context, args: RevokeArgs) -> Result<u8, Failure> {
    check_answers()?;
    bring_up_to_date(context).await?;
    let mut rows = Vec::new();
    for id in resolved(context, &args.requests).await? {
        rows.push(context.runtime.revoke_answer(id).await?);
    }
    let told = |row: &PermissionRow| format!("took back {} {}", row.id.short(), row.what);
    print(&rows, args.json, told)?;
    Ok(0)
}

/// All names are read before anything is answered: a mistake in the last one must not come after the first.
async fn resolved(context: &Context, texts: &[String]) -> Result<Vec<PermissionId>, Failure> {
    let mut ids = Vec::with_capacity(texts.len());
    for text in texts {
        let id = context.runtime.resolve_request(text).await?;
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    Ok(ids)
}

/// Answers what can be answered; the last failure is the command's.
async fn answer_all(
    context: &Context,
    (answer, verb): (Answer, &str),
    requests: &[String],
    json: bool,
) -> Result<u8, Failure> {
    bring_up_to_date(context).await?;
    let (mut rows, mut failures) = (Vec::new(), Vec::new());
    for id in resolved(context, requests).await? {
        match context.runtime.answer_request(id, answer.clone(), BY).await {
            Ok(answered) => {
                rows.push(answered.row);
                match answered.kept {
                    Some(Ok(told)) => output::say(&told),
                    Some(Err(not_kept)) => failures.push(Failure::from(not_kept)),
                    None => {}
                }
            }
            Err(error) => failures.push(error.into()),
        }
    }
    let told =
        |row: &PermissionRow| format!("{verb} {} {}{}", row.id.short(), row.what, covers(row));
    print(&rows, json, told)?;
    let last = failures.pop();
    failures.iter().for_each(Failure::print);
    last.map_or(Ok(0), Err)
}

/// The words for what an answer beyond one call covers.
fn covers(row: &PermissionRow) -> String {
    match (row.scope, &row.rule) {
        (None | Some(PermissionScope::Once), _) => String::new(),
        (Some(scope), Some(rule)) => format!(" ({}: `{}`)", scope.as_str(), one_line(rule)),
        (Some(scope), None) => format!(" ({}: these arguments)", scope.as_str()),
    }
}

fn print(
    rows: &[PermissionRow],
    json: bool,
    told: impl Fn(&PermissionRow) -> String,
) -> Result<(), Failure> {
    if json {
        return output::json(&rows.iter().map(PermissionJson::of).collect::<Vec<_>>());
    }
    rows.iter().try_for_each(|row| output::line(&told(row)))
}
