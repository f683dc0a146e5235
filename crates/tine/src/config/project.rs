//! The settings that a trusted project may decide: it narrows, and it chooses within the user's own limits.

use std::path::Path;

use tine_guard::PermissionMode;
use tine_model::{Effort, ModelRef, Provider};
use tine_sim::Scenario;

use super::{Config, ConfineTable, File, ForkTable, WorkersTable, WorktreeTable};
use crate::fail::Failure;
use crate::model::OUTPUT_TOKENS_DEFAULT;
use crate::trust::Withheld;

/// Takes out of a project's file what lies outside the limits of the user's own settings, and says what that was.
pub(super) fn bounded(file: File, user: &Config, path: &Path) -> (File, Vec<Withheld>) {
    let mut withheld = Vec::new();
    let mut refuse = |wish: String, why: String| {
        withheld.push(Withheld { wish, file: path.to_owned(), why });
    };
    let mut file = file;
    if let Some(model) = &file.model
        && let Some(why) = user.model_refusal(model)
    {
        refuse(format!("model = {model}"), why);
        file.model = None;
    }
    let most = user.max_output_tokens.as_ref().map_or(OUTPUT_TOKENS_DEFAULT, |most| most.value);
    if let Some(tokens) = file.max_output_tokens.filter(|tokens| *tokens > most) {
        refuse(format!("max_output_tokens = {tokens}"), format!("your limit is {most}"));
        file.max_output_tokens = None;
    }
    let own = user.effort.as_ref().map(|effort| effort.value.as_str());
    if let Some(effort) = file.effort.take_if(|effort| is_more_effort(effort, own)) {
        refuse(format!("effort = {effort}"), own_value(own));
    }
    let own = user.thinking.as_ref().map(|thinking| thinking.value.as_str());
    if let Some(thinking) = file.thinking.take_if(|thinking| is_more_thinking(thinking, own)) {
        refuse(format!("thinking = {thinking}"), own_value(own));
    }
    let has_repl = user.repl.as_ref().is_some_and(|repl| repl.value);
    if file.repl.take_if(|repl| *repl && !has_repl).is_some() {
        refuse("repl = true".to_owned(), "you have not turned it on".to_owned());
    }
    let own = user.compact.as_ref().map_or("auto", |compact| compact.value.as_str());
    if let Some(compact) = file.compact.take_if(|compact| compact != own) {
        refuse(format!("compact = {compact}"), format!("yours is {own}"));
    }
    (file, withheld)
}

/// Takes the settings of a file that only forbid. They hold although the file has changed since a person trusted it.
pub(super) fn only_narrowing(file: File) -> File {
    File {
        model: None,
        max_output_tokens: None,
        effort: None,
        thinking: None,
        stream: None,
        repl: None,
        compact: None,
        ..file
    }
}

impl Config {
    /// The reason why a project may not choose this model; `None` where it may. A project chooses among the models of providers
    /// that the user's own settings name. It never chooses a scenario in a file, whose answers the project would write itself.
    pub(crate) fn model_refusal(&self, model: &str) -> Option<String> {
        let model: ModelRef = match model.parse() {
            Ok(model) => model,
            Err(error) => return Some(format!("{error}")),
        };
        let provider = model.provider.as_str();
        if model.provider == Provider::Sim && Scenario::built_in(model.scenario().0).is_err() {
            return Some("a project never chooses a scenario in a file".to_owned());
        }
        (!self.providers_allowed.contains(provider)).then(|| {
            format!(
                "your own settings do not name the provider; `[trust] providers = [\"{provider}\"]` in your config.toml allows it"
            )
        })
    }
}

fn own_value(own: Option<&str>) -> String {
    match own {
        Some(own) => format!("yours is {own}"),
        None => "you have set none".to_owned(),
    }
}

/// Returns true for more effort than the user's. Providers differ in what they do without a word, but `low` is never more.
fn is_more_effort(wish: &str, own: Option<&str>) -> bool {
    let most = own.map_or(Some(Effort::Low), Effort::from_name);
    !matches!((Effort::from_name(wish), most), (Some(wish), Some(most)) if wish <= most)
}

/// Returns true for more thinking than the user's, and where that is unclear.
fn is_more_thinking(wish: &str, own: Option<&str>) -> bool {
    let tokens = |thinking: &str| thinking.parse::<u32>().ok();
    match own {
        None => true,
        Some(own) if own == wish => false,
        Some(own) => !matches!((tokens(wish), tokens(own)), (Some(wish), Some(own)) if wish <= own),
    }
}

/// Refuses a file that sets what a project never decides.
pub(super) fn narrowed(file: File, path: &Path) -> Result<File, Failure> {
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
    } else if file
        .permission_mode
        .as_deref()
        .is_some_and(|mode| mode.parse() != Ok(PermissionMode::ReadOnly))
    {
        "permission_mode"
    } else if !file.providers.is_empty() {
        "providers"
    } else if file.cache.is_some() {
        "cache"
    } else if file.requests != Default::default() {
        "requests"
    } else if let Some(key) = confine_key(&file.confine) {
        key
    } else if let Some(key) = worktree_key(&file.worktree) {
        key
    } else if file.gateway != Default::default() {
        "gateway"
    } else if file.cluster != Default::default() {
        "cluster"
    } else if file.away.is_some() {
        "away"
    } else if file.dream.is_some() {
        "dream"
    } else if !file.keys.is_empty() {
        "keys"
    } else if file.terminal != Default::default() {
        "terminal"
    } else if file.trust.is_some() {
        "trust"
    } else if let Some(key) = worker_key(&file.fork, &file.workers) {
        key
    } else {
        return Ok(file);
    };
    Err(Failure::input(format!("{} may not set {refused}", path.display()))
        .hint("a project's file can only narrow permissions; put this into your own config.toml"))
}

/// The setting of confinement that a project may not decide: anything that opens the wall.
fn confine_key(table: &ConfineTable) -> Option<&'static str> {
    if table.workers.as_deref().is_some_and(|word| word != "on") {
        return Some("confine.workers");
    }
    if !table.network().is_none() {
        return Some("confine.network");
    }
    if table.missing.as_deref().is_some_and(|word| word != "refuse") {
        return Some("confine.missing");
    }
    let said = [
        (table.writable.is_some(), "confine.writable"),
        (table.variables.is_some(), "confine.variables"),
        (table.command_cpu_seconds.is_some(), "confine.command_cpu_seconds"),
        (table.command_memory_mib.is_some(), "confine.command_memory_mib"),
        (table.command_processes.is_some(), "confine.command_processes"),
    ];
    said.into_iter().find_map(|(is_said, key)| is_said.then_some(key))
}

/// The setting of worktrees that a project may not decide: where files go, and what is run.
fn worktree_key(table: &WorktreeTable) -> Option<&'static str> {
    let said = [
        (table.enabled == Some(true), "worktree.enabled"),
        (table.directory.is_some(), "worktree.directory"),
        (table.setup.is_some(), "worktree.setup"),
        (table.setup_time.is_some(), "worktree.setup_time"),
        (table.setup_network.is_some(), "worktree.setup_network"),
        (table.ports.is_some(), "worktree.ports"),
        (table.first_port.is_some(), "worktree.first_port"),
        (table.environment.is_some(), "worktree.environment"),
        (table.accept_edits == Some(true), "worktree.accept_edits"),
    ];
    said.into_iter().find_map(|(is_said, key)| is_said.then_some(key))
}

/// The setting of workers that a project may not decide: it may turn them off, and start no more of them.
fn worker_key(fork: &ForkTable, workers: &WorkersTable) -> Option<&'static str> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Setting;

    fn set<T>(value: T) -> Option<Setting<T>> {
        Some(Setting { value, origin: "/c.toml".to_owned() })
    }

    /// The wishes of a project's file that are withheld from a user.
    fn withheld(user: &Config, project: &str) -> String {
        let path = Path::new("/p/.tine/config.toml");
        let file = super::super::parse(project, path).unwrap();
        let (_, withheld) = bounded(narrowed(file, path).unwrap(), user, path);
        let lines = withheld.iter().map(|one| format!("{}: {}", one.wish, one.why));
        lines.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_project_chooses_among_the_providers_of_its_user() {
        let mut user = Config { model: set("anthropic/a".to_owned()), ..Config::default() };
        user.allow_providers(Some("gemini/b")).unwrap();
        let refusal = |model: &str| user.model_refusal(model).unwrap_or_default();
        assert_eq!((refusal("anthropic/c"), refusal("gemini/c")), (String::new(), String::new()));
        let models = ["openai/c", "sim/echo", "sim/./e.toml", "sim/e.toml@openai", "sim/", "echo"];
        insta::assert_snapshot!(models.map(refusal).join("\n"), @r#"
        your own settings do not name the provider; `[trust] providers = ["openai"]` in your config.toml allows it
        your own settings do not name the provider; `[trust] providers = ["sim"]` in your config.toml allows it
        a project never chooses a scenario in a file
        a project never chooses a scenario in a file
        `sim/` is not a model: models are written provider/name
        `echo` is not a model: models are written provider/name
        "#);
        user.providers_allowed.insert("sim".to_owned());
        let refusal = |model: &str| user.model_refusal(model).unwrap_or_default();
        assert_eq!(refusal("sim/echo"), "");
        for path in ["sim/./echo", "sim//tmp/e.toml", "sim/../echo", "sim/e@gemini", "sim/ECHO"] {
            assert_eq!(refusal(path), "a project never chooses a scenario in a file", "{path}");
        }
    }

    #[test]
    fn limits_stay_at_or_below_those_of_the_user() {
        let wishes = "max_output_tokens = 16385\neffort = \"medium\"\nthinking = \"1\"\nrepl = true\ncompact = \"off\"";
        insta::assert_snapshot!(withheld(&Config::default(), wishes), @"
        max_output_tokens = 16385: your limit is 16384
        effort = medium: you have set none
        thinking = 1: you have set none
        repl = true: you have not turned it on
        compact = off: yours is auto
        ");
        let user = Config {
            max_output_tokens: set(20_000),
            effort: set("medium".to_owned()),
            thinking: set("100".to_owned()),
            repl: set(true),
            compact: set("off".to_owned()),
            ..Config::default()
        };
        assert_eq!(withheld(&user, wishes), "");
        let above = "max_output_tokens = 20001\neffort = \"high\"\nthinking = \"adaptive\"\ncompact = \"auto\"";
        insta::assert_snapshot!(withheld(&user, above), @"
        max_output_tokens = 20001: your limit is 20000
        effort = high: yours is medium
        thinking = adaptive: yours is 100
        compact = auto: yours is off
        ");
        assert_eq!(withheld(&Config::default(), "effort = \"low\"\nrepl = false"), "");
        assert!(!withheld(&user, "effort = \"maximal\"").is_empty());
    }
}
