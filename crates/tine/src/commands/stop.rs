//! `tine stop`: ends what runs, and says what it had done.

use std::time::Duration;

use serde::Serialize;
use tine_model::StopKind;
use tine_runtime::{Receipt, StopSpec};
use tokio_util::sync::CancellationToken;

use crate::cli::StopArgs;
use crate::commands::listing;
use crate::context::Context;
use crate::fail::Failure;
use crate::output;
use crate::render::receipt::{ReceiptJson, stopped_line};
use crate::watch::interrupted;

/// How long to wait for runs to be over. A tool may be slow to end, and a soft stop waits for a whole turn; who wants to see the end
/// takes `tine wait`.
const PATIENCE: Duration = Duration::from_secs(10);

/// The JSON shape of a stop. Others rely on it: fields are only ever added.
#[derive(Serialize)]
struct StoppedJson<'a> {
    stopped: Vec<ReceiptJson<'a>>,
}

pub(crate) async fn stop(context: &Context, args: StopArgs) -> Result<u8, Failure> {
    listing::recover(context).await?;
    let agent = context.agent(&args.agent).await?;
    let unattended = context.runtime.unattended_remotes().await?;
    let below = context.runtime.living_with(agent).await?;
    if let Some(away) = below.iter().find(|agent| unattended.contains(agent)) {
        let text =
            format!("{} runs on another machine, and its servers do not answer", away.short());
        return Err(Failure::failed(text).hint(format!(
            "try again; `tine kill {}` ends it here for good, and its worker is told once they answer",
            away.short()
        )));
    }
    let how = match (args.interrupt, args.soft) {
        (true, _) => StopKind::Interrupt,
        (false, true) => StopKind::Soft,
        (false, false) => StopKind::Hard,
    };
    // An interrupt ends one turn; what that has started goes on.
    let cascade = !args.only && how != StopKind::Interrupt;
    let receipts = stopped(context, StopSpec { agent, how, cascade }).await?;
    if args.json {
        let stopped = receipts.iter().map(ReceiptJson::of).collect();
        output::json(&StoppedJson { stopped })?;
    } else if receipts.is_empty() {
        output::say("nothing runs");
    } else {
        print(&receipts)?;
    }
    Ok(0)
}

/// Stops; waits for a while, until the user has no more patience.
pub(super) async fn stopped(context: &Context, spec: StopSpec) -> Result<Vec<Receipt>, Failure> {
    let cancel = CancellationToken::new();
    let stop = context.runtime.stop(spec, PATIENCE, &cancel);
    tokio::pin!(stop);
    let receipts = tokio::select! {
        receipts = &mut stop => receipts,
        () = interrupted()? => {
            cancel.cancel();
            stop.await
        }
    };
    Ok(receipts?)
}

/// A line for each, and who is still ending.
pub(super) fn print(receipts: &[Receipt]) -> Result<(), Failure> {
    let lines: String = receipts.iter().map(|one| format!("{}\n", stopped_line(one))).collect();
    output::write_out(&lines)?;
    let ending: Vec<String> =
        receipts.iter().filter(|one| !one.over).map(|one| one.agent.short()).collect();
    if !ending.is_empty() {
        let ending = ending.join(" ");
        output::say(&format!(
            "still ending: {ending}\nhint: `tine wait {ending}` waits for the end"
        ));
    }
    Ok(())
}
