//! Sequences that call the person and set the terminal's title.

/// The way in which a person is called who does not look at the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Notify {
    /// The terminal's bell.
    #[default]
    Bell,
    /// A notification, of terminals that know OSC 9.
    Osc9,
    /// Not at all.
    Off,
}

impl Notify {
    /// The names in settings.
    pub const NAMES: [&str; 3] = ["bell", "osc9", "off"];

    /// Reads the name in settings.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "bell" => Some(Self::Bell),
            "osc9" => Some(Self::Osc9),
            "off" => Some(Self::Off),
            _ => None,
        }
    }

    /// What the terminal is sent to call the person. The text must hold no control character.
    pub(super) fn sequence(self, text: &str) -> String {
        debug_assert!(!text.contains(char::is_control), "{text:?}");
        match self {
            Self::Bell => "\u{7}".to_owned(),
            // A number in front would be a command to some terminals, such as a bar of progress.
            Self::Osc9 => format!("\u{1b}]9;tine: {text}\u{7}"),
            Self::Off => String::new(),
        }
    }
}

/// Keeps the title that the terminal has, for [`RESTORE_TITLE`].
pub(super) const SAVE_TITLE: &str = "\u{1b}[22;2t";

/// Gives the terminal the title back.
pub(super) const RESTORE_TITLE: &str = "\u{1b}[23;2t";

/// What gives the terminal a title. The text must hold no control character.
pub(super) fn title(text: &str) -> String {
    debug_assert!(!text.contains(char::is_control), "{text:?}");
    format!("\u{1b}]2;{text}\u{7}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_is_called_as_the_settings_say() {
        let all = Notify::NAMES.map(|name| Notify::from_name(name).unwrap().sequence("1 asks"));
        assert_eq!(all, ["\u{7}", "\u{1b}]9;tine: 1 asks\u{7}", ""]);
        assert_eq!(Notify::from_name("Bell"), None);
        assert_eq!(title("tine · web"), "\u{1b}]2;tine · web\u{7}");
    }
}
