//! An imported conversation: any text; what is accepted makes messages that are JSON, in every format. Whole requests: `splice`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tine_history::close_calls;
use tine_model::{RawJson, WireFormat};

fuzz_target!(|text: &str| {
    for format in WireFormat::ALL {
        let _ = tine_wire::read_message(format, text);
        let Ok(imported) = tine_wire::import_messages(text, format) else { continue };
        for target in WireFormat::ALL {
            let mut before = None;
            for (index, message) in imported.messages.iter().enumerate() {
                let frame = tine_wire::framer(target).frame(&close_calls(before, message));
                let list = format!("[{}]", String::from_utf8_lossy(&frame.bytes));
                assert!(RawJson::parse(&list).is_ok(), "message {index}: {list}");
                assert!(frame.placeholders <= frame.blocks, "message {index}");
                for slot in &frame.slots {
                    assert_eq!(
                        frame.bytes.get(slot.offset),
                        Some(&b'}'),
                        "message {index}: {list}"
                    );
                    assert!(slot.block < frame.blocks, "message {index}");
                }
                before = Some(message);
            }
        }
    }
});
