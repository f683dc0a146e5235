//! The picker of earlier conversations: those of this directory first, the last used first, their forks folded below them. It is the
//! tree of all agents in another order, in which letters search.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use tine_model::{AgentId, AgentRecord, AgentState, Standing};

use super::forest::{Row, below, drawn};
use super::keys::Action;
use super::tree::{Tree, before_last};
use super::{App, Effect, Overlay};

/// The keys of the picker and what they do.
pub(crate) const PICKER_KEYS: [(&str, &str); 5] = [
    ("Enter", "opens"),
    ("→", "shows its forks"),
    ("←", "hides them"),
    ("Tab", "preview"),
    ("↑↓", "move"),
];

/// What is known of an agent together with those below it.
#[derive(Debug, Clone, Copy, Default)]
struct Whole {
    /// When one of them was used last, in milliseconds since the Unix epoch.
    used_ms: i64,
    /// How many there are below.
    below: usize,
}

/// The rows of the picker. `agents` are the oldest first; `is_sought` is `None` where nothing is searched for.
pub(super) fn rows(
    agents: &[AgentRecord],
    here: &str,
    unfolded: &HashSet<AgentId>,
    is_sought: Option<&dyn Fn(&AgentRecord) -> bool>,
) -> Vec<Row> {
    let is_listed = |agent: &AgentRecord| {
        // Nobody goes on with a guest but the program that holds it.
        let is_own = !matches!(agent.standing, Standing::Hidden | Standing::Guest);
        agent.state != AgentState::Dead && is_own
    };
    let by_id: HashMap<AgentId, &AgentRecord> =
        agents.iter().map(|agent| (agent.id, agent)).collect();
    let mut wholes: HashMap<AgentId, Whole> = HashMap::with_capacity(agents.len());
    // Whoever is below another is younger.
    for agent in agents.iter().rev() {
        let whole = wholes.entry(agent.id).or_default();
        if is_listed(agent) {
            whole.used_ms = whole.used_ms.max(agent.updated_ms);
        }
        let (whole, is_counted) = (*whole, usize::from(is_listed(agent)));
        if let Some(parent) = agent.parent {
            let above = wholes.entry(parent).or_default();
            above.used_ms = above.used_ms.max(whole.used_ms);
            above.below += whole.below + is_counted;
        }
    }
    let mut open: HashSet<AgentId> = HashSet::new();
    if is_sought.is_none() {
        for agent in agents.iter().filter(|agent| is_listed(agent)) {
            let above = std::iter::successors(agent.parent, |id| by_id.get(id)?.parent);
            let mut above = above.filter_map(|id| by_id.get(&id));
            let parent = above.find(|agent| is_listed(agent)).map(|agent| agent.id);
            if parent.is_none_or(|id| open.contains(&id) && unfolded.contains(&id)) {
                open.insert(agent.id);
            }
        }
    }
    let mut below = below(agents, |agent| match is_sought {
        Some(is_sought) => is_listed(agent) && is_sought(agent),
        None => open.contains(&agent.id),
    });
    let whole = |id: &AgentId| wholes.get(id).copied().unwrap_or_default();
    for list in below.values_mut() {
        list.sort_by_cached_key(|id| {
            let is_elsewhere = by_id.get(id).is_none_or(|agent| agent.directory != here);
            (is_elsewhere, Reverse(whole(id).used_ms))
        });
    }
    let mut rows = drawn(&below);
    for row in &mut rows {
        let is_folded = is_sought.is_none() && !unfolded.contains(&row.agent);
        row.folded = if is_folded { whole(&row.agent).below } else { 0 };
    }
    rows
}

impl App {
    /// Opens the picker.
    pub(crate) fn open_picker(&mut self) -> Vec<Effect> {
        if self.agents.is_empty() {
            self.tell("there is no earlier conversation");
            return Vec::new();
        }
        self.overlay = Some(Overlay::Tree(Box::new(Tree::picker())));
        self.refresh_tree()
    }

    /// A key in the picker: letters search, and a key that means nothing does nothing.
    pub(super) fn picker_key(&mut self, key: KeyEvent) -> Vec<Effect> {
        let Some(Overlay::Tree(tree)) = &mut self.overlay else { return Vec::new() };
        let is_held = !key.modifiers.difference(KeyModifiers::SHIFT).is_empty();
        let page = tree.page();
        match key.code {
            KeyCode::Char('u') if is_held => tree.filter.clear(),
            KeyCode::Char('c') if is_held => self.overlay = None,
            _ if is_held || matches!(key.code, KeyCode::F(_)) => {
                return match self.keys.action(key) {
                    Some(action @ (Action::Redraw | Action::Suspend | Action::Mouse)) => {
                        self.act(action)
                    }
                    Some(Action::Cancel) => {
                        self.overlay = None;
                        Vec::new()
                    }
                    _ => Vec::new(),
                };
            }
            KeyCode::Char(letter) if !letter.is_control() => tree.filter.push(letter),
            KeyCode::Backspace => tree.filter.truncate(before_last(&tree.filter)),
            KeyCode::Up => tree.mark(tree.at.saturating_sub(1)),
            KeyCode::Down => tree.mark(tree.at + 1),
            KeyCode::PageUp => tree.mark(tree.at.saturating_sub(page)),
            KeyCode::PageDown => tree.mark(tree.at + page),
            KeyCode::Home => tree.mark(0),
            KeyCode::End => tree.mark(usize::MAX),
            KeyCode::Right => tree.unfold(),
            KeyCode::Left => tree.fold(),
            KeyCode::Tab => tree.peeks = !tree.peeks,
            KeyCode::Esc if !tree.filter.is_empty() => tree.filter.clear(),
            KeyCode::Esc => self.overlay = None,
            KeyCode::Enter => {
                if let Some(marked) = tree.marked {
                    return self.go(marked);
                }
            }
            _ => {}
        }
        Vec::new()
    }
}
