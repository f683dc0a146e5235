//! `tine task start` and `tine task resume`.

use std::path::Path;

use tine_model::{AgentId, AgentRecord};
use tine_runtime::{ForkSpec, Inherit, Placement, Resumed, Spawn, TaskView};

use super::background::{self, Begun};
use super::named;
use super::work::Work;
use crate::borrow;
use crate::budget;
use crate::cli::{ResumeTaskArgs, StartTaskArgs, WorkArgs};
use crate::cluster::elsewhere;
use crate::commands::listing;
use crate::confine::{of_agent, of_workers, tell_widened};
use crate::context::Context;
use crate::crew::worker_of;
use crate::fail::Failure;
use crate::prompt::is_stdin;
use crate::render::json::OpenCallShape;
use crate::render::worktree::{say_submodules, say_under_way};

/// Why a fork cannot be resumed in the same breath.
const FORK_AND_RESUME: &str = "--fork and --resume exclude each other: a fork is a new worker that starts from the agent's \
conversation, and a resumed task goes on with what its own worker knows; nothing was started";

pub(super) async fn start(context: &Context, mut args: StartTaskArgs) -> Result<u8, Failure> {
    if args.fork && args.resume.is_some() {
        return Err(Failure::usage(FORK_AND_RESUME).hint("leave one of them out"));
    }
    let is_piped = is_stdin(&args.prompt);
    args.prompt = background::prompt(context, args.prompt)?;
    check_prompt(&args.prompt)?;
    if context.detached.is_none() && args.place.placement() != Placement::Shared {
        let (spawner, _) = context.agent_at(&args.spawner).await?;
        say_under_way(context.runtime.under_way(spawner).await?);
        say_submodules(&context.runtime.submodules_left(spawner).await?);
    }
    if goes_to_background(context, &args.how) {
        match &args.resume {
            Some(task) => tell_of_reach(context, task, &args.how).await?,
            None => {
                let record = agent_of(context, &args.spawner).await?;
                borrow::reach(context, &record, &record.settings.model).await?;
                let place = args.place.placement();
                let wish = of_workers(context, &args.how.limits, (&record, &place))?.reach;
                tell_widened(&wish, (&record.reach, "the worker"));
            }
        }
        let stdin = is_piped.then_some(args.prompt.as_str());
        return background::go(context, stdin, args.how.json).await;
    }
    listing::recover(context).await?;
    let (spawner, at) = context.agent_at(&args.spawner).await?;
    if let Some(task) = &args.resume {
        let view = named(context, task).await?;
        if view.task.spawner != spawner {
            let (task, spawner) = (view.task.agent.short(), spawner.short());
            return Err(Failure::input(format!("{task} is not a task of {spawner}"))
                .hint(format!("`tine task list {spawner}` lists them")));
        }
        return go_on(context, (&view, args.prompt), &args.how).await;
    }
    let record = context.runtime.agent(spawner).await?;
    borrow::reach(context, &record, &record.settings.model).await?;
    let place = args.place.placement();
    let confinement = of_workers(context, &args.how.limits, (&record, &place))?;
    tell_widened(&confinement.reach, (&record.reach, "the worker"));
    let reach = confinement.reach.clone();
    let mut work = Work::new(context, &args.how, (confinement, Path::new(&record.directory)))?;
    // Of the workers that models start, the settings and options say it; of this one, a person may.
    work.options.crew.confinement.reach = reach;
    work.options.elsewhere = elsewhere(context, args.place.on.as_ref()).await?;
    let usual = if args.fork { Inherit::Full } else { Inherit::Fresh };
    let fork = worker_of(spawner, &args.worker, usual, &work.options.crew.definitions)?;
    let spawn = Spawn {
        fork: ForkSpec { at, name: args.name, place, ..fork },
        prompt: args.prompt,
        description: args.description,
        limits: work.options.crew.limits,
    };
    budget::change(context, spawner, args.how.limits.tree.changes()).await?;
    let running = match spawn.fork.inherit {
        Inherit::Fresh => Vec::new(),
        _ => context.runtime.running_calls(&record, at).await?,
    };
    let task = context.runtime.start_task(spawn, &work.options).await?;
    let begun = Begun::started(context, task, spawner, OpenCallShape::all(&running)).await?;
    work.stay(task, &begun).await
}

pub(super) async fn resume(context: &Context, mut args: ResumeTaskArgs) -> Result<u8, Failure> {
    let is_piped = is_stdin(&args.prompt);
    args.prompt = background::prompt(context, args.prompt)?;
    check_prompt(&args.prompt)?;
    if goes_to_background(context, &args.how) {
        tell_of_reach(context, &args.task, &args.how).await?;
        let stdin = is_piped.then_some(args.prompt.as_str());
        return background::go(context, stdin, args.how.json).await;
    }
    let view = named(context, &args.task).await?;
    go_on(context, (&view, args.prompt), &args.how).await
}

/// Returns true where the work is done by a process of its own: not in one that is it, or where a person has asked to wait or sees
/// the worker on the screen.
fn goes_to_background(context: &Context, how: &WorkArgs) -> bool {
    !how.wait && context.detached.is_none() && context.terminal.is_none()
}

/// Lets a task's worker go on, here; where it runs elsewhere, it is told when it is done.
async fn go_on(
    context: &Context,
    (view, prompt): (&TaskView, String),
    how: &WorkArgs,
) -> Result<u8, Failure> {
    let (task, spawner): (AgentId, AgentId) = (view.task.agent, view.task.spawner);
    let record = context.runtime.agent(task).await?;
    let confinement = of_agent(context, &how.limits, &record)?;
    tell_widened(&confinement.reach, (&record.reach, &task.short()));
    let work = Work::new(context, how, (confinement, Path::new(&record.directory)))?;
    let prompt = context.words(prompt);
    let resumed = context.runtime.resume_task(task, prompt, (&work.options, task)).await?;
    let begun = Begun::resumed(context, (task, spawner), resumed).await?;
    match resumed {
        Resumed::Started => work.stay(task, &begun).await,
        Resumed::Queued => {
            // The first process reads JSON, whatever it prints.
            begun.tell(how.json || context.detached.is_some())?;
            Ok(0)
        }
    }
}

async fn agent_of(context: &Context, text: &str) -> Result<AgentRecord, Failure> {
    let (agent, _) = context.agent_at(text).await?;
    Ok(context.runtime.agent(agent).await?)
}

/// Tells whoever resumes a task in the background of what is widened there.
async fn tell_of_reach(context: &Context, task: &str, how: &WorkArgs) -> Result<(), Failure> {
    let record = agent_of(context, task).await?;
    let wish = of_agent(context, &how.limits, &record)?.reach;
    tell_widened(&wish, (&record.reach, &record.id.short()));
    Ok(())
}

fn check_prompt(prompt: &str) -> Result<(), Failure> {
    if prompt.trim().is_empty() {
        Err(Failure::usage("the prompt is empty").hint("say what the worker is to do"))
    } else {
        Ok(())
    }
}
