//! Workers that a model starts: what they inherit, how they report, how they stop, and who may not start any.

mod gate;
mod profiles;
mod reports;
mod spawns;
mod stops;
mod tasks;

use std::sync::{Arc, Mutex};

use crate::fixture::{House, options};
use tine_model::{AgentId, Outcome, TaskRecord, TaskStatus};
use tine_runtime::{RunOptions, RunOutcome};
use tine_testkit::{Answer, Captured, Gate, ScriptedModel};

/// A model whose root agent takes these replies in order, and has nothing to add to what it is told after them: how many turns it
/// takes depends on how many reports come together. Workers answer by their task, and not before the root has begun its next turn:
/// their reports never come before it, however fast they are.
pub(crate) fn model(
    root: impl IntoIterator<Item = Answer, IntoIter: Send + 'static>,
    worker: impl Fn(&Captured, &str) -> Answer + Send + 'static,
) -> ScriptedModel {
    let no_turn = Gate::new();
    no_turn.open();
    let next_turn = Arc::new(Mutex::new(no_turn));
    let begins = Arc::clone(&next_turn);
    let root = root.into_iter().chain(std::iter::repeat_with(|| Answer::text("I have read it.")));
    let root = root.inspect(move |answer| {
        let mut next_turn = begins.lock().unwrap();
        next_turn.open();
        if ["Agent", "TaskStart"].iter().any(|tool| answer.calls_tool(tool)) {
            *next_turn = Gate::new();
        }
    });
    eager_model(root, move |request, task| worker(request, task).behind(&next_turn.lock().unwrap()))
}

/// The same where workers answer at once, for a root that waits for them within its turn.
pub(crate) fn eager_model(
    root: impl IntoIterator<Item = Answer, IntoIter: Send + 'static>,
    worker: impl Fn(&Captured, &str) -> Answer + Send + 'static,
) -> ScriptedModel {
    let mut root = root.into_iter();
    ScriptedModel::answering(move |request| match task_of(&request.text()) {
        Some(task) => worker(request, &task),
        None => root.next().unwrap(),
    })
}

/// The task in a worker's request; `None` for one of the root's.
pub(crate) fn task_of(text: &str) -> Option<String> {
    let (_, task) = text.rsplit_once("</fork-boilerplate>\\n\\nTask: ")?;
    Some(task.split('"').next().unwrap().to_owned())
}

/// A report in the form that is asked for.
pub(crate) fn report(task: &str) -> Answer {
    Answer::text(format!(
        "Scope: {task}\nResult: done with {task}\nKey files: none\nFiles changed: none\nIssues: none"
    ))
}

pub(crate) fn agent_call(id: &str, input: serde_json::Value) -> (String, String, String) {
    (id.to_owned(), "Agent".to_owned(), input.to_string())
}

pub(crate) fn calls(list: &[(String, String, String)]) -> Answer {
    Answer::calls(list.iter().map(|(id, tool, input)| (id.as_str(), tool.as_str(), input.as_str())))
}

pub(crate) fn call(tool: &str, input: serde_json::Value) -> Answer {
    calls(&[("c".to_owned(), tool.to_owned(), input.to_string())])
}

pub(crate) async fn say(house: &House, agent: AgentId, prompt: &str) -> RunOutcome {
    say_with(house, agent, prompt, &options()).await
}

pub(crate) async fn say_with(
    house: &House,
    agent: AgentId,
    prompt: &str,
    options: &RunOptions,
) -> RunOutcome {
    let run = house.runtime.run(agent, Some(prompt.into()), options).await.unwrap();
    assert_eq!(run.report.outcome, Outcome::Completed, "{:?}", run.report.error);
    run
}

pub(crate) async fn tasks(house: &House, agent: AgentId) -> Vec<TaskRecord> {
    house.runtime.store().tasks(agent).await.unwrap()
}

pub(crate) fn statuses(tasks: &[TaskRecord]) -> Vec<TaskStatus> {
    tasks.iter().map(|task| task.status).collect()
}

/// The messages of an agent as text, one a line each.
pub(crate) async fn texts(house: &House, agent: AgentId) -> Vec<String> {
    let fold = house.runtime.fold(agent, None).await.unwrap();
    fold.items().map(|item| all_text(&item.message)).collect()
}

fn all_text(message: &tine_model::Message) -> String {
    let part = |block: &tine_model::Block| match block {
        tine_model::Block::ToolResult { content, .. } => {
            content.iter().filter_map(tine_model::Block::as_text).collect::<Vec<_>>().join(" ")
        }
        block => block.as_text().unwrap_or_default().to_owned(),
    };
    message.blocks().iter().map(part).collect::<Vec<_>>().join("\n")
}
