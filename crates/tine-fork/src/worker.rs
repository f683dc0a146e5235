//! What a worker is told, in the last block of its first message.
//!
//! The frame is the same for all workers, and for siblings every byte of it up to the task. Standing and depth live in the
//! registry; words are the second line.

mod frame;

pub use frame::{directive_task, is_workers_history, workers_directive};

use crate::envelope::escape_frame_tags;
pub use crate::report::Report;

/// The tag around the worker's rules. A copied history with a message in this frame is recognised as a worker's; standing and depth
/// themselves live in the registry.
pub const BOILERPLATE_TAG: &str = "fork-boilerplate";

/// Longest report, in words.
pub const REPORT_WORDS_MAX: usize = 500;

/// Most turns of a worker unless the caller says otherwise.
pub const WORKER_TURNS_DEFAULT: u32 = 200;

/// The parts of a report, as workers are told.
pub(crate) const REPORT_FORM: &str = "Scope: the task, in one sentence\n\
    Result: what you found or did\n\
    Key files: the files that matter\n\
    Files changed: the files you changed, with commits; `none` if you changed none\n\
    Issues: what went wrong or remains open; `none` if nothing";

/// What of its parent's agenda a forked worker takes over. By default nothing: what the parent meant to do, the parent does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Inherits {
    /// The plans: how something is to be done.
    pub plans: bool,
    /// The todos: what is still to be done.
    pub todos: bool,
    /// The goals: what it is for.
    pub goals: bool,
}

impl Inherits {
    /// One sentence: what travels, and what does not.
    fn sentence(&self) -> String {
        let named = [(self.plans, "plans"), (self.todos, "todos"), (self.goals, "goals")];
        let those = |travels: bool| {
            let names = named.iter().filter(|(is_taken, _)| *is_taken == travels);
            listed(&names.map(|(_, name)| *name).collect::<Vec<_>>())
        };
        match (those(true), those(false)) {
            (None, stay) => format!(
                "Its {}, and whatever it left unfinished, stay with that agent and are not yours.",
                stay.unwrap_or_default()
            ),
            (Some(travel), None) => format!(
                "Its {travel} travel with you and hold where they touch your task; whatever it left unfinished stays with \
                that agent."
            ),
            (Some(travel), Some(stay)) => format!(
                "Its {travel} travel with you and hold where they touch your task; its {stay}, and whatever it left \
                unfinished, stay with that agent and are not yours."
            ),
        }
    }
}

/// `a`, `a and b`, `a, b and c`; `None` of none.
fn listed(names: &[&str]) -> Option<String> {
    let (last, others) = names.split_last()?;
    Some(match others {
        [] => (*last).to_owned(),
        others => format!("{} and {last}", others.join(", ")),
    })
}

/// The rules of a forked worker and its task. Nothing in it depends on which sibling it is, but for `task`, which comes last.
pub fn worker_directive(task: &str, inherits: &Inherits) -> String {
    let agenda = inherits.sentence();
    directive(
        &format!(
            "You are now a worker, forked from the conversation above. Everything above is background that you share with the \
            agent you were forked from. {agenda} Commands that it started in the background are its own: use what they serve, and leave \
            them running. Your scope is the task below and nothing else."
        ),
        task,
    )
}

/// The rules of a worker that inherits nothing, and its task.
pub fn fresh_directive(task: &str) -> String {
    directive(
        "You are a worker with one task. Nothing was said before this: what you need to know stands in the task, or you find it with \
        the tools. Your scope is the task below and nothing else.",
        task,
    )
}

fn directive(standing: &str, task: &str) -> String {
    let task = escape_frame_tags(task);
    format!(
        "<{BOILERPLATE_TAG}>\n\
        {standing}\n\
        \n\
        - Do the task yourself, with the tools. Do not hand it on, do not spawn agents, do not ask questions, and do not \
        talk to anyone: nobody answers.\n\
        - What you run may stand behind a wall: it changes files in the working directory and in `$TMPDIR` alone, and reaches only hosts that a \
        person has named. Where the wall stands in its way, the result says so and what works instead; where nothing does, go on \
        without it and name that under Issues.\n\
        - Keep to the scope. If you find something else that matters, name it under Issues and leave it alone.\n\
        - If you work in a worktree of your own and change files there, commit them before you report.\n\
        - When you are done, answer with one plain-text report of at most {REPORT_WORDS_MAX} words. It begins with \
        `Scope:` and has these parts:\n\
        {REPORT_FORM}\n\
        </{BOILERPLATE_TAG}>\n\
        \n\
        Task: {task}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forked_worker_is_told_what_it_is_and_what_stays_behind() {
        insta::assert_snapshot!(worker_directive("Count the files.", &Inherits::default()), @"
        <fork-boilerplate>
        You are now a worker, forked from the conversation above. Everything above is background that you share with the agent you were forked from. Its plans, todos and goals, and whatever it left unfinished, stay with that agent and are not yours. Commands that it started in the background are its own: use what they serve, and leave them running. Your scope is the task below and nothing else.

        - Do the task yourself, with the tools. Do not hand it on, do not spawn agents, do not ask questions, and do not talk to anyone: nobody answers.
        - What you run may stand behind a wall: it changes files in the working directory and in `$TMPDIR` alone, and reaches only hosts that a person has named. Where the wall stands in its way, the result says so and what works instead; where nothing does, go on without it and name that under Issues.
        - Keep to the scope. If you find something else that matters, name it under Issues and leave it alone.
        - If you work in a worktree of your own and change files there, commit them before you report.
        - When you are done, answer with one plain-text report of at most 500 words. It begins with `Scope:` and has these parts:
        Scope: the task, in one sentence
        Result: what you found or did
        Key files: the files that matter
        Files changed: the files you changed, with commits; `none` if you changed none
        Issues: what went wrong or remains open; `none` if nothing
        </fork-boilerplate>

        Task: Count the files.
        ");
    }

    #[test]
    fn a_fresh_worker_hears_nothing_of_a_conversation() {
        let told = fresh_directive("Count the files.");
        assert!(!told.contains("above") && !told.contains("forked from"), "{told}");
        let rules = |text: &str| text.split_once("\n\n").map(|(_, rules)| rules.to_owned());
        let forked = worker_directive("Count the files.", &Inherits::default());
        assert_eq!(rules(&told), rules(&forked), "the same rules and the same form");
        insta::assert_snapshot!(told.lines().nth(1).unwrap(), @"You are a worker with one task. Nothing was said before this: what you need to know stands in the task, or you find it with the tools. Your scope is the task below and nothing else.");
    }

    #[test]
    fn what_travels_is_stated_and_what_does_not_too() {
        let sentences = [0, 1, 2, 3, 5, 7].map(|bits| {
            let is = |bit: u8| bits & bit != 0;
            Inherits { plans: is(1), todos: is(2), goals: is(4) }.sentence()
        });
        insta::assert_snapshot!(sentences.join("\n"), @"
        Its plans, todos and goals, and whatever it left unfinished, stay with that agent and are not yours.
        Its plans travel with you and hold where they touch your task; its todos and goals, and whatever it left unfinished, stay with that agent and are not yours.
        Its todos travel with you and hold where they touch your task; its plans and goals, and whatever it left unfinished, stay with that agent and are not yours.
        Its plans and todos travel with you and hold where they touch your task; its goals, and whatever it left unfinished, stay with that agent and are not yours.
        Its plans and goals travel with you and hold where they touch your task; its todos, and whatever it left unfinished, stay with that agent and are not yours.
        Its plans, todos and goals travel with you and hold where they touch your task; whatever it left unfinished stays with that agent.
        ");
    }

    #[test]
    fn siblings_are_told_the_same_up_to_the_task() {
        let inherits = Inherits { plans: true, ..Inherits::default() };
        let [one, other] = ["Do a.", "Do b."].map(|task| worker_directive(task, &inherits));
        assert_eq!(one.strip_suffix("Do a."), other.strip_suffix("Do b."));
    }
}
