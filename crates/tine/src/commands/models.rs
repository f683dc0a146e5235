//! `tine models`: the models that can be used, with prices, windows and lifetimes of caches.

use std::sync::{Mutex, PoisonError};

use serde::Serialize;
use tine_cache::{Facts, Models, Price};
use tine_fork::host::SystemClock;
use tine_model::{ModelRef, Provider};
use tine_runtime::Clock as _;
use tine_tui::ModelChoice;
use tine_tui::figures::tokens;

use super::login::key_origin;
use crate::caching::read_models;
use crate::cli::ModelsArgs;
use crate::config::{Config, Sources};
use crate::dirs::Dirs;
use crate::environment::variable;
use crate::fail::Failure;
use crate::local::{look, places};
use crate::model::default_model;
use crate::open::{Surroundings, work_directory};
use crate::output;
use crate::render::table::{Align, Table};

/// The mark of the model that new agents get.
const DEFAULT_MARK: &str = "*";

/// The JSON shape. Others rely on it: fields are only ever added.
#[derive(Serialize)]
struct ModelsJson {
    /// The day on which the prices were read.
    date: String,
    models: Vec<ModelJson>,
}

#[derive(Serialize)]
struct ModelJson {
    model: String,
    /// True for the model of new agents.
    default: bool,
    /// The place that its key is from, or the server that has it. None if nothing can be asked.
    available: Option<String>,
    /// USD per million tokens.
    price: Option<PriceJson>,
    context_tokens: Option<u64>,
    /// Lifetimes of cached prompts; 0 and `None` where none is sold.
    cache_short_seconds: i64,
    cache_long_seconds: Option<i64>,
    /// The source of its prices and cache rules.
    source: String,
}

#[derive(Serialize)]
struct PriceJson {
    input: f64,
    read: f64,
    write_short: f64,
    write_long: f64,
    output: f64,
}

impl From<Price> for PriceJson {
    fn from(price: Price) -> Self {
        let rates = price.base;
        Self {
            input: rates.input,
            read: rates.read,
            write_short: rates.write_short,
            write_long: rates.write_long,
            output: rates.output,
        }
    }
}

pub(crate) async fn models(surroundings: Surroundings, args: ModelsArgs) -> Result<u8, Failure> {
    let directory = work_directory(surroundings.directory)?;
    let dirs = Dirs::find(&variable)?;
    let trusts_once = surroundings.trusts_once;
    let sources = Sources { dirs: &dirs, directory: &directory, variable: &variable, trusts_once };
    let config = Config::load(sources)?;
    let (table, wrong) = read_models(&dirs.models_file);
    if let Some(failure) = wrong {
        output::say(&failure.text().replacen("error:", "warning:", 1));
    }
    let mut rows = known(&table, &config);
    rows.extend(served_here(&table).await);
    if !args.all {
        rows.retain(|row| row.available.is_some());
    }
    if args.json {
        output::json(&ModelsJson { date: table.date().to_owned(), models: rows })?;
        return Ok(0);
    }
    if rows.is_empty() {
        output::say("No key is set, and no server of models answers on this machine");
        output::say(
            "hint: `tine login PROVIDER` stores a key; `tine models --all` lists all models that tine knows",
        );
        return Ok(0);
    }
    output::write_paged(&table_of(&rows).to_text()).await?;
    output::say(&format!(
        "USD per million tokens, as of {}; models.toml in {} overrides them. {DEFAULT_MARK} is the model of new agents",
        table.date(),
        dirs.models_file.parent().unwrap_or(&directory).display()
    ));
    Ok(0)
}

/// The models of the table of prices, and that of the settings.
fn known(table: &Models, config: &Config) -> Vec<ModelJson> {
    let default = default_model(config).map(|setting| setting.value);
    let mut names = table.names();
    names.extend(default.clone().filter(|default| !names.contains(default)));
    let rows = names.into_iter().filter_map(|name| {
        let model: ModelRef = name.parse().ok()?;
        let available = key_origin(&config.credentials, model.provider);
        let is_simulated = model.provider == Provider::Sim;
        let available = available.or_else(|| is_simulated.then(|| "the simulator".to_owned()));
        Some(row(table, &name, default.as_ref() == Some(&name), available))
    });
    rows.collect()
}

/// The models of servers on this machine.
async fn served_here(table: &Models) -> Vec<ModelJson> {
    let found = Mutex::new(Vec::new());
    let take = |more: Vec<ModelChoice>| {
        found.lock().unwrap_or_else(PoisonError::into_inner).extend(more);
    };
    look(&places(&variable), &take).await;
    let found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.into_iter().map(|choice| row(table, &choice.model, false, Some(choice.origin))).collect()
}

fn row(table: &Models, name: &str, default: bool, available: Option<String>) -> ModelJson {
    let facts: Facts = table.facts(name);
    ModelJson {
        model: name.to_owned(),
        default,
        available,
        price: table.price(name, SystemClock.now_ms()).map(PriceJson::from),
        context_tokens: facts.context_tokens,
        cache_short_seconds: facts.short_ms / 1000,
        cache_long_seconds: facts.long_ms.map(|long| long / 1000),
        source: table.source(name).unwrap_or("the provider's pages").to_owned(),
    }
}

fn table_of(rows: &[ModelJson]) -> Table {
    use Align::{Left, Right};
    let mut table = Table::new(&[
        ("", Left),
        ("MODEL", Left),
        ("INPUT", Right),
        ("CACHED", Right),
        ("OUTPUT", Right),
        ("WINDOW", Right),
        ("CACHE", Left),
        ("KEY", Left),
    ]);
    for row in rows {
        let price = |of: fn(&PriceJson) -> f64| {
            row.price.as_ref().map_or("?".to_owned(), |it| dollars(of(it)))
        };
        let lifetimes = [Some(row.cache_short_seconds), row.cache_long_seconds];
        let lifetimes = lifetimes.into_iter().flatten().filter(|seconds| *seconds > 0);
        let lifetimes: Vec<String> = lifetimes.map(lifetime).collect();
        table.row([
            if row.default { DEFAULT_MARK } else { "" }.into(),
            row.model.as_str().into(),
            price(|it| it.input).into(),
            price(|it| it.read).into(),
            price(|it| it.output).into(),
            row.context_tokens.map_or("?".to_owned(), tokens).into(),
            lifetimes.join(", ").into(),
            row.available.clone().unwrap_or_else(|| "none".to_owned()).into(),
        ]);
    }
    table
}

/// A lifetime in its largest whole unit.
fn lifetime(seconds: i64) -> String {
    match seconds {
        _ if seconds % 3600 == 0 => format!("{} h", seconds / 3600),
        _ if seconds % 60 == 0 => format!("{} min", seconds / 60),
        _ => format!("{seconds} s"),
    }
}

/// A price with as many places as it needs, and two at least.
fn dollars(price: f64) -> String {
    let text = format!("{price:.4}");
    let (whole, places) = text.split_once('.').unwrap_or((&text, ""));
    format!("{whole}.{:0<2}", places.trim_end_matches('0'))
}
