//! What happened while a person was away, told before their first prompt.

use std::time::Duration;

use tine_model::AgentId;
use tine_runtime::{AWAY_AFTER_DEFAULT, AWAY_AFTER_MAX};

use crate::config::Config;
use crate::context::Context;
use crate::fail::Failure;
use crate::limits::seconds;
use tine_tui::words::one_line;

/// A person is about to prompt an agent: shows what happened in its tree, where they were away for long enough, and notes that they
/// are there. `show` returns whether anybody sees it: what was not shown is shown the next time. Nothing that goes wrong here keeps the
/// prompt back.
pub(crate) async fn before_prompt(
    context: &Context,
    agent: AgentId,
    show: impl FnOnce(&str) -> bool + Send,
) {
    let is_a_person = context.caller.is_none() && context.detached.is_none();
    if !is_a_person {
        return;
    }
    let runtime = &context.runtime;
    let now_ms = runtime.ports().clock.now_ms();
    let (Ok(after), Ok(away)) = (after(&context.config), runtime.away(agent).await) else { return };
    let due = after.zip(away).filter(|(after, away)| away.is_due(now_ms, *after));
    if due.is_none_or(|(_, away)| show(&away.text(now_ms))) {
        let _ = runtime.note_seen(agent, now_ms).await;
    }
}

/// After how long a person is told; `None` where they are not.
pub(crate) fn after(config: &Config) -> Result<Option<Duration>, Failure> {
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
