//! A sum of what happened in a tree while its person was away, from rows alone: at once, and for nothing.
//!
//! A person is away from the last prompt that they gave a tree until the next one. The agent's model is told nothing of this, and no
//! log changes. A model may write a summary of it besides ([`writer`]).

mod writer;

use std::collections::BTreeSet;
use std::time::Duration;

use tine_model::{
    AgentId, AgentRecord, Block, EntryBody, Standing, TaskRecord, TaskStatus, ToolInput,
};
use tine_store::{AgentFilter, PermissionFilter, SetStamp, StampName, UsageScope};

use crate::codec;
use crate::error::RuntimeError;
use crate::runtime::Runtime;

pub use writer::AwayWriter;

/// Most events that are told; of more, the newest.
pub const AWAY_EVENTS_MAX: usize = 50;

/// The time that a person is away before they are told, unless settings say otherwise.
pub const AWAY_AFTER_DEFAULT: Duration = Duration::from_secs(4 * 3_600);

/// The longest time that may be set for that.
pub const AWAY_AFTER_MAX: Duration = Duration::from_secs(30 * 24 * 3_600);

/// Most files that are told by name.
const FILES_TOLD_MAX: usize = 10;

/// The kind of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AwayKind {
    /// A worker has ended, in this way.
    Ended(TaskStatus),
    /// A worker is not done yet.
    Working,
    /// Somebody waits for an answer.
    Question,
}

impl AwayKind {
    /// The word in output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ended(status) => status.as_str(),
            Self::Working => "working",
            Self::Question => "question",
        }
    }
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AwayEvent {
    /// When, in milliseconds since the Unix epoch.
    pub at_ms: i64,
    /// The kind.
    pub kind: AwayKind,
    /// Whose it is.
    pub agent: AgentId,
    /// What it is about, on one line: a task and how it ended, or what is asked.
    pub text: String,
}

/// What happened in a tree since its person was there.
#[derive(Debug, Clone, PartialEq)]
pub struct Away {
    /// Since when, in milliseconds since the Unix epoch.
    pub since_ms: i64,
    /// What happened, oldest first.
    pub events: Vec<AwayEvent>,
    /// Older events that are not told.
    pub left_out: usize,
    /// The files that agents of the tree have written, as they named them; sorted.
    pub files: Vec<String>,
    /// What the tree has spent, in millionths of a USD, as far as prices are known.
    pub micro_usd: u64,
}

impl Away {
    /// Whether nothing happened that a person would want to know.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty() && self.files.is_empty()
    }

    /// Whether it is told by itself before a prompt at this time. Not where the clock was set back behind the last one: nobody knows
    /// how long that was.
    pub fn is_due(&self, now_ms: i64, after: Duration) -> bool {
        let away_ms = now_ms.saturating_sub(self.since_ms);
        let after_ms = i64::try_from(after.as_millis()).unwrap_or(i64::MAX);
        away_ms >= 0 && away_ms >= after_ms && !self.is_empty()
    }

    /// The summary, in lines.
    pub fn text(&self, now_ms: i64) -> String {
        let away = span(now_ms.saturating_sub(self.since_ms));
        if self.is_empty() {
            return format!("Nothing happened here in {away}.");
        }
        let mut lines = vec![format!("While you were away ({away}): {}", self.counts())];
        if self.left_out > 0 {
            lines.push(format!("  {} older ones are left out", self.left_out));
        }
        for event in &self.events {
            let (kind, agent) = (event.kind.as_str().replace('_', " "), event.agent.short());
            lines.push(format!("  {kind:<11} {agent}  {}", event.text));
        }
        if !self.files.is_empty() {
            let told: Vec<&str> =
                self.files.iter().take(FILES_TOLD_MAX).map(String::as_str).collect();
            let more = match self.files.len() - told.len() {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            lines.push(format!("  files written: {}{more}", told.join(", ")));
        }
        lines.join("\n")
    }

    /// The sums, each where there is one.
    fn counts(&self) -> String {
        let count = |is: &dyn Fn(AwayKind) -> bool| {
            self.events.iter().filter(|event| is(event.kind)).count()
        };
        let is_done = |kind| kind == AwayKind::Ended(TaskStatus::Completed);
        let has_failed = |kind| matches!(kind, AwayKind::Ended(_)) && !is_done(kind);
        let mut parts = Vec::new();
        for (count, words) in [
            (count(&is_done), "completed"),
            (count(&has_failed), "not completed"),
            (count(&|kind| kind == AwayKind::Working), "still working"),
            (count(&|kind| kind == AwayKind::Question), "waiting for your answer"),
            (
                self.files.len(),
                if self.files.len() == 1 { "file written" } else { "files written" },
            ),
        ] {
            if count > 0 {
                parts.push(format!("{count} {words}"));
            }
        }
        if self.micro_usd > 0 {
            parts.push(format!("${:.4} spent", self.micro_usd as f64 / 1e6));
        }
        parts.join(", ")
    }
}

/// A time in its two largest units.
fn span(ms: i64) -> String {
    let minutes = ms.max(0) / 60_000;
    match (minutes / 1_440, minutes / 60 % 24, minutes % 60) {
        (0, 0, minutes) => format!("{minutes} min"),
        (0, hours, minutes) => format!("{hours} h {minutes} min"),
        (days, hours, _) => format!("{days} d {hours} h"),
    }
}

/// What is known of a tree, for [`happened`].
#[derive(Debug, Default)]
struct Facts {
    tasks: Vec<TaskRecord>,
    questions: Vec<AwayEvent>,
    files: BTreeSet<String>,
    micro_usd: u64,
}

/// What of it counts since that moment.
fn happened(since_ms: i64, facts: Facts) -> Away {
    let Facts { tasks, questions, files, micro_usd } = facts;
    let of_task = |task: TaskRecord| {
        let name = task.description.as_deref().unwrap_or(&task.directive);
        let (at_ms, kind) = match task.ended_ms {
            Some(ended_ms) if ended_ms > since_ms => (ended_ms, AwayKind::Ended(task.status)),
            Some(_) => return None,
            None => (task.created_ms, AwayKind::Working),
        };
        let text = match &task.error {
            Some(error) => one_line(&format!("{}: {error}", one_line(name))),
            None => one_line(name),
        };
        Some(AwayEvent { at_ms, kind, agent: task.agent, text })
    };
    let mut events: Vec<AwayEvent> =
        tasks.into_iter().filter_map(of_task).chain(questions).collect();
    events.sort_by_key(|event| event.at_ms);
    let left_out = events.len().saturating_sub(AWAY_EVENTS_MAX);
    events.drain(..left_out);
    Away { since_ms, events, left_out, files: files.into_iter().collect(), micro_usd }
}

/// The first line of a text, of at most 80 characters.
fn one_line(text: &str) -> String {
    const CHARS_MAX: usize = 80;
    let line = text.trim().lines().next().unwrap_or_default();
    let clean = line.chars().map(|c| if c.is_control() { ' ' } else { c });
    if line.chars().count() > CHARS_MAX {
        clean.take(CHARS_MAX - 1).chain(['…']).collect()
    } else {
        clean.collect()
    }
}

impl Runtime {
    /// What happened in an agent's tree since its person was there; `None` where they never were. Nothing changes.
    pub async fn away(&self, agent: AgentId) -> Result<Option<Away>, RuntimeError> {
        let root = self.root_of(&self.store().agent(agent).await?).await?;
        let Some(since_ms) = self.last_seen(root).await? else { return Ok(None) };
        let tree = self.tree_of(root).await?;
        let mut facts = Facts::default();
        for agent in &tree {
            if agent.standing == Standing::Worker {
                facts.tasks.extend(self.store().task(agent.id).await?);
            }
            if agent.updated_ms > since_ms {
                self.add_files(agent.id, since_ms, &mut facts.files).await?;
            }
        }
        let pending = self.store().permissions(Some(root), PermissionFilter::Pending).await?;
        facts.questions = pending
            .into_iter()
            .map(|row| AwayEvent {
                at_ms: row.created_ms,
                kind: AwayKind::Question,
                agent: row.agent,
                text: one_line(&format!("{} {}", row.tool, row.what)),
            })
            .collect();
        let requests = self.store().requests(root, UsageScope::Subtree).await?;
        let since = requests.iter().filter(|request| request.started_ms > since_ms);
        facts.micro_usd = since.filter_map(|request| request.micro_usd).sum();
        Ok(Some(happened(since_ms, facts)))
    }

    /// Notes that the person of an agent's tree was there at this time, in milliseconds since the Unix epoch: one before what they were
    /// told was read, so that nothing falls between. Where another process was faster, the later time stands.
    pub async fn note_seen(&self, agent: AgentId, seen_ms: i64) -> Result<(), RuntimeError> {
        let root = self.root_of(&self.store().agent(agent).await?).await?;
        let name = StampName::last_seen(root);
        loop {
            let before = self.store().stamp(&name).await?;
            // A stamp from behind the present is from before the clock was set back, and is no later time.
            let clock_ms = self.now_ms();
            let other_ms =
                before.as_ref().map(|stamp| stamp.at_ms).filter(|at_ms| *at_ms <= clock_ms);
            let now_ms = other_ms.map_or(seen_ms, |other_ms| other_ms.max(seen_ms));
            let set = SetStamp {
                name: name.clone(),
                expected: before.map(|stamp| stamp.value),
                value: now_ms.to_string(),
                fence: None,
                now_ms,
            };
            if self.store().set_stamp(set).await? {
                return Ok(());
            }
        }
    }

    async fn last_seen(&self, root: AgentId) -> Result<Option<i64>, RuntimeError> {
        let stamp = self.store().stamp(&StampName::last_seen(root)).await?;
        Ok(stamp.map(|stamp| stamp.at_ms))
    }

    /// The agents at and below a root, without hidden ones: those are nobody's activity.
    async fn tree_of(&self, root: AgentId) -> Result<Vec<AgentRecord>, RuntimeError> {
        let all = self.store().agents(AgentFilter::All).await?;
        let mut inside: BTreeSet<AgentId> = BTreeSet::from([root]);
        let mut tree = Vec::new();
        // Parents are made before their children.
        for agent in all {
            let is_inside = agent.id == root || agent.parent.is_some_and(|it| inside.contains(&it));
            if is_inside && agent.standing != Standing::Hidden {
                inside.insert(agent.id);
                tree.push(agent);
            }
        }
        Ok(tree)
    }

    /// Adds the files that an agent has written since, by calls that were carried out.
    async fn add_files(
        &self,
        agent: AgentId,
        since_ms: i64,
        files: &mut BTreeSet<String>,
    ) -> Result<(), RuntimeError> {
        use tine_fork::tool_filter::tool_names::{FILE_EDIT, FILE_WRITE};
        let rows = self.store().own_entries(agent, None).await?;
        let mut asked: Vec<(String, String)> = Vec::new();
        for row in rows.into_iter().filter(|row| row.at_ms > since_ms) {
            let EntryBody::Message(message) = codec::read_row(row)?.body else { continue };
            for block in message.blocks() {
                match block {
                    Block::ToolUse { id, name, input: ToolInput::Valid(input) }
                        if [FILE_EDIT, FILE_WRITE].contains(&name.as_str()) =>
                    {
                        asked.extend(input.text_at("file_path").map(|path| (id.0.clone(), path)));
                    }
                    Block::ToolResult { call, is_error: false, .. } => {
                        let written = asked.iter().filter(|(id, _)| *id == call.0);
                        files.extend(written.map(|(_, path)| path.clone()));
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tine_model::Usage;

    use super::*;

    const HOUR_MS: i64 = 3_600_000;

    fn task(number: u8, status: TaskStatus, ended_ms: Option<i64>) -> TaskRecord {
        let agent = AgentId::from_random([number; 16]);
        TaskRecord {
            agent,
            spawner: AgentId::from_random([200; 16]),
            directive: format!("part {number}\nand more"),
            description: None,
            definition: None,
            status,
            resumes: 0,
            flags: Vec::new(),
            report: None,
            error: (status == TaskStatus::Failed).then(|| "no model answered".to_owned()),
            usage: Usage::default(),
            turns: 1,
            tool_uses: 0,
            created_ms: 0,
            ended_ms,
            cleared_ms: None,
            worktree: None,
        }
    }

    #[test]
    fn what_happened_since_is_told_in_order() {
        let facts = Facts {
            tasks: vec![
                task(1, TaskStatus::Completed, Some(HOUR_MS)),
                task(2, TaskStatus::Failed, Some(3 * HOUR_MS)),
                task(3, TaskStatus::Completed, Some(2 * HOUR_MS + 1)),
                task(4, TaskStatus::Running, None),
            ],
            questions: vec![AwayEvent {
                at_ms: 4 * HOUR_MS,
                kind: AwayKind::Question,
                agent: AgentId::from_random([5; 16]),
                text: "Bash make".to_owned(),
            }],
            files: BTreeSet::from(["src/b.rs".to_owned(), "src/a.rs".to_owned()]),
            micro_usd: 12_300,
        };
        let away = happened(2 * HOUR_MS, facts);
        insta::assert_snapshot!(away.text(28 * HOUR_MS), @"
        While you were away (1 d 2 h): 1 completed, 1 not completed, 1 still working, 1 waiting for your answer, 2 files written, $0.0123 spent
          working     04040404  part 4
          completed   03030303  part 3
          failed      02020202  part 2: no model answered
          question    05050505  Bash make
          files written: src/a.rs, src/b.rs
        ");
        let nothing = happened(0, Facts { micro_usd: 5, ..Facts::default() });
        insta::assert_snapshot!(nothing.text(90 * 60_000), @"Nothing happened here in 1 h 30 min.");
    }

    #[test]
    fn of_many_events_the_newest_are_told() {
        let tasks =
            (0..60).map(|number| task(number, TaskStatus::Completed, Some(i64::from(number) + 1)));
        let away = happened(0, Facts { tasks: tasks.collect(), ..Facts::default() });
        assert_eq!((away.events.len(), away.left_out, away.events[0].at_ms), (50, 10, 11));
    }

    #[test]
    fn it_is_due_at_its_edge_and_never_when_the_clock_went_back() {
        let some = |since_ms| {
            let tasks = vec![task(1, TaskStatus::Completed, Some(i64::MAX))];
            happened(since_ms, Facts { tasks, ..Facts::default() })
        };
        let after = AWAY_AFTER_DEFAULT;
        let due = |since_ms, now_ms| some(since_ms).is_due(now_ms, after);
        assert!(due(0, 4 * HOUR_MS) && !due(0, 4 * HOUR_MS - 1) && !due(5 * HOUR_MS, HOUR_MS));
        assert!(some(0).is_due(0, Duration::ZERO) && !some(1).is_due(0, Duration::ZERO));
        let nothing = happened(0, Facts { micro_usd: 9, ..Facts::default() });
        assert!(!nothing.is_due(100 * HOUR_MS, after));
    }
}
