//! What a person does who has no screen: lines, and the keys that have no other way.

use super::answers::is_bare;
use super::piece::{Body, CallPiece, Piece, Tone};
use super::{App, Effect, Standby};

/// How a person and the session talk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Face {
    /// By a screen, which has the line that is being written, and every key.
    #[default]
    Screen,
    /// By lines of a terminal, which keeps a line until Enter: nobody sees that one is begun.
    Lines,
    /// By lines of a program, which were all written before.
    Pipe,
}

impl App {
    /// A whole line, or several that belong together: words, a command, or the answer to the question.
    pub(super) fn typed_line(&mut self, text: &str) -> Vec<Effect> {
        self.overlay.take_if(|overlay| overlay.is_whole());
        if is_escape(text) && self.face == Face::Lines {
            // The terminal wrote the key into the line.
            return self.interrupt();
        }
        if !text.trim().is_empty() && self.asks_for_the_dead(text) {
            return Vec::new();
        }
        if self.standby() == Standby::Armed
            && (self.words_answer() || is_bare(text))
            && let Some(effects) = self.answered(text.trim())
        {
            return effects;
        }
        self.input().set(text);
        let effects = self.submit();
        // Without a screen nothing stands in the line: what is put there is said, and what was refused is gone.
        let put = self.input().text();
        self.input().set("");
        if !put.is_empty() && put != text {
            self.say(None, Tone::Plain, format!("Taken back: {put}"));
        }
        effects
    }

    /// `/answer`: without more, the person goes to the question; `next` puts the next one in front, and `show` shows all of it.
    pub(super) fn answer(&mut self, rest: &str) -> Vec<Effect> {
        if rest == "show" && !self.questions.is_empty() {
            return self.show_question();
        }
        if rest == "next" {
            self.turn_question(true);
        }
        if rest == "next" || rest.is_empty() || self.questions.is_empty() {
            self.go_to_questions();
            return Vec::new();
        }
        if !self.questions.was_read(self.now_ms) {
            self.go_to_questions();
            self.tell("this question has just come; read it, and answer again");
            return Vec::new();
        }
        match self.answered(rest) {
            Some(effects) => effects,
            None => self.refuse(
                "usage: /answer [y|n [REASON]|NUMBER|show|next], with the number of a choice",
            ),
        }
    }

    /// `/show`: the call or the reasoning of this number, whole; without one the last call.
    pub(super) fn show(&mut self, rest: &str) -> Vec<Effect> {
        let Some(room) = self.room() else {
            return self.refuse("there is no agent yet; say something first");
        };
        let folded = folded(&room.pieces);
        let found = match rest.parse::<usize>() {
            Ok(number) => {
                let piece = number.checked_sub(1).and_then(|at| folded.get(at));
                piece.map(|piece| (number, *piece))
            }
            Err(_) if rest.is_empty() => folded.last().map(|piece| (folded.len(), *piece)),
            Err(_) => return self.refuse("usage: /show [NUMBER]"),
        };
        let Some((number, piece)) = found else {
            return self.refuse("nothing has this number; calls and reasoning have one each");
        };
        let page = whole(number, &piece.body);
        if let Some((title, text)) = page {
            self.show_page(title, text);
        }
        Vec::new()
    }
}

/// Returns true for a line of nothing but the character of Esc.
fn is_escape(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && line.chars().all(|character| character == '\u{1b}')
}

/// What is shown in a line and opens to more, in order: the first has the number 1.
pub(crate) fn folded(pieces: &[Piece]) -> Vec<&Piece> {
    pieces.iter().filter(|piece| is_folded(&piece.body)).collect()
}

/// Whether it is shown in a line and opens to more.
pub(crate) fn is_folded(body: &Body) -> bool {
    match body {
        Body::Call(_) | Body::Thinking(_) => true,
        Body::User(_) | Body::Model(_) | Body::Event(_) | Body::Aside(..) => false,
    }
}

fn whole(number: usize, body: &Body) -> Option<(String, String)> {
    match body {
        Body::Thinking(text) => Some((format!("{number}: reasoning"), text.clone())),
        Body::Call(CallPiece { tool, line, input, answer, .. }) => {
            let answer = match answer {
                None => "It has no answer yet.".to_owned(),
                Some(answer) if answer.is_error => format!("It failed:\n{}", answer.text),
                Some(answer) => format!("Answer:\n{}", answer.text),
            };
            let text = format!("{tool} {line}\n\nArguments:\n{input}\n\n{answer}");
            Some((format!("{number}: {tool}"), text))
        }
        Body::User(_) | Body::Model(_) | Body::Event(_) | Body::Aside(..) => None,
    }
}
