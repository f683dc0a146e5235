//! What `/fan`, `/task` and a fork of nothing ask for.

use tine_model::TaskStatus;

use super::*;
use crate::app::Event;
use crate::app::fixture::{agent, id, worker};
use crate::app::tests::*;
use crate::host::CommandWords;

/// What a line asks for, in words of the command line.
fn asked(app: &mut App, typed: &str) -> String {
    let shown = |effect: Effect| match effect {
        Effect::StartWorkers(line) => {
            let new = if line.agent.is_none() { "new agent: " } else { "" };
            let agent = line.agent.unwrap_or(id(9));
            format!("{new}{}", line.words(agent).join("|").replace(&agent.to_string(), "IT"))
        }
        Effect::Report(line) => format!("page: {}", line.shown()),
        other => format!("{other:?}"),
    };
    let effects: Vec<String> = type_in(app, typed).into_iter().map(shown).collect();
    let left = app.input().take();
    let left = if left.is_empty() { left } else { format!(" (the line keeps {left})") };
    format!("{typed} -> {}{left}", effects.join(", "))
}

const LINES: [&str; 11] = [
    "/fan -d \"count the words\" -d b --worktree",
    "/fan 02020202 -d a",
    "/fan nobody -d a",
    "/fan -d \"open",
    "/fan \"try it\"",
    "/task start \"look at it\" --fork",
    "/task resume 0202 \"Go on.\"",
    "/task list --all",
    "/task hide",
    "/task output 0202 --full",
    "/task",
];

#[test]
fn workers_are_started_from_the_agent_on_the_screen() {
    let mut app = session(&[agent(1, None), agent(2, Some(1))]);
    let asked = LINES.map(|line| asked(&mut app, line).replace(&id(1).to_string(), "IT"));
    insta::assert_snapshot!(asked.join("\n"), @r#"
    /fan -d "count the words" -d b --worktree -> fan|IT|-d|count the words|-d|b|--worktree
    /fan 02020202 -d a -> fan|IT|-d|a
    /fan nobody -d a ->  (the line keeps /fan nobody -d a)
    /fan -d "open ->  (the line keeps /fan -d "open)
    /fan "try it" ->  (the line keeps /fan "try it")
    /task start "look at it" --fork -> task|start|IT|look at it|--fork
    /task resume 0202 "Go on." -> task|resume|0202|Go on.
    /task list --all -> page: task|list|--all (of IT, or who is named)
    /task hide -> page: task|hide (of IT, or who is named)
    /task output 0202 --full -> page: task|output|0202|--full
    /task -> page: task
    "#);
}

#[test]
fn the_first_screen_begins_an_agent_where_one_is_needed() {
    let mut app = App { new_model: Some("sim/echo".to_owned()), ..App::default() };
    let forks = ["/fork \"hello\"", "/fork \"hello\" --worktree", "/fork", "/fork \"a\" --at 3"];
    let asked = LINES.iter().chain(&forks).map(|line| asked(&mut app, line));
    insta::assert_snapshot!(asked.collect::<Vec<_>>().join("\n"), @r#"
    /fan -d "count the words" -d b --worktree -> new agent: fan|IT|-d|count the words|-d|b|--worktree
    /fan 02020202 -d a ->  (the line keeps /fan 02020202 -d a)
    /fan nobody -d a ->  (the line keeps /fan nobody -d a)
    /fan -d "open ->  (the line keeps /fan -d "open)
    /fan "try it" ->  (the line keeps /fan "try it")
    /task start "look at it" --fork -> new agent: task|start|IT|look at it|--fork
    /task resume 0202 "Go on." ->  (the line keeps /task resume 0202 "Go on.")
    /task list --all -> page: task|list|--all
    /task hide -> page: task|hide
    /task output 0202 --full -> page: task|output|0202|--full
    /task -> page: task
    /fork "hello" -> Begin("hello")
    /fork "hello" --worktree -> BeginFork(ForkWords { prompt: Some("hello"), at: None, name: None, inherit: Full, model: None, accept_cache_loss: false, worktree: true, background: false })
    /fork -> 
    /fork "a" --at 3 ->
    "#);
}

#[test]
fn resuming_an_agent_takes_up_its_interrupted_workers_and_no_others() {
    use TaskStatus::{Cancelled, Completed, Interrupted, Lost};
    let ends = [(2, Interrupted), (3, Completed), (4, Lost), (5, Cancelled)];
    let (agents, tasks): (Vec<_>, Vec<_>) =
        ends.into_iter().map(|(byte, status)| worker(byte, 1, status)).unzip();
    let mut app = session(&[vec![agent(1, None)], agents.clone()].concat());
    app.update(Event::Registry([vec![agent(1, None)], agents].concat(), tasks));
    app.update(Event::Log { agent: id(1), after: None, entries: Vec::new() });
    let resumed: Vec<String> = type_in(&mut app, "/resume")
        .into_iter()
        .map(|effect| match effect {
            Effect::StartWorkers(line) => line.words(id(1)).join(" "),
            other => format!("{other:?}"),
        })
        .collect();
    insta::assert_snapshot!(resumed.join("\n"), @"
    task resume 02020202-0202-4202-8202-020202020202 Go on from where you were interrupted.
    task resume 04040404-0404-4404-8404-040404040404 Go on from where you were interrupted.
    ");
    assert_eq!(said(&app), [""; 0]);
}

#[test]
fn a_line_that_did_nothing_comes_back_unless_another_was_begun() {
    let mut app = session(&[agent(1, None)]);
    type_in(&mut app, "/fan -x");
    app.update(Event::GivenBack(Some(id(1)), "/fan -x".to_owned()));
    assert_eq!(app.input().text(), "/fan -x");
    app.input().set("something else");
    app.update(Event::GivenBack(Some(id(1)), "/fan -x".to_owned()));
    assert_eq!(app.input().text(), "something else");
}

#[test]
fn options_and_commands_of_the_command_line_are_offered() {
    let mut app = session(&[agent(1, None)]);
    let words = |command: &str, words: &[&str]| CommandWords {
        command: command.to_owned(),
        words: words.iter().map(|word| ((*word).to_owned(), String::new())).collect(),
    };
    app.worker_words = vec![
        words("fan", &["--directive", "--worktree"]),
        words("task", &["start", "stop"]),
        words("task start", &["--fork"]),
    ];
    let mut offered = |typed: &str| {
        app.input().set("");
        write(&mut app, typed);
        let offers = app.offers.as_ref().map(|offers| offers.offers.clone()).unwrap_or_default();
        offers.into_iter().map(|offer| offer.text).collect::<Vec<_>>().join("|")
    };
    assert_eq!(offered("/fan --w"), "--worktree ");
    assert_eq!(offered("/fan -d a --"), "--directive |--worktree ");
    assert_eq!(offered("/task st"), "start |stop ");
    assert_eq!(offered("/task start --"), "--fork ");
    assert_eq!(offered("/task start st"), "");
    assert_eq!(offered("/task output --"), "");
}
