//! Completion of values in a shell: agents, models, providers and modes are looked up when Tab is pressed.

use std::ffi::OsStr;

use clap::Arg;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use tine_cache::Models;
use tine_guard::PermissionMode;
use tine_model::AgentRecord;
use tine_runtime::{AgentFilter, Runtime};

use crate::cli;
use crate::connect::ports_without_settings;
use crate::credentials::{PROVIDERS, account_name};
use crate::dirs::Dirs;
use crate::environment::variable;

/// The variable by which a shell asks, with its own name as the value.
pub(crate) const VARIABLE: &str = "TINE_COMPLETE";

/// Most agents that are offered, the last used first: more than a screen of them helps nobody.
const AGENTS_MAX: usize = 50;

/// Arguments that are agents, by the names that they have in the code.
const OF_AGENTS: [&str; 5] = ["agent", "agents", "spawner", "task", "resume"];

/// Scenarios of the simulator that are offered as models.
const SIMULATED: [&str; 2] = ["sim/echo", "sim/tour"];

/// The command line with what can stand in the place of each argument.
pub(crate) fn command() -> clap::Command {
    with_all_values(cli::command())
}

fn with_all_values(command: clap::Command) -> clap::Command {
    command.mut_args(with_values).mut_subcommands(with_all_values)
}

/// Gives an argument what can stand there.
fn with_values(argument: Arg) -> Arg {
    let id = argument.get_id().as_str();
    if OF_AGENTS.contains(&id) {
        argument.add(ArgValueCompleter::new(agents))
    } else if id == "model" {
        argument.add(ArgValueCompleter::new(models))
    } else if id == "permission_mode" {
        argument.add(ArgValueCompleter::new(modes))
    } else if id == "provider" {
        argument.add(ArgValueCompleter::new(providers))
    } else {
        argument
    }
}

fn modes(begun: &OsStr) -> Vec<CompletionCandidate> {
    beginning(PermissionMode::ALL.map(PermissionMode::as_str), begun)
}

fn providers(begun: &OsStr) -> Vec<CompletionCandidate> {
    beginning(PROVIDERS.map(account_name), begun)
}

fn beginning<const N: usize>(words: [&'static str; N], begun: &OsStr) -> Vec<CompletionCandidate> {
    let begun = begun.to_string_lossy();
    let all = words.into_iter().filter(|word| word.starts_with(&*begun));
    all.map(CompletionCandidate::new).collect()
}

/// The names and ids that begin so; nothing where the store cannot be read.
fn agents(begun: &OsStr) -> Vec<CompletionCandidate> {
    let begun = begun.to_string_lossy();
    let mut agents = listed().unwrap_or_default();
    agents.sort_by_key(|agent| std::cmp::Reverse(agent.updated_ms));
    let all = agents.into_iter().filter_map(|agent| {
        let id = agent.id.short();
        let word = match agent.name {
            Some(name) if name.starts_with(&*begun) => name,
            _ if id.starts_with(&*begun) => id,
            _ => return None,
        };
        let title = agent.title.unwrap_or_default();
        Some(CompletionCandidate::new(word).help((!title.is_empty()).then(|| title.into())))
    });
    // Shells sort by word; the order is theirs to keep.
    all.take(AGENTS_MAX).enumerate().map(|(at, one)| one.display_order(Some(at))).collect()
}

fn listed() -> Option<Vec<AgentRecord>> {
    let Dirs { database, owners, .. } = Dirs::find(&variable).ok()?;
    // Whoever presses Tab makes no database.
    database.exists().then_some(())?;
    let executor = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
    executor.block_on(async {
        let runtime = Runtime::open(database, owners, ports_without_settings(), None).await.ok()?;
        runtime.agents(AgentFilter::Listed).await.ok()
    })
}

/// The models of the table of prices that begin so, with or without their provider.
fn models(begun: &OsStr) -> Vec<CompletionCandidate> {
    let begun = begun.to_string_lossy();
    let begins = |model: &String| {
        let name = model.split_once('/').map_or("", |(_, name)| name);
        model.starts_with(&*begun) || name.starts_with(&*begun)
    };
    let simulated = SIMULATED.map(str::to_owned);
    let all = Models::bundled().names().into_iter().chain(simulated);
    all.filter(begins).map(CompletionCandidate::new).collect()
}
