//! A shell command: any text gets a verdict and perhaps a warning, always the same; no text hides a second command that
//! follows it on a line of its own.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use tine_guard::{command_reads, shell_verdict, warning};

fuzz_target!(|text: &str| {
    let verdict = shell_verdict(text);
    assert!(!verdict.reason.is_empty() && !verdict.reason.chars().any(char::is_control));
    assert_eq!(verdict, shell_verdict(text));
    assert_eq!(warning(text), warning(text));
    let reads = command_reads(Path::new("/somewhere"), text);
    assert!(verdict.read_only || reads.is_empty());
    assert!(reads.iter().all(|path| path.is_absolute()));
    // An escaped line end would join the two lines.
    if !text.ends_with('\\') {
        assert!(!shell_verdict(&format!("{text}\nrm x")).read_only);
    }
    if verdict.read_only {
        for tail in ["; rm x", " && tee x", " | sh", " &", " > x", " `x`", " $(x)"] {
            let longer = format!("{text}{tail}");
            let comment = text.contains('#');
            assert!(
                comment || text.ends_with('\\') || !shell_verdict(&longer).read_only,
                "{longer}"
            );
        }
    }
});
