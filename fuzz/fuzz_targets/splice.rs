//! The body of another program's request: any bytes. What is accepted is given back byte for byte, and a message that is appended
//! changes nothing before its place and nothing behind the messages.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use tine_history::History;
use tine_model::{EntryId, Message, Provider, WireFormat};
use tine_wire::{Head, RequestOptions, SplitRequest, assemble, read_request};

fuzz_target!(|bytes: &[u8]| {
    for format in WireFormat::ALL {
        let Ok(split) = SplitRequest::read(format, bytes.to_vec()) else { continue };
        assert_eq!(split.with_messages(split.len(), &[]), bytes);
        let longer = split.with_messages(split.len(), &["{}"]);
        let again = SplitRequest::read(format, longer).unwrap();
        assert_eq!(again.len(), split.len() + 1);
        assert!(again.settings().eq(split.settings()));
        let changed = split.with_setting("stream", "true").unwrap();
        assert!(changed.elements().eq(split.elements()));
    }
    for provider in Provider::ALL {
        let Ok((parts, messages)) = read_request(provider, Some("m"), bytes) else { continue };
        let head = Head::render(parts.streamed());
        assert_eq!(Head::from_stored(&head.to_stored()).as_ref(), Ok(&head));
        let mut history = History::new();
        for message in messages.into_iter().chain([Message::user("task")]) {
            history.push(EntryId(history.len() as i64 + 1), Arc::new(message));
        }
        let body = assemble(&head, &mut history, &RequestOptions::default()).body.to_vec();
        SplitRequest::read(provider.format(), body).unwrap();
    }
});
