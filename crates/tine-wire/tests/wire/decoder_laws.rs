//! What holds for every stream, honest or broken.

use proptest::collection::vec;
use proptest::prelude::*;
use tine_model::WireFormat;
use tine_wire::{
    DecodeError, Decoder, Event, Partial, Reply, decode_failure, decode_reply, import_messages,
    read_message,
};

use crate::fixtures::{self, responses};

fn streams() -> [(WireFormat, Vec<u8>); 4] {
    [
        (WireFormat::Anthropic, fixtures::anthropic(fixtures::FULL).into_bytes()),
        (WireFormat::OpenAiChat, fixtures::chat(fixtures::CHAT_FULL).into_bytes()),
        (WireFormat::Gemini, fixtures::gemini(fixtures::GEMINI_FULL).into_bytes()),
        (WireFormat::OpenAiResponses, responses::framed(responses::FULL).into_bytes()),
    ]
}

struct Outcome {
    events: Vec<Event>,
    reply: Result<Reply, DecodeError>,
    partial: Partial,
}

/// Decodes `bytes`, cut into pieces of these sizes over and over.
fn run(format: WireFormat, bytes: &[u8], sizes: &[usize]) -> Outcome {
    let decode = || {
        let mut decoder = Decoder::new(format);
        let mut events = Vec::new();
        let mut rest = bytes;
        for size in sizes.iter().cycle() {
            let (chunk, more) = rest.split_at(rest.len().min(*size));
            match decoder.push(chunk) {
                Ok(more) => events.extend(more),
                Err(_) => break,
            }
            if more.is_empty() {
                break;
            }
            rest = more;
        }
        (decoder, events)
    };
    let (mut decoder, events) = decode();
    Outcome { events, reply: decoder.finish(), partial: decode().0.partial() }
}

fn same(left: &Outcome, right: &Outcome) -> Result<(), TestCaseError> {
    prop_assert_eq!(&left.events, &right.events);
    prop_assert_eq!(&left.reply, &right.reply);
    prop_assert_eq!(&left.partial, &right.partial);
    Ok(())
}

/// A change to a stream: at a place, bytes are taken away and others put in.
fn damage() -> impl Strategy<Value = Vec<(prop::sample::Index, usize, Vec<u8>)>> {
    vec((any::<prop::sample::Index>(), 0usize..4, vec(any::<u8>(), 0..3)), 1..4)
}

fn damaged(stream: &[u8], damage: &[(prop::sample::Index, usize, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = stream.to_vec();
    for (place, taken, put) in damage {
        let start = place.index(bytes.len());
        let end = (start + taken).min(bytes.len());
        bytes.splice(start..end, put.iter().copied());
    }
    bytes
}

#[test]
fn a_decoder_may_move_between_threads() {
    fn check<T: Send + 'static>(_: T) {}
    check(Decoder::new(WireFormat::Anthropic));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_chunking_gives_the_same_events_and_reply(sizes in vec(1usize..200, 1..8)) {
        for (format, stream) in streams() {
            let whole = run(format, &stream, &[stream.len()]);
            prop_assert!(whole.reply.is_ok());
            same(&whole, &run(format, &stream, &sizes))?;
        }
    }

    #[test]
    fn damaged_streams_never_panic_and_chunking_still_does_not_matter(
        damage in damage(), sizes in vec(1usize..50, 1..4),
    ) {
        for (format, stream) in streams() {
            let bytes = damaged(&stream, &damage);
            same(&run(format, &bytes, &[bytes.len()]), &run(format, &bytes, &sizes))?;
        }
    }

    #[test]
    fn partial_replies_can_be_read_back(cut in any::<prop::sample::Index>()) {
        for (format, stream) in streams() {
            let partial = run(format, &stream[..cut.index(stream.len())], &[64]).partial;
            if let Some(message) = partial.message {
                let raw = message.raw().unwrap();
                prop_assert_eq!(&read_message(format, raw.json.as_str()).unwrap(), &message);
            }
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in vec(any::<u8>(), 0..300), text in "[ -~\n\"{}\\[\\]:,]{0,80}") {
        for format in WireFormat::ALL {
            for bytes in [&bytes, text.as_bytes()] {
                let _ = run(format, bytes, &[7]);
                let _ = run(format, &[b"data: ", bytes, b"\n\n"].concat(), &[7]);
                let _ = decode_reply(format, bytes);
                let _ = decode_failure(format, 500, Some("text/html"), bytes);
            }
            let _ = read_message(format, &text);
            let _ = import_messages(&text, format);
        }
    }

    #[test]
    fn pages_never_panic(page in "(<|>|<script|</script|<title|</title|é|&amp;| |x){0,60}") {
        let failure = decode_failure(WireFormat::Anthropic, 502, Some("text/html"), page.as_bytes());
        prop_assert!(failure.message.chars().all(|c| !c.is_control()));
    }
}
