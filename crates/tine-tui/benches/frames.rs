//! How long a frame of the terminal takes, with a long conversation and many agents that stream. Run with `cargo xtask bench frames`.
//! A frame is everything from what waits to the cells of the screen; at 60 frames a second none may take more than 16 ms.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use crossterm::event::KeyCode;
use tine_tui::bench::Stage;

/// Messages of the conversation.
const MESSAGES: i64 = 10_000;

/// Agents that stream.
const AGENTS: u16 = 50;

/// Agents that are known and do nothing, and how many where there are very many.
const IDLE: [u16; 2] = [950, 9_950];

/// Deltas that come in between two frames: 40 a second of each agent, at 60 frames a second.
const DELTAS: usize = 33;

/// Frames of each kind.
const FRAMES: usize = 600;

/// Every so many frames a message is written and all agents are read: four times a second.
const WRITTEN: usize = 15;

/// Sizes of the screen.
const SIZES: [(u16, u16); 2] = [(80, 24), (200, 50)];

/// Longest reply that is kept while it comes in, in characters.
const LONG: usize = 390_000;

fn main() {
    for size in SIZES {
        let (mut stage, read_ms) = Stage::new(MESSAGES, (AGENTS, IDLE[0]), size);
        let (width, height) = size;
        println!(
            "{MESSAGES} messages, {AGENTS} agents streaming, {width}×{height} (milliseconds):"
        );
        println!("  {:<34} {read_ms:>7.2}", "reading the conversation, once");
        println!("  {:<34} {:>7.2}", "first frame", stage.frame());
        let mut step = 0_usize;
        let mut flow = |stage: &mut Stage| {
            step += 1;
            stage.stream(DELTAS);
            if step.is_multiple_of(WRITTEN) {
                stage.write();
            }
        };
        told("streaming, at the end", &mut stage, |stage, _| flow(stage));
        stage.middle(true);
        told("streaming, scrolling in the middle", &mut stage, |stage, number| {
            flow(stage);
            stage.scroll(if number % 100 < 50 { -3 } else { 2 });
        });
        stage.middle(false);
        told("typing a key", &mut stage, |stage, _| {
            flow(stage);
            stage.key('a');
        });
        told("another size each frame", &mut stage, |stage, number| {
            flow(stage);
            let by = u16::from(number % 2 == 0);
            stage.resize(width - by, height - by);
        });
        stage.resize(width, height);
        stage.tree();
        told("the tree of 1,000 agents", &mut stage, |stage, _| flow(stage));
        stage.tree();
        stage.said(LONG);
        println!("  {:<34} {:>7.2}", "a reply of 390,000 characters", stage.frame());
        told("the same, as it goes on", &mut stage, |stage, _| flow(stage));
        let (mut stage, _) = Stage::new(1, (AGENTS, IDLE[1]), size);
        stage.frame();
        stage.tree();
        told("the tree of 10,000 agents", &mut stage, |stage, _| stage.stream(DELTAS));
        stage.tree();
        stage.picker();
        println!("  {:<34} {:>7.2}", "opening the picker of 10,000 agents", stage.frame());
        told("a key in that picker", &mut stage, |stage, number| match number % 8 {
            7 => (0..7).for_each(|_| stage.press(KeyCode::Backspace)),
            letter => stage.press(KeyCode::Char(char::from(b"number "[letter]))),
        });
        stage.press(KeyCode::Esc);
        stage.press(KeyCode::Esc);
        stage.frame();
        stage.tree();
        told("the tree, as agents change", &mut stage, |stage, number| {
            stage.stream(DELTAS);
            if number.is_multiple_of(WRITTEN) {
                stage.write();
            }
        });
    }
}

/// Prints the frames of a kind: half of them, 99 of 100 and all are done within these times.
fn told(what: &str, stage: &mut Stage, mut before: impl FnMut(&mut Stage, usize)) {
    let mut frames: Vec<f64> = (0..FRAMES)
        .map(|number| {
            before(stage, number);
            stage.frame()
        })
        .collect();
    frames.sort_by(f64::total_cmp);
    let at = |share: usize| frames.get((FRAMES - 1) * share / 100).copied().unwrap_or_default();
    println!("  {what:<34} p50 {:>6.2}  p99 {:>6.2}  max {:>6.2}", at(50), at(99), at(100));
}
