//! A file of another tool: any text; what is accepted makes requests that are JSON, in every format, and digests within their
//! budget.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tine_fork::digest::{Digest, DigestProfile};
use tine_fork::worker::is_workers_history;
use tine_history::close_calls;
use tine_model::{Message, RawJson, WireFormat};
use tine_wire::{
    ConversationFormat, conversation_format, read_conversation, read_opencode_outline,
    unsent_blocks,
};

fuzz_target!(|text: &str| {
    let _ = conversation_format(text);
    if let Ok(outline) = read_opencode_outline(text) {
        let messages: Vec<&Message> = outline.messages.iter().collect();
        let before = outline.before_summary;
        let digest = Digest::behind_summary(&messages, DigestProfile::Fixed, before);
        assert_eq!(digest.text.is_empty(), messages.is_empty());
    }
    for format in ConversationFormat::ALL {
        for target in WireFormat::ALL {
            let Ok(read) = read_conversation(format, text, target) else { continue };
            assert!(!read.messages.is_empty() || format == ConversationFormat::Messages);
            let _ = unsent_blocks(&read.messages, target);
            let messages: Vec<&Message> = read.messages.iter().collect();
            let _ = is_workers_history(messages.iter().copied());
            for profile in DigestProfile::ALL {
                let digest = Digest::of(&messages, profile);
                assert_eq!(digest.stats.messages, messages.len());
            }
            let mut before = None;
            for message in &read.messages {
                let frame = tine_wire::framer(target).frame(&close_calls(before, message));
                let list = format!("[{}]", String::from_utf8_lossy(&frame.bytes));
                assert!(RawJson::parse(&list).is_ok(), "{list}");
                before = Some(message);
            }
        }
    }
});
