//! The word of a server on itself: any bytes; what is taken from them is within its limits.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tine_wire::{is_ollamas_version, read_loaded, read_models, read_props};

fuzz_target!(|body: &[u8]| {
    let mut served = read_models(body, "m").unwrap_or_default();
    read_props(body, &mut served);
    assert!(served.slots.is_none_or(|slots| slots > 0));
    assert!(served.window_tokens.is_none_or(|tokens| tokens > 0));
    let _ = is_ollamas_version(body);
    assert!(read_loaded(body, "m").is_none_or(|tokens| tokens > 0));
});
