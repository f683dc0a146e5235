//! The answers to a question: the choices of its panel, in steps, and the lines that are answers.

use tine_guard::{OfferedRule, TextUse};
use tine_model::PermissionScope;
use tine_runtime::{Answer, PermissionRequest};

use super::look_alike::marked;
use crate::words::one_line;

/// The part of an answer that is being chosen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Step {
    /// Yes, yes and from now on, or no.
    #[default]
    Answer,
    /// The reach of a yes that counts from now on.
    Reach(Cover),
}

/// The calls that a yes covers which counts from now on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cover {
    /// The same call with the same arguments.
    Same,
    /// Those of the request's own rule.
    Own(String),
    /// Those of a wider rule that the person chose.
    Wider(OfferedRule),
}

/// A choice of the panel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// Yes, this time.
    Once,
    /// Yes, and from now on what this covers.
    FromNowOn(Cover),
    /// No.
    No,
    /// The rule counts as far as this.
    As(PermissionScope, Cover),
}

impl Cover {
    /// The calls in a few words.
    pub fn words(&self) -> String {
        match self {
            Self::Same => "this call with these arguments".to_owned(),
            Self::Own(rule) => format!("`{}`", one_line(&marked(rule, TextUse::Exact))),
            Self::Wider(offer) => format!("`{}`", one_line(&marked(&offer.short, TextUse::Exact))),
        }
    }

    /// The calls as they stand in the settings and count everywhere, and what else a person should know.
    pub fn whole_words(&self) -> String {
        match self {
            Self::Same | Self::Own(_) => format!("Allow {} without a question:", self.words()),
            Self::Wider(OfferedRule { rule, note, .. }) => {
                let rule = one_line(&marked(rule, TextUse::Exact));
                format!("Allow `{rule}` without a question. {note}")
            }
        }
    }

    /// The yes that reaches so far.
    pub fn answer(&self, scope: PermissionScope) -> Answer {
        match self {
            Self::Same | Self::Own(_) => Answer::Allow(scope),
            Self::Wider(offer) => Answer::AllowRule(scope, offer.rule.clone()),
        }
    }
}

impl Choice {
    /// The choice in words.
    pub fn words(&self) -> String {
        match self {
            Self::Once => "yes, once".to_owned(),
            Self::FromNowOn(cover) => format!("yes, and from now on {}", cover.words()),
            Self::No => "no".to_owned(),
            Self::As(PermissionScope::Agent, _) => "for this agent".to_owned(),
            Self::As(PermissionScope::Tree, _) => "for this tree of agents".to_owned(),
            Self::As(PermissionScope::Always, _) => {
                "always: it is written into your settings".to_owned()
            }
            Self::As(PermissionScope::Once, _) => "for this call".to_owned(),
        }
    }
}

/// The choices of a part of the answer, in the order of their digits.
pub fn choices(request: &PermissionRequest, step: &Step) -> Vec<Choice> {
    let reaches = |scope: &PermissionScope| scope.is_within(request.widest);
    match step {
        Step::Answer => {
            let mut choices = vec![Choice::Once];
            if reaches(&PermissionScope::Agent) {
                let own = request.rule.clone().map_or(Cover::Same, Cover::Own);
                let wider = request.offers.iter().cloned().map(Cover::Wider);
                choices.extend(std::iter::once(own).chain(wider).map(Choice::FromNowOn));
            }
            choices.push(Choice::No);
            choices
        }
        Step::Reach(cover) => {
            let scopes = [PermissionScope::Agent, PermissionScope::Tree, PermissionScope::Always];
            let scopes = scopes.into_iter().filter(reaches);
            scopes.map(|scope| Choice::As(scope, cover.clone())).collect()
        }
    }
}

/// A line typed at a question, as far as it answers it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// `y` or `yes`.
    Yes,
    /// `n` or `no`.
    No,
    /// No, and this instead.
    Instead(String),
}

/// Reads a line that is not empty and no command.
pub fn said(text: &str) -> Said {
    let text = text.trim();
    let word = text.trim_end_matches(['.', '!']).to_lowercase();
    match word.as_str() {
        "y" | "yes" | "ok" | "okay" => Said::Yes,
        "n" | "no" => Said::No,
        _ => Said::Instead(text.to_owned()),
    }
}
