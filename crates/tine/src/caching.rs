//! The cache on the command line: its settings, what is known of models, and the price of a fork before it is made.

use std::io;
use std::path::Path;

use serde::Serialize;
use tine_cache::{Asked, Models};
use tine_model::Lifetime;
use tine_runtime::{
    CachePolicy, EstimateSpec, ForkEstimate, KnownBy, LifetimeChoice, VALUE_PER_SECOND_DEFAULT,
};

use crate::ask::{a_person_is_there, agrees};
use crate::cli::{EstimateArgs, PlanArg};
use crate::config::Config;
use crate::context::Context;
use crate::fail::{BUDGET, Failure};
use crate::output;
use tine_tui::figures::{grouped, money, plural};
use tine_tui::words::{BOLD, one_line, styled};

/// How the settings say that the cache is used.
pub(crate) fn policy(config: &Config, keep_warm: bool) -> Result<CachePolicy, Failure> {
    let table = &config.cache;
    let lifetime = match table.lifetime.as_deref() {
        None | Some("auto") => LifetimeChoice::Auto,
        Some(word) => LifetimeChoice::Fixed(Lifetime::from_name(word).ok_or_else(|| {
            Failure::input(format!("unknown cache.lifetime `{word}`"))
                .hint("it is auto, short or long")
        })?),
    };
    let value_per_second = amount("value_per_second", table.value_per_second)?;
    amount("confirm_above", table.confirm_above)?;
    Ok(CachePolicy {
        lifetime,
        keep_warm: keep_warm || table.keep_warm.unwrap_or(false),
        value_per_second: value_per_second.unwrap_or(VALUE_PER_SECOND_DEFAULT),
        ..CachePolicy::default()
    })
}

/// An amount of money that makes sense.
fn amount(key: &str, set: Option<f64>) -> Result<Option<f64>, Failure> {
    match set {
        Some(dollars) if !dollars.is_finite() || dollars < 0.0 => {
            Err(Failure::input(format!("cache.{key} is {dollars}"))
                .hint("it is an amount of USD, such as 0.5"))
        }
        other => Ok(other),
    }
}

/// The models file that ships with tine, with what the user's own file says instead. A file with errors is told of, and the
/// one that ships stays in force.
pub(crate) fn models(file: &Path) -> Models {
    let (models, failure) = read_models(file);
    if let Some(failure) = failure {
        output::say(&failure.text().replacen("error:", "warning:", 1));
    }
    models
}

/// The same, and what is wrong with the user's file.
pub(crate) fn read_models(file: &Path) -> (Models, Option<Failure>) {
    let bundled = Models::bundled();
    let path = file.display();
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        // A home that is no directory is told when it is opened.
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            return (bundled, None);
        }
        Err(error) => {
            return (bundled, Some(Failure::input(format!("cannot read {path}")).because(&error)));
        }
    };
    match bundled.clone().overlaid(&text) {
        Ok(models) => (models, None),
        Err(error) => {
            let failure = Failure::input(format!("{path} is not used")).because(&error);
            (bundled, Some(failure.hint("what ships with tine stays in force")))
        }
    }
}

/// How siblings are asked to start.
pub(crate) fn asked(plan: PlanArg) -> Asked {
    match plan {
        PlanArg::Auto => Asked::Auto,
        PlanArg::Together => Asked::Together,
        PlanArg::Leader => Asked::Leader,
    }
}

/// `--estimate --json`. Others rely on it: fields are only ever added. Money is `null` for a model without a known price.
#[derive(Serialize)]
struct EstimateJson<'a> {
    model: &'a str,
    priced_as: Option<&'a str>,
    prices_date: &'a str,
    children: usize,
    /// Requests and generated tokens of each child that the figures count on.
    turns: u32,
    output_tokens: u64,
    prefix_tokens: u64,
    /// Tokens of the prefix that should be in the cache now.
    cached_tokens: u64,
    /// Tokens of the prefix that the first request has to write.
    gap_tokens: u64,
    launch: &'static str,
    /// `cold`, `gap` or `warm`.
    warmth: &'static str,
    reason: &'a str,
    expected_usd: Option<f64>,
    low_usd: Option<f64>,
    high_usd: Option<f64>,
    forking_usd: Option<f64>,
    later_turns_usd: Option<f64>,
    output_usd: Option<f64>,
}

/// What a fork is told before it is made.
pub(crate) struct Before<'a> {
    pub(crate) spec: EstimateSpec,
    pub(crate) args: &'a EstimateArgs,
    pub(crate) json: bool,
}

/// Prices a fork where that was asked for, or where a price may need a yes. Whether the fork is to be made.
pub(crate) async fn go_ahead(context: &Context, before: Before<'_>) -> Result<bool, Failure> {
    let Before { spec, args, json } = before;
    let confirm_above = amount("confirm_above", context.config.cache.confirm_above)?;
    if !args.estimate && (args.yes || confirm_above.is_none()) {
        return Ok(true);
    }
    let children = spec.directives.len();
    let policy = policy(&context.config, false)?;
    let estimate = context.runtime.estimate(spec, policy).await?;
    if args.estimate {
        if json {
            output::json(&shape(&estimate, children))?
        } else {
            output::write_out(&text(&estimate, children))?
        }
        return Ok(false);
    }
    let expected = estimate.estimate.map(|estimate| estimate.expected);
    match (expected, confirm_above) {
        (_, None) => Ok(true),
        (Some(dollars), Some(limit)) if dollars <= limit => Ok(true),
        (Some(dollars), Some(limit)) => {
            confirm(&format!("about {}, more than {}", money(dollars), money(limit)))
        }
        (None, Some(_)) => {
            let model = one_line(&estimate.model);
            confirm(&format!("nobody knows what: the price of {model} is unknown"))
        }
    }
}

fn confirm(price: &str) -> Result<bool, Failure> {
    if !a_person_is_there() {
        return Err(Failure::coded(BUDGET, format!("this will cost {price}"))
            .hint("`tine fork` and `tine fan` go on with --yes, and say with --estimate how it comes about; cache.confirm_above in config.toml sets the limit"));
    }
    if agrees(&format!("This will cost {price}.")) {
        Ok(true)
    } else {
        Err(Failure::coded(BUDGET, "not made: you did not agree to its price"))
    }
}

fn shape(estimate: &ForkEstimate, children: usize) -> EstimateJson<'_> {
    let dollars = estimate.estimate;
    EstimateJson {
        model: &estimate.model,
        priced_as: estimate.priced_as.as_deref(),
        prices_date: &estimate.prices_date,
        children,
        turns: estimate.usual.run.turns,
        output_tokens: estimate.usual.run.output_tokens,
        prefix_tokens: estimate.expectation.prefix,
        cached_tokens: covered(estimate),
        gap_tokens: estimate.expectation.gap,
        launch: launch_word(estimate.plan.launch),
        warmth: estimate.plan.warmth.as_str(),
        reason: &estimate.plan.reason,
        expected_usd: dollars.map(|dollars| dollars.expected),
        low_usd: dollars.map(|dollars| dollars.low),
        high_usd: dollars.map(|dollars| dollars.high),
        forking_usd: dollars.map(|dollars| dollars.parts.forking),
        later_turns_usd: dollars.map(|dollars| dollars.parts.later_turns),
        output_usd: dollars.map(|dollars| dollars.parts.output),
    }
}

fn covered(estimate: &ForkEstimate) -> u64 {
    estimate.expectation.prefix.saturating_sub(estimate.expectation.gap)
}

/// The word of a launch in JSON.
pub(crate) fn launch_word(launch: tine_cache::Launch) -> &'static str {
    match launch {
        tine_cache::Launch::Together => "together",
        tine_cache::Launch::LeaderFirst => "leader_first",
        tine_cache::Launch::InTurn => "in_turn",
    }
}

fn text(estimate: &ForkEstimate, children: usize) -> String {
    let noun = if children == 1 { "fork" } else { "workers" };
    let mut lines = vec![format!(
        "{children} {noun} over a prefix of {} tokens, {}",
        grouped(estimate.expectation.prefix),
        one_line(&estimate.model)
    )];
    lines.push(format!(
        "in the cache now: {} tokens; to be written: {}",
        grouped(covered(estimate)),
        grouped(estimate.expectation.gap)
    ));
    if children > 1 {
        lines.push(format!("plan: {}", one_line(&estimate.plan.reason)));
    }
    lines.push(String::new());
    match &estimate.estimate {
        None => lines.push("The price of this model is unknown.".to_owned()),
        Some(dollars) => {
            let turns = plural(u64::from(estimate.usual.run.turns), "turn");
            let each = if children == 1 { String::new() } else { " each".to_owned() };
            let parts = dollars.parts;
            lines.push(styled(BOLD, &format!("about {}", money(dollars.expected))));
            lines.push(format!(
                "  {:>9}  first requests: the prefix and the prompts",
                money(parts.forking)
            ));
            lines.push(format!(
                "  {:>9}  reading it again in later turns, at {turns}{each}",
                money(parts.later_turns)
            ));
            lines.push(format!(
                "  {:>9}  output, at {} tokens a turn",
                money(parts.output),
                grouped(estimate.usual.run.output_tokens)
            ));
            lines.extend(match estimate.usual.known_by {
                KnownBy::Workers(1) => {
                    Some("turns and output are those of the worker before".into())
                }
                KnownBy::Workers(count) => {
                    Some(format!("turns and output are the mean of the last {count} workers"))
                }
                KnownBy::Parent => Some("turns and output are the mean of the parent's own".into()),
                KnownBy::Nothing => {
                    Some("turns and output are guessed: nothing is known yet".into())
                }
                KnownBy::Caller => None,
            });
            lines.push(format!(
                "between {} (everything cached, one turn) and {} (nothing cached)",
                money(dollars.low),
                money(dollars.high)
            ));
            let at = estimate.priced_as.as_deref().map(|model| format!(" of {model}"));
            lines.push(format!(
                "prices{} in USD, as of {}",
                at.unwrap_or_default(),
                estimate.prices_date
            ));
        }
    }
    lines.join("\n") + "\n"
}
