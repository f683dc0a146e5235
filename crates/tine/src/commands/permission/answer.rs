//! `tine permission allow`, `deny` and `revoke`.

use tine_model::{Decision, PermissionId, PermissionScope};
use tine_runtime::REASON_BYTES_MAX;
use tine_store::{AnswerPermission, PermissionRow};

use super::{PermissionJson, bring_up_to_date, offers};
use crate::cli::{AllowArgs, DenyArgs, RevokeArgs, ScopeArg};
use crate::context::Context;
use crate::fail::Failure;
use crate::inside::only_a_person;
use crate::keep_rule::keep_rule;
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
    if args.rule.is_some() && args.scope == ScopeArg::Once {
        return Err(Failure::input("an answer to one call covers no rule")
            .hint("add --scope agent, --scope tree or --scope always"));
    }
    let (decision, scope) = (Decision::Allow, args.scope.into());
    let word = Word { decision, scope, rule: args.rule, reason: None };
    word.to_all(context, &args.requests, args.json).await
}

pub(super) async fn deny(context: &Context, mut args: DenyArgs) -> Result<u8, Failure> {
    check_answers()?;
    fill_from_stdin(&mut args.reason)?;
    let reason = args.reason.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    if reason.as_ref().is_some_and(|text| text.len() > REASON_BYTES_MAX) {
        return Err(Failure::input(format!("the reason is longer than {REASON_BYTES_MAX} bytes"))
            .hint("`tine send AGENT TEXT` takes longer ones"));
    }
    let word = Word { decision: Decision::Deny, scope: args.scope.into(), rule: None, reason };
    word.to_all(context, &args.requests, args.json).await
}

pub(super) async fn revoke(context: &Context, args: RevokeArgs) -> Result<u8, Failure> {
    check_answers()?;
    let now_ms = bring_up_to_date(context).await?;
    let mut rows = Vec::new();
    for id in resolved(context, &args.requests).await? {
        rows.push(context.runtime.store().revoke_permission(id, now_ms).await?);
    }
    let told = |row: &PermissionRow| format!("took back {} {}", row.id.short(), row.what);
    print(&rows, args.json, told)?;
    Ok(0)
}

/// All names are read before anything is answered: a mistake in the last one must not come after the first.
async fn resolved(context: &Context, texts: &[String]) -> Result<Vec<PermissionId>, Failure> {
    let mut ids = Vec::with_capacity(texts.len());
    for text in texts {
        let id = context.runtime.store().resolve_permission(text).await?;
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    Ok(ids)
}

/// What is said to each of the requests.
struct Word {
    decision: Decision,
    scope: PermissionScope,
    rule: Option<String>,
    reason: Option<String>,
}

impl Word {
    /// Answers what can be answered; the last failure is the command's.
    async fn to_all(
        &self,
        context: &Context,
        requests: &[String],
        json: bool,
    ) -> Result<u8, Failure> {
        bring_up_to_date(context).await?;
        let (mut rows, mut failures) = (Vec::new(), Vec::new());
        for id in resolved(context, requests).await? {
            match self.to_one(context, id).await {
                Ok((row, kept)) => {
                    rows.push(row);
                    failures.extend(kept);
                }
                Err(failure) => failures.push(failure),
            }
        }
        print(&rows, json, |row| self.told(row))?;
        let last = failures.pop();
        failures.iter().for_each(Failure::print);
        last.map_or(Ok(0), Err)
    }

    /// The answered request, and why its rule could not be kept.
    async fn to_one(
        &self,
        context: &Context,
        id: PermissionId,
    ) -> Result<(PermissionRow, Option<Failure>), Failure> {
        let rule = match &self.rule {
            None => None,
            Some(rule) => Some(offered(&context.runtime.store().permission(id).await?, rule)?),
        };
        let answer = AnswerPermission {
            id,
            decision: self.decision,
            scope: self.scope,
            rule,
            by: BY.to_owned(),
            reason: self.reason.clone(),
            now_ms: context.runtime.ports().clock.now_ms(),
        };
        let row = context.runtime.store().answer_permission(answer).await?;
        let (PermissionScope::Always, Some(rule)) = (self.scope, &row.rule) else {
            return Ok((row, None));
        };
        let failure = match keep_rule(&context.config.user_file, self.decision, rule) {
            Ok(kept) => {
                output::say(&kept.told());
                None
            }
            Err(failure) => Some(failure.hint("the answer itself stands, for this tree")),
        };
        Ok((row, failure))
    }

    fn told(&self, row: &PermissionRow) -> String {
        let verb = match self.decision {
            Decision::Allow => "allowed",
            Decision::Deny => "denied",
        };
        let covers = match (self.scope, &row.rule) {
            (PermissionScope::Once, _) => String::new(),
            (scope, Some(rule)) => format!(" ({}: `{}`)", scope.as_str(), one_line(rule)),
            (scope, None) => format!(" ({}: these arguments)", scope.as_str()),
        };
        format!("{verb} {} {}{covers}", row.id.short(), row.what)
    }
}

/// The rule of this request that a person names, as it counts everywhere.
fn offered(row: &PermissionRow, named: &str) -> Result<String, Failure> {
    let offers = offers(row);
    match offers.iter().find(|offer| offer.rule == named || offer.short == named) {
        Some(offer) => Ok(offer.rule.clone()),
        None => {
            let id = row.id.short();
            let failure = Failure::input(format!("`{}` is not offered for {id}", one_line(named)));
            Err(match offers.first() {
                Some(offer) => failure.hint(format!("`{}` is", one_line(&offer.rule))),
                None => failure.hint("no wider rule is; leave --rule out"),
            })
        }
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
