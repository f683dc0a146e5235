//! Models that a person can choose in the terminal, and what becomes of the choice.

use std::sync::PoisonError;

use tine_model::{ModelRef, ModelSettings};
use tine_runtime::{ModelWords, RuntimeError};
use tine_tui::{ModelChoice, Offer};

use super::terminal::SettingsHost;
use crate::environment::variable;
use crate::fail::Failure;
use crate::keep_model::{ModelToKeep, keep_model};
use crate::local::{Place, places};
use crate::model::{key_variables, models_of_keys};

/// The scenario that shows a person around.
const TOUR: &str = "sim/tour";

/// What is said to it first.
const TOUR_WORDS: &str = "Show me around.";

/// A model that was chosen.
#[derive(Debug, Clone)]
pub(super) struct Chosen {
    words: ModelWords,
    base_url: Option<String>,
}

impl SettingsHost {
    fn chosen(&self) -> Option<Chosen> {
        self.chosen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Its name, as settings have it.
    pub(super) fn chosen_model(&self) -> Option<String> {
        self.chosen().map(|chosen| chosen.words.model.to_string())
    }

    /// These settings with what was chosen in them.
    pub(super) fn chosen_settings(&self, settings: ModelSettings) -> ModelSettings {
        self.chosen().map_or(settings.clone(), |chosen| chosen.words.settings(&settings))
    }

    /// What can be chosen without looking anywhere: the settings' model, those of keys, the tour.
    pub(super) fn known_models(&self) -> Offer {
        let config = &self.context.config;
        let set = config.model.clone().into_iter().chain(models_of_keys(&config.credentials));
        let mut choices: Vec<ModelChoice> = Vec::new();
        for setting in set {
            if choices.iter().all(|choice| choice.model != setting.value) {
                let (model, origin) = (setting.value, setting.origin);
                choices.push(ModelChoice { model, origin, ..ModelChoice::default() });
            }
        }
        choices.push(ModelChoice {
            model: TOUR.to_owned(),
            origin: "a tour with the simulator: no model, no key, no network".to_owned(),
            base_url: None,
            first_words: Some(TOUR_WORDS.to_owned()),
        });
        Offer {
            settings_file: config.user_file.display().to_string(),
            variables: key_variables(),
            servers: places(&variable).iter().map(Place::told).collect(),
            choices,
        }
    }

    /// Gives new agents this model.
    pub(super) async fn choose(&self, choice: &ModelChoice) -> Result<String, Failure> {
        let words = ModelWords::parse(&choice.model)?;
        if let Some(base_url) = &choice.base_url {
            self.context.models.found_at(words.model.clone(), base_url.clone());
        }
        self.connect(&words.model).await?;
        let model = words.to_string();
        let chosen = Chosen { words, base_url: choice.base_url.clone() };
        *self.chosen.lock().unwrap_or_else(PoisonError::into_inner) = Some(chosen);
        Ok(model)
    }

    async fn connect(&self, model: &ModelRef) -> Result<(), Failure> {
        let connected = self.context.runtime.ports().models.connect(model).await;
        connected.map(drop).map_err(|error| RuntimeError::from(error).into())
    }

    /// Writes it into the settings; what the person is told.
    pub(super) fn keep(&self) -> Result<String, Failure> {
        let Some(Chosen { words, base_url }) = self.chosen() else {
            return Err(Failure::input("no model was chosen in this session")
                .hint("/model lists what can be chosen, /model NAME chooses one"));
        };
        let effort = words.level.and_then(|level| level.effort()).map(|effort| effort.as_str());
        let keep = ModelToKeep { model: words.model.to_string(), effort, base_url };
        keep_model(&self.context.config.user_file, &keep)
    }
}
