//! What happened while a person was away, told before their first prompt.

use std::time::Duration;

use tine_model::AgentId;
use tine_runtime::{AWAY_AFTER_DEFAULT, AWAY_AFTER_MAX, Away, ModelWords};
use tokio_util::sync::CancellationToken;

use crate::config::Config;
use crate::context::Context;
use crate::durations::seconds;
use crate::fail::Failure;
use crate::memory::hidden_options;
use tine_tui::Written;
use tine_tui::words::one_line;

/// A person is about to prompt an agent: shows what happened in its tree, where they were away for long enough, and notes that they
/// are there. `show` returns whether anybody sees it: what was not shown is shown the next time. Returns what a model writes of it
/// besides, where one does; `cancel` stops that. Nothing that goes wrong here keeps the prompt back.
pub(crate) async fn before_prompt(
    context: &Context,
    agent: AgentId,
    show: impl FnOnce(&str) -> bool + Send,
    cancel: &CancellationToken,
) -> Option<Written> {
    let is_a_person = context.caller.is_none() && context.detached.is_none();
    if !is_a_person {
        return None;
    }
    let runtime = &context.runtime;
    let now_ms = runtime.ports().clock.now_ms();
    let after = after(&context.config).ok()?;
    let away = runtime.away(agent).await.ok()?;
    let due = away.filter(|away| after.is_some_and(|after| away.is_due(now_ms, after)));
    if due.as_ref().is_none_or(|away| show(&away.text(now_ms))) {
        let _ = runtime.note_seen(agent, now_ms).await;
    } else {
        return None;
    }
    written(context, agent, &due?, cancel).await.ok().flatten()
}

/// Makes the run that writes; it runs where what is returned is polled.
async fn written(
    context: &Context,
    agent: AgentId,
    away: &Away,
    cancel: &CancellationToken,
) -> Result<Option<Written>, Failure> {
    let model = model(&context.config)?;
    let options = hidden_options(context, cancel)?;
    let runtime = context.runtime.clone();
    let writer = runtime.away_writer(agent, (away, model.as_ref()), options.caching).await?;
    Ok(writer.map(|writer| -> Written {
        Box::pin(async move {
            let text = runtime.write_away(writer, &options).await.ok().flatten()?;
            Some(format!("In short: {}", text.trim()))
        })
    }))
}

/// After how long a person is told; `None` where they are not.
fn after(config: &Config) -> Result<Option<Duration>, Failure> {
    let table = &config.away;
    let after = match &table.after {
        None => AWAY_AFTER_DEFAULT,
        Some(text) => {
            let after = seconds(text).map(Duration::from_secs);
            after.filter(|after| *after <= AWAY_AFTER_MAX).ok_or_else(|| {
                Failure::input(format!("away.after cannot be `{}`", one_line(text)))
                    .hint("it is a number and a unit from 0s to 30d, such as 90m or 4h")
            })?
        }
    };
    Ok(table.enabled.unwrap_or(true).then_some(after))
}

/// The model that is named for the summary.
fn model(config: &Config) -> Result<Option<ModelWords>, Failure> {
    Ok(config.away.model.as_deref().map(ModelWords::parse).transpose()?)
}

/// An error where these settings cannot be used.
pub(crate) fn check(config: &Config) -> Result<(), Failure> {
    after(config)?;
    model(config).map(drop)
}

/// Runs an agent while a model writes. Nobody waits for what is not written at the run's end.
pub(crate) async fn with_written<T>(
    run: impl Future<Output = T> + Send,
    written: Option<Written>,
    ends: &CancellationToken,
) -> (T, Option<String>) {
    let Some(mut written) = written else { return (run.await, None) };
    let mut text = None;
    let mut run = std::pin::pin!(run);
    loop {
        tokio::select! {
            ran = &mut run => {
                if text.is_none() {
                    ends.cancel();
                    text = Some(written.await);
                }
                return (ran, text.flatten());
            }
            // It is over: only the run is waited for from now on.
            said = &mut written, if text.is_none() => text = Some(said),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_written_before_the_runs_end_is_told_and_the_rest_is_stopped() {
        let ends = CancellationToken::new();
        let (go, gone) = tokio::sync::oneshot::channel();
        let quick: Written = Box::pin(async move {
            go.send(()).unwrap();
            Some("quick".to_owned())
        });
        let run = async {
            gone.await.unwrap();
            tokio::task::yield_now().await;
            1
        };
        let told = with_written(run, Some(quick), &ends).await;
        assert_eq!((told, ends.is_cancelled()), ((1, Some("quick".to_owned())), false));
        let stopped = ends.clone();
        let slow: Written = Box::pin(async move {
            stopped.cancelled().await;
            None
        });
        let told = with_written(std::future::ready(2), Some(slow), &ends).await;
        assert_eq!((told, ends.is_cancelled()), ((2, None), true));
    }
}
