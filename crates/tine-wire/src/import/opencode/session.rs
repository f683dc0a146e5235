//! The messages of an export, and which of them still count.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::part::Part;
use crate::import::Counts;
use crate::import::lines::{flag, member, object, text};

/// One message as it stands there.
#[derive(Deserialize)]
pub(super) struct Shape<'a> {
    #[serde(borrow)]
    info: &'a RawValue,
    parts: Vec<&'a RawValue>,
}

/// Who speaks.
#[derive(Debug, Clone)]
pub(super) enum Speaker {
    User,
    Assistant { model: Option<String>, failed: Failed },
}

/// Whether an answer came to a good end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Failed {
    No,
    /// The user stopped it.
    Stopped,
    /// There was an error, and nothing of it was sent again.
    Yes,
}

/// One message.
#[derive(Debug, Clone)]
pub(super) struct Said {
    id: Option<String>,
    pub(super) speaker: Speaker,
    is_summary: bool,
    pub(super) parts: Vec<Part>,
    /// The ids of the parts.
    part_ids: Vec<Option<String>>,
}

impl Said {
    /// `None` for what is said by nobody.
    pub(super) fn of(shape: &Shape<'_>) -> Option<Self> {
        #[derive(Deserialize)]
        struct Info<'a> {
            #[serde(borrow)]
            id: Option<&'a RawValue>,
            role: Option<&'a RawValue>,
            #[serde(rename = "modelID")]
            model: Option<&'a RawValue>,
            #[serde(rename = "providerID")]
            provider: Option<&'a RawValue>,
            summary: Option<&'a RawValue>,
            error: Option<&'a RawValue>,
        }
        let info: Info<'_> = object(shape.info.get())?;
        let speaker = match text(info.role)?.as_str() {
            "user" => Speaker::User,
            "assistant" => {
                let model = text(info.model).map(|model| match text(info.provider) {
                    Some(provider) => format!("{provider}/{model}"),
                    None => model,
                });
                Speaker::Assistant { model, failed: failed(info.error) }
            }
            _ => return None,
        };
        Some(Self {
            id: text(info.id),
            speaker,
            is_summary: flag(info.summary),
            parts: shape.parts.iter().map(|raw| Part::of(raw)).collect(),
            part_ids: shape.parts.iter().map(|raw| text(member(raw, "id"))).collect(),
        })
    }

    fn is_user(&self) -> bool {
        matches!(self.speaker, Speaker::User)
    }
}

fn failed(error: Option<&RawValue>) -> Failed {
    let Some(error) = error else { return Failed::No };
    match text(member(error, "name")).as_deref() {
        Some("MessageAbortedError") => Failed::Stopped,
        Some(_) | None => Failed::Yes,
    }
}

/// Leaves out what the user took back: everything from a message, or from a part of it, on.
pub(super) fn take_back(info: &RawValue, said: &mut Vec<Said>, left_out: &mut Counts) {
    let Some(revert) = member(info, "revert") else { return };
    let Some(message) = text(member(revert, "messageID")) else { return };
    let is_it = |other: &Said| other.id.as_ref() == Some(&message);
    let Some(mut place) = said.iter().position(is_it) else { return };
    if let (Some(part), Some(first)) = (text(member(revert, "partID")), said.get_mut(place)) {
        let kept = first.part_ids.iter().position(|id| id.as_ref() == Some(&part)).unwrap_or(0);
        first.parts.truncate(kept);
        place += usize::from(kept > 0);
    }
    left_out.add_many("taken back", said.len().saturating_sub(place) as u64);
    said.truncate(place);
}

/// Begins at the question that the last summary answers, and says how many messages stood before it: none of them was sent any
/// more. `None` without a summary, and while the only one is not written yet.
pub(super) fn start_at_summary(said: &mut Vec<Said>) -> Option<usize> {
    let is_summary = |message: &Said| {
        message.is_summary
            && matches!(message.speaker, Speaker::Assistant { failed: Failed::No, .. })
            && message.parts.iter().any(Part::is_heard)
    };
    let summary = said.iter().rposition(is_summary)?;
    let start = said[..summary].iter().rposition(Said::is_user).unwrap_or(summary);
    said.drain(..start);
    Some(start)
}

/// Whether later requests held an answer. One that failed is left out, but what was said before the user stopped it counts.
pub(super) fn is_sent(failed: Failed, parts: &[Part]) -> bool {
    match failed {
        Failed::No => true,
        Failed::Stopped => parts.iter().any(Part::is_heard),
        Failed::Yes => false,
    }
}
