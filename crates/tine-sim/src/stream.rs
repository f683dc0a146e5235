//! The plan of a response body: which bytes leave when, and where it breaks off. Plans are pure; [`into_body`] plays one.

use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use tokio_util::sync::CancellationToken;

use crate::fault::{Ending, Fault};
use crate::limits::DELTA_BYTES;
use crate::scenario::VisibleAt;

/// One event of a stream, or a whole JSON body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) bytes: Bytes,
    /// Generated tokens in it; they take time.
    pub(crate) tokens: u64,
    /// Whether it shows content, and not only that the response has begun.
    pub(crate) is_content: bool,
}

impl Frame {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self { bytes: Bytes::from(text.into()), tokens: 0, is_content: false }
    }

    pub(crate) fn content(text: impl Into<String>, tokens: u64) -> Self {
        Self { tokens, is_content: true, ..Self::new(text) }
    }
}

/// Cuts a text into deltas of about [`DELTA_BYTES`], between characters.
pub(crate) fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (piece, after) = rest.split_at(rest.ceil_char_boundary(DELTA_BYTES));
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

/// What the cache is told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    /// The response has begun.
    Begun,
    /// The response is complete but for its last event.
    Ended,
}

/// What a plan consists of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    Wait(u64),
    /// The response has begun: what the request wrote to the cache becomes readable.
    Begun,
    /// The response is about to be complete.
    Ended,
    Send(Bytes),
    /// The connection is closed without an end of the body.
    Cut,
    /// Nothing more happens until the client or the server goes away.
    Stall,
}

/// The pieces of a format that faults need.
pub(crate) struct Dialect {
    /// The format, for the wire suite.
    pub(crate) name: &'static str,
    /// A keep-alive.
    pub(crate) ping: Frame,
    /// An error of the given kind inside a stream, after so many events that are not keep-alives.
    pub(crate) error: fn(&str, usize) -> Frame,
}

/// Puts frames, pacing and faults together.
pub(crate) fn plan(
    mut frames: Vec<Frame>,
    dialect: &Dialect,
    fault: Option<&Fault>,
    visible_at: VisibleAt,
    delay_ms: impl Fn(u64) -> u64,
) -> Vec<Step> {
    let ending = fault.and_then(|fault| fault.ending.as_ref());
    let pings = fault.map_or(0, |fault| fault.pings as usize);
    let after_first = frames.len().min(1);
    frames.splice(after_first..after_first, std::iter::repeat_n(dialect.ping.clone(), pings));
    let (kept, last) = break_off(&frames, ending, dialect);
    let mut steps = Vec::new();
    let mut has_begun = visible_at == VisibleAt::ResponseStart;
    if has_begun {
        steps.push(Step::Begun);
    }
    for (index, frame) in frames[..kept].iter().enumerate() {
        match delay_ms(frame.tokens) {
            0 => {}
            wait_ms => steps.push(Step::Wait(wait_ms)),
        }
        if !has_begun && frame.is_content {
            has_begun = true;
            steps.push(Step::Begun);
        }
        if last.is_empty() && index + 1 == kept {
            // Before the last byte, so that whoever has read the whole answer finds the cache as it was left.
            if !has_begun {
                steps.push(Step::Begun);
            }
            steps.push(Step::Ended);
        }
        steps.push(Step::Send(frame.bytes.clone()));
    }
    steps.extend(last);
    steps
}

/// How many frames are sent whole, and what comes instead of the rest.
fn break_off(frames: &[Frame], ending: Option<&Ending>, dialect: &Dialect) -> (usize, Vec<Step>) {
    match ending {
        None | Some(Ending::Status { .. } | Ending::CloseBeforeFirstByte) => (frames.len(), vec![]),
        Some(Ending::Cut { after, mid_line: false }) => {
            ((*after).min(frames.len()), vec![Step::Cut])
        }
        Some(Ending::Cut { after, mid_line: true }) => match frames.get(*after) {
            Some(next) => {
                let half = next.bytes.slice(..next.bytes.len() / 2);
                (*after, vec![Step::Send(half), Step::Cut])
            }
            None => (frames.len(), vec![Step::Cut]),
        },
        Some(Ending::ErrorEvent { after, kind }) => {
            let kept = (*after).min(frames.len());
            let events = frames[..kept].iter().filter(|frame| **frame != dialect.ping).count();
            (kept, vec![Step::Send((dialect.error)(kind, events).bytes)])
        }
        Some(Ending::Stall { after }) => ((*after).min(frames.len()), vec![Step::Stall]),
    }
}

/// The connection is closed on purpose; the HTTP server sees a body that failed.
#[derive(Debug, thiserror::Error)]
#[error("the scenario cuts the connection here")]
struct CutOnPurpose;

/// Plays a plan. `notify` is told of [`Step::Begun`] and [`Step::Ended`]. Shutting the server down ends a wait or a stall, and with it
/// the connection.
pub(crate) fn into_body(
    steps: Vec<Step>,
    notify: impl FnMut(Moment) + Send + 'static,
    stop: CancellationToken,
) -> Body {
    let state = (steps.into_iter(), notify, stop);
    Body::from_stream(stream::unfold(state, |(mut steps, mut notify, stop)| async move {
        loop {
            match steps.next()? {
                Step::Wait(wait_ms) => {
                    if !wait(wait_ms, &stop).await {
                        return Some((Err(CutOnPurpose), (steps, notify, stop)));
                    }
                }
                Step::Begun => notify(Moment::Begun),
                Step::Ended => notify(Moment::Ended),
                Step::Send(bytes) => return Some((Ok(bytes), (steps, notify, stop))),
                Step::Cut => {
                    // The server writes what it holds when the body has nothing ready, and drops it when the
                    // body fails: let it write first.
                    tokio::task::yield_now().await;
                    return Some((Err(CutOnPurpose), (steps, notify, stop)));
                }
                Step::Stall => {
                    stop.cancelled().await;
                    return Some((Err(CutOnPurpose), (steps, notify, stop)));
                }
            }
        }
    }))
}

/// A body that fails at once, so that the connection closes before a byte of the head is written.
pub(crate) fn closed_body() -> Body {
    Body::from_stream(stream::iter([Err::<Bytes, _>(CutOnPurpose)]))
}

/// Waits; `false` when the server is shut down meanwhile. Cancel-safe: nothing is lost with either branch.
pub(crate) async fn wait(wait_ms: u64, stop: &CancellationToken) -> bool {
    if wait_ms == 0 {
        return true;
    }
    tokio::select! {
        () = tokio::time::sleep(Duration::from_millis(wait_ms)) => true,
        () = stop.cancelled() => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(ending: Option<Ending>, pings: u32, visible_at: VisibleAt, expected: &str) {
        let frames = vec![Frame::new("start|"), Frame::content("body|", 1), Frame::new("stop|")];
        let dialect = Dialect {
            name: "test",
            ping: Frame::new("ping|"),
            error: |kind, after| Frame::new(format!("{kind}#{after}")),
        };
        let fault = Fault { ending, pings, ..Fault::default() };
        let steps = plan(frames, &dialect, Some(&fault), visible_at, |tokens| tokens * 10);
        let shown: Vec<String> = steps
            .iter()
            .map(|step| match step {
                Step::Send(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                Step::Wait(wait_ms) => format!("({wait_ms})"),
                other => format!("<{other:?}>"),
            })
            .collect();
        assert_eq!(shown.concat(), expected);
    }

    #[test]
    fn a_plan_breaks_off_where_the_fault_says() {
        let start = VisibleAt::ResponseStart;
        check(None, 0, start, "<Begun>start|(10)body|<Ended>stop|");
        check(None, 2, start, "<Begun>start|ping|ping|(10)body|<Ended>stop|");
        check(None, 0, VisibleAt::FirstContent, "start|(10)<Begun>body|<Ended>stop|");
        let cut = |after, mid_line| Some(Ending::Cut { after, mid_line });
        check(cut(1, false), 0, start, "<Begun>start|<Cut>");
        check(cut(1, true), 0, start, "<Begun>start|bo<Cut>");
        check(cut(9, true), 0, start, "<Begun>start|(10)body|stop|<Cut>");
        check(cut(1, false), 0, VisibleAt::FirstContent, "start|<Cut>");
        let error = |after| Some(Ending::ErrorEvent { after, kind: "api_error".into() });
        check(error(2), 0, start, "<Begun>start|(10)body|api_error#2");
        check(error(2), 1, start, "<Begun>start|ping|api_error#1");
        check(Some(Ending::Stall { after: 0 }), 0, start, "<Begun><Stall>");
    }
}
