//! Who else writes where an agent writes: noticed at the first call of a run that changes files, and told once.
//!
//! Nothing is locked and nothing refused: the file tools refuse to overwrite what somebody has changed, and this says why that may
//! happen.

mod snapshot;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tine_fork::neighbour::Neighbour;
use tine_fork::run::{Observer as _, RunEvent};
use tine_guard::{Call, RealCall, Width};
use tine_model::AgentId;
use tine_store::{Fence, NoteWriter, Store};
use tine_tools::ToolOutput;

use crate::events::Teller;
use crate::owner::is_alive;
use crate::ports::Ports;
use snapshot::Snapshot;

/// What the model may do about it.
const ADVICE: &str = "read a file again before you change it, or work in a worktree of your own";

/// Entries of the directory that are looked at to see whether a command changed any: some ten milliseconds. In a larger directory
/// every command counts that may change something.
const ENTRIES_MAX: usize = 5_000;

/// The writing of one run.
pub(crate) struct Writers {
    store: Arc<dyn Store>,
    ports: Ports,
    owners: PathBuf,
    agent: AgentId,
    fence: Fence,
    /// Where the agent works, without links.
    directory: PathBuf,
    teller: Arc<Teller>,
    told: Mutex<Told>,
}

/// What became of the note.
enum Told {
    /// Nobody else was seen.
    Nothing,
    /// A script's call has met somebody; the model hears of it at the end of the script.
    Pending(String),
    /// The model knows.
    Everything,
}

/// A run's own part of it.
pub(crate) struct Writing {
    pub(crate) agent: AgentId,
    pub(crate) fence: Fence,
    pub(crate) directory: PathBuf,
    pub(crate) teller: Arc<Teller>,
}

impl Writers {
    /// Nobody is noted yet. `owners` is where processes say that they are alive.
    pub(crate) fn new(store: &Arc<dyn Store>, ports: &Ports, owners: &Path, run: Writing) -> Self {
        let Writing { agent, fence, directory, teller } = run;
        let (store, ports, owners) = (Arc::clone(store), ports.clone(), owners.to_owned());
        let told = Mutex::new(Told::Nothing);
        Self { store, ports, owners, agent, fence, directory, teller, told }
    }

    /// A look at the directory before a command whose text does not say that it changes nothing; `None` for every other call, and
    /// where nothing is left to be told.
    pub(crate) async fn before(&self, call: &Call<'_>) -> Option<Snapshot> {
        let command = call.shell_text()?;
        if self.is_told() || command.verdict(Width::Strict).read_only {
            return None;
        }
        self.look().await
    }

    /// The result of a call with the note, where there is something to note. `is_inner` says that a script made the call, to which
    /// its results are data.
    pub(crate) async fn noted(
        &self,
        tool: &str,
        (real, before): (Option<&RealCall>, Option<Snapshot>),
        output: ToolOutput,
        is_inner: bool,
    ) -> ToolOutput {
        if !self.is_told() && self.has_changed_files(tool, (real, before), &output).await {
            let met = self.met().await;
            if !met.is_empty() {
                *self.told() = Told::Pending(format!("{}; {ADVICE}", Neighbour::note(&met)));
                self.teller.on_event(RunEvent::Shared(met));
            }
        }
        if is_inner {
            return output;
        }
        match self.take_pending() {
            Some(note) => {
                let gap = if output.text.ends_with('\n') { "" } else { "\n" };
                ToolOutput { text: format!("{}{gap}{note}", output.text), ..output }
            }
            None => output,
        }
    }

    /// The other living agents that write here.
    async fn met(&self) -> Vec<Neighbour> {
        let note = NoteWriter {
            agent: self.agent,
            fence: self.fence,
            directory: self.directory.to_string_lossy().into_owned(),
            now_ms: self.ports.clock.now_ms(),
        };
        let rows = match self.store.note_writer(note).await {
            Ok(rows) => rows,
            Err(error) => {
                tracing::warn!(agent = %self.agent, %error, "cannot see who else writes here");
                return Vec::new();
            }
        };
        let living = rows.into_iter().filter(|row| is_alive(&self.owners, &row.owner));
        living
            .map(|row| Neighbour { agent: row.agent, name: row.name, directory: row.directory })
            .collect()
    }

    /// Whether a call that has run changed files of the directory, as far as that can be seen.
    async fn has_changed_files(
        &self,
        tool: &str,
        (real, before): (Option<&RealCall>, Option<Snapshot>),
        output: &ToolOutput,
    ) -> bool {
        match tool {
            "FileEdit" | "FileWrite" => {
                !output.is_error && real.is_none_or(|real| real.path.starts_with(&self.directory))
            }
            _ => match before {
                None => false,
                Some(before) if !before.is_complete() => true,
                Some(before) => self.look().await.is_none_or(|after| !before.is_unchanged(&after)),
            },
        }
    }

    async fn look(&self) -> Option<Snapshot> {
        let directory = self.directory.clone();
        let looked = tokio::task::spawn_blocking(move || Snapshot::take(&directory, ENTRIES_MAX));
        looked.await.ok()
    }

    fn is_told(&self) -> bool {
        !matches!(*self.told(), Told::Nothing)
    }

    fn take_pending(&self) -> Option<String> {
        let mut told = self.told();
        match std::mem::replace(&mut *told, Told::Everything) {
            Told::Pending(note) => Some(note),
            Told::Everything => None,
            Told::Nothing => {
                *told = Told::Nothing;
                None
            }
        }
    }

    /// A std mutex: every change is one step.
    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
