//! One key, read from settings and told to people.

use std::fmt;
use std::str::FromStr;

use crossterm::event::{KeyCode, KeyModifiers};

/// Keys that have names: as they are told, and as they may be written besides.
const NAMED: [(KeyCode, &str, &[&str]); 15] = [
    (KeyCode::Enter, "Enter", &["return"]),
    (KeyCode::Esc, "Esc", &["escape"]),
    (KeyCode::Tab, "Tab", &[]),
    (KeyCode::BackTab, "Shift+Tab", &["backtab"]),
    (KeyCode::Backspace, "Backspace", &[]),
    (KeyCode::Delete, "Delete", &["del"]),
    (KeyCode::Insert, "Insert", &["ins"]),
    (KeyCode::Home, "Home", &[]),
    (KeyCode::End, "End", &[]),
    (KeyCode::PageUp, "PageUp", &["pgup"]),
    (KeyCode::PageDown, "PageDown", &["pgdown", "pgdn"]),
    (KeyCode::Up, "↑", &["up"]),
    (KeyCode::Down, "↓", &["down"]),
    (KeyCode::Left, "←", &["left"]),
    (KeyCode::Right, "→", &["right"]),
];

/// Characters that have names, since they would not be seen or end the word.
const CHARACTERS: [(char, &str); 2] = [(' ', "Space"), ('+', "Plus")];

/// Modifiers, in the order in which they are told, and how they may be written besides.
const MODIFIERS: [(KeyModifiers, &str, &[&str]); 3] = [
    (KeyModifiers::CONTROL, "Ctrl", &["control", "c"]),
    (KeyModifiers::ALT, "Alt", &["option", "meta", "a"]),
    (KeyModifiers::SHIFT, "Shift", &["s"]),
];

/// Highest function key.
const FUNCTION_MAX: u8 = 24;

/// A key and what is held with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) code: KeyCode,
    pub(crate) modifiers: KeyModifiers,
}

/// Why keys are not as somebody wants them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The text names no key.
    #[error("`{0}` is no key")]
    NoKey(String),
    /// There is no such action.
    #[error("there is nothing called `{0}` that a key could do")]
    NoAction(String),
    /// A key that writes a character.
    #[error("`{0}` writes a character, and can mean nothing else")]
    Writes(String),
    /// One key for two actions.
    #[error("{0} would mean `{1}` and `{2}`")]
    Twice(String, &'static str, &'static str),
}

impl Key {
    /// Whether it writes a character where somebody writes.
    pub(super) fn writes(self) -> bool {
        let held = self.modifiers.difference(KeyModifiers::SHIFT);
        matches!(self.code, KeyCode::Char(_)) && held.is_empty()
    }
}

impl FromStr for Key {
    type Err = KeyError;

    /// Reads keys such as `ctrl+t`, `Alt+←`, `f1` and `shift+pageup`, in letters of any size.
    fn from_str(text: &str) -> Result<Self, KeyError> {
        let unknown = || KeyError::NoKey(text.to_owned());
        let lower = text.trim().to_lowercase();
        if ["shift+tab", "backtab"].contains(&lower.as_str()) {
            return Ok(Self { code: KeyCode::BackTab, modifiers: KeyModifiers::SHIFT });
        }
        let (held, name) = lower.rsplit_once('+').map_or(("", lower.as_str()), |both| both);
        let mut modifiers = KeyModifiers::NONE;
        for word in held.split('+').filter(|_| !held.is_empty()) {
            let is_meant = |(_, told, others): &&(KeyModifiers, &str, &[&str])| {
                told.eq_ignore_ascii_case(word) || others.contains(&word)
            };
            let (modifier, ..) = MODIFIERS.iter().find(is_meant).ok_or_else(unknown)?;
            modifiers |= *modifier;
        }
        Ok(Self { code: code(name).ok_or_else(unknown)?, modifiers })
    }
}

fn code(name: &str) -> Option<KeyCode> {
    let named = NAMED
        .iter()
        .find(|(_, told, others)| told.to_lowercase() == name || others.contains(&name));
    if let Some((code, ..)) = named {
        return Some(*code);
    }
    if let Some((character, _)) =
        CHARACTERS.iter().find(|(_, told)| told.eq_ignore_ascii_case(name))
    {
        return Some(KeyCode::Char(*character));
    }
    let number = name.strip_prefix('f').and_then(|number| number.parse::<u8>().ok());
    if let Some(number) = number.filter(|number| (1..=FUNCTION_MAX).contains(number)) {
        return Some(KeyCode::F(number));
    }
    let mut characters = name.chars();
    match (characters.next(), characters.next()) {
        (Some(one), None) if !one.is_control() && !one.is_whitespace() => Some(KeyCode::Char(one)),
        _ => None,
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_tab = self.code == KeyCode::BackTab;
        for (modifier, told, _) in MODIFIERS {
            // Its name says that already.
            if self.modifiers.contains(modifier) && !(is_tab && modifier == KeyModifiers::SHIFT) {
                write!(f, "{told}+")?;
            }
        }
        if let Some((_, told, _)) = NAMED.iter().find(|(code, ..)| *code == self.code) {
            return f.write_str(told);
        }
        match self.code {
            KeyCode::F(number) => write!(f, "F{number}"),
            KeyCode::Char(c) => match CHARACTERS.iter().find(|(named, _)| *named == c) {
                Some((_, told)) => f.write_str(told),
                None => write!(f, "{}", c.to_uppercase()),
            },
            other => write!(f, "{other:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn keys_read_as_they_are_told() {
        let told = |text: &str| text.parse::<Key>().unwrap().to_string();
        let all = [
            "ctrl+t",
            "Alt+←",
            "meta+LEFT",
            "f1",
            "shift+pgup",
            "c+a+x",
            "ctrl+plus",
            "alt+space",
            "backtab",
        ];
        insta::assert_snapshot!(all.map(told).join(" "), @"Ctrl+T Alt+← Alt+← F1 Shift+PageUp Ctrl+Alt+X Ctrl+Plus Alt+Space Shift+Tab");
        for wrong in ["", "+", "ctrl", "ctrl+", "f0", "f99", "ctrl+ab", "hyper+x", "ctrl++"] {
            assert_eq!(wrong.parse::<Key>(), Err(KeyError::NoKey(wrong.to_owned())));
        }
    }

    proptest! {
        #[test]
        fn a_key_that_is_told_can_be_written(text in "((ctrl|alt|shift)[+]){0,3}([a-z0-9]|f[1-9]|up|esc|tab)") {
            if let Ok(key) = text.parse::<Key>() {
                prop_assert_eq!(key.to_string().parse::<Key>().unwrap().to_string(), key.to_string());
            }
        }

        #[test]
        fn any_text_is_read_or_refused(text in "(?s).{0,12}") {
            let _ = text.parse::<Key>();
        }
    }
}
