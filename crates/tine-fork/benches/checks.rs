//! What the checks on a worker that has ended cost, by the length of what it inherited. Run with `cargo xtask bench checks`.
//!
//! Nothing here asserts a time: machines differ. That the checks see what they should is asserted.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::hint::black_box;
use std::time::Instant;

use tine_fork::Outcome;
use tine_fork::message::{Block, Message, RawJson, Role, ToolCallId, ToolInput};
use tine_fork::stray::{Check, Evidence, examine};
use tine_fork::worker::{Inherits, is_workers_history, worker_directive};

/// Words of a message, so that 10,000 messages are about 4 MB.
const WORDS: usize = 45;

/// How often each is measured; the least time counts, for everything else is the machine's.
const TIMES: u32 = 10;

/// A conversation of a question, a plan, a call and its answer, again and again.
fn conversation(messages: usize) -> Vec<Message> {
    let message = |index: usize| {
        let words = (0..WORDS).map(|at| format!("word{}", (index * 31 + at * at) % 9_973));
        let file = format!("src/file{index}.rs, ");
        let text = words.fold(file, |text, word| text + &word + " ");
        let id = ToolCallId(format!("c{}", index / 4));
        match index % 4 {
            0 => Message::user(text),
            1 => {
                let plan = format!("Next:\n- Update {text}\n- Check it");
                let input = ToolInput::Valid(RawJson::empty_object());
                let call = Block::ToolUse { id, name: "FileRead".to_owned(), input };
                Message::new(Role::Assistant, vec![Block::Text(plan), call])
            }
            2 => Message::new(Role::User, vec![Block::result(id, text, false)]),
            _ => Message::new(Role::Assistant, vec![Block::Text(text)]),
        }
    };
    (0..messages).map(message).collect()
}

/// The least time of some, in microseconds.
fn least(mut work: impl FnMut()) -> f64 {
    let time = |_| {
        let began = Instant::now();
        work();
        began.elapsed().as_secs_f64() * 1e6
    };
    (0..TIMES).map(time).fold(f64::INFINITY, f64::min)
}

fn length(block: &Block) -> usize {
    match block {
        Block::Text(text) => text.len(),
        Block::ToolResult { content, .. } => content.iter().map(length).sum(),
        Block::Thinking { .. }
        | Block::RedactedThinking(_)
        | Block::ToolUse { .. }
        | Block::Image(_)
        | Block::Document(_)
        | Block::Unknown(_) => 0,
    }
}

fn main() {
    println!("{:>9} {:>9} {:>14} {:>14}", "messages", "bytes", "examine in µs", "history in µs");
    let directive = worker_directive("Review src/main.rs.", &Inherits::default());
    for messages in [10, 100, 1_000, 10_000, 100_000] {
        let inherited = conversation(messages);
        let said = inherited.iter().rev().find(|message| message.role() == Role::Assistant);
        let text = said.map(Message::text).unwrap_or_default();
        let own = [Message::new(Role::Assistant, vec![Block::Text(text)])];
        let evidence = || Evidence::of_worker(&own, &Outcome::Completed, &inherited, &directive);
        let seen: Vec<Check> = examine(&evidence()).iter().map(|found| found.check).collect();
        assert!(seen.starts_with(&[Check::NoWork, Check::Echo, Check::MissingScope]), "{seen:?}");
        // An echo ends no search: this is what every worker costs.
        let examined = least(|| drop(black_box(examine(&evidence()))));
        let looked = least(|| assert!(!is_workers_history(black_box(&inherited))));
        let bytes: usize = inherited.iter().flat_map(Message::blocks).map(length).sum();
        println!("{messages:>9} {bytes:>9} {examined:>14.0} {looked:>14.1}");
    }
}
