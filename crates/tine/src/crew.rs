//! What a run's model may start, from the settings and the files that define agents.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tine_fork::run::RunLimits;
use tine_fork::worker::{Inherits, WORKER_TURNS_DEFAULT};
use tine_model::AgentId;
use tine_runtime::{
    AgentDefinition, Crew, DEFINITION_BYTES_MAX, DefinitionError, Definitions, ForkChoice,
    ForkSpec, Inherit, ModelWords, SpawnPolicy,
};

use crate::cli::{LimitArgs, WorkerArgs};
use crate::config::{Config, ForkTable, WorkersTable};
use crate::confine::usual_workers;
use crate::dirs::Dirs;
use crate::environment::variable;
use crate::fail::Failure;
use crate::trust::{AGENTS_FOLDER, Project, TrustState, Withheld};

/// The ending of a file that defines an agent.
const ENDING: &str = ".md";

/// The advice about a file that defines none.
const FILE_HINT: &str = "it is Markdown with a head: `---`, `name:` and `description:`, `---`, and the agent's prompt; `tine man` has more";

/// Most files that are looked at in one directory.
const FILES_MAX: usize = 1_000;

/// What models may start here, and how it runs.
pub(crate) fn crew(config: &Config, args: &LimitArgs, directory: &Path) -> Result<Crew, Failure> {
    Ok(Crew {
        policy: policy(&config.fork, &config.workers)?,
        limits: RunLimits {
            turns: config.workers.turns.unwrap_or(WORKER_TURNS_DEFAULT),
            ..RunLimits::default()
        },
        confinement: usual_workers(config, args, directory)?,
        confirm_above: config.cache.confirm_above,
        trusts_programs: config
            .trust
            .projects(directory)
            .iter()
            .any(|project| project.state == TrustState::Trusted),
        nudges: config.workers.nudge.unwrap_or(true),
        inherits: inherits(&config.workers)?,
        definitions: Arc::new(definitions(config, directory)?),
    })
}

/// The worker of this agent that a person means; `usual` is what it inherits unless that is said.
pub(crate) fn worker_of(
    parent: AgentId,
    args: &WorkerArgs,
    usual: Inherit,
    definitions: &Definitions,
) -> Result<ForkSpec, Failure> {
    Ok(ForkSpec {
        inherit: args.context.unwrap_or(usual),
        agent: args.definition.as_deref().map(|name| named(name, definitions)).transpose()?,
        model: args.model.as_deref().map(ModelWords::parse).transpose()?,
        accept_cache_loss: args.accept_cache_loss,
        ..ForkSpec::of(parent)
    })
}

fn named(name: &str, definitions: &Definitions) -> Result<AgentDefinition, Failure> {
    if let Some(found) = definitions.get(name) {
        return Ok(found.clone());
    }
    if let Some(fault) = definitions.fault(name) {
        return Err(Failure::input(fault).hint(FILE_HINT));
    }
    let names: Vec<&str> = definitions.iter().map(|one| one.name.as_str()).collect();
    let defined = if names.is_empty() {
        "none is defined here; `tine man` says how to define one".to_owned()
    } else {
        format!("defined are {}", names.join(", "))
    };
    Err(Failure::input(format!("no agent is defined as `{}`", name.escape_debug())).hint(defined))
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

/// The agents that are defined for the user and for the project of a directory.
pub(crate) fn definitions(config: &Config, directory: &Path) -> Result<Definitions, Failure> {
    Ok(defined(config, directory)?.0)
}

/// The agents that are defined for the user, and those of the nearest project that a person has trusted; and what of the project
/// does not count. The user's own agents keep their names.
pub(crate) fn defined(
    config: &Config,
    directory: &Path,
) -> Result<(Definitions, Vec<Withheld>), Failure> {
    let mut definitions = Definitions::default();
    let mut withheld = Vec::new();
    for path in markdown(&Dirs::find(&variable)?.agents) {
        match read(&path) {
            Ok(definition) => add(&mut definitions, definition)?,
            Err(why) => withheld.push(broken(&mut definitions, &path, why)),
        }
    }
    // As the project is now: a run may begin long after the settings were read.
    let projects = config.trust.projects(directory);
    let has_agents = |project: &&Project| {
        project.state == TrustState::Trusted
            && project.content.files_in(AGENTS_FOLDER, ENDING).next().is_some()
    };
    for (below, text) in projects.iter().find(has_agents).into_iter().flat_map(texts) {
        let path = below.as_path();
        let definition = match parse(path, text) {
            Ok(definition) => definition,
            Err(why) => {
                withheld.push(broken(&mut definitions, path, why));
                continue;
            }
        };
        if definitions.fault(&definition.name).is_some() {
            let why = "the file of your own agent of that name has a fault".to_owned();
            withheld.push(refused(format!("name: {}", definition.name), path, why));
            continue;
        }
        if let Some(own) = definitions.get(&definition.name) {
            let why = format!("your own agent {} has that name", own.origin.display());
            withheld.push(refused(format!("name: {}", definition.name), path, why));
            continue;
        }
        let (definition, refusals) = bounded(config, definition);
        withheld.extend(refusals);
        add(&mut definitions, definition)?;
    }
    Ok((definitions, withheld))
}

/// The agents' files of a project and their texts.
fn texts(project: &Project) -> impl Iterator<Item = (PathBuf, &str)> {
    let files = project.content.files_in(AGENTS_FOLDER, ENDING);
    files.filter_map(|(below, entry)| Some((project.root.join(below), entry.text()?)))
}

fn add(definitions: &mut Definitions, definition: AgentDefinition) -> Result<(), Failure> {
    let path = definition.origin.display().to_string();
    if definitions.add(definition) {
        Ok(())
    } else {
        Err(Failure::input(format!("{path} is one agent too many"))
            .hint("a model has to choose among them: take some away"))
    }
}

fn refused(wish: String, file: &Path, why: String) -> Withheld {
    Withheld { wish, file: file.to_owned(), why }
}

/// A project's agent within the limits of the user's settings, and what of it does not count.
fn bounded(config: &Config, definition: AgentDefinition) -> (AgentDefinition, Vec<Withheld>) {
    let AgentDefinition { model, max_turns, .. } = &definition;
    let origin = definition.origin.as_path();
    let model_refused = model.as_ref().and_then(|model| {
        let why = config.model_refusal(&model.model.to_string())?;
        Some(refused(format!("model: {model}"), origin, why))
    });
    let most = config.workers.turns.unwrap_or(WORKER_TURNS_DEFAULT);
    let turns_refused = max_turns.filter(|turns| *turns > most).map(|turns| {
        refused(format!("maxTurns: {turns}"), origin, format!("your limit is {most}"))
    });
    let bounded = AgentDefinition {
        model: model.clone().filter(|_| model_refused.is_none()),
        max_turns: max_turns.map(|turns| turns.min(most)),
        ..definition.clone()
    };
    (bounded, model_refused.into_iter().chain(turns_refused).collect())
}

/// The Markdown files of a folder, by name. A folder that cannot be read has none.
fn markdown(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.take(FILES_MAX).filter_map(|entry| Some(entry.ok()?.path()));
    let is_markdown = |path: &PathBuf| path.to_string_lossy().ends_with(ENDING);
    let mut paths: Vec<PathBuf> = paths.filter(is_markdown).collect();
    paths.sort();
    paths
}

/// Notes a file that defines no agent: it takes no other along.
fn broken(definitions: &mut Definitions, path: &Path, why: String) -> Withheld {
    let name = stem(path);
    let fault = format!("{} defines no agent: {why}", path.display());
    if definitions.get(&name).is_none() {
        definitions.add_broken(name.clone(), fault);
    }
    refused(format!("name: {name}"), path, why)
}

fn read(path: &Path) -> Result<AgentDefinition, String> {
    let size = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    if size > DEFINITION_BYTES_MAX as u64 {
        return Err(DefinitionError::TooLarge.to_string());
    }
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    parse(path, &text)
}

fn parse(path: &Path, text: &str) -> Result<AgentDefinition, String> {
    AgentDefinition::parse(&stem(path), text, path.to_owned()).map_err(|error| error.to_string())
}

/// The name of a file without its ending, which names the agent where the file does not.
fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}
