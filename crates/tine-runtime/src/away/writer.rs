//! A model says to a person who is back where things stand: in a hidden run beside their prompt, which neither waits for it nor
//! learns of it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tine_fork::away::{AWAY_TURNS, away_directive};
use tine_fork::run::RunLimits;
use tine_guard::filter::ReadOnlyFilter;
use tine_model::{AgentId, Message, Outcome};

use super::Away;
use crate::cache::CachePolicy;
use crate::crew::Crew;
use crate::error::RuntimeError;
use crate::hidden::{Hidden, HiddenSpec};
use crate::inherit::Inherit;
use crate::model_words::ModelWords;
use crate::run_options::RunOptions;
use crate::runtime::Runtime;

/// The limits of a summary.
const LIMITS: RunLimits =
    RunLimits { turns: AWAY_TURNS, time: Some(Duration::from_secs(60)), tokens: None };

/// The length of the text of a conversation that it does not inherit, in tokens.
const CONVERSATION_TOKENS: u64 = 4_000;

/// A hidden run that was made for a summary, and has not begun.
#[derive(Debug)]
#[must_use = "a run that is dropped stays held until its process ends"]
pub struct AwayWriter {
    hidden: Hidden,
    directive: String,
    filter: ReadOnlyFilter,
}

impl Runtime {
    /// Makes the run that writes a summary of what happened, where it pays: from the conversation itself while the provider's cache
    /// still has it, else from a text of it with `model`, and without one not at all. Nothing is sent yet.
    pub async fn away_writer(
        &self,
        agent: AgentId,
        (away, model): (&Away, Option<&ModelWords>),
        caching: CachePolicy,
    ) -> Result<Option<AwayWriter>, RuntimeError> {
        let record = self.store().agent(agent).await?;
        let keeps_model =
            model.is_none_or(|words| words.settings(&record.settings) == record.settings);
        let is_warm = keeps_model && self.is_warm(&record, caching).await?;
        let happened = away.text(self.now_ms());
        let (inherit, model, directive) = match (is_warm, model) {
            (true, _) => (Inherit::Full, None, away_directive(&happened, None)),
            (false, Some(model)) => {
                let said = self.digest_of(&record, CONVERSATION_TOKENS).await?;
                (Inherit::Fresh, Some(model.clone()), away_directive(&happened, Some(&said)))
            }
            (false, None) => return Ok(None),
        };
        let mut spec = HiddenSpec::of(agent);
        (spec.fork.inherit, spec.fork.model) = (inherit, model);
        let hidden = self.hidden(spec).await?;
        let filter = ReadOnlyFilter::new().in_directory(Path::new(&record.directory));
        Ok(Some(AwayWriter { hidden, directive, filter }))
    }

    /// Has it written. `None` where the run did not complete; its row says why.
    pub async fn write_away(
        &self,
        writer: AwayWriter,
        options: &RunOptions,
    ) -> Result<Option<String>, RuntimeError> {
        let AwayWriter { hidden, directive, filter } = writer;
        let options = RunOptions {
            filter: Arc::new(filter),
            limits: LIMITS,
            crew: Crew::default(),
            ..options.clone()
        };
        let report = self.run_hidden(hidden, Message::user(directive), &options).await?.report;
        Ok(report.final_text().filter(|_| report.outcome == Outcome::Completed))
    }
}
