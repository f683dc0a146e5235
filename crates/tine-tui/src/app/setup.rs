//! What can be done about a model: the first screen where none is set, and `/model`.

use tine_model::AgentId;
use tine_runtime::ModelWords;

use super::piece::Tone;
use super::{App, Effect};
use crate::host::{ModelChoice, Offer};

/// Most choices that are listed; others are chosen by their names.
const LISTED_MAX: usize = 12;

/// The flag that lets a conversation be sent anew to another model.
const ACCEPT: &str = "--accept-cache-loss";

/// How a line of the offer is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weight {
    /// What it is about.
    Head,
    /// What is said.
    Text,
    /// What can be chosen.
    Choice,
    /// Less important.
    Aside,
}

/// What can be chosen, as far as it is known.
#[derive(Debug, Clone, Default)]
pub(crate) struct Setup {
    /// Whether it is shown, and a number chooses.
    pub(crate) is_open: bool,
    /// What is known; choices only come in at its end, so that numbers stay what they were.
    pub(crate) offer: Offer,
    /// Whether servers are looked for.
    pub(crate) is_looking: bool,
    /// How many of the choices were found on this machine.
    found: usize,
    /// The agent in whose conversation the choices are told once all are known.
    told_to: Option<AgentId>,
}

impl Setup {
    /// Begins with what is known without looking.
    pub(super) fn offered(&mut self, offer: Offer) -> Vec<Effect> {
        (self.offer, self.is_looking, self.found) = (offer, true, 0);
        Vec::new()
    }

    /// Adds what a server serves.
    pub(super) fn found(&mut self, choices: Vec<ModelChoice>) -> Vec<Effect> {
        let known = |choice: &ModelChoice| self.offer.choices.contains(choice);
        let new: Vec<ModelChoice> = choices.into_iter().filter(|choice| !known(choice)).collect();
        self.found += new.len();
        self.offer.choices.extend(new);
        Vec::new()
    }

    /// The choices in lines, for an agent's conversation, where no number chooses.
    fn told(&self) -> String {
        let listed = self.offer.choices.iter().take(LISTED_MAX);
        let mut lines: Vec<String> =
            listed.map(|choice| format!("  {}  ({})", choice.model, choice.origin)).collect();
        lines.insert(0, "Models that can be used:".to_owned());
        lines.extend(self.foot().into_iter().map(|(_, text)| format!("  {text}")));
        lines.push(
            "  `tine models` lists them with prices, also those of other providers".to_owned(),
        );
        lines.join("\n")
    }

    /// The choice of a number, counted from 1, or of a model's name.
    fn choice(&self, text: &str) -> Option<&ModelChoice> {
        match text.parse::<usize>() {
            Ok(number) => self.offer.choices.get(number.checked_sub(1)?),
            Err(_) => self.offer.choices.iter().find(|choice| choice.model == text),
        }
    }

    /// What stands before the choices. `is_missing` says that there is no model at all.
    pub(crate) fn head(&self, is_missing: bool) -> Vec<(Weight, String)> {
        if !is_missing {
            return vec![(Weight::Head, "Models for new agents".to_owned())];
        }
        let Offer { settings_file, variables, .. } = &self.offer;
        vec![
            (Weight::Head, "There is no model yet.".to_owned()),
            (
                Weight::Text,
                format!(
                    "Leave and store a key with `tine login`, or set one of {}; then start tine again. Or write model = \"provider/name\" into {settings_file}.",
                    variables.join(", ")
                ),
            ),
            (Weight::Text, "Or choose now, by a number and Enter:".to_owned()),
        ]
    }

    /// The choices from this one on, each with its number.
    pub(crate) fn choices(&self, from: usize) -> Vec<(Weight, String)> {
        let listed = self.offer.choices.iter().enumerate().take(LISTED_MAX).skip(from);
        listed
            .map(|(at, choice)| {
                (Weight::Choice, format!("{:>2}  {}  ({})", at + 1, choice.model, choice.origin))
            })
            .collect()
    }

    /// What stands behind them.
    pub(crate) fn foot(&self) -> Vec<(Weight, String)> {
        let servers = self.offer.servers.join(", ");
        let mut lines = Vec::new();
        let more = self.offer.choices.len().saturating_sub(LISTED_MAX);
        if more > 0 {
            lines.push((Weight::Aside, format!("and {more} more: /model NAME takes any")));
        }
        match (self.is_looking, self.found, self.offer.servers.is_empty()) {
            (_, _, true) | (false, 1.., false) => {}
            (true, _, false) => {
                lines.push((Weight::Aside, format!("Looking for servers: {servers} ...")));
            }
            (false, 0, false) => lines.push((
                Weight::Aside,
                format!("No server answers on this machine ({servers}); /model looks again."),
            )),
        }
        lines
    }
}

impl App {
    /// Shows what can be chosen, and looks for more.
    pub(crate) fn open_setup(&mut self, offer: Offer) -> Vec<Effect> {
        self.setup.offered(offer);
        self.setup.is_open = true;
        vec![Effect::Look]
    }

    /// `/model`: before there is an agent the model of the next one; of an agent what it has, or a fork with another.
    pub(super) fn model(&mut self, rest: &str) -> Vec<Effect> {
        let words: Vec<&str> = rest.split_whitespace().filter(|word| *word != ACCEPT).collect();
        match (self.focus.is_some(), words.as_slice()) {
            (_, ["keep"]) => vec![Effect::KeepModel],
            (false, []) => {
                self.setup.is_open = true;
                self.setup.is_looking = true;
                vec![Effect::Look]
            }
            (false, [name]) => match self.setup.choice(name).cloned() {
                Some(choice) => vec![Effect::Choose(choice)],
                None => self.choose_named(name),
            },
            (true, []) => {
                self.say_model();
                self.setup.told_to = self.focus;
                vec![Effect::Look]
            }
            (true, [name]) => self.go_on_with(name, rest.contains(ACCEPT)),
            (_, [..]) => self.refuse("usage: /model [NAME]"),
        }
    }

    /// Nothing more will be found.
    pub(super) fn models_are_known(&mut self) -> Vec<Effect> {
        self.setup.is_looking = false;
        if let Some(agent) = self.setup.told_to.take() {
            self.say(Some(agent), Tone::Plain, self.setup.told());
        }
        Vec::new()
    }

    fn choose_named(&mut self, name: &str) -> Vec<Effect> {
        let choose = |model| vec![Effect::Choose(ModelChoice { model, ..ModelChoice::default() })];
        match ModelWords::parse(name) {
            Ok(words) => choose(words.to_string()),
            Err(error) => self.refuse(&error.to_string()),
        }
    }

    fn say_model(&mut self) {
        let Some(room) = self.room() else { return };
        let settings = &room.record.settings;
        let effort = settings.effort.map(|effort| format!(", effort {}", effort.as_str()));
        let text = format!(
            "The model is {}{}. Another one cannot use what is cached of this conversation: /model NAME says what that costs, and \
             /new and /model NAME begin anew with it.",
            settings.model,
            effort.unwrap_or_default()
        );
        self.say(None, Tone::Plain, text);
    }

    /// A fork with another model. Without the flag it is refused with what sending everything anew would cost.
    fn go_on_with(&mut self, name: &str, accepts: bool) -> Vec<Effect> {
        let words = match ModelWords::parse(name) {
            Ok(words) => words,
            Err(error) => return self.refuse(&error.to_string()),
        };
        let Some((agent, settings)) =
            self.room().map(|room| (room.record.id, &room.record.settings))
        else {
            return Vec::new();
        };
        if words.settings(settings) == *settings {
            self.tell(format!("the model is {words} already"));
            return Vec::new();
        }
        let flag = if accepts { ACCEPT } else { "" };
        self.fork(agent, &format!("--model {words} {flag}"))
    }

    /// Words before there is an agent: the number of a choice, or the first words to a new agent.
    pub(super) fn say_in_lobby(&mut self, text: String) -> Vec<Effect> {
        if self.setup.is_open {
            let is_number = text.trim().parse::<usize>().is_ok();
            match (self.setup.choice(text.trim()).cloned(), is_number) {
                (Some(choice), _) => return vec![Effect::Choose(choice)],
                (None, true) => {
                    self.tell("there is no such choice");
                    return Vec::new();
                }
                (None, false) => {}
            }
            if self.new_model.is_none() {
                self.tell("there is no model yet; type the number of one, and your words go to it");
                self.first_words = Some(text);
                return Vec::new();
            }
            self.setup.is_open = false;
        }
        vec![Effect::Begin(text)]
    }

    /// New agents have a model now.
    pub(super) fn chosen(&mut self, model: String, first_words: Option<String>) -> Vec<Effect> {
        self.setup.is_open = false;
        self.lobby_words.clear();
        let text = format!("New agents use {model}. /model keep writes that into your settings.");
        self.new_model = Some(model);
        match first_words {
            // The way out of the tour is told in the tour, and what was said before waits in its line.
            Some(words) => vec![Effect::Begin(words)],
            None => {
                self.say(None, Tone::Plain, text);
                self.first_words.take().map(Effect::Begin).into_iter().collect()
            }
        }
    }
}

#[cfg(test)]
#[path = "setup_tests.rs"]
mod tests;
