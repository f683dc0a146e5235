//! Going on in the background: this command once more, in a process and a session of its own.
//!
//! The first process waits for one line, which says what was begun, or for an error; the second goes on to the end of the work.

use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tine_model::AgentId;
use tine_runtime::Resumed;
use tine_tools::Detached;

use crate::context::Context;
use crate::detached::{new_log, take_log};
use crate::fail::{FAILED, Failure};
use crate::output;
use crate::prompt::{is_stdin, or_stdin};
use crate::render::json::OpenCallShape;
use crate::render::worktree::PlaceShape;

/// The status of what waits behind the worker's work.
const QUEUED: &str = "queued";

/// What was begun. Its JSON shape is what others rely on: fields are only ever added.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Begun {
    /// The worker.
    agent: String,
    /// The same; `agent` is its name in all JSON.
    task: String,
    spawner: String,
    /// `started`, `resumed`, or `queued` behind what the worker does now.
    status: String,
    /// Where its process writes what it has to say; `null` where the work is done by the one that was called.
    log: Option<PathBuf>,
    /// The worker's own worktree; `null` where it has none.
    worktree: Option<PlaceShape>,
    /// Calls that ran in the spawner, and whose results the worker does not know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    open_calls: Vec<OpenCallShape>,
}

impl Begun {
    /// A task that was started.
    pub(super) async fn started(
        context: &Context,
        task: AgentId,
        spawner: AgentId,
        open_calls: Vec<OpenCallShape>,
    ) -> Result<Self, Failure> {
        Ok(Self { open_calls, ..Self::of(context, (task, spawner), "started").await? })
    }

    /// A task that was resumed, or will be.
    pub(super) async fn resumed(
        context: &Context,
        (task, spawner): (AgentId, AgentId),
        resumed: Resumed,
    ) -> Result<Self, Failure> {
        let status = match resumed {
            Resumed::Started => "resumed",
            Resumed::Queued => QUEUED,
        };
        Self::of(context, (task, spawner), status).await
    }

    async fn of(
        context: &Context,
        (task, spawner): (AgentId, AgentId),
        status: &str,
    ) -> Result<Self, Failure> {
        let worktree = context.runtime.worktree_record(task).await?;
        Ok(Self {
            agent: task.to_string(),
            task: task.to_string(),
            spawner: spawner.to_string(),
            status: status.to_owned(),
            log: context.detached.clone(),
            worktree: worktree.as_ref().map(PlaceShape::from),
            open_calls: Vec::new(),
        })
    }

    /// Tells a person where the worker works, where that is its own, and what it does not know.
    pub(super) fn say_where(&self) {
        OpenCallShape::say(&self.open_calls);
        self.worktree.iter().for_each(PlaceShape::say);
    }

    /// Tells it to whoever has called.
    pub(super) fn tell(&self, json: bool) -> Result<(), Failure> {
        if json {
            return output::json(self);
        }
        output::line(&self.words())?;
        if self.status != QUEUED {
            self.say_where();
        }
        Ok(())
    }

    /// What a person is told.
    pub(super) fn words(&self) -> String {
        let short: String = self.task.chars().take(8).collect();
        match self.status.as_str() {
            QUEUED => format!("queued for {short}; its worker is told when it has reported"),
            status => format!("{status} {short}"),
        }
    }
}

/// The prompt of a command that may go on in the background. For `-` it is standard input, which the first process hands to the second.
pub(super) fn prompt(context: &Context, given: String) -> Result<String, Failure> {
    match &context.detached {
        Some(log) if is_stdin(&given) => {
            let file = handed_over(log);
            let read = std::fs::read_to_string(&file).map_err(|error| {
                Failure::failed(format!("cannot read {}", file.display())).because(&error)
            })?;
            // It is in the database from here on.
            let _ = std::fs::remove_file(&file);
            Ok(read)
        }
        Some(_) | None => or_stdin(given),
    }
}

/// Where the first process leaves its standard input for the second.
fn handed_over(log: &Path) -> PathBuf {
    log.with_extension("stdin")
}

/// Begins this command again in the background, and tells what it has begun. `json` is how. `stdin` is what was read from standard input.
pub(super) async fn go(context: &Context, stdin: Option<&str>, json: bool) -> Result<u8, Failure> {
    let cannot = |error: std::io::Error| {
        Failure::failed("cannot go on in the background")
            .because(&error)
            .hint("`--wait` runs the worker here")
    };
    let now_ms = context.runtime.ports().clock.now_ms();
    let (path, log) = new_log(&context.logs, now_ms).map_err(cannot)?;
    if let Some(text) = stdin {
        // Only for its owner, as the database is.
        let mut private = File::options();
        private.write(true).create_new(true).mode(0o600);
        let mut file = private.open(handed_over(&path)).map_err(cannot)?;
        file.write_all(text.as_bytes()).map_err(cannot)?;
    }
    let program = std::env::current_exe().map_err(cannot)?;
    let mut arguments: Vec<OsString> = vec!["--detached".into(), path.clone().into()];
    arguments.extend(std::env::args_os().skip(1));
    let mut second = Detached::start(&program, &arguments, log).map_err(cannot)?;
    if let Some(line) = second.first_line().await.map_err(cannot)? {
        let begun: Begun = serde_json::from_str(&line).map_err(|error| {
            Failure::failed("the process in the background is not understood").because(&error)
        })?;
        begun.tell(json)?;
        return Ok(0);
    }
    let code = second.exit_code().await.map_err(cannot)?;
    // It says nothing that is not said here.
    let told = take_log(&path);
    let _ = std::fs::remove_file(handed_over(&path));
    match (code.and_then(|code| u8::try_from(code).ok()), told.trim_end()) {
        (None, told) => Err(Failure::failed("the process in the background was killed").hint(told)),
        (Some(0), _) | (Some(_), "") => {
            Err(Failure::failed("the process in the background ended without a word"))
        }
        (Some(code), told) => {
            output::say(told);
            Ok(code.max(FAILED))
        }
    }
}
