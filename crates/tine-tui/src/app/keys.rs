//! What keys mean, apart from those that write.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

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
    Open,
    PageUp,
    PageDown,
    LineUp,
    LineDown,
    Top,
    Bottom,
    Complete,
    Answer,
    Help,
    Redraw,
    Suspend,
    Editor,
}

/// A key, what it means, and how both are told.
pub(crate) struct Binding {
    pub(crate) code: KeyCode,
    pub(crate) modifiers: KeyModifiers,
    pub(crate) action: Action,
    /// The key, as it is told.
    pub(crate) key: &'static str,
    /// What it does, in a few words.
    pub(crate) help: &'static str,
}

const fn key(
    (code, modifiers): (KeyCode, KeyModifiers),
    action: Action,
    (key, help): (&'static str, &'static str),
) -> Binding {
    Binding { code, modifiers, action, key, help }
}

const NONE: KeyModifiers = KeyModifiers::NONE;
const CONTROL: KeyModifiers = KeyModifiers::CONTROL;
const ALT: KeyModifiers = KeyModifiers::ALT;
const SHIFT: KeyModifiers = KeyModifiers::SHIFT;

/// All of them, in the order in which they are told.
pub(crate) const KEYS: &[Binding] = &[
    key(
        (KeyCode::Enter, NONE),
        Action::Submit,
        ("Enter", "send; to a running agent: at its next turn"),
    ),
    key(
        (KeyCode::Esc, NONE),
        Action::Interrupt,
        ("Esc", "interrupt the turn that you see, and nothing else"),
    ),
    key(
        (KeyCode::Char('c'), CONTROL),
        Action::Cancel,
        ("Ctrl+C", "empty the line; twice on an empty one: leave"),
    ),
    key((KeyCode::Char('d'), CONTROL), Action::Quit, ("Ctrl+D", "leave, on an empty line")),
    key((KeyCode::Char('t'), CONTROL), Action::Tree, ("Ctrl+T", "the tree of all agents")),
    key((KeyCode::Left, ALT), Action::Parent, ("Alt+←", "go to the parent")),
    key((KeyCode::Right, ALT), Action::Child, ("Alt+→", "go to the last fork")),
    key((KeyCode::Up, ALT), Action::Older, ("Alt+↑", "go to the sibling before")),
    key((KeyCode::Down, ALT), Action::Newer, ("Alt+↓", "go to the sibling behind")),
    key(
        (KeyCode::Char('o'), CONTROL),
        Action::Open,
        ("Ctrl+O", "show calls and reasoning whole, or folded"),
    ),
    key((KeyCode::Char('p'), CONTROL), Action::Answer, ("Ctrl+P", "go to the question that waits")),
    key((KeyCode::PageUp, NONE), Action::PageUp, ("PageUp", "scroll back")),
    key((KeyCode::PageDown, NONE), Action::PageDown, ("PageDown", "scroll on")),
    key((KeyCode::Up, SHIFT), Action::LineUp, ("Shift+↑", "scroll back a line")),
    key((KeyCode::Down, SHIFT), Action::LineDown, ("Shift+↓", "scroll on a line")),
    key((KeyCode::Home, CONTROL), Action::Top, ("Ctrl+Home", "the beginning")),
    key((KeyCode::End, CONTROL), Action::Bottom, ("Ctrl+End", "the end")),
    key((KeyCode::Tab, NONE), Action::Complete, ("Tab", "complete a command")),
    key((KeyCode::F(1), NONE), Action::Help, ("F1", "this page")),
    key((KeyCode::Char('g'), CONTROL), Action::Editor, ("Ctrl+G", "write in $EDITOR")),
    key((KeyCode::Char('l'), CONTROL), Action::Redraw, ("Ctrl+L", "draw the screen anew")),
    key(
        (KeyCode::Char('z'), CONTROL),
        Action::Suspend,
        ("Ctrl+Z", "back to the shell; `fg` comes back"),
    ),
];

/// What a key means; `None` where it writes.
pub(crate) fn action(event: KeyEvent) -> Option<Action> {
    let meant =
        |binding: &&Binding| binding.code == event.code && binding.modifiers == event.modifiers;
    KEYS.iter().find(meant).map(|binding| binding.action)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_means_two_things() {
        for (index, binding) in KEYS.iter().enumerate() {
            let same = |other: &Binding| {
                other.code == binding.code && other.modifiers == binding.modifiers
            };
            assert!(!KEYS[index + 1..].iter().any(same), "{}", binding.key);
        }
    }

    #[test]
    fn letters_write() {
        assert_eq!(action(KeyEvent::new(KeyCode::Char('t'), NONE)), None);
        assert_eq!(action(KeyEvent::new(KeyCode::Char('t'), CONTROL)), Some(Action::Tree));
    }
}
