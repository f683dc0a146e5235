//! `tine pick`: several forks do the same task, each in a worktree of its own; the best work is taken.

mod choice;
mod shape;

use std::path::Path;

use tine_model::AgentId;
use tine_runtime::{Applied, BringSpec, Brought, Candidate, Check, Confinement, OnConflict, best};
use tokio_util::sync::CancellationToken;

use self::choice::{Choice, ask};
pub(super) use self::choice::{Names, table};
pub(super) use self::shape::PickJson;
use super::{bring, fan};
use crate::ask::Refusal;
use crate::ask::a_person_is_there;
use crate::cli::{FanArgs, PickArgs, WorkerArgs};
use crate::confine::of_checks;
use crate::context::Context;
use crate::durations::duration;
use crate::ending::completed;
use crate::fail::{FAILED, Failure, INTERRUPTED};
use crate::interrupt::interruptible;
use crate::output;
use crate::prompt::or_stdin;
use crate::render::worktree::unseen;
use tine_tui::words::one_line;

/// Whose work is to be taken.
enum Take {
    Best,
    Nobody,
    Of(AgentId),
    Ask,
}

pub(crate) async fn pick(context: &Context, mut args: PickArgs) -> Result<u8, Failure> {
    let is_told = args.agent.is_some() && args.directive.is_some();
    if !is_told && args.among.is_empty() {
        return Err(Failure::usage("nobody to pick from")
            .hint("give an agent and a task for its forks: tine pick AGENT -d TEXT")
            .hint("or name agents that have worked in worktrees: tine pick --among AGENT AGENT"));
    }
    args.directive = args.directive.map(or_stdin).transpose()?;
    let check = check(&args)?;
    let take = take(context, &args).await?;
    let json = args.spread.json;
    let Some(Worked { agents, confinement, refused }) = workers(context, args).await? else {
        return Ok(0);
    };
    if let Take::Of(agent) = take
        && !agents.contains(&agent)
    {
        return Err(Failure::usage(format!("{} is none of those to pick from", agent.short()))
            .hint("--take names one that --among names"));
    }
    let cancel = CancellationToken::new();
    let looking = look(context, &agents, check.as_ref(), (&confinement, &cancel));
    let candidates = interruptible(looking, &cancel, || {}).await??;
    if cancel.is_cancelled() {
        return Err(Failure::coded(INTERRUPTED, "interrupted; nothing was taken")
            .hint("`tine pick --among` looks at the same agents again"));
    }
    if !json {
        let names = names(context, &candidates).await?;
        output::write_out(&table(&candidates, &names, output::stdout_columns()))?;
    }
    let chosen = chosen(context, &candidates, take).await?;
    let taken = match chosen {
        Some(agent) => Some((agent, apply(context, agent).await?)),
        None => None,
    };
    if json {
        output::json(&PickJson::of(&candidates, taken.as_ref()))?;
    } else if let Some((agent, brought)) = &taken {
        bring::tell_applied(*agent, brought, false)?;
    }
    match (taken, best(&candidates)) {
        (Some((_, brought)), _) => {
            bring::in_conflict(&brought.came.conflicts, brought.came.outcome)?;
        }
        (None, Some(best)) => {
            if !json {
                advise(best);
            }
        }
        // Whether anybody passed must be plain to a script, whatever it wanted to take.
        (None, None) => {
            return Err(Failure::coded(FAILED, "no work is good, and nothing was taken").hint(
                "`tine diff AGENT` shows what one did; `tine apply AGENT` takes it all the same",
            ));
        }
    }
    completed(&refused, &[]).map_or(Ok(0), Err)
}

fn check(args: &PickArgs) -> Result<Option<Check>, Failure> {
    let Some(command) = args.check.clone() else { return Ok(None) };
    if command.trim().is_empty() {
        return Err(Failure::usage("--check is empty").hint("for example --check \"cargo test\""));
    }
    let time_max = duration(&args.check_timeout).ok_or_else(|| {
        Failure::usage(format!("--check-timeout cannot be `{}`", args.check_timeout))
            .hint("it is a number and a unit, such as 90s, 30m or 1h")
    })?;
    Ok(Some(Check { command, time_max }))
}

async fn take(context: &Context, args: &PickArgs) -> Result<Take, Failure> {
    Ok(match args.take.as_deref() {
        None if a_person_is_there() && !args.spread.json => Take::Ask,
        None | Some("none") => Take::Nobody,
        Some("best") => Take::Best,
        Some(_) if args.among.is_empty() => {
            return Err(Failure::usage("the forks do not exist yet: --take is `best` or `none`")
                .hint("with --among it may name one of the agents"));
        }
        Some(text) => Take::Of(context.agent(text).await?),
    })
}

/// Those to pick from, when they have done their work.
struct Worked {
    agents: Vec<AgentId>,
    /// Their confinement.
    confinement: Confinement,
    /// Calls that were refused because nobody could be asked.
    refused: Vec<Refusal>,
}

/// Lets the forks do their work; `None` where the user did not agree to the price.
async fn workers(context: &Context, args: PickArgs) -> Result<Option<Worked>, Failure> {
    let (Some(agent), Some(directive)) = (args.agent, args.directive) else {
        let mut agents = Vec::with_capacity(args.among.len());
        for text in &args.among {
            let agent = context.agent(text).await?;
            context.runtime.own_worktree(agent).await?;
            if !agents.contains(&agent) {
                agents.push(agent);
            }
        }
        let directory = Path::new(&context.directory);
        let confinement = of_checks(context, &args.spread.limits, directory)?;
        return Ok(Some(Worked { agents, confinement, refused: Vec::new() }));
    };
    let mut spread = args.spread;
    spread.place.worktree = true;
    let directives = vec![directive; usize::from(args.forks)];
    let worker = WorkerArgs::default();
    let fan = FanArgs { agent, directives, explain: false, keep_warm: false, worker, spread };
    let Some(fanned) = fan::run(context, fan).await? else { return Ok(None) };
    if fanned.cancel.is_cancelled() {
        return Err(Failure::coded(INTERRUPTED, "interrupted; nothing was taken")
            .hint("`tine worktree list` shows what the forks had done"));
    }
    let agents = fanned.report.tasks.iter().map(|task| task.agent).collect();
    let fan::Fanned { confinement, refused, .. } = fanned;
    Ok(Some(Worked { agents, confinement, refused }))
}

/// Looks at each, one after the other: checks that run at the same time would disturb each other.
async fn look(
    context: &Context,
    agents: &[AgentId],
    check: Option<&Check>,
    how: (&Confinement, &CancellationToken),
) -> Result<Vec<Candidate>, Failure> {
    let mut candidates = Vec::with_capacity(agents.len());
    for (index, agent) in agents.iter().enumerate() {
        if check.is_some() {
            output::say(&format!("checking {} of {}: {}", index + 1, agents.len(), agent.short()));
        }
        let candidate = context.runtime.candidate(*agent, check, how).await?;
        if let Some(left) = &candidate.left {
            warn_of_leavings(*agent, left);
        }
        let found = context.runtime.unseen(*agent).await.unwrap_or_default();
        for line in unseen(&found) {
            output::say(&format!("note: {}: {line}", agent.short()));
        }
        candidates.push(candidate);
    }
    Ok(candidates)
}

async fn names(context: &Context, candidates: &[Candidate]) -> Result<Names, Failure> {
    let mut names = Names::new();
    for candidate in candidates {
        let record = context.runtime.agent(candidate.agent).await?;
        names.extend(record.name.map(|name| (candidate.agent, one_line(&name))));
    }
    Ok(names)
}

fn warn_of_leavings(agent: AgentId, why: &str) {
    let short = agent.short();
    output::say(&format!(
        "warning: what the check left with {short} is still there: {}",
        one_line(why)
    ));
    output::say(&format!(
        "hint: what is taken here is without it; `tine apply {short}` takes it, too"
    ));
}

/// Whose work is taken, in the end.
async fn chosen(
    context: &Context,
    candidates: &[Candidate],
    take: Take,
) -> Result<Option<AgentId>, Failure> {
    match take {
        Take::Nobody => Ok(None),
        Take::Best => Ok(best(candidates).map(|best| best.agent)),
        Take::Of(agent) => Ok(Some(agent)),
        Take::Ask => loop {
            match ask(candidates)? {
                Choice::Take(agent) => return Ok(Some(agent)),
                Choice::Nobody => return Ok(None),
                Choice::Interrupt => {
                    return Err(Failure::coded(INTERRUPTED, "interrupted; nothing was taken")
                        .hint("`tine pick --among` looks at the same agents again"));
                }
                Choice::Show(agent) => {
                    let work = context.runtime.work_of(agent, Vec::new()).await?;
                    output::write_out(&super::diff::coloured(&String::from_utf8_lossy(
                        &work.patch,
                    )))?;
                }
            }
        },
    }
}

async fn apply(context: &Context, agent: AgentId) -> Result<Brought<Applied>, Failure> {
    // As it was before its check, which may have written files.
    let spec = BringSpec { agent, to: None, dry_run: false, as_held: true };
    Ok(context.runtime.apply_work(&spec, Vec::new(), OnConflict::Refuse).await?)
}

fn advise(best: &Candidate) {
    let short = best.agent.short();
    output::say(&format!(
        "nothing was taken; the best is {short}: `tine diff {short}`, `tine apply {short}`"
    ));
}
