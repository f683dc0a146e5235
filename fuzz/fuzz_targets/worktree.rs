//! What git prints and keeps: indexes, lists of files and refs, notes.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| tine_worktree::fuzzing::read_everything(bytes));
