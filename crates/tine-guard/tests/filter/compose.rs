//! Filters made of filters.

use tine_guard::filter::{
    AllowAllFilter, BoxedFilter, Denial, DenialCode, ReadOnlyFilter, ToolFilter, all, any, not,
};
use tine_model::RawJson;

use crate::support::said;

/// Refuses one tool, in the words of another host.
struct Without(&'static str);

impl ToolFilter for Without {
    fn allows(&self, tool: &str, _input: &RawJson) -> bool {
        tool != self.0
    }

    fn denial_message(&self, tool: &str, _input: &RawJson) -> String {
        format!("{tool} is switched off.")
    }
}

fn without(tool: &'static str) -> BoxedFilter {
    Box::new(Without(tool))
}

fn read_only() -> BoxedFilter {
    Box::new(ReadOnlyFilter::new())
}

#[test]
fn all_needs_every_one_and_the_first_that_refuses_speaks() {
    let filter = all([without("Grep"), read_only()]);
    assert_eq!(said(&filter, "Glob", r#"{"pattern":"*"}"#), "allow");
    insta::assert_snapshot!(said(&filter, "Grep", r#"{"pattern":"x"}"#), @"other: Grep is switched off.");
    insta::assert_snapshot!(said(&filter, "Agent", "{}"), @"tool_refused: Denied: this run may not call `Agent`. Use FileRead, Glob, Grep, or Bash with a command that only reads.");
    assert_eq!(said(&all([]), "Agent", "{}"), "allow");
}

#[test]
fn any_needs_one_and_otherwise_each_speaks() {
    let filter = any([read_only(), Box::new(all([without("Agent"), without("Bash")]))]);
    assert_eq!(said(&filter, "FileWrite", "{}"), "allow");
    insta::assert_snapshot!(said(&filter, "Agent", "{}"), @"tool_refused: Denied: this run may not call `Agent`; and Agent is switched off. Use FileRead, Glob, Grep, or Bash with a command that only reads.");
    insta::assert_snapshot!(said(&any([]), "Glob", "{}"), @"tool_refused: Denied: this run may call no tool.");
    assert_eq!(said(&any([read_only(), Box::new(AllowAllFilter)]), "Agent", "{}"), "allow");
}

#[test]
fn not_turns_a_filter_round_but_never_allows_what_cannot_be_read() {
    let filter = not(read_only());
    assert_eq!(said(&filter, "Agent", "{}"), "allow");
    insta::assert_snapshot!(said(&filter, "Glob", r#"{"pattern":"*"}"#), @"tool_refused: Denied: this run may not make this call of `Glob`. Go on without it, or do it another way.");
    insta::assert_snapshot!(said(&filter, "Glob", r#"{"pattern":"*","pattern":"x"}"#), @"arguments: Denied: the arguments cannot be judged: the key `pattern` is written twice. Use FileRead, Glob, Grep, or Bash with a command that only reads.");
    assert_eq!(said(&not(Box::new(not(read_only()))), "Glob", "{}"), "allow");
}

#[test]
fn a_denial_has_parts() {
    let input = RawJson::parse(r#"{"command":"rm -rf x"}"#).unwrap();
    let denial: Denial = ReadOnlyFilter::new().check("Bash", &input).unwrap_err();
    assert_eq!(denial.code(), DenialCode::NotReadOnly);
    assert!(!denial.reason().is_empty() && !denial.hint().is_empty());
}
