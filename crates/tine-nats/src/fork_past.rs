//! The part of a fork that workers before this one have done, read of its record.

use std::collections::HashSet;
use std::time::Duration;

use tine_fork::Outcome;
use tine_fork::message::{Block, Message, Role, ToolCallId};

use crate::error::ClusterError;
use crate::event::{Event, Happened, ToolState};
use crate::fork_events::{CUT, CostDetail, NO_ROOM, PAUSED, REFUSAL};
use crate::fork_job::read_message;

/// The result of a call that had begun when its worker was lost, in the words of the turn loop.
const CUT_OFF: &str =
    "The run was cut off during this call; whether it was carried out is not known.";

/// The result of a call that had not begun.
const NEVER_BEGAN: &str = "The run was cut off before this call began; it was not carried out.";

/// The end of a fork that can neither go on nor was done.
const PAUSED_ALONE: &str = "the worker was lost behind a reply that its provider had paused";

/// The end of a fork whose conversation does not fit its model.
const TOO_LONG: &str = "the conversation no longer fits the model";

/// The part of a fork that stands in its record.
#[derive(Default)]
pub(crate) struct Past {
    /// Its messages.
    pub(crate) messages: Vec<Message>,
    /// Requests that went out.
    pub(crate) requests: u32,
    /// When its first worker began, by that worker's clock.
    began_ms: Option<i64>,
    /// Calls that have begun.
    begun: HashSet<String>,
    /// The reason for which the last reply stopped, where that is known.
    stop: Option<String>,
    /// True where events are gone.
    pub(crate) has_gaps: bool,
}

/// The next step of a fork.
pub(crate) enum Next {
    /// It goes on with these messages as its prompt; so many of them stand in its record.
    GoOn { prompt: Vec<Message>, known: usize },
    /// It was done, and nobody said so.
    Over(Outcome),
}

impl Past {
    /// Reads all events of a run.
    pub(crate) fn read(events: &[Event]) -> Result<Self, ClusterError> {
        let mut past = Self::default();
        for (event, expected) in events.iter().zip(1..) {
            past.has_gaps |= event.sequence != expected;
            past.began_ms = past.began_ms.or_else(|| event.time_ms());
            match event.happened()? {
                Happened::Request(_) => past.requests += 1,
                Happened::Entry(entry) => {
                    let text = entry.entry.as_str().unwrap_or_default();
                    past.messages.push(read_message(text)?);
                    past.stop = None;
                }
                Happened::Tool(tool) if tool.state == ToolState::Started => {
                    past.begun.insert(tool.call);
                }
                Happened::Cost(cost) => {
                    let detail = serde_json::from_value::<CostDetail>(cost.detail).ok();
                    past.stop = detail.map(|detail| detail.stop);
                }
                Happened::Started(_)
                | Happened::Text(_)
                | Happened::Tool(_)
                | Happened::Question(_)
                | Happened::Answer(_)
                | Happened::Report(_)
                | Happened::Ended(_)
                | Happened::Unknown => {}
            }
        }
        Ok(past)
    }

    /// Replies behind a prompt of so many messages.
    fn replies(&self, prompt: usize) -> impl Iterator<Item = &Message> {
        self.messages.iter().skip(prompt).filter(|message| message.role() == Role::Assistant)
    }

    /// Answered requests, and calls, of a fork whose prompt has so many messages.
    pub(crate) fn counts(&self, prompt: usize) -> (u32, u32) {
        let calls = self.replies(prompt).map(|message| message.tool_calls().count()).sum::<usize>();
        (self.replies(prompt).count() as u32, calls as u32)
    }

    /// The time that is left of a limit.
    pub(crate) fn left_of(&self, limit: Duration, now_ms: i64) -> Duration {
        let passed = self.began_ms.map_or(0, |began| now_ms.saturating_sub(began));
        limit.saturating_sub(Duration::from_millis(u64::try_from(passed).unwrap_or(0)))
    }

    /// The last words.
    pub(crate) fn final_text(&self, prompt: usize) -> Option<String> {
        self.replies(prompt).map(Message::text).filter(|text| !text.is_empty()).last()
    }

    /// Decides how a fork with this prompt goes on. What `reminder` says again is put in by the turn loop.
    pub(crate) fn next(&self, prompt: Vec<Message>, reminder: Option<&str>) -> Next {
        let known = self.messages.len();
        let mut messages = self.messages.clone();
        if known < prompt.len() {
            messages.extend(prompt.into_iter().skip(known));
            return Next::GoOn { prompt: messages, known };
        }
        let Some(last) = messages.last_mut() else { return Next::GoOn { prompt: messages, known } };
        if last.role() != Role::Assistant {
            if let Some(reminder) = reminder {
                *last = without(last, reminder);
            }
            return Next::GoOn { prompt: messages, known };
        }
        match self.stop.as_deref() {
            Some(CUT) => return Next::Over(Outcome::LengthCut),
            Some(REFUSAL) => return Next::Over(Outcome::Refused),
            Some(NO_ROOM) => return Next::Over(Outcome::Failed(TOO_LONG.to_owned())),
            _ => {}
        }
        let results: Vec<Block> = last.tool_calls().map(|call| self.cut_off(call)).collect();
        match (results.is_empty(), self.stop.as_deref()) {
            (true, Some(PAUSED)) => Next::Over(Outcome::Failed(PAUSED_ALONE.to_owned())),
            (true, _) => Next::Over(Outcome::Completed),
            (false, _) => {
                messages.push(Message::new(Role::User, results));
                Next::GoOn { prompt: messages, known }
            }
        }
    }

    fn cut_off(&self, call: &ToolCallId) -> Block {
        let text = if self.begun.contains(&call.0) { CUT_OFF } else { NEVER_BEGAN };
        Block::result(call.clone(), text.to_owned(), true)
    }
}

/// A message without what the turn loop says again behind its results, as it stood before that was put in.
fn without(message: &Message, reminder: &str) -> Message {
    let mut blocks = message.blocks().to_vec();
    let is_result = |block: &Block| matches!(block, Block::ToolResult { .. });
    let own = blocks.iter().position(|block| !is_result(block));
    if let Some(own) = own.filter(|own| blocks[*own].as_text() == Some(reminder)) {
        blocks.remove(own);
    }
    Message::new(message.role(), blocks)
}

/// The words of a report's outcome and of its error.
pub(crate) fn ended(outcome: &Outcome) -> (String, Option<String>) {
    let error = match outcome {
        Outcome::Failed(why) => Some(why.clone()),
        _ => None,
    };
    (outcome.as_str().to_owned(), error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(text: &str) -> Message {
        Message::user(text)
    }

    fn said(text: &str) -> Message {
        Message::new(Role::Assistant, vec![Block::Text(text.to_owned())])
    }

    fn past(messages: Vec<Message>, stop: Option<&str>) -> Past {
        Past { messages, stop: stop.map(str::to_owned), ..Past::default() }
    }

    fn next(past: &Past, reminder: Option<&str>) -> Result<(Vec<Message>, usize), Outcome> {
        match past.next(vec![user("one"), user("two")], reminder) {
            Next::GoOn { prompt, known } => Ok((prompt, known)),
            Next::Over(outcome) => Err(outcome),
        }
    }

    #[test]
    fn a_prompt_that_is_not_written_whole_goes_on_with_its_rest() {
        let whole = vec![user("one"), user("two")];
        assert_eq!(next(&past(vec![], None), None), Ok((whole.clone(), 0)));
        assert_eq!(next(&past(vec![user("one")], None), None), Ok((whole.clone(), 1)));
        assert_eq!(next(&past(whole.clone(), None), None), Ok((whole, 2)));
    }

    #[test]
    fn a_fork_that_was_done_ends_as_its_last_reply_says() {
        let check = |stop, expected| {
            let messages = vec![user("one"), user("two"), said("done")];
            assert_eq!(next(&past(messages, stop), None), Err(expected), "{stop:?}");
        };
        check(None, Outcome::Completed);
        check(Some("end_turn"), Outcome::Completed);
        check(Some("max_tokens"), Outcome::LengthCut);
        check(Some("refusal"), Outcome::Refused);
        check(Some("pause"), Outcome::Failed(PAUSED_ALONE.to_owned()));
        check(Some("context_exceeded"), Outcome::Failed(TOO_LONG.to_owned()));
    }

    #[test]
    fn what_is_said_again_is_not_said_twice() {
        let result = Block::result(ToolCallId("c1".to_owned()), "found".to_owned(), false);
        let again = Block::Text("Be brief.".to_owned());
        let results = Message::new(Role::User, vec![result.clone(), again.clone()]);
        let asked = Message::new(Role::User, vec![again, Block::Text("two".to_owned())]);
        let before = vec![user("one"), asked.clone(), said("hm"), results];
        let (prompt, known) = next(&past(before, None), Some("Be brief.")).unwrap();
        assert_eq!((&prompt[3], known), (&Message::new(Role::User, vec![result]), 4));
        assert_eq!(prompt[1], asked, "only the last one gets it again");
    }
}
