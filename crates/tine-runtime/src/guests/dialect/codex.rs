//! The tools of Codex. Source: the declarations of its version 0.169, and of earlier ones.

use std::path::Path;

use tine_fork::tools::ToolCall;
use tine_guard::normalise;
use tine_model::ToolCallId;

use super::arguments::Arguments;
use super::{NotRun, Own, shell_word};

/// The tool that takes a patch, as a text.
pub(super) const APPLY_PATCH: &str = "apply_patch";

/// The tools that are answered.
pub(super) const TOOLS: [&str; 5] =
    [APPLY_PATCH, "exec_command", "shell", "shell_command", "write_stdin"];

/// The tools that work, for a model that asked for another one.
pub(super) const WORKS: &str = "What works is `exec_command` (or `shell`), `write_stdin` to read on in a session, and `apply_patch`.";

/// A command's time limit. The host lets a command go on beyond its call and reads on in it; here it is waited for.
const TIMEOUT_MS_MAX: u64 = 600_000;

/// The wait for more output of a call that names none, in milliseconds.
const WAIT_MS_DEFAULT: u64 = 5_000;

/// The name of a session among the commands in the background, before its number.
const SESSION: &str = "session-";

/// The character that a person types to end a command (Ctrl+C).
const INTERRUPT: &str = "\u{3}";

/// The call of this id and name.
pub(super) fn own_call(
    (id, name): (&ToolCallId, &str),
    arguments: &Arguments,
    directory: &Path,
) -> Result<Own, NotRun> {
    match name {
        "exec_command" => {
            let command = arguments.required_text("cmd")?;
            let workdir = arguments.text("workdir")?;
            // How long the host waits says nothing of how long the command may take.
            arguments.count("yield_time_ms")?;
            match without_ampersand(command) {
                Some(command) => Ok(Own::new("Bash")
                    .with("command", within(directory, workdir, command)?)
                    .with("run_in_background", true)
                    .with("name", format!("{SESSION}{}", session(id)))),
                None => Ok(foreground(within(directory, workdir, command)?, None)),
            }
        }
        "shell" => {
            let words = arguments.required_words("command")?;
            let command = match words.as_slice() {
                [] => return Err(NotRun::Mistaken("`command` is empty".to_owned())),
                [shell, "-c" | "-lc", script] if is_shell(shell) => (*script).to_owned(),
                words => words.iter().map(|word| plain_word(word)).collect::<Vec<_>>().join(" "),
            };
            let command = within(directory, arguments.text("workdir")?, &command)?;
            Ok(foreground(command, arguments.count("timeout_ms")?))
        }
        "shell_command" => {
            let command = arguments.required_text("command")?;
            let command = within(directory, arguments.text("workdir")?, command)?;
            Ok(foreground(command, arguments.count("timeout_ms")?))
        }
        "write_stdin" => write_stdin(arguments),
        _ => Err(NotRun::NoCounterpart),
    }
}

fn foreground(command: String, limit: Option<u64>) -> Own {
    let limit = limit.filter(|limit| *limit > 0).unwrap_or(TIMEOUT_MS_MAX);
    Own::new("Bash").with("command", command).with("timeout_ms", limit.min(TIMEOUT_MS_MAX))
}

fn write_stdin(arguments: &Arguments) -> Result<Own, NotRun> {
    let Some(session) = arguments.count("session_id")? else {
        return Err(NotRun::Mistaken("`session_id` is missing; it must be a number".to_owned()));
    };
    let own = Own::new("BashOutput").with("name", format!("{SESSION}{session}"));
    match arguments.text("chars")?.unwrap_or_default() {
        "" => {
            let wait = arguments.count("yield_time_ms")?.unwrap_or(WAIT_MS_DEFAULT);
            Ok(own.with("wait_ms", wait.min(TIMEOUT_MS_MAX)))
        }
        INTERRUPT => Ok(own.with("stop", true)),
        _ => Err(NotRun::Refused(
            "nothing can be typed into a command here. Give it its input when you start it, by a pipe or a file; `chars` may be \
             empty, to read on, or \\u0003, to stop it."
                .to_owned(),
        )),
    }
}

fn is_shell(program: &str) -> bool {
    ["bash", "sh", "zsh"].contains(&program.rsplit('/').next().unwrap_or_default())
}

/// A command that is to go on by itself, without the sign that says so at its end.
fn without_ampersand(command: &str) -> Option<&str> {
    let command = command.trim_end().strip_suffix('&')?.trim_end();
    let is_whole = !command.ends_with(['&', '|', '>', '<', '\\']) && !command.is_empty();
    let others = command.replace(">&", "").replace("&>", "");
    // In more than one line or command, what goes on is not clear.
    (is_whole && !others.contains(['\n', ';', '#', '&'])).then_some(command)
}

/// The number of the session that a call starts: the host numbers them, and no two of a conversation are alike.
fn session(id: &ToolCallId) -> u32 {
    let [first, second, third, ..] = *blake3::hash(id.0.as_bytes()).as_bytes();
    u32::from_be_bytes([0, first, second, third])
}

/// The command as it runs in another directory than the agent's own.
fn within(directory: &Path, workdir: Option<&str>, command: &str) -> Result<String, NotRun> {
    // The host takes such a command for the tool.
    if command.split_whitespace().next() == Some(APPLY_PATCH) {
        let why = "a command cannot apply a patch here. Call the tool `apply_patch` with it.";
        return Err(NotRun::Refused(why.to_owned()));
    }
    let Some(workdir) = workdir.filter(|workdir| !workdir.is_empty()) else {
        return Ok(command.to_owned());
    };
    let there = normalise(&directory.join(workdir));
    if there == normalise(directory) {
        return Ok(command.to_owned());
    }
    let there = there.strip_prefix(directory).unwrap_or(&there).to_string_lossy().into_owned();
    // A comment or a heredoc at the end needs the line to end.
    Ok(format!("cd -- {} && (\n{command}\n)", plain_word(&there)))
}

fn plain_word(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+@=:,".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) { word.to_owned() } else { shell_word(word) }
}

/// The answer to a command in the host's shape: how it ended, and then its output.
pub(super) fn told(own: &ToolCall, text: String) -> String {
    if !matches!(own.name.as_str(), "Bash" | "BashOutput") {
        return text;
    }
    let lines: Vec<&str> = text.lines().collect();
    let found = lines.iter().enumerate().rev().find_map(|(at, line)| Some((at, status(line)?)));
    let Some((at, status)) = found else { return text };
    let is_told = lines[at].starts_with("[exit code") && !lines[at].contains(';')
        || lines[at].starts_with("[`session-");
    let output = lines[..at].iter().chain(&lines[at + usize::from(is_told)..]);
    let output: Vec<&str> = output.copied().collect();
    format!("{status}\nOutput:\n{}", output.join("\n"))
}

/// Reads the state of a command from a line of tine's.
fn status(line: &str) -> Option<String> {
    let exited = |rest: &str| {
        let code: String = rest.chars().take_while(char::is_ascii_digit).collect();
        (!code.is_empty()).then(|| format!("Process exited with code {code}"))
    };
    let line = line.strip_prefix('[')?;
    if let Some(rest) = line.strip_prefix("exit code ") {
        return exited(rest);
    }
    let (session, state) = line.strip_prefix('`')?.strip_prefix(SESSION)?.split_once("` ")?;
    match state.strip_prefix("has ended: ") {
        Some(end) => match end.strip_prefix("exit code ") {
            Some(code) => exited(code),
            None => Some(format!("Process ended: {}", end.trim_end_matches(['.', ']']))),
        },
        None => state
            .starts_with("is running")
            .then(|| format!("Process running with session ID {session}")),
    }
}
