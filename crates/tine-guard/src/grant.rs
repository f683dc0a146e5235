//! Lasting answers: the rule that stands for one call, and whether a rule stands for another.
//!
//! A person who says "always" to a call must get what was shown and nothing more. So the rule is as narrow as rules can be
//! (a command's own text, one path), and where no rule says exactly this there is none.

use std::path::Path;

use crate::call::{Call, Subject, shown};
use crate::command_pattern::Meets;
use crate::rule::Rule;

/// Characters with a meaning of their own in a path pattern.
const GLOB_CHARACTERS: [char; 8] = ['*', '?', '[', ']', '{', '}', '\\', '!'];

/// The narrowest rule that covers `call`; `None` where every rule that does would cover what nobody was shown. A path is
/// written from the root, so that the rule means the same in every directory.
pub fn rule_for(call: &Call<'_>) -> Option<Rule> {
    let subject = call.subject().ok()?;
    let pattern = match subject {
        Subject::Command(command) if command.text().contains('*') => return None,
        Subject::Command(command) => command.text().to_owned(),
        Subject::Read(target) | Subject::Write(target) | Subject::Search(target) => {
            plain_path(&target.absolute)?
        }
        Subject::Script(_) | Subject::Crew(_) | Subject::Unknown => return None,
    };
    // What is not seen as itself must not be agreed to for good.
    if shown(&pattern) != pattern {
        return None;
    }
    let rule: Rule = format!("{}({pattern})", call.tool).parse().ok()?;
    rule.allows(call.tool, subject).then_some(rule)
}

/// The path as a pattern that matches it alone, if it can be one.
pub(crate) fn plain_path(path: &Path) -> Option<String> {
    let text = path.to_str()?;
    (text.starts_with('/') && !text.contains(GLOB_CHARACTERS)).then(|| text.to_owned())
}

impl Rule {
    /// Whether this rule, as one that allows, covers the whole call.
    pub fn permits(&self, call: &Call<'_>) -> bool {
        call.subject().is_ok_and(|subject| self.allows(call.tool, subject))
    }

    /// Whether this rule, as one that denies, covers any part of the call.
    pub fn forbids(&self, call: &Call<'_>) -> bool {
        call.subject().map_or(true, |subject| self.meets(call.tool, subject) == Meets::Yes)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tine_model::RawJson;

    use super::*;

    fn with_call<T>(tool: &str, input: serde_json::Value, look: impl FnOnce(&Call<'_>) -> T) -> T {
        let input = RawJson::parse(&input.to_string()).unwrap();
        look(&Call::new(tool, &input, Path::new("/srv/app")))
    }

    fn rule(tool: &str, input: serde_json::Value) -> String {
        with_call(tool, input, |call| rule_for(call).map_or("none".to_owned(), |r| r.to_string()))
    }

    #[test]
    fn a_rule_says_exactly_what_was_asked() {
        let command = |text: &str| rule("Bash", serde_json::json!({ "command": text }));
        assert_eq!(command("cargo test && ls (a)"), "Bash(cargo test && ls (a))");
        for text in ["rm *.o", "a\nb", "", "ls \u{202e}x", &"x".repeat(1_001)] {
            assert_eq!(command(text), "none", "{text:?}");
        }
        let file = |path: &str| rule("FileEdit", serde_json::json!({ "file_path": path }));
        assert_eq!(file("src/../src/a.rs"), "FileEdit(/srv/app/src/a.rs)");
        assert_eq!(file("/etc/hosts"), "FileEdit(/etc/hosts)");
        assert_eq!(file(".env"), "FileEdit(/srv/app/.env)");
        for path in ["a[1].rs", "~/x", "a*", "a\nb"] {
            assert_eq!(file(path), "none", "{path:?}");
        }
        assert_eq!(rule("Grep", serde_json::json!({"pattern":"x","path":"/etc"})), "Grep(/etc)");
        let secret = serde_json::json!({"pattern":"x","glob":".env"});
        assert_eq!(rule("Grep", secret), "none");
        assert_eq!(rule("Other", serde_json::json!({"a":1})), "none");
        assert_eq!(rule("Bash", serde_json::json!({"cmd":"ls"})), "none");
    }

    #[test]
    fn a_call_that_cannot_be_read_is_covered_by_every_no_and_by_no_yes() {
        let rule: Rule = "FileRead".parse().unwrap();
        with_call("Bash", serde_json::json!({}), |call| {
            assert!(rule.forbids(call) && !rule.permits(call));
        });
    }

    proptest! {
        #[test]
        fn the_rule_of_a_command_covers_it_and_no_other(
            command in "[ -~]{1,40}",
            other in "[ -~\n]{1,40}",
        ) {
            let rule = with_call("Bash", serde_json::json!({ "command": command }), rule_for);
            if let Some(rule) = rule {
                let permits = |text: &str| {
                    with_call("Bash", serde_json::json!({ "command": text }), |c| rule.permits(c))
                };
                prop_assert!(permits(&command));
                prop_assert_eq!(permits(&other), other == command);
                prop_assert_eq!(rule.to_string().parse::<Rule>().unwrap().to_string(), rule.to_string());
            }
        }
    }
}
