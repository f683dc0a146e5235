//! Requests to the proxy of confined commands: any bytes, whole and in pieces. What a server is sent is one request.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| tine_tools::read_request(bytes));
