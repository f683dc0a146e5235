//! Settings of the terminal. The user's own alone: they are about the person's screen.

use serde::Deserialize;
use tine_tui::{KeyError, Keys, Notify};

use super::Config;
use crate::fail::Failure;

/// The table `[terminal]`.
#[derive(Debug, Clone, Default, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub(crate) struct TerminalTable {
    /// True where the screen has the mouse from the start.
    pub(crate) mouse: Option<bool>,
    /// `bell`, `osc9` or `off`.
    notify: Option<String>,
}

impl TerminalTable {
    /// This table where `later` says nothing.
    pub(super) fn under(self, later: Self) -> Self {
        Self { mouse: later.mouse.or(self.mouse), notify: later.notify.or(self.notify) }
    }
}

impl Config {
    /// The way in which a person is called who does not look at the terminal.
    pub(crate) fn notify(&self) -> Result<Notify, Failure> {
        let Some(word) = &self.terminal.notify else { return Ok(Notify::default()) };
        Notify::from_name(word).ok_or_else(|| {
            let file = self.user_file.display();
            Failure::input(format!("terminal.notify in {file} cannot be `{word}`"))
                .hint(format!("it is one of {}", Notify::NAMES.join(", ")))
        })
    }

    /// The key bindings of the settings.
    pub(crate) fn key_bindings(&self) -> Result<Keys, Failure> {
        Keys::with(&self.keys).map_err(|error| {
            let failure = Failure::input("a key of the settings cannot be used").because(&error);
            let hint = match error {
                KeyError::NoAction(_) => {
                    format!("keys can do: {}", Keys::actions().collect::<Vec<_>>().join(", "))
                }
                KeyError::NoKey(_) => {
                    "keys are written as ctrl+t, alt+left, shift+pageup or f1".to_owned()
                }
                KeyError::Writes(_) => {
                    "hold ctrl or alt with it, or take a function key".to_owned()
                }
                KeyError::Twice(..) => "give one of them another key, or none: []".to_owned(),
            };
            failure.hint(format!("{hint}; see [keys] in {}", self.user_file.display()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_word_is_told_with_the_right_ones() {
        let notify = |word: Option<&str>| {
            let mut config = Config { user_file: "config.toml".into(), ..Config::default() };
            config.terminal.notify = word.map(str::to_owned);
            config.notify().map_err(|failure| failure.text())
        };
        assert_eq!(notify(None), Ok(Notify::Bell));
        assert_eq!(notify(Some("osc9")), Ok(Notify::Osc9));
        assert_eq!(notify(Some("off")), Ok(Notify::Off));
        insta::assert_snapshot!(notify(Some("loud")).unwrap_err(), @"
        error: terminal.notify in config.toml cannot be `loud`
        hint: it is one of bell, osc9, off
        ");
    }
}
