//! What a fork's model is asked when its conclusions are to be brought back. It is part of one request and never of a conversation.

use tine_history::Item;
use tine_model::{Block, Message};

use super::part::SaidSince;

/// Characters that are quoted of the message with which the part begins: enough to find it by.
const QUOTE_CHARS: usize = 160;

/// The question. `items` is the conversation as the model sees it.
pub(super) fn question(said: &SaidSince, items: &[Item], instructions: Option<&str>) -> String {
    let part = items.iter().filter(|item| said.entries.contains(&item.entry));
    let part: Vec<&Item> = part.collect();
    let mut text = "This conversation is a fork of another one. What you answer now is appended to that other conversation, for an agent \
        that knows everything that was said up to the fork and nothing of what was said since. "
        .to_owned();
    text.push_str(&where_it_begins(said, &part));
    text.push_str(
        "\n\n\
        Write down what came of that part, so that the other agent can go on with it as if it had been there. Answer with text alone \
        and call no tool. Tell, as far as there is something to tell:\n\
        - what was found, with the exact names, numbers and error texts that it rests on;\n\
        - what was decided, with the reasons, and what was tried and did not work;\n\
        - the files that were changed, by path, and what was changed in them;\n\
        - what is still open.\n\
        \n\
        Leave out what was said before the fork, how the work went, and what can be read again in a file. Do not address anybody.",
    );
    if let Some(instructions) = instructions.filter(|text| !text.trim().is_empty()) {
        text.push_str("\n\nMind this above all: ");
        text.push_str(instructions.trim());
    }
    text
}

fn where_it_begins(said: &SaidSince, part: &[&Item]) -> String {
    let before = match said.part.already {
        Some(_) => "What was told of it earlier is there already. Only the newer part counts: ",
        None => "Only that part counts: ",
    };
    let mut text = before.to_owned();
    match part.len() {
        0 => text.push_str("all of it has been left out here to make room"),
        1 => text.push_str("the last message before this one"),
        count => text.push_str(&format!("the last {count} messages before this one")),
    }
    if let Some(quote) = part.first().and_then(|item| quote(&item.message)) {
        text.push_str(&format!(", from the one on that says \"{quote}\""));
    }
    if part.len() < said.part.messages {
        text.push_str(
            ". The beginning of this conversation tells in short what was left out of that part",
        );
    }
    text.push('.');
    text
}

/// The first words of a message's last text, on one line; `None` where there are none. What stands before that text is tine's own.
fn quote(message: &Message) -> Option<String> {
    let text = message.blocks().iter().rev().find_map(Block::as_text)?;
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut quote: String = words.chars().take(QUOTE_CHARS).collect();
    if quote.len() < words.len() {
        quote.push_str("...");
    }
    (!quote.is_empty()).then_some(quote)
}
