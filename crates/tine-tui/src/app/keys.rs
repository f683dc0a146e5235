//! What keys mean, apart from those that write: a table, which a person's settings may change.

use std::collections::BTreeMap;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::key::{Key, KeyError};

/// Something that a key does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Submit,
    Interrupt,
    Cancel,
    Quit,
    Tree,
    Parent,
    Child,
    Older,
    Newer,
    Back,
    Open,
    PageUp,
    PageDown,
    LineUp,
    LineDown,
    Top,
    Bottom,
    Complete,
    Search,
    Mode,
    Answer,
    Help,
    Redraw,
    Suspend,
    Editor,
    PointUp,
    PointDown,
    Mouse,
}

impl Action {
    /// The name in settings.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Submit => "submit",
            Self::Interrupt => "interrupt",
            Self::Cancel => "cancel",
            Self::Quit => "quit",
            Self::Tree => "tree",
            Self::Parent => "parent",
            Self::Child => "child",
            Self::Older => "older",
            Self::Newer => "newer",
            Self::Back => "back",
            Self::Open => "open",
            Self::PageUp => "page-up",
            Self::PageDown => "page-down",
            Self::LineUp => "line-up",
            Self::LineDown => "line-down",
            Self::Top => "top",
            Self::Bottom => "bottom",
            Self::Complete => "complete",
            Self::Search => "search",
            Self::Mode => "mode",
            Self::Answer => "answer",
            Self::Help => "help",
            Self::Redraw => "redraw",
            Self::Suspend => "suspend",
            Self::Editor => "editor",
            Self::PointUp => "point-up",
            Self::PointDown => "point-down",
            Self::Mouse => "mouse",
        }
    }
}

/// What a key does, and the key that it is unless somebody has changed it.
pub(crate) struct Binding {
    pub(crate) action: Action,
    key: Key,
    /// What it does, in a few words.
    pub(crate) help: &'static str,
}

const fn key(
    (code, modifiers): (KeyCode, KeyModifiers),
    action: Action,
    help: &'static str,
) -> Binding {
    Binding { action, key: Key { code, modifiers }, help }
}

const NONE: KeyModifiers = KeyModifiers::NONE;
const CONTROL: KeyModifiers = KeyModifiers::CONTROL;
const ALT: KeyModifiers = KeyModifiers::ALT;
const SHIFT: KeyModifiers = KeyModifiers::SHIFT;

/// All of them, in the order in which they are told.
pub(crate) const KEYS: &[Binding] = &[
    key((KeyCode::Enter, NONE), Action::Submit, "send; to a running agent: at its next turn"),
    key(
        (KeyCode::Esc, NONE),
        Action::Interrupt,
        "interrupt the turn that you see, and nothing else; words that it has not read come back",
    ),
    key(
        (KeyCode::Char('c'), CONTROL),
        Action::Cancel,
        "empty the line; on an empty one: interrupt, or, twice where nothing runs, leave",
    ),
    key(
        (KeyCode::Up, CONTROL),
        Action::PointUp,
        "point at the message above: fork, rewind, copy or open it",
    ),
    key((KeyCode::Down, CONTROL), Action::PointDown, "point at the message below"),
    key(
        (KeyCode::F(2), NONE),
        Action::Mouse,
        "take the mouse, so that the wheel scrolls; give it back, to select text",
    ),
    key((KeyCode::Char('d'), CONTROL), Action::Quit, "leave, on an empty line"),
    key((KeyCode::Char('t'), CONTROL), Action::Tree, "the tree of all agents"),
    key((KeyCode::Left, ALT), Action::Parent, "go to the parent"),
    key((KeyCode::Right, ALT), Action::Child, "go to the last fork"),
    key((KeyCode::Up, ALT), Action::Older, "go to the sibling before"),
    key((KeyCode::Down, ALT), Action::Newer, "go to the sibling behind"),
    key((KeyCode::F(4), NONE), Action::Back, "go to the agent that you looked at before"),
    key((KeyCode::Char('o'), CONTROL), Action::Open, "show calls and reasoning whole, or folded"),
    key((KeyCode::Char('p'), CONTROL), Action::Answer, "go to the question that waits"),
    key((KeyCode::PageUp, NONE), Action::PageUp, "scroll back"),
    key((KeyCode::PageDown, NONE), Action::PageDown, "scroll on"),
    key((KeyCode::Up, SHIFT), Action::LineUp, "scroll back a line"),
    key((KeyCode::Down, SHIFT), Action::LineDown, "scroll on a line"),
    key((KeyCode::Home, CONTROL), Action::Top, "the beginning"),
    key((KeyCode::End, CONTROL), Action::Bottom, "the end"),
    key((KeyCode::Tab, NONE), Action::Complete, "complete a command"),
    key(
        (KeyCode::Char('r'), CONTROL),
        Action::Search,
        "search what was sent before, in every directory",
    ),
    key(
        (KeyCode::BackTab, SHIFT),
        Action::Mode,
        "the next permission mode: default, accept-edits, plan",
    ),
    key((KeyCode::F(1), NONE), Action::Help, "this page"),
    key((KeyCode::Char('g'), CONTROL), Action::Editor, "write in $EDITOR"),
    key((KeyCode::Char('l'), CONTROL), Action::Redraw, "draw the screen anew"),
    key((KeyCode::Char('z'), CONTROL), Action::Suspend, "back to the shell; `fg` comes back"),
];

/// The keys of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keys(Vec<(Key, Action)>);

impl Default for Keys {
    fn default() -> Self {
        Self(KEYS.iter().map(|binding| (binding.key, binding.action)).collect())
    }
}

impl Keys {
    /// The usual keys, but for those actions that `changes` names: they have the keys that stand there, and no others.
    pub fn with(changes: &BTreeMap<String, Vec<String>>) -> Result<Self, KeyError> {
        let mut keys = Self::default();
        for (name, texts) in changes {
            let mut bindings = KEYS.iter().map(|binding| binding.action);
            let action = bindings.find(|action| action.name() == name);
            let action = action.ok_or_else(|| KeyError::NoAction(name.clone()))?;
            keys.0.retain(|(_, bound)| *bound != action);
            for text in texts {
                let key: Key = text.parse()?;
                if key.writes() {
                    return Err(KeyError::Writes(text.clone()));
                }
                keys.0.push((key, action));
            }
        }
        for (at, (key, action)) in keys.0.iter().enumerate() {
            let other = keys.0[..at].iter().find(|(earlier, _)| earlier == key);
            if let Some((_, other)) = other {
                return Err(KeyError::Twice(key.to_string(), action.name(), other.name()));
            }
        }
        Ok(keys)
    }

    /// The keys of a session without a screen: those that a terminal makes signals and the end of the input of.
    pub(crate) fn in_lines() -> Self {
        let break_off = Key { code: KeyCode::Char('c'), modifiers: CONTROL };
        let end = Key { code: KeyCode::Char('d'), modifiers: CONTROL };
        Self(vec![(break_off, Action::Interrupt), (break_off, Action::Cancel), (end, Action::Quit)])
    }

    /// What a key means; `None` where it writes.
    pub(crate) fn action(&self, event: KeyEvent) -> Option<Action> {
        let is_meant = |key: &Key| key.code == event.code && key.modifiers == event.modifiers;
        self.0.iter().find(|(key, _)| is_meant(key)).map(|(_, action)| *action)
    }

    /// The keys of an action, as they are told; nothing where it has none.
    pub(crate) fn told(&self, action: Action) -> String {
        let of = self.0.iter().filter(|(_, bound)| *bound == action);
        of.map(|(key, _)| key.to_string()).collect::<Vec<_>>().join(", ")
    }

    /// The first key of an action, for a text that names it; `None` where it has none.
    pub(crate) fn hint(&self, action: Action) -> Option<String> {
        self.0.iter().find(|(_, bound)| *bound == action).map(|(key, _)| key.to_string())
    }

    /// The same, or the command that does as much.
    pub(crate) fn or(&self, action: Action, command: &str) -> String {
        self.hint(action).unwrap_or_else(|| command.to_owned())
    }

    /// The names of all actions, in the order in which they are told.
    pub fn actions() -> impl Iterator<Item = &'static str> {
        KEYS.iter().map(|binding| binding.action.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(changes: &[(&str, &[&str])]) -> Result<Keys, KeyError> {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        Keys::with(
            &changes.iter().map(|(name, texts)| ((*name).to_owned(), owned(texts))).collect(),
        )
    }

    #[test]
    fn the_usual_keys_mean_one_thing_each_and_letters_write() {
        let keys = changed(&[]).unwrap();
        assert_eq!(keys, Keys::default());
        assert_eq!(keys.action(KeyEvent::new(KeyCode::Char('t'), NONE)), None);
        assert_eq!(keys.action(KeyEvent::new(KeyCode::Char('t'), CONTROL)), Some(Action::Tree));
    }

    #[test]
    fn a_person_may_have_other_keys() {
        let keys = changed(&[("tree", &["f3", "Ctrl+X"]), ("redraw", &[])]).unwrap();
        let of = |code, modifiers| keys.action(KeyEvent::new(code, modifiers));
        assert_eq!(of(KeyCode::F(3), NONE), Some(Action::Tree));
        assert_eq!(of(KeyCode::Char('t'), CONTROL), None);
        assert_eq!(of(KeyCode::Char('l'), CONTROL), None);
        assert_eq!(keys.told(Action::Tree), "F3, Ctrl+X");
    }

    #[test]
    fn mistakes_are_named() {
        let said = |changes: &[(&str, &[&str])]| changed(changes).unwrap_err().to_string();
        let all: [&[(&str, &[&str])]; 5] = [
            &[("fly", &["f3"])],
            &[("tree", &["hyper+t"])],
            &[("tree", &["ctrl+"])],
            &[("tree", &["t"])],
            &[("tree", &["ctrl+o"])],
        ];
        insta::assert_snapshot!(all.map(said).join("\n"), @"
        there is nothing called `fly` that a key could do
        `hyper+t` is no key
        `ctrl+` is no key
        `t` writes a character, and can mean nothing else
        Ctrl+O would mean `tree` and `open`
        ");
    }
}
