//! What was stopped or killed, and what it had done by then.

use serde::Serialize;
use tine_runtime::Receipt;

use crate::render::json::UsageShape;
use tine_tui::figures::{plural, tokens};
use tine_tui::words::{BOLD, one_line, styled};

/// The JSON shape of a receipt. Others rely on it: fields are only ever added.
#[derive(Debug, Serialize)]
pub(crate) struct ReceiptJson<'a> {
    agent: String,
    name: Option<&'a str>,
    description: Option<&'a str>,
    /// Of its task; `null` for an agent that is no worker.
    status: Option<&'static str>,
    /// Whether its run is over.
    over: bool,
    turns: usize,
    tool_uses: usize,
    usage: UsageShape,
    /// How its last own words begin.
    last_words: Option<&'a str>,
}

impl<'a> ReceiptJson<'a> {
    /// The JSON shape.
    pub(crate) fn of(receipt: &'a Receipt) -> Self {
        Self {
            agent: receipt.agent.to_string(),
            name: receipt.name.as_deref(),
            description: receipt.description.as_deref(),
            status: receipt.task.map(|status| status.as_str()),
            over: receipt.over,
            turns: receipt.turns,
            tool_uses: receipt.tool_uses,
            usage: receipt.usage.into(),
            last_words: receipt.last_words.as_deref(),
        }
    }
}

/// One that was stopped, on a line.
pub(crate) fn stopped_line(receipt: &Receipt) -> String {
    let verb = if receipt.over { "stopped" } else { "asked to stop:" };
    let mut line = told(verb, receipt);
    if let Some(status) = receipt.task {
        line.push_str(&format!(" · task {}", status.as_str().replace('_', " ")));
    }
    with_last_words(line, receipt)
}

/// One that was killed, on a line.
pub(crate) fn killed_line(receipt: &Receipt) -> String {
    with_last_words(told("killed", receipt), receipt)
}

fn told(verb: &str, receipt: &Receipt) -> String {
    let mut line = format!("{verb} {}", styled(BOLD, &receipt.agent.short()));
    for words in [&receipt.name, &receipt.description].into_iter().flatten() {
        line.push_str(&format!(" {}", one_line(words)));
    }
    line.push_str(&format!(
        " · {} · {} · {} tokens",
        plural(receipt.turns as u64, "turn"),
        plural(receipt.tool_uses as u64, "tool call"),
        tokens(receipt.usage.prompt() + receipt.usage.output)
    ));
    line
}

fn with_last_words(mut line: String, receipt: &Receipt) -> String {
    if let Some(words) = &receipt.last_words {
        line.push_str(&format!(" · last words: {}", one_line(words)));
    }
    line
}

#[cfg(test)]
mod tests {
    use tine_model::{AgentId, TaskStatus, Usage};

    use super::*;

    #[test]
    fn a_receipt_says_who_and_what_was_done() {
        let done = Receipt {
            agent: AgentId::from_random([0x1a; 16]),
            name: Some("parser".into()),
            task: Some(TaskStatus::TimedOut),
            description: Some("read the\nparser".into()),
            over: true,
            turns: 1,
            tool_uses: 2,
            usage: Usage { uncached: 1_200, output: 34, ..Usage::default() },
            last_words: Some("I have read half of it.".into()),
        };
        let nothing = Receipt {
            name: None,
            task: None,
            description: None,
            over: false,
            turns: 0,
            tool_uses: 0,
            usage: Usage::default(),
            last_words: None,
            ..done.clone()
        };
        let lines = [stopped_line(&done), stopped_line(&nothing), killed_line(&done)].join("\n");
        insta::assert_snapshot!(anstream::adapter::strip_str(&lines).to_string(), @"
        stopped 1a1a1a1a parser read the parser · 1 turn · 2 tool calls · 1.2k tokens · task timed out · last words: I have read half of it.
        asked to stop: 1a1a1a1a · 0 turns · 0 tool calls · 0 tokens
        killed 1a1a1a1a parser read the parser · 1 turn · 2 tool calls · 1.2k tokens · last words: I have read half of it.
        ");
    }
}
