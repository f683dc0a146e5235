//! `tine run`: talk to an agent: a new one, the last one of this directory, or any.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use tine_model::{AgentId, AgentRecord, AgentState, Standing};
use tine_runtime::{AgentFilter, ForkSpec, NewRoot, parse_fork};

use crate::budget;
use crate::caching::{Before, go_ahead};
use crate::cli::{EstimateArgs, LimitArgs, ModelArgs, OutputArgs, RunArgs};
use crate::commands::fork::{print, say_confined, to_price};
use crate::confine::{of_agent, of_root, tell_widened};
use crate::context::Context;
use crate::fail::Failure;
use crate::memory;
use crate::output;
use crate::prompt::{Prompt, fill_from_stdin};
use crate::talk::Talk;

pub(crate) async fn run(context: &Context, mut args: RunArgs) -> Result<u8, Failure> {
    let existing = existing(context, &args).await?;
    if existing.is_some() {
        refuse_model(&args.model)?;
    }
    fill_from_stdin(&mut args.model.system)?;
    let prompt = Prompt::read(args.prompt)?;
    refuse_unknown_command(&prompt)?;
    let talk = Talk::new(context, &args.limits, &args.output, prompt.stdin_is_free)?;
    if let Some(agent) = existing {
        budget::change(context, agent, args.limits.tree.changes()).await?;
    }
    if let Some(arguments) = prompt.slash("fork") {
        let how = (&args.limits, &args.output);
        return slash_fork(context, talk, existing, (&prompt, arguments), how).await;
    }
    let to_send = prompt.to_send();
    if let Some(agent) = existing {
        let record = context.runtime.agent(agent).await?;
        let model = &record.settings.model;
        let is_guest = record.standing == Standing::Guest;
        // Only a fork of a guest may need a person's word.
        if !is_guest && context.runtime.guest_above(&record, model).await?.is_some() {
            talk.reach(&record, model).await?;
        }
        let ran = talk.run(agent, None, to_send).await;
        memory::after_turn(context, agent).await;
        return ran;
    }
    if to_send.is_none() {
        return Err(Failure::usage("there is no prompt")
            .hint("`tine run \"PROMPT\"`, or pipe it: `tine run < prompt.txt`")
            .hint("`tine run --continue` goes on with the last agent of this directory"));
    }
    let caps = budget::of_new_tree(&context.config, args.limits.tree.changes())?;
    let reach = of_root(context, &args.limits)?;
    let new = NewRoot { reach, ..context.new_root(&args.model, args.name)? };
    talk.connect(&new.settings.model).await?;
    let agent = context.runtime.create_root(new).await?;
    budget::begin(context, agent, caps).await?;
    let ran = talk.run(agent, None, to_send).await;
    memory::after_turn(context, agent).await;
    ran
}

/// Refuses a slash command that only the terminal has, or nobody: a model must not be paid for it.
fn refuse_unknown_command(prompt: &Prompt) -> Result<(), Failure> {
    match prompt.slash_command() {
        None | Some("/fork") => Ok(()),
        Some(command) => Err(Failure::usage(format!("`tine run` has no command {command}"))
            .hint("the only one here is /fork; the others are for the terminal, `tine` alone")
            .hint(format!("to send it as words, begin with a blank: `tine run \" {command} …\"`"))),
    }
}

/// The agent to go on with; `None` for a new one.
async fn existing(context: &Context, args: &RunArgs) -> Result<Option<AgentId>, Failure> {
    if let Some(text) = &args.resume {
        return context.agent(text).await.map(Some);
    }
    if !args.continue_last {
        return Ok(None);
    }
    last_in(context, Worktrees::Left).await.map(Some)
}

/// Whether forks in worktrees of their own count as of the directory that they were forked in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Worktrees {
    /// A person goes on with the conversation where they were.
    Counted,
    /// A script goes on working where it is.
    Left,
}

/// The agent that was last used in the directory that the command works in.
pub(super) async fn last_in(context: &Context, worktrees: Worktrees) -> Result<AgentId, Failure> {
    let agents = context.runtime.agents(AgentFilter::All).await?;
    let directory = context.directory.to_string_lossy();
    let mut here = of_directory(&agents, &directory, worktrees);
    // A worktree that was removed is no place to go on in.
    here.retain(|agent| agent.directory == directory || Path::new(&agent.directory).is_dir());
    let last = last_used(&agents, &here).ok_or_else(|| {
        Failure::input("no agent has worked in this directory yet")
            .hint("`tine run \"PROMPT\"` starts one; `tine ps` lists those of all directories")
    })?;
    Ok(last.id)
}

/// The agents that a person talks to in a directory.
fn of_directory<'a>(
    agents: &'a [AgentRecord],
    directory: &str,
    worktrees: Worktrees,
) -> Vec<&'a AgentRecord> {
    // Parents come before their children.
    let mut here: HashSet<AgentId> = HashSet::new();
    for agent in agents {
        let is_forked_here = agent.parent.is_some_and(|parent| here.contains(&parent));
        if agent.directory == directory || is_forked_here && worktrees == Worktrees::Counted {
            here.insert(agent.id);
        }
    }
    let is_a_persons = |agent: &&AgentRecord| {
        here.contains(&agent.id) && matches!(agent.standing, Standing::Root | Standing::Peer)
    };
    agents.iter().filter(is_a_persons).collect()
}

/// The last used of some agents. Where that one was killed, it is the nearest above it that lives, and else the last of the living.
fn last_used<'a>(agents: &'a [AgentRecord], here: &[&'a AgentRecord]) -> Option<&'a AgentRecord> {
    let is_here = |agent: &&AgentRecord| here.iter().any(|known| known.id == agent.id);
    let lives = |agent: &&AgentRecord| agent.state != AgentState::Dead;
    let by_id: HashMap<AgentId, &AgentRecord> =
        agents.iter().map(|agent| (agent.id, agent)).collect();
    let parent = |agent: &&'a AgentRecord| by_id.get(&agent.parent?).copied();
    let focus = here.iter().copied().max_by_key(|agent| agent.updated_ms);
    let above = std::iter::successors(focus, parent).find(|agent| lives(agent) && is_here(agent));
    above.or_else(|| here.iter().copied().filter(lives).max_by_key(|agent| agent.updated_ms))
}

/// An agent keeps its model for life: the provider's cache knows its conversation under that model and no other.
pub(super) fn refuse_model(model: &ModelArgs) -> Result<(), Failure> {
    let given = [
        ("--model", model.model.is_some()),
        ("--system", model.system.is_some()),
        ("--max-output-tokens", model.max_output_tokens.is_some()),
        ("--effort", model.effort.is_some()),
        ("--thinking", model.thinking.is_some()),
    ];
    match given.iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((option, _)) => Err(Failure::usage(format!(
            "{option} is for new agents; an agent keeps what it began with"
        ))
        .hint("leave it out, or start a new agent without --continue and --resume")
        .hint(
            "`tine fork AGENT --model NAME`, or /model NAME in the terminal, goes on with another",
        )),
    }
}

/// `/fork` and `/fork "prompt"`: the fork takes the agent's place in this conversation. A user's mistake changes nothing and is no
/// failure of the command.
async fn slash_fork(
    context: &Context,
    talk: Talk<'_>,
    existing: Option<AgentId>,
    (prompt, arguments): (&Prompt, &str),
    (limits, printed): (&LimitArgs, &OutputArgs),
) -> Result<u8, Failure> {
    let parent = existing.ok_or_else(|| {
        Failure::usage("a new agent has nothing to fork")
            .hint("name the agent with --resume AGENT, or take the last one with --continue")
    })?;
    let words = match parse_fork(arguments) {
        Ok(words) => words,
        Err(error) => {
            output::say(&format!("Error: {error}"));
            return Ok(0);
        }
    };
    if words.background {
        return Err(Failure::usage("--bg is for the terminal")
            .hint("`tine task start --fork AGENT -d TEXT` works in the background"));
    }
    let record = context.runtime.agent(parent).await?;
    let reach = of_agent(context, limits, &record)?.reach;
    tell_widened(&reach, (&record.reach, "the fork"));
    let fork = words.fork_of(parent);
    let to_send = prompt.with(words.prompt);
    if let Some(told) = &to_send {
        // No price is asked for here, so that a fork whose price nobody agrees to is an error and not an answer.
        let args = &EstimateArgs::default();
        let spec = to_price(parent, fork.at, told, args);
        go_ahead(context, Before { spec, args, json: false }).await?;
        let model = fork.model.as_ref().map_or(&record.settings.model, |words| &words.model);
        talk.reach(&record, model).await?;
    }
    let made = context.runtime.fork(ForkSpec { reach, ..fork }).await?;
    if !printed.quiet {
        output::say(&format!("Forked from {parent}"));
        say_confined(&made);
    }
    match to_send {
        Some(_) => talk.run(made.child, Some(&made), to_send).await,
        None => print(&made, printed),
    }
}
