//! The permission mode of the session: Shift+Tab and `/mode` change it.

use tine_guard::PermissionMode;

use super::{App, Effect};

/// Modes that can be reached at any time, in the order of the key.
const CYCLE: [PermissionMode; 3] =
    [PermissionMode::Default, PermissionMode::AcceptEdits, PermissionMode::ReadOnly];

/// The name of a mode on the screen.
pub(crate) fn mode_word(mode: PermissionMode) -> &'static str {
    match mode {
        PermissionMode::Default | PermissionMode::AcceptEdits | PermissionMode::Bypass => {
            mode.as_str()
        }
        PermissionMode::ReadOnly => "plan (read-only)",
    }
}

/// The effect of a mode, in a few words.
fn effect_of(mode: PermissionMode) -> &'static str {
    match mode {
        PermissionMode::Default => "agents ask before they change anything",
        PermissionMode::AcceptEdits => {
            "agents edit files of the directory unasked, but for those that can start programs"
        }
        PermissionMode::ReadOnly => "agents read and change nothing",
        PermissionMode::Bypass => "agents ask nothing",
    }
}

impl App {
    /// The session begins in this mode. Bypass can be come back to only if it begins there.
    pub(crate) fn begin_in(&mut self, mode: PermissionMode) {
        self.mode = mode;
        self.may_bypass = mode == PermissionMode::Bypass;
    }

    /// Goes to the next mode.
    pub(super) fn next_mode(&mut self) -> Vec<Effect> {
        let bypass = self.may_bypass.then_some(PermissionMode::Bypass);
        let modes: Vec<_> = CYCLE.into_iter().chain(bypass).collect();
        let at = modes.iter().position(|mode| *mode == self.mode).unwrap_or(0);
        let next = modes.get((at + 1) % modes.len()).copied().unwrap_or_default();
        self.change_mode(next)
    }

    /// `/mode`: without a name, says which counts.
    pub(super) fn mode_command(&mut self, name: &str) -> Vec<Effect> {
        if name.is_empty() {
            self.tell(format!("{}: {}", mode_word(self.mode), effect_of(self.mode)));
            return Vec::new();
        }
        match name.parse::<PermissionMode>() {
            Ok(PermissionMode::Bypass) if !self.may_bypass => {
                self.refuse("bypass is asked for at the start: tine --permission-mode bypass")
            }
            Ok(mode) => self.change_mode(mode),
            Err(_) => self.refuse("usage: /mode [default|accept-edits|plan]"),
        }
    }

    fn change_mode(&mut self, mode: PermissionMode) -> Vec<Effect> {
        self.mode = mode;
        self.tell(format!("{}: {}", mode_word(mode), effect_of(mode)));
        vec![Effect::Mode(mode)]
    }
}

#[cfg(test)]
mod tests {
    use crossterm::event::{KeyCode, KeyModifiers};

    use super::super::fixture::agent;
    use super::super::tests::{press, said, session};
    use super::*;

    #[test]
    fn the_key_goes_round_and_bypass_is_there_only_where_it_was_at_the_start() {
        let mut app = session(&[agent(1, None)]);
        let next =
            |app: &mut App| match press(app, KeyCode::BackTab, KeyModifiers::SHIFT).as_slice() {
                [Effect::Mode(mode)] => mode.as_str(),
                other => panic!("{other:?}"),
            };
        assert_eq!(
            [0; 4].map(|_| next(&mut app)),
            ["accept-edits", "read-only", "default", "accept-edits"]
        );
        assert_eq!(app.mode_command("bypass"), []);
        assert_eq!(app.mode_command("acceptEdits"), [Effect::Mode(PermissionMode::AcceptEdits)]);
        app.begin_in(PermissionMode::Bypass);
        assert_eq!(
            [0; 4].map(|_| next(&mut app)),
            ["default", "accept-edits", "read-only", "bypass"]
        );
        insta::assert_snapshot!(said(&app).last().unwrap(), @"bypass: agents ask nothing");
    }
}
