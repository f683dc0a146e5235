//! One file a command: translate arguments, ask the runtime, print.

mod away;
mod bring;
mod budget;
mod cache;
mod cluster;
mod compact;
mod completions;
mod cost;
mod demo;
mod diff;
mod digest;
mod doctor;
mod dream;
mod eval;
mod export;
mod fan;
mod fork;
mod gateway;
mod guard;
mod hide;
mod import;
mod kill;
mod last_session;
pub(crate) mod listing;
mod login;
mod logs;
mod merge_back;
mod models;
mod permission;
mod pick;
mod ps;
mod remove;
mod rename;
mod rewind;
mod run;
mod send;
mod setup;
mod show;
mod sim;
mod stop;
mod task;
mod terminal;
mod text_file;
mod tree;
mod trust;
mod wait;
mod worktree;

use std::io::{self, IsTerminal};
use std::sync::Arc;

use crate::cli::{
    CacheCommand, Cli, Command, GatewayCommand, McpArgs, McpCommand, SimCommand, TalkArgs,
};
use crate::context::Context;
use crate::fail::Failure;
use crate::inside;
use crate::install::{Deed, change_hook, change_server};
use crate::open::Surroundings;
use crate::output;

/// Runs a command; the number is the exit code of one that did not fail.
pub(crate) fn run(cli: Cli) -> Result<u8, Failure> {
    if cli.detached.is_some() {
        // Before a thread or a signal handler is there: what is to outlive its terminal must not belong to it for long.
        tine_tools::leave_session()
            .map_err(|error| Failure::failed("cannot leave the session").because(&error))?;
    }
    if cli.trust {
        inside::check_trust()?;
    }
    let (directory, trusts_once) = (cli.directory, cli.trust);
    let Some(command) = cli.command else {
        return talk(Surroundings { directory, detached: None, trusts_once }, cli.talk);
    };
    if cli.talk.is_given() {
        return Err(Failure::usage(
            "--continue, --resume, --model, --plain, --permission-mode, --confine and --network before a command mean nothing",
        )
        .hint("put them behind `tine run` (it has no --plain), or leave the command out"));
    }
    match command {
        // These need neither settings nor a store.
        Command::Completions(args) => completions::completions(&args),
        Command::Man => completions::man(),
        Command::Guard(command) => guard::guard(directory, &command),
        Command::Digest(args) => digest::digest(&args),
        Command::Login(args) => login::login(args),
        Command::Logout(args) => login::logout(&args),
        Command::Mcp(McpArgs { command: Some(command) }) => mcp_settings(&command),
        Command::Gateway(GatewayCommand::Hook) => gateway::hook::hook(),
        Command::Gateway(GatewayCommand::Install(args)) => change_hook(&args, Deed::Install),
        Command::Gateway(GatewayCommand::Remove(args)) => change_hook(&args, Deed::Remove),
        // Before any settings are read: they may be what is wrong.
        Command::Trust(args) => trust::trust(directory, args),
        other => {
            let surroundings = Surroundings { directory, detached: cli.detached, trusts_once };
            in_runtime(surroundings, other)
        }
    }
}

/// Changes of a host's settings.
fn mcp_settings(command: &McpCommand) -> Result<u8, Failure> {
    match command {
        McpCommand::Install(args) => change_server(args, Deed::Install),
        McpCommand::Remove(args) => change_server(args, Deed::Remove),
    }
}

/// `tine` without a command.
fn talk(surroundings: Surroundings, args: TalkArgs) -> Result<u8, Failure> {
    let is_terminal = io::stdin().is_terminal() && output::stdout_is_terminal();
    if !is_terminal && !args.plain && !args.prompt.is_empty() {
        return in_runtime(surroundings, Command::Run(args.in_a_pipe()?));
    }
    inside::only_a_person(
        "talks in no person's place",
        "`tine run \"PROMPT\"` and `tine send AGENT TEXT` speak as the agent",
    )?;
    if !is_terminal && !args.plain {
        return Err(Failure::usage("there is no terminal to talk in")
            .hint("`tine run \"PROMPT\"` answers in a pipe, and `tine --plain` talks in one; `tine --help` lists all commands"));
    }
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    with_runtime(&mut builder, async {
        let context = Arc::new(Context::open(surroundings).await?);
        worktree::find_moved(&context).await;
        let result = terminal::terminal(Arc::clone(&context), args).await;
        settled(&context, result).await
    })
}

fn in_runtime(surroundings: Surroundings, command: Command) -> Result<u8, Failure> {
    // What passes a gateway does not wait for what is written down of it.
    let passes_on = matches!(command, Command::With(_) | Command::Gateway(_));
    let mut builder = if command.reach().runs_models || passes_on {
        tokio::runtime::Builder::new_multi_thread()
    } else {
        // A command that only asks the store is over before the threads of a larger runtime would have started.
        tokio::runtime::Builder::new_current_thread()
    };
    with_runtime(&mut builder, async {
        match command {
            Command::Sim(SimCommand::Serve(args)) => sim::serve(args).await,
            Command::With(args) => gateway::with(surroundings, args).await,
            Command::Gateway(GatewayCommand::Serve(args)) => {
                gateway::serve(surroundings, args).await
            }
            Command::Demo(args) => demo::demo(surroundings.directory, args).await,
            Command::Eval(args) => eval::eval(surroundings, args).await,
            // Before anything is opened: it tells what cannot be.
            Command::Doctor(args) => doctor::doctor(surroundings, args).await,
            Command::Models(args) => models::models(surroundings, args).await,
            other => {
                let context = Context::open(surroundings).await?;
                let reach = other.reach();
                if (reach.starts_agents || reach.runs_models) && !other.is_quiet() {
                    context.say_untrusted();
                }
                if other.looks_at_worktrees() {
                    worktree::find_moved(&context).await;
                }
                with_context(context, other).await
            }
        }
    })
}

fn with_runtime(
    builder: &mut tokio::runtime::Builder,
    work: impl Future<Output = Result<u8, Failure>>,
) -> Result<u8, Failure> {
    let runtime = builder
        .enable_all()
        .build()
        .map_err(|error| Failure::failed("cannot start the async runtime").because(&error))?;
    let result = runtime.block_on(work);
    // What was given up at the second Ctrl-C must not hold the process.
    runtime.shutdown_background();
    result
}

async fn with_context(context: Context, command: Command) -> Result<u8, Failure> {
    let result = in_context(&context, command).await;
    settled(&context, result).await
}

async fn settled(context: &Context, result: Result<u8, Failure>) -> Result<u8, Failure> {
    // What costs by the hour at a provider must not outlive the command that made it.
    context.runtime.settle().await;
    // Folds the database's log in, so that a user who looks finds one file. Without it nothing is lost.
    let _ = context.runtime.close().await;
    result
}

async fn in_context(context: &Context, command: Command) -> Result<u8, Failure> {
    inside::check(context, &command).await?;
    match command {
        Command::Run(args) => run::run(context, args).await,
        Command::Fork(args) => fork::fork(context, args).await,
        Command::Fan(args) => fan::fan(context, args).await,
        Command::Pick(args) => pick::pick(context, args).await,
        Command::Ps(args) => ps::ps(context, args).await,
        Command::Tree(args) => tree::tree(context, args).await,
        Command::Show(args) => show::show(context, args).await,
        Command::Logs(args) => logs::logs(context, args).await,
        Command::Wait(args) => wait::wait(context, args).await,
        Command::Send(args) => send::send(context, args).await,
        Command::Compact(args) => compact::compact(context, args).await,
        Command::Mark(args) => rewind::mark(context, args).await,
        Command::Rewind(args) => rewind::rewind(context, args).await,
        Command::Clear(args) => rewind::clear(context, args).await,
        Command::MergeBack(args) => merge_back::merge_back(context, args).await,
        Command::Task(command) => task::task(context, command).await,
        Command::Stop(args) => stop::stop(context, args).await,
        Command::Kill(args) => kill::kill(context, args).await,
        Command::Hide(args) => hide::hide(context, args).await,
        Command::Remove(args) => remove::remove(context, args).await,
        Command::Diff(args) => diff::diff(context, args).await,
        Command::Apply(args) => bring::apply(context, args).await,
        Command::Merge(args) => bring::merge(context, args).await,
        Command::CherryPick(args) => bring::cherry_pick(context, args).await,
        Command::Worktree(command) => worktree::worktree(context, command).await,
        Command::Permission(command) => permission::permission(context, command).await,
        Command::Rename(args) => rename::rename(context, args).await,
        Command::Import(args) => import::import(context, args).await,
        Command::Worker(args) => cluster::worker(context, args).await,
        Command::Cluster(command) => cluster::cluster(context, command).await,
        Command::Tick(args) => dream::tick(context, args.json).await,
        Command::Away(args) => away::away(context, args).await,
        Command::Dream(args) => dream::dream(context, args).await,
        Command::Export(args) => export::export(context, args).await,
        Command::Mcp(McpArgs { command: None }) => crate::mcp::serve(context).await,
        Command::Mcp(McpArgs { command: Some(command) }) => mcp_settings(&command),
        Command::Cost(args) => cost::cost(context, args).await,
        Command::Budget(args) => budget::budget(context, args).await,
        Command::Cache(CacheCommand::Explain(args)) => cache::explain(context, args).await,
        Command::Doctor(args) => {
            let directory = Some(context.directory.clone());
            doctor::doctor(Surroundings { directory, ..Surroundings::default() }, args).await
        }
        Command::Models(args) => {
            let directory = Some(context.directory.clone());
            models::models(Surroundings { directory, ..Surroundings::default() }, args).await
        }
        Command::Login(args) => login::login(args),
        Command::Logout(args) => login::logout(&args),
        Command::Trust(args) => trust::trust(Some(context.directory.clone()), args),
        Command::Sim(_)
        | Command::With(_)
        | Command::Gateway(_)
        | Command::Demo(_)
        | Command::Eval(_)
        | Command::Guard(_)
        | Command::Digest(_)
        | Command::Completions(_)
        | Command::Man => Ok(0),
    }
}
