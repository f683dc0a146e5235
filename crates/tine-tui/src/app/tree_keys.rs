//! What keys and the mouse do in the tree of all agents. A key that means nothing there does nothing.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use tine_model::{AgentId, AgentState};

use super::command_line::CommandLine;
use super::keys::Action;
use super::tree::{Asks, Tree, before_last};
use super::{App, Effect, Face, Overlay, WHEEL_LINES, called};
use crate::figures::plural;
use crate::words::{left_out, sendable};

/// The keys of the tree and what they do, the most important first: as many as fit stand at its foot.
pub(crate) const TREE_KEYS: [(&str, &str); 18] = [
    ("Enter", "go"),
    ("Space", "peek"),
    ("m", "send"),
    ("r", "rename"),
    ("s", "stop"),
    ("x", "kill"),
    ("/", "find"),
    ("Esc", "close"),
    ("D", "diff"),
    ("A", "apply"),
    ("f", "fork"),
    ("d", "the dead"),
    ("p", "parent"),
    ("c", "child"),
    ("←→", "siblings"),
    ("Backspace", "back"),
    ("↑↓", "move"),
    ("Home End", "ends"),
];

impl App {
    pub(super) fn tree_key(&mut self, key: KeyEvent) -> Vec<Effect> {
        let Some(Overlay::Tree(tree)) = &mut self.overlay else { return Vec::new() };
        if tree.is_picker {
            return self.picker_key(key);
        }
        if tree.asks.is_some() {
            return self.foot_key(key);
        }
        let is_plain = key.modifiers.difference(KeyModifiers::SHIFT).is_empty();
        if !is_plain || matches!(key.code, KeyCode::F(_)) {
            return self.held_key(key);
        }
        let page = tree.page();
        match key.code {
            KeyCode::Up | KeyCode::Char('k') => tree.mark(tree.at.saturating_sub(1)),
            KeyCode::Down | KeyCode::Char('j') => tree.mark(tree.at + 1),
            KeyCode::PageUp => tree.mark(tree.at.saturating_sub(page)),
            KeyCode::PageDown => tree.mark(tree.at + page),
            KeyCode::Home => tree.mark(0),
            KeyCode::End => tree.mark(usize::MAX),
            KeyCode::Char('p') => mark(tree, Tree::parent),
            KeyCode::Char('c') => mark(tree, Tree::child),
            KeyCode::Left | KeyCode::Char('[') => mark(tree, |tree| tree.sibling(false)),
            KeyCode::Right | KeyCode::Char(']') => mark(tree, |tree| tree.sibling(true)),
            KeyCode::Char(' ') => tree.peeks = !tree.peeks,
            KeyCode::Char('d') => tree.shows_dead = !tree.shows_dead,
            KeyCode::Char('/') => tree.asks = Some(Asks::Filter),
            KeyCode::Backspace => return self.go_back(),
            KeyCode::Esc if !tree.filter.is_empty() => tree.filter.clear(),
            KeyCode::Esc | KeyCode::Char('?' | 'q') => self.overlay = None,
            code => {
                if let Some(marked) = tree.marked {
                    return self.key_of_marked(code, marked);
                }
            }
        }
        Vec::new()
    }

    /// A key that does something to the marked agent.
    fn key_of_marked(&mut self, code: KeyCode, marked: AgentId) -> Vec<Effect> {
        match code {
            KeyCode::Enter => return self.go(marked),
            KeyCode::Char('s') => return self.stop(marked),
            KeyCode::Char('f') => return self.fork(marked, "--bg"),
            KeyCode::Char('D') => return report("diff", marked),
            KeyCode::Char('A') => return report("apply", marked),
            KeyCode::Char('r') => {
                let name = self.record(marked).and_then(|agent| agent.name.clone());
                self.ask(Asks::Name(marked, name.unwrap_or_default()));
            }
            KeyCode::Char('m') => self.ask(Asks::Words(marked, String::new())),
            KeyCode::Char('x') => match self.ends_with(marked) {
                Ok(below) => self.ask(Asks::Kill(marked, below)),
                Err(refused) => return refused,
            },
            _ => {}
        }
        Vec::new()
    }

    /// How many agents below one would end with it; where it cannot be ended, that is said.
    fn ends_with(&mut self, agent: AgentId) -> Result<usize, Vec<Effect>> {
        match self.record(agent).map(|agent| (agent.parent, agent.state)) {
            Some((_, AgentState::Dead)) => {
                self.tell("it is dead already");
                Err(Vec::new())
            }
            Some((Some(_), _)) => {
                let is_alive = |id: &AgentId| {
                    self.record(*id).is_some_and(|agent| agent.state != AgentState::Dead)
                };
                Ok(self.agents_below(Some(agent)).filter(is_alive).count())
            }
            Some((None, _)) | None => Err(self.kill(agent)),
        }
    }

    /// `/kill`, which asks as the key of the tree does. Who talks in lines says it with the command.
    pub(super) fn kill_command(&mut self, agent: AgentId, is_sure: bool) -> Vec<Effect> {
        if is_sure || self.face == Face::Pipe {
            return self.kill(agent);
        }
        let below = match self.ends_with(agent) {
            Ok(below) => below,
            Err(refused) => return refused,
        };
        if self.face == Face::Lines {
            let name = self.record(agent).map_or_else(|| agent.short(), called);
            let with =
                (below > 0).then(|| format!(" and {} below it", plural(below as u64, "agent")));
            return self.refuse(&format!(
                "this ends {name}{} for good; /kill --yes {} does it",
                with.unwrap_or_default(),
                agent.short()
            ));
        }
        self.open_tree();
        if let Some(Overlay::Tree(tree)) = &mut self.overlay {
            (tree.marked, tree.closes) = (Some(agent), true);
            tree.asks = Some(Asks::Kill(agent, below));
        }
        Vec::new()
    }

    /// A key of the table that means the same in the tree.
    fn held_key(&mut self, key: KeyEvent) -> Vec<Effect> {
        match self.keys.action(key) {
            Some(Action::Tree | Action::Cancel) => self.overlay = None,
            Some(Action::Answer) => {
                self.overlay = None;
                return self.act(Action::Answer);
            }
            Some(Action::Back) => return self.go_back(),
            Some(action @ (Action::Redraw | Action::Suspend | Action::Mouse)) => {
                return self.act(action);
            }
            _ => {}
        }
        Vec::new()
    }

    /// A key while something is asked at the foot.
    fn foot_key(&mut self, key: KeyEvent) -> Vec<Effect> {
        let Some(Overlay::Tree(tree)) = &mut self.overlay else { return Vec::new() };
        let is_held = !key.modifiers.difference(KeyModifiers::SHIFT).is_empty();
        if let Some(Asks::Kill(agent, _)) = tree.asks {
            tree.asks = None;
            if tree.closes {
                self.overlay = None;
            }
            match key.code {
                KeyCode::Char('y') if !is_held => return self.kill(agent),
                _ => self.tell("nobody was killed"),
            }
            return Vec::new();
        }
        match key.code {
            KeyCode::Esc => self.give_up(),
            KeyCode::Char('c') if is_held => self.give_up(),
            KeyCode::Char('u') if is_held => {
                foot_text(tree).into_iter().for_each(String::clear);
            }
            KeyCode::Char(letter) if !is_held && !letter.is_control() => {
                foot_text(tree).into_iter().for_each(|text| text.push(letter));
            }
            KeyCode::Backspace => {
                foot_text(tree).into_iter().for_each(|text| text.truncate(before_last(text)));
            }
            KeyCode::Up | KeyCode::Down if tree.asks == Some(Asks::Filter) => {
                tree.asks = None;
                return self.tree_key(key);
            }
            KeyCode::Enter => match tree.asks.take() {
                Some(Asks::Name(agent, name)) if !name.trim().is_empty() => {
                    return vec![Effect::Rename(agent, name.trim().to_owned())];
                }
                Some(Asks::Words(agent, words)) if !words.trim().is_empty() => {
                    return self.say_to(agent, words);
                }
                Some(_) | None => {}
            },
            _ => {}
        }
        Vec::new()
    }

    fn ask(&mut self, what: Asks) {
        if let Some(Overlay::Tree(tree)) = &mut self.overlay {
            tree.asks = Some(what);
        }
    }

    /// Esc at the foot: what was begun there is not done, and all are shown again.
    fn give_up(&mut self) {
        let Some(Overlay::Tree(tree)) = &mut self.overlay else { return };
        if tree.asks.take() == Some(Asks::Filter) {
            tree.filter.clear();
        }
    }

    /// A text is pasted: into the line at the foot, where there is one.
    pub(super) fn paste_in_tree(&mut self, pasted: &str) {
        let Some(Overlay::Tree(tree)) = &mut self.overlay else { return };
        let Some(text) = foot_text(tree) else { return };
        let (pasted, count) = sendable(pasted);
        text.push_str(pasted.trim_end_matches('\n'));
        if count > 0 {
            self.tell(left_out(count));
        }
    }

    /// The mouse: a click marks a row, one on the marked row goes there, the wheel moves the mark.
    pub(super) fn tree_mouse(&mut self, mouse: MouseEvent) -> Vec<Effect> {
        let Some(Overlay::Tree(tree)) = &mut self.overlay else { return Vec::new() };
        if tree.asks.is_some() {
            return Vec::new();
        }
        let wheel = WHEEL_LINES.unsigned_abs() as usize;
        let (top, height) = tree.seen;
        match mouse.kind {
            MouseEventKind::ScrollUp => tree.mark(tree.at.saturating_sub(wheel)),
            MouseEventKind::ScrollDown => tree.mark(tree.at + wheel),
            MouseEventKind::Down(MouseButton::Left) => {
                let clicked = mouse.row.checked_sub(top).filter(|line| *line < height);
                let at = clicked.map(|line| tree.first + usize::from(line));
                let at = at.filter(|at| *at < tree.rows.len());
                match (at, tree.marked) {
                    (Some(at), Some(marked)) if at == tree.at => return self.go(marked),
                    (Some(at), _) => tree.mark(at),
                    (None, _) => {}
                }
            }
            _ => {}
        }
        Vec::new()
    }
}

fn mark(tree: &mut Tree, to: impl Fn(&Tree) -> Option<usize>) {
    if let Some(at) = to(tree) {
        tree.mark(at);
    }
}

/// The text that is written at the foot.
fn foot_text(tree: &mut Tree) -> Option<&mut String> {
    match &mut tree.asks {
        Some(Asks::Name(_, text) | Asks::Words(_, text)) => Some(text),
        Some(Asks::Filter) => Some(&mut tree.filter),
        None if tree.is_picker => Some(&mut tree.filter),
        Some(Asks::Kill(..)) | None => None,
    }
}

fn report(command: &str, agent: AgentId) -> Vec<Effect> {
    vec![Effect::Report(CommandLine::of(&[command], vec![agent.to_string()]))]
}
