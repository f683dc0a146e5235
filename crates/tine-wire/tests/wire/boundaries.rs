//! Where a cache may hold a request: what the places of related requests have in common, and what they are marked with.

use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use tine_history::History;
use tine_model::{
    Block, Boundary, BoundaryKind, EntryId, Lifetime, Message, ModelSettings, RawJson, Role,
    ToolCallId, ToolInput, WireFormat,
};
use tine_wire::{
    Assembled, Head, HeadParts, Lifetimes, MarkPoints, RequestOptions, ToolDeclaration, assemble,
    read_message,
};

const SHORT: &str = r#","cache_control":{"type":"ephemeral"}"#;
const BREAKPOINT: &str = r#","prompt_cache_breakpoint":{"mode":"explicit"}"#;
const LONG: &str = r#","cache_control":{"type":"ephemeral","ttl":"1h"}"#;

/// How a head ends: with the list of messages begun, or with the system prompt in it.
const OPENINGS: [char; 2] = ['[', '}'];

/// One model of each format whose places differ: marked blocks, and whole messages.
const MODELS: [&str; 5] =
    ["anthropic/m", "openai-compat/m", "openai-chat/m", "openai/m", "gemini/m"];

fn head(model: &str) -> Head {
    let tool = ToolDeclaration {
        name: "Add".into(),
        description: "Adds.".into(),
        schema: RawJson::parse(r#"{"type":"object"}"#).unwrap(),
    };
    let settings = ModelSettings {
        model: model.parse().unwrap(),
        max_tokens: 1000,
        thinking: None,
        effort: None,
    };
    Head::render(HeadParts::new(settings, "Be brief.".into(), vec![tool]))
}

fn call(id: &str) -> Block {
    let input = ToolInput::Valid(RawJson::parse(r#"{"z": 1}"#).unwrap());
    Block::ToolUse { id: ToolCallId(id.into()), name: "Add".into(), input }
}

fn texts(role: Role, count: usize) -> Message {
    Message::new(role, (0..count).map(|n| Block::Text(format!("text {n}"))).collect())
}

fn push(history: &mut History, message: Message) {
    history.push(EntryId(history.len() as i64 + 1), Arc::new(message));
}

fn history(messages: &[Message]) -> History {
    let mut history = History::new();
    messages.iter().for_each(|message| push(&mut history, message.clone()));
    history
}

fn request(head: &Head, history: &mut History, points: MarkPoints) -> Assembled {
    assemble(head, history, &RequestOptions::at(points))
}

/// The body without its marks.
fn plain(assembled: &Assembled) -> String {
    let body = String::from_utf8(assembled.body.to_vec()).unwrap();
    body.replace(SHORT, "").replace(LONG, "").replace(BREAKPOINT, "")
}

fn find<'a>(assembled: &'a Assembled, like: &Boundary) -> Option<&'a Boundary> {
    assembled.boundaries.iter().find(|b| b.hash == like.hash && b.bytes == like.bytes)
}

/// Ends in a block that takes no mark.
fn searched() -> Message {
    let json = r#"{"role":"assistant","content":[{"type":"text","text":"see"},{"type":"server_tool_use","id":"s","name":"web_search","input":{}}]}"#;
    read_message(WireFormat::Anthropic, json).unwrap()
}

/// A message that every format sends.
fn message() -> impl Strategy<Value = Message> {
    let results = |ids: Vec<u8>| {
        let results = ids.iter().map(|id| Block::result(ToolCallId(format!("c{id}")), "ok", false));
        Message::new(Role::User, results.chain([Block::Text("and".into())]).collect())
    };
    prop_oneof![
        "[a-z]{1,4}".prop_map(Message::user),
        "[a-z]{1,4}".prop_map(|word| Message::new(Role::Assistant, vec![Block::Text(word)])),
        vec(0u8..4, 1..6).prop_map(|ids| {
            Message::new(Role::Assistant, ids.iter().map(|id| call(&format!("c{id}"))).collect())
        }),
        vec(0u8..4, 1..6).prop_map(results),
        (1usize..25).prop_map(|count| texts(Role::User, count)),
        Just(searched()),
    ]
}

/// As [`message`], and messages that nothing is sent for.
fn message_or_nothing() -> impl Strategy<Value = Message> {
    prop_oneof![4 => message(), 1 => Just(Message::new(Role::Assistant, Vec::new()))]
}

/// A branch: how much of the common history it keeps, what it adds, and how much of it was sent and inherited.
type Branch = (usize, Vec<Message>, Option<usize>, Option<usize>);

fn branches(
    message: impl Strategy<Value = Message> + Clone,
) -> impl Strategy<Value = (Vec<Message>, Vec<Branch>)> {
    let places = || prop::option::of(0usize..14);
    let branch = (0usize..12, vec(message.clone(), 0..4), places(), places());
    (vec(message, 0..12), vec(branch, 1..5))
}

/// Requests of all branches, each with its body without marks.
fn requests(head: &Head, base: &[Message], branches: &[Branch]) -> Vec<(Assembled, String)> {
    let mut root = history(base);
    let of = |(keep, own, sent, inherited): &Branch| {
        let mut branch = root.fork();
        branch.rewind(*keep);
        own.iter().for_each(|message| push(&mut branch, message.clone()));
        let within = |place: &Option<usize>| place.map(|place| place.min(branch.len()));
        let points = MarkPoints { sent: within(sent), inherited: within(inherited) };
        let assembled = request(head, &mut branch, points);
        let body = plain(&assembled);
        (assembled, body)
    };
    branches.iter().map(of).collect()
}

/// The end of a whole message, or of a block up to its closing brace.
fn is_end(before: &str, behind: &str) -> bool {
    before.ends_with('}') || behind.starts_with('}')
}

/// What every single request keeps to.
fn is_sound(assembled: &Assembled, plain: &str) -> Result<(), TestCaseError> {
    let body = String::from_utf8(assembled.body.to_vec()).unwrap();
    let marked: Vec<_> = assembled.boundaries.iter().filter(|b| b.mark.is_some()).collect();
    let marks = body.matches(SHORT).count() + body.matches(BREAKPOINT).count();
    prop_assert_eq!(marks, marked.len(), "a mark for each marked place");
    prop_assert!(marked.len() <= 4);
    prop_assert_eq!(assembled.boundaries[0].kind, BoundaryKind::Head);
    for pair in assembled.boundaries.windows(2) {
        prop_assert!(pair[0].bytes < pair[1].bytes, "in order, and no place twice: {:?}", pair);
    }
    for boundary in &assembled.boundaries {
        prop_assert!(boundary.back < 20);
        let (before, behind) = plain.split_at(boundary.bytes as usize);
        match boundary.kind {
            BoundaryKind::Head => prop_assert!(before.ends_with(OPENINGS), "a list begins"),
            _ => prop_assert!(is_end(before, behind), "{}", before),
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    /// The identity of a place stands for the bytes before it, in whatever request it is.
    #[test]
    fn places_are_the_same_exactly_when_the_bytes_before_them_are(
        (base, branches) in branches(message().boxed()),
    ) {
        for model in MODELS {
            let requests = requests(&head(model), &base, &branches);
            let mut places = Vec::new();
            for (assembled, plain) in &requests {
                is_sound(assembled, plain)?;
                let of = assembled.boundaries.iter().map(|b| (b.hash, &plain[..b.bytes as usize]));
                places.extend(of);
            }
            for (index, (hash, bytes)) in places.iter().enumerate() {
                for (other_hash, other_bytes) in &places[index + 1..] {
                    prop_assert_eq!(hash == other_hash, bytes == other_bytes, "{}", bytes);
                }
            }
        }
    }

    /// Where nothing is sent for some messages, the same bytes may go by two names, but never two by one.
    #[test]
    fn places_of_one_name_have_the_same_bytes_before_them(
        (base, branches) in branches(message_or_nothing().boxed()),
    ) {
        for model in MODELS {
            let requests = requests(&head(model), &base, &branches);
            let mut places = std::collections::BTreeMap::new();
            for (assembled, plain) in &requests {
                is_sound(assembled, plain)?;
                for boundary in &assembled.boundaries {
                    let bytes = &plain[..boundary.bytes as usize];
                    prop_assert_eq!(*places.entry(boundary.hash).or_insert(bytes), bytes);
                }
            }
        }
    }

    /// What the parent's request wrote at its end, a child's first request looks up there, at a mark of its own.
    #[test]
    fn a_child_finds_its_parents_last_request(
        asked in vec(message_or_nothing(), 1..12),
        answered in vec(message(), 0..3),
        directive in message(),
    ) {
        for model in MODELS {
            let head = head(model);
            let mut parent = history(&asked);
            let sent = Some(parent.len());
            let asking = request(&head, &mut parent, MarkPoints { sent: None, inherited: None });
            answered.iter().for_each(|message| push(&mut parent, message.clone()));
            let mut child = parent.fork();
            push(&mut child, directive.clone());
            let points = MarkPoints { sent, inherited: Some(parent.len()) };
            let first = request(&head, &mut child, points);
            let Some(tail) = asking.boundary(BoundaryKind::Tail) else { continue };
            let found = find(&first, tail);
            prop_assert!(found.is_some_and(|anchor| anchor.back == 0 && anchor.mark == tail.mark));
        }
    }

    /// Siblings agree on what they share, whatever each is told, and even if one is told nothing.
    #[test]
    fn siblings_share_their_fork_point_whatever_the_directive(
        asked in vec(message(), 1..8),
        directives in vec(prop_oneof![
            Just(Message::new(Role::User, Vec::new())),
            "[a-z]{1,9}".prop_map(Message::user),
            (1usize..30).prop_map(|count| texts(Role::User, count)),
        ], 1..4),
        sent in prop::option::of(0usize..8),
    ) {
        let head = head("anthropic/m");
        let mut parent = history(&asked);
        let inherited = Some(parent.len());
        let points = MarkPoints { sent: sent.map(|sent| sent.min(asked.len())), inherited };
        let mut sibling = |directive: Message| {
            let mut child = parent.fork();
            push(&mut child, directive);
            request(&head, &mut child, points)
        };
        let first = sibling(Message::user("Task: a"));
        let shared = first.boundaries.iter().rev().find(|b| b.mark.is_some() && b.kind != BoundaryKind::Tail);
        let shared = *shared.unwrap();
        prop_assert!(shared.kind != BoundaryKind::Head || asked.is_empty());
        for directive in directives {
            let other = sibling(directive);
            let found = find(&other, &shared);
            prop_assert!(found.is_some_and(|place| place.mark.is_some() && place.back == 0));
        }
    }
}

/// A lookup probes twenty positions, the marked one among them. The anchor is a mark of its own, at any distance.
#[test]
fn the_anchor_is_found_at_any_distance_and_unmarked_places_within_twenty() {
    for gap in [18, 19, 20, 21, 60] {
        let head = head("anthropic/m");
        let mut agent = history(&[Message::user("go")]);
        let asking = request(&head, &mut agent, MarkPoints::default());
        let tail = *asking.boundary(BoundaryKind::Tail).unwrap();
        push(&mut agent, texts(Role::Assistant, gap - 1));
        push(&mut agent, Message::user("on"));

        let points = MarkPoints { sent: Some(1), inherited: None };
        let anchored = request(&head, &mut agent, points);
        let anchor = find(&anchored, &tail).unwrap();
        assert_eq!((anchor.kind, anchor.back), (BoundaryKind::Anchor, 0), "{gap}");
        assert_eq!(anchor.mark, Some(Lifetime::Short));
        assert!(anchored.boundary(BoundaryKind::Middle).is_some());

        let bare = request(&head, &mut agent, MarkPoints::default());
        let back = find(&bare, &tail).map(|place| (place.kind, place.back));
        assert_eq!(back, (gap < 20).then_some((BoundaryKind::Message, gap)));
    }
}

/// Siblings may keep the entry at their fork point alive for longer than a child keeps its own.
#[test]
fn a_later_turn_of_a_child_still_reaches_its_fork_point() {
    let head = head("anthropic/m");
    let mut parent =
        history(&[Message::user("go"), Message::new(Role::Assistant, vec![call("a")])]);
    let mut child = parent.fork();
    push(&mut child, Message::user("Task: a"));
    let points = MarkPoints { sent: Some(1), inherited: Some(2) };
    let first = request(&head, &mut child, points);
    let fork_point = *first.boundary(BoundaryKind::ForkPoint).unwrap();
    push(&mut child, Message::new(Role::Assistant, vec![Block::Text("well".into())]));
    push(&mut child, Message::user("on"));
    let second = request(&head, &mut child, MarkPoints { sent: Some(3), ..points });
    assert_eq!(second.boundary(BoundaryKind::ForkPoint), None, "its mark was spent on the anchor");
    assert_eq!(find(&second, &fork_point).map(|place| place.back), Some(1));
    let tail = first.boundary(BoundaryKind::Tail).unwrap();
    assert_eq!(find(&second, tail).map(|place| place.kind), Some(BoundaryKind::Anchor));
}

/// Results stand in call order: placeholders of earlier calls are common to siblings that answer a later one themselves, and those of
/// later calls are not.
#[test]
fn a_result_of_ones_own_is_behind_the_fork_point() {
    let head = head("anthropic/m");
    let calls = Message::new(Role::Assistant, vec![call("a"), call("b")]);
    let mut parent = history(&[Message::user("go"), calls]);
    let points = MarkPoints { sent: Some(1), inherited: Some(2) };
    let sibling = |parent: &mut History, answered: &str, text: &str| {
        let mut child = parent.fork();
        let result = Block::result(ToolCallId(answered.into()), text, false);
        push(&mut child, Message::new(Role::User, vec![result]));
        let assembled = request(&head, &mut child, points);
        *assembled.boundary(BoundaryKind::ForkPoint).unwrap()
    };
    for (answered, items) in [("a", 2), ("b", 3)] {
        let [one, two] = ["one", "two"].map(|text| sibling(&mut parent, answered, text));
        assert_eq!(one, two, "{answered}");
        assert_eq!(one.items, items, "{answered}");
    }
}

#[test]
fn the_head_lives_at_least_as_long_as_what_stands_behind_it() {
    let check = |head_lives: Lifetime, messages: Lifetime, expected: [Lifetime; 2]| {
        let options = RequestOptions {
            lifetimes: Lifetimes::new(head_lives, messages),
            ..RequestOptions::at(MarkPoints { sent: Some(1), inherited: None })
        };
        let mut agent =
            history(&[Message::user("go"), texts(Role::Assistant, 2), Message::user("on")]);
        let assembled = assemble(&head("anthropic/m"), &mut agent, &options);
        let marks: Vec<_> = assembled.boundaries.iter().filter_map(|b| b.mark).collect();
        assert_eq!(marks, [expected[0], expected[1], expected[1]]);
        let body = String::from_utf8(assembled.body.to_vec()).unwrap();
        let long = expected.iter().filter(|lifetime| **lifetime == Lifetime::Long).count();
        assert_eq!(body.matches(LONG).count(), [0, 1, 3][long]);
        assert_eq!(body.matches("cache_control").count(), 3);
        let (first_short, last_long) = (body.find(SHORT), body.rfind(LONG));
        assert!(first_short.zip(last_long).is_none_or(|(short, long)| long < short));
    };
    let (short, long) = (Lifetime::Short, Lifetime::Long);
    check(short, short, [short, short]);
    check(long, short, [long, short]);
    check(long, long, [long, long]);
    check(short, long, [long, long]);
}
