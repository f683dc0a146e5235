//! Errands beside runs and forks: questions beside the conversation, the person's own commands, the files that can be named.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

use ignore::WalkBuilder;
use tine_model::{AgentId, StopKind};
use tine_runtime::{CachePolicy, ForkWords, Receipt, RuntimeError, Side, StopSpec};
use tokio_util::sync::CancellationToken;

use super::hands::{Hands, STOP_PATIENCE};
use crate::app::{Event, SideEvent, Tone};
use crate::figures::plural;
use crate::host::HistoryEntry;

/// Most files that are offered. A tree with more is searched by its beginning.
const FILES_MAX: usize = 50_000;

/// What stops the errands that the person can stop.
#[derive(Debug, Default)]
pub(super) struct Stops {
    pub(super) side: CancellationToken,
    pub(super) shell: CancellationToken,
}

impl Hands {
    fn renewed(&self, of: impl Fn(&mut Stops) -> &mut CancellationToken) -> CancellationToken {
        let mut stops = self.stops.lock().unwrap_or_else(PoisonError::into_inner);
        let token = self.end.child_token();
        *of(&mut stops) = token.clone();
        token
    }

    pub(super) fn end_errand(&self, of: impl Fn(&mut Stops) -> &mut CancellationToken) {
        of(&mut self.stops.lock().unwrap_or_else(PoisonError::into_inner)).cancel();
    }

    /// Writes texts down that were sent, one after the other.
    pub(super) fn keep_in_history(self: &Arc<Self>, entries: Vec<HistoryEntry>) {
        if entries.is_empty() {
            return;
        }
        let hands = Arc::clone(self);
        self.go(async move {
            for entry in entries {
                hands.host.keep_in_history(entry).await;
            }
        });
    }

    /// Asks beside the conversation.
    pub(super) async fn side(&self, agent: AgentId, question: &str) {
        let cancel = self.renewed(|stops| &mut stops.side);
        let push = |event| self.inbox.push(Event::Side(event));
        let mut sees = |delta: &str| push(SideEvent::Said(delta.to_owned()));
        let asked = (agent, question);
        match self.runtime().side(asked, CachePolicy::default(), &mut sees, &cancel).await {
            Ok(side) => push(SideEvent::Done(Box::new(side))),
            // Who took the question back knows why there is no answer.
            Err(_) if cancel.is_cancelled() => {}
            Err(error) => push(SideEvent::Failed(self.host.told(error).0)),
        }
    }

    /// Makes a fork of a question and its answer.
    pub(super) async fn promote(&self, side: &Side) {
        match self.runtime().promote(side).await {
            Ok(made) => {
                self.inbox.push(Event::Forked(Box::new((made, ForkWords::default()))));
                self.read(side.agent, None).await.ok();
            }
            Err(error) => {
                self.inbox.push(Event::NotForked(side.agent, self.host.told(error).0));
            }
        }
        self.registry().await.ok();
    }

    /// Runs a command of the person's, and lets the agent know of it.
    pub(super) async fn shell(&self, agent: Option<AgentId>, command: &str) {
        let cancel = self.renewed(|stops| &mut stops.shell);
        let done = self.shell_in(agent, command, &cancel).await;
        let said = match done {
            Ok(said) => said,
            Err(error) => Some(self.host.told(error).0),
        };
        self.inbox.push(Event::ShellOver(said));
    }

    async fn shell_in(
        &self,
        agent: Option<AgentId>,
        command: &str,
        cancel: &CancellationToken,
    ) -> Result<Option<String>, RuntimeError> {
        let directory = self.directory(agent).await?;
        let ran = self.runtime().run_user_command(&directory, command, cancel).await?;
        let said = format!("$ {}\n{}", ran.command, ran.output);
        if cancel.is_cancelled() {
            return Ok(Some(said));
        }
        let Some(agent) = agent else {
            self.untold.lock().unwrap_or_else(PoisonError::into_inner).push(ran);
            return Ok(Some(format!("{said}\n(the agent that begins here reads it)")));
        };
        match self.runtime().tell_of_command(agent, &ran).await? {
            tine_runtime::Arrival::Appended(_) => {
                self.read(agent, None).await?;
                Ok(None)
            }
            tine_runtime::Arrival::Mailed(_) => {
                Ok(Some(format!("{said}\n(the agent reads it at its next turn)")))
            }
        }
    }

    /// Where an agent works; where a new one would, without one.
    async fn directory(&self, agent: Option<AgentId>) -> Result<PathBuf, RuntimeError> {
        match agent {
            None => Ok(self.host.directory()),
            Some(agent) => Ok(self.runtime().agent(agent).await?.directory.into()),
        }
    }

    /// Finds the files that can be named.
    pub(super) async fn files(&self, agent: Option<AgentId>) -> Result<(), RuntimeError> {
        let directory = self.directory(agent).await?;
        let found = tokio::task::spawn_blocking(move || files_below(&directory)).await;
        self.inbox.push(Event::Files(agent, found.unwrap_or_default()));
        Ok(())
    }

    /// Takes the dead off the lists.
    pub(super) async fn reap(&self, agent: Option<AgentId>) -> Result<(), RuntimeError> {
        let text = match self.runtime().reap(agent).await?.len() {
            0 => "No dead agents to hide".to_owned(),
            count => format!("Hid {}", plural(count as u64, "agent")),
        };
        self.tell(None, Tone::Plain, text);
        self.registry().await
    }

    /// Interrupts an agent, or it and all below it, and says what was stopped.
    pub(super) async fn stop(&self, agent: AgentId, cascade: bool) -> Result<(), RuntimeError> {
        let spec = StopSpec { agent, how: StopKind::Interrupt, cascade };
        let receipts = self.runtime().stop(spec, STOP_PATIENCE, &self.end).await?;
        let lines: Vec<String> = receipts.iter().map(receipt_line).collect();
        if !lines.is_empty() {
            self.tell(Some(agent), Tone::Plain, lines.join("\n"));
        }
        Ok(())
    }
}

/// What was stopped, in a line.
fn receipt_line(receipt: &Receipt) -> String {
    let name = receipt.name.clone().unwrap_or_else(|| receipt.agent.short());
    let [turns, calls] = [(receipt.turns, "request"), (receipt.tool_uses, "tool call")]
        .map(|(count, what)| plural(count as u64, what));
    let state = if receipt.over { "stopped" } else { "stops" };
    format!("{name} {state} after {turns} and {calls}")
}

/// Paths of the files below a directory that git would not ignore, in order.
fn files_below(directory: &Path) -> Vec<String> {
    let walk =
        WalkBuilder::new(directory).require_git(false).hidden(false).filter_entry(not_git).build();
    let files = walk
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
    let path = |entry: ignore::DirEntry| {
        Some(entry.path().strip_prefix(directory).ok()?.to_str()?.to_owned())
    };
    let mut files: Vec<String> = files.filter_map(path).take(FILES_MAX).collect();
    files.sort();
    files
}

fn not_git(entry: &ignore::DirEntry) -> bool {
    entry.file_name() != ".git"
}
