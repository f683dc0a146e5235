//! Answering a question: the keys that mark and confirm a choice of its panel, and the lines that are answers.
//!
//! Letters never answer. They go to the line, and only Enter sends a line.

use crossterm::event::{KeyCode, KeyEvent};
use tine_model::{PermissionId, PermissionScope};
use tine_runtime::{Answer, REASON_BYTES_MAX};

use super::command;
use super::keys::Action;
use super::questions::Standby;
use super::{App, Effect, Face};
use crate::question::{Choice, Said, Step, choices, said};

/// Returns true for a line that is a command, which answers nothing.
pub(crate) fn is_command(text: &str) -> bool {
    command::read(text).is_some() || text.trim_start().starts_with('!')
}

/// Returns true for a line that can be nothing but an answer: yes, no, or the digit of a choice.
pub(crate) fn is_bare(text: &str) -> bool {
    match said(text) {
        Said::Yes | Said::No => true,
        Said::Instead(words) => words.len() == 1 && words.starts_with(|c: char| c.is_ascii_digit()),
    }
}

/// A choice of the panel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PanelChoice {
    /// It answers the question in front.
    Own(Choice),
    /// It answers this one and so many in all that are equal to it.
    OfAll(Choice, usize),
}

impl PanelChoice {
    /// The choice in words.
    pub(crate) fn words(&self) -> String {
        match self {
            Self::Own(choice) => choice.words(),
            Self::OfAll(choice, count) => format!("{}, for all {count}", choice.words()),
        }
    }
}

impl App {
    /// Answers all that the panel shows.
    fn answer_all(&mut self, answer: &Answer) -> Vec<Effect> {
        let mut together = std::mem::take(&mut self.questions.together);
        together.retain(|id| self.questions.waiting.iter().any(|request| request.id == *id));
        together.iter().for_each(|id| self.remove_question(*id));
        self.restore_line();
        together.into_iter().map(|id| Effect::Answer(id, answer.clone())).collect()
    }

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
                let is_entered = self.questions.is_entered;
                self.questions.show_anew();
                self.questions.is_entered = is_entered;
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
                self.turn_question(key.code == KeyCode::Right);
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

    /// The choices of the panel, in the order of their digits.
    pub(crate) fn panel_choices(&self) -> Vec<PanelChoice> {
        let Some(front) = self.questions.front() else { return Vec::new() };
        let own = choices(front, &self.questions.step).into_iter().map(PanelChoice::Own);
        let mut choices: Vec<PanelChoice> = own.collect();
        let count = self.questions.together.len();
        if count > 1 && self.questions.step == Step::Answer {
            choices.insert(1, PanelChoice::OfAll(Choice::Once, count));
            choices.push(PanelChoice::OfAll(Choice::No, count));
        }
        choices
    }

    /// The marked choice, and whether it is for all that the panel shows.
    fn marked_choice(&self) -> Option<(Choice, bool)> {
        Some(match self.panel_choices().into_iter().nth(self.questions.marked)? {
            PanelChoice::Own(choice) => (choice, false),
            PanelChoice::OfAll(choice, _) => (choice, true),
        })
    }

    /// The panel shows these together from now on. The mark stays on its choice, and counts once that could be read.
    pub(super) fn show_together(&mut self, together: Vec<PermissionId>) {
        let marked = self.marked_choice();
        self.questions.together = together;
        if self.questions.step != Step::Answer {
            return;
        }
        self.questions.unread();
        let Some((choice, is_of_all)) = marked else { return };
        let choices = self.panel_choices();
        let own = choices.iter().position(|other| *other == PanelChoice::Own(choice.clone()));
        let of_all = choices
            .iter()
            .position(|other| matches!(other, PanelChoice::OfAll(other, _) if *other == choice));
        let place = of_all.filter(|_| is_of_all).or(own);
        self.questions.marked = place.unwrap_or(0);
    }

    fn move_mark(&mut self, down: bool) -> Vec<Effect> {
        let count = self.panel_choices().len().max(1);
        self.questions.is_entered = true;
        let step = if down { 1 } else { count - 1 };
        self.questions.marked = (self.questions.marked + step) % count;
        Vec::new()
    }

    /// Marks the choice of a digit; false where there is none.
    fn mark(&mut self, digit: char) -> bool {
        let place = digit.to_digit(10).and_then(|digit| usize::try_from(digit).ok());
        let place = place.and_then(|place| place.checked_sub(1));
        let place = place.filter(|place| *place < self.panel_choices().len());
        self.questions.marked = place.unwrap_or(self.questions.marked);
        place.is_some()
    }

    /// Enter on an empty line: takes the marked choice. Nothing is allowed of which not all could be seen.
    fn confirm(&mut self) -> Vec<Effect> {
        let Some((choice, is_of_all)) = self.marked_choice() else { return Vec::new() };
        match choice {
            Choice::No if is_of_all => self.answer_all(&Answer::Deny(PermissionScope::Once)),
            Choice::No => self.answer_with(Answer::Deny(PermissionScope::Once)),
            _ if !self.questions.was_seen() => self.show_question(),
            Choice::Once if is_of_all => self.answer_all(&Answer::Allow(PermissionScope::Once)),
            Choice::Once => self.answer_with(Answer::Allow(PermissionScope::Once)),
            Choice::As(scope, cover) => self.answer_with(cover.answer(scope)),
            Choice::FromNowOn(cover) => {
                self.questions.unread();
                (self.questions.step, self.questions.marked) = (Step::Reach(cover), 0);
                Vec::new()
            }
        }
    }

    /// An answer from before the question counts is held: no model gets it, and it only marks its choice. `None` for other lines.
    fn hold_answer(&mut self, text: &str) -> Option<Vec<Effect>> {
        let wanted = match said(text) {
            _ if !is_bare(text) => return None,
            Said::Yes => Some(Choice::Once),
            Said::No => Some(Choice::No),
            Said::Instead(digit) => {
                if let Some(digit) = digit.chars().next() {
                    self.mark(digit);
                }
                None
            }
        };
        let wanted = wanted.map(PanelChoice::Own);
        let place = self.panel_choices().iter().position(|choice| Some(choice) == wanted.as_ref());
        self.questions.marked = place.unwrap_or(self.questions.marked);
        self.input().set("");
        self.tell(match self.face {
            Face::Screen => "the question has just come; read it, then Enter confirms your answer",
            Face::Lines | Face::Pipe => "the question has just come; read it, and answer again",
        });
        Some(Vec::new())
    }

    /// A line that was typed at a question and is confirmed by Enter. `None` where it is no answer, but a prompt or a command.
    pub(super) fn answer_line(&mut self, text: &str) -> Option<Vec<Effect>> {
        match self.standby() {
            Standby::Inactive => return None,
            _ if is_command(text) => return None,
            Standby::Unread | Standby::Draft => return self.hold_answer(text),
            Standby::Armed => {}
        }
        let answer = match said(text) {
            Said::Yes if !self.questions.was_seen() => return Some(self.show_question()),
            Said::Yes => Answer::Allow(PermissionScope::Once),
            Said::No => Answer::Deny(PermissionScope::Once),
            // What was a choice before a sibling was answered, perhaps; no model gets it, and it is no reason.
            Said::Instead(digit) if is_bare(text) => {
                self.input().set("");
                self.tell(format!("there is no choice {digit}"));
                return Some(Vec::new());
            }
            Said::Instead(_) if !self.words_answer() => return None,
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
        self.take_line();
        self.answer_with(Answer::DenyBecause(PermissionScope::Once, words))
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
