//! The picture of all agents, as it is open: what is marked, what is shown, and what is asked at its foot.

use std::borrow::Cow;
use std::collections::HashSet;

use tine_model::{AgentId, AgentRecord, AgentState, TaskRecord};
use unicode_segmentation::UnicodeSegmentation as _;

use super::forest::{Row, rows};
use super::{App, Effect, Overlay, past};

/// How soon an agent is looked at closely again, in milliseconds: a look at a worktree asks git.
const LOOK_EVERY_MS: i64 = 1_000;

/// The tree on the screen.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tree {
    /// Whether it is the picker of conversations.
    pub(crate) is_picker: bool,
    /// Whose forks the picker shows.
    unfolded: HashSet<AgentId>,
    /// Which agent is marked.
    pub(crate) marked: Option<AgentId>,
    /// Whether the dead are shown, too.
    pub(crate) shows_dead: bool,
    /// Whether the marked agent is shown closely.
    pub(crate) peeks: bool,
    /// Those alone are shown of which this is a part of the name, the id, the title, the task or the directory.
    pub(crate) filter: String,
    /// What is asked at the foot.
    pub(crate) asks: Option<Asks>,
    /// Whether it is open for the question at its foot alone.
    pub(super) closes: bool,
    /// All rows, as of the registry that they were made of.
    pub(crate) rows: Vec<Row>,
    /// Where among them the marked one is.
    pub(crate) at: usize,
    /// The first row on the screen; moved by whoever draws it, so that the marked one is seen.
    pub(crate) first: usize,
    /// The line of the screen on which that row is, and how many rows fit; said by whoever draws it.
    pub(crate) seen: (u16, u16),
    /// Whether it was drawn since it opened.
    is_placed: bool,
    /// The state of the registry, and what was to be shown of it.
    made_of: Option<(u64, bool, String, usize)>,
    /// Who was looked at closely last, and when.
    looked: Option<(AgentId, i64)>,
    /// Whether something may have changed since.
    is_stale: bool,
}

/// What is asked at the foot of the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Asks {
    /// The new name of an agent.
    Name(AgentId, String),
    /// Words for an agent.
    Words(AgentId, String),
    /// What is to be found.
    Filter,
    /// Whether an agent is to end, and how many below it would.
    Kill(AgentId, usize),
}

impl Tree {
    /// The picker as it opens.
    pub(super) fn picker() -> Self {
        Self { is_picker: true, peeks: true, ..Self::default() }
    }

    /// Marks the row at this place; the last one where there are not so many.
    pub(super) fn mark(&mut self, at: usize) {
        self.at = at.min(self.rows.len().saturating_sub(1));
        self.marked = self.rows.get(self.at).map(|row| row.agent);
    }

    /// The row of the nearest above the marked one, of those that are shown.
    pub(super) fn parent(&self) -> Option<usize> {
        let depth = self.rows.get(self.at)?.depth;
        self.rows.iter().take(self.at).rposition(|row| row.depth < depth)
    }

    /// Moves the rows so that the marked one is seen, and no more than that takes; when it opens, those below it that count, too.
    pub(crate) fn scroll(&mut self, height: usize, counts: impl Fn(AgentId) -> bool) {
        if !std::mem::replace(&mut self.is_placed, true) {
            let depth = self.rows.get(self.at).map_or(0, |row| row.depth);
            let below = self.rows.iter().enumerate().skip(self.at + 1);
            let below = below.take_while(|(_, row)| row.depth > depth);
            let last = below.filter(|(_, row)| counts(row.agent)).map(|(at, _)| at).last();
            self.first = (last.unwrap_or(self.at) + 1).saturating_sub(height).min(self.at);
        }
        let end = self.rows.len().saturating_sub(height);
        self.first = self.first.clamp((self.at + 1).saturating_sub(height), self.at).min(end);
    }

    /// How far a page is.
    pub(super) fn page(&self) -> usize {
        usize::from(self.seen.1.saturating_sub(1).max(1))
    }

    /// Shows the forks of the marked one, and goes to the first of them where they are shown.
    pub(super) fn unfold(&mut self) {
        match (self.child(), self.marked) {
            (Some(child), _) => self.mark(child),
            (None, marked) => self.unfolded.extend(marked),
        }
    }

    /// Hides the forks of the marked one, or goes to whose fork it is.
    pub(super) fn fold(&mut self) {
        let was_unfolded = self.marked.is_some_and(|marked| self.unfolded.remove(&marked));
        if let (false, Some(parent)) = (was_unfolded, self.parent()) {
            self.mark(parent);
        }
    }

    /// The first row below the marked one.
    pub(super) fn child(&self) -> Option<usize> {
        let depth = self.rows.get(self.at)?.depth;
        self.rows.get(self.at + 1).filter(|row| row.depth > depth).map(|_| self.at + 1)
    }

    /// The row beside the marked one, before or behind it.
    pub(super) fn sibling(&self, behind: bool) -> Option<usize> {
        let depth = self.rows.get(self.at)?.depth;
        let is_below = |at: &usize| self.rows.get(*at).is_some_and(|row| row.depth > depth);
        let at = match behind {
            true => (self.at + 1..self.rows.len()).find(|at| !is_below(at)),
            false => (0..self.at).rev().find(|at| !is_below(at)),
        }?;
        self.rows.get(at).filter(|row| row.depth == depth).map(|_| at)
    }

    /// Makes the rows anew where they are not those of this registry; the mark stays on its agent, else at its place.
    fn refresh(&mut self, revision: u64, make: impl FnOnce(&Self) -> Vec<Row>) {
        let now = (revision, self.shows_dead, self.filter.clone(), self.unfolded.len());
        if self.made_of.as_ref() == Some(&now) {
            return;
        }
        self.rows = make(self);
        self.made_of = Some(now);
        self.is_stale = true;
        let marked = self.rows.iter().position(|row| Some(row.agent) == self.marked);
        self.mark(marked.unwrap_or(self.at));
    }

    /// Whom to look at closely now.
    fn look(&mut self, now_ms: i64) -> Option<AgentId> {
        let marked = self.marked.filter(|_| self.peeks)?;
        let is_due = match self.looked {
            Some((agent, at_ms)) if agent == marked => {
                self.is_stale && now_ms - at_ms >= LOOK_EVERY_MS
            }
            Some(_) | None => true,
        };
        if !is_due {
            return None;
        }
        (self.looked, self.is_stale) = (Some((marked, now_ms)), false);
        Some(marked)
    }
}

impl App {
    /// Opens the picture, with the mark where the person is.
    pub(super) fn open_tree(&mut self) {
        let tree = Tree { marked: self.focus, ..Tree::default() };
        self.overlay = Some(Overlay::Tree(Box::new(tree)));
    }

    /// Brings the open tree up to date with what is known now.
    pub(super) fn refresh_tree(&mut self) -> Vec<Effect> {
        let Some(Overlay::Tree(tree)) = &mut self.overlay else { return Vec::new() };
        let (agents, tasks, here) = (&self.agents, &self.tasks, self.directory.as_str());
        tree.refresh(agents.revision(), |tree| {
            let sought = tree.filter.trim().to_lowercase();
            let is_sought = |agent: &AgentRecord| is_found(agent, tasks.get(&agent.id), &sought);
            if tree.is_picker {
                let is_sought = (!sought.is_empty()).then_some(&is_sought as &dyn Fn(&_) -> _);
                return past::rows(agents, here, &tree.unfolded, is_sought);
            }
            rows(agents, |agent| {
                (tree.shows_dead || agent.state != AgentState::Dead)
                    && (sought.is_empty() || is_sought(agent))
            })
        });
        tree.look(self.now_ms).map(Effect::LookAt).into_iter().collect()
    }

    /// Something may have changed of the agent that is looked at.
    pub(super) fn look_again(&mut self) {
        if let Some(Overlay::Tree(tree)) = &mut self.overlay {
            tree.is_stale = true;
        }
    }
}

fn is_found(agent: &AgentRecord, task: Option<&TaskRecord>, sought: &str) -> bool {
    let texts: [Option<Cow<'_, str>>; 6] = [
        agent.name.as_deref().map(Cow::Borrowed),
        agent.title.as_deref().map(Cow::Borrowed),
        Some(Cow::Borrowed(agent.directory.as_str())),
        Some(Cow::Owned(agent.id.to_string())),
        task.map(|task| Cow::Borrowed(task.directive.as_str())),
        task.and_then(|task| task.description.as_deref()).map(Cow::Borrowed),
    ];
    texts.iter().flatten().any(|text| text.to_lowercase().contains(sought))
}

/// Where the last character of a text begins.
pub(super) fn before_last(text: &str) -> usize {
    text.grapheme_indices(true).next_back().map_or(0, |(at, _)| at)
}
