//! Reading the settings and opening the store, for a command.

use std::path::PathBuf;
use std::sync::Arc;

use tine_fork::host::{SystemClock, SystemIds};
use tine_runtime::{Connector, Ports, Runtime, WaitListener, sweep_owners};
use tine_tools::clear_temporary;
use tine_tui::words::STORE_WAITS;

use crate::caching;
use crate::config::{Config, Sources};
use crate::connect;
use crate::context::Context;
use crate::crew::defined;
use crate::dirs::Dirs;
use crate::environment::variable;
use crate::fail::Failure;
use crate::inside;
use crate::instructions::Instructions;
use crate::keep_rule::UserRules;
use crate::memory;
use crate::output;
use crate::trust::notes;
use crate::worktree;

/// The options of the command line that decide a command's surroundings.
#[derive(Debug, Default)]
pub(crate) struct Surroundings {
    /// The directory that was asked for.
    pub(crate) directory: Option<PathBuf>,
    /// The log of a process in the background.
    pub(crate) detached: Option<PathBuf>,
    /// Trust the content of the directory for this process alone.
    pub(crate) trusts_once: bool,
}

impl Context {
    /// Reads the settings and opens the store.
    pub(crate) async fn open(surroundings: Surroundings) -> Result<Self, Failure> {
        let Surroundings { directory, detached, trusts_once } = surroundings;
        let directory_is_asked = directory.is_some();
        let directory = work_directory(directory)?;
        let dirs = Dirs::find(&variable)?;
        let (history, worker) = (dirs.history(), dirs.worker());
        let config = Config::load(Sources {
            dirs: &dirs,
            directory: &directory,
            variable: &variable,
            trusts_once,
        })?;
        let models = Arc::new(
            connect::Models::of(&config)?.remembering(dirs.servers(), dirs.simulator_cache()),
        );
        let ports = Ports {
            clock: Arc::new(SystemClock),
            ids: Arc::new(SystemIds),
            models: Arc::clone(&models) as Arc<dyn Connector>,
            facts: Arc::new(caching::models(&dirs.models_file)),
        };
        let repl = config.repl.as_ref().is_some_and(|repl| repl.value);
        if repl && !cfg!(feature = "repl") {
            return Err(Failure::usage(
                "the setting `repl` is true, and this build of tine runs no scripts",
            )
            .hint("set it to false, or build tine with `--features repl`"));
        }
        sweep_owners(&dirs.owners);
        clear_temporary();
        let unheard: WaitListener = Arc::new(say_wait);
        let runtime = Runtime::open(dirs.database.clone(), dirs.owners, ports, Some(unheard))
            .await?
            .with_repl(repl)
            .with_memory(memory::places(&config, dirs.memory)?)
            .with_rule_book(Arc::new(UserRules { file: config.user_file.clone() }))
            .with_crew(config.workers.depth != Some(0))
            .with_compaction(compacts(&config)?);
        let caller = inside::caller(&runtime).await?;
        let worktrees = worktree::policy(&config, &dirs.worktrees, caller.is_none())?;
        let runtime = worktrees.into_iter().fold(runtime, Runtime::with_worktrees);
        if caller.is_none() {
            runtime.sweep_at_start().await;
        }
        Ok(Self {
            config,
            directory,
            directory_is_asked,
            runtime: Arc::new(runtime),
            history,
            models,
            logs: dirs.logs,
            worker,
            attended: Arc::default(),
            detached,
            caller,
            terminal: None,
        })
    }

    /// Says which of the directory's own settings, agents and instructions do not count here. A process in the background says nothing:
    /// the one that started it has.
    pub(crate) fn say_untrusted(&self) {
        if self.detached.is_none() {
            self.untrusted().iter().for_each(|note| output::say(&format!("note: {note}")));
        }
    }

    /// The directory's own settings, agents and instructions that do not count here, each on one line.
    pub(crate) fn untrusted(&self) -> Vec<String> {
        let agents = defined(&self.config, &self.directory).map(|(_, withheld)| withheld);
        let withheld = [self.config.withheld.clone(), agents.unwrap_or_default()].concat();
        // So is a file of instructions that cannot be read.
        let instructions = Instructions::find(&self.directory).unwrap_or_default();
        notes(&self.config.projects, &withheld).into_iter().chain(instructions.left_out).collect()
    }
}

/// Reads the setting that turns compaction on or off.
pub(crate) fn compacts(config: &Config) -> Result<bool, Failure> {
    match config.compact.as_ref().map(|setting| (setting.value.as_str(), &setting.origin)) {
        None | Some(("auto", _)) => Ok(true),
        Some(("off", _)) => Ok(false),
        Some((word, origin)) => {
            Err(Failure::input(format!("unknown compact `{word}` in {origin}"))
                .hint("it is auto or off"))
        }
    }
}

/// Says that a write waits for another process. A terminal that is drawn on shows no line of this kind.
fn say_wait() {
    if !output::is_screen_drawn() {
        output::say(&format!("note: {STORE_WAITS}"));
    }
}

/// The directory that a command works in; absolute.
pub(crate) fn work_directory(asked: Option<PathBuf>) -> Result<PathBuf, Failure> {
    let path = asked.unwrap_or_else(|| PathBuf::from("."));
    let found = std::fs::canonicalize(&path).map_err(|error| {
        Failure::input(format!("cannot work in {}", path.display()))
            .because(&error)
            .hint("-C takes the directory to work in")
    })?;
    match std::fs::metadata(&found) {
        Ok(metadata) if metadata.is_dir() => Ok(found),
        Ok(_) => Err(Failure::input(format!("{} is not a directory", path.display()))
            .hint("-C takes the directory to work in")),
        Err(error) => Err(Failure::input(format!("cannot work in {}", path.display()))
            .because(&error)
            .hint("-C takes the directory to work in")),
    }
}
