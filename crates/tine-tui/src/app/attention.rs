//! Calls the person who does not look at the terminal, and says in its title what goes on.

use std::path::Path;

use tine_model::AgentId;
use tine_runtime::PermissionRequest;

use super::questions::who_asks;
use super::{App, Effect, called};
use crate::words::{cut, one_line};

/// A turn that took longer than this calls the person at its end, in milliseconds. For a shorter one they are still there.
const LONG_TURN_MS: i64 = 10_000;

/// Shortest time between two calls, in milliseconds: workers that ask at the same time call once.
const BETWEEN_CALLS_MS: i64 = 2_000;

/// Columns of a title. Terminals show less of it on a tab.
const TITLE_COLUMNS: usize = 80;

/// The state of the person's attention: whether the terminal is in front, and when it last called.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Attention {
    /// True while the terminal is in front. None as long as it has not said.
    is_focused: Option<bool>,
    /// The time of the last call, in milliseconds since the Unix epoch.
    called_ms: Option<i64>,
}

impl App {
    /// The terminal comes to the front, or something else does.
    pub(super) fn focus_changed(&mut self, is_focused: bool) {
        self.attention.is_focused = Some(is_focused);
    }

    /// Calls the person to a question that is new, unless the terminal is known to be in front.
    pub(super) fn call_to_question(&mut self, request: &PermissionRequest) -> Option<Effect> {
        let is_known = self.questions.waiting.iter().any(|known| known.id == request.id);
        if is_known || self.attention.is_focused == Some(true) {
            return None;
        }
        self.call(format!("{} asks: {}", who_asks(request), request.what))
    }

    /// Calls the person to the end of a long turn that they see, if the terminal is known not to be in front. Must be called while the
    /// run is still known.
    pub(super) fn call_to_end(&mut self, agent: AgentId) -> Option<Effect> {
        let live = self.lives.get(&agent).filter(|_| self.focus == Some(agent))?;
        let is_long = self.now_ms - live.began_ms > LONG_TURN_MS;
        if live.stopping || !is_long || self.attention.is_focused != Some(false) {
            return None;
        }
        let name = self.record(agent).map_or_else(|| agent.short(), called);
        self.call(format!("{name} has ended its turn"))
    }

    fn call(&mut self, why: String) -> Option<Effect> {
        let is_recent = |called_ms: i64| self.now_ms - called_ms < BETWEEN_CALLS_MS;
        if self.attention.called_ms.is_some_and(is_recent) {
            return None;
        }
        self.attention.called_ms = Some(self.now_ms);
        Some(Effect::Call(cut(&one_line(&why), TITLE_COLUMNS)))
    }

    /// The title of the terminal, without control characters: what the conversation is about, or the directory, behind a sign while
    /// somebody asks or works.
    pub(crate) fn title(&self) -> String {
        let sign = match self.questions.is_empty() {
            false => "? ",
            true if self.at_work().next().is_some() => "… ",
            true => "",
        };
        let record = self.room().map(|room| &room.record);
        let directory = record.map_or(&self.directory, |record| &record.directory);
        let directory = match Path::new(directory).file_name() {
            Some(name) => name.to_string_lossy().into_owned(),
            None => directory.clone(),
        };
        let about = record.and_then(|record| record.title.clone().or_else(|| record.name.clone()));
        let about = about.unwrap_or(directory);
        cut(&format!("{sign}tine · {}", one_line(&about)), TITLE_COLUMNS)
    }
}

#[cfg(test)]
mod tests {
    use tine_model::PermissionScope;

    use super::*;
    use crate::app::fixture::{agent, id, request};
    use crate::app::{Event, Happening};

    fn session() -> App {
        let mut app = App::at(100_000);
        app.directory = "/srv/web".to_owned();
        app.update(Event::Registry(vec![agent(1, None), agent(2, Some(1))], Vec::new()));
        app.go(id(1));
        app
    }

    fn calls(app: &mut App, event: Event) -> bool {
        app.update(event).iter().any(|effect| matches!(effect, Effect::Call(_)))
    }

    fn asks(app: &mut App, byte: u8) -> bool {
        app.now_ms += BETWEEN_CALLS_MS;
        calls(app, Event::Asked(Box::new(request(byte, 2, PermissionScope::Once))))
    }

    #[test]
    fn a_question_calls_once_unless_the_terminal_is_in_front() {
        let mut app = session();
        let unknown = (asks(&mut app, 1), asks(&mut app, 1));
        app.update(Event::Focus(true));
        let in_front = asks(&mut app, 2);
        app.update(Event::Focus(false));
        let away = asks(&mut app, 3);
        let at_the_same_time =
            calls(&mut app, Event::Asked(Box::new(request(4, 2, PermissionScope::Once))));
        assert_eq!(
            (unknown, in_front, away, at_the_same_time),
            ((true, false), false, true, false)
        );
    }

    #[test]
    fn the_end_of_a_long_turn_calls_who_has_gone() {
        let turn = |focus: Option<bool>, byte: u8, time_ms: i64, is_stopped: bool| {
            let mut app = session();
            focus.into_iter().for_each(|is_focused| drop(app.update(Event::Focus(is_focused))));
            app.update(Event::Happened(id(byte), Happening::Began));
            app.lives.get_mut(&id(byte)).unwrap().stopping = is_stopped;
            app.now_ms += time_ms;
            calls(&mut app, Event::Happened(id(byte), Happening::Ended))
        };
        let long = LONG_TURN_MS + 1;
        assert!(turn(Some(false), 1, long, false));
        assert!(!turn(Some(false), 1, LONG_TURN_MS, false));
        assert!(!turn(Some(true), 1, long, false));
        assert!(!turn(None, 1, long, false));
        assert!(!turn(Some(false), 2, long, false), "it is not on the screen");
        assert!(!turn(Some(false), 1, long, true), "the person has stopped it");
    }

    #[test]
    fn the_title_says_what_goes_on_and_drives_nothing() {
        let mut app = App::at(0);
        app.directory = "/srv/web".to_owned();
        let mut titles = vec![app.title()];
        let mut record = agent(1, None);
        app.update(Event::Registry(vec![record.clone()], Vec::new()));
        app.go(id(1));
        titles.push(app.title());
        record.title = Some("Mend\n it\u{7}\u{1b}]2;x\u{9c}".to_owned());
        app.update(Event::Registry(vec![record], Vec::new()));
        titles.push(app.title());
        app.update(Event::Happened(id(1), Happening::Began));
        titles.push(app.title());
        asks(&mut app, 1);
        titles.push(app.title());
        insta::assert_snapshot!(titles.join("\n"), @r"
        tine · web
        tine · srv
        tine · Mend it\u{7}\u{1b}]2;x\u{9c}
        … tine · Mend it\u{7}\u{1b}]2;x\u{9c}
        ? tine · Mend it\u{7}\u{1b}]2;x\u{9c}
        ");
    }
}
