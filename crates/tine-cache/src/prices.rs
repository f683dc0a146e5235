//! The price table.

use serde::Deserialize;
use tine_model::Usage;

const BUNDLED: &str = include_str!("../prices.toml");

/// Prices are per this many tokens.
const UNIT_TOKENS: f64 = 1_000_000.0;

/// Why a price table cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PriceError {
    /// Not a price table.
    #[error("not a price table")]
    Parse(#[from] toml::de::Error),
    /// A model neither has prices nor names a model that has.
    #[error("the model `{0}` has no prices")]
    Incomplete(String),
}

/// USD per million tokens of one model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    /// Prompt tokens that the cache had no part in.
    pub input: f64,
    /// Prompt tokens written at the short lifetime.
    pub write_short: f64,
    /// Prompt tokens written at the long lifetime.
    pub write_long: f64,
    /// Prompt tokens read.
    pub read: f64,
    /// Generated tokens.
    pub output: f64,
}

impl Price {
    /// What usage costs, in USD. Parts that were not reported cost nothing here.
    pub fn cost(&self, usage: &Usage) -> f64 {
        let parts = [
            (usage.uncached, self.input),
            (usage.write_short.unwrap_or(0), self.write_short),
            (usage.write_long.unwrap_or(0), self.write_long),
            (usage.read.unwrap_or(0), self.read),
            (usage.output, self.output),
        ];
        parts.iter().map(|(tokens, price)| *tokens as f64 * price).sum::<f64>() / UNIT_TOKENS
    }

    /// What usage would cost if nothing were ever cached, in USD.
    pub fn cost_uncached(&self, usage: &Usage) -> f64 {
        (usage.prompt() as f64 * self.input + usage.output as f64 * self.output) / UNIT_TOKENS
    }

    /// What `tokens` cost more when they are written than when they are read, in USD.
    pub(crate) fn write_over_read(&self, tokens: u64) -> f64 {
        tokens as f64 * (self.write_short - self.read) / UNIT_TOKENS
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    date: String,
    model: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    name: String,
    priced_as: Option<String>,
    input: Option<f64>,
    write_short: Option<f64>,
    write_long: Option<f64>,
    read: Option<f64>,
    output: Option<f64>,
}

/// Prices by model.
#[derive(Debug, Clone)]
pub struct Prices {
    date: String,
    models: Vec<(String, Option<String>, Price)>,
}

impl Prices {
    /// The table that ships with tine.
    #[expect(clippy::expect_used, reason = "a test parses the bundled table")]
    pub fn bundled() -> Self {
        Self::parse(BUNDLED).expect("the bundled table is well-formed")
    }

    /// Reads a table in the form of the bundled one.
    pub fn parse(text: &str) -> Result<Self, PriceError> {
        let table: Table = toml::from_str(text)?;
        let own = |row: &Row| {
            let input = row.input?;
            let write_short = row.write_short.unwrap_or(input);
            Some(Price {
                input,
                write_short,
                write_long: row.write_long.unwrap_or(write_short),
                read: row.read?,
                output: row.output?,
            })
        };
        let find = |name: &String| table.model.iter().find(|row| row.name == *name).and_then(own);
        let mut models = Vec::new();
        for row in &table.model {
            let price = own(row).or_else(|| row.priced_as.as_ref().and_then(find));
            let price = price.ok_or_else(|| PriceError::Incomplete(row.name.clone()))?;
            models.push((row.name.clone(), row.priced_as.clone(), price));
        }
        Ok(Self { date: table.date, models })
    }

    /// The day on which the prices were read.
    pub fn date(&self) -> &str {
        &self.date
    }

    /// The price of `provider/name`; `None` for a model that the table does not know.
    pub fn of(&self, model: &str) -> Option<&Price> {
        self.row(model).map(|(_, _, price)| price)
    }

    /// The model whose prices stand in for those of `model`, where it has none of its own.
    pub fn priced_as(&self, model: &str) -> Option<&str> {
        self.row(model)?.1.as_deref().map(|name| name.trim_end_matches('*'))
    }

    fn row(&self, model: &str) -> Option<&(String, Option<String>, Price)> {
        let matches = |pattern: &str| match pattern.strip_suffix('*') {
            Some(start) => model.starts_with(start),
            None => model == pattern,
        };
        let found = self.models.iter().filter(|(name, _, _)| matches(name));
        found.max_by_key(|(name, _, _)| name.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_name_wins() {
        let prices = Prices::bundled();
        let read = |model: &str| prices.of(model).map(|price| price.read);
        assert_eq!(read("anthropic/claude-opus-5"), Some(0.5));
        assert_eq!(read("anthropic/claude-opus-5-5-20261001"), Some(0.2));
        assert_eq!(read("openai-compat/llama"), None);
    }

    #[test]
    fn the_simulator_is_priced_as_a_model_that_is_named() {
        let prices = Prices::bundled();
        assert_eq!(prices.of("sim/demo"), prices.of("anthropic/claude-opus-5-5"));
        assert_eq!(prices.priced_as("sim/demo"), Some("anthropic/claude-opus-5-5"));
        assert_eq!(prices.priced_as("anthropic/claude-opus-5-5"), None);
    }

    #[test]
    fn every_kind_of_token_has_its_price() {
        let price = Price { input: 1.0, write_short: 2.0, write_long: 3.0, read: 4.0, output: 5.0 };
        let million = Some(1_000_000);
        let usage = Usage {
            uncached: 1_000_000,
            write_short: million,
            write_long: million,
            read: million,
            output: 1_000_000,
            reasoning: None,
        };
        assert_eq!(price.cost(&usage), 15.0);
        assert_eq!(price.cost_uncached(&usage), 9.0);
    }

    #[test]
    fn a_model_without_prices_is_named() {
        let text = "date = \"d\"\n[[model]]\nname = \"a/b\"\ninput = 1.0\n";
        assert_eq!(Prices::parse(text).unwrap_err().to_string(), "the model `a/b` has no prices");
    }
}
