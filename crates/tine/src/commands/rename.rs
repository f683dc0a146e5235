//! `tine rename`: gives an agent a name, or takes it away.

use crate::cli::RenameArgs;
use crate::context::Context;
use crate::fail::Failure;
use crate::output;

pub(crate) async fn rename(context: &Context, args: RenameArgs) -> Result<u8, Failure> {
    let agent = context.agent(&args.agent).await?;
    context.runtime.rename(agent, args.name.clone()).await?;
    let short = agent.short();
    output::line(&match args.name {
        Some(name) => format!("{short} is now called {name}"),
        None => format!("{short} has no name now"),
    })?;
    Ok(0)
}
