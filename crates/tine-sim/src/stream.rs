//! The plan of a response body: which bytes leave when, and where it breaks off. Plans are pure; [`into_body`] plays one.

use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use tokio_util::sync::CancellationToken;

use crate::fault::{Ending, Fault};
use crate::profile::DELTA_BYTES;
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

/// What a plan consists of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    Wait(u64),
    /// What the request wrote to the cache becomes readable.
    Publish,
    Send(Bytes),
    /// The connection is closed without an end of the body.
    Cut,
    /// Nothing more happens until the client or the server goes away.
    Stall,
}

/// The pieces of a format that faults need.
pub(crate) struct Dialect {
    /// A keep-alive.
    pub(crate) ping: Frame,
    /// An error of the given kind, inside a stream.
    pub(crate) error: fn(&str) -> Frame,
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
    let mut is_published = visible_at == VisibleAt::ResponseStart;
    if is_published {
        steps.push(Step::Publish);
    }
    for frame in &frames[..kept] {
        match delay_ms(frame.tokens) {
            0 => {}
            wait_ms => steps.push(Step::Wait(wait_ms)),
        }
        if !is_published && frame.is_content {
            is_published = true;
            steps.push(Step::Publish);
        }
        steps.push(Step::Send(frame.bytes.clone()));
    }
    if !is_published && last.is_empty() {
        steps.push(Step::Publish);
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
            ((*after).min(frames.len()), vec![Step::Send((dialect.error)(kind).bytes)])
        }
        Some(Ending::Stall { after }) => ((*after).min(frames.len()), vec![Step::Stall]),
    }
}

/// The connection is closed on purpose; the HTTP server sees a body that failed.
#[derive(Debug, thiserror::Error)]
#[error("the scenario cuts the connection here")]
struct CutOnPurpose;

/// Plays a plan. `publish` is called at [`Step::Publish`]. Shutting the server down ends a wait or a stall, and with it
/// the connection.
pub(crate) fn into_body(
    steps: Vec<Step>,
    publish: impl FnOnce() + Send + 'static,
    stop: CancellationToken,
) -> Body {
    let state = (steps.into_iter(), Some(publish), stop);
    Body::from_stream(stream::unfold(state, |(mut steps, mut publish, stop)| async move {
        loop {
            match steps.next()? {
                Step::Wait(wait_ms) => {
                    if !wait(wait_ms, &stop).await {
                        return Some((Err(CutOnPurpose), (steps, publish, stop)));
                    }
                }
                Step::Publish => {
                    if let Some(publish) = publish.take() {
                        publish();
                    }
                }
                Step::Send(bytes) => return Some((Ok(bytes), (steps, publish, stop))),
                Step::Cut => {
                    // The server writes what it holds when the body has nothing ready, and drops it when the
                    // body fails: let it write first.
                    tokio::task::yield_now().await;
                    return Some((Err(CutOnPurpose), (steps, publish, stop)));
                }
                Step::Stall => {
                    stop.cancelled().await;
                    return Some((Err(CutOnPurpose), (steps, publish, stop)));
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
        let dialect = Dialect { ping: Frame::new("ping|"), error: |kind| Frame::new(kind) };
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
        check(None, 0, start, "<Publish>start|(10)body|stop|");
        check(None, 2, start, "<Publish>start|ping|ping|(10)body|stop|");
        check(None, 0, VisibleAt::FirstContent, "start|(10)<Publish>body|stop|");
        let cut = |after, mid_line| Some(Ending::Cut { after, mid_line });
        check(cut(1, false), 0, start, "<Publish>start|<Cut>");
        check(cut(1, true), 0, start, "<Publish>start|bo<Cut>");
        check(cut(9, true), 0, start, "<Publish>start|(10)body|stop|<Cut>");
        check(cut(1, false), 0, VisibleAt::FirstContent, "start|<Cut>");
        let error = Ending::ErrorEvent { after: 2, kind: "api_error".into() };
        check(Some(error), 0, start, "<Publish>start|(10)body|api_error");
        check(Some(Ending::Stall { after: 0 }), 0, start, "<Publish><Stall>");
    }
}
