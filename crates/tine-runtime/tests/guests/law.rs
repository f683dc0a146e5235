//! Law: whatever a program does with its conversations, and whichever gateway sees it, its guests say what it sent, word for word.

use proptest::prelude::*;
use tine_model::AgentId;

use super::host::{Host, Program};

/// Conversations that a program goes on with.
const PROGRAMS_MAX: usize = 4;

#[derive(Debug, Clone)]
enum Step {
    /// A turn of a conversation.
    Turn(usize),
    /// Another conversation goes on from an earlier place of one, under the same session or another.
    Copy(usize, usize, bool),
    /// Another gateway sees what follows.
    Gateway,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..PROGRAMS_MAX).prop_map(Step::Turn),
        2 => (0..PROGRAMS_MAX, 0usize..10, any::<bool>()).prop_map(|(a, b, c)| Step::Copy(a, b, c)),
        1 => Just(Step::Gateway),
    ]
}

async fn holds(steps: Vec<Step>) {
    let mut host = Host::new().await;
    let mut programs = vec![Program::new("s0")];
    let mut seen: Vec<(AgentId, Vec<String>)> = Vec::new();
    for (number, step) in steps.into_iter().enumerate() {
        match step {
            Step::Turn(index) => {
                let index = index % programs.len();
                let mut program = programs[index].clone();
                let (prompt, answer) = (format!("prompt {number}"), format!("answer {number}"));
                let guest = host.turn(&mut program, &prompt, &answer).await;
                let texts = program.messages.iter().map(|message| {
                    let content = &message["content"];
                    content.as_str().or(content[0]["text"].as_str()).unwrap().to_owned()
                });
                let texts: Vec<String> = texts.collect();
                assert_eq!(host.texts(guest).await, texts);
                seen.retain(|(other, _)| *other != guest);
                seen.push((guest, texts));
                programs[index] = program;
            }
            Step::Copy(index, turns, is_own) => {
                let mut copy = programs[index % programs.len()].clone();
                copy.messages.truncate(2 * turns);
                if !is_own {
                    copy.session = Some(format!("s{number}"));
                }
                programs.truncate(PROGRAMS_MAX - 1);
                programs.push(copy);
            }
            Step::Gateway => host.guests = host.gateway(),
        }
    }
    // Nobody's words have changed with those of another.
    for (guest, texts) in seen {
        assert_eq!(host.texts(guest).await, texts);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn guests_say_what_was_sent(steps in prop::collection::vec(step(), 1..25)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(holds(steps));
    }
}
