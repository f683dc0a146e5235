//! A question beside the conversation: on a page of its own, and gone with it.

use crossterm::event::{KeyCode, KeyEvent};
use tine_model::AgentId;
use tine_runtime::Side;

use super::{App, Effect, Overlay};

/// A question, and its answer as far as it has come.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SidePage {
    /// Who is asked.
    pub(crate) agent: AgentId,
    /// What.
    pub(crate) question: String,
    /// The words that have come.
    pub(crate) answer: String,
    /// The whole, once it is there.
    pub(crate) whole: Option<Box<Side>>,
    /// Why there is none.
    pub(crate) error: Option<String>,
    /// The first line that is shown.
    pub(crate) from: usize,
}

/// What happens to such a question.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum SideEvent {
    /// The answer goes on.
    Said(String),
    /// It is whole.
    Done(Box<Side>),
    /// There is none.
    Failed(String),
}

impl App {
    pub(super) fn ask_side(&mut self, agent: AgentId, question: &str) -> Vec<Effect> {
        let question = question.to_owned();
        let page = SidePage {
            agent,
            question: question.clone(),
            answer: String::new(),
            whole: None,
            error: None,
            from: 0,
        };
        self.overlay = Some(Overlay::Side(page));
        vec![Effect::Side(agent, question)]
    }

    pub(super) fn side(&mut self, event: SideEvent) {
        let Some(Overlay::Side(page)) = &mut self.overlay else { return };
        match event {
            SideEvent::Said(delta) => page.answer.push_str(&delta),
            SideEvent::Done(side) => {
                page.answer = side.answer.text();
                page.whole = Some(side);
            }
            SideEvent::Failed(why) => page.error = Some(why),
        }
    }

    pub(super) fn side_key(&mut self, key: KeyEvent) -> Vec<Effect> {
        let lines = usize::from(self.page.saturating_sub(1).max(1));
        let Some(Overlay::Side(page)) = &mut self.overlay else { return Vec::new() };
        let is_over = page.whole.is_some() || page.error.is_some();
        match key.code {
            KeyCode::Up => page.from = page.from.saturating_sub(1),
            KeyCode::Down => page.from += 1,
            KeyCode::PageUp => page.from = page.from.saturating_sub(lines),
            KeyCode::PageDown => page.from += lines,
            KeyCode::Char('f') => {
                let Some(side) = page.whole.take() else { return Vec::new() };
                self.overlay = None;
                self.begin_fork(side.agent, None);
                return vec![Effect::Promote(side)];
            }
            KeyCode::Esc if !is_over => {
                self.overlay = None;
                self.tell("the question is taken back");
                return vec![Effect::EndSide];
            }
            KeyCode::Esc | KeyCode::Enter | KeyCode::Char('q') if is_over => self.overlay = None,
            _ => {}
        }
        Vec::new()
    }
}
