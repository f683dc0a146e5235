//! `/fan` and `/task`: commands of the command line that start workers, with the agent that the person sees in its place.

use tine_model::{AgentId, AgentState, TaskRecord, TaskStatus};
use tine_runtime::{ForkWords, parse_fork};

use super::command_line::{CommandLine, OPEN_QUOTE};
use super::commands::GO_ON;
use super::{App, Effect, Face};

/// A command that starts workers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WorkerLine {
    /// What was typed.
    pub(crate) typed: String,
    /// The agent that the reports are for; `None` for one that is to be made.
    pub(crate) agent: Option<AgentId>,
    /// The command on the command line.
    pub(crate) command: &'static [&'static str],
    /// Whether the agent stands behind the command.
    pub(crate) names_agent: bool,
    /// What follows.
    pub(crate) rest: Vec<String>,
}

impl WorkerLine {
    /// The words on the command line.
    pub(crate) fn words(&self, agent: AgentId) -> Vec<String> {
        let command = self.command.iter().map(|word| (*word).to_owned());
        let agent = self.names_agent.then(|| agent.to_string());
        command.chain(agent).chain(self.rest.iter().cloned()).collect()
    }
}

impl App {
    /// `/fan` and `/task`.
    pub(super) fn workers_command(&mut self, name: &'static str, rest: &str) -> Vec<Effect> {
        let typed = format!("/{name} {rest}");
        match self.workers_effect(name, rest, typed.trim_end()) {
            Ok(effect) => vec![effect],
            Err(why) => {
                self.input().set(typed.trim_end());
                self.refuse(&why)
            }
        }
    }

    /// Puts a line that did nothing back where it was typed. Without a screen nothing stands in a line.
    pub(super) fn give_back(&mut self, agent: Option<AgentId>, text: &str) {
        let room = agent.and_then(|agent| self.rooms.get_mut(&agent));
        let input = room.map_or(&mut self.lobby, |room| &mut room.input);
        if input.is_empty() && self.face == Face::Screen {
            input.set(text);
        }
    }

    /// Takes up the workers of an agent that were interrupted, as `tine task resume` does.
    pub(super) fn resume_workers(&self, spawner: AgentId) -> Vec<Effect> {
        let is_cut_off = |task: &&TaskRecord| {
            let status = matches!(task.status, TaskStatus::Interrupted | TaskStatus::Lost);
            let lives =
                self.record(task.agent).is_some_and(|agent| agent.state != AgentState::Dead);
            task.spawner == spawner && task.cleared_ms.is_none() && status && lives
        };
        let mut cut_off: Vec<AgentId> =
            self.tasks.values().filter(is_cut_off).map(|task| task.agent).collect();
        cut_off.sort();
        let resume = |worker: AgentId| {
            Effect::StartWorkers(WorkerLine {
                typed: format!("/task resume {} \"{GO_ON}\"", worker.short()),
                agent: Some(spawner),
                command: &["task", "resume"],
                names_agent: false,
                rest: vec![worker.to_string(), GO_ON.to_owned()],
            })
        };
        cut_off.into_iter().map(resume).collect()
    }

    fn workers_effect(&self, name: &str, rest: &str, typed: &str) -> Result<Effect, String> {
        let (first, behind) = rest.split_at(rest.find(char::is_whitespace).unwrap_or(rest.len()));
        let work =
            |command: &'static [&'static str], names_agent, rest: &str, agent: Option<AgentId>| {
                let rest = shell_words::split(rest).map_err(|_| OPEN_QUOTE)?;
                if agent.is_none() && self.new_model.is_none() {
                    return Err("there is no model yet; choose one first, by its number".to_owned());
                }
                let typed = typed.to_owned();
                Ok(Effect::StartWorkers(WorkerLine { typed, agent, command, names_agent, rest }))
            };
        match (name, first) {
            ("fan", text) if text.starts_with(['"', '\'']) => {
                Err("each task stands behind -d: /fan -d \"one way\" -d \"another\"".to_owned())
            }
            // Another agent may be named, as everywhere.
            ("fan", named) if !named.is_empty() && !named.starts_with('-') => {
                work(&["fan"], true, behind, Some(self.find(named)?))
            }
            ("fan", _) => work(&["fan"], true, rest, self.focus),
            (_, "start") => work(&["task", "start"], true, behind, self.focus),
            (_, "resume") if self.focus.is_none() => {
                Err("there is no agent yet; /resume AGENT goes to one".to_owned())
            }
            (_, "resume") => work(&["task", "resume"], false, behind, self.focus),
            (_, "list" | "hide" | "clear") => {
                let line = CommandLine::read(&["task", first], behind)?;
                Ok(Effect::Report(line.about(self.focus)))
            }
            (_, _) => Ok(Effect::Report(CommandLine::read(&["task"], rest)?)),
        }
    }

    /// `/fork` before there is an agent: nothing can be inherited, so a new agent begins with the prompt. Where the fork is to be more than that, it is
    /// made of a new agent to which nothing was said.
    pub(super) fn fork_of_nothing(&mut self, rest: &str) -> Vec<Effect> {
        let words = match parse_fork(rest) {
            Ok(words) => words,
            Err(error) => {
                self.give_back(None, format!("/fork {rest}").trim_end());
                return self.refuse(&error.to_string());
            }
        };
        match words.prompt.clone() {
            None => self.refuse("there is no agent yet; say something first, or /fork \"prompt\""),
            Some(_) if words.at.is_some() => self.refuse("there is no agent yet, and no entry"),
            Some(prompt)
                if words == ForkWords { prompt: Some(prompt.clone()), ..ForkWords::default() } =>
            {
                self.say_in_lobby(prompt)
            }
            Some(_) if self.new_model.is_none() => {
                self.refuse("there is no model yet; choose one first, by its number")
            }
            Some(_) => vec![Effect::BeginFork(words)],
        }
    }
}

#[cfg(test)]
#[path = "workers_tests.rs"]
mod tests;
