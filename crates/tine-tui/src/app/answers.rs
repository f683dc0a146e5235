//! Answering a question: the keys that mark and confirm a choice of its panel, and the lines that are answers.
//!
//! Letters never answer. They go to the line, and only Enter sends a line.

use crossterm::event::{KeyCode, KeyEvent};
use tine_model::{PermissionId, PermissionScope};
use tine_runtime::{Answer, REASON_BYTES_MAX};

use super::command;
use super::keys::Action;
use super::questions::Standby;
use super::{App, Effect};
use crate::question::{Choice, Said, Step, choices, said};

/// Returns true for a line that is a command, which answers nothing.
pub(crate) fn is_command(text: &str) -> bool {
    command::read(text).is_some() || text.trim_start().starts_with('!')
}

impl App {
    /// Answers the one in front.
    pub(super) fn answer_with(&mut self, answer: Answer) -> Vec<Effect> {
        let Some(id) = self.questions.front().map(|request| request.id) else { return Vec::new() };
        self.remove_question(id);
        self.restore_line();
        vec![Effect::Answer(id, answer)]
    }

    /// A key at a question that may take keys. `None` where the key is for the line, as every letter is.
    pub(super) fn question_key(&mut self, key: KeyEvent) -> Option<Vec<Effect>> {
        let standby = self.standby();
        match (self.keys.action(key), standby) {
            (_, Standby::Inactive) => return None,
            (Some(Action::Interrupt), _) if matches!(self.questions.step, Step::Reach(_)) => {
                self.questions.show_anew();
                return Some(Vec::new());
            }
            (Some(Action::Interrupt), _) => {
                self.put_questions_aside();
                return Some(Vec::new());
            }
            (Some(Action::Open), _) => return Some(self.show_question()),
            (_, Standby::Draft) => return None,
            (_, Standby::Unread | Standby::Armed) => {}
        }
        let digits = std::mem::take(&mut self.questions.digits);
        if !self.line().is_empty() || !key.modifiers.is_empty() {
            return self.write_digits(&digits, key);
        }
        match (key.code, standby) {
            // These mean nothing before the question was read, also nothing else.
            (KeyCode::Up | KeyCode::Down | KeyCode::Enter, Standby::Unread) => Some(Vec::new()),
            (KeyCode::Left | KeyCode::Right, _) => {
                self.questions.turn(key.code == KeyCode::Right);
                Some(Vec::new())
            }
            (_, Standby::Unread) => None,
            (KeyCode::Up, _) => Some(self.move_mark(false)),
            (KeyCode::Down, _) => Some(self.move_mark(true)),
            (KeyCode::Char(digit), _) if self.mark(digit) => {
                self.questions.digits = format!("{digits}{digit}");
                Some(Vec::new())
            }
            (KeyCode::Enter, _) => Some(self.confirm()),
            _ => self.write_digits(&digits, key),
        }
    }

    /// A letter that follows digits makes text of them.
    fn write_digits(&mut self, digits: &str, key: KeyEvent) -> Option<Vec<Effect>> {
        if matches!(key.code, KeyCode::Char(_)) && !digits.is_empty() && key.modifiers.is_empty() {
            self.input().paste(digits);
        }
        None
    }

    fn current_choices(&self) -> Vec<Choice> {
        let front = self.questions.front();
        front.map(|front| choices(front, &self.questions.step)).unwrap_or_default()
    }

    fn move_mark(&mut self, down: bool) -> Vec<Effect> {
        let count = self.current_choices().len().max(1);
        let step = if down { 1 } else { count - 1 };
        self.questions.marked = (self.questions.marked + step) % count;
        Vec::new()
    }

    /// Marks the choice of a digit; false where there is none.
    fn mark(&mut self, digit: char) -> bool {
        let place = digit.to_digit(10).and_then(|digit| usize::try_from(digit).ok());
        let place = place.and_then(|place| place.checked_sub(1));
        let place = place.filter(|place| *place < self.current_choices().len());
        self.questions.marked = place.unwrap_or(self.questions.marked);
        place.is_some()
    }

    /// Enter on an empty line: takes the marked choice. Nothing is allowed of which not all could be seen.
    fn confirm(&mut self) -> Vec<Effect> {
        let marked = self.current_choices().into_iter().nth(self.questions.marked);
        match marked {
            None => Vec::new(),
            Some(Choice::No) => self.answer_with(Answer::Deny(PermissionScope::Once)),
            Some(_) if !self.questions.was_seen() => self.show_question(),
            Some(Choice::Once) => self.answer_with(Answer::Allow(PermissionScope::Once)),
            Some(Choice::As(scope, cover)) => self.answer_with(cover.answer(scope)),
            Some(Choice::FromNowOn(cover)) => {
                self.questions.unread();
                (self.questions.step, self.questions.marked) = (Step::Reach(cover), 0);
                Vec::new()
            }
        }
    }

    /// A line that was typed at a question and is confirmed by Enter. `None` where it is no answer, but a prompt or a command.
    pub(super) fn answer_line(&mut self, text: &str) -> Option<Vec<Effect>> {
        if self.standby() != Standby::Armed || is_command(text) {
            return None;
        }
        let answer = match said(text) {
            Said::Yes if !self.questions.was_seen() => return Some(self.show_question()),
            Said::Yes => Answer::Allow(PermissionScope::Once),
            Said::No => Answer::Deny(PermissionScope::Once),
            Said::Instead(words) => return Some(self.deny_because(words)),
        };
        self.input().take();
        Some(self.answer_with(answer))
    }

    /// No, and these words. What is too long stays in the line.
    fn deny_because(&mut self, words: String) -> Vec<Effect> {
        if words.len() > REASON_BYTES_MAX {
            let most = REASON_BYTES_MAX;
            self.tell(format!("at most {most} bytes say what to do instead; nothing was sent"));
            return Vec::new();
        }
        self.input().take();
        self.answer_with(Answer::DenyBecause(words))
    }

    /// `/answer`, and a line of a session without a screen: `y`, `n`, `n` and a reason, or the number of a choice.
    pub(super) fn answered(&mut self, text: &str) -> Option<Vec<Effect>> {
        self.questions.front()?;
        if let Some(reason) = ["n ", "no "].iter().find_map(|no| text.strip_prefix(no)) {
            return Some(self.deny_because(reason.trim().to_owned()));
        }
        let mut characters = text.chars();
        match (said(text), characters.next(), characters.next()) {
            (Said::Yes, ..) if !self.questions.was_seen() => Some(self.show_question()),
            (Said::Yes, ..) => Some(self.answer_with(Answer::Allow(PermissionScope::Once))),
            (Said::No, ..) => Some(self.answer_with(Answer::Deny(PermissionScope::Once))),
            (_, Some(digit), None) if self.mark(digit) => {
                let effects = self.confirm();
                if matches!(self.questions.step, Step::Reach(_)) {
                    // The rest of the answer is asked now.
                    self.questions.call();
                }
                Some(effects)
            }
            _ => None,
        }
    }

    /// Lets all of the one in front be read, to show it on a page of its own.
    pub(super) fn show_question(&mut self) -> Vec<Effect> {
        let front = self.questions.front().cloned();
        self.questions.is_opening = front.is_some();
        front.map(|front| Effect::Open(Box::new(front))).into_iter().collect()
    }

    /// Shows all of a question, if it is still in front.
    pub(super) fn question_opened(&mut self, id: PermissionId, text: String) {
        self.questions.is_opening = false;
        let Some(request) = self.questions.front().filter(|front| front.id == id) else { return };
        let title = format!("{} of {}", request.tool, request.agent.short());
        self.show_page(title, text);
        self.questions.is_seen();
    }
}
