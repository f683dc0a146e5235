//! `tine task`: workers that a person starts and looks after. What a model's tools do, these do too.

mod background;
mod control;
mod list;
mod output;
mod start;
mod work;

use tine_runtime::TaskView;

use crate::cli::TaskCommand;
use crate::commands::listing;
use crate::context::Context;
use crate::fail::Failure;

pub(crate) async fn task(context: &Context, command: TaskCommand) -> Result<u8, Failure> {
    match command {
        TaskCommand::Start(args) => start::start(context, args).await,
        TaskCommand::Resume(args) => start::resume(context, args).await,
        TaskCommand::List(args) => list::list(context, args).await,
        TaskCommand::Output(args) => output::output(context, args).await,
        TaskCommand::Cancel(args) => control::cancel(context, args).await,
        TaskCommand::Hide(args) => control::hide(context, args).await,
        TaskCommand::Send(args) => control::send(context, args).await,
    }
}

/// The task that a user means.
async fn named(context: &Context, text: &str) -> Result<TaskView, Failure> {
    listing::recover(context).await?;
    Ok(context.runtime.task_view(context.agent(text).await?).await?)
}
