//! Server-sent-event framing: bytes in any chunking → records.
//!
//! The framing itself is the `sse-stream` crate (byte-order mark, three kinds of line ends, split characters).
//! It reads from a `Stream`, so it is driven here without I/O: the stream behind it is a one-chunk slot that is
//! filled by [`Framing::push`] and polled with a waker that does nothing. The crate bounds nothing, so a guard
//! counts the bytes of each record and of the whole stream *before* they are handed over. The count follows
//! blank lines and not chunks: the limit strikes at the same byte whatever the cuts.
//!
//! This module never looks inside a record.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use futures_util::Stream;
use sse_stream::SseByteStream;

use crate::DecodeError;

/// Most bytes of one record. The largest honest one is a whole tool input or a sealed reasoning blob; 16 MiB is
/// half of the largest request that Anthropic accepts.
pub const RECORD_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Most bytes of one stream. A record carries about 200 bytes of envelope per token, so this leaves room for a
/// million tokens.
pub const STREAM_BYTES_MAX: usize = 256 * 1024 * 1024;

/// One record: the `event` and `data` fields.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) name: Option<String>,
    pub(crate) data: String,
}

/// The framing of one stream.
pub(crate) struct Framing {
    slot: Slot,
    records: SseByteStream<Slot>,
    whole: WholeCharacters,
    guard: Guard,
}

impl Framing {
    pub(crate) fn new() -> Self {
        Self::with_limits(RECORD_BYTES_MAX, STREAM_BYTES_MAX)
    }

    fn with_limits(record_max: usize, stream_max: usize) -> Self {
        let slot = Slot::default();
        let records = SseByteStream::new(slot.clone());
        let guard = Guard { record_max, stream_max, record: 0, total: 0, line: Line::Empty };
        Self { slot, records, whole: WholeCharacters::default(), guard }
    }

    /// The records that `bytes` completes, and what stopped the reading. After an error nothing more comes.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> (Vec<Record>, Option<DecodeError>) {
        let (admitted, limit) = self.guard.admit(bytes);
        let text = self.whole.push(&bytes[..admitted]);
        self.slot.fill(Bytes::from(text));
        let mut records = Vec::new();
        let mut context = Context::from_waker(Waker::noop());
        loop {
            match Pin::new(&mut self.records).poll_next(&mut context) {
                Poll::Ready(Some(Ok(sse))) => {
                    if let Some(data) = sse.data {
                        records.push(Record { name: sse.event, data });
                    }
                }
                Poll::Ready(Some(Err(error))) => {
                    let what = error.to_string();
                    let error = DecodeError::Protocol { what, at: "the event framing".into() };
                    return (records, Some(error));
                }
                Poll::Ready(None) | Poll::Pending => break,
            }
        }
        (records, limit.map(|limit| DecodeError::TooLarge { limit }))
    }
}

impl fmt::Debug for Framing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Framing").field("guard", &self.guard).finish_non_exhaustive()
    }
}

/// Bytes in any chunking → whole characters. Bytes that are none are replaced by U+FFFD: the text around them is worth more than
/// an error.
#[derive(Debug, Default)]
struct WholeCharacters {
    /// The beginning of a character whose rest is in the next chunk: at most three bytes.
    begun: Vec<u8>,
}

impl WholeCharacters {
    fn push(&mut self, bytes: &[u8]) -> String {
        self.begun.extend_from_slice(bytes);
        let bytes = std::mem::take(&mut self.begun);
        let mut text = String::with_capacity(bytes.len());
        let mut chunks = bytes.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            text.push_str(chunk.valid());
            let bad = chunk.invalid();
            let may_go_on = || str::from_utf8(bad).is_err_and(|error| error.error_len().is_none());
            if chunks.peek().is_none() && may_go_on() {
                self.begun = bad.to_vec();
            } else if !bad.is_empty() {
                text.push(char::REPLACEMENT_CHARACTER);
            }
        }
        text
    }
}

/// The stream behind the framing: at most one chunk waits in it. Shared, because the framing owns its stream;
/// the lock is held for one move and never contended.
#[derive(Clone, Default)]
struct Slot(Arc<Mutex<Option<Bytes>>>);

impl Slot {
    fn fill(&self, chunk: Bytes) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(chunk);
    }
}

impl Stream for Slot {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match self.0.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(chunk) => Poll::Ready(Some(Ok(chunk))),
            None => Poll::Pending,
        }
    }
}

/// Counts the bytes since the last blank line.
#[derive(Debug)]
struct Guard {
    record_max: usize,
    stream_max: usize,
    record: usize,
    total: usize,
    line: Line,
}

/// What the current line holds so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    Empty,
    /// Nothing, after a carriage return: a line feed now belongs to that line end.
    EmptyAfterReturn,
    Filled,
}

impl Guard {
    /// How many of `bytes` may go on, and the limit that stops the rest.
    fn admit(&mut self, bytes: &[u8]) -> (usize, Option<usize>) {
        let room = (self.stream_max - self.total).min(bytes.len());
        for (position, byte) in bytes[..room].iter().enumerate() {
            if self.record == self.record_max {
                return (position, Some(self.record_max));
            }
            self.total += 1;
            self.record += 1;
            self.line = match (byte, self.line) {
                (b'\n', Line::EmptyAfterReturn) => Line::Empty,
                (b'\n', Line::Filled) => Line::Empty,
                (b'\r', Line::Filled) => Line::EmptyAfterReturn,
                (b'\n', Line::Empty) => {
                    self.record = 0;
                    Line::Empty
                }
                (b'\r', Line::Empty | Line::EmptyAfterReturn) => {
                    self.record = 0;
                    Line::EmptyAfterReturn
                }
                _ => Line::Filled,
            };
        }
        (room, (room < bytes.len()).then_some(self.stream_max))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(input: &[u8], expected: &[(Option<&str>, &str)]) {
        for size in [1, 2, 3, input.len()] {
            let mut framing = Framing::new();
            let mut records = Vec::new();
            for chunk in input.chunks(size) {
                let (more, error) = framing.push(chunk);
                assert_eq!(error, None);
                records.extend(more);
            }
            let found: Vec<_> =
                records.iter().map(|r| (r.name.as_deref(), r.data.as_str())).collect();
            assert_eq!(found, expected, "chunks of {size}");
        }
    }

    #[test]
    fn every_kind_of_line_end_ends_a_record() {
        check(b"data: a\n\ndata: b\r\n\r\ndata: c\r\r:", &[(None, "a"), (None, "b"), (None, "c")]);
    }

    #[test]
    fn marks_comments_and_joined_lines_are_framing() {
        check(b"\xEF\xBB\xBFevent:x\ndata:1\ndata: 2\n\n: quiet\n\n", &[(Some("x"), "1\n2")]);
    }

    #[test]
    fn records_without_data_are_skipped() {
        check(b"event: x\n\nretry: 5\n\ndata: y\n\n", &[(None, "y")]);
    }

    #[test]
    fn bytes_that_are_not_text_are_replaced_whatever_the_cuts() {
        let input = b"data: a\xc3\xa9\n\ndata: \xff\xe2\x82\n\ndata: \xe2\x82\xac\n\n";
        check(input, &[(None, "aé"), (None, "\u{fffd}\u{fffd}"), (None, "€")]);
    }

    proptest! {
        #[test]
        fn limits_strike_at_the_same_record_whatever_the_cuts(
            input in "[ab:\r\n]{0,60}", size in 1usize..20,
        ) {
            let run = |size: usize| {
                let mut framing = Framing::with_limits(12, 40);
                let mut all = Vec::new();
                for chunk in input.as_bytes().chunks(size) {
                    let (records, error) = framing.push(chunk);
                    all.extend(records);
                    if error.is_some() {
                        return (all, error);
                    }
                }
                (all, None)
            };
            prop_assert_eq!(run(size), run(64));
        }
    }
}
