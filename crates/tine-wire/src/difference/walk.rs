//! Two bodies, segment by segment.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::value::RawValue;
use tine_model::{Segment, WireFormat};

use super::pieces::{Message, same};
use super::prompt::{Prompt, Tool};

/// The first segment, in prompt order, in which two bodies of one format differ: settings, then tools one by one, the system
/// prompt, and messages block by block. Cache marks are left out, and so is what is no part of the prompt, such as the limit
/// of the reply and how it is delivered.
///
/// `None` when the prefix is intact: nothing differs, or `now` goes on where `before` ends, with more messages or with more
/// blocks in its last one. [`Segment::End`] when it is `now` that ends early. Messages are numbered as in the body; in
/// Responses from the first item behind the system prompt. A block that only one of the two has, or that is of another kind in
/// each, is called what it is in `now`, if it is there.
///
/// Bodies that are no JSON objects are compared as bytes; a difference is the setting `request`. What is allocated is
/// proportional to the bodies.
pub fn first_difference(format: WireFormat, before: &[u8], now: &[u8]) -> Option<Segment> {
    if before == now {
        return None;
    }
    match (Prompt::parse(format, before), Prompt::parse(format, now)) {
        (Some(before), Some(now)) => setting(&before, &now)
            .or_else(|| tool(&before, &now))
            .or_else(|| system(&before, &now))
            .or_else(|| messages(format, &before, &now)),
        (Some(_) | None, _) => Some(Segment::Setting("request".to_owned())),
    }
}

/// In the order of `before`, then what only `now` sets.
fn setting(before: &Prompt<'_>, now: &Prompt<'_>) -> Option<Segment> {
    let (old, new) = (by_name(before), by_name(now));
    let names = before.settings.iter().chain(&now.settings).map(|(name, _)| name.as_str());
    let mut differing = names.filter(|name| old.get(name) != new.get(name));
    differing.next().map(|name| Segment::Setting(name.to_owned()))
}

fn by_name<'a>(prompt: &'a Prompt<'_>) -> BTreeMap<&'a str, Vec<&'a Cow<'a, str>>> {
    let mut found: BTreeMap<&str, Vec<&Cow<'_, str>>> = BTreeMap::new();
    for (name, value) in &prompt.settings {
        found.entry(name).or_default().push(value);
    }
    found
}

fn tool(before: &Prompt<'_>, now: &Prompt<'_>) -> Option<Segment> {
    let most = before.tools.len().max(now.tools.len());
    let pair = |index: usize| (before.tools.get(index), now.tools.get(index));
    let differing = (0..most).map(pair).find(|pair| match pair {
        (Some(old), Some(new)) => !same(old.raw, new.raw) || old.name() != new.name(),
        (Some(_) | None, _) => true,
    });
    let name = match differing? {
        (Some(old), Some(new)) => {
            // A tool was taken out, or one was put in or changed.
            let gone = !now.tools.iter().any(|tool| tool.name() == old.name());
            let fresh = !before.tools.iter().any(|tool| tool.name() == new.name());
            if gone && !fresh { old.name() } else { new.name() }
        }
        (Some(tool), None) | (None, Some(tool)) => Tool::name(tool),
        (None, None) => return None,
    };
    Some(Segment::Tool(name))
}

fn system(before: &Prompt<'_>, now: &Prompt<'_>) -> Option<Segment> {
    let (old, new) = (&before.system, &now.system);
    let first = old.iter().zip(new).position(|(old, new)| !same(old, new));
    // Blocks that only one of the two has stand behind those of both.
    let first = first.or((old.len() != new.len()).then_some(old.len().min(new.len())))?;
    Some(Segment::System { block: (old.len().max(new.len()) > 1).then_some(first) })
}

fn messages(format: WireFormat, before: &Prompt<'_>, now: &Prompt<'_>) -> Option<Segment> {
    for (index, old) in before.messages.iter().enumerate() {
        let Some(new) = now.messages.get(index) else { return Some(Segment::End) };
        if old.get() == new.get() {
            continue;
        }
        let pair = Pair::read(format, old, new);
        let (block, kind) = match pair.compare(format) {
            Outcome::Same => continue,
            Outcome::Differ(block, kind) => (block, kind),
            Outcome::OldEnds(..) if index + 1 == before.messages.len() => return None,
            Outcome::NewEnds(..) if index + 1 == now.messages.len() => return Some(Segment::End),
            Outcome::OldEnds(block, kind) | Outcome::NewEnds(block, kind) => (block, kind),
        };
        return Some(Segment::Block { message: before.first + index, block, kind });
    }
    None
}

/// The same message of both bodies.
struct Pair<'a> {
    old: Message<'a>,
    new: Message<'a>,
}

/// How the two compare; with the number of the block and what it is.
enum Outcome {
    Same,
    Differ(usize, String),
    OldEnds(usize, String),
    NewEnds(usize, String),
}

impl<'a> Pair<'a> {
    fn read(format: WireFormat, old: &'a RawValue, new: &'a RawValue) -> Self {
        Self { old: Message::read(format, old), new: Message::read(format, new) }
    }

    fn compare(&self, format: WireFormat) -> Outcome {
        let (old, new) = (&self.old, &self.new);
        if old.envelope != new.envelope {
            return Outcome::Differ(0, new.kind(format, 0));
        }
        let pairs = || old.pieces.iter().zip(&new.pieces);
        if let Some(block) = pairs().position(|(old, new)| !old.is(new)) {
            let kind = new.kind(format, block);
            let sealed = format == WireFormat::Gemini || kind == "thinking";
            let in_seal = old.pieces[block].differs_in_seal(&new.pieces[block]);
            let kind = if sealed && in_seal { "thinking signature".to_owned() } else { kind };
            return Outcome::Differ(block, kind);
        }
        let common = pairs().count();
        match old.pieces.len().cmp(&new.pieces.len()) {
            std::cmp::Ordering::Equal => Outcome::Same,
            std::cmp::Ordering::Less => Outcome::OldEnds(common, new.kind(format, common)),
            std::cmp::Ordering::Greater => Outcome::NewEnds(common, old.kind(format, common)),
        }
    }
}
