//! What was received: in memory for tests, and verbatim on disk where asked.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use axum::http::HeaderMap;
use bytes::Bytes;
use serde_json::json;
use tine_model::Usage;

/// One request as it arrived.
#[derive(Debug, Clone)]
pub struct CapturedRequest {
    /// Place in the order of arrival, from 1; also the name of its file in a body log.
    pub number: u64,
    /// Path of the URL.
    pub path: String,
    /// Headers as sent, keys included: they stay in memory.
    pub headers: HeaderMap,
    /// The body's exact bytes.
    pub body: Bytes,
    /// The clock when the body was complete.
    pub at_ms: u64,
    /// Status of the answer; `None` while there is none, and when the connection was closed instead.
    pub status: Option<u16>,
    /// What the request was billed, whether or not the answer reported it; `None` when it was refused.
    pub usage: Option<Usage>,
}

impl CapturedRequest {
    /// What it takes in memory, nearly.
    fn bytes(&self) -> usize {
        let heads = self.headers.iter().map(|(name, value)| name.as_str().len() + value.len());
        size_of::<Self>() + self.path.len() + heads.sum::<usize>() + self.body.len()
    }
}

/// Requests in the order of their arrival.
#[derive(Debug)]
pub(crate) struct Captured {
    requests: VecDeque<CapturedRequest>,
    bytes: usize,
    bytes_max: usize,
    last_number: u64,
}

impl Captured {
    /// The last requests, of so many bytes together at most.
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self { requests: VecDeque::new(), bytes: 0, bytes_max, last_number: 0 }
    }

    pub(crate) fn push(&mut self, path: &str, headers: HeaderMap, body: Bytes, at_ms: u64) -> u64 {
        self.last_number += 1;
        let request = CapturedRequest {
            number: self.last_number,
            path: path.to_owned(),
            headers,
            body,
            at_ms,
            status: None,
            usage: None,
        };
        self.bytes += request.bytes();
        self.requests.push_back(request);
        while self.bytes > self.bytes_max {
            match self.requests.pop_front() {
                Some(oldest) => self.bytes -= oldest.bytes(),
                None => break,
            }
        }
        self.last_number
    }

    /// Notes how a request was answered.
    pub(crate) fn answered(&mut self, number: u64, status: Option<u16>, usage: Option<Usage>) {
        let found = self.requests.iter_mut().rev().find(|request| request.number == number);
        if let Some(request) = found {
            (request.status, request.usage) = (status, usage);
        }
    }

    pub(crate) fn to_vec(&self) -> Vec<CapturedRequest> {
        self.requests.iter().cloned().collect()
    }
}

/// One line of the index.
pub(crate) struct Answered<'a> {
    pub(crate) number: u64,
    pub(crate) path: &'a str,
    pub(crate) at_ms: u64,
    pub(crate) status: Option<u16>,
    pub(crate) usage: Option<Usage>,
}

/// A directory with one file per request body and an index. Headers are not written: they hold keys.
#[derive(Debug)]
pub(crate) struct BodyLog {
    directory: PathBuf,
    index: Mutex<File>,
}

impl BodyLog {
    /// Opens a log in a directory that has none yet.
    pub(crate) fn create(directory: &Path) -> std::io::Result<Self> {
        std::fs::create_dir_all(directory)?;
        let index = directory.join("index.jsonl");
        let index = OpenOptions::new().create_new(true).append(true).open(index)?;
        Ok(Self { directory: directory.to_owned(), index: Mutex::new(index) })
    }

    /// Writes a body and its line. Blocks on the disk. Lines stand in the order of the answers; `n` is that of arrival.
    pub(crate) fn write(&self, body: &[u8], answered: &Answered<'_>) -> std::io::Result<()> {
        let file = format!("{:04}.json", answered.number);
        std::fs::write(self.directory.join(&file), body)?;
        let usage = answered.usage.map(|usage| {
            json!({
                "uncached": usage.uncached,
                "write_short": usage.write_short,
                "write_long": usage.write_long,
                "read": usage.read,
                "output": usage.output,
            })
        });
        let line = json!({
            "n": answered.number,
            "file": file,
            "path": answered.path,
            "at_ms": answered.at_ms,
            "status": answered.status,
            "usage": usage,
        });
        let mut index = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        index.write_all(format!("{line}\n").as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_go_first_and_numbers_go_on() {
        let numbers = |bytes_max: usize| -> Vec<u64> {
            let mut captured = Captured::new(bytes_max);
            for body in ["", "a", "b"] {
                captured.push("/v1/messages", HeaderMap::new(), Bytes::from(body), 0);
            }
            captured.answered(1, Some(200), None);
            captured.to_vec().iter().map(|request| request.number).collect()
        };
        let one = size_of::<CapturedRequest>() + 20;
        assert_eq!([numbers(0), numbers(one), numbers(2 * one)], [vec![], vec![3], vec![2, 3]]);
        assert_eq!(numbers(10 * one), [1, 2, 3]);
    }
}
