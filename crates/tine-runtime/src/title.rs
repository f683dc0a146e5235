//! The title of an agent: the first words that a person, or whoever started it, has said to it.

use tine_fork::envelope::FRAME_TAGS;
use tine_fork::worker::directive_task;
use tine_guard::{is_unseen, redact};
use tine_model::{Block, Message, Role};

/// Characters of a title: a line of a list.
const CHARACTERS_MAX: usize = 80;

/// Characters of the words that are looked at. A key that begins in the title ends within them.
const LOOKED_AT_MAX: usize = 4_096;

/// The title that a message gives; `None` where it holds no words to the agent. Keys and passwords are left out.
pub(crate) fn of(message: &Message) -> Option<String> {
    if message.role() != Role::User {
        return None;
    }
    message.blocks().iter().filter_map(Block::as_text).find_map(first_words)
}

fn first_words(text: &str) -> Option<String> {
    let task = directive_task(text);
    let words = match &task {
        Some(task) => task,
        None if is_frame(text) => return None,
        None => text,
    };
    let looked_at: String = words.chars().take(LOOKED_AT_MAX).collect();
    let is_blank = |character: char| character.is_whitespace() || is_unseen(character);
    let shown = redact(&looked_at);
    let line: Vec<&str> = shown.split(is_blank).filter(|word| !word.is_empty()).collect();
    let title: String = line.join(" ").chars().take(CHARACTERS_MAX).collect();
    Some(title).filter(|title| !title.is_empty())
}

/// Returns true for a text of tine's own: its surroundings, a file, a command, a notice.
fn is_frame(text: &str) -> bool {
    let tag = text.strip_prefix('<').unwrap_or_default();
    FRAME_TAGS.iter().any(|own| tag.starts_with(own))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_the_first_words_in_a_line() {
        let title = |text: &str| of(&Message::user(text));
        assert_eq!(title("Fix the\n\tparser,  please").as_deref(), Some("Fix the parser, please"));
        assert_eq!(title("\u{202e}a\u{1b}[2Jb\u{feff}").as_deref(), Some("a [2Jb"));
        assert_eq!(title(" \n\u{200b}"), None);
        assert_eq!(title("<environment>\nWorking directory: /srv\n</environment>"), None);
        assert_eq!(title("<attached-file path=\"a\">\nx\n</attached-file>"), None);
        assert_eq!(title("<b> is bold").as_deref(), Some("<b> is bold"));
        assert_eq!(title(&"é".repeat(99)).map(|title| title.chars().count()), Some(80));
        assert_eq!(of(&Message::new(Role::Assistant, vec![Block::Text("Sure".into())])), None);
    }

    #[test]
    fn a_key_is_in_no_title() {
        let key = format!("sk-ant-api03-{}", "Ab1".repeat(30));
        let title = of(&Message::user(format!("use {key} for it"))).unwrap();
        assert!(!title.contains("Ab1Ab1") && title.starts_with("use "), "{title}");
    }

    #[test]
    fn words_behind_a_frame_of_the_same_message_count() {
        let frame = Block::Text("<environment>\n/srv\n</environment>".into());
        let message = Message::new(Role::User, vec![frame, Block::Text("Look.".into())]);
        assert_eq!(of(&message).as_deref(), Some("Look."));
    }
}
