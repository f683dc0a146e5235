//! What one sees while the demo runs: the root agent's steps, then the board of its workers. All on stderr.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tine_fork::run::RunEvent;
use tine_fork::tools::{ToolAnswer, ToolCall};
use tine_model::{AgentId, RawJson, Role, ToolCallId};
use tine_runtime::{AgentEvent, EventKind, Heard};

use super::savings::wrap;
use crate::render::screen::Screen;
use crate::render::workers::WorkerBoard;
use tine_tui::figures::plural;
use tine_tui::words::{
    BOLD, DIM, GREEN, YELLOW, call_line, cut, first_line, fit, one_line, styled,
};

/// Columns for a tool's name.
const TOOL_COLUMNS: usize = 9;

/// Columns for what a call is about.
const CALL_COLUMNS: usize = 30;

/// Says what this is, and what it is not.
pub(super) fn greet(screen: &Screen, (what, directory): (&str, &Path), model: &str) {
    let room = screen.columns().saturating_sub(1);
    let title = format!("{what} · {}", one_line(&directory.to_string_lossy()));
    screen.say(&styled(BOLD, &cut(&title, room)));
    screen.say(&styled(DIM, &cut(&format!("{}.", super::model_words(model)), room)));
    let real = "Tools, files, forks, cache accounting and prices are real.";
    screen.say(&styled(DIM, &cut(real, room)));
}

/// Says that the demo was stopped.
pub(super) fn say_interrupted(screen: &Screen, kept: bool) {
    let end = if kept { "; `tine ps` lists the agents as far as they came" } else { "" };
    screen.say(&styled(YELLOW, &format!("interrupted{end}")));
}

/// The call with a command's description in the place of its text: the scenario's commands are long. `tine show` has the
/// texts.
fn titled(call: &ToolCall) -> Option<ToolCall> {
    let input: serde_json::Value = serde_json::from_str(call.input.as_str()).ok()?;
    let description = input.get("description")?.as_str()?;
    let input = serde_json::json!({ "command": description }).to_string();
    let input = RawJson::parse(&input).ok()?;
    Some(ToolCall { input, ..call.clone() })
}

/// The root agent's steps: one line each, and on a terminal one more that says what it does now.
pub(super) struct LookView {
    screen: Arc<Screen>,
    directory: PathBuf,
    calls: HashMap<ToolCallId, (String, String)>,
}

impl LookView {
    /// A view of a run in `directory`.
    pub(super) fn new(screen: Arc<Screen>, directory: PathBuf) -> Self {
        Self { screen, directory, calls: HashMap::new() }
    }

    /// Says who begins with what.
    pub(super) fn begin(&self, root: AgentId, prompt: &str) {
        let who = styled(BOLD, &format!("root agent {}", root.short()));
        self.screen.say(&format!("{who} {}", styled(DIM, &format!("“{prompt}”"))));
    }

    /// Takes the live line away.
    pub(super) fn end(&self) {
        self.screen.show(Vec::new());
        self.screen.say("");
    }

    fn room(&self) -> usize {
        self.screen.columns().saturating_sub(1)
    }

    fn now(&self, doing: &str) {
        let line = cut(&format!("  … {doing}"), self.room());
        self.screen.show(vec![styled(DIM, &line)]);
    }

    fn started(&mut self, call: &ToolCall) {
        let shown = titled(call);
        let (tool, rest) = call_line(shown.as_ref().unwrap_or(call), &self.directory);
        // A search below the directory itself need not say so.
        let rest = rest.strip_suffix(" in .").unwrap_or(&rest).to_owned();
        self.now(&format!("{tool} {rest}"));
        self.calls.insert(call.id.clone(), (tool, rest));
    }

    fn finished(&mut self, id: &ToolCallId, answer: &ToolAnswer) {
        let Some((tool, rest)) = self.calls.remove(id) else { return };
        let (style, mark) = if answer.is_error { (YELLOW, "!") } else { (GREEN, "✓") };
        let room = self.room().saturating_sub(4);
        let call = cut(&format!("{} {}", fit(&tool, TOOL_COLUMNS), fit(&rest, CALL_COLUMNS)), room);
        let used = TOOL_COLUMNS + CALL_COLUMNS + 1;
        let told = cut(&told(answer), room.saturating_sub(used + 2));
        let line = format!("  {} {call}  {}", styled(style, mark), styled(DIM, &told));
        self.screen.say(line.trim_end());
    }
}

impl LookView {
    /// Shows a step.
    pub(super) fn heard(&mut self, heard: &Heard) {
        match step(heard) {
            Some(RunEvent::Request { turn }) => self.now(&format!("turn {turn}")),
            Some(RunEvent::Message(message)) if message.role() == Role::Assistant => {
                let text = one_line(&message.text());
                if !text.is_empty() {
                    wrap(&format!("› {text}"), self.room())
                        .iter()
                        .for_each(|line| self.screen.say(line));
                }
            }
            Some(RunEvent::ToolStarted { call }) => self.started(call),
            Some(RunEvent::ToolFinished { id, answer }) => self.finished(id, answer),
            _ => {}
        }
    }
}

fn step(heard: &Heard) -> Option<&RunEvent> {
    match heard {
        Heard::Event(event) => match &event.kind {
            EventKind::Run(step) => Some(step),
            _ => None,
        },
        Heard::Lagged(_) => None,
    }
}

/// An answer on a line: its first line when there is little more, else how long it is.
fn told(answer: &ToolAnswer) -> String {
    let lines = answer.text.lines().filter(|line| !line.starts_with("[exit code"));
    let count = lines.clone().count();
    if count > 4 && !answer.is_error {
        return plural(count as u64, "line");
    }
    first_line(&lines.collect::<Vec<_>>().join("\n"))
}

/// The board of workers, with descriptions in the place of long commands.
pub(super) struct FanView(WorkerBoard);

impl FanView {
    /// A board with the titles of the jobs.
    pub(super) fn new(screen: Arc<Screen>, titles: Vec<String>) -> Self {
        Self(WorkerBoard::on(screen, titles))
    }

    /// Leaves the last state on the screen.
    pub(super) fn end(&self) {
        self.0.finish();
    }

    /// Shows what happens.
    pub(super) fn heard(&mut self, heard: &Heard) {
        let Heard::Event(event) = heard else { return };
        let titled = match step(heard) {
            Some(RunEvent::ToolStarted { call }) => titled(call),
            _ => None,
        };
        match titled {
            Some(call) => {
                let kind = EventKind::Run(RunEvent::ToolStarted { call });
                self.0.event(&AgentEvent { kind, ..AgentEvent::clone(event) });
            }
            None => self.0.event(event),
        }
    }
}
