//! Two bodies of a request, cut from any bytes at the first NUL: no body differs from itself, and every difference can be told.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tine_model::WireFormat;
use tine_wire::first_difference;

fuzz_target!(|data: &[u8]| {
    let mut bodies = data.splitn(2, |byte| *byte == 0);
    let (before, now) = (bodies.next().unwrap_or_default(), bodies.next().unwrap_or_default());
    for format in WireFormat::ALL {
        for (before, now) in [(before, before), (before, now), (now, before)] {
            let difference = first_difference(format, before, now);
            assert!(before != now || difference.is_none());
            assert!(difference.is_none_or(|segment| !segment.to_string().is_empty()));
        }
    }
});
