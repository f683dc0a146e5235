//! Processes of tine that outlive the command that starts them, and their logs.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use tine_tools::Detached;

use crate::context::Context;

/// Most logs that are kept; the oldest make room. They are for who wonders what became of a worker of late.
const LOGS_MAX: usize = 200;

/// Most bytes that are read of the log of a process that has ended: its error and some hints.
const ERROR_BYTES_MAX: usize = 16 * 1024;

/// Logs that this process has made.
static MADE: AtomicU64 = AtomicU64::new(0);

/// Begins a command of tine in the background that nobody waits for and nobody is told of; it says what goes wrong in its log.
pub(crate) fn begin(context: &Context, command: &[&str]) -> std::io::Result<()> {
    let program = std::env::current_exe()?;
    let now_ms = context.runtime.ports().clock.now_ms();
    let (path, log) = new_log(&context.logs, now_ms)?;
    let directory = context.directory.clone().into_os_string();
    let before: [OsString; 4] = ["--detached".into(), path.into(), "-C".into(), directory];
    let arguments: Vec<OsString> =
        before.into_iter().chain(command.iter().map(OsString::from)).collect();
    Detached::start(&program, &arguments, log).map(drop)
}

/// A new log file, whose name says when it was made.
pub(crate) fn new_log(logs: &Path, now_ms: i64) -> std::io::Result<(PathBuf, File)> {
    std::fs::create_dir_all(logs)?;
    make_room(logs)?;
    let number = MADE.fetch_add(1, Ordering::Relaxed);
    let path = logs.join(format!("task-{now_ms:015}-{}-{number}.log", std::process::id()));
    let log = File::options().append(true).create_new(true).open(&path)?;
    Ok((path, log))
}

/// The text of the log of a process that has ended, of its first [`ERROR_BYTES_MAX`] bytes. The file is removed.
pub(crate) fn take_log(path: &Path) -> String {
    let told = std::fs::read(path).unwrap_or_default();
    // Whoever cannot remove it leaves it to `make_room`.
    let _ = std::fs::remove_file(path);
    String::from_utf8_lossy(&told[..told.len().min(ERROR_BYTES_MAX)]).into_owned()
}

/// Takes the oldest logs away where there are too many.
fn make_room(logs: &Path) -> std::io::Result<()> {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(logs)?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    // Their names begin with the time.
    paths.sort();
    for path in paths.iter().take((paths.len() + 1).saturating_sub(LOGS_MAX)) {
        // Another process may have been faster.
        let _ = std::fs::remove_file(path);
    }
    Ok(())
}
