//! What a command works with: settings, the store, the runtime.

use std::path::PathBuf;
use std::sync::Arc;

use tine_model::{
    AgentId, AgentRecord, Effort, EntryId, ModelRef, ModelSettings, Provider, Reach, Thinking,
};
use tine_runtime::{
    Connector, ModelWords, NewRoot, Ports, Runtime, SharedMode, WaitListener, attributed,
    sweep_owners, system_prompt,
};
use tine_tools::clear_temporary;

use crate::caching;
use crate::cli::ModelArgs;
use crate::config::{Config, Setting, Sources};
use crate::connect::{self, variable};
use crate::credentials::Credentials;
use crate::crew::defined;
use crate::dirs::Dirs;
use crate::fail::Failure;
use crate::inside;
use crate::instructions::Instructions;
use crate::keep_rule::UserRules;
use crate::memory;
use crate::output;
use crate::trust::notes;
use crate::worktree;
use tine_fork::host::{SystemClock, SystemIds};
use tine_tui::WorkerSeams;
use tine_tui::words::STORE_WAITS;
use tine_wire::{THINKING_BUDGET_MIN, efforts};

/// Longest reply unless the user says otherwise. Providers demand a number; this one leaves room for a whole file.
pub(crate) const OUTPUT_TOKENS_DEFAULT: u32 = 16_384;

/// The providers whose keys make a default model, and that model.
const DEFAULT_MODELS: [(&str, &str); 6] = [
    ("ANTHROPIC_API_KEY", "anthropic/claude-opus-5-5"),
    ("ANTHROPIC_AUTH_TOKEN", "anthropic/claude-opus-5-5"),
    ("OPENAI_API_KEY", "openai/gpt-6.1-sol"),
    ("GEMINI_API_KEY", "gemini/gemini-3.8-flash"),
    ("DEEPSEEK_API_KEY", "deepseek/deepseek-v4-pro"),
    ("MINIMAX_API_KEY", "minimax/MiniMax-M3"),
];

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

/// What the command line says of a command's surroundings.
#[derive(Debug, Default)]
pub(crate) struct Surroundings {
    /// The directory that was asked for.
    pub(crate) directory: Option<PathBuf>,
    /// The log of a process in the background.
    pub(crate) detached: Option<PathBuf>,
    /// Trust the content of the directory for this process alone.
    pub(crate) trusts_once: bool,
}

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
    /// The log of this process, where it is such a one.
    pub(crate) detached: Option<PathBuf>,
    /// The agent whose command this process is.
    pub(crate) caller: Option<AgentRecord>,
    /// The terminal that shows its workers and puts their questions; `None` where the command has streams of its own.
    pub(crate) terminal: Option<InTerminal>,
}

impl Context {
    /// Reads the settings and opens the store.
    pub(crate) async fn open(surroundings: Surroundings) -> Result<Self, Failure> {
        let Surroundings { directory, detached, trusts_once } = surroundings;
        let directory_is_asked = directory.is_some();
        let directory = work_directory(directory)?;
        let dirs = Dirs::find(&variable)?;
        let history = dirs.history();
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

    /// The agent that a user means by `text`.
    pub(crate) async fn agent(&self, text: &str) -> Result<AgentId, Failure> {
        Ok(self.runtime.resolve(text).await?)
    }

    /// The agent that a user means by `text`, and an entry of it where `text` ends in one, as in `e0c8d1c9@2`: so lists write a fork
    /// point.
    pub(crate) async fn agent_at(&self, text: &str) -> Result<(AgentId, Option<EntryId>), Failure> {
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

    /// A new lineage in this directory.
    pub(crate) fn new_root(
        &self,
        args: &ModelArgs,
        name: Option<String>,
    ) -> Result<NewRoot, Failure> {
        let instructions = Instructions::find(&self.directory)?.text;
        let system = match &args.system {
            Some(system) => system.clone(),
            None => system_prompt(instructions.as_deref()),
        };
        Ok(NewRoot {
            name,
            settings: self.model_settings(args)?,
            system,
            stream: self.config.stream.as_ref().is_none_or(|stream| stream.value),
            directory: self.directory.clone(),
            reach: self.caller.as_ref().map_or_else(Reach::open, |caller| caller.reach.clone()),
        })
    }

    /// The model that was asked for, here or in the settings.
    pub(crate) fn model_settings(&self, args: &ModelArgs) -> Result<ModelSettings, Failure> {
        let settings = model_settings(&self.config, args)?;
        let model = &settings.model;
        let facts = self.runtime.ports().facts.facts(&model.to_string());
        match settings.thinking {
            Some(Thinking::Budget(_)) if facts.thinks_adaptively => {
                Err(Failure::input(format!("{model} takes no thinking budget"))
                    .hint("it decides itself how much it thinks: --thinking adaptive")
                    .hint("--effort low|medium|high|xhigh|max says how much work it puts in"))
            }
            _ => Ok(settings),
        }
    }
}

/// Says that a write waits for another process. A terminal that is drawn on shows no line of this kind.
fn say_wait() {
    if !output::is_screen_drawn() {
        output::say(&format!("note: {STORE_WAITS}"));
    }
}

/// The model that was asked for, here or in the settings.
pub(crate) fn model_settings(config: &Config, args: &ModelArgs) -> Result<ModelSettings, Failure> {
    let set = args.model.clone().or_else(|| default_model(config).map(|setting| setting.value));
    let model = set.ok_or_else(|| {
        Failure::input("no model is configured and no API key is set")
            .hint("store a key with `tine login`, or set ANTHROPIC_API_KEY or OPENAI_API_KEY; --model provider/name names a model")
            .hint("`tine` alone, in a terminal, finds the models of Ollama, llama-server, vLLM and LM Studio")
            .hint("`--model sim/echo` and `tine demo` need no key")
    })?;
    let typed = |option: &str, text: &Option<String>| {
        let origin = || format!("--{option}");
        text.clone().map(|value| Setting { value, origin: origin() })
    };
    let configured = config.max_output_tokens.as_ref().map(|setting| setting.value);
    let words = ModelWords::parse(&model)?;
    let model = &words.model;
    let read = |effort: Option<Setting<String>>, thinking: Option<Setting<String>>| {
        let effort = effort.map(|text| parse_effort(&text, model)).transpose()?;
        Ok::<_, Failure>((thinking.map(|text| parse_thinking(&text)).transpose()?, effort))
    };
    // A level behind the name counts before the settings, and what is typed for itself before both.
    let (thinking, effort) = read(config.effort.clone(), config.thinking.clone())?;
    let max_tokens = args.max_output_tokens.or(configured).unwrap_or(OUTPUT_TOKENS_DEFAULT);
    let configured = ModelSettings { model: model.clone(), max_tokens, thinking, effort };
    let named = words.settings(&configured);
    let (thinking, effort) =
        read(typed("effort", &args.effort), typed("thinking", &args.thinking))?;
    let settings = ModelSettings {
        thinking: thinking.or(named.thinking),
        effort: effort.or(named.effort),
        ..named
    };
    check_budget(&settings)?;
    Ok(settings)
}

/// Refuses a budget for thinking that Anthropic would refuse, before a round trip is paid for it.
fn check_budget(settings: &ModelSettings) -> Result<(), Failure> {
    let Some(Thinking::Budget(tokens)) = settings.thinking else { return Ok(()) };
    if settings.model.provider != Provider::Anthropic {
        return Ok(());
    }
    if tokens < THINKING_BUDGET_MIN {
        return Err(Failure::input(format!("a thinking budget of {tokens} tokens is too small"))
            .hint(format!("the least is {THINKING_BUDGET_MIN}")));
    }
    if tokens >= settings.max_tokens {
        let limit = settings.max_tokens;
        let told =
            format!("a thinking budget of {tokens} tokens leaves none of {limit} for the reply");
        return Err(Failure::input(told).hint(
            "a longer reply is allowed by --max-output-tokens or the setting max_output_tokens",
        ));
    }
    Ok(())
}

/// The variables whose keys make a default model.
pub(crate) fn key_variables() -> Vec<&'static str> {
    let mut all: Vec<_> = DEFAULT_MODELS.iter().collect();
    // A token is another way to say the same.
    all.dedup_by_key(|(_, model)| *model);
    all.into_iter().map(|(variable, _)| *variable).collect()
}

/// The models of all keys that are set or stored.
pub(crate) fn models_of_keys(credentials: &Credentials) -> Vec<Setting<String>> {
    let origin = |key: &str, model: &str| {
        let stored = || credentials.of(Provider::from_name(model.split_once('/')?.0)?);
        let set = variable(key).map(|_| format!("{key} is set"));
        set.or_else(|| Some(format!("its key is {}", stored()?.origin())))
    };
    let set = DEFAULT_MODELS.iter().filter_map(|(key, model)| {
        Some(Setting { value: (*model).to_owned(), origin: origin(key, model)? })
    });
    let mut set: Vec<_> = set.collect();
    // A key and a token of one provider are for one model.
    set.dedup_by_key(|setting| setting.value.clone());
    set
}

/// The model of a new lineage when none is asked for: the settings' own, else that of the first key.
pub(crate) fn default_model(config: &Config) -> Option<Setting<String>> {
    config.model.clone().or_else(|| models_of_keys(&config.credentials).into_iter().next())
}

fn parse_effort(set: &Setting<String>, model: &ModelRef) -> Result<Effort, Failure> {
    let Setting { value: text, origin } = set;
    let known = efforts(model.format());
    let words: Vec<&str> = known.iter().map(|effort| effort.as_str()).collect();
    let found = Effort::from_name(text).filter(|effort| known.contains(effort));
    found.ok_or_else(|| {
        let provider = model.served_as().as_str();
        Failure::input(format!("unknown effort `{text}` from {origin}"))
            .hint(format!("with {provider} it is one of {}", words.join(", ")))
    })
}

fn parse_thinking(set: &Setting<String>) -> Result<Thinking, Failure> {
    let Setting { value: text, origin } = set;
    match (text.as_str(), text.parse()) {
        ("adaptive", _) => Ok(Thinking::Adaptive),
        (_, Ok(tokens)) => Ok(Thinking::Budget(tokens)),
        _ => Err(Failure::input(format!("unknown thinking `{text}` from {origin}"))
            .hint("it is `adaptive` or a number of tokens")),
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
