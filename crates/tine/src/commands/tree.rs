//! `tine tree`: agents as a drawing of who was forked from whom.

use std::collections::{HashMap, HashSet};

use serde::Serialize;
use tine_model::{AgentId, AgentState, Standing, WorktreeRecord};
use tine_store::AgentFilter;

use crate::cli::TreeArgs;
use crate::commands::listing;
use crate::commands::ps::state_style;
use crate::context::Context;
use crate::fail::Failure;
use crate::output;
use crate::render::record::{AgentJson, Shown};
use tine_tui::words::{BOLD, DIM, cut, one_line, styled};

/// Columns of a worker's directive: its first words are enough to know it by.
const DIRECTIVE_COLUMNS: usize = 40;

pub(crate) async fn tree(context: &Context, args: TreeArgs) -> Result<u8, Failure> {
    listing::recover(context).await?;
    let top = match &args.agent {
        Some(agent) => Some(context.agent(agent).await?),
        None => None,
    };
    let agents = listing::agents(context, AgentFilter::Kept).await?;
    let forest = Forest::of(agents, top, args.all);
    if args.json {
        output::line(&forest.to_json()?)?;
    } else if forest.roots.is_empty() {
        listing::say_empty(context).await?;
    } else {
        output::write_out(&forest.to_text())?;
    }
    Ok(0)
}

/// Agents by place. Walks are loops, not recursion: a fork of a fork may be as deep as its users like.
struct Forest {
    agents: Vec<Shown>,
    roots: Vec<usize>,
    children: Vec<Vec<usize>>,
}

/// The JSON shape of an agent in the tree, but for its `children`. Others rely on it: fields are only ever added.
#[derive(Serialize)]
struct NodeJson<'a> {
    #[serde(flatten)]
    agent: AgentJson<'a>,
    directive: Option<&'a str>,
}

/// One step of a walk.
#[derive(Clone, Copy)]
enum Step {
    Enter(usize),
    Leave,
}

impl Forest {
    /// The agents at and below `top`, or all of them. The dead and the hidden are left out unless `all` is given, or one
    /// below them is shown. `top` itself always is.
    fn of(agents: Vec<Shown>, top: Option<AgentId>, all: bool) -> Self {
        let index: HashMap<AgentId, usize> =
            agents.iter().enumerate().map(|(at, agent)| (agent.record.id, at)).collect();
        let parent = |at: usize| index.get(&agents.get(at)?.record.parent?).copied();
        let mut shown = HashSet::new();
        for (at, agent) in agents.iter().enumerate() {
            let record = &agent.record;
            let listed = record.state != AgentState::Dead && record.standing != Standing::Hidden;
            if !(all || listed || Some(record.id) == top) {
                continue;
            }
            let mut line = Some(at);
            while let Some(ancestor) = line.filter(|ancestor| shown.insert(*ancestor)) {
                line = parent(ancestor);
            }
        }
        let mut children = vec![Vec::new(); agents.len()];
        let mut roots = Vec::new();
        for at in (0..agents.len()).filter(|at| shown.contains(at)) {
            match parent(at) {
                Some(parent) => children[parent].push(at),
                None => roots.push(at),
            }
        }
        if let Some(top) = top {
            roots = index.get(&top).copied().into_iter().collect();
        }
        Self { agents, roots, children }
    }

    fn walk(&self) -> impl Iterator<Item = Step> {
        let mut todo: Vec<Step> = self.roots.iter().rev().map(|root| Step::Enter(*root)).collect();
        std::iter::from_fn(move || {
            let step = todo.pop()?;
            if let Step::Enter(at) = step {
                todo.push(Step::Leave);
                todo.extend(self.children[at].iter().rev().map(|child| Step::Enter(*child)));
            }
            Some(step)
        })
    }

    /// A JSON array of nested agents.
    fn to_json(&self) -> Result<String, Failure> {
        let mut text = "[".to_owned();
        for step in self.walk() {
            let Step::Enter(at) = step else {
                text.push_str("]}");
                continue;
            };
            let agent = &self.agents[at];
            let directive = agent.task.as_ref().map(|task| task.directive.as_str());
            let node = serde_json::to_string(&NodeJson { agent: agent.to_json(), directive });
            let node = node.map_err(|error| {
                Failure::failed("the result cannot be written as JSON").because(&error)
            })?;
            if !text.ends_with('[') {
                text.push(',');
            }
            // The object stays open for its children.
            text.push_str(node.strip_suffix('}').unwrap_or(&node));
            text.push_str(",\"children\":[");
        }
        text.push(']');
        Ok(text)
    }

    fn to_text(&self) -> String {
        let mut text = String::new();
        // The agents on the way down, each with the number of its children drawn so far.
        let mut open: Vec<(usize, usize)> = Vec::new();
        for step in self.walk() {
            let Step::Enter(at) = step else {
                open.pop();
                continue;
            };
            let depth = open.len();
            for (level, (above, drawn)) in open.iter_mut().enumerate() {
                let last = level + 1 == depth;
                *drawn += usize::from(last);
                let more = *drawn < self.children[*above].len();
                text.push_str(match (last, more) {
                    (true, true) => "├─ ",
                    (true, false) => "└─ ",
                    (false, true) => "│  ",
                    (false, false) => "   ",
                });
            }
            text.push_str(&label(&self.agents[at]));
            text.push('\n');
            open.push((at, 0));
        }
        text
    }
}

/// One agent on one line.
fn label(agent: &Shown) -> String {
    let record = &agent.record;
    let mut words = vec![styled(BOLD, &record.id.short())];
    words.extend(record.name.as_deref().map(one_line));
    words.push(styled(state_style(record.state), agent.state()));
    words.push(styled(
        DIM,
        &match (record.parent, record.fork_point) {
            (None, _) => one_line(&record.settings.model.to_string()),
            (Some(_), Some(entry)) => format!("{} at {entry}", record.standing.as_str()),
            (Some(_), None) => record.standing.as_str().to_owned(),
        },
    ));
    let is_there = |worktree: &&WorktreeRecord| worktree.removed_ms.is_none();
    if agent.worktree.as_ref().filter(is_there).is_some() {
        words.push(styled(DIM, "in a worktree"));
    }
    if let Some(task) = &agent.task {
        words.push(cut(&one_line(&task.directive), DIRECTIVE_COLUMNS));
    }
    words.join("  ")
}
