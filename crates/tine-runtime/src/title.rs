//! The title of an agent: the first words that a person, or whoever started it, has said to it. Also other words of outside as lists show
//! them.

use tine_fork::envelope::FRAME_TAGS;
use tine_fork::worker::directive_task;
use tine_guard::{is_unseen, redact};
use tine_model::{Block, Message, Role};

/// Characters of a title: a line of a list.
const CHARACTERS_MAX: usize = 80;

/// Bytes of words, the last one whole, that are looked at. A key that begins in the line ends within them.
const LOOKED_AT_MAX: usize = 4_096;

/// The title that a message gives; `None` where it holds no words to the agent. Keys and passwords are left out.
pub(crate) fn of(message: &Message) -> Option<String> {
    if message.role() != Role::User {
        return None;
    }
    message.blocks().iter().filter_map(Block::as_text).find_map(first_words)
}

/// Words as a title, made by [`in_a_line`]. `None` where nothing is left.
pub fn titled(words: &str) -> Option<String> {
    Some(in_a_line(words, CHARACTERS_MAX)).filter(|title| !title.is_empty())
}

/// Words in a line of so many characters, without keys and passwords and without characters that cannot be seen.
pub(crate) fn in_a_line(words: &str, most: usize) -> String {
    let is_blank = |character: char| character.is_whitespace() || character.is_control();
    let seen = words.split(is_blank).map(|word| word.replace(is_unseen, ""));
    let mut line = String::new();
    for word in seen.filter(|word| !word.is_empty()) {
        if line.len() >= LOOKED_AT_MAX {
            break;
        }
        line.push_str(if line.is_empty() { "" } else { " " });
        line.push_str(&word);
    }
    let line = redact(&line);
    if line.chars().count() > most {
        line.chars().take(most - 1).chain(['…']).collect()
    } else {
        line.into_owned()
    }
}

fn first_words(text: &str) -> Option<String> {
    titled(&persons_words(text)?)
}

/// The words of a person, or of whoever gave the agent its task; `None` for a text of tine's own.
pub(crate) fn persons_words(text: &str) -> Option<String> {
    match directive_task(text) {
        Some(task) => Some(task.into_owned()),
        None => (!is_frame(text)).then(|| text.to_owned()),
    }
}

/// Tags of texts that other programs put before a person's words. Source: requests of Claude Code 2.1.330 and Codex 0.169.0.
const HOST_TAGS: [&str; 3] = ["environment_context", "local-command-caveat", "system-reminder"];

/// Returns true for a text of a program's own: its surroundings, a file, a command, a notice.
fn is_frame(text: &str) -> bool {
    let tag = text.strip_prefix('<').unwrap_or_default();
    let ends = |rest: &str| rest.starts_with(['>', ' ']);
    FRAME_TAGS.iter().chain(&HOST_TAGS).any(|own| tag.strip_prefix(own).is_some_and(ends))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_the_first_words_in_a_line() {
        let title = |text: &str| of(&Message::user(text));
        assert_eq!(title("Fix the\n\tparser,  please").as_deref(), Some("Fix the parser, please"));
        assert_eq!(title("\u{202e}a\u{1b}[2Jb\u{feff}").as_deref(), Some("a [2Jb"));
        assert_eq!(title("<worktrees> are broken").as_deref(), Some("<worktrees> are broken"));
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
        let unseen = key.replace("api03", "api\u{200b}03");
        let far = format!("hello{}{key}", " ".repeat(4_080));
        for words in [format!("use {key} for it"), format!("use {unseen}"), far] {
            let title = of(&Message::user(words)).unwrap();
            assert!(!title.contains("Ab1Ab1"), "{title}");
        }
    }

    #[test]
    fn words_behind_a_frame_of_the_same_message_count() {
        let frame = Block::Text("<environment>\n/srv\n</environment>".into());
        let message = Message::new(Role::User, vec![frame, Block::Text("Look.".into())]);
        assert_eq!(of(&message).as_deref(), Some("Look."));
    }
}
