//! The last session of another program in a directory: the one that whoever asks from inside is in.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::Deserialize;
use tine_model::WireFormat;

use super::text_file;
use crate::cli::Host;
use crate::environment::{folder_of, variable};
use crate::fail::Failure;
use crate::render::shell_quoted;

/// Sessions of a directory that are read for a conversation, the newest first.
const SESSIONS_MAX: usize = 20;

/// OpenCode starts in seconds.
const OPENCODE_TIME: Duration = Duration::from_secs(60);

/// The program whose last session a name means, as `claude:last` does.
pub(super) fn host_named(file: &Path) -> Option<Host> {
    match file.to_str()? {
        "claude:last" => Some(Host::ClaudeCode),
        "codex:last" => Some(Host::Codex),
        "opencode:last" => Some(Host::OpenCode),
        _ => None,
    }
}

/// The text of a program's last session in a directory. A file without a conversation is none, such as one that was only just begun.
///
/// # Errors
///
/// Input where there is none, or where OpenCode hands out none.
pub(super) async fn last_session(host: Host, directory: &Path) -> Result<String, Failure> {
    let (files, is_here): (_, IsHere) = match host {
        Host::ClaudeCode => (claude_files(directory)?, is_claude_here),
        Host::Codex => (codex_files()?, is_codex_here),
        Host::OpenCode => return opencode_session(directory).await,
    };
    let here = newest_first(files).into_iter().filter(|file| is_here(file, directory));
    here.take(SESSIONS_MAX).find_map(|file| conversation(&file)).ok_or_else(|| {
        Failure::input(format!("{} has no session in {}", host.name(), directory.display()))
            .hint("`-C DIR` names another directory, `tine import FILE` a session's file")
    })
}

/// True where the beginning of a session's file says that it is one of this directory.
type IsHere = fn(&Path, &Path) -> bool;

/// `projects/DIRECTORY/SESSION.jsonl`, where each UTF-16 unit of the directory that is no letter or digit is a hyphen (Claude Code
/// 2.1.330), so that several directories share a folder. Files of subagents begin with `agent-`.
fn claude_files(directory: &Path) -> Result<Vec<PathBuf>, Failure> {
    let hyphens = |letter: char| match letter.is_ascii_alphanumeric() {
        true => letter.to_string(),
        false => "-".repeat(letter.len_utf16()),
    };
    let name: String = directory.to_string_lossy().chars().map(hyphens).collect();
    let top = folder_of(&variable, "CLAUDE_CONFIG_DIR", ".claude")?;
    let is_session = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.ends_with(".jsonl") && !name.starts_with("agent-")
    };
    Ok(files(&top.join("projects").join(name)).into_iter().filter(is_session).collect())
}

/// Records name the directory, but for those of snapshots and summaries.
fn is_claude_here(file: &Path, directory: &Path) -> bool {
    #[derive(Deserialize)]
    struct Record {
        cwd: PathBuf,
    }
    let records = beginning(file);
    let mut named = records.lines().filter_map(|line| serde_json::from_str::<Record>(line).ok());
    named.next().is_none_or(|record| record.cwd == directory)
}

/// `sessions/YEAR/MONTH/DAY/rollout-TIME-ID.jsonl`, those of all directories together.
fn codex_files() -> Result<Vec<PathBuf>, Failure> {
    let mut level = vec![folder_of(&variable, "CODEX_HOME", ".codex")?.join("sessions")];
    for _ in ["years", "months", "days", "files"] {
        level = level.iter().flat_map(|folder| files(folder)).collect();
    }
    Ok(level)
}

/// The first line names the directory (Codex 0.169).
fn is_codex_here(file: &Path, directory: &Path) -> bool {
    #[derive(Deserialize)]
    struct First {
        payload: Meta,
    }
    #[derive(Deserialize)]
    struct Meta {
        cwd: PathBuf,
    }
    let first = beginning(file);
    let first = first.lines().next().map(serde_json::from_str::<First>);
    first.is_some_and(|first| first.is_ok_and(|first| first.payload.cwd == directory))
}

/// The first megabyte of a file: the first line of Codex holds its instructions.
fn beginning(file: &Path) -> String {
    let mut bytes = Vec::new();
    let read = std::fs::File::open(file).map(|file| file.take(1 << 20).read_to_end(&mut bytes));
    // One that cannot be read is no session.
    drop(read);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The text of a file that holds a conversation. What is being written may end within a letter: the reader leaves a damaged last line out.
fn conversation(file: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    let opened = std::fs::File::open(file).ok()?;
    opened.take(text_file::INPUT_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let format = tine_wire::conversation_format(&text);
    let read = tine_wire::read_conversation(format, &text, WireFormat::Anthropic).ok()?;
    (!read.messages.is_empty()).then_some(text)
}

/// Nothing where the folder cannot be read.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// Files by the time of their last change. A pipe or a folder is none.
fn newest_first(paths: Vec<PathBuf>) -> Vec<PathBuf> {
    let dated = paths.into_iter().filter_map(|path| {
        let data = std::fs::metadata(&path).ok().filter(std::fs::Metadata::is_file)?;
        Some((data.modified().ok()?, path))
    });
    let mut dated: Vec<(SystemTime, PathBuf)> = dated.collect();
    dated.sort_unstable_by(|one, other| other.cmp(one));
    dated.into_iter().map(|(_, path)| path).collect()
}

/// OpenCode keeps its sessions in a database, and hands them out itself (1.18.33).
async fn opencode_session(directory: &Path) -> Result<String, Failure> {
    #[derive(Deserialize)]
    struct Session {
        id: String,
    }
    let place = shell_quoted(&directory.to_string_lossy());
    let ask = async |words: &str| {
        let command = format!("cd {place} && exec opencode {words}");
        tine_tools::printed_by(&command, OPENCODE_TIME).await.map_err(|error| {
            Failure::input("OpenCode hands out no session")
                .because(&error)
                .hint("`tine import FILE` takes what `opencode export` prints")
        })
    };
    let listed = ask("session list --format json --max-count 1").await?;
    // It prints nothing at all where there is none.
    let sessions = match listed.trim() {
        "" => Vec::new(),
        listed => serde_json::from_str::<Vec<Session>>(listed).map_err(|error| {
            Failure::input("OpenCode's list of sessions cannot be read").because(&error)
        })?,
    };
    let Some(session) = sessions.first() else {
        return Err(Failure::input(format!("OpenCode has no session in {}", directory.display())));
    };
    ask(&format!("export {}", shell_quoted(&session.id))).await
}
