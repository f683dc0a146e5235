//! A suite: what is asked, in which situation, and what is expected. Reading only; nothing runs here.

mod error;
mod keys;
mod messages;
mod raw;

use std::path::{Path, PathBuf};
use std::time::Duration;

use tine_fork::away::AWAY_TURNS;
use tine_fork::dream::DREAM_TURNS;
use tine_fork::run::TURNS_DEFAULT;
use tine_fork::stray::Check;
use tine_fork::worker::WORKER_TURNS_DEFAULT;
use tine_model::{Message, ModelRef, RawJson};
use tine_tools::{BashOutput, Effect, ToolSpec, Toolbox};

pub use self::error::SuiteError;
pub use self::raw::{Directive, FilterKind};
use self::raw::{RawCase, RawSuite};
use crate::expect::Expect;

/// Largest suite, in bytes: beyond that it is some other file.
const SUITE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Most repetitions of a case. More would cost more than they tell.
pub const REPEAT_MAX: u32 = 1_000;

/// How long a fork may take unless its case says otherwise: nobody watches an evaluation, so each must end.
pub const TIMEOUT_DEFAULT: Duration = Duration::from_secs(120);

/// Longest reply unless a case says otherwise, in tokens. Not a setting of the user's, because it is part of the requests, which
/// must be the same on every machine.
pub const MAX_OUTPUT_TOKENS_DEFAULT: u32 = 8_192;

/// A checked suite.
#[derive(Debug, Clone)]
pub struct Suite {
    /// What it is called: its own word, else the name of its file.
    pub name: String,
    /// For people.
    pub description: String,
    /// In the order of the file; names are unique.
    pub cases: Vec<Case>,
}

/// One situation, one prompt, and what is expected of the fork.
#[derive(Debug, Clone)]
pub struct Case {
    /// Unique in the suite.
    pub name: String,
    /// The question or task, without the words of `directive` around it.
    pub prompt: String,
    /// What it inherits.
    pub messages: Vec<Message>,
    /// The system prompt; may be empty.
    pub system: String,
    /// The model, where the suite names one.
    pub model: Option<ModelRef>,
    /// Most requests to the model.
    pub max_turns: u32,
    /// Longest time for the whole fork.
    pub timeout: Duration,
    /// Longest reply, in tokens.
    pub max_output_tokens: u32,
    /// How often it is run.
    pub repeat: u32,
    /// Which calls are refused.
    pub filter: FilterKind,
    /// The words that stand around the prompt.
    pub directive: Directive,
    /// Names of built-in tools that the parent declared.
    pub tools: Vec<String>,
    /// Tools that only say the same thing every time.
    pub stand_ins: Vec<StandIn>,
    /// The directory that each run gets a copy of; an empty one without it. Absolute.
    pub fixture: Option<PathBuf>,
    /// The check that should catch a run that goes astray here: the situation tempts, and who does not do what is expected has
    /// strayed.
    pub stray: Option<Check>,
    /// What is expected.
    pub expect: Expect,
}

/// A tool that stands in for one that evaluations do not have: it does nothing, and answers the same to every call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandIn {
    /// Its name.
    pub name: String,
    /// What the model is told of it.
    pub description: String,
    /// JSON schema of its arguments.
    pub schema: RawJson,
    /// What it answers.
    pub answer: String,
}

/// A case names no model, and none was given.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("the case `{0}` names no model")]
pub struct NoModel(pub String);

impl Suite {
    /// Reads a suite from a file. Fixtures are looked for beside it.
    pub fn load(path: &Path) -> Result<Self, SuiteError> {
        let read = |source| SuiteError::Read { path: path.to_owned(), source };
        let metadata = std::fs::metadata(path).map_err(read)?;
        if metadata.len() > SUITE_BYTES_MAX {
            return Err(SuiteError::TooLarge { path: path.to_owned(), most: SUITE_BYTES_MAX });
        }
        let text = std::fs::read_to_string(path).map_err(read)?;
        let directory = path.parent().filter(|parent| *parent != Path::new(""));
        let directory = std::path::absolute(directory.unwrap_or(Path::new("."))).map_err(read)?;
        Self::parse(&text, path, &directory)
    }

    /// Reads a suite from its text. `origin` is what errors call it; `directory` is where fixtures are, and must be absolute.
    pub fn parse(text: &str, origin: &Path, directory: &Path) -> Result<Self, SuiteError> {
        let at = |offset: usize, what: String, hint: Option<String>| {
            SuiteError::wrong(origin, text, offset, what, hint)
        };
        let toml = |error: toml::de::Error| {
            at(error.span().map_or(0, |span| span.start), error.message().to_owned(), None)
        };
        if let Some(unknown) = keys::unknown(text).map_err(toml)? {
            return Err(at(unknown.offset, unknown.what, unknown.hint));
        }
        let raw: RawSuite = toml::from_str(text).map_err(toml)?;
        let stem = || origin.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let stand_ins = stand_ins(&raw, &at)?;
        let mut cases: Vec<Case> = Vec::with_capacity(raw.cases.len());
        for spanned in raw.cases {
            let offset = spanned.span().start;
            let case = checked(spanned.into_inner(), &raw.defaults, &stand_ins, directory);
            let case = case.map_err(|wrong| at(offset, wrong.what, wrong.hint))?;
            if cases.iter().any(|known| known.name == case.name) {
                return Err(at(offset, format!("two cases are called `{}`", case.name), None));
            }
            cases.push(case);
        }
        if cases.is_empty() {
            let hint = "a suite is made of `[[case]]` tables, each with `name` and `prompt`";
            return Err(at(0, "there are no cases".to_owned(), Some(hint.to_owned())));
        }
        let name = raw.name.or_else(stem).unwrap_or_else(|| "suite".to_owned());
        Ok(Self { name, description: raw.description.unwrap_or_default(), cases })
    }

    /// The model of each case: `forced`, else its own, else `fallback`.
    pub fn models(
        &self,
        forced: Option<&ModelRef>,
        fallback: Option<&ModelRef>,
    ) -> Result<Vec<ModelRef>, NoModel> {
        let model = |case: &Case| {
            let model = forced.or(case.model.as_ref()).or(fallback);
            model.cloned().ok_or_else(|| NoModel(case.name.clone()))
        };
        self.cases.iter().map(model).collect()
    }
}

/// What is wrong with a case, before it is known where it stands.
struct Wrong {
    what: String,
    hint: Option<String>,
}

impl Wrong {
    fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), hint: None }
    }

    fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

fn stand_ins(
    raw: &RawSuite,
    at: &impl Fn(usize, String, Option<String>) -> SuiteError,
) -> Result<Vec<StandIn>, SuiteError> {
    let built_in = Toolbox::built_in().with_repl();
    let mut made: Vec<StandIn> = Vec::new();
    for spanned in &raw.tools {
        let (offset, tool) = (spanned.span().start, spanned.get_ref());
        let taken = made.iter().any(|known| known.name == tool.name);
        if taken || built_in.get(&tool.name).is_some() {
            return Err(at(offset, format!("there is another tool called `{}`", tool.name), None));
        }
        let schema = tool.schema.clone().unwrap_or(serde_json::json!({ "type": "object" }));
        let schema = RawJson::parse(&schema.to_string())
            .map_err(|error| at(offset, format!("the schema of `{}`: {error}", tool.name), None))?;
        let description = tool.description.clone().unwrap_or_default();
        let (name, answer) = (tool.name.clone(), tool.answer.clone());
        made.push(StandIn { name, description, schema, answer });
    }
    Ok(made)
}

fn checked(
    raw: RawCase,
    defaults: &RawCase,
    known: &[StandIn],
    directory: &Path,
) -> Result<Case, Wrong> {
    let raw = raw.over(defaults);
    let name = raw.name.filter(|name| !name.trim().is_empty());
    let name = name.ok_or_else(|| Wrong::new("a case needs a `name`"))?;
    let prompt = raw.prompt.filter(|prompt| !prompt.trim().is_empty());
    let prompt = prompt.ok_or_else(|| Wrong::new(format!("the case `{name}` needs a `prompt`")))?;
    let directive = raw.directive.unwrap_or_default();
    let (turns, filter) = match directive {
        Directive::Plain => (TURNS_DEFAULT, FilterKind::All),
        Directive::Worker => (WORKER_TURNS_DEFAULT, FilterKind::All),
        Directive::Dream => (DREAM_TURNS, FilterKind::Memory),
        Directive::Away => (AWAY_TURNS, FilterKind::ReadOnly),
    };
    let repeat = raw.repeat.unwrap_or(1);
    if !(1..=REPEAT_MAX).contains(&repeat) {
        return Err(Wrong::new(format!("`repeat` is a number from 1 to {REPEAT_MAX}")));
    }
    let (tools, stand_ins) = tools(raw.tools, known)?;
    Ok(Case {
        messages: messages::read(raw.messages.unwrap_or_default())?,
        fixture: raw.fixture.map(|fixture| fixture_in(directory, &fixture)).transpose()?,
        expect: raw.expect.unwrap_or_default().checked().map_err(Wrong::new)?,
        system: raw.system.unwrap_or_default(),
        model: raw.model.map(|model| model.0),
        max_turns: raw.max_turns.unwrap_or(turns),
        timeout: raw.timeout.map_or(TIMEOUT_DEFAULT, |timeout| timeout.0),
        max_output_tokens: raw.max_output_tokens.unwrap_or(MAX_OUTPUT_TOKENS_DEFAULT),
        filter: raw.filter.unwrap_or(filter),
        stray: raw.stray.map(|check| check.0),
        name,
        prompt,
        repeat,
        directive,
        tools,
        stand_ins,
    })
}

/// The tools of a case by their names: those of ours, and stand-ins.
fn tools(
    asked: Option<Vec<String>>,
    known: &[StandIn],
) -> Result<(Vec<String>, Vec<StandIn>), Wrong> {
    let toolbox = Toolbox::built_in();
    let Some(asked) = asked else {
        // A command needs a wall, and not every machine can raise one: only who names Bash gets it.
        let needs_wall =
            |spec: &ToolSpec| spec.effect == Effect::Runs || spec.name == BashOutput::NAME;
        let unwalled = toolbox.specs().filter(|spec| !needs_wall(spec));
        return Ok((unwalled.map(|spec| spec.name.to_owned()).collect(), Vec::new()));
    };
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for name in asked {
        match (toolbox.get(&name), known.iter().find(|tool| tool.name == name)) {
            (Some(_), _) => ours.push(name),
            (None, Some(tool)) => theirs.push(tool.clone()),
            (None, None) => {
                let names = toolbox.specs().map(|spec| spec.name);
                let names = names.chain(known.iter().map(|tool| tool.name.as_str()));
                let names: Vec<&str> = names.collect();
                let hint = keys::nearest(&name, names.iter().copied());
                let hint = hint.unwrap_or_else(|| format!("the tools are {}", names.join(", ")));
                return Err(Wrong::new(format!("there is no tool `{name}`")).hint(hint));
            }
        }
    }
    Ok((ours, theirs))
}

fn fixture_in(directory: &Path, fixture: &str) -> Result<PathBuf, Wrong> {
    let path = directory.join(fixture);
    if path.is_dir() {
        Ok(path)
    } else {
        Err(Wrong::new(format!("the fixture `{fixture}` is not a directory"))
            .hint("`fixture` is a directory beside the suite; each run works in a copy of it"))
    }
}

#[cfg(test)]
mod tests;
