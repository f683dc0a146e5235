//! Writing exchanges down as they come.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tine_llm::{LlmClient, LlmError, Progress, Request};
use tine_model::ModelRef;
use tine_wire::Reply;
use tokio_util::sync::CancellationToken;

use super::{Header, TapeError, VERSION, line};

/// A tape that is being recorded. Each exchange is in the file before the run goes on with it, so that what was paid for is kept
/// whatever happens later.
#[derive(Debug)]
pub struct TapeWriter {
    path: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    file: File,
    recorded: usize,
    unanswered: usize,
    failed: Option<io::Error>,
}

impl TapeWriter {
    /// Begins a tape of this suite. `forced` is the model that all its cases are given instead of their own, `fallback` that of
    /// the cases that name none: who repeats the run needs them. A file of that name is replaced.
    pub fn create(
        path: &Path,
        suite: &str,
        (forced, fallback): (Option<&ModelRef>, Option<&ModelRef>),
    ) -> Result<Arc<Self>, TapeError> {
        let failed = |source| TapeError::Write { path: path.to_owned(), source };
        let mut file = File::create(path).map_err(failed)?;
        let name = |model: Option<&ModelRef>| model.map(ToString::to_string);
        let (model, fallback) = (name(forced), name(fallback));
        let header = Header { tine_tape: VERSION, suite: suite.to_owned(), model, fallback };
        let header = serde_json::to_string(&header).map_err(|error| failed(error.into()))?;
        file.write_all(format!("{header}\n").as_bytes()).map_err(failed)?;
        let state = State { file, recorded: 0, unanswered: 0, failed: None };
        Ok(Arc::new(Self { path: path.to_owned(), state: Mutex::new(state) }))
    }

    /// Ends the tape: how many exchanges are on it, and how many requests got no reply and so are not.
    pub fn finish(&self) -> Result<(usize, usize), TapeError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let failed = |source| TapeError::Write { path: self.path.clone(), source };
        if let Some(error) = state.failed.take() {
            return Err(failed(error));
        }
        state.file.sync_all().map_err(failed)?;
        Ok((state.recorded, state.unanswered))
    }

    fn keep(&self, line: &str) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        // One write: a line is on the tape whole or not at all, but for the last one of a process that was killed.
        match state.file.write_all(format!("{line}\n").as_bytes()) {
            Ok(()) => state.recorded += 1,
            // The run is worth more than the tape: the failure is told at the end.
            Err(error) => state.failed = state.failed.take().or(Some(error)),
        }
    }

    fn unanswered(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).unanswered += 1;
    }
}

/// Asks another client and records what it answers.
pub struct Recorder {
    inner: Arc<dyn LlmClient>,
    model: ModelRef,
    tape: Arc<TapeWriter>,
}

impl Recorder {
    /// Records what this client answers for this model.
    pub fn new(inner: Arc<dyn LlmClient>, model: ModelRef, tape: Arc<TapeWriter>) -> Self {
        Self { inner, model, tape }
    }
}

#[async_trait]
impl LlmClient for Recorder {
    fn patience(&self) -> Duration {
        self.inner.patience()
    }

    fn backoff(&self) -> Duration {
        self.inner.backoff()
    }

    async fn send(
        &self,
        request: &Request,
        on_progress: &mut (dyn for<'p> FnMut(Progress<'p>) + Send),
        cancel: &CancellationToken,
    ) -> Result<Reply, LlmError> {
        let answered = self.inner.send(request, on_progress, cancel).await;
        let reply = answered.inspect_err(|_| self.tape.unanswered())?;
        let body = request.body.to_vec();
        let what = (request.format, &*self.model.to_string());
        match line::render(what, &body, &reply) {
            Ok((line, given)) => {
                self.tape.keep(&line);
                let (diagnosis, dropped) = (reply.diagnosis, reply.dropped);
                Ok(Reply { diagnosis, dropped, ..given })
            }
            Err(_) => {
                self.tape.unanswered();
                Ok(reply)
            }
        }
    }
}
