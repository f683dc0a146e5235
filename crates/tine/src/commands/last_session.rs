//! The last session of another program in a directory: the one that whoever asks from inside is in.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::Deserialize;

use super::text_file;
use crate::cli::Host;
use crate::environment::{folder_of, variable};
use crate::fail::Failure;
use crate::render::shell_quoted;

/// Sessions of Codex that are looked at, the newest first. They lie by day, those of all directories together.
const CODEX_FILES_MAX: usize = 500;

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

/// The text of a program's last session in a directory.
///
/// # Errors
///
/// Input where there is none, or where it cannot be read.
pub(super) async fn last_session(host: Host, directory: &Path) -> Result<String, Failure> {
    let found = match host {
        Host::ClaudeCode => newest(claude_sessions(directory)?),
        Host::Codex => newest(codex_sessions(directory)?),
        Host::OpenCode => return opencode_session(directory).await,
    };
    let file = found.ok_or_else(|| {
        Failure::input(format!("{} has no session in {}", host.name(), directory.display()))
            .hint("`-C DIR` names another directory, `tine import FILE` a session's file")
    })?;
    text_file::read(&file)
}

/// `projects/DIRECTORY/SESSION.jsonl`, where each character of the directory that is no letter or digit is a hyphen (Claude Code
/// 2.1.330). Those of its subagents begin with `agent-`.
fn claude_sessions(directory: &Path) -> Result<Vec<PathBuf>, Failure> {
    let name = directory.to_string_lossy().replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    let all =
        files(&folder_of(&variable, "CLAUDE_CONFIG_DIR", ".claude")?.join("projects").join(name));
    let is_session = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.ends_with(".jsonl") && !name.starts_with("agent-")
    };
    Ok(all.into_iter().filter(is_session).collect())
}

/// `sessions/YEAR/MONTH/DAY/rollout-TIME-ID.jsonl`, whose first line names the directory (Codex 0.169).
fn codex_sessions(directory: &Path) -> Result<Vec<PathBuf>, Failure> {
    #[derive(Deserialize)]
    struct First {
        payload: Meta,
    }
    #[derive(Deserialize)]
    struct Meta {
        cwd: PathBuf,
    }
    let top = folder_of(&variable, "CODEX_HOME", ".codex")?.join("sessions");
    let mut level = vec![top];
    for _ in ["years", "months", "days", "files"] {
        level = level.iter().flat_map(|folder| files(folder)).collect();
    }
    level.sort_unstable_by(|a, b| b.cmp(a));
    let is_here = |path: &PathBuf| {
        let first = first_line(path).unwrap_or_default();
        serde_json::from_str::<First>(&first).is_ok_and(|first| first.payload.cwd == directory)
    };
    Ok(level.into_iter().take(CODEX_FILES_MAX).filter(is_here).collect())
}

fn first_line(path: &Path) -> std::io::Result<String> {
    use std::io::{BufRead as _, BufReader, Read as _};
    let mut line = String::new();
    // The first line of Codex holds its instructions, too.
    BufReader::new(std::fs::File::open(path)?.take(1 << 20)).read_line(&mut line)?;
    Ok(line)
}

/// None where the folder cannot be read.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

fn newest(paths: Vec<PathBuf>) -> Option<PathBuf> {
    let changed = |path: &PathBuf| {
        std::fs::metadata(path).and_then(|data| data.modified()).unwrap_or(SystemTime::UNIX_EPOCH)
    };
    paths.into_iter().max_by_key(changed)
}

/// OpenCode keeps its sessions in a database, and hands them out itself (1.18.33).
async fn opencode_session(directory: &Path) -> Result<String, Failure> {
    #[derive(Deserialize)]
    struct Session {
        id: String,
    }
    let place = shell_quoted(&directory.to_string_lossy());
    let ask = async |words: &str| {
        let command = format!("cd {place} && opencode {words}");
        tine_tools::printed_by(&command, OPENCODE_TIME).await.map_err(|error| {
            Failure::input("OpenCode hands out no session")
                .because(&error)
                .hint("`tine import FILE` takes what `opencode export` prints")
        })
    };
    let listed = ask("session list --format json --max-count 1").await?;
    let sessions: Vec<Session> = serde_json::from_str(&listed).unwrap_or_default();
    let Some(session) = sessions.first() else {
        return Err(Failure::input(format!("OpenCode has no session in {}", directory.display())));
    };
    ask(&format!("export {}", shell_quoted(&session.id))).await
}
