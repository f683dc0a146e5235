//! `tine fork`: fork an agent; with a prompt, run the fork.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tine_cache::Asked;
use tine_fork::digest::DigestStats;
use tine_model::{AgentId, AgentRecord, ContextMode, EntryId};
use tine_runtime::{
    EstimateSpec, ForkMade, ForkSpec, Inherit, ModelWords, Placement, QuietWait, TOOLS_WAIT,
};

use tokio_util::sync::CancellationToken;

use crate::budget;
use crate::caching::{Before, go_ahead};
use crate::cli::{EstimateArgs, ForkArgs, OutputArgs, OutputFormat};
use crate::cluster;
use crate::commands::listing;
use crate::confine::{line, of_agent, tell_widened};
use crate::context::Context;
use crate::fail::{Failure, PERMISSION};
use crate::interrupt::interruptible;
use crate::open::work_directory;
use crate::output;
use crate::prompt::Prompt;
use crate::render::json::{ForkShape, OpenCallShape};
use crate::render::worktree::{PlaceShape, say_left_out, say_submodules, say_under_way};
use crate::talk::Talk;

/// Why an estimate is refused.
pub(super) const ONLY_PLAIN: &str =
    "--estimate prices forks that inherit everything and keep their model";

pub(crate) async fn fork(context: &Context, args: ForkArgs) -> Result<u8, Failure> {
    let (parent, named) = context.agent_at(&args.agent).await?;
    let at = match (args.at.map(EntryId), named) {
        (Some(_), Some(_)) => {
            return Err(Failure::usage("the entry is given twice")
                .hint("`tine fork AGENT@ENTRY` and `--at ENTRY` say the same"));
        }
        (at, named) => at.or(named),
    };
    // Standard input goes with a prompt; it is none by itself.
    let prompt = match args.prompt.filter(|prompt| !prompt.trim().is_empty()) {
        Some(prompt) => Prompt::read(Some(prompt))?,
        None => Prompt::default(),
    };
    // What stood before the calls began does not wait for them.
    let at = match at {
        None if args.wait => {
            after_calls(context, parent, (args.limits.timeout, args.output.quiet)).await?
        }
        at => at,
    };
    let stdin_is_free = prompt.stdin_is_free;
    let to_send = prompt.to_send();
    let before = Before {
        spec: to_price(parent, at, to_send.as_deref().unwrap_or_default(), &args.estimate),
        args: &args.estimate,
        json: args.output.json || args.output.output_format != OutputFormat::Text,
    };
    let record = context.runtime.agent(parent).await?;
    let model = args.inherit.model.as_deref().map(ModelWords::parse).transpose()?;
    let fork = ForkSpec {
        at,
        name: args.name,
        inherit: args.inherit.turns.map_or(args.inherit.context, Inherit::Turns),
        model: model.filter(|words| words.settings(&record.settings) != record.settings),
        accept_cache_loss: args.inherit.accept_cache_loss,
        place: args.place.placement(),
        directory: elsewhere(context, &record, args.place.placement() != Placement::Shared)?,
        ..ForkSpec::of(parent)
    };
    if args.estimate.estimate && !fork.is_priced() {
        return Err(Failure::usage(ONLY_PLAIN)
            .hint("leave out --context, --turns and --model, or fork without --estimate: an idle fork costs nothing"));
    }
    // An idle fork costs nothing: only what is sent does.
    let is_priced = fork.is_priced() && (to_send.is_some() || args.estimate.estimate);
    if is_priced && !go_ahead(context, before).await? {
        return Ok(0);
    }
    if args.place.on.is_some() && to_send.is_none() {
        return Err(Failure::usage("a fork without a prompt runs nowhere")
            .hint("say what it is to do: `tine fork AGENT \"PROMPT\" --on cluster`"));
    }
    let away = cluster::elsewhere(context, args.place.on.as_ref()).await?;
    let talk = Talk::new(context, &args.limits, &args.output, stdin_is_free)?.on(away);
    if to_send.is_some() {
        let model = fork.model.as_ref().map_or(&record.settings.model, |words| &words.model);
        talk.reach(&record, model).await?;
    }
    if let (Some(notes), Some(told)) = (args.notes, &to_send) {
        budget::change(context, parent, args.limits.tree.changes()).await?;
        return talk.run_hidden(fork, (work_directory(Some(notes))?, told)).await;
    }
    let reach = of_agent(context, &args.limits, &record)?.reach;
    tell_widened(&reach, (&record.reach, "the fork"));
    budget::change(context, parent, args.limits.tree.changes()).await?;
    let spec = ForkSpec { reach, ..fork };
    let made = context.runtime.fork(spec).await?;
    if !args.output.quiet {
        say(&made);
    }
    match to_send {
        Some(_) => talk.run(made.child, Some(&made), to_send).await,
        None => print(&made, &args.output),
    }
}

/// Where the fork works instead of its parent's directory: where the command was asked to work. Only a person moves an agent beyond
/// what it was made for.
fn elsewhere(
    context: &Context,
    parent: &AgentRecord,
    in_worktree: bool,
) -> Result<Option<PathBuf>, Failure> {
    let directory = &context.directory;
    if !context.directory_is_asked || *directory == Path::new(&parent.directory) {
        return Ok(None);
    }
    if in_worktree {
        return Err(Failure::usage(
            "a worktree is made of the directory of the agent that is forked",
        )
        .hint("leave out -C, or --worktree"));
    }
    let confined = context.caller.as_ref().filter(|caller| !caller.reach.is_open());
    match confined.filter(|caller| !directory.starts_with(&caller.directory)) {
        None => Ok(Some(directory.clone())),
        Some(caller) => Err(Failure::coded(
            PERMISSION,
            format!("{} lies outside what {} may touch", directory.display(), caller.id.short()),
        )
        .hint("leave out -C: the fork works where its parent does")),
    }
}

/// Waits until no call runs in the parent; the entry behind them then.
async fn after_calls(
    context: &Context,
    parent: AgentId,
    (timeout, quiet): (Option<Duration>, bool),
) -> Result<Option<EntryId>, Failure> {
    listing::recover(context).await?;
    let say = || {
        if !quiet {
            output::say("Waiting for tools to complete... (Ctrl+C gives it up)");
        }
    };
    let cancel = CancellationToken::new();
    let patience = timeout.map_or(TOOLS_WAIT, |timeout| timeout.min(TOOLS_WAIT));
    let wait = QuietWait { patience, cancel: &cancel, on_wait: &say };
    let waiting = context.runtime.when_quiet(parent, wait);
    Ok(interruptible(waiting, &cancel, || {}).await??)
}

/// One fork that is told this.
pub(super) fn to_price(
    parent: AgentId,
    at: Option<EntryId>,
    told: &str,
    args: &EstimateArgs,
) -> EstimateSpec {
    EstimateSpec {
        parent,
        at,
        directives: vec![told.to_owned()],
        workers: false,
        plan: Asked::Auto,
        turns: args.expect_turns,
        output_tokens: args.expect_output,
    }
}

/// Tells a person what was made.
fn say(made: &ForkMade) {
    let (child, parent) = (made.child.short(), made.parent.short());
    match (made.record.context, made.fork_point) {
        (ContextMode::Full, Some(entry)) => {
            output::say(&format!("Forked {child} from {parent} at entry {entry}"));
        }
        (ContextMode::Full, None) => {
            output::say(&format!("Forked {child} from {parent}, which has said nothing yet"));
        }
        (context, _) => {
            let context = context.as_str();
            output::say(&format!("Forked {child} from {parent} with the context `{context}`"));
        }
    }
    if let Some(digest) = &made.digest {
        let DigestStats { messages, dropped, results, results_cut, tokens, .. } = digest;
        output::say(&format!(
            "note: a digest of about {tokens} tokens: {dropped} of {messages} messages and parts of {results_cut} of {results} \
            tool results are left out"
        ));
    }
    if let (Some(asked), Some(at)) = (made.moved_from, made.fork_point) {
        output::say(&format!(
            "note: moved from entry {asked} to {at}: the results of the calls in {asked} belong to them"
        ));
    }
    OpenCallShape::say(&OpenCallShape::all(&made.open_calls));
    say_confined(made);
    if let Some(worktree) = &made.worktree {
        PlaceShape::from(worktree).say();
        say_under_way(worktree.during);
        say_left_out(&worktree.left_out);
        say_submodules(&worktree.submodules);
    }
}

/// Tells a person that a fork is confined as its parent is.
pub(super) fn say_confined(made: &ForkMade) {
    if let Some(line) = line(&made.record.reach) {
        output::say(&format!("note: {line}; a fork keeps what its parent may touch"));
    }
}

/// An idle fork as the result: its id, in full, so that `id=$(tine fork …)` works.
pub(super) fn print(made: &ForkMade, printed: &OutputArgs) -> Result<u8, Failure> {
    match printed.output_format {
        OutputFormat::Text if !printed.json => output::line(&made.child.to_string())?,
        OutputFormat::Text | OutputFormat::Json | OutputFormat::StreamJson => {
            output::json(&ForkShape::from(made))?;
        }
    }
    Ok(0)
}
