//! `tine tree`: agents as a drawing of who was forked from whom.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use anstyle::Style;
use serde::Serialize;
use tine_model::{AgentId, AgentState, Standing, WorktreeRecord};
use tine_runtime::AgentFilter;
use unicode_width::UnicodeWidthStr;

use crate::cli::TreeArgs;
use crate::commands::listing;
use crate::commands::ps::state_style;
use crate::context::Context;
use crate::fail::Failure;
use crate::output;
use crate::render::fold::Fold;
use crate::render::place::place;
use crate::render::record::{AgentJson, Shown};
use tine_tui::age::age;
use tine_tui::words::{BOLD, DIM, cut, one_line, styled};

/// Fewest columns of a title, also where the line is wider than the screen then.
const TITLE_COLUMNS_MIN: usize = 12;

/// Stands between the words of a line.
const GAP: &str = "  ";

pub(crate) async fn tree(context: &Context, args: TreeArgs) -> Result<u8, Failure> {
    listing::recover(context).await?;
    let top = match &args.agent {
        Some(agent) => Some(context.agent(agent).await?),
        None => None,
    };
    let agents = listing::agents(context, AgentFilter::Kept).await?;
    let columns = output::stdout_columns().filter(|_| !args.json);
    let folds = columns.filter(|_| !args.all);
    let fold = folds.map(|_| Fold::of(&agents, top)).unwrap_or_default();
    let forest = Forest::of(agents, top, args.all, &fold);
    if args.json {
        output::line(&forest.to_json()?)?;
    } else if forest.roots.is_empty() {
        listing::say_empty(context).await?;
    } else {
        let shown = Screen {
            now_ms: context.runtime.ports().clock.now_ms(),
            here: &context.directory,
            home: std::env::home_dir(),
            columns,
        };
        output::write_paged(&forest.to_text(&shown, &fold)).await?;
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
    fn of(agents: Vec<Shown>, top: Option<AgentId>, all: bool, fold: &Fold) -> Self {
        let index: HashMap<AgentId, usize> =
            agents.iter().enumerate().map(|(at, agent)| (agent.record.id, at)).collect();
        let parent = |at: usize| index.get(&agents.get(at)?.record.parent?).copied();
        let mut shown = HashSet::new();
        for (at, agent) in agents.iter().enumerate() {
            let record = &agent.record;
            let listed = record.state != AgentState::Dead && record.standing != Standing::Hidden;
            if fold.agents.contains(&record.id) || !(all || listed || Some(record.id) == top) {
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

    fn to_text(&self, shown: &Screen<'_>, fold: &Fold) -> String {
        let mut text = String::new();
        let folded = |at: usize| fold.by_parent.get(&self.agents[at].record.id).copied();
        // The agents on the way down, each with the number of lines drawn below it so far.
        let mut open: Vec<(usize, usize)> = Vec::new();
        for step in self.walk() {
            let line = match step {
                Step::Enter(at) => Some(Line::Agent(at)),
                Step::Leave => open.last().and_then(|(at, _)| folded(*at)).map(Line::Folded),
            };
            if let Some(line) = line {
                let (depth, from) = (open.len(), text.len());
                for (level, (above, drawn)) in open.iter_mut().enumerate() {
                    let last = level + 1 == depth;
                    *drawn += usize::from(last);
                    let below = self.children[*above].len() + usize::from(folded(*above).is_some());
                    text.push_str(match (last, *drawn < below) {
                        (true, true) => "├─ ",
                        (true, false) => "└─ ",
                        (false, true) => "│  ",
                        (false, false) => "   ",
                    });
                }
                let above = open.last().map(|(above, _)| &self.agents[*above]);
                let drawn = text[from..].width();
                text.push_str(&match (line, above) {
                    (Line::Agent(at), _) => shown.label(&self.agents[at], above, drawn),
                    (Line::Folded(count), above) => {
                        let parent = above.map(|above| above.record.id.short()).unwrap_or_default();
                        styled(DIM, &format!("… {}", listing::told_of_fold(count, &parent)))
                    }
                });
                text.push('\n');
            }
            match step {
                Step::Enter(at) => open.push((at, 0)),
                Step::Leave => drop(open.pop()),
            }
        }
        text
    }
}

/// A line of the drawing.
enum Line {
    Agent(usize),
    /// So many forks of the agent above are left out.
    Folded(usize),
}

/// Where and when the drawing is looked at.
struct Screen<'a> {
    now_ms: i64,
    here: &'a Path,
    home: Option<PathBuf>,
    /// `None` where it is no screen, and so nothing is cut.
    columns: Option<usize>,
}

impl Screen<'_> {
    /// One agent on one line, behind so many columns: where it works is said where that is not where its parent does.
    fn label(&self, agent: &Shown, above: Option<&Shown>, drawn: usize) -> String {
        let record = &agent.record;
        let mut words = vec![(BOLD, record.id.short())];
        words.extend(record.name.as_deref().map(|name| (Style::new(), one_line(name))));
        words.push((state_style(record.state), agent.state().to_owned()));
        let kind = match (record.parent, record.fork_point) {
            (None, _) => {
                let model = one_line(&record.settings.model.to_string());
                if record.standing == Standing::Guest { format!("guest {model}") } else { model }
            }
            (Some(_), Some(entry)) => format!("{} at {entry}", agent.kind()),
            (Some(_), None) => agent.kind().to_owned(),
        };
        words.push((DIM, kind));
        let is_there = |worktree: &&WorktreeRecord| worktree.removed_ms.is_none();
        let is_elsewhere = above.is_none_or(|above| above.record.directory != record.directory);
        if agent.worktree.as_ref().filter(is_there).is_some() {
            words.push((DIM, "in a worktree".to_owned()));
        } else if is_elsewhere {
            words.push((DIM, place(&record.directory, self.here, self.home.as_deref())));
        }
        words.push((DIM, age(self.now_ms, record.updated_ms)));
        let used = drawn + words.iter().map(|(_, word)| word.width() + GAP.len()).sum::<usize>();
        let room = self.columns.map_or(usize::MAX, |columns| columns.saturating_sub(used));
        let title = agent.title().map(|title| cut(&one_line(&title), room.max(TITLE_COLUMNS_MIN)));
        words.extend(title.map(|title| (Style::new(), title)));
        let words: Vec<String> =
            words.into_iter().map(|(style, word)| styled(style, &word)).collect();
        words.join(GAP)
    }
}
