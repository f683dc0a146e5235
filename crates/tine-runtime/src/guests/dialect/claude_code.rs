//! The tools of Claude Code. Source: the declarations of its version 2.1.

use tine_fork::tools::ToolCall;

use super::arguments::Arguments;
use super::{NotRun, Own};

/// The tools that are answered.
pub(super) const TOOLS: [&str; 10] = [
    "Bash",
    "BashOutput",
    "Edit",
    "Glob",
    "Grep",
    "KillShell",
    "Read",
    "TaskOutput",
    "TaskStop",
    "Write",
];

/// The tools that work, for a model that asked for another one.
pub(super) const WORKS: &str =
    "What works is `Bash`, `Read`, `Edit` and `Write`, and `Grep` and `Glob` where you have them.";

/// The longest time limit of a command, the same in both programs.
const TIMEOUT_MS_MAX: u64 = 600_000;

/// The wait of a `TaskOutput` that names none, in milliseconds.
const WAIT_MS_DEFAULT: u64 = 30_000;

/// Lines of a search without a limit; the size of a result is limited anyway.
const NO_LIMIT: u64 = 100_000;

/// Lines of a search that does not say.
const LINES_DEFAULT: u64 = 250;

/// Most lines around a match.
const CONTEXT_MAX: u64 = 100;

pub(super) fn own_call(name: &str, arguments: &Arguments) -> Result<Own, NotRun> {
    match name {
        "Read" => Ok(Own::new("FileRead")
            .with("file_path", arguments.required_text("file_path")?)
            .with_some("offset", arguments.count("offset")?.filter(|first| *first > 0))
            .with_some("limit", arguments.count("limit")?.filter(|lines| *lines > 0))),
        "Write" => Ok(Own::new("FileWrite")
            .with("file_path", arguments.required_text("file_path")?)
            .with("content", arguments.required_text("content")?)),
        "Edit" => Ok(Own::new("FileEdit")
            .with("file_path", arguments.required_text("file_path")?)
            .with("old_string", arguments.required_text("old_string")?)
            .with("new_string", arguments.required_text("new_string")?)
            .with_some("replace_all", arguments.flag("replace_all")?)),
        "Bash" => {
            let limit = arguments.count("timeout")?.filter(|limit| *limit > 0);
            Ok(Own::new("Bash")
                .with("command", arguments.required_text("command")?)
                .with_some("timeout_ms", limit.map(|limit| limit.min(TIMEOUT_MS_MAX)))
                .with_some("run_in_background", arguments.flag("run_in_background")?)
                .with_some("description", arguments.text("description")?))
        }
        "Grep" => grep(arguments),
        "Glob" => Ok(Own::new("Glob")
            .with("pattern", arguments.required_text("pattern")?)
            .with_some("path", arguments.text("path")?)),
        "BashOutput" => {
            Ok(Own::new("BashOutput").with("name", arguments.required_text("bash_id")?))
        }
        "TaskOutput" => {
            let wait = arguments.count("timeout")?.unwrap_or(WAIT_MS_DEFAULT);
            let wait = arguments.flag("block")?.unwrap_or(true).then_some(wait);
            Ok(Own::new("BashOutput")
                .with("name", arguments.required_text("task_id")?)
                .with_some("wait_ms", wait.map(|wait| wait.min(TIMEOUT_MS_MAX))))
        }
        "KillShell" => stopped(arguments.required_text("shell_id")?),
        "TaskStop" => match arguments.text("task_id")? {
            Some(name) => stopped(name),
            None => stopped(arguments.required_text("shell_id")?),
        },
        _ => Err(NotRun::NoCounterpart),
    }
}

fn stopped(name: &str) -> Result<Own, NotRun> {
    Ok(Own::new("BashOutput").with("name", name).with("stop", true))
}

/// Lines are always numbered here, and as many are shown before a match as behind it. What `offset` skips is taken off the answer.
fn grep(arguments: &Arguments) -> Result<Own, NotRun> {
    let mut context = None;
    for field in ["-A", "-B", "-C", "context"] {
        context = context.max(arguments.count(field)?);
    }
    let limit = match arguments.count("head_limit")? {
        Some(0) => Some(NO_LIMIT),
        limit => limit,
    };
    let limit = match arguments.count("offset")?.unwrap_or(0) {
        0 => limit,
        skipped => Some(limit.unwrap_or(LINES_DEFAULT).saturating_add(skipped)),
    };
    Ok(Own::new("Grep")
        .with("pattern", arguments.required_text("pattern")?)
        .with_some("path", arguments.text("path")?)
        .with_some("glob", arguments.text("glob")?)
        .with_some("type", arguments.text("type")?)
        .with_some("output_mode", arguments.text("output_mode")?)
        .with_some("case_insensitive", arguments.flag("-i")?)
        .with_some("context", context.map(|lines| lines.min(CONTEXT_MAX)))
        .with_some("head_limit", limit)
        .with_some("multiline", arguments.flag("multiline")?))
}

/// Tine's tools that a refusal may name, and the host's in their place.
const NAMES: [(&str, &str); 3] =
    [("FileRead", "Read"), ("FileWrite", "Write"), ("FileEdit", "Edit")];

/// The end of the answer of a command that goes on in the background, in tine's words and in the host's.
const READS_ON: (&str, &str) = (
    " BashOutput reads on, and stops it.",
    " `BashOutput` or `TaskOutput` reads on, and `KillShell` or `TaskStop` stops it, with this name as the id, where you have them.",
);

pub(super) fn told((asked, own): (&ToolCall, &ToolCall), is_error: bool, text: String) -> String {
    match own.name.as_str() {
        "FileRead" | "FileWrite" | "FileEdit" if is_error => {
            NAMES.iter().fold(text, |text, (own, host)| text.replace(own, host))
        }
        "Bash" => text.replace(READS_ON.0, READS_ON.1),
        "Grep" if !is_error => {
            let skipped = Arguments::read(&asked.input).ok();
            let skipped = skipped.and_then(|arguments| arguments.count("offset").ok().flatten());
            match usize::try_from(skipped.unwrap_or(0)).unwrap_or(usize::MAX) {
                0 => text,
                skipped => behind(&text, skipped),
            }
        }
        _ => text,
    }
}

/// The lines of a result behind the first ones.
fn behind(text: &str, skipped: usize) -> String {
    let lines: Vec<&str> = text.lines().skip(skipped).collect();
    if lines.is_empty() {
        return format!("no more results: there are not more than {skipped}");
    }
    lines.join("\n")
}
