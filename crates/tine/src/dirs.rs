//! Where tine keeps its files.

use std::path::{Path, PathBuf};

use etcetera::{BaseStrategy, base_strategy::Xdg};

use crate::fail::Failure;

/// The user's directories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Dirs {
    /// The user's configuration file.
    pub(crate) config_file: PathBuf,
    /// What the user knows better of models than the file that ships with tine.
    pub(crate) models_file: PathBuf,
    /// Agents that the user has defined.
    pub(crate) agents: PathBuf,
    /// The database.
    pub(crate) database: PathBuf,
    /// Lock files of running processes. Beside the database, so that all who share one share the other.
    pub(crate) owners: PathBuf,
    /// What processes in the background have to say.
    pub(crate) logs: PathBuf,
    /// Worktrees of agents.
    pub(crate) worktrees: PathBuf,
    /// Notes of projects.
    pub(crate) memory: PathBuf,
    /// Records of the content that the user has trusted. Below the directory of the database, which no agent's command writes.
    pub(crate) trust: PathBuf,
}

impl Dirs {
    /// The file of the keys that `tine login` has stored. Beside the database, where no agent's command reads or writes.
    pub(crate) fn credentials(&self) -> PathBuf {
        self.database.with_file_name("credentials.json")
    }

    /// The file of what servers of models have said of themselves.
    pub(crate) fn servers(&self) -> PathBuf {
        self.database.with_file_name("servers.json")
    }

    /// The texts that were sent in the terminal. Beside the database, where no agent's command reads or writes.
    pub(crate) fn history(&self) -> PathBuf {
        self.database.with_file_name("history.jsonl")
    }

    /// The sockets by which forks reach gateways. Beside the database, where no agent's command reads or writes.
    pub(crate) fn gateways(&self) -> PathBuf {
        self.database.with_file_name("gateways")
    }

    /// The folder of a worker of the cluster. Beside the database, where no agent's command reads or writes.
    pub(crate) fn worker(&self) -> PathBuf {
        self.database.with_file_name("worker")
    }

    /// The file in which simulators keep their caches.
    pub(crate) fn simulator_cache(&self) -> PathBuf {
        self.database.with_file_name("simulator-cache")
    }

    /// The directories that hold tine's own files, without links.
    pub(crate) fn own_directories(&self) -> Vec<PathBuf> {
        let holding = [self.config_file.parent(), self.database.parent(), Some(&self.logs)];
        let mut own: Vec<PathBuf> = holding.into_iter().flatten().map(real).collect();
        own.sort();
        own.dedup();
        own
    }

    /// tine's own files: each of its directories as a whole, or the single files in it where somebody works in that directory.
    pub(crate) fn own(&self, directory: &Path) -> Vec<PathBuf> {
        let beside = |ending: &str| {
            let mut name = self.database.clone().into_os_string();
            name.push(ending);
            PathBuf::from(name)
        };
        let database = ["", "-wal", "-shm", "-journal"].map(beside);
        let (servers, history) = (self.servers(), self.history());
        let (credentials, gateways) = (self.credentials(), self.gateways());
        let history_lock = crate::history::lock_path(&history);
        let others = [
            &servers,
            &credentials,
            &gateways,
            &history,
            &history_lock,
            &self.config_file,
            &self.models_file,
            &self.agents,
            &self.owners,
            &self.logs,
            &self.trust,
        ];
        let files: Vec<PathBuf> = database.iter().chain(others).map(|path| real(path)).collect();
        let mut own = Vec::new();
        for folder in self.own_directories() {
            if directory.starts_with(&folder) {
                own.extend(files.iter().filter(|file| file.starts_with(&folder)).cloned())
            } else {
                own.push(folder)
            }
        }
        own
    }

    /// `TINE_HOME` for everything, else the XDG directories.
    pub(crate) fn find(variable: &dyn Fn(&str) -> Option<String>) -> Result<Self, Failure> {
        if let Some(home) = variable("TINE_HOME").filter(|home| !home.is_empty()) {
            let home = std::path::absolute(Path::new(&home)).unwrap_or_else(|_| home.into());
            return Ok(Self {
                config_file: home.join("config.toml"),
                models_file: home.join("models.toml"),
                agents: home.join("agents"),
                database: home.join("tine.db"),
                owners: home.join("run"),
                logs: home.join("log"),
                worktrees: home.join("worktrees"),
                memory: home.join("memory"),
                trust: home.join("trust"),
            });
        }
        let xdg = Xdg::new().map_err(|_| {
            Failure::input("no home directory")
                .hint("set HOME, or TINE_HOME to a directory for tine's files")
        })?;
        Ok(Self {
            config_file: xdg.config_dir().join("tine/config.toml"),
            models_file: xdg.config_dir().join("tine/models.toml"),
            agents: xdg.config_dir().join("tine/agents"),
            database: xdg.data_dir().join("tine/tine.db"),
            owners: xdg.data_dir().join("tine/run"),
            logs: xdg.state_dir().unwrap_or_else(|| xdg.data_dir()).join("tine/log"),
            worktrees: xdg.data_dir().join("tine/worktrees"),
            memory: xdg.data_dir().join("tine/memory"),
            trust: xdg.data_dir().join("tine/trust"),
        })
    }
}

/// Where a path leads, as far as it is there.
fn real(path: &Path) -> PathBuf {
    tine_guard::real_path(path).unwrap_or_else(|_| path.to_owned())
}
