//! The one thing that Esc does now. Keys, the screen and the lines all ask here, so that what is said is what happens.

use tine_model::AgentId;

use super::keys::Action;
use super::tree::{Asks, Tree};
use super::{App, LEAVE_MS, Overlay, Standby};
use crate::question::Step;

/// Something that Esc does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Escape {
    /// Ends the question or the line at the foot of the tree.
    LeaveFoot,
    /// Shows all agents of the tree again.
    ShowAll,
    /// Closes what lies over the conversation.
    Close,
    /// Takes the question beside the conversation back.
    TakeBack,
    /// Ends the pointing.
    PointNoMore,
    /// Ends the search of the history.
    LeaveSearch,
    /// Takes the offers away.
    NoOffers,
    /// Goes back from the reach of an answer to the answer.
    AnswerAnew,
    /// Leaves the question for later.
    AnswerLater,
    /// Gives up the fork that waits.
    GiveUpFork,
    /// Ends `/wait`.
    WaitNoMore,
    /// Stops the person's own command.
    StopCommand,
    /// Stops what runs below the agent that was interrupted a moment ago, or whose run waits for it.
    StopBelow,
    /// Interrupts the turn that is seen.
    Interrupt,
    /// Nothing.
    Nothing,
}

impl Escape {
    /// Returns what it does, in words that follow the name of the key.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::LeaveFoot | Self::LeaveSearch => "gives up",
            Self::ShowAll => "shows all",
            Self::Close => "closes",
            Self::TakeBack => "takes the question back",
            Self::PointNoMore => "done",
            Self::NoOffers => "closes the offers",
            Self::AnswerAnew => "goes back",
            Self::AnswerLater => "answers later",
            Self::GiveUpFork => "gives the fork up",
            Self::WaitNoMore => "waits no more",
            Self::StopCommand => "stops it",
            Self::StopBelow => "stops what runs below, too",
            Self::Interrupt => "interrupts",
            Self::Nothing => "",
        }
    }
}

impl Tree {
    /// The one thing that Esc does in the tree.
    pub(crate) fn escape(&self) -> Escape {
        match &self.asks {
            Some(Asks::Filter) => Escape::ShowAll,
            Some(Asks::Name(..) | Asks::Words(..) | Asks::Kill(..)) => Escape::LeaveFoot,
            None if !self.filter.is_empty() => Escape::ShowAll,
            None => Escape::Close,
        }
    }
}

impl App {
    /// The one thing that Esc does now.
    pub(crate) fn escape(&self) -> Escape {
        match &self.overlay {
            Some(Overlay::Tree(tree)) => return tree.escape(),
            Some(Overlay::Side(page)) if page.whole.is_none() && page.error.is_none() => {
                return Escape::TakeBack;
            }
            Some(Overlay::Help(help)) if help.is_asking || !help.wanted.is_empty() => {
                return Escape::ShowAll;
            }
            Some(Overlay::Side(_) | Overlay::Help(_) | Overlay::Page(_)) => return Escape::Close,
            None if self.is_pointing() => return Escape::PointNoMore,
            None if self.is_searching() => return Escape::LeaveSearch,
            None if self.offers.is_some() => return Escape::NoOffers,
            None => {}
        }
        match (self.standby(), self.questions.choosing().0) {
            (Standby::Inactive, _) => self.interruption(),
            (_, Step::Reach(_)) => Escape::AnswerAnew,
            (_, Step::Answer) => Escape::AnswerLater,
        }
    }

    /// What is interrupted, where nothing lies over the conversation and no question takes the keys.
    pub(super) fn interruption(&self) -> Escape {
        let again = self.interrupted.filter(|(_, at_ms)| self.now_ms - *at_ms <= LEAVE_MS);
        match self.focus {
            Some(focus) if self.fork_waits(focus) => Escape::GiveUpFork,
            _ if self.wait.is_some() => Escape::WaitNoMore,
            _ if self.shell.is_some() => Escape::StopCommand,
            Some(focus) if again.is_some_and(|(agent, _)| agent == focus) => Escape::StopBelow,
            // Its run ends with theirs.
            Some(focus) if self.is_stopping(focus) && self.running_below(focus) > 0 => {
                Escape::StopBelow
            }
            Some(focus) if self.runs(focus) && !self.is_stopping(focus) => Escape::Interrupt,
            Some(_) | None => Escape::Nothing,
        }
    }

    /// Returns true if the run of an agent was interrupted already.
    fn is_stopping(&self, agent: AgentId) -> bool {
        self.lives.get(&agent).is_some_and(|live| live.stopping)
    }

    /// The key, and the one thing that it does now; nothing where it does nothing.
    pub(crate) fn escape_hint(&self) -> Option<String> {
        let escape = self.escape();
        let key = match escape {
            Escape::Nothing => return None,
            Escape::LeaveFoot
            | Escape::ShowAll
            | Escape::Close
            | Escape::TakeBack
            | Escape::LeaveSearch
            | Escape::NoOffers => "Esc".to_owned(),
            Escape::PointNoMore
            | Escape::AnswerAnew
            | Escape::AnswerLater
            | Escape::GiveUpFork
            | Escape::WaitNoMore
            | Escape::StopCommand
            | Escape::StopBelow
            | Escape::Interrupt => self.keys.hint(Action::Interrupt)?,
        };
        Some(format!("{key} {}", escape.words()))
    }
}
