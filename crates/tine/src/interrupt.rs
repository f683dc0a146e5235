//! Ctrl-C and its relatives. The first stops the work, which then keeps what it has; the second ends the command.

use std::future::Future;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::fail::{Failure, INTERRUPTED};
use crate::output;

/// Runs `work` to its end. The first signal cancels `cancel` and calls `on_first`; the second gives up `work` as it is.
pub(crate) async fn interruptible<T>(
    work: impl Future<Output = T>,
    cancel: &CancellationToken,
    on_first: impl Fn(),
) -> Result<T, Failure> {
    if output::is_caught() {
        // Signals are for the terminal that the command was typed in, which cancels it.
        return Ok(work.await);
    }
    let mut interrupt = listen(SignalKind::interrupt())?;
    let mut terminate = listen(SignalKind::terminate())?;
    // The terminal was closed: what runs in it must not live on unseen.
    let mut hang_up = if hang_up_is_ignored() { None } else { Some(listen(SignalKind::hangup())?) };
    tokio::pin!(work);
    loop {
        // All branches are cancel-safe: `work` is only polled, and a signal that is not received stays pending.
        tokio::select! {
            result = &mut work => return Ok(result),
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            () = received(&mut hang_up) => {}
        }
        if cancel.is_cancelled() {
            return Err(Failure::coded(INTERRUPTED, "interrupted at once")
                .hint("the agent counts as interrupted; everything before its last step is kept"));
        }
        on_first();
        cancel.cancel();
    }
}

/// Waits for a program that has the terminal: Ctrl-C is that program's affair, and not the end of this command. The second of a hasty
/// user right behind its end is lost as well.
pub(crate) async fn undisturbed<T>(work: impl Future<Output = T>) -> Result<T, Failure> {
    let _listening = [listen(SignalKind::interrupt())?, listen(SignalKind::quit())?];
    Ok(work.await)
}

async fn received(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => {
            signal.recv().await;
        }
        None => std::future::pending().await,
    }
}

/// Whether the command was started with `nohup` or the like: then it is to live on, and listening would undo that.
fn hang_up_is_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // Signal 1 is the lowest bit.
    mask.is_some_and(|mask| mask & 1 == 1)
}

fn listen(kind: SignalKind) -> Result<Signal, Failure> {
    signal(kind).map_err(|error| Failure::failed("cannot listen for signals").because(&error))
}
