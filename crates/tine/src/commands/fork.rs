//! `tine fork`: fork an agent; with a prompt, run the fork.

use tine_cache::Asked;
use tine_model::{AgentId, EntryId};
use tine_runtime::{EstimateSpec, ForkMade, ForkSpec};

use crate::caching::{Before, go_ahead};
use crate::cli::{EstimateArgs, ForkArgs, OutputArgs, OutputFormat};
use crate::context::Context;
use crate::fail::Failure;
use crate::output;
use crate::prompt::Prompt;
use crate::render::json::ForkShape;
use crate::talk::Talk;

pub(crate) async fn fork(context: &Context, args: ForkArgs) -> Result<u8, Failure> {
    let parent = context.agent(&args.agent).await?;
    // Standard input goes with a prompt; it is none by itself.
    let prompt = match args.prompt.filter(|prompt| !prompt.trim().is_empty()) {
        Some(prompt) => Prompt::read(Some(prompt))?,
        None => Prompt::default(),
    };
    let stdin_is_free = prompt.stdin_is_free;
    let to_send = prompt.to_send();
    let before = Before {
        spec: to_price(parent, args.at, to_send.as_deref().unwrap_or_default(), &args.estimate),
        args: &args.estimate,
        json: args.output.json || args.output.output_format != OutputFormat::Text,
    };
    // An idle fork costs nothing: only what is sent does.
    if (to_send.is_some() || args.estimate.estimate) && !go_ahead(context, before).await? {
        return Ok(0);
    }
    let talk = Talk::new(context, &args.limits, &args.output, stdin_is_free)?;
    if to_send.is_some() {
        talk.connect(&context.runtime.store().agent(parent).await?.settings.model).await?;
    }
    let spec = ForkSpec { parent, at: args.at.map(EntryId), name: args.name };
    let made = context.runtime.fork(spec).await?;
    if !args.output.quiet {
        say(&made);
    }
    match to_send {
        Some(_) => talk.run(made.child, Some(&made), to_send).await,
        None => print(&made, &args.output),
    }
}

/// One fork that is told this.
pub(super) fn to_price(
    parent: AgentId,
    at: Option<i64>,
    told: &str,
    args: &EstimateArgs,
) -> EstimateSpec {
    EstimateSpec {
        parent,
        at: at.map(EntryId),
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
    match made.fork_point {
        Some(entry) => output::say(&format!("Forked {child} from {parent} at entry {entry}")),
        None => output::say(&format!("Forked {child} from {parent}, which has said nothing yet")),
    }
    if let (Some(asked), Some(at)) = (made.moved_from, made.fork_point) {
        output::say(&format!(
            "note: moved from entry {asked} to {at}: the results of the calls in {asked} belong to them"
        ));
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
