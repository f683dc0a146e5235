//! What a digest costs by the length of the conversation. Run with `cargo xtask bench digest`.
//!
//! Nothing here asserts a time: machines differ.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::time::{Duration, Instant};

use tine_fork::digest::{Digest, DigestProfile};
use tine_fork::message::{Block, Message, RawJson, Role, ToolCallId, ToolInput};

/// Runs of each case; the median is printed.
const RUNS: usize = 15;

/// Bytes of each tool result: a middling file.
const RESULT_BYTES: usize = 2_000;

/// A conversation of calls and results, with a question now and then.
fn conversation(messages: usize) -> Vec<Message> {
    let message = |number: usize| match number % 4 {
        0 => Message::user(format!(
            "Question {number}: what does this part of the program do, and why?"
        )),
        1 => {
            let input = RawJson::parse(&format!(r#"{{"file_path":"src/part_{number}.rs"}}"#));
            let input = input.map_or_else(|_| ToolInput::Invalid(String::new()), ToolInput::Valid);
            let id = ToolCallId(format!("toolu_{number}"));
            let call = Block::ToolUse { id, name: "Read".to_owned(), input };
            Message::new(Role::Assistant, vec![Block::Text("I'll read it.".to_owned()), call])
        }
        2 => {
            let line = format!("    let part = {number}; // <- this line\n");
            let text = line.repeat(RESULT_BYTES / line.len());
            let call = ToolCallId(format!("toolu_{}", number - 1));
            Message::new(Role::User, vec![Block::result(call, text, false)])
        }
        _ => Message::new(Role::Assistant, vec![Block::Text("It adds the numbers. ".repeat(20))]),
    };
    (0..messages).map(message).collect()
}

fn median(messages: &[&Message], profile: DigestProfile) -> (Duration, Digest) {
    let mut times = Vec::new();
    let mut digest = Digest::of(messages, profile);
    for _ in 0..RUNS {
        let start = Instant::now();
        digest = Digest::of(messages, profile);
        times.push(start.elapsed());
    }
    times.sort();
    (times[RUNS / 2], digest)
}

fn main() {
    println!("digest: goal under 50 ms for 10,000 messages; median of {RUNS}");
    for profile in DigestProfile::ALL {
        let mut base = None;
        for length in [1_000, 10_000, 100_000] {
            let messages = conversation(length);
            let (time, digest) = median(&messages.iter().collect::<Vec<_>>(), profile);
            let kept = digest.stats.messages - digest.stats.dropped;
            let base = *base.get_or_insert(time).max(&mut Duration::from_nanos(1));
            let ratio = time.as_secs_f64() / base.as_secs_f64();
            println!(
                "{:9} {length:7} messages: {:8.3} ms, {ratio:6.1} times that of 1,000; {kept} kept, {} tokens",
                profile.as_str(),
                time.as_secs_f64() * 1e3,
                digest.stats.tokens,
            );
        }
    }
}
