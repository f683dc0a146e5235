//! What may go wrong with an answer on purpose. This is the description only; `stream.rs` and `server.rs` act on it.

use serde::Deserialize;

use crate::draw::draw;

/// A fault of one rule, as written under `[turn.fault]`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "RawFault")]
pub(crate) struct Fault {
    /// Only the first so many matching requests meet the fault.
    pub(crate) times: Option<u32>,
    /// Only so many of a hundred matching requests meet it, drawn by the scenario's seed.
    pub(crate) percent: Option<u8>,
    /// Only matching requests meet it that come within so many milliseconds of the first.
    pub(crate) within_ms: Option<u64>,
    /// How the exchange ends, if not well.
    pub(crate) ending: Option<Ending>,
    /// Silence before the first byte.
    pub(crate) first_byte_ms: u64,
    /// Keep-alive events after the first event.
    pub(crate) pings: u32,
    /// Event and block types that no client knows yet.
    pub(crate) unknown_events: bool,
    /// The input of every tool call is cut short, so that it is not JSON.
    pub(crate) broken_tool_input: bool,
    /// The answer does not report its usage.
    pub(crate) no_usage: bool,
}

/// How often a rule's fault came up.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct FaultUse {
    /// Requests that matched.
    asked: u64,
    /// Requests that met it.
    met: u32,
    /// When the first matched, in milliseconds since the Unix epoch.
    first_ms: Option<u64>,
}

impl Fault {
    /// Whether the next matching request meets it.
    pub(crate) fn strikes(&self, used: &mut FaultUse, sequence: u64, now_ms: u64) -> bool {
        let since = now_ms.saturating_sub(*used.first_ms.get_or_insert(now_ms));
        used.asked += 1;
        let strikes = self.times.is_none_or(|times| used.met < times)
            && self.within_ms.is_none_or(|within| since < within)
            && self
                .percent
                .is_none_or(|percent| draw(sequence, used.asked) * 100.0 < f64::from(percent));
        used.met += u32::from(strikes);
        strikes
    }
}

/// How an exchange ends badly. Events are counted from the start of the stream; one line or block of a stream is one
/// event, keep-alives included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ending {
    /// An error instead of an answer.
    Status { status: u16, retry_after: Option<u64>, body: ErrorBody },
    /// The connection is closed and nothing was sent.
    CloseBeforeFirstByte,
    /// The connection is closed after some events, perhaps in the middle of the next.
    Cut { after: usize, mid_line: bool },
    /// An error inside a stream that began well.
    ErrorEvent { after: usize, kind: String },
    /// Nothing more is sent, and the connection stays open.
    Stall { after: usize },
}

/// Who seems to speak in an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ErrorBody {
    /// The vendor, in its own format.
    Vendor(Option<String>),
    /// A proxy on the way, in HTML.
    Html,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFault {
    times: Option<u32>,
    percent: Option<u8>,
    within_ms: Option<u64>,
    status: Option<u16>,
    retry_after: Option<u64>,
    message: Option<String>,
    #[serde(default)]
    html: bool,
    #[serde(default)]
    close_before_first_byte: bool,
    cut_after_events: Option<usize>,
    #[serde(default)]
    cut_mid_line: bool,
    error_event_after: Option<usize>,
    error_event: Option<String>,
    stall_after_events: Option<usize>,
    #[serde(default)]
    first_byte_ms: u64,
    #[serde(default)]
    pings: u32,
    #[serde(default)]
    unknown_events: bool,
    #[serde(default)]
    broken_tool_input: bool,
    #[serde(default)]
    no_usage: bool,
}

/// What is wrong with a fault.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FaultError {
    #[error(
        "a fault ends in one way only: give one of `status`, `close_before_first_byte`, `cut_after_events`, `error_event_after`, `stall_after_events`"
    )]
    TwoEndings,
    #[error("`{option}` needs `{needs}`")]
    Needs { option: &'static str, needs: &'static str },
    #[error("`status` is an error status, 400 to 599, not {0}")]
    Status(u16),
    #[error("a fault needs at least one thing that goes wrong")]
    Nothing,
    #[error("`html` is a proxy's page and takes no `message`")]
    HtmlMessage,
    #[error("more than {PINGS_MAX} `pings`")]
    Pings,
    #[error("`percent` is from 1 to 100")]
    Percent,
}

/// Pings of one answer; they are built in memory.
const PINGS_MAX: u32 = 10_000;

impl TryFrom<RawFault> for Fault {
    type Error = FaultError;

    fn try_from(raw: RawFault) -> Result<Self, FaultError> {
        raw.check_options()?;
        let body = if raw.html { ErrorBody::Html } else { ErrorBody::Vendor(raw.message) };
        let endings = [
            raw.status.map(|status| Ending::Status { status, retry_after: raw.retry_after, body }),
            raw.close_before_first_byte.then_some(Ending::CloseBeforeFirstByte),
            raw.cut_after_events.map(|after| Ending::Cut { after, mid_line: raw.cut_mid_line }),
            raw.error_event_after.map(|after| Ending::ErrorEvent {
                after,
                kind: raw.error_event.unwrap_or_else(|| "overloaded_error".to_owned()),
            }),
            raw.stall_after_events.map(|after| Ending::Stall { after }),
        ];
        let mut endings = endings.into_iter().flatten();
        let ending = endings.next();
        if endings.next().is_some() {
            return Err(FaultError::TwoEndings);
        }
        let fault = Self {
            times: raw.times,
            percent: raw.percent,
            within_ms: raw.within_ms,
            ending,
            first_byte_ms: raw.first_byte_ms,
            pings: raw.pings,
            unknown_events: raw.unknown_events,
            broken_tool_input: raw.broken_tool_input,
            no_usage: raw.no_usage,
        };
        let Self { times, percent, within_ms, .. } = fault;
        if fault == (Self { times, percent, within_ms, ..Self::default() }) {
            Err(FaultError::Nothing)
        } else {
            Ok(fault)
        }
    }
}

impl RawFault {
    fn check_options(&self) -> Result<(), FaultError> {
        let needs = |given: bool, option, needs| {
            if given { Err(FaultError::Needs { option, needs }) } else { Ok(()) }
        };
        let no_status = self.status.is_none();
        needs(no_status && self.retry_after.is_some(), "retry_after", "status")?;
        needs(no_status && self.message.is_some(), "message", "status")?;
        needs(no_status && self.html, "html", "status")?;
        let no_cut = self.cut_after_events.is_none();
        needs(no_cut && self.cut_mid_line, "cut_mid_line", "cut_after_events")?;
        let no_error = self.error_event_after.is_none();
        needs(no_error && self.error_event.is_some(), "error_event", "error_event_after")?;
        match self.status {
            Some(status) if !(400..600).contains(&status) => Err(FaultError::Status(status)),
            _ if self.html && self.message.is_some() => Err(FaultError::HtmlMessage),
            _ if self.pings > PINGS_MAX => Err(FaultError::Pings),
            _ if self.percent.is_some_and(|percent| !(1..=100).contains(&percent)) => {
                Err(FaultError::Percent)
            }
            _ => Ok(()),
        }
    }
}
