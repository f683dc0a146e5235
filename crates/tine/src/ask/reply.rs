//! Reads the lines that a person types at a question of a run.

use tine_model::PermissionScope;
use tine_runtime::{Answer, PermissionRequest, REASON_BYTES_MAX};
use tine_tui::question::{Choice, Said, Step, choices, said};

/// The meaning of no answer.
pub(super) const NO: Answer = Answer::Deny(PermissionScope::Once);

/// A line, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Reply {
    /// An answer.
    Answer(Answer),
    /// A yes from now on, whose reach is asked next.
    Next(Step),
    /// The person wants to see all of it.
    Whole,
    /// No answer, and why.
    Again(String),
}

/// Reads a line.
pub(super) fn read_reply(line: &str, request: &PermissionRequest, step: &Step) -> Reply {
    let text = line.trim();
    if let Ok(number) = text.parse::<usize>() {
        let choice =
            number.checked_sub(1).and_then(|at| choices(request, step).into_iter().nth(at));
        return choice.map_or_else(|| Reply::Again(format!("there is no choice {number}")), chosen);
    }
    match said(text) {
        _ if text.is_empty() => Reply::Answer(NO),
        _ if text.eq_ignore_ascii_case("v") => Reply::Whole,
        Said::Yes => Reply::Answer(Answer::Allow(PermissionScope::Once)),
        Said::No => Reply::Answer(NO),
        // One letter says nothing that a model could follow.
        Said::Instead(words) if words.chars().count() == 1 => {
            Reply::Again(format!("`{words}` is no answer"))
        }
        Said::Instead(words) if words.len() > REASON_BYTES_MAX => {
            Reply::Again(format!("at most {REASON_BYTES_MAX} bytes say what to do instead"))
        }
        Said::Instead(words) => Reply::Answer(Answer::DenyBecause(PermissionScope::Once, words)),
    }
}

fn chosen(choice: Choice) -> Reply {
    match choice {
        Choice::Once => Reply::Answer(Answer::Allow(PermissionScope::Once)),
        Choice::FromNowOn(cover) => Reply::Next(Step::Reach(cover)),
        Choice::No => Reply::Answer(NO),
        Choice::As(scope, cover) => Reply::Answer(cover.answer(scope)),
    }
}

/// True for an answer that lets the call run.
pub(super) fn allows(reply: &Reply) -> bool {
    matches!(reply, Reply::Answer(Answer::Allow(_) | Answer::AllowRule(..)) | Reply::Next(_))
}

/// The choices of a part of the answer, a line for each.
pub(super) fn listed(request: &PermissionRequest, step: &Step) -> String {
    let choices = choices(request, step);
    let line = |(at, choice): (usize, &Choice)| format!("\n  {} {}", at + 1, choice.words());
    choices.iter().enumerate().map(line).collect()
}

/// The text behind the choices, before the answer.
pub(super) fn prompt(step: &Step) -> &'static str {
    match step {
        Step::Answer => {
            "Allow it? [y] once, [N] no, a number, [v] all of it, or what to do instead: "
        }
        Step::Reach(_) => "A number adds this rule, [N] no, or what to do instead: ",
    }
}

#[cfg(test)]
mod tests {
    use tine_guard::OfferedRule;
    use tine_model::{AgentId, Decision, PermissionId, RawJson};
    use tine_tui::question::Cover;

    use super::*;

    fn request(widest: PermissionScope) -> PermissionRequest {
        let offer = OfferedRule {
            rule: "Bash(cargo test *)".into(),
            short: "Bash(cargo test *)".into(),
            note: "Any arguments.",
        };
        PermissionRequest {
            id: PermissionId::from_random([1; 16]),
            agent: AgentId::from_random([1; 16]),
            label: None,
            tool: "Bash".into(),
            what: "Bash: cargo test a".into(),
            input: RawJson::parse(r#"{"command":"cargo test a"}"#).unwrap(),
            directory: "/srv".into(),
            why: "no rule allows it".into(),
            warning: None,
            rule: Some("Bash(cargo test a)".into()),
            offers: vec![offer],
            widest,
            deadline_ms: 0,
            fallback: Decision::Deny,
        }
    }

    #[test]
    fn only_a_clear_yes_is_a_yes() {
        let request = request(PermissionScope::Always);
        let read = |line: &str| read_reply(line, &request, &Step::Answer);
        for line in ["y\n", "YES\n", " yes \n", "1\n"] {
            assert_eq!(read(line), Reply::Answer(Answer::Allow(PermissionScope::Once)), "{line:?}");
        }
        for line in ["\n", "n\n", "No\n", "4\n"] {
            assert_eq!(read(line), Reply::Answer(NO), "{line:?}");
        }
        for line in ["a\n", "t\n", "w\n", "0\n", "5\n", "ü\n"] {
            assert!(matches!(read(line), Reply::Again(_)), "{line:?}");
        }
        assert_eq!(read("v\n"), Reply::Whole);
        for line in ["yy", "always", "agent", "tree", "once", "use make", "1 is wrong", "/etc"] {
            let because = Reply::Answer(Answer::DenyBecause(PermissionScope::Once, line.into()));
            assert_eq!(read(&format!("{line}\n")), because, "{line:?}");
        }
        assert!(matches!(read(&"x".repeat(REASON_BYTES_MAX + 1)), Reply::Again(_)));
    }

    #[test]
    fn what_reaches_further_than_once_takes_a_second_line() {
        use PermissionScope::{Agent, Once, Tree};
        let always = request(PermissionScope::Always);
        let Reply::Next(step) = read_reply("3", &always, &Step::Answer) else { panic!() };
        let wider = Cover::Wider(always.offers[0].clone());
        assert_eq!(step, Step::Reach(wider));
        let yes = Answer::AllowRule(Tree, "Bash(cargo test *)".into());
        assert_eq!(read_reply("2", &always, &step), Reply::Answer(yes));
        assert_eq!(read_reply("", &always, &step), Reply::Answer(NO));
        let Reply::Next(step) = read_reply("2", &always, &Step::Answer) else { panic!() };
        assert_eq!(read_reply("1", &always, &step), Reply::Answer(Answer::Allow(Agent)));
        // No further than was offered.
        let tree = PermissionRequest { offers: Vec::new(), ..request(Tree) };
        let Reply::Next(step) = read_reply("2", &tree, &Step::Answer) else { panic!() };
        assert!(matches!(read_reply("3", &tree, &step), Reply::Again(_)));
        assert_eq!(read_reply("2", &request(Once), &Step::Answer), Reply::Answer(NO));
    }

    #[test]
    fn the_choices_are_those_that_count() {
        let all = request(PermissionScope::Always);
        insta::assert_snapshot!(listed(&all, &Step::Answer), @"

        1 yes, once
        2 yes, and from now on `Bash(cargo test a)`
        3 yes, and from now on `Bash(cargo test *)`
        4 no
        ");
        let Reply::Next(step) = read_reply("3", &all, &Step::Answer) else { panic!() };
        insta::assert_snapshot!(listed(&all, &step), @"

        1 for this agent
        2 for this tree of agents
        3 always: it is written into your settings
        ");
        insta::assert_snapshot!(listed(&request(PermissionScope::Once), &Step::Answer), @"

        1 yes, once
        2 no
        ");
    }
}
