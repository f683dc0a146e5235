//! Carrying out a patch: one call of tine's own for each change, each judged as the model's own calls are.
//!
//! All changes are worked out before the first is made, so a hunk that does not match changes nothing.

use serde_json::Value;
use tine_fork::tools::{InnerCalls, ToolAnswer, ToolCall};
use tine_guard::{Call, real_call};
use tine_model::RawJson;
use tine_tools::{Place, known_text};

use super::arguments::Arguments;
use super::patch::{self, Change, Hunk};
use super::{HostDialect, NotRun, Own, hunks, shell_word};

/// Tine's words in refusals, and what they mean for a patch.
const WORDS: [(&str, &str); 3] = [
    ("; read it with FileRead first", "; change it by `*** Update File: `"),
    ("; read it again with FileRead", "; look at it and send the patch again"),
    ("; use FileWrite to create it", "; create it by `*** Add File: `"),
];

/// A change of one file: the calls that make it, and the word for it.
struct Work {
    path: String,
    /// As the host's own answers say it: added, modified, deleted.
    letter: char,
    calls: Vec<Own>,
}

/// Carries out a call of the tool that takes a patch, for an agent at this place.
pub(crate) async fn carry_out_patch(
    dialect: HostDialect,
    place: &Place,
    call: &ToolCall,
    calls: &InnerCalls,
) -> ToolAnswer {
    let read = || {
        let arguments = Arguments::read(&call.input).map_err(NotRun::Mistaken)?;
        let text = arguments.required_text("input")?;
        patch::parse(text)
            .map_err(|why| NotRun::Mistaken(format!("the patch cannot be read: {why}")))
    };
    let changes = match read() {
        Ok(changes) => changes,
        Err(not_run) => return ToolAnswer::error(dialect.words(&call.name, &not_run)),
    };
    let (mut works, mut failures) = (Vec::new(), Vec::new());
    for change in changes {
        let path = change.path().to_owned();
        match work(change, place, calls).await {
            Ok(work) => works.push(work),
            Err(answer) => failures.push((path, answer)),
        }
    }
    if failures.is_empty() { carried_out(works, calls).await } else { told(&[], failures) }
}

/// Works a change out. The error is the answer of the call that failed, or says why there is none.
async fn work(change: Change, place: &Place, calls: &InnerCalls) -> Result<Work, ToolAnswer> {
    Ok(match change {
        Change::Add { path, content } => {
            Work { letter: 'A', calls: vec![written(&path, content)], path }
        }
        Change::Delete { path } => Work { letter: 'D', calls: vec![removed(&path)], path },
        Change::Update { path, move_to, hunks } => {
            let (old, new) = updated(&path, &hunks, place, calls).await?;
            let calls = match (&move_to, hunks::replacement(&old, &new)) {
                (Some(to), _) => vec![written(to, new), removed(&path)],
                (None, Some((from, into))) => vec![
                    Own::new("FileEdit")
                        .with("file_path", path.as_str())
                        .with("old_string", from)
                        .with("new_string", into),
                ],
                (None, None) if old == new => {
                    return Err(ToolAnswer::error("the hunks leave it as it is"));
                }
                (None, None) => vec![written(&path, new)],
            };
            Work { letter: 'M', calls, path: move_to.unwrap_or(path) }
        }
    })
}

fn written(path: &str, content: String) -> Own {
    Own::new("FileWrite").with("file_path", path).with("content", content)
}

fn removed(path: &str) -> Own {
    Own::new("Bash").with("command", format!("rm -- {}", shell_word(path)))
}

/// The text of a file before and after its hunks. It is read by a call, so that reading it is judged and the file counts as known; only
/// what that call has read is looked at.
async fn updated(
    path: &str,
    hunks: &[Hunk],
    place: &Place,
    calls: &InnerCalls,
) -> Result<(String, String), ToolAnswer> {
    let read = Own::new("FileRead").with("file_path", path);
    let answer = run(calls, read.with("limit", 1)).await;
    if answer.is_error {
        return Err(answer);
    }
    let text = async {
        let input = input(Own::new("FileRead").with("file_path", path))?;
        let call = Call::new("FileRead", &input, place.directory());
        let real = real_call(&call, place.real_directory()).map_err(|error| error.to_string())?;
        let judged = real
            .map_or_else(|| place.judged(place.real_directory()), |real| place.judged(&real.path));
        known_text(&judged, path).await
    };
    let old = text.await.map_err(ToolAnswer::error)?;
    let new = hunks::apply(&old, hunks).map_err(ToolAnswer::error)?;
    Ok((old, new))
}

fn input(own: Own) -> Result<RawJson, String> {
    RawJson::parse(&Value::Object(own.input).to_string()).map_err(|error| error.to_string())
}

async fn run(calls: &InnerCalls, own: Own) -> ToolAnswer {
    let tool = own.tool;
    match input(own) {
        Ok(input) => calls.call(tool, input).await,
        Err(why) => ToolAnswer::error(why),
    }
}

/// Makes the changes, each whole or not at all; a file that moves may stay behind, which is told.
async fn carried_out(works: Vec<Work>, calls: &InnerCalls) -> ToolAnswer {
    let (mut done, mut failures) = (Vec::new(), Vec::new());
    for Work { path, letter, calls: steps } in works {
        let mut failed = None;
        for (index, step) in steps.into_iter().enumerate() {
            let answer = run(calls, step).await;
            if answer.is_error {
                let text = match index {
                    0 => answer.text.clone(),
                    _ => format!("it is written, and its old name stays: {}", answer.text),
                };
                failed = Some(ToolAnswer { text, ..answer });
                break;
            }
        }
        match failed {
            None => done.push(format!("{letter} {path}")),
            Some(answer) => failures.push((path, answer)),
        }
    }
    told(&done, failures)
}

fn told(done: &[String], failures: Vec<(String, ToolAnswer)>) -> ToolAnswer {
    let updated = match done {
        [] => "No file was changed.".to_owned(),
        done => format!("Success. Updated the following files:\n{}", done.join("\n")),
    };
    if failures.is_empty() {
        return ToolAnswer::ok(updated);
    }
    let is_all = done.is_empty() && failures.iter().all(|(_, answer)| answer.denied.is_some());
    let mut text = if done.is_empty() { updated } else { updated.replacen("Success. ", "", 1) };
    text.push_str("\nNot done:");
    let mut denied = None;
    for (path, answer) in failures {
        let words = WORDS.iter().fold(answer.text, |text, (own, host)| text.replace(own, host));
        text.push_str(&format!("\n{path}: {words}"));
        denied = answer.denied.or(denied);
    }
    ToolAnswer { denied: denied.filter(|_| is_all), ..ToolAnswer::error(text) }
}
