//! A shell command: any text gets a verdict of each width and perhaps a warning, always the same; no text hides a second
//! command that follows it on a line of its own; what the strict verdict accepts, the wide one accepts too.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use tine_guard::{ShellText, Width, command_reads, shell_verdict, warning};

fuzz_target!(|text: &str| {
    assert_eq!(warning(&ShellText::new(text)), warning(&ShellText::new(text)));
    check(text, Width::Strict);
    check(text, Width::Wide);
    assert!(
        !shell_verdict(text, Width::Strict).read_only || shell_verdict(text, Width::Wide).read_only
    );
});

fn check(text: &str, width: Width) {
    let verdict = shell_verdict(text, width);
    assert!(!verdict.reason.is_empty() && !verdict.reason.chars().any(char::is_control));
    assert_eq!(verdict, shell_verdict(text, width));
    let reads = command_reads(
        Path::new("/somewhere"),
        &ShellText::new(text),
        width,
        Some(Path::new("/home/user")),
    );
    assert_eq!(reads.is_some(), verdict.read_only);
    assert!(reads.is_none_or(|reads| reads.paths.iter().all(|read| read.path.is_absolute())));
    // An escaped line end would join the two lines.
    if !text.ends_with('\\') {
        assert!(!shell_verdict(&format!("{text}\nrm x"), width).read_only);
    }
    if verdict.read_only {
        for tail in ["; rm x", " && tee x", " | sh", " &", " > x", " `x`", " $(x)"] {
            let longer = format!("{text}{tail}");
            let comment = text.contains('#');
            assert!(
                comment || text.ends_with('\\') || !shell_verdict(&longer, width).read_only,
                "{longer}"
            );
        }
    }
}
