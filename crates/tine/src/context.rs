//! A command's surroundings: its settings, its directory and the runtime.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tine_model::{AgentId, AgentRecord, EntryId};
use tine_runtime::{Runtime, SharedMode, attributed};
use tokio::time::Instant;

use crate::config::Config;
use crate::connect;
use crate::fail::Failure;
use tine_tui::WorkerSeams;

/// The terminal in which a command was typed that starts workers.
#[derive(Clone)]
pub(crate) struct InTerminal {
    pub(crate) seams: WorkerSeams,
    /// The permission mode of the session.
    pub(crate) mode: SharedMode,
}

/// A command's surroundings.
#[derive(Clone)]
pub(crate) struct Context {
    pub(crate) config: Config,
    /// The directory that the command works in; absolute.
    pub(crate) directory: PathBuf,
    /// Whether that was asked for, and is not simply where the command was typed.
    pub(crate) directory_is_asked: bool,
    pub(crate) runtime: Arc<Runtime>,
    /// Makes the runtime's clients; servers that are found are told to it.
    pub(crate) models: Arc<connect::Models>,
    /// The file of what was sent in the terminal.
    pub(crate) history: PathBuf,
    /// Where processes in the background write what they have to say.
    pub(crate) logs: PathBuf,
    /// The directory of a worker of the cluster, for what it keeps and for its runs.
    pub(crate) worker: PathBuf,
    /// When a process was last started that follows runs on other machines.
    pub(crate) attended: Arc<Mutex<Option<Instant>>>,
    /// The log of this process, where it is such a one.
    pub(crate) detached: Option<PathBuf>,
    /// The agent whose command this process is.
    pub(crate) caller: Option<AgentRecord>,
    /// The terminal that shows its workers and puts their questions; `None` where the command has streams of its own.
    pub(crate) terminal: Option<InTerminal>,
}

impl Context {
    /// Returns true, and notes the time, unless it did so less than `once` ago.
    pub(crate) fn is_due_to_attend(&self, once: Duration) -> bool {
        let mut attended = self.attended.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = attended.is_none_or(|last| last.elapsed() >= once);
        if is_due {
            *attended = Some(Instant::now());
        }
        is_due
    }

    /// The agent that a user means by `text`.
    pub(crate) async fn agent(&self, text: &str) -> Result<AgentId, Failure> {
        match self.last_guest(text).await? {
            Some(guest) => Ok(guest),
            None => Ok(self.runtime.resolve(text).await?),
        }
    }

    /// The last conversation of another program here, where `text` asks for it as `claude:last` does; `None` for any other text.
    async fn last_guest(&self, text: &str) -> Result<Option<AgentId>, Failure> {
        let hosts = [
            ("claude:last", "claude-code", "Claude Code", "claude"),
            ("codex:last", "codex", "Codex", "codex"),
        ];
        let Some((_, host, name, program)) = hosts.into_iter().find(|(last, ..)| *last == text)
        else {
            return Ok(None);
        };
        let last = self.runtime.last_guest(host, &self.directory).await?;
        last.map(Some).ok_or_else(|| {
            let directory = self.directory.display();
            Failure::input(format!("no conversation of {name} in {directory} has passed a gateway"))
                .hint(format!("`tine with {program}` starts it with one; `tine import {text}` takes over what it has kept itself"))
        })
    }

    /// The agent that a user means by `text`, and an entry of it where `text` ends in one, as in `e0c8d1c9@2`: so lists write a fork
    /// point.
    pub(crate) async fn agent_at(&self, text: &str) -> Result<(AgentId, Option<EntryId>), Failure> {
        if let Some(guest) = self.last_guest(text).await? {
            return Ok((guest, None));
        }
        let whole = self.runtime.resolve(text).await;
        let parts = text.rsplit_once('@').and_then(|(agent, entry)| {
            let is_number = entry.bytes().all(|byte| byte.is_ascii_digit());
            Some((agent, EntryId(entry.parse().ok().filter(|_| is_number)?)))
        });
        match (whole, parts) {
            // A name may hold an `@`, too.
            (Ok(agent), _) => Ok((agent, None)),
            (Err(_), Some((agent, entry))) => Ok((self.agent(agent).await?, Some(entry))),
            (Err(error), None) => Err(error.into()),
        }
    }

    /// The words of this command as their reader sees them: those of an agent's command are that agent's, also where it speaks
    /// through a shell, and no frame of tine's.
    pub(crate) fn words(&self, text: String) -> String {
        attributed(self.caller.as_ref().map(|caller| caller.id), text)
    }
}
