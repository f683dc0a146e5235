//! What is known of one request's cache, as the store keeps it: opaque to the store, read again for reports and when the next
//! process goes on where this one left off.

use serde::{Deserialize, Serialize};
use tine_fork::cache::CacheRecord;
use tine_model::{Boundary, BoundaryKind, Lifetime};
use tine_wire::Diagnosis;

/// One request's cache.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CacheNote {
    /// Tokens that should have been read.
    pub expected: u64,
    /// Whether a provider's own numbers stand behind `expected`, or an estimate.
    pub exact: bool,
    /// Tokens that were read; `None` when the provider did not say.
    pub read: Option<u64>,
    /// Tokens that should have been read and were not.
    pub missed: u64,
    /// What missing them cost, in USD.
    pub missed_usd: Option<f64>,
    /// Where the request parts from the lineage's last one.
    pub difference: Option<String>,
    /// The verdict in a sentence.
    pub why: String,
    /// Tokens of the whole prompt, as expected.
    pub total: u64,
    /// The places, in order.
    pub places: Vec<PlaceNote>,
    /// What the provider says.
    pub vendor: Option<VendorNote>,
    /// Reasoning that the provider left out: where, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<(String, String)>,
    /// From sending to the first event of the reply, in milliseconds.
    pub first_event_ms: Option<u64>,
}

/// One place up to which the request could be held.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlaceNote {
    /// What it closes: `head`, `anchor`, `fork point`, `middle`, `tail`.
    pub kind: String,
    /// Messages up to here.
    pub items: usize,
    /// Bytes up to here.
    pub bytes: u64,
    /// Tokens up to here, as known or estimated.
    pub tokens: u64,
    /// Whether that is a count of the provider's and not an estimate.
    #[serde(default)]
    pub exact: bool,
    /// What was known of an entry here before the request: `live`, `expired`, `in flight`, `none`.
    pub state: String,
    /// The lifetime that the request asked for here; `None` where it asked for nothing.
    pub mark: Option<String>,
    /// Identity of everything up to here, in hexadecimal.
    pub hash: String,
}

/// The provider's own diagnosis.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VendorNote {
    /// `hit`, `miss`, `pending`, `not_found` or `unavailable`.
    pub answer: String,
    /// In the provider's word.
    pub reason: Option<String>,
    /// As the provider estimates.
    pub missed_tokens: Option<u64>,
}

impl CacheNote {
    pub(crate) fn of(record: &CacheRecord) -> Self {
        let (expectation, judgement) = (&record.expectation, &record.judgement);
        let places = record.boundaries.iter().filter(|b| b.kind != BoundaryKind::Message);
        Self {
            expected: judgement.expected_read,
            exact: expectation.exact,
            read: judgement.read,
            missed: judgement.missed,
            missed_usd: judgement.cost_of_miss,
            difference: judgement.verdict.segment().map(ToString::to_string),
            why: judgement.why.clone(),
            total: expectation.total,
            places: places.map(|boundary| place(record, boundary)).collect(),
            vendor: record.diagnosis.as_ref().map(vendor),
            dropped: record.dropped.iter().map(|d| (d.place.clone(), d.reason.clone())).collect(),
            first_event_ms: record.first_event.map(|time| time.as_millis() as u64),
        }
    }

    pub(crate) fn to_text(&self) -> String {
        // Plain fields only: this cannot fail.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads a stored note; one of another version is no note.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// The places as boundaries, for comparing with a later request.
    pub(crate) fn boundaries(&self) -> Vec<Boundary> {
        let read = |place: &PlaceNote| {
            let mut hash = [0; 32];
            let digits = place.hash.as_bytes();
            for (byte, pair) in hash.iter_mut().zip(digits.chunks_exact(2)) {
                *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
            }
            Some(Boundary {
                kind: BoundaryKind::from_name(&place.kind)?,
                hash,
                bytes: place.bytes,
                items: place.items,
                back: 0,
                mark: place.mark.as_deref().and_then(Lifetime::from_name),
            })
        };
        self.places.iter().filter_map(read).collect()
    }
}

fn place(record: &CacheRecord, boundary: &Boundary) -> PlaceNote {
    let known = record.expectation.places.iter().find(|place| place.kind == boundary.kind);
    // What the answer has taught is better than what was known before.
    let learnt = record.entries.iter().find(|entry| entry.hash == boundary.hash);
    let (tokens, exact) = learnt
        .map(|entry| (entry.tokens, entry.exact))
        .or(known.map(|place| (place.tokens, place.exact)))
        .unwrap_or_default();
    PlaceNote {
        kind: boundary.kind.as_str().to_owned(),
        items: boundary.items,
        bytes: boundary.bytes,
        tokens,
        exact,
        state: known.map_or("none", |place| place.state.as_str()).to_owned(),
        mark: boundary.mark.map(|lifetime| lifetime.as_str().to_owned()),
        hash: boundary.hash.iter().map(|byte| format!("{byte:02x}")).collect(),
    }
}

fn vendor(diagnosis: &Diagnosis) -> VendorNote {
    let plain =
        |answer: &str| VendorNote { answer: answer.to_owned(), reason: None, missed_tokens: None };
    match diagnosis {
        Diagnosis::Hit => plain("hit"),
        Diagnosis::Pending => plain("pending"),
        Diagnosis::NotFound => plain("not_found"),
        Diagnosis::Unavailable => plain("unavailable"),
        Diagnosis::Miss { reason, missed_tokens } => VendorNote {
            reason: Some(reason.clone()),
            missed_tokens: *missed_tokens,
            ..plain("miss")
        },
    }
}
