//! An imported conversation: any text; what is accepted makes a request that is JSON.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tine_history::close_calls;
use tine_model::{RawJson, WireFormat};

fuzz_target!(|text: &str| {
    for format in WireFormat::ALL {
        let _ = tine_wire::read_message(format, text);
        let Ok(imported) = tine_wire::import_messages(text, format) else { continue };
        let mut open = Vec::new();
        for (index, message) in imported.messages.iter().enumerate() {
            let bytes = tine_wire::framer(format).frame(&close_calls(&open, message)).bytes;
            let list = format!("[{}]", String::from_utf8_lossy(&bytes));
            assert!(RawJson::parse(&list).is_ok(), "message {index}: {list}");
            open = message.tool_calls().cloned().collect();
        }
    }
});
