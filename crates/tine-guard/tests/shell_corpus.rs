//! The corpora: no dangerous command is called read-only, and nearly every plain one is.

#![expect(clippy::panic, reason = "test helpers, where a panic is the report")]

use tine_guard::{Width, shell_verdict};

/// The least share of plain commands that must be read-only, in percent. All of ours are; the share is printed.
const PLAIN_SHARE_MIN: usize = 98;

struct Case {
    class: &'static str,
    reason: &'static str,
    command: String,
}

/// Reads a corpus: section lines `= class | reason`, then commands; what stands before the first section is a comment.
fn corpus(text: &'static str) -> Vec<Case> {
    let mut section = None;
    let mut cases = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        if let Some((class, reason)) =
            line.strip_prefix("= ").and_then(|head| head.split_once(" | "))
        {
            assert!(!reason.is_empty(), "{class} has no reason");
            section = Some((class, reason));
        } else if let Some((class, reason)) = section {
            cases.push(Case { class, reason, command: decoded(line) });
        }
    }
    cases
}

fn decoded(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(at) = rest.find('⟦') {
        out.push_str(&rest[..at]);
        let (code, more) =
            rest[at + '⟦'.len_utf8()..].split_once('⟧').unwrap_or_else(|| panic!("{line}"));
        let code = u32::from_str_radix(code, 16).ok().and_then(char::from_u32);
        out.push(code.unwrap_or_else(|| panic!("{line}")));
        rest = more;
    }
    out.push_str(rest);
    out.replace('⏎', "\n").replace('⇥', "\t")
}

#[test]
fn no_dangerous_command_is_read_only() {
    let cases = corpus(include_str!("corpus/dangerous.txt"));
    assert!(cases.len() >= 520, "{} dangerous commands", cases.len());
    let mut wrong = Vec::new();
    for case in &cases {
        let verdict = shell_verdict(&case.command, Width::Strict);
        if verdict.read_only {
            wrong.push(format!("{:?} ({}: {})", case.command, case.class, case.reason));
        }
        assert!(!verdict.reason.is_empty() && !verdict.reason.contains('\n'), "{:?}", case.command);
    }
    println!("{} dangerous commands, {} wrongly allowed", cases.len(), wrong.len());
    assert!(wrong.is_empty(), "allowed:\n{}", wrong.join("\n"));
}

#[test]
fn nearly_every_plain_command_is_read_only() {
    let cases = corpus(include_str!("corpus/plain.txt"));
    assert!(cases.len() >= 420, "{} plain commands", cases.len());
    let mut refused = Vec::new();
    for case in &cases {
        let verdict = shell_verdict(&case.command, Width::Strict);
        if !verdict.read_only {
            refused.push(format!("{:?} ({}): {}", case.command, case.class, verdict.reason));
        }
    }
    let allowed = cases.len() - refused.len();
    println!(
        "{allowed} of {} plain commands allowed; refused:\n{}",
        cases.len(),
        refused.join("\n")
    );
    assert!(allowed * 100 >= cases.len() * PLAIN_SHARE_MIN, "refused:\n{}", refused.join("\n"));
}
