//! Answering from a tape.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use tine_llm::{LlmClient, LlmError, Progress, Request};
use tine_wire::{Event, Failure, FailureKind, Reply, first_difference};
use tokio_util::sync::CancellationToken;

use super::Tape;
use super::line::{Exchange, masked};

/// Answers as a tape says, and asks nobody. A request that is not on it is refused, with the first difference to the nearest one
/// that is.
#[derive(Debug)]
pub struct Replayer {
    exchanges: Vec<Exchange>,
    /// For each hash its exchanges, in order, and how many of them were used.
    by_hash: Mutex<HashMap<String, (Vec<usize>, usize)>>,
    missed: AtomicUsize,
}

impl Replayer {
    /// Answers from the beginning of this tape.
    pub fn new(tape: Tape) -> Self {
        let mut by_hash: HashMap<String, (Vec<usize>, usize)> = HashMap::new();
        for (index, exchange) in tape.exchanges.iter().enumerate() {
            by_hash.entry(exchange.hash.clone()).or_default().0.push(index);
        }
        Self {
            exchanges: tape.exchanges,
            by_hash: Mutex::new(by_hash),
            missed: AtomicUsize::new(0),
        }
    }

    /// How many requests were not on the tape so far.
    pub fn missed(&self) -> usize {
        self.missed.load(Ordering::Relaxed)
    }

    /// The next exchange with this hash; the error is a sentence.
    fn take(&self, request: &Request) -> Result<&Exchange, String> {
        let (body, hash) = masked(&request.body.to_vec());
        let mut by_hash = self.by_hash.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((indexes, used)) = by_hash.get_mut(&hash) else {
            return Err(self.nearest(request, &body));
        };
        let next = indexes.get(*used).and_then(|index| self.exchanges.get(*index));
        *used += usize::from(next.is_some());
        next.ok_or_else(|| match indexes.len() {
            1 => "the tape has this request once, and it was asked again".to_owned(),
            times => format!("the tape has this request {times} times, and it was asked again"),
        })
    }

    /// Which recorded request comes nearest, and where it differs.
    fn nearest(&self, request: &Request, body: &str) -> String {
        let shared = |exchange: &&Exchange| {
            let pairs = exchange.request.bytes().zip(body.bytes());
            pairs.take_while(|(recorded, asked)| recorded == asked).count()
        };
        // Backwards: of several that are as near, the first counts.
        let same_format = self.exchanges.iter().rev().filter(|e| e.format == request.format);
        let Some(nearest) = same_format.max_by_key(shared) else {
            let format = request.format.as_str();
            return format!("the tape has no request in the format {format}");
        };
        let (line, recorded) = (nearest.line, nearest.request.as_bytes());
        let parts = match first_difference(request.format, recorded, body.as_bytes()) {
            Some(segment) => format!("parts from it at {segment}"),
            None => "goes on where it ends, or differs in what is no part of the prompt".to_owned(),
        };
        format!("the tape has no such request; it is nearest to line {line} and {parts}")
    }
}

#[async_trait]
impl LlmClient for Replayer {
    async fn send(
        &self,
        request: &Request,
        on_progress: &mut (dyn for<'p> FnMut(Progress<'p>) + Send),
        _cancel: &CancellationToken,
    ) -> Result<Reply, LlmError> {
        let exchange = self.take(request).map_err(|message| {
            self.missed.fetch_add(1, Ordering::Relaxed);
            let (kind, code) = (FailureKind::Other, None);
            let failure = Failure { status: None, kind, message, code, request_id: None };
            LlmError::Refused { failure, attempts: 1, asked_wait: None }
        })?;
        let Reply { id, model, usage, .. } = exchange.reply.clone();
        // Whoever waits for a cache entry waits for this.
        on_progress(Progress::Event(&Event::Started { id, model, usage }));
        Ok(exchange.reply.clone())
    }
}
