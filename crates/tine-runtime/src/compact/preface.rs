//! The words of a compaction: what the model is asked, and what stands in the place of what was left out.

use std::fmt::Write;

use tine_fork::envelope::{escape_frame_line, escape_frame_tags};
use tine_fork::worker::{Inherits, worker_directive, workers_directive};
use tine_history::Item;
use tine_model::{AgentRecord, Block, Message, Role, TaskRecord};

use super::summary::{CompactedBy, Told};
use crate::crew::Definitions;
use crate::error::RuntimeError;
use crate::prompt::environment_note;
use crate::runtime::Runtime;

/// The tag around the summary, the roster and what is said of them.
const TAG: &str = "compacted_context";

/// Tasks that a roster names: those at work first, then the newest.
const ROSTER_MAX: usize = 50;

/// Characters of a task's description in the roster.
const DESCRIPTION_CHARS: usize = 100;

/// What the model is asked. It is part of one request and never of the conversation.
pub(super) fn question(instructions: Option<&str>) -> String {
    let mut text = "This conversation is about to be made shorter: what you answer now will stand in the place of its older part, \
        which you will not see again. Write down what is needed to go on with the work as if nothing were missing. Answer with \
        text alone and call no tool.\n\
        \n\
        Tell, as far as there is something to tell:\n\
        - what the user wants, with their own words where these matter, and every rule and preference they have given;\n\
        - what was decided and why, and what was tried and did not work;\n\
        - the files that matter, by path: what is in them and what was changed;\n\
        - commands and results that the work rests on, with exact names, numbers and error texts;\n\
        - what is done, what is under way, what is still open, and the next step.\n\
        \n\
        Leave out what can be read again in a file. Do not address anybody."
        .to_owned();
    if let Some(instructions) = instructions.filter(|text| !text.trim().is_empty()) {
        text.push_str("\n\nMind this above all: ");
        text.push_str(instructions.trim());
    }
    text
}

impl Runtime {
    /// What stands for the first `left_out` messages. Of a worker it ends with its brief, word for word, unless that stays.
    pub(super) async fn preface(
        &self,
        record: &AgentRecord,
        told: &Told,
        (left_out, kept): (&[Item], &[Item]),
    ) -> Result<Message, RuntimeError> {
        let roster = self.roster(record).await?;
        let text = match &told.by {
            CompactedBy::Summary | CompactedBy::Part { .. } => {
                preface_text(left_out.len(), &told.text, &roster)
            }
            CompactedBy::Digest { .. } => digest_text(left_out.len(), &told.text, &roster),
        };
        let mut blocks =
            vec![Block::Text(environment_note(record.directory.as_ref(), &Definitions::default()))];
        blocks.push(Block::Text(text));
        let brief_of = |items: &[Item]| {
            let messages = items.iter().map(|item| &*item.message);
            workers_directive(messages).map(str::to_owned)
        };
        // Of a worker from elsewhere, which has no task here, its own words are all there is.
        let task = self.store().task(record.id).await?;
        let of_task = || Some(worker_directive(&task?.directive, &Inherits::default()));
        let brief = match brief_of(kept) {
            Some(_) => None,
            None => brief_of(left_out).or_else(of_task),
        };
        blocks.extend(brief.map(Block::Text));
        Ok(Message::new(Role::User, blocks))
    }

    /// The tasks that the agent has spawned, a line each.
    async fn roster(&self, record: &AgentRecord) -> Result<String, RuntimeError> {
        let mut tasks = self.store().tasks(record.id).await?;
        let all = tasks.len();
        tasks.reverse();
        tasks.sort_by_key(|task| task.status.is_final());
        tasks.truncate(ROSTER_MAX);
        let mut text = String::new();
        for task in &tasks {
            let name = self.store().agent(task.agent).await?.name;
            text.push_str(&roster_line(task, name.as_deref()));
        }
        if all > tasks.len() {
            let _ = writeln!(text, "- and {} older ones that have ended", all - tasks.len());
        }
        Ok(text)
    }
}

/// The frame around a summary and the agent's tasks.
pub(crate) fn preface_text(left_out: usize, summary: &str, roster: &str) -> String {
    let text = format!(
        "<{TAG}>\n\
        The {left_out} messages before this point were left out to make room. This is what you wrote about them; what follows \
        behind it, if anything, is word for word. Read a file again before you rely on it or change it.\n\
        \n\
        {}\n",
        escape_frame_tags(summary.trim())
    );
    with_roster(text, roster)
}

/// The frame around a digest and the agent's tasks. The digest has a frame of its own, and what stands in it is escaped.
fn digest_text(left_out: usize, digest: &str, roster: &str) -> String {
    let text = format!(
        "<{TAG}>\n\
        The {left_out} messages before this point were left out to make room, and there was no room to sum them up. This is a \
        shortened copy of the newest of them; what follows behind it, if anything, is word for word. Read a file again before you \
        rely on it or change it, and go on with the work where it stands.\n\
        \n\
        {}\n",
        digest.trim()
    );
    with_roster(text, roster)
}

/// Returns true for a message that an earlier compaction wrote.
pub(super) fn is_preface(message: &Message) -> bool {
    message.role() == Role::User && message.raw().is_none() && summary_of(message).is_some()
}

/// Returns the text of an earlier compaction, without its frame and its roster. It is escaped.
pub(super) fn summary_of(message: &Message) -> Option<&str> {
    let mut texts = message.blocks().iter().filter_map(Block::as_text);
    texts.find_map(|text| {
        let framed =
            text.strip_prefix(&format!("<{TAG}>\n"))?.strip_suffix(&format!("</{TAG}>"))?;
        let (_, summary) = framed.split_once("\n\n")?;
        Some(summary.rsplit_once(ROSTER).map_or(summary, |(summary, _)| summary).trim())
    })
}

/// The words before the roster.
const ROSTER: &str = "\nYour tasks as they are now; none of them has to be started again:\n";

fn with_roster(mut text: String, roster: &str) -> String {
    if !roster.is_empty() {
        text.push_str(ROSTER);
        text.push_str(roster);
    }
    let _ = write!(text, "</{TAG}>");
    text
}

pub(crate) fn roster_line(task: &TaskRecord, name: Option<&str>) -> String {
    let first = task.directive.trim().lines().next().unwrap_or_default();
    let mut told: String = first.chars().take(DESCRIPTION_CHARS).collect();
    if told.len() < task.directive.trim().len() {
        told.push_str("...");
    }
    let name = name.map(|name| format!(" ({})", escape_frame_line(name))).unwrap_or_default();
    let told = escape_frame_line(&told);
    format!("- {}{name}, {}: {told}\n", task.agent, task.status.as_str())
}
