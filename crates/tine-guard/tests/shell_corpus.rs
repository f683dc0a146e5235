//! The corpora: no dangerous command is called read-only, and nearly every plain one is.

#![expect(clippy::panic, reason = "test helpers, where a panic is the report")]

use tine_guard::{Width, shell_verdict};

/// The most plain commands that may be refused by the strict verdict, of a thousand.
const STRICT_REFUSED_MAX: usize = 30;

/// The most plain commands that may be refused by the wide verdict, of a thousand.
const WIDE_REFUSED_MAX: usize = 9;

/// The most reads that may be refused by the wide verdict among those that the strict one refuses on purpose, of a thousand.
const ON_PURPOSE_REFUSED_MAX: usize = 99;

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

/// The commands of a corpus that are allowed, and those that are not, as they are told.
fn judged(cases: &[Case], width: Width) -> (Vec<String>, Vec<String>) {
    let (mut allowed, mut refused) = (Vec::new(), Vec::new());
    for case in cases {
        let verdict = shell_verdict(&case.command, width);
        assert!(!verdict.reason.is_empty() && !verdict.reason.contains('\n'), "{:?}", case.command);
        if verdict.read_only {
            allowed.push(format!("{:?} ({}: {})", case.command, case.class, case.reason));
        } else {
            refused.push(format!("{:?} ({}): {}", case.command, case.class, verdict.reason));
        }
    }
    (allowed, refused)
}

fn dangerous() -> Vec<Case> {
    corpus(include_str!("corpus/dangerous.txt"))
}

fn wide_dangerous() -> Vec<Case> {
    corpus(include_str!("corpus/wide_dangerous.txt"))
}

#[test]
fn no_dangerous_command_is_read_only() {
    let cases: Vec<Case> = dangerous().into_iter().chain(wide_dangerous()).collect();
    assert!(cases.len() >= 1_900, "{} dangerous commands", cases.len());
    let (allowed, _) = judged(&cases, Width::Strict);
    println!("strict: {} dangerous commands, {} wrongly allowed", cases.len(), allowed.len());
    assert!(allowed.is_empty(), "allowed:\n{}", allowed.join("\n"));
}

#[test]
fn no_dangerous_command_is_read_only_to_the_wide_verdict() {
    let cases = wide_dangerous();
    assert!(cases.len() >= 500, "{} dangerous commands", cases.len());
    let (allowed, _) = judged(&cases, Width::Wide);
    println!("wide: {} dangerous commands, {} wrongly allowed", cases.len(), allowed.len());
    assert!(allowed.is_empty(), "allowed:\n{}", allowed.join("\n"));
}

/// What the strict verdict refuses because it does not judge such text, and the wide one judges as a read.
#[test]
fn what_the_wide_verdict_allows_of_the_strict_ones_refusals_is_listed() {
    let listed: Vec<String> = corpus(include_str!("corpus/wide_reads.txt"))
        .into_iter()
        .map(|case| case.command)
        .collect();
    let unlisted: Vec<String> = dangerous()
        .into_iter()
        .filter(|case| shell_verdict(&case.command, Width::Wide).read_only)
        .map(|case| case.command)
        .filter(|command| !listed.contains(command))
        .collect();
    println!("{} of the strict verdict's refusals are reads to the wide one", listed.len());
    assert!(unlisted.is_empty(), "allowed, but not listed:\n{}", unlisted.join("\n"));
}

/// Checks that so few of a thousand are refused; says how many are.
fn check_refused(cases: &[Case], (what, width): (&str, Width), most: usize) -> String {
    let (allowed, refused) = judged(cases, width);
    let refused_all = refused.join("\n");
    assert!(refused.len() * 1_000 <= cases.len() * most, "{what} refused:\n{refused_all}");
    format!("{what}: {} of {} allowed; refused:\n{refused_all}", allowed.len(), cases.len())
}

#[test]
fn nearly_every_plain_command_is_read_only() {
    let cases = corpus(include_str!("corpus/plain.txt"));
    assert!(cases.len() >= 780, "{} plain commands", cases.len());
    println!("{}", check_refused(&cases, ("strict", Width::Strict), STRICT_REFUSED_MAX));
    println!("{}", check_refused(&cases, ("wide", Width::Wide), WIDE_REFUSED_MAX));
}

#[test]
fn most_reads_that_are_refused_on_purpose_are_read_only_to_the_wide_verdict() {
    let cases: Vec<Case> = corpus(include_str!("corpus/wide.txt"))
        .into_iter()
        .filter(|case| !shell_verdict(&case.command, Width::Strict).read_only)
        .collect();
    assert!(cases.len() >= 250, "{} reads that are refused on purpose", cases.len());
    let what = ("wide, of what strict refuses on purpose", Width::Wide);
    println!("{}", check_refused(&cases, what, ON_PURPOSE_REFUSED_MAX));
}
