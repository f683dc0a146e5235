//! Commands of tine in processes of their own.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use tine_fork::host::Clock;
use tine_tools::Detached;
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::context::Context;
use crate::detached::{new_log, take_log};

/// Most bytes of what a command prints that a model is shown: about what a host takes for one result.
const PRINTED_BYTES_MAX: u64 = 96 * 1024;

/// Most bytes that are read of the end of what a command says.
const SAID_BYTES_MAX: usize = 4096;

pub(super) struct Processes {
    program: PathBuf,
    directory: PathBuf,
    logs: PathBuf,
    clock: Arc<dyn Clock>,
    /// Those that are waited for. They end with the connection, the processes do not.
    pub(super) waits: TaskTracker,
}

/// A command that has ended.
pub(super) struct Ended {
    pub(super) printed: String,
    pub(super) errors: String,
    /// `None` where a signal ended it.
    pub(super) code: Option<i32>,
}

/// A command that runs. Dropping this leaves the command alone.
pub(super) struct Process {
    /// Its end, once that is there.
    pub(super) end: oneshot::Receiver<io::Result<Ended>>,
    pub(super) begun: Instant,
    log: PathBuf,
}

impl Process {
    /// The last line that it has said so far, beside its result.
    pub(super) fn last_line(&self) -> Option<String> {
        let said = std::fs::read(&self.log).ok()?;
        let said = &said[said.len().saturating_sub(SAID_BYTES_MAX)..];
        let said = String::from_utf8_lossy(said);
        said.lines().rev().find(|line| !line.trim().is_empty()).map(str::to_owned)
    }
}

impl Processes {
    pub(super) fn new(context: &Context) -> io::Result<Self> {
        let program = std::env::current_exe()?;
        let (directory, logs) = (context.directory.clone(), context.logs.clone());
        let clock = Arc::clone(&context.runtime.ports().clock);
        Ok(Self { program, directory, logs, clock, waits: TaskTracker::new() })
    }

    /// Begins a command, in a session of its own where it is to outlive this process. Once `stop` is cancelled it is interrupted, as by
    /// Ctrl+C.
    pub(super) fn begin(
        &self,
        line: Vec<String>,
        outlives: bool,
        stop: CancellationToken,
    ) -> io::Result<Process> {
        let (path, log) = new_log(&self.logs, self.clock.now_ms())?;
        let mut arguments: Vec<OsString> = Vec::new();
        if outlives {
            arguments.extend(["--detached".into(), path.clone().into()]);
        }
        arguments.extend(["-C".into(), self.directory.clone().into()]);
        arguments.extend(line.into_iter().map(OsString::from));
        let process = Detached::start(&self.program, &arguments, log)?;
        let (tell, end) = oneshot::channel();
        let said = path.clone();
        // Read to its end also when nobody waits any more: a full pipe would hold it.
        self.waits.spawn(async move {
            let ended = process.printed(PRINTED_BYTES_MAX, &stop).await;
            let errors = take_log(&path);
            let ended =
                ended.map(|(printed, code)| Ended { printed: shown(&printed), errors, code });
            let _ = tell.send(ended);
        });
        Ok(Process { end, begun: Instant::now(), log: said })
    }
}

fn shown(printed: &[u8]) -> String {
    let most = usize::try_from(PRINTED_BYTES_MAX).unwrap_or(usize::MAX);
    let text = String::from_utf8_lossy(&printed[..printed.len().min(most)]).into_owned();
    if printed.len() <= most {
        return text;
    }
    format!("{text}\n[cut: it was longer than {most} bytes]")
}
