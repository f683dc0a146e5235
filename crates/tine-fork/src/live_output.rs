//! The output of a running call, on its way to the observer. Only the end is kept, so a call that prints without end costs no memory
//! and never waits.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

/// Most bytes that are kept: the last lines of a screen, with room for long ones.
const TAIL_BYTES_MAX: usize = 4 * 1024;

/// Shortest time between two looks at what a call prints: a person reads no faster.
const LOOK: Duration = Duration::from_millis(250);

/// Takes what a running call prints. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct LiveOutput(Option<Arc<watch::Sender<Tail>>>);

impl LiveOutput {
    /// Output that nobody sees: that of a call which a call has made.
    pub fn none() -> Self {
        Self::default()
    }

    /// Output that is seen, and its other end.
    pub(crate) fn open() -> (Self, LiveOutputReader) {
        let (send, tail) = watch::channel(Tail::default());
        (Self(Some(Arc::new(send))), LiveOutputReader { tail, next_look: None })
    }

    /// The work of the call begins. A time before this, such as a wait for permission, is no part of it.
    pub fn begin(&self) {
        self.print(b"");
    }

    /// The call has printed this. Never waits.
    pub fn print(&self, bytes: &[u8]) {
        if let Some(tail) = &self.0 {
            tail.send_modify(|tail| tail.push(bytes));
        }
    }
}

/// Reads what a running call prints, now and then.
#[derive(Debug)]
pub(crate) struct LiveOutputReader {
    tail: watch::Receiver<Tail>,
    next_look: Option<Instant>,
}

impl LiveOutputReader {
    /// The end of the output once there is more of it; `None` once nothing can come. May be dropped at any time.
    pub(crate) async fn next(&mut self) -> Option<String> {
        if let Some(next_look) = self.next_look {
            sleep_until(next_look).await;
        }
        self.tail.changed().await.ok()?;
        self.next_look = Some(Instant::now() + LOOK);
        Some(self.tail.borrow_and_update().text())
    }
}

/// The end of an output.
#[derive(Debug, Default)]
struct Tail {
    bytes: Vec<u8>,
    /// True where something of its beginning is gone.
    is_cut: bool,
}

impl Tail {
    fn push(&mut self, bytes: &[u8]) {
        let kept = &bytes[bytes.len().saturating_sub(TAIL_BYTES_MAX)..];
        let excess = (self.bytes.len() + kept.len()).saturating_sub(TAIL_BYTES_MAX);
        self.is_cut |= excess > 0 || kept.len() < bytes.len();
        self.bytes.drain(..excess.min(self.bytes.len()));
        self.bytes.extend_from_slice(kept);
    }

    /// Whole lines where the beginning is gone, as far as there is a line end.
    fn text(&self) -> String {
        let first = self.bytes.iter().position(|byte| *byte == b'\n').map(|end| end + 1);
        let from = first.filter(|first| self.is_cut && *first < self.bytes.len());
        String::from_utf8_lossy(&self.bytes[from.unwrap_or(0)..]).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_of_an_output_is_kept_in_whole_lines() {
        let mut tail = Tail::default();
        tail.push(b"one\ntwo");
        assert_eq!(tail.text(), "one\ntwo");
        for line in 0..100_000 {
            tail.push(format!("line {line}\n").as_bytes());
        }
        assert!(tail.bytes.len() <= TAIL_BYTES_MAX);
        let text = tail.text();
        assert!(text.starts_with("line ") && text.ends_with("\nline 99999\n"), "{text}");
        tail.push(&vec![b'x'; 1024 * 1024]);
        assert_eq!(tail.text().len(), TAIL_BYTES_MAX);
    }

    #[tokio::test(start_paused = true)]
    async fn output_is_read_now_and_then_and_its_end_is_not_missed() {
        let (output, mut reader) = LiveOutput::open();
        let start = Instant::now();
        output.begin();
        assert_eq!(reader.next().await.as_deref(), Some(""));
        for line in 0..1_000 {
            output.print(format!("{line}\n").as_bytes());
        }
        let text = reader.next().await.unwrap();
        assert!(text.ends_with("\n999\n"), "{text}");
        assert_eq!(start.elapsed(), LOOK);
        drop(output);
        assert_eq!(reader.next().await, None);
    }
}
