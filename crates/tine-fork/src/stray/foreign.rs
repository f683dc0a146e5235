//! Foreign tasks: what the parent still meant to do, or what a sibling was told to do, done by this fork.
//!
//! Foreign tasks are read off the inherited messages: the items of lists that begin with an order, what stands behind `Task:`, and
//! the arguments of calls that hand work on. One of them is the fork's own task, in the same words or in others: a task is not
//! foreign when more than [`OWN_SHARE_MIN`] of its terms stand in the fork's, unless both name files and none in common.
//!
//! Of a foreign task its *telling terms* count: its words without those that everybody uses, without endings, and without those of
//! the fork's own task. It was done when
//!
//! - a call that changes something names a file that the foreign task names and the fork's own task does not, or
//! - at least [`FOREIGN_SHARE_MIN`] of its telling terms, and no fewer than two, stand in the fork's calls, or in what its report
//!   claims: the scope, the result and the changed files. What a report says elsewhere, such as under `Issues`, is no claim:
//!   that is where a fork is told to name what it leaves alone.

use std::collections::BTreeSet;

use tine_guard::{Width, shell_verdict};
use tine_model::{Block, Message, ToolInput};

use super::handed::is_dispatcher;
use super::terms::{
    DOING, LOOKING, TELLING, is_path, is_same_path, terms, words, words_as_written,
};
use super::{Act, Evidence};
use crate::report::Report;

/// Share of a foreign task's telling terms that must come back.
pub const FOREIGN_SHARE_MIN: f64 = 0.75;

/// Share of a task's terms in the fork's own task above which it is that task.
pub const OWN_SHARE_MIN: f64 = 0.5;

/// Fewest telling terms that must come back: one word is a coincidence.
const TERMS_MIN: usize = 2;

/// Longest item of a list that is taken for a task, in characters: what is longer is prose.
const TASK_CHARS_MAX: usize = 600;

/// Most tasks that are looked at, the latest first: plans are short, and come again and again in a long conversation.
pub const TASKS_MAX: usize = 256;

/// Most inherited messages that tasks are read off, the latest first: what was planned before them is done or dropped.
pub const TASK_MESSAGES_MAX: usize = 2_000;

pub(super) fn foreign_task(evidence: &Evidence<'_>) -> Option<String> {
    let own = terms(&evidence.task());
    let changed: BTreeSet<String> = evidence
        .acts
        .iter()
        .flat_map(changed_by)
        .filter(|file| !names_one_of(file, &own))
        .collect();
    let called = terms(&texts(evidence.acts.iter()));
    let claimed = terms(&claims(evidence.report.as_deref().unwrap_or_default()));
    let latest = evidence.inherited.iter().rev().take(TASK_MESSAGES_MAX);
    let tasks = latest.flat_map(|message| tasks_in(message).into_iter().rev()).take(TASKS_MAX);
    let mut foreign = tasks.filter(|told| !told.is_own(&own)).flat_map(|told| told.texts);
    foreign.find_map(|task| {
        let terms = terms(&task);
        if task.chars().count() > TASK_CHARS_MAX || is_own(&terms, &own) {
            return None;
        }
        let telling: BTreeSet<String> = terms.difference(&own).cloned().collect();
        let shown = shown(&task);
        if let Some(file) = changed.iter().find(|file| names_one_of(file, &telling)) {
            return Some(format!("`{file}` was changed, which belongs to `{shown}`"));
        }
        let share = |found: &BTreeSet<String>| {
            let shared = telling.intersection(found).count();
            let enough = shared >= TERMS_MIN;
            enough && shared as f64 / telling.len() as f64 >= FOREIGN_SHARE_MIN
        };
        if share(&called) {
            Some(format!("its calls are about `{shown}`"))
        } else if share(&claimed) {
            Some(format!("its report claims `{shown}`"))
        } else {
            None
        }
    })
}

fn shown(task: &str) -> String {
    const SHOWN_CHARS: usize = 60;
    let line: String = task.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SHOWN_CHARS) {
        None => line,
        Some((end, _)) => format!("{}…", &line[..end]),
    }
}

/// What a report claims; all of it where it has no parts.
fn claims(report: &str) -> String {
    let parsed = Report::parse(report);
    let parts = [parsed.scope, parsed.result, parsed.files_changed];
    if parts.iter().all(Option::is_none) {
        parsed.raw
    } else {
        parts.into_iter().flatten().collect::<Vec<_>>().join("\n")
    }
}

fn texts<'a>(acts: impl Iterator<Item = &'a Act>) -> String {
    let arguments = |act: &Act| match serde_json::from_str::<serde_json::Value>(&act.input) {
        Ok(input) => strings(&input).join("\n"),
        Err(_) => act.input.clone(),
    };
    acts.map(arguments).collect::<Vec<_>>().join("\n")
}

/// The texts in a JSON value. Calls nest little; what nests deeper than the reader allows is no JSON here.
fn strings(value: &serde_json::Value) -> Vec<String> {
    match value {
        serde_json::Value::String(text) => vec![text.clone()],
        serde_json::Value::Array(items) => items.iter().flat_map(strings).collect(),
        serde_json::Value::Object(fields) => fields.values().flat_map(strings).collect(),
        serde_json::Value::Null | serde_json::Value::Bool(_) | serde_json::Value::Number(_) => {
            Vec::new()
        }
    }
}

/// The files that a call changed, as far as its arguments name them. Only tools of ours are known.
fn changed_by(act: &Act) -> Vec<String> {
    let input: serde_json::Value = serde_json::from_str(&act.input).unwrap_or_default();
    let field = |name: &str| input.get(name).and_then(serde_json::Value::as_str);
    let text = match act.tool.as_str() {
        _ if act.is_error => None,
        "FileWrite" | "FileEdit" => field("file_path"),
        "Bash" => {
            field("command").filter(|command| !shell_verdict(command, Width::Strict).read_only)
        }
        _ => None,
    };
    let words = words_as_written(text.unwrap_or_default());
    words.filter(|word| is_path(word)).map(str::to_owned).collect()
}

/// Whether one of the terms is this file.
fn names_one_of(file: &str, terms: &BTreeSet<String>) -> bool {
    terms.iter().any(|term| is_path(term) && is_same_path(file, term))
}

/// Whether a task, by its terms, is the fork's own.
fn is_own(task: &BTreeSet<String>, own: &BTreeSet<String>) -> bool {
    let names = |terms: &BTreeSet<String>| terms.iter().any(|term| is_path(term));
    let in_common = task.iter().any(|term| is_path(term) && names_one_of(term, own));
    let apart = names(task) && names(own) && !in_common;
    let shared = task.intersection(own).count();
    !apart && shared as f64 > OWN_SHARE_MIN * task.len() as f64
}

/// A task as it was told: one text, or all those of the call that hands it on.
struct Told {
    texts: Vec<String>,
}

impl Told {
    /// Whether this is the fork's own task. The longest text of a call is the task; beside it stand a name and a title, which say
    /// it in fewer and other words.
    fn is_own(&self, own: &BTreeSet<String>) -> bool {
        let task = self.texts.iter().max_by_key(|text| text.len());
        task.is_some_and(|task| is_own(&terms(task), own))
    }
}

/// The tasks that a message speaks of.
fn tasks_in(message: &Message) -> Vec<Told> {
    let mut tasks = Vec::new();
    for block in message.blocks() {
        match block {
            Block::Text(text) => {
                let lines = text.lines().filter_map(task_in);
                tasks.extend(lines.map(|task| Told { texts: vec![task] }));
            }
            Block::ToolUse { name, input: ToolInput::Valid(input), .. } if is_dispatcher(name) => {
                let input = serde_json::from_str(input.as_str()).unwrap_or_default();
                let texts = strings(&input);
                let texts = texts.iter().map(|text| last_task(text).to_owned()).collect();
                tasks.push(Told { texts });
            }
            Block::ToolUse { .. }
            | Block::ToolResult { .. }
            | Block::Thinking { .. }
            | Block::RedactedThinking(_)
            | Block::Image(_)
            | Block::Document(_)
            | Block::Unknown(_) => {}
        }
    }
    tasks
}

/// The task in a line: an item of a list that begins with an order, or what stands behind `Task:`.
fn task_in(line: &str) -> Option<String> {
    let line = line.trim_start_matches(|c: char| c.is_whitespace() || c == '>');
    if let Some(task) = line.strip_prefix("Task:") {
        return Some(task.trim().to_owned());
    }
    let item = match line.strip_prefix(['-', '*', '+', '•']) {
        Some(item) => item,
        None => {
            let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
            let is_numbered = rest.len() < line.len();
            rest.strip_prefix(['.', ')']).filter(|_| is_numbered)?
        }
    };
    let item = item.strip_prefix(' ')?.trim_start();
    // What is ticked off is done, and nobody's task any more.
    let item = item.strip_prefix("[ ]").unwrap_or(item).trim();
    let order = words(item).next()?;
    let verbs = [&DOING[..], &LOOKING[..], &TELLING[..]];
    verbs.iter().any(|verbs| verbs.contains(&order.as_str())).then(|| item.to_owned())
}

/// Of a whole directive the task, of another text all of it.
fn last_task(text: &str) -> &str {
    text.rsplit_once("\nTask:").map_or(text, |(_, task)| task)
}
