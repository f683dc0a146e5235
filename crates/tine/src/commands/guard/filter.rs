//! `tine guard filter`: what the filter of maintenance runs says of tool calls.

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tine_guard::filter::{AutoMemFilter, Denial, DenialCode, FilterError, ToolFilter};
use tine_model::RawJson;

use super::lines::{self, LINE_BYTES_MAX, Line};
use crate::cli::GuardFilterArgs;
use crate::fail::{Failure, PERMISSION};
use crate::output;

/// What an allowed call is told.
const ALLOWED: &str = "the filter allows this call";

/// What is said before a filter was made, and after one could not be.
const NO_FILTER: &str = "no filter is in force, so nothing is allowed; make one with {\"op\":\"new\",\"memory_dir\":\"DIR\"}";

/// One line of input. Fields that are not known are passed over.
#[derive(Deserialize)]
struct Order<'a> {
    op: String,
    memory_dir: Option<String>,
    tool: Option<String>,
    /// As it was written, so that a key that is written twice is seen.
    #[serde(borrow)]
    args: Option<&'a RawValue>,
    args_raw: Option<String>,
}

/// One line of output. Others rely on it: fields are only ever added.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
enum Answer {
    /// To `new`.
    Made { ok: bool },
    /// To `new` that failed.
    NotMade { ok: bool, error: String },
    /// To `check` and `check_raw`.
    Said { allow: bool, reason: String },
    /// To a line that is none of these; it refuses in both ways, whatever the reader waits for.
    Unread { ok: bool, allow: bool, error: String, reason: String },
}

pub(super) fn filter(directory: Option<PathBuf>, args: &GuardFilterArgs) -> Result<u8, Failure> {
    let directory = match directory {
        Some(directory) => std::path::absolute(directory),
        None => std::env::current_dir(),
    };
    let directory =
        directory.map_err(|error| Failure::failed("cannot tell the directory").because(&error))?;
    match (&args.memory_dir, &args.tool, &args.arguments) {
        (Some(memory), Some(tool), Some(arguments)) => {
            once(&directory, &directory.join(memory), (tool, arguments), args.json)
        }
        _ => stream(&directory),
    }
}

/// One call, given on the command line.
fn once(
    directory: &Path,
    memory: &Path,
    (tool, arguments): (&str, &str),
    json: bool,
) -> Result<u8, Failure> {
    let filter = made(memory, directory)
        .map_err(|error| told(&error).hint("--memory-dir is a directory that exists"))?;
    let judged = judged(&filter, tool, arguments);
    let code = if judged.is_ok() { 0 } else { PERMISSION };
    if json {
        output::json(&Answer::from(judged))?;
        return Ok(code);
    }
    match judged {
        Ok(()) => output::line("allow")?,
        Err(denial) => {
            output::line(&format!("deny: {}", denial.reason()))?;
            if !denial.hint().is_empty() {
                output::say(&format!("hint: {}", denial.hint()));
            }
        }
    }
    Ok(code)
}

/// One answer for each line of standard input, in its order and at once.
fn stream(directory: &Path) -> Result<u8, Failure> {
    let mut input = io::stdin().lock();
    let mut filter = None;
    loop {
        let line = lines::next(&mut input, LINE_BYTES_MAX)
            .map_err(|error| Failure::failed("cannot read standard input").because(&error))?;
        let answer = match line {
            None => return Ok(0),
            Some(Line::Text(line)) => answer(directory, &mut filter, &line),
            Some(Line::NotText) => unread("the line is not UTF-8"),
            Some(Line::TooLong) => {
                unread(&format!("the line is longer than {} MiB", LINE_BYTES_MAX / (1024 * 1024)))
            }
        };
        output::json(&answer)?;
    }
}

fn answer(directory: &Path, filter: &mut Option<AutoMemFilter>, line: &str) -> Answer {
    if !line.trim_start().starts_with('{') {
        return unread("the line is not a JSON object");
    }
    let order: Order<'_> = match serde_json::from_str(line) {
        Ok(order) => order,
        Err(error) => return unread(&format!("the line cannot be read: {error}")),
    };
    match order.op.as_str() {
        "new" => {
            // A filter that could not be made must not leave another one in force.
            *filter = None;
            let Some(memory) = order.memory_dir else { return not_made("`memory_dir` is missing") };
            match made(Path::new(&memory), directory) {
                Ok(made) => {
                    *filter = Some(made);
                    Answer::Made { ok: true }
                }
                Err(error) => not_made(told(&error).message()),
            }
        }
        "check" | "check_raw" => {
            let arguments = match order.op.as_str() {
                "check" => order.args.map(RawValue::get),
                _ => order.args_raw.as_deref(),
            };
            let Some(filter) = filter else { return refused(NO_FILTER) };
            let Some(tool) = order.tool else { return refused("`tool` is missing") };
            match arguments {
                Some(arguments) => judged(filter, &tool, arguments).into(),
                None => {
                    refused("the arguments are missing: `args` for check, `args_raw` for check_raw")
                }
            }
        }
        _ => unread("`op` must be new, check or check_raw"),
    }
}

fn made(memory: &Path, directory: &Path) -> Result<AutoMemFilter, FilterError> {
    AutoMemFilter::new(memory).map(|filter| filter.in_directory(directory))
}

fn judged(filter: &AutoMemFilter, tool: &str, arguments: &str) -> Result<(), Denial> {
    match RawJson::parse(arguments) {
        Ok(input) => filter.check(tool, &input),
        Err(_) => {
            Err(Denial::new(DenialCode::Arguments, "the arguments are not one JSON value", ""))
        }
    }
}

impl From<Result<(), Denial>> for Answer {
    fn from(judged: Result<(), Denial>) -> Self {
        match judged {
            Ok(()) => Self::Said { allow: true, reason: ALLOWED.to_owned() },
            Err(denial) if denial.hint().is_empty() => refused(denial.reason()),
            Err(denial) => refused(&format!("{}. {}", denial.reason(), denial.hint())),
        }
    }
}

/// Why a filter could not be made, with its cause.
fn told(error: &FilterError) -> Failure {
    let failure = Failure::input(error.to_string());
    match error.source() {
        Some(cause) => failure.because(cause),
        None => failure,
    }
}

fn refused(reason: &str) -> Answer {
    Answer::Said { allow: false, reason: reason.to_owned() }
}

fn not_made(error: &str) -> Answer {
    Answer::NotMade { ok: false, error: error.to_owned() }
}

fn unread(reason: &str) -> Answer {
    let (error, reason) = (reason.to_owned(), reason.to_owned());
    Answer::Unread { ok: false, allow: false, error, reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is answered to these lines, with the memory directory shortened.
    fn answers(lines: &[&str]) -> String {
        let memory = tempfile::tempdir().unwrap();
        let memory = memory.path().canonicalize().unwrap();
        let text = memory.to_string_lossy();
        let mut filter = None;
        let answers = lines.iter().map(|line| {
            let line = line.replace("MEM", &text);
            let answer = answer(Path::new("/"), &mut filter, &line);
            serde_json::to_string(&answer).unwrap().replace(&*text, "MEM")
        });
        answers.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_filter_is_made_and_asked() {
        insta::assert_snapshot!(answers(&[
            r#"{"op":"check","tool":"FileRead","args":{"file_path":"/etc/hosts"}}"#,
            r#"{"op":"new","memory_dir":"MEM"}"#,
            r#"{"op":"check","tool":"FileRead","args":{"file_path":"/etc/hosts"}}"#,
            r#"{"op":"check","tool":"FileWrite","args":{"file_path":"MEM/a.md"}}"#,
            r#"{"op":"check","tool":"FileWrite","args":{"file_path":"/etc/hosts"}}"#,
            r#"{"op":"check","tool":"FileWrite","args":{"file_path":"MEM/a.md","file_path":"/etc/hosts"}}"#,
            r#"{"op":"check_raw","tool":"FileWrite","args_raw":"{\"file_path\":\"MEM/a.md\"}"}"#,
            r#"{"op":"check_raw","tool":"FileWrite","args_raw":"{\"file_path\":\"MEM/a.md\""}"#,
            r#"{"op":"new","memory_dir":"MEM/none"}"#,
            r#"{"op":"check","tool":"FileRead","args":{"file_path":"/etc/hosts"}}"#,
        ]), @r#"
        {"allow":false,"reason":"no filter is in force, so nothing is allowed; make one with {\"op\":\"new\",\"memory_dir\":\"DIR\"}"}
        {"ok":true}
        {"allow":true,"reason":"the filter allows this call"}
        {"allow":true,"reason":"the filter allows this call"}
        {"allow":false,"reason":"`/etc/hosts` is outside the directory that may be written. Write only files inside `MEM`; give absolute paths."}
        {"allow":false,"reason":"the arguments cannot be judged: the key `file_path` is written twice. Use FileRead, Glob, Grep, REPL, read-only Bash, and FileEdit or FileWrite inside `MEM`."}
        {"allow":true,"reason":"the filter allows this call"}
        {"allow":false,"reason":"the arguments are not one JSON value"}
        {"ok":false,"error":"cannot use the directory `MEM/none`: No such file or directory (os error 2)"}
        {"allow":false,"reason":"no filter is in force, so nothing is allowed; make one with {\"op\":\"new\",\"memory_dir\":\"DIR\"}"}
        "#);
    }

    #[test]
    fn a_line_that_is_no_order_is_answered_too() {
        insta::assert_snapshot!(answers(&[
            r#"{"op":"new","memory_dir":"MEM"}"#,
            "",
            "{",
            "[]",
            r#"{"op":"old"}"#,
            r#"{"op":"check","op":"new"}"#,
            r#"{"op":"check","tool":"FileWrite"}"#,
            r#"{"op":"check","args":{}}"#,
            r#"{"op":"check","tool":5,"args":{}}"#,
            r#"{"op":"check_raw","tool":"Glob","args":{}}"#,
            r#"{"op":"check","tool":"FileWrite","args":{"file_path":"\ud800"}}"#,
            r#"{"op":"new"}"#,
            r#"{"op":"new","memory_dir":"relative"}"#,
        ]), @r#"
        {"ok":true}
        {"ok":false,"allow":false,"error":"the line is not a JSON object","reason":"the line is not a JSON object"}
        {"ok":false,"allow":false,"error":"the line cannot be read: EOF while parsing an object at line 1 column 1","reason":"the line cannot be read: EOF while parsing an object at line 1 column 1"}
        {"ok":false,"allow":false,"error":"the line is not a JSON object","reason":"the line is not a JSON object"}
        {"ok":false,"allow":false,"error":"`op` must be new, check or check_raw","reason":"`op` must be new, check or check_raw"}
        {"ok":false,"allow":false,"error":"the line cannot be read: duplicate field `op` at line 1 column 18","reason":"the line cannot be read: duplicate field `op` at line 1 column 18"}
        {"allow":false,"reason":"the arguments are missing: `args` for check, `args_raw` for check_raw"}
        {"allow":false,"reason":"`tool` is missing"}
        {"ok":false,"allow":false,"error":"the line cannot be read: invalid type: integer `5`, expected a string at line 1 column 22","reason":"the line cannot be read: invalid type: integer `5`, expected a string at line 1 column 22"}
        {"allow":false,"reason":"the arguments are missing: `args` for check, `args_raw` for check_raw"}
        {"allow":false,"reason":"the arguments cannot be judged: unexpected end of hex escape. Use FileRead, Glob, Grep, REPL, read-only Bash, and FileEdit or FileWrite inside `MEM`."}
        {"ok":false,"error":"`memory_dir` is missing"}
        {"ok":false,"error":"`relative` is not an absolute path"}
        "#);
    }
}
