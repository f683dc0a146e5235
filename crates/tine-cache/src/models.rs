//! What is known of models: one file that ships with tine, and the user's own over it.

mod table;
mod times;

use tine_model::{Engine, ModelRef, Provider, Served};

use crate::facts::Facts;
use crate::price::Price;
use table::{Row, Table};

const BUNDLED: &str = include_str!("../models.toml");

/// Why a file of models cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ModelsError {
    /// Not such a file; the source names line and column.
    #[error("not a table of models")]
    Parse(#[from] toml::de::Error),
    /// A row names some prices, and neither it nor a shorter name has the price of input and of output.
    #[error("the prices of `{0}` are incomplete: `input` and `output` are needed")]
    Incomplete(String),
    /// A row's prices do not hold at each time once.
    #[error("the prices of `{name}` {fault}")]
    Times {
        /// The row.
        name: String,
        /// What is wrong, as it reads after "the prices".
        fault: String,
    },
    /// A row is like a model that no row names.
    #[error("`{name}` is like `{like}`, which is not known")]
    Unlike {
        /// The row.
        name: String,
        /// The model that it is like.
        like: String,
    },
    /// A row is like a model that is itself like another.
    #[error("`{name}` is like `{like}`, which is itself like another model")]
    Chained {
        /// The row.
        name: String,
        /// The model that it is like.
        like: String,
    },
}

/// What is known of every model.
#[derive(Debug, Clone)]
pub struct Models {
    date: String,
    /// The bundled file's rows, then those of each file laid over it.
    layers: Vec<Vec<Row>>,
}

/// The model that a name without a provider stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Named {
    /// One provider alone has a model of this name.
    Model(ModelRef),
    /// None or several have; these names of the table hold the text, as `provider/name`.
    Other(Vec<String>),
}

/// Most names that [`Models::named`] offers.
const OFFERED_MAX: usize = 6;

impl Models {
    /// Finds the model of a name, whose provider may be left out where one alone has a model of this name. Names that end differently from a pattern of the table, such as dated ones, are
    /// found where the pattern itself names a model.
    pub fn named(&self, text: &str) -> Named {
        if text.contains('/') {
            return text.parse().map_or(Named::Other(Vec::new()), Named::Model);
        }
        let mut found: Vec<ModelRef> = Vec::new();
        let mut near = Vec::new();
        for (row, model) in self.named_rows() {
            let is_pattern = row.name.ends_with('*');
            let known = found.iter().any(|known| known.provider == model.provider);
            if text == model.name || is_pattern && text.starts_with(&model.name) {
                let model = ModelRef { provider: model.provider, name: text.to_owned() };
                found.extend((!known).then_some(model));
            } else if !text.is_empty() && model.name.contains(text) {
                near.push(model.to_string());
            }
        }
        match <[ModelRef; 1]>::try_from(found) {
            Ok([model]) => Named::Model(model),
            Err(several) => {
                // Of a family, later models have higher numbers.
                near.sort_unstable_by(|one: &String, other| other.cmp(one));
                near.dedup();
                let several = several.iter().map(ModelRef::to_string);
                Named::Other(several.chain(near).take(OFFERED_MAX).collect())
            }
        }
    }

    /// The names of the models that the table names one by one, as `provider/name`, in its order. A name that may go on, as in dated ones,
    /// is given without what may follow.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for (_, model) in self.named_rows() {
            let name = model.to_string();
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    fn named_rows(&self) -> impl Iterator<Item = (&Row, ModelRef)> {
        self.layers.iter().flatten().filter_map(|row| {
            let model: ModelRef = row.name.trim_end_matches(['*', '-']).parse().ok()?;
            // A wide pattern, or the same models by another format.
            let is_one = !model.name.contains('*') && model.provider != Provider::OpenAiChat;
            is_one.then_some((row, model))
        })
    }

    /// The table that ships with tine.
    #[expect(clippy::expect_used, reason = "a test parses the bundled table")]
    pub fn bundled() -> Self {
        Self::parse(BUNDLED).expect("the bundled table is well-formed")
    }

    /// Reads a table in the form of the bundled one, which has no part in it.
    pub fn parse(text: &str) -> Result<Self, ModelsError> {
        Self { date: String::new(), layers: Vec::new() }.overlaid(text)
    }

    /// Lays a file of the same form over this table: its rows win, field by field, even over longer names of this table.
    pub fn overlaid(mut self, text: &str) -> Result<Self, ModelsError> {
        let table: Table = toml::from_str(text)?;
        let date = table.date.unwrap_or_default();
        self.date = self.date.max(date);
        let added = self.layers.len();
        self.layers.push(table.model);
        for row in &self.layers[added] {
            if let Some(like) = &row.like {
                let (rows, name) = (self.rows(like, None), row.name.clone());
                if like_of(&rows).is_some() {
                    return Err(ModelsError::Chained { name, like: like.clone() });
                }
                // What holds for every model, or for every one of a provider, names none.
                if rows.iter().all(|row| row.name == "*" || row.name.ends_with("/*")) {
                    return Err(ModelsError::Unlike { name, like: like.clone() });
                }
            }
            if let Some(fault) = row.fault_of_times() {
                return Err(ModelsError::Times { name: row.name.clone(), fault });
            }
            if row.has_prices() && !self.facts(&row.name).prices.is_known() {
                return Err(ModelsError::Incomplete(row.name.clone()));
            }
        }
        Ok(self)
    }

    /// The day on which the prices were read: the latest of all files that name one.
    pub fn date(&self) -> &str {
        &self.date
    }

    /// What is known of `provider/name`. Of a model that no row names it is what holds for its provider, without a price.
    /// `sim/NAME@PROVIDER` has the rules of a named model of that provider, and `openai-chat/NAME` those of `openai/NAME`
    /// with what is different in chat. A Claude model behind a gateway (`openai-compat/anthropic/claude-…`) has those of the model at
    /// Anthropic with what is different there.
    pub fn facts(&self, model: &str) -> Facts {
        self.resolved(model, None).facts()
    }

    /// Returns the facts about a model whose server was asked what it is. The rules of its engine come before those of the model's
    /// name, and what the server says of its slots and its window before both.
    pub fn facts_served(&self, model: &str, served: Option<&Served>) -> Facts {
        let served = served.copied().unwrap_or_default();
        let facts = self.resolved(model, served.engine).facts();
        Facts {
            slots: facts.slots.map(|usual| served.slots.unwrap_or(usual)),
            context_tokens: served.window_tokens.or(facts.context_tokens),
            ..facts
        }
    }

    /// What tokens of `model` cost in a request that starts at `at_ms`, in Unix milliseconds; `None` when it is not known.
    pub fn price(&self, model: &str, at_ms: i64) -> Option<Price> {
        self.facts(model).prices.at(at_ms)
    }

    /// The model whose prices stand in for those of `model`, where it has none of its own.
    pub fn priced_as(&self, model: &str) -> Option<&str> {
        let rows = self.rows(model, None);
        let own = rows.iter().rposition(|row| row.has_prices() && row.like.is_none());
        let like = rows.iter().rposition(|row| row.like.is_some())?;
        let stands_in = own.is_none_or(|own| own < like);
        rows[like].like.as_deref().filter(|_| stands_in)
    }

    /// Where the row of `model` is from, when that is not one of the sources that the whole file names.
    pub fn source(&self, model: &str) -> Option<&str> {
        self.rows(model, None).last()?.source.as_deref()
    }

    fn resolved(&self, model: &str, engine: Option<Engine>) -> Row {
        let mut sum = Row::default();
        let rows = self.rows(model, engine);
        let like = like_of(&rows);
        for row in like.map(|like| self.rows(like, None)).unwrap_or_default() {
            sum.lay_over(row);
        }
        // What holds for every model has no place over what holds for the one that this is like.
        for row in rows.into_iter().filter(|row| like.is_none() || row.name != "*") {
            sum.lay_over(row);
        }
        sum
    }

    /// The rows that apply, the weakest first.
    fn rows(&self, model: &str, engine: Option<Engine>) -> Vec<&Row> {
        let mut names = spellings(model);
        if let (Some(engine), Some((_, name))) = (engine, model.split_once('/')) {
            let name = format!("{}/{name}", engine.as_str());
            names.push(Spelling { name, patterns: |_| true });
        }
        let mut rows: Vec<(Strength, &Row)> = Vec::new();
        for (layer, table) in self.layers.iter().enumerate() {
            for row in table {
                let exact = !row.name.contains('*');
                let fits = names.iter().position(|spelling| {
                    let takes = exact || (spelling.patterns)(&row.name);
                    takes && matches(&row.name, &spelling.name)
                });
                if let Some(spelling) = fits {
                    rows.push(((layer, spelling, exact, row.name.len()), row));
                }
            }
        }
        // Of two rows of the same name, the later one wins.
        rows.sort_by_key(|(strength, _)| *strength);
        rows.into_iter().map(|(_, row)| row).collect()
    }
}

/// The model that these rows are like.
fn like_of<'a>(rows: &[&'a Row]) -> Option<&'a str> {
    rows.iter().rev().find_map(|row| row.like.as_deref())
}

/// What makes a row win, in this order: its layer, the spelling that it fits, being no pattern, the length of its name.
type Strength = (usize, usize, bool, usize);

/// A name under which rows may speak of a model.
struct Spelling {
    name: String,
    /// Which patterns may, too.
    patterns: fn(&str) -> bool,
}

fn any(_pattern: &str) -> bool {
    true
}

/// True if the pattern stands for all models of a provider.
fn wide(pattern: &str) -> bool {
    pattern.ends_with("/*")
}

/// Under which names rows may speak of a model, the weakest first.
fn spellings(model: &str) -> Vec<Spelling> {
    let spelling = |name: String| Spelling { name, patterns: any };
    let own = spelling(model.to_owned());
    let Ok(parsed) = model.parse::<ModelRef>() else { return vec![own] };
    match parsed.provider {
        Provider::Sim => {
            let (scenario, provider) = parsed.scenario();
            let whole = spelling(format!("sim/{scenario}@{}", provider.as_str()));
            // An `@` in a scenario's own name is no provider: patterns see the whole spelling only.
            vec![whole, Spelling { patterns: |_| false, ..own }]
        }
        Provider::OpenAiChat => {
            vec![spelling(format!("{}/{}", Provider::OpenAi.as_str(), parsed.name)), own]
        }
        // Behind a gateway a model has the rules that it has at its maker's, with what is different there.
        Provider::OpenAiCompat => match parsed.claude() {
            Some(claude) => vec![
                Spelling { name: own.name.clone(), patterns: wide },
                spelling(format!("{}/{claude}", Provider::Anthropic.as_str())),
                Spelling { patterns: |pattern| !wide(pattern), ..own },
            ],
            None => vec![own],
        },
        Provider::Anthropic
        | Provider::OpenAi
        | Provider::Gemini
        | Provider::DeepSeek
        | Provider::MiniMax => vec![own],
    }
}

/// Whether a name fits a pattern in which `*` stands for any text.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(start) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let end = parts.pop().unwrap_or_default();
    for part in parts {
        match name.find(part) {
            Some(at) => name = &name[at + part.len()..],
            None => return false,
        }
    }
    name.ends_with(end)
}

#[cfg(test)]
#[path = "models_tests.rs"]
mod tests;
