//! Laws: whatever is appended, forked and rewound, every history equals a naive copy of its messages, and its bytes are
//! those of framing that copy from scratch.

use std::sync::Arc;

use bytes::Bytes;
use proptest::prelude::*;
use tine_history::{Closed, Frame, Framer, History, Item, Slot};
use tine_model::{Block, EntryId, Message, RawJson, Role, ToolCallId, ToolInput, WireFormat};

/// Spells a message out, placeholders included.
struct Speller;

impl Framer for Speller {
    fn format(&self) -> WireFormat {
        WireFormat::Anthropic
    }

    fn frame(&self, closed: &Closed<'_>) -> Frame {
        let mut text = String::new();
        for call in &closed.placeholders {
            text.push_str(&format!("<{call}>"));
        }
        let placeholders = closed.placeholders.len();
        let slots = vec![Slot { offset: text.len(), block: placeholders }];
        text.push_str(&format!("{:?}{:?}", closed.message.role(), closed.message.blocks()));
        Frame { bytes: Bytes::from(text), slots, blocks: placeholders + 1, placeholders }
    }
}

fn message(seed: u8) -> Arc<Message> {
    let call = ToolCallId(format!("call{seed}"));
    Arc::new(match seed % 4 {
        0 => Message::user(format!("u{seed}")),
        1 => Message::new(Role::Assistant, vec![Block::Text(format!("a{seed}"))]),
        2 => Message::new(
            Role::Assistant,
            vec![Block::ToolUse {
                id: call,
                name: "T".into(),
                input: ToolInput::Valid(RawJson::empty_object()),
            }],
        ),
        _ => Message::new(
            Role::User,
            vec![Block::result(ToolCallId(format!("call{}", seed - 1)), "r", false)],
        ),
    })
}

#[derive(Debug, Clone)]
enum Step {
    Append { agent: usize, seed: u8 },
    Fork { agent: usize },
    Rewind { agent: usize, to: usize },
    Layout { agent: usize },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0usize..8, any::<u8>()).prop_map(|(agent, seed)| Step::Append { agent, seed }),
        2 => (0usize..8).prop_map(|agent| Step::Fork { agent }),
        1 => (0usize..8, 0usize..40).prop_map(|(agent, to)| Step::Rewind { agent, to }),
        1 => (0usize..8).prop_map(|agent| Step::Layout { agent }),
    ]
}

fn bytes(history: &mut History) -> Vec<u8> {
    history.layout(&Speller).runs().iter().flat_map(|run| run.bytes().to_vec()).collect()
}

fn naive_bytes(messages: &[Arc<Message>]) -> Vec<u8> {
    let items = messages.iter().map(|m| Item { entry: EntryId(1), message: Arc::clone(m) });
    let mut fresh = History::from_items(items.collect());
    bytes(&mut fresh)
}

proptest! {
    #[test]
    fn any_sequence_equals_the_naive_model(steps in prop::collection::vec(step(), 1..120)) {
        let mut agents = vec![(History::new(), Vec::<Arc<Message>>::new())];
        for step in steps {
            match step {
                Step::Append { agent, seed } => {
                    let count = agents.len();
                    let (history, model) = &mut agents[agent % count];
                    history.push(EntryId(i64::from(seed)), message(seed));
                    model.push(message(seed));
                }
                Step::Fork { agent } => {
                    let count = agents.len();
                    let (history, model) = &mut agents[agent % count];
                    let child = (history.fork(), model.clone());
                    agents.push(child);
                }
                Step::Rewind { agent, to } => {
                    let count = agents.len();
                    let (history, model) = &mut agents[agent % count];
                    history.rewind(to);
                    model.truncate(to);
                }
                Step::Layout { agent } => {
                    let count = agents.len();
                    agents[agent % count].0.layout(&Speller);
                }
            }
        }
        for (history, model) in &mut agents {
            prop_assert_eq!(history.len(), model.len());
            let seen: Vec<_> = history.iter().map(|item| Arc::clone(&item.message)).collect();
            prop_assert_eq!(&seen, &*model);
            for (index, expected) in model.iter().enumerate() {
                prop_assert_eq!(&history.get(index).unwrap().message, expected);
            }
            prop_assert!(history.get(model.len()).is_none());
            prop_assert_eq!(bytes(history), naive_bytes(model));
        }
    }

    #[test]
    fn divergence_names_the_first_differing_message(
        common in prop::collection::vec(any::<u8>(), 0..80),
        left in prop::collection::vec(any::<u8>(), 0..20),
        right in prop::collection::vec(any::<u8>(), 0..20),
    ) {
        let mut a = History::new();
        common.iter().for_each(|seed| a.push(EntryId(1), message(*seed)));
        let mut b = a.fork();
        left.iter().for_each(|seed| a.push(EntryId(1), message(*seed)));
        right.iter().for_each(|seed| b.push(EntryId(1), message(*seed)));
        let (la, lb) = (a.layout(&Speller), b.layout(&Speller));
        let spelled = |history: &History, index: usize| {
            let before = index.checked_sub(1).map(|before| &*history.get(before).unwrap().message);
            let message = &history.get(index).unwrap().message;
            Speller.frame(&tine_history::close_calls(before, message)).bytes
        };
        let expected = (0..a.len().min(b.len())).find(|i| spelled(&a, *i) != spelled(&b, *i));
        prop_assert_eq!(la.divergence(&lb), expected);
    }
}

#[test]
fn a_child_never_sees_what_its_parent_appends_later() {
    let mut parent = History::new();
    parent.push(EntryId(1), message(0));
    let child = parent.fork();
    parent.push(EntryId(2), message(1));
    assert_eq!((parent.len(), child.len()), (2, 1));
}

#[test]
fn siblings_share_one_copy_of_the_inherited_bytes() {
    let mut parent = History::new();
    (0..10).for_each(|seed| parent.push(EntryId(1), message(seed)));
    let (mut a, mut b) = (parent.fork(), parent.fork());
    let first = |history: &mut History| history.layout(&Speller).runs()[0].bytes().as_ptr();
    assert_eq!(first(&mut a), first(&mut b));
    assert_eq!(first(&mut a), first(&mut parent));
}

#[test]
fn a_chain_of_a_hundred_thousand_forks_is_built_framed_and_dropped() {
    let mut history = History::new();
    for index in 0..100_000u32 {
        history.push(EntryId(i64::from(index)), message(0));
        drop(history.fork());
    }
    assert_eq!(history.layout(&Speller).items(), 100_000);
    history.rewind(50_000);
    assert_eq!(history.len(), 50_000);
    assert_eq!(history.last().unwrap().entry, EntryId(49_999));
}

#[test]
fn frames_are_made_once() {
    use std::cell::Cell;
    struct Counting(Cell<usize>);
    impl Framer for Counting {
        fn format(&self) -> WireFormat {
            WireFormat::Anthropic
        }
        fn frame(&self, closed: &Closed<'_>) -> Frame {
            self.0.set(self.0.get() + 1);
            Speller.frame(closed)
        }
    }
    let framer = Counting(Cell::new(0));
    let mut parent = History::new();
    for seed in 0..100 {
        parent.push(EntryId(1), message(seed));
        parent.layout(&framer);
    }
    let mut child = parent.fork();
    child.layout(&framer);
    parent.layout(&framer);
    assert_eq!(framer.0.get(), 100);
}
