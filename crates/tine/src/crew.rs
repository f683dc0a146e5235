//! What a run's model may start, from the settings and the files that define agents.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tine_fork::{Inherits, RunEvent, RunLimits, WORKER_TURNS_DEFAULT};
use tine_model::{AgentId, Standing, TaskRecord};
use tine_runtime::{
    AgentDefinition, Crew, CrewWatcher, DEFINITION_BYTES_MAX, Definitions, ForkChoice, SpawnPolicy,
};

use crate::cli::LimitArgs;
use crate::config::{Config, ForkTable, WorkersTable};
use crate::confine::confinement;
use crate::connect::variable;
use crate::dirs::Dirs;
use crate::fail::Failure;

/// Where a project defines agents, below its root.
const PROJECT_AGENTS: &str = ".tine/agents";

/// Most files that are looked at in one directory.
const FILES_MAX: usize = 1_000;

/// Keeps which workers a run has started, and hands everything on.
pub(crate) struct Gathered {
    next: Arc<dyn CrewWatcher>,
    workers: Mutex<Vec<AgentId>>,
}

impl Gathered {
    pub(crate) fn new(next: Arc<dyn CrewWatcher>) -> Self {
        Self { next, workers: Mutex::default() }
    }

    /// The workers, in the order of their starts; each one once, however often it was resumed.
    pub(crate) fn workers(&self) -> Vec<AgentId> {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl CrewWatcher for Gathered {
    fn on_start(&self, worker: AgentId, task: &TaskRecord) {
        let mut workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        if !workers.contains(&worker) {
            workers.push(worker);
        }
        drop(workers);
        self.next.on_start(worker, task);
    }

    fn on_event(&self, worker: AgentId, event: &RunEvent<'_>) {
        self.next.on_event(worker, event);
    }

    fn on_end(&self, task: &TaskRecord) {
        self.next.on_end(task);
    }
}

/// What models may start here, and how it runs.
pub(crate) fn crew(
    config: &Config,
    args: &LimitArgs,
    directory: &Path,
    watcher: Arc<dyn CrewWatcher>,
) -> Result<Crew, Failure> {
    Ok(Crew {
        policy: policy(&config.fork, &config.workers)?,
        limits: RunLimits {
            turns: config.workers.turns.unwrap_or(WORKER_TURNS_DEFAULT),
            ..RunLimits::default()
        },
        confinement: confinement(config, args, Standing::Worker, directory)?,
        confirm_above: config.cache.confirm_above,
        nudges: config.workers.nudge.unwrap_or(true),
        inherits: inherits(&config.workers)?,
        definitions: Arc::new(definitions(directory)?),
        watcher,
    })
}

/// The rules of starting workers.
pub(crate) fn policy(fork: &ForkTable, workers: &WorkersTable) -> Result<SpawnPolicy, Failure> {
    let usual = SpawnPolicy::default();
    Ok(SpawnPolicy {
        fork: match fork.mode.as_deref() {
            None => usual.fork,
            Some("explicit") => ForkChoice::Explicit,
            Some("implicit") => ForkChoice::Implicit,
            Some("off") => ForkChoice::Off,
            Some(word) => {
                return Err(Failure::input(format!("fork.mode cannot be `{word}`"))
                    .hint("it is explicit, implicit or off"));
            }
        },
        coordinator: workers.coordinator.unwrap_or(usual.coordinator),
        depth_max: workers.depth.unwrap_or(usual.depth_max),
        wakes: workers.wake.unwrap_or(usual.wakes),
    })
}

fn inherits(workers: &WorkersTable) -> Result<Inherits, Failure> {
    let mut inherits = Inherits::default();
    for word in workers.inherit.iter().flatten() {
        match word.as_str() {
            "plans" => inherits.plans = true,
            "todos" => inherits.todos = true,
            "goals" => inherits.goals = true,
            other => {
                return Err(Failure::input(format!("workers.inherit cannot hold `{other}`"))
                    .hint("it is a list of plans, todos and goals"));
            }
        }
    }
    Ok(inherits)
}

/// The agents that are defined for the user and for the project; the project's take the place of the user's of the same name.
pub(crate) fn definitions(directory: &Path) -> Result<Definitions, Failure> {
    let mut definitions = Definitions::default();
    let users = Dirs::find(&variable)?.agents;
    let projects = directory.ancestors().map(|above| above.join(PROJECT_AGENTS));
    let project = projects.into_iter().find(|path| path.is_dir() && *path != users);
    for folder in [Some(users), project].into_iter().flatten() {
        for path in markdown(&folder) {
            let definition = read(&path)?;
            if !definitions.add(definition) {
                return Err(Failure::input(format!("{} is one agent too many", path.display()))
                    .hint("a model has to choose among them: take some away"));
            }
        }
    }
    Ok(definitions)
}

/// The Markdown files of a folder, by name. A folder that cannot be read has none.
fn markdown(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.take(FILES_MAX).filter_map(|entry| Some(entry.ok()?.path()));
    let mut paths: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|ending| ending == "md")).collect();
    paths.sort();
    paths
}

fn read(path: &Path) -> Result<AgentDefinition, Failure> {
    let shown = path.display();
    let cannot = || Failure::input(format!("{shown} defines no agent"));
    let hint = "it is Markdown with a head: `---`, `name:` and `description:`, `---`, and the agent's prompt; `tine man` has more";
    let size = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    if size > DEFINITION_BYTES_MAX as u64 {
        return Err(cannot().hint(hint));
    }
    let text = std::fs::read_to_string(path).map_err(|error| cannot().because(&error))?;
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    AgentDefinition::parse(&stem, &text, path.to_owned())
        .map_err(|error| cannot().because(&error).hint(hint))
}
