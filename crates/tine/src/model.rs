//! The model of a new lineage, and its settings.

use tine_model::{Effort, ModelRef, ModelSettings, Provider, Reach, Thinking};
use tine_runtime::{ModelWords, NewRoot, system_prompt};
use tine_wire::{THINKING_BUDGET_MIN, efforts};

use crate::cli::ModelArgs;
use crate::config::{Config, Setting};
use crate::context::Context;
use crate::credentials::Credentials;
use crate::environment::variable;
use crate::fail::Failure;
use crate::instructions::Instructions;

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

impl Context {
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
