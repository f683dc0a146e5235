//! What an agent does at this moment: the reply that comes in, the calls that run. None of it is in the log yet.

use std::time::Duration;

use tine_model::{ToolCallId, Usage};

use super::running::RunningCall;

/// Most characters of one growing text that are kept. A reply beyond this is shown from the log once it is written.
const TEXT_CHARACTERS_MAX: usize = 400_000;

/// Something that happened in a run, as the screen needs it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Happening {
    /// The run began.
    Began,
    /// Its first request waits for another that writes what both share.
    Waiting,
    /// A request went out.
    Request,
    /// The model's words go on.
    Text(String),
    /// Its reasoning goes on.
    Thinking(String),
    /// It writes a call.
    Calling(String),
    /// A call runs.
    ToolStarted {
        /// Which.
        id: ToolCallId,
        /// The tool.
        tool: String,
        /// The call in a line.
        line: String,
    },
    /// The work of a call has begun, or goes on.
    ToolProgress {
        /// Which.
        id: ToolCallId,
        /// The last lines that it has printed, harmless.
        printed: Vec<String>,
    },
    /// A call has its answer.
    ToolFinished(ToolCallId),
    /// A request was answered.
    Answered {
        /// Its tokens.
        usage: Usage,
        /// True where the cache would have served more a while ago.
        is_expired: bool,
    },
    /// It waits for something, which these words say.
    Held(String, Option<Duration>),
    /// Something that the person is to know.
    Warning(String),
    /// A message is in the log.
    Written,
    /// The run is over.
    Ended,
}

/// A run as it is now.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Live {
    /// Reasoning and words of the last turn, which are written down and not read yet.
    pub(crate) said: (String, String),
    /// The turn of the run that those are of.
    pub(crate) said_turn: u64,
    /// The turn that is under way, counted from the beginning of the run.
    pub(crate) turn: u64,
    /// The model's words of this turn.
    pub(crate) text: String,
    /// Its reasoning of this turn.
    pub(crate) thinking: String,
    /// The tool whose arguments come in.
    pub(crate) calling: Option<String>,
    /// Calls that run.
    pub(crate) running: Vec<RunningCall>,
    /// What it waits for.
    pub(crate) held: Option<String>,
    /// When it began, in milliseconds since the Unix epoch.
    pub(crate) began_ms: i64,
    /// True from the answer to a request until the next one goes out.
    is_answered: bool,
    /// Whether it was asked to stop.
    pub(crate) stopping: bool,
}

impl Live {
    /// A run that begins.
    pub(crate) fn begun(now_ms: i64) -> Self {
        Self { began_ms: now_ms, ..Self::default() }
    }

    /// Takes in what happened, at this time.
    pub(crate) fn take(&mut self, happening: &Happening, now_ms: i64) {
        match happening {
            Happening::Began | Happening::Warning(_) | Happening::Ended => {}
            Happening::Waiting => self.held = Some("waiting for a fork's first request".to_owned()),
            Happening::Request => {
                (self.text, self.thinking) = (String::new(), String::new());
                self.turn += 1;
                self.is_answered = false;
                (self.held, self.calling) = (None, None);
            }
            Happening::Text(delta) => {
                self.held = None;
                grow(&mut self.text, delta);
            }
            Happening::Thinking(delta) => {
                self.held = None;
                grow(&mut self.thinking, delta);
            }
            Happening::Calling(tool) => self.calling = Some(tool.clone()),
            Happening::ToolStarted { id, tool, line } => {
                self.calling = None;
                let (id, tool, line) = (id.clone(), tool.clone(), line.clone());
                self.running.push(RunningCall {
                    id,
                    tool,
                    line,
                    began_ms: None,
                    printed: Vec::new(),
                });
            }
            Happening::ToolProgress { id, printed } => {
                if let Some(call) = self.running.iter_mut().find(|call| call.id == *id) {
                    call.began_ms.get_or_insert(now_ms);
                    call.printed.clone_from(printed);
                }
            }
            Happening::ToolFinished(done) => self.running.retain(|call| call.id != *done),
            Happening::Answered { .. } => (self.held, self.is_answered) = (None, true),
            Happening::Held(why, wait) => {
                let at_least = wait.map(|wait| format!(" ({} s)", wait.as_secs().max(1)));
                self.held = Some(format!("{why}{}", at_least.unwrap_or_default()));
            }
            Happening::Written => {
                self.calling = None;
                if !self.text.is_empty() || !self.thinking.is_empty() {
                    self.said_turn = self.turn;
                    self.said =
                        (std::mem::take(&mut self.thinking), std::mem::take(&mut self.text));
                }
            }
        }
    }

    /// What was written down is read now, and shown from there.
    pub(crate) fn forget_said(&mut self) {
        self.said = (String::new(), String::new());
    }

    /// A reply of the log was read, which may be the one of this turn: it is in the log before the run says so.
    pub(crate) fn forget_written(&mut self, reply: &str) {
        if self.text == reply {
            (self.text, self.thinking) = (String::new(), String::new());
        }
    }

    /// Returns true if it has had its answer, and does nothing itself.
    pub(crate) fn is_at_rest(&self) -> bool {
        let says_nothing = self.text.is_empty() && self.thinking.is_empty();
        let does_nothing = self.held.is_none() && self.calling.is_none() && self.running.is_empty();
        self.is_answered && says_nothing && does_nothing && !self.stopping
    }

    /// What it does, in a few words.
    pub(crate) fn doing(&self) -> String {
        if self.stopping {
            return "stopping".to_owned();
        }
        if let Some(why) = &self.held {
            return why.clone();
        }
        match (self.running.as_slice(), &self.calling) {
            ([], Some(tool)) => format!("writing a call of {tool}"),
            ([], None) if !self.text.is_empty() => "answering".to_owned(),
            ([], None) if !self.thinking.is_empty() => "thinking".to_owned(),
            ([], None) => "waiting for the model".to_owned(),
            ([call], _) => format!("running {}", call.tool),
            (several, _) => format!("running {} tools", several.len()),
        }
    }
}

fn grow(text: &mut String, delta: &str) {
    if text.len() + delta.len() <= TEXT_CHARACTERS_MAX {
        text.push_str(delta);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_says_what_it_does() {
        let mut live = Live::begun(0);
        let mut said = vec![live.doing()];
        let id = || ToolCallId("t1".to_owned());
        let (tool, line) = ("Bash".to_owned(), "ls".to_owned());
        for happening in [
            Happening::Waiting,
            Happening::Request,
            Happening::Thinking("hm".into()),
            Happening::Text("I look.".into()),
            Happening::Calling("Bash".into()),
            Happening::ToolStarted { id: id(), tool, line },
            Happening::ToolFinished(id()),
            Happening::Request,
            Happening::Held("retrying: overloaded".into(), Some(Duration::from_millis(2_500))),
        ] {
            live.take(&happening, 0);
            said.push(live.doing());
        }
        insta::assert_snapshot!(said.join("\n"), @"
        waiting for the model
        waiting for a fork's first request
        waiting for the model
        thinking
        answering
        writing a call of Bash
        running Bash
        answering
        waiting for the model
        retrying: overloaded (2 s)
        ");
    }
}
