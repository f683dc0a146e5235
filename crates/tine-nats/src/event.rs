//! Events of a fork, as they stand on `agent.fork.<run_id>.events`: [CloudEvents 1.0](https://github.com/cloudevents/spec) in JSON.
//!
//! | type | says |
//! |---|---|
//! | `tine.fork.started.v1` | a worker has the run now; a later one of the same run means that another has taken it over |
//! | `tine.fork.request.v1` | a request to the model goes out |
//! | `tine.fork.text.v1` | what the model says, in pieces of a second or more |
//! | `tine.fork.entry.v1` | a message that belongs into the fork's log |
//! | `tine.fork.tool.v1` | a tool call begins, or has its result |
//! | `tine.fork.question.v1` | a call waits for a person's word |
//! | `tine.fork.answer.v1` | that word |
//! | `tine.fork.cost.v1` | what an answered request has used |
//! | `tine.fork.report.v1` | the fork's last words |
//! | `tine.fork.ended.v1` | the fork has ended; nothing comes after it |
//!
//! They come in this order: what a tool call does comes between the entry that holds the call and the entry that holds its result. The
//! extension attributes `sequence` (counts a run's events from 1), `attempt` (counts the workers that have had the run) and `traceparent`
//! (W3C Trace Context) stand beside those of CloudEvents. A reader passes over types that it does not know.

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use tine_fork::ForkRunId;
use tine_model::Usage;

use crate::blob::BlobHash;
use crate::error::ClusterError;

/// The word for an event in errors.
const AN_EVENT: &str = "an event";

/// An event as it is written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    specversion: String,
    /// Unique among the events of its source.
    pub id: String,
    /// The worker: `/tine/workers/<name>`.
    pub source: String,
    /// The run.
    pub subject: String,
    #[serde(rename = "type")]
    kind: String,
    time: String,
    datacontenttype: String,
    /// Its number in the run, from 1.
    pub sequence: u64,
    /// The number of workers that have had the run, this one included.
    pub attempt: u32,
    /// The place in a trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<String>,
    /// The blob with the data, where they are too long for a message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) datablob: Option<BlobHash>,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub(crate) data: Value,
}

/// The occurrence that an event tells of.
#[derive(Debug, Clone, PartialEq)]
pub enum Happened {
    /// A worker has the run now.
    Started(Started),
    /// A request goes out.
    Request(RequestSent),
    /// The model has said this.
    Text(Text),
    /// A message for the log.
    Entry(Entry),
    /// A tool call begins or ends.
    Tool(Tool),
    /// A call waits for a word.
    Question(Question),
    /// That word.
    Answer(Answer),
    /// Use of an answered request.
    Cost(Cost),
    /// The last words.
    Report(Text),
    /// The end.
    Ended(Ended),
    /// Something that this version does not know.
    Unknown,
}

/// A worker has the run now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Started {
    /// The worker's name.
    pub worker: String,
}

/// A request goes out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RequestSent {
    /// Counts the run's requests from 1.
    pub turn: u32,
}

/// Words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Text {
    /// The words; a piece of a text goes on where the one before it ended.
    pub text: String,
}

/// A message for the log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The message, in the form in which those who started the fork keep it.
    pub entry: Value,
}

/// A tool call begins or ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tool {
    /// The call's id.
    pub call: String,
    /// The tool.
    pub tool: String,
    /// The state of the call.
    pub state: ToolState,
    /// Returns true where it failed, or was refused. Only of one that has ended.
    #[serde(default)]
    pub is_error: bool,
}

/// The state of a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolState {
    /// It begins.
    Started,
    /// It has its result.
    Finished,
}

/// A call waits for a person's word.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// Tells the questions of a run apart.
    pub question: String,
    /// The call's id.
    pub call: String,
    /// The tool.
    pub tool: String,
    /// The call in words.
    pub what: String,
    /// All that is known of it, in the form of those who started the fork.
    pub detail: Value,
}

/// A person's word.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The question.
    pub question: String,
    /// `allow` or `deny`; `withdrawn` where nobody wants to know any more.
    pub decision: String,
}

/// Use of an answered request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Identity of the request: one that comes twice counts once.
    pub request: String,
    /// Its tokens.
    pub tokens: Tokens,
    /// All that is known of it, in the form of those who started the fork.
    pub detail: Value,
}

/// Tokens of a request: the whole prompt is the sum of `uncached`, `read` and `written_…`. What the provider did not report is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens {
    /// Of the prompt, neither read from the cache nor written to it.
    pub uncached: u64,
    /// Of the prompt, read from the cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<u64>,
    /// Of the prompt, written to the cache at the short lifetime.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_short: Option<u64>,
    /// Of the prompt, written to the cache at the long lifetime.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_long: Option<u64>,
    /// Generated, reasoning included.
    pub output: u64,
    /// Generated, the reasoning alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<u64>,
}

impl From<Usage> for Tokens {
    fn from(usage: Usage) -> Self {
        let Usage { uncached, write_short, write_long, read, output, reasoning } = usage;
        Self {
            uncached,
            read,
            written_short: write_short,
            written_long: write_long,
            output,
            reasoning,
        }
    }
}

impl From<Tokens> for Usage {
    fn from(tokens: Tokens) -> Self {
        let Tokens { uncached, read, written_short, written_long, output, reasoning } = tokens;
        Self {
            uncached,
            read,
            write_short: written_short,
            write_long: written_long,
            output,
            reasoning,
        }
    }
}

/// The end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ended {
    /// The outcome's word, as in the log: `completed`, `failed` and so on.
    pub outcome: String,
    /// The error of a failed one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// All that is known of it, in the form of those who started the fork.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub detail: Value,
}

impl Happened {
    /// The type attribute.
    fn kind(&self) -> &'static str {
        match self {
            Self::Started(_) => "tine.fork.started.v1",
            Self::Request(_) => "tine.fork.request.v1",
            Self::Text(_) => "tine.fork.text.v1",
            Self::Entry(_) => "tine.fork.entry.v1",
            Self::Tool(_) => "tine.fork.tool.v1",
            Self::Question(_) => "tine.fork.question.v1",
            Self::Answer(_) => "tine.fork.answer.v1",
            Self::Cost(_) => "tine.fork.cost.v1",
            Self::Report(_) => "tine.fork.report.v1",
            Self::Ended(_) => "tine.fork.ended.v1",
            Self::Unknown => "tine.fork.unknown.v1",
        }
    }

    fn data(&self) -> Result<Value, serde_json::Error> {
        match self {
            Self::Started(data) => serde_json::to_value(data),
            Self::Request(data) => serde_json::to_value(data),
            Self::Text(data) | Self::Report(data) => serde_json::to_value(data),
            Self::Entry(data) => serde_json::to_value(data),
            Self::Tool(data) => serde_json::to_value(data),
            Self::Question(data) => serde_json::to_value(data),
            Self::Answer(data) => serde_json::to_value(data),
            Self::Cost(data) => serde_json::to_value(data),
            Self::Ended(data) => serde_json::to_value(data),
            Self::Unknown => Ok(Value::Null),
        }
    }
}

/// The one who writes, and where its next event stands.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) run: ForkRunId,
    pub(crate) worker: String,
    pub(crate) sequence: u64,
    pub(crate) attempt: u32,
    /// Random: tells writers apart that have the same name and are at the same place.
    pub(crate) claim: u64,
    pub(crate) traceparent: Option<String>,
}

impl Event {
    /// The event at a place, at a time in milliseconds since the Unix epoch.
    pub(crate) fn new(
        place: &Place,
        happened: &Happened,
        now_ms: i64,
    ) -> Result<Self, ClusterError> {
        let unreadable = |source| ClusterError::Unreadable { what: AN_EVENT, source };
        let Place { run, worker, sequence, attempt, claim, traceparent } = place;
        Ok(Self {
            specversion: "1.0".to_owned(),
            id: format!("{run}/{attempt}/{sequence}/{claim:016x}"),
            source: format!("/tine/workers/{worker}"),
            subject: run.to_string(),
            kind: happened.kind().to_owned(),
            time: rfc3339(now_ms),
            datacontenttype: "application/json".to_owned(),
            sequence: *sequence,
            attempt: *attempt,
            traceparent: traceparent.clone(),
            datablob: None,
            data: happened.data().map_err(unreadable)?,
        })
    }

    /// Reads a message.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, ClusterError> {
        serde_json::from_slice(bytes)
            .map_err(|source| ClusterError::Unreadable { what: AN_EVENT, source })
    }

    pub(crate) fn to_bytes(&self) -> Result<Vec<u8>, ClusterError> {
        serde_json::to_vec(self)
            .map_err(|source| ClusterError::Unreadable { what: AN_EVENT, source })
    }

    /// The occurrence. Types that this version does not know are [`Happened::Unknown`].
    pub fn happened(&self) -> Result<Happened, ClusterError> {
        Ok(match self.kind.as_str() {
            "tine.fork.started.v1" => Happened::Started(self.data_as()?),
            "tine.fork.request.v1" => Happened::Request(self.data_as()?),
            "tine.fork.text.v1" => Happened::Text(self.data_as()?),
            "tine.fork.entry.v1" => Happened::Entry(self.data_as()?),
            "tine.fork.tool.v1" => Happened::Tool(self.data_as()?),
            "tine.fork.question.v1" => Happened::Question(self.data_as()?),
            "tine.fork.answer.v1" => Happened::Answer(self.data_as()?),
            "tine.fork.cost.v1" => Happened::Cost(self.data_as()?),
            "tine.fork.report.v1" => Happened::Report(self.data_as()?),
            "tine.fork.ended.v1" => Happened::Ended(self.data_as()?),
            _ => Happened::Unknown,
        })
    }

    fn data_as<T: DeserializeOwned>(&self) -> Result<T, ClusterError> {
        T::deserialize(&self.data)
            .map_err(|source| ClusterError::Unreadable { what: AN_EVENT, source })
    }

    /// Returns true where it was written by the same writer at the same place.
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.source == other.source && self.id == other.id
    }

    /// Its time by its writer's clock, in milliseconds since the Unix epoch. `None` where it is none.
    pub fn time_ms(&self) -> Option<i64> {
        let at = OffsetDateTime::parse(&self.time, &Rfc3339).ok()?;
        i64::try_from(at.unix_timestamp_nanos() / 1_000_000).ok()
    }

    /// The worker that has written it.
    pub fn worker(&self) -> &str {
        self.source.rsplit('/').next().unwrap_or_default()
    }

    /// Returns true for the last event of a run.
    pub fn is_end(&self) -> bool {
        self.kind == "tine.fork.ended.v1"
    }
}

/// The time as CloudEvents has it; the epoch where it cannot be said.
fn rfc3339(now_ms: i64) -> String {
    let at = OffsetDateTime::from_unix_timestamp_nanos(i128::from(now_ms) * 1_000_000);
    at.ok().and_then(|at| at.format(&Rfc3339).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> Place {
        Place {
            run: ForkRunId::from_random([7; 16]),
            worker: "north".to_owned(),
            sequence: 3,
            attempt: 1,
            claim: 0x2a,
            traceparent: Some("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".to_owned()),
        }
    }

    #[test]
    fn an_event_is_a_cloud_event() {
        let text = Happened::Text(Text { text: "It is high tide.".to_owned() });
        let event = Event::new(&place(), &text, 1_790_000_000_123).unwrap();
        insta::assert_snapshot!(serde_json::to_string_pretty(&event).unwrap(), @r#"
        {
          "specversion": "1.0",
          "id": "07070707-0707-4707-8707-070707070707/1/3/000000000000002a",
          "source": "/tine/workers/north",
          "subject": "07070707-0707-4707-8707-070707070707",
          "type": "tine.fork.text.v1",
          "time": "2026-09-21T14:13:20.123Z",
          "datacontenttype": "application/json",
          "sequence": 3,
          "attempt": 1,
          "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
          "data": {
            "text": "It is high tide."
          }
        }
        "#);
        let read = Event::read(&event.to_bytes().unwrap()).unwrap();
        assert_eq!(read, event);
        assert_eq!(read.happened().unwrap(), text);
        assert_eq!((read.worker(), read.time_ms()), ("north", Some(1_790_000_000_123)));
    }

    #[test]
    fn a_type_of_a_newer_version_is_passed_over_and_data_that_do_not_fit_are_an_error() {
        let mut event = Event::new(&place(), &Happened::Unknown, 0).unwrap();
        event.kind = "tine.fork.moved.v3".to_owned();
        assert_eq!(event.happened().unwrap(), Happened::Unknown);
        event.kind = "tine.fork.text.v1".to_owned();
        assert!(event.happened().is_err());
        assert!(Event::read(b"{}").is_err() && Event::read(b"\xff").is_err());
    }
}
