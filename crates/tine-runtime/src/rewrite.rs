//! Entries that change which messages of a conversation count: clear, mark, rewind.

use std::path::Path;

use tine_guard::{Call, Width};
use tine_model::{AgentId, Block, EntryBody, EntryId, Message, Role, ToolCallId, ToolInput};
use tine_store::{NewEntry, StoreError};

use crate::codec;
use crate::error::RuntimeError;
use crate::fold::Fold;
use crate::runtime::Runtime;
use crate::title::persons_words;

/// The place that a conversation goes back to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RewindTo {
    /// Before everything.
    Beginning,
    /// Behind an entry, which may be inherited; behind the results of its calls, where it makes some.
    Entry(EntryId),
    /// Before an entry.
    Before(EntryId),
    /// To the last mark with this label that is not rewound.
    Mark(String),
    /// Before the last words of a person, or of whoever gave the agent its task.
    LastPrompt,
}

/// A conversation that went back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewound {
    /// The last entry that counts; `None` where nothing does.
    pub to: Option<EntryId>,
    /// The words that the agent was prompted with behind that, if it went back to before a prompt.
    pub prompt: Option<String>,
    /// Successful calls behind that place that changed files.
    pub changes: usize,
    /// Successful commands behind that place that may have.
    pub commands: usize,
}

impl Runtime {
    /// Begins the conversation anew. Forks made before keep what they inherited.
    pub async fn clear(&self, agent: AgentId) -> Result<EntryId, RuntimeError> {
        self.append_one(agent, codec::clear_row(self.now_ms())).await
    }

    /// Marks a place to come back to.
    pub async fn mark_place(
        &self,
        agent: AgentId,
        label: Option<String>,
    ) -> Result<EntryId, RuntimeError> {
        self.append_one(agent, codec::mark_row(label, self.now_ms())).await
    }

    /// The marks of a conversation that neither a rewind nor a clear has taken away, with their labels.
    pub async fn marks(
        &self,
        agent: AgentId,
    ) -> Result<Vec<(EntryId, Option<String>)>, RuntimeError> {
        Ok(self.fold(agent, None).await?.marks())
    }

    /// Takes what was said behind a place out of the conversation. It stays in the log, and files stay as they are. An agent that runs is
    /// refused.
    pub async fn rewind(&self, agent: AgentId, to: RewindTo) -> Result<Rewound, RuntimeError> {
        let directory = self.store().agent(agent).await?.directory;
        let fold = self.fold(agent, None).await?;
        let unknown = |entry| RuntimeError::from(StoreError::UnknownEntry { agent, entry });
        let place = |entry| fold.place_of(entry).ok_or_else(|| unknown(entry));
        let before = |entry| {
            let before = place(entry)?.checked_sub(1);
            Ok::<_, RuntimeError>(before.map(|at| fold.entries()[at].entry.id))
        };
        let takes_back = matches!(to, RewindTo::Before(_) | RewindTo::LastPrompt);
        let to = match to {
            RewindTo::Beginning => None,
            RewindTo::Entry(entry) => {
                place(entry)?;
                Some(self.boundary(agent, entry).await?)
            }
            RewindTo::Before(entry) => before(entry)?,
            RewindTo::Mark(label) => {
                let marks = fold.marks();
                let mark = marks.iter().rev().find(|(_, own)| own.as_deref() == Some(&*label));
                let (mark, _) = mark.ok_or(RuntimeError::NoMark { agent, label })?;
                Some(*mark)
            }
            RewindTo::LastPrompt => {
                let last = fold.effective().filter(|(_, item)| prompt(&item.message).is_some());
                let (entry, _) = last.last().ok_or(RuntimeError::NothingToRewind(agent))?;
                before(entry.id)?
            }
        };
        let rewound = behind(&fold, (to, takes_back), Path::new(&directory));
        self.append_one(agent, codec::rewind_row(to, self.now_ms())).await?;
        Ok(rewound)
    }

    async fn append_one(&self, agent: AgentId, row: NewEntry) -> Result<EntryId, RuntimeError> {
        let lease = self.acquire(agent).await?;
        let appended = self.store().append(agent, lease.fence, &[row]).await;
        self.give_back(&lease).await?;
        appended?.first().copied().ok_or_else(|| StoreError::no_agent(agent).into())
    }
}

impl Fold {
    fn place_of(&self, entry: EntryId) -> Option<usize> {
        self.entries().iter().position(|folded| folded.entry.id == entry)
    }

    fn marks(&self) -> Vec<(EntryId, Option<String>)> {
        let mut marks = Vec::new();
        for folded in self.entries() {
            match &folded.entry.body {
                EntryBody::Mark { label } => marks.push((folded.entry.id, label.clone())),
                EntryBody::Rewind { to } => marks.retain(|(mark, _)| Some(*mark) <= *to),
                EntryBody::Clear => marks.clear(),
                EntryBody::Message(_)
                | EntryBody::Fork { .. }
                | EntryBody::Notice(_)
                | EntryBody::Dialect(_)
                | EntryBody::Compact { .. } => {}
            }
        }
        marks
    }
}

/// The words of a message that an agent was prompted with.
fn prompt(message: &Message) -> Option<String> {
    if message.role() != Role::User {
        return None;
    }
    message.blocks().iter().filter_map(Block::as_text).find_map(persons_words)
}

/// Tells what counts no more behind a place.
fn behind(fold: &Fold, (to, takes_back): (Option<EntryId>, bool), directory: &Path) -> Rewound {
    let behind: Vec<_> = fold.effective().filter(|(entry, _)| Some(entry.id) > to).collect();
    let (mut changes, mut commands) = (0, 0);
    // A server may number its calls anew in each reply: a result is of the last one's.
    let mut calls: Vec<(&ToolCallId, &str, &ToolInput)> = Vec::new();
    for (_, item) in &behind {
        if item.message.role() == Role::Assistant {
            calls.clear();
        }
        for block in item.message.blocks() {
            match block {
                Block::ToolUse { id, name, input } => calls.push((id, name, input)),
                Block::ToolResult { call, is_error: false, .. } => {
                    let Some(at) = calls.iter().position(|(id, ..)| *id == call) else { continue };
                    let (_, name, input) = calls.remove(at);
                    match name {
                        "FileEdit" | "FileWrite" | "Edit" | "Write" => changes += 1,
                        "Bash" if !only_reads(name, input, directory) => commands += 1,
                        _ => {}
                    }
                }
                _ => {}
            }
        }
    }
    let first = behind.first().filter(|_| takes_back);
    let prompt = first.and_then(|(_, item)| prompt(&item.message));
    Rewound { to, prompt, changes, commands }
}

fn only_reads(tool: &str, input: &ToolInput, directory: &Path) -> bool {
    let ToolInput::Valid(input) = input else { return false };
    let call = Call::new(tool, input, directory);
    call.shell_text().is_some_and(|text| text.verdict(Width::Strict).read_only)
}
