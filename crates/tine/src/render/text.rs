//! A run as text: the model's words on stdout, everything else on stderr.
//!
//! On a terminal the words appear as they come, all of them. Elsewhere stdout gets the last text alone, byte for byte,
//! so that `tine run` works as a filter.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tine_fork::neighbour::Neighbour;
use tine_fork::run::RunEvent;
use tine_fork::tools::{ToolAnswer, ToolCall};
use tine_model::{AgentRecord, Message, Role, ToolCallId, Usage};
use tine_wire::Event;

use crate::budget::paused;
use crate::ending::Ended;
use crate::fail::Failure;
use crate::output;
use crate::render::screen::Screen;
use tine_tui::figures::{grouped, money, plural, span, tokens};
use tine_tui::words::{
    BOLD, CYAN, DIM, RED, STORE_WAITS, YELLOW, call_line, cut, first_line, harmless, left_behind,
    one_line, styled, summary,
};

/// Reasoning of at most this many characters is shown as it is; longer reasoning is folded to its first line.
const THINKING_CHARS_SHOWN: usize = 160;

/// Most reasoning of one turn that is kept to be shown.
const THINKING_CHARS_KEPT: usize = 4_000;

/// Columns that a call's result is indented by, with its sign.
const RESULT_INDENT: usize = 4;

/// Shows one agent's run.
pub(crate) struct TextView {
    screen: Arc<Screen>,
    /// Whether words go to stdout as they come.
    streams: bool,
    /// Whether anything goes to stderr.
    talks: bool,
    directory: PathBuf,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The last character on stdout is not a line end.
    mid_line: bool,
    /// Words are on stdout; the next ones begin a new paragraph.
    gap: bool,
    /// Words of this turn were streamed.
    streamed: bool,
    /// The last thing on the terminal is a text, not a tool's line.
    after_text: bool,
    thinking: String,
    thinking_chars: usize,
    calls: HashMap<ToolCallId, String>,
    last_call: Option<ToolCallId>,
    /// Who runs, as a user names it.
    agent: String,
}

impl TextView {
    /// A view of runs in `directory`. `quiet` leaves stderr to errors.
    pub(crate) fn new(screen: Arc<Screen>, directory: PathBuf, quiet: bool) -> Self {
        let streams = output::stdout_is_terminal();
        Self { screen, streams, talks: !quiet, directory, state: Mutex::default() }
    }

    /// Whether it writes to stderr.
    pub(crate) fn talks(&self) -> bool {
        self.talks
    }

    /// Says who is talking.
    pub(crate) fn begin(&self, record: &AgentRecord) {
        self.state().agent = record.id.short();
        if self.talks {
            let name = record.name.as_ref().map(|name| format!(" {name}")).unwrap_or_default();
            let (id, model) = (record.id.short(), &record.settings.model);
            self.screen.say(&styled(DIM, &format!("agent {id}{name} · {model}")));
        }
    }

    /// Writes a line between the words.
    pub(crate) fn note(&self, text: &str) {
        self.line(&mut self.state(), text);
    }

    /// Writes what is left of the words, and the closing lines.
    pub(crate) fn end(&self, record: &AgentRecord, ended: &Ended) -> Result<(), Failure> {
        {
            let mut state = self.state();
            self.fold_thinking(&mut state);
            self.end_line(&mut state);
            if self.streams && state.after_text && self.talks {
                self.screen.say("");
            }
        }
        if !self.streams && !ended.text.is_empty() {
            let end = if ended.text.ends_with('\n') { "" } else { "\n" };
            output::exact(&format!("{}{end}", ended.text))?;
        }
        if self.talks {
            for line in closing(record, ended) {
                self.screen.say(&styled(DIM, &line));
            }
        }
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn words(&self, state: &mut State, delta: &str) {
        self.fold_thinking(state);
        if !self.streams || delta.is_empty() {
            return;
        }
        let gap = if std::mem::take(&mut state.gap) { "\n" } else { "" };
        state.mid_line = !delta.ends_with('\n');
        (state.streamed, state.after_text) = (true, true);
        // What can go wrong here for good, goes wrong again when the result is written.
        let _ = output::exact(&format!("{gap}{}", harmless(delta)));
    }

    /// Ends a line of words that something else follows; further words are a new paragraph.
    fn end_line(&self, state: &mut State) {
        if std::mem::take(&mut state.mid_line) {
            let _ = output::exact("\n");
        }
        state.gap = state.gap || state.after_text;
    }

    fn line(&self, state: &mut State, line: &str) {
        self.fold_thinking(state);
        self.end_line(state);
        if !self.talks {
            return;
        }
        if std::mem::take(&mut state.after_text) && self.screen.is_live() {
            self.screen.say("");
        }
        self.screen.say(line);
    }

    /// Reasoning is shown once it is over.
    fn fold_thinking(&self, state: &mut State) {
        let text = std::mem::take(&mut state.thinking);
        let chars = std::mem::take(&mut state.thinking_chars);
        if text.trim().is_empty() || !self.talks || !self.screen.is_live() {
            return;
        }
        let line = if chars <= THINKING_CHARS_SHOWN {
            one_line(&text)
        } else {
            let more = format!("… ({} characters)", grouped(chars as u64));
            let room = self.screen.columns().saturating_sub(more.chars().count() + 4);
            format!("{}{more}", cut(&first_line(&text), room).trim_end_matches('…'))
        };
        self.line(state, &styled(DIM, &format!("∴ {line}")));
    }

    fn tool_started(&self, call: &ToolCall) {
        let mut state = self.state();
        let (tool, rest) = call_line(call, &self.directory);
        let room = self.screen.columns().saturating_sub(tool.chars().count() + 4);
        let line = format!("{} {} {}", styled(CYAN, "●"), styled(BOLD, &tool), cut(&rest, room));
        self.line(&mut state, line.trim_end());
        state.calls.insert(call.id.clone(), format!("{tool} {rest}"));
        state.last_call = Some(call.id.clone());
    }

    fn tool_finished(&self, id: &ToolCallId, answer: &ToolAnswer) {
        let mut state = self.state();
        let called = state.calls.remove(id);
        let room = self.screen.columns().saturating_sub(RESULT_INDENT + 1);
        let mut text = summary(answer);
        // Neighbours that run at the same time end in any order.
        if state.last_call.as_ref() != Some(id)
            && let Some(called) = called
        {
            text = format!("{}: {text}", cut(&called, room / 2));
        }
        let style = if answer.is_error { RED } else { DIM };
        self.line(&mut state, &format!("  {}", styled(style, &format!("⎿ {}", cut(&text, room)))));
    }

    fn message(&self, message: &Message) {
        if message.role() != Role::Assistant {
            return;
        }
        let mut state = self.state();
        let text = message.text();
        if self.streams && !state.streamed && !text.is_empty() {
            self.words(&mut state, &text);
        } else if !self.streams && message.tool_calls().next().is_some() && !text.is_empty() {
            let line = cut(&first_line(&text), self.screen.columns().saturating_sub(1));
            self.line(&mut state, &styled(DIM, &line));
        }
        self.end_line(&mut state);
    }
}

impl TextView {
    /// Shows a step of the run.
    pub(crate) fn step(&self, step: &RunEvent) {
        match step {
            RunEvent::Request { .. } => self.state().streamed = false,
            RunEvent::Stream(Event::Text { delta }) => self.words(&mut self.state(), delta),
            RunEvent::Stream(Event::Thinking { delta }) => {
                let mut state = self.state();
                let room = THINKING_CHARS_KEPT.saturating_sub(state.thinking_chars);
                state.thinking.extend(delta.chars().take(room));
                state.thinking_chars += delta.chars().count();
            }
            RunEvent::Stream(Event::BlockDone { .. }) => {
                let mut state = self.state();
                self.fold_thinking(&mut state);
                self.end_line(&mut state);
            }
            RunEvent::Stream(_)
            | RunEvent::Waiting
            | RunEvent::Answered(_)
            | RunEvent::ToolProgress { .. } => {}
            RunEvent::Retry { wait, cause, .. } => {
                let wait = span(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
                let cause = one_line(cause);
                let mut state = self.state();
                let line = if std::mem::take(&mut state.streamed) {
                    format!("what came is given up, asking again in {wait}: {cause}")
                } else {
                    format!("retrying in {wait}: {cause}")
                };
                self.line(&mut state, &styled(YELLOW, &line));
            }
            RunEvent::Held { wait, reason } => {
                let line = format!("waiting{}: {}", at_least(*wait), reason.as_str());
                self.line(&mut self.state(), &styled(YELLOW, &line));
            }
            RunEvent::Paused(reached) => {
                let mut state = self.state();
                let line = paused(reached, &state.agent);
                self.line(&mut state, &styled(YELLOW, &line));
            }
            RunEvent::StoreWaits => {
                self.line(&mut self.state(), &styled(YELLOW, STORE_WAITS));
            }
            RunEvent::Unkept(what) => {
                self.line(&mut self.state(), &styled(YELLOW, what));
            }
            RunEvent::LeftBehind(left) => {
                self.line(&mut self.state(), &styled(YELLOW, &left_behind(left)));
            }
            RunEvent::Dialect(change) => {
                self.line(&mut self.state(), &styled(YELLOW, &one_line(&change.to_string())));
            }
            RunEvent::Shared(neighbours) => {
                let line = one_line(&Neighbour::note(neighbours));
                self.line(&mut self.state(), &styled(YELLOW, &line));
            }
            RunEvent::Message(message) => self.message(message),
            RunEvent::ToolStarted { call } => self.tool_started(call),
            RunEvent::ToolFinished { id, answer } => self.tool_finished(id, answer),
        }
    }
}

/// A wait of which only the least is known.
pub(crate) fn at_least(wait: Option<Duration>) -> String {
    let known = |wait: Duration| span(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
    wait.map_or_else(String::new, |wait| format!(" {} or more", known(wait)))
}

/// How it ended, what it took, and how to go on.
fn closing(record: &AgentRecord, ended: &Ended) -> Vec<String> {
    let mut parts = vec![
        ended.outcome.unwrap_or("failed").replace('_', " "),
        plural(u64::from(ended.turns), "turn"),
    ];
    if ended.tool_uses > 0 {
        parts.push(plural(u64::from(ended.tool_uses), "tool call"));
    }
    if ended.text.is_empty() && ended.turns > 0 {
        parts.push("the model said nothing".to_owned());
    }
    if let Some(dollars) = ended.dollars {
        let mut cost = money(dollars);
        if let Some(other) = &ended.priced_as {
            cost.push_str(&format!(" at {other} prices"));
        }
        parts.push(cost);
    }
    let go_on = format!("go on: tine run --resume {}", record.id.short());
    let second = if ended.usage == Usage::default() {
        go_on
    } else {
        format!("{} · {go_on}", usage_words(&ended.usage))
    };
    vec![parts.join(" · "), second]
}

/// What a prompt and its reply took; parts that were not reported are left out.
fn usage_words(usage: &Usage) -> String {
    let mut parts = Vec::new();
    if let Some(read) = usage.read {
        parts.push(format!("{} read", tokens(read)));
    }
    if usage.write_short.is_some() || usage.write_long.is_some() {
        parts.push(format!("{} written", tokens(usage.written())));
    }
    parts.push(format!("{} uncached", tokens(usage.uncached)));
    parts.push(format!("{} output", tokens(usage.output)));
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_were_not_reported_are_not_zero() {
        let usage = Usage { uncached: 12_345, output: 6, ..Usage::default() };
        assert_eq!(usage_words(&usage), "12.3k uncached, 6 output");
        let usage = Usage { read: Some(0), write_short: Some(800), ..usage };
        assert_eq!(usage_words(&usage), "0 read, 800 written, 12.3k uncached, 6 output");
    }
}
