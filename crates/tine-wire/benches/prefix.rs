//! What a fork costs in memory and in time, printed. Run with `cargo xtask bench prefix`.
//!
//! Each line is the median over many rounds of one operation. Nothing here asserts a time: machines differ.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![expect(clippy::expect_used, reason = "a benchmark that cannot be set up has no figures")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tine_history::{History, Item};
use tine_model::{Block, EntryId, Message, ModelSettings, Role};
use tine_wire::{Head, HeadParts, MarkPoints, RequestOptions, assemble};

/// Rounds of a cheap operation.
const ROUNDS: usize = 2000;

/// Size of the long conversation, as DESIGN §14 has it.
const CONVERSATION_BYTES: usize = 4 << 20;

/// Messages of the long conversation.
const CONVERSATION_MESSAGES: usize = 10_000;

/// Live children of the long conversation.
const CHILDREN: usize = 1000;

/// Together 64 MiB, in pieces as small as a child's own: more than making the frames can have set free.
const FILLERS: usize = 262_144;
const FILLER_BYTES: usize = 256;

fn main() {
    println!("fork in memory");
    for messages in [10, 1_000, 100_000] {
        let mut parent = conversation(messages, 400);
        let time = median(|| black_box(parent.fork()));
        println!("  {messages:>7} messages: {}", shown(time));
    }
    let bytes = CONVERSATION_BYTES / CONVERSATION_MESSAGES;
    let mut parent = conversation(CONVERSATION_MESSAGES, bytes);
    let head = head();
    let options = RequestOptions::at(MarkPoints {
        sent: Some(CONVERSATION_MESSAGES - 1),
        inherited: Some(CONVERSATION_MESSAGES),
    });
    let request = |parent: &mut History, directive: &str| {
        let mut child = parent.fork();
        child.push(EntryId(0), Arc::new(Message::user(directive)));
        let assembled = assemble(&head, &mut child, &options);
        (child, assembled)
    };
    println!("request over a {} MB conversation", CONVERSATION_BYTES >> 20);
    let start = Instant::now();
    let first = request(&mut parent, "first");
    println!("  first sibling (frames are made): {}", shown(start.elapsed()));
    println!("  body: {} bytes in {} slices", first.1.body.len(), first.1.body.slices().len());
    println!("{CHILDREN} live children of it, each with its request's body");
    // Making the frames has set memory free that the children would move into unseen: it is filled up first.
    let filler: Vec<Vec<u8>> = (0..FILLERS).map(|_| vec![1; FILLER_BYTES]).collect();
    let before = resident_bytes();
    let children: Vec<_> =
        (0..CHILDREN).map(|child| request(&mut parent, &format!("task {child}"))).collect();
    let after = resident_bytes();
    black_box((&children, &filler));
    match (before, after) {
        (Some(before), Some(after)) => {
            let mebibytes = after.saturating_sub(before) as f64 / f64::from(1 << 20);
            println!("  resident memory over the parent alone: {mebibytes:.2} MiB");
        }
        _ => println!("  resident memory cannot be read on this system"),
    }
    println!("one more sibling");
    let time = median(|| request(&mut parent, "the next one"));
    println!("  k-th sibling: {}", shown(time));
}

fn conversation(messages: usize, bytes: usize) -> History {
    let text = "x".repeat(bytes);
    let item = |index: usize| {
        let role = if index.is_multiple_of(2) { Role::User } else { Role::Assistant };
        let message = Message::new(role, vec![Block::Text(text.clone())]);
        Item { entry: EntryId(index as i64 + 1), message: Arc::new(message) }
    };
    History::from_items((0..messages).map(item).collect())
}

fn head() -> Head {
    let settings = ModelSettings {
        model: "anthropic/m".parse().expect("a model"),
        max_tokens: 1000,
        thinking: None,
        effort: None,
    };
    Head::render(HeadParts::new(settings, "Be brief.".into(), Vec::new()))
}

fn median<T>(mut operation: impl FnMut() -> T) -> Duration {
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            let result = operation();
            let time = start.elapsed();
            drop(result);
            time
        })
        .collect();
    times.sort();
    times[ROUNDS / 2]
}

fn shown(time: Duration) -> String {
    format!("{:.3} µs", time.as_secs_f64() * 1e6)
}

/// Resident memory of this process, exactly (`status` counts in batches); Linux only.
fn resident_bytes() -> Option<u64> {
    let rollup = std::fs::read_to_string("/proc/self/smaps_rollup").ok()?;
    let line = rollup.lines().find_map(|line| line.strip_prefix("Rss:"))?;
    let kilobytes: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}
