//! The single checks.

use std::ffi::OsStr;
use std::fs::File;
use std::io::IsTerminal;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tine_model::{ModelRef, Provider};
use tine_runtime::{AgentFilter, Runtime};
use tine_wire::Endpoint;

use super::{Check, MODEL, Status};
use crate::budget::{amount, defaults};
use crate::caching::{policy, read_models};
use crate::cli::{LimitArgs, ModelArgs};
use crate::config::{Config, RuleList, Setting};
use crate::connect::Models;
use crate::connect::ports_without_settings;
use crate::credentials::PROVIDERS;
use crate::crew;
use crate::dirs::Dirs;
use crate::environment::variable;
use crate::fail::Failure;
use crate::limits::{mode, queue, rules};
use crate::model::{default_model, model_settings};
use crate::open::compacts;
use tine_tui::figures::plural;

/// Programs that agents need, and what for.
const PROGRAMS: [(&str, Status, &str); 2] = [
    ("bash", Status::Failure, "the Bash tool runs commands with it"),
    ("git", Status::Warning, "agents use it to see what changed"),
];

pub(super) fn version() -> Check {
    let (system, machine) = (std::env::consts::OS, std::env::consts::ARCH);
    Check::ok("version", format!("tine {} on {system} {machine}", env!("CARGO_PKG_VERSION")))
}

/// The directories that tine writes to.
pub(super) fn directories(dirs: &Dirs) -> Vec<Check> {
    let mut checks = Vec::new();
    for (name, path) in [
        ("data directory", dirs.database.parent()),
        ("lock directory", Some(dirs.owners.as_path())),
    ] {
        let Some(path) = path else { continue };
        checks.push(match is_writable(path) {
            Ok(true) => Check::ok(name, format!("{} is writable", path.display())),
            Ok(false) => {
                Check::ok(name, format!("{} is made when it is first needed", path.display()))
            }
            Err(error) => Check::failure(
                name,
                &Failure::failed(format!("cannot write in {}", path.display()))
                    .because(&error)
                    .hint("make it writable, or set TINE_HOME to a directory that is"),
            ),
        });
    }
    checks
}

/// Whether a file can be made in a directory; `false` when there is no directory yet.
fn is_writable(path: &Path) -> std::io::Result<bool> {
    match path.metadata() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
        Ok(_) => {}
    }
    let probe = path.join(format!(".doctor-{}", std::process::id()));
    File::create_new(&probe)?;
    std::fs::remove_file(&probe)?;
    Ok(true)
}

/// The database, and what dead processes left in it.
pub(super) async fn database(dirs: &Dirs, directory: &Path) -> Vec<Check> {
    match open(dirs, directory).await {
        Err(failure) => vec![Check::failure("database", &failure)],
        Ok(checks) => checks,
    }
}

/// Where conversations lie, and who can read them.
pub(super) fn conversations(dirs: &Dirs) -> Check {
    let (name, path) = ("conversations", dirs.database.display());
    match dirs.database.metadata() {
        Err(_) => Check::ok(name, format!("none yet; they are kept in {path}")),
        Ok(found) if found.permissions().mode() & 0o077 != 0 => {
            Check::warning(name, format!("{path} holds all of them as plain text, and other users of this machine can read it"))
                .hint(format!("`chmod 600 {path}` closes it"))
        }
        Ok(_) => Check::ok(name, format!("{path} holds all of them as plain text, and only you can read it")),
    }
}

async fn open(dirs: &Dirs, directory: &Path) -> Result<Vec<Check>, Failure> {
    let (database, owners) = (dirs.database.clone(), dirs.owners.clone());
    let runtime = Runtime::open(database, owners, ports_without_settings(), None).await?;
    let damage = runtime.find_damage().await?;
    let agents = runtime.agents(AgentFilter::All).await?;
    let count = plural(agents.len() as u64, "agent");
    let path = dirs.database.display();
    let mut checks = vec![Check::ok(
        "database",
        format!("{path} opens, has this version's schema, and holds {count}"),
    )];
    checks.push(match damage.split_first() {
        None => Check::ok("integrity", "every page and reference of the database is whole"),
        Some((first, rest)) => {
            let more = match rest.len() {
                0 => String::new(),
                more => format!(", and {more} more"),
            };
            let found = Check::new("integrity", Status::Failure, format!("{first}{more}"));
            found.hint("`sqlite3 FILE .recover` saves what can still be read into a new file")
        }
    });
    let recovered = runtime.recover().await?;
    let interrupted: Vec<String> = recovered
        .iter()
        .filter(|recovered| recovered.interrupted)
        .map(|recovered| recovered.agent.short())
        .collect();
    checks.push(match (recovered.len(), interrupted.is_empty()) {
        (0, _) => Check::ok("leases", "no agent is held by a dead process"),
        (count, true) => Check::ok("leases", format!("{count} of dead processes cleared away")),
        (_, false) => Check::warning(
            "leases",
            format!("their process died in the middle of a run: {}", interrupted.join(", ")),
        )
        .hint("they are marked as interrupted now; `tine run --resume ID` goes on"),
    });
    checks.extend(super::worktrees::there(&runtime, directory).await?);
    Ok(checks)
}

/// What is set and where it comes from, the keys, and the model that follows from it.
pub(super) fn settings(config: &Config) -> Vec<Check> {
    let files: Vec<String> = config.files.iter().map(|path| path.display().to_string()).collect();
    let mut checks = vec![Check::ok(
        "settings",
        if files.is_empty() {
            "no configuration file".to_owned()
        } else {
            format!("read from {}", files.join(", "))
        },
    )];
    fn set<T: ToString>(name: &str, setting: &Option<Setting<T>>) -> Option<Check> {
        let setting = setting.as_ref()?;
        let detail = format!("{} (from {})", setting.value.to_string(), setting.origin);
        Some(Check::ok(format!("setting {name}"), detail))
    }
    checks.extend(set("model", &config.model));
    checks.extend(set("permission_mode", &config.permission_mode));
    checks.extend(set("max_output_tokens", &config.max_output_tokens));
    checks.extend(set("effort", &config.effort));
    checks.extend(set("thinking", &config.thinking));
    checks.extend(set("compact", &config.compact));
    checks.extend(set("stream", &config.stream));
    checks.extend(set("repl", &config.repl));
    checks.extend(set("requests.patience", &config.patience));
    checks.extend(set("requests.reply_time", &config.reply_time));
    checks.extend(set("permissions.deadline", &config.asking.deadline));
    checks.extend(set("permissions.default", &config.asking.default));
    checks.extend(set("permissions.wait", &config.asking.wait));
    for list in [RuleList::Allow, RuleList::Ask, RuleList::Deny] {
        let rules = config.rules.iter().filter(|rule| rule.list == list);
        let rules: Vec<&str> = rules.map(|rule| rule.text.as_str()).collect();
        if !rules.is_empty() {
            let name = format!("setting permissions.{}", list.as_str());
            checks.push(Check::ok(name, rules.join(", ")));
        }
    }
    let table = &config.cache;
    for (word, value) in [
        ("lifetime", table.lifetime.clone()),
        ("keep_warm", table.keep_warm.map(|on| on.to_string())),
        ("value_per_second", table.value_per_second.map(|dollars| dollars.to_string())),
        ("confirm_above", table.confirm_above.map(|dollars| dollars.to_string())),
    ] {
        checks.extend(value.map(|value| Check::ok(format!("setting cache.{word}"), value)));
    }
    checks.extend(workers(config));
    let refused = refused(config);
    checks.retain(|check| refused.iter().all(|refused| refused.name != check.name));
    checks.extend(refused);
    match defaults(&config.budget) {
        Ok(caps) => checks.extend(caps.into_iter().map(|(cap, most, origin)| {
            let name = format!("setting budget.{}", cap.as_str());
            Check::ok(name, format!("{} (from {origin})", amount(cap, most)))
        })),
        Err(failure) => checks.push(Check::failure("setting budget", &failure)),
    }
    checks.extend(PROVIDERS.iter().filter_map(|provider| key(config, *provider)));
    checks.push(model(config));
    checks
}

/// The settings with which a run or the terminal fails before it begins.
fn refused(config: &Config) -> Vec<Check> {
    let nothing = LimitArgs::default();
    let failures = [
        ("setting permissions", rules(config, &nothing).err()),
        ("setting permissions", queue(config, &nothing).err()),
        ("setting permission_mode", mode(config, &nothing).err()),
        ("setting compact", compacts(config).err()),
        ("setting requests", Models::of(config).err()),
        ("setting cache", policy(config, false).err()),
        ("setting keys", config.key_bindings().err()),
    ];
    failures
        .iter()
        .filter_map(|(name, failure)| Some(Check::failure(*name, failure.as_ref()?)))
        .collect()
}

/// The rules by which models start workers.
fn workers(config: &Config) -> Vec<Check> {
    match crew::policy(&config.fork, &config.workers) {
        Ok(policy) => {
            let line = |(name, what)| Check::ok(format!("workers: {name}"), what);
            policy.describe().into_iter().map(line).collect()
        }
        Err(failure) => vec![Check::failure("workers", &failure)],
    }
}

/// The agents that can be started by name in a directory.
pub(super) fn agents(config: &Config, directory: &Path) -> Check {
    match crew::definitions(config, directory) {
        Ok(definitions) => {
            let names: Vec<&str> = definitions.iter().map(|one| one.name.as_str()).collect();
            match (definitions.faults().next(), names.is_empty()) {
                (Some((_, fault)), _) => Check::warning("agents by name", fault),
                (None, true) => Check::ok("agents by name", "none is defined"),
                (None, false) => Check::ok("agents by name", names.join(", ")),
            }
        }
        Err(failure) => Check::failure("agents by name", &failure),
    }
}

/// What is known of models, and since when.
pub(super) fn models(dirs: &Dirs) -> Check {
    let (models, failure) = read_models(&dirs.models_file);
    match failure {
        Some(failure) => {
            Check { status: Status::Warning, ..Check::failure("prices and cache rules", &failure) }
        }
        None => {
            let own = if dirs.models_file.exists() {
                format!(", with {}", dirs.models_file.display())
            } else {
                String::new()
            };
            Check::ok("prices and cache rules", format!("as of {}{own}", models.date()))
        }
    }
}

/// The address that requests to a provider go to.
fn base_url(config: &Config, provider: Provider) -> Option<String> {
    let endpoint = Endpoint::of(provider)?;
    let configured =
        config.providers.get(provider.as_str()).and_then(|table| table.base_url.clone());
    let named = || variable(endpoint.base_url_variable).filter(|value| !value.trim().is_empty());
    let url = configured.or_else(named).or_else(|| endpoint.base_url.map(str::to_owned));
    // One that holds a password is refused, and not shown.
    url.filter(|url| !url.contains('@'))
}

/// What leaves the machine: requests to the provider of the model, and nothing else.
pub(super) fn leaves(config: &Config) -> Check {
    let model = model_settings(config, &ModelArgs::default()).ok().map(|settings| settings.model);
    let address = model.and_then(|model| base_url(config, model.provider));
    let to = match address {
        Some(url) => format!("to {url}"),
        None => "to the provider of the model that you name; sim/… is none".to_owned(),
    };
    Check::ok(
        "what leaves this machine",
        format!(
            "what a model is asked, {to}. tine itself sends nothing else and to nobody else; commands that agents run reach what you allow them"
        ),
    )
}

/// Whether a provider can be asked, without asking it. A key itself is never shown.
fn key(config: &Config, provider: Provider) -> Option<Check> {
    let endpoint = Endpoint::of(provider)?;
    let table = config.providers.get(provider.as_str()).cloned().unwrap_or_default();
    let name = format!("provider {}", provider.as_str());
    let models = Models::new(config.providers.clone(), Default::default());
    // The address that ships with tine is right.
    if base_url(config, provider).as_deref() != endpoint.base_url
        && let Some(error) = models.wrong_address(provider)
    {
        return Some(Check::failure(name, &Failure::from(&error)));
    }
    let set = |name: &str| variable(name).is_some_and(|value| !value.trim().is_empty());
    let key_variable = table.key_variable.as_deref().unwrap_or(endpoint.key_variable);
    let address = match base_url(config, provider) {
        Some(url) => format!("requests go to {url}"),
        None => format!("no base URL ({} is not set)", endpoint.base_url_variable),
    };
    let token_variable = endpoint.token_variable.filter(|name| set(name));
    let key_variable = token_variable.unwrap_or(key_variable);
    let key = match (set(key_variable), config.credentials.of(provider)) {
        (true, _) => format!("{key_variable} is set"),
        (false, Some(stored)) => format!("its key is {}", stored.origin()),
        (false, None) => format!("{key_variable} is not set"),
    };
    Some(Check::ok(name, format!("{key}; {address}")))
}

fn model(config: &Config) -> Check {
    let origin = default_model(config).map(|setting| setting.origin).unwrap_or_default();
    match model_settings(config, &ModelArgs::default()) {
        Ok(settings) => match missing_key(config, &settings.model) {
            None => Check::ok(MODEL, format!("{} ({origin})", settings.model)),
            Some(key) => Check::warning(
                MODEL,
                format!("{} ({origin}), but {key} is not set", settings.model),
            )
            .hint(format!("set {key}, or name another model with --model")),
        },
        Err(failure) => {
            let failed = Check::failure(MODEL, &failure);
            // Without a model, everything but new agents works; a wrong one is a mistake.
            if origin.is_empty() { Check { status: Status::Warning, ..failed } } else { failed }
        }
    }
}

fn missing_key(config: &Config, model: &ModelRef) -> Option<String> {
    let endpoint = Endpoint::of(model.provider)?;
    let table = config.providers.get(model.provider.as_str());
    let named = table.and_then(|table| table.key_variable.as_deref());
    let is_elsewhere = table.is_some_and(|table| table.base_url.is_some())
        || variable(endpoint.base_url_variable).is_some();
    let names = [named, Some(endpoint.key_variable), endpoint.token_variable];
    let is_set = names.into_iter().flatten().any(|name| variable(name).is_some())
        || config.credentials.of(model.provider).is_some();
    let is_needed = endpoint.key_required && !is_elsewhere;
    (is_needed && !is_set).then(|| named.unwrap_or(endpoint.key_variable).to_owned())
}

/// Looks for programs as a shell would, and starts none of them.
pub(super) fn programs(path: &OsStr) -> Vec<Check> {
    let find = |name: &str| {
        std::env::split_paths(path).map(|place| place.join(name)).find(|file| is_program(file))
    };
    let check = |(name, status, use_): (&str, Status, &str)| match find(name) {
        Some(file) => Check::ok(name, file.display().to_string()),
        None => Check::new(name, status, "not found on PATH")
            .hint(format!("install {name} from your distribution: {use_}")),
    };
    PROGRAMS.into_iter().map(check).collect()
}

fn is_program(file: &Path) -> bool {
    file.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// What the terminal can do; nothing that it lacks is a fault.
pub(super) fn terminal() -> Check {
    let stream = |name: &str, is_terminal: bool| {
        format!("{name} {}", if is_terminal { "is a terminal" } else { "is not a terminal" })
    };
    let mut found = vec![
        stream("stdout", std::io::stdout().is_terminal()),
        stream("stderr", std::io::stderr().is_terminal()),
    ];
    if let Some((width, height)) = terminal_size::terminal_size() {
        found.push(format!("{} columns, {} rows", width.0, height.0));
    }
    found.push(format!("TERM={}", variable("TERM").unwrap_or_default()));
    if variable("NO_COLOR").is_some_and(|value| !value.is_empty()) {
        found.push("no colour (NO_COLOR)".to_owned());
    }
    Check::ok("terminal", found.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_only_where_it_can_be_run() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("bash"), "").unwrap();
        std::fs::create_dir(directory.path().join("git")).unwrap();
        let found = programs(directory.path().as_os_str());
        let statuses: Vec<Status> = found.iter().map(|check| check.status).collect();
        assert_eq!(statuses, [Status::Failure, Status::Warning]);
        assert!(programs("".as_ref()).iter().all(|check| check.hint.is_some()));
    }

    #[test]
    fn a_directory_that_is_a_file_cannot_be_written_in() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(is_writable(file.path()).is_err());
        assert!(matches!(is_writable(&file.path().with_extension("none")), Ok(false)));
    }
}
