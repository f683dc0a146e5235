//! The one message that a worker gets before what it said counts as its report.

use super::{Check, Finding};
use crate::worker::{REPORT_FORM, REPORT_WORDS_MAX};

/// What to say to a worker with these findings, once, before its run counts as done; `None` when there is nothing that another turn
/// would mend. Only for a worker that ended its turn by itself: who was stopped, or ran out of turns or money, is not asked.
///
/// What it says depends on which checks found something, and on nothing else.
pub fn nudge(findings: &[Finding]) -> Option<String> {
    findings.iter().any(|finding| is_mendable(finding.check)).then(|| {
        let missing = findings.iter().map(|finding| format!("- {}\n", asked(finding.check)));
        format!(
            "What you said does not count as your report yet:\n\
            {}\
            \n\
            Mend this now, within the scope of your task. If nothing is left to do, say why under Result. Then give the whole \
            report again, as plain text of at most {REPORT_WORDS_MAX} words:\n\
            {REPORT_FORM}\n\
            \n\
            This is the last chance: whatever you answer next counts as your report.",
            missing.collect::<String>()
        )
    })
}

/// Whether one more turn can mend it. What was done to another's task is done, and who goes round in circles would do so again:
/// both are for whoever reads the report.
fn is_mendable(check: Check) -> bool {
    match check {
        Check::NoWork | Check::Echo | Check::MissingScope => true,
        // What a report claims wrongly is for whoever reads it, with what was really done beside it.
        Check::ForeignTask | Check::Loop | Check::Claims | Check::TooLong | Check::Denied => false,
    }
}

fn asked(check: Check) -> &'static str {
    match check {
        Check::NoWork => {
            "The task asks for work, and you called no tool. Do the work, with the tools."
        }
        Check::Echo => {
            "It repeats what was said before you began. Report what you found or did yourself."
        }
        Check::MissingScope => {
            "It has no scope. Begin with `Scope:` and your task in one sentence."
        }
        Check::ForeignTask => {
            "You did what belongs to another task. Do no more of it, and say under Issues what you touched."
        }
        Check::Loop => "You did the same again and again, or handed the task on. Do neither.",
        Check::Claims => {
            "It names files or commits that are not what you changed. Name those that are."
        }
        Check::TooLong => "It is too long. Say the same in fewer words.",
        Check::Denied => "None of your calls was allowed. Say so under Issues.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(checks: &[Check]) -> Vec<Finding> {
        checks.iter().map(|check| Finding { check: *check, seen: "seen".to_owned() }).collect()
    }

    #[test]
    fn a_nudge_says_what_is_missing_the_form_and_that_it_is_the_last() {
        let all = nudge(&findings(&[Check::NoWork, Check::Echo, Check::MissingScope])).unwrap();
        insta::assert_snapshot!(all, @"
        What you said does not count as your report yet:
        - The task asks for work, and you called no tool. Do the work, with the tools.
        - It repeats what was said before you began. Report what you found or did yourself.
        - It has no scope. Begin with `Scope:` and your task in one sentence.

        Mend this now, within the scope of your task. If nothing is left to do, say why under Result. Then give the whole report again, as plain text of at most 500 words:
        Scope: the task, in one sentence
        Result: what you found or did
        Key files: the files that matter
        Files changed: the files you changed, with commits; `none` if you changed none
        Issues: what went wrong or remains open; `none` if nothing

        This is the last chance: whatever you answer next counts as your report.
        ");
    }

    #[test]
    fn only_what_can_be_mended_is_asked_for() {
        for check in Check::ALL {
            let is_asked = matches!(check, Check::NoWork | Check::Echo | Check::MissingScope);
            assert_eq!(nudge(&findings(&[check])).is_some(), is_asked, "{check}");
        }
        assert_eq!(nudge(&[]), None);
        let both = nudge(&findings(&[Check::MissingScope, Check::ForeignTask])).unwrap();
        assert!(both.contains("say under Issues what you touched"), "{both}");
    }
}
