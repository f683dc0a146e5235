//! The workers of a fan while they run: on a terminal one line each, redrawn in place; elsewhere a plain line whenever
//! something changes.

use std::path::Path;
use std::sync::Arc;

use tine_cache::{Launch, Plan};
use tine_fork::neighbour::Neighbour;
use tine_fork::run::RunEvent;
use tine_model::{AgentId, TaskRecord, TaskStatus, Usage};
use tine_runtime::{AgentEvent, EventKind};
use tine_wire::Event;
use unicode_width::UnicodeWidthStr;

use crate::budget::paused;
use crate::render::screen::Screen;
use crate::render::text::at_least;
use tine_tui::figures::{plural, span, tokens};
use tine_tui::words::{
    BOLD, CYAN, DIM, GREEN, RED, STORE_WAITS, YELLOW, call_line, cut, fit, left_behind, one_line,
    styled,
};

/// Rows of the screen that the block leaves free: its own foot, and the line that the cursor is on.
const ROWS_FREE: usize = 3;

/// Columns for a worker's turns and tokens.
const FIGURES_COLUMNS: usize = 24;

/// Below this width a worker's line has only its title and what it does.
const COLUMNS_FOR_FIGURES: usize = 60;

/// Shows a fan. Make it before the fan, let it see all events, and call [`WorkerBoard::finish`] behind it.
pub(crate) struct WorkerBoard {
    screen: Arc<Screen>,
    agents: Vec<AgentId>,
    workers: Vec<Worker>,
}

#[derive(Default)]
struct Worker {
    title: String,
    id: String,
    phase: Phase,
    /// What it does right now.
    doing: String,
    turns: u32,
    usage: Usage,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Phase {
    #[default]
    Queued,
    Waiting,
    Running,
    Ended(TaskStatus),
}

impl WorkerBoard {
    /// A board for workers with these titles, in the order of their directives, on a screen that others write to as well.
    pub(crate) fn on(screen: Arc<Screen>, titles: Vec<String>) -> Self {
        let worker = |title: String| Worker { title: one_line(&title), ..Worker::default() };
        let workers = titles.into_iter().map(worker).collect();
        Self { screen, agents: Vec::new(), workers }
    }

    /// Returns true if the agent is one of the workers.
    pub(crate) fn has(&self, agent: AgentId) -> bool {
        self.agents.contains(&agent)
    }

    /// Leaves the last state on the screen, as lines that stay. A fan that never began leaves nothing.
    pub(crate) fn finish(&self) {
        self.screen.keep_block();
    }

    /// Shows what happens to one of the workers, or that they were made.
    pub(crate) fn event(&mut self, event: &AgentEvent) {
        let (agent, directory) = (event.agent, &event.directory);
        match &event.kind {
            EventKind::Fanned { workers, plan } if self.agents.is_empty() => {
                self.begin(workers, plan);
            }
            EventKind::Run(step) => {
                self.change(agent, |worker, screen| step_of(worker, step, directory, screen))
            }
            EventKind::TaskEnded(task) => self.change(agent, |worker, _| {
                worker.phase = Phase::Ended(task.status);
                (worker.turns, worker.usage) = (task.turns, task.usage);
                worker.doing = ended_words(task);
                Some(format!("{} · {}", worker.doing, figures(worker)))
            }),
            _ => {}
        }
    }

    /// Changes a worker; redraws, or says what `change` returns, when the change is worth it.
    fn change(
        &mut self,
        agent: AgentId,
        change: impl FnOnce(&mut Worker, &Screen) -> Option<String>,
    ) {
        let Some(index) = self.agents.iter().position(|one| *one == agent) else { return };
        let count = self.workers.len();
        let Some(worker) = self.workers.get_mut(index) else { return };
        let before = (worker.phase, worker.turns, worker.doing.clone());
        let line = change(worker, &self.screen);
        if before == (worker.phase, worker.turns, worker.doing.clone()) {
            return;
        }
        let line = line.map(|line| format!("[{}/{count}] {} {line}", index + 1, worker.id));
        if self.screen.is_live() {
            self.draw();
        } else if let Some(line) = line {
            self.screen.say(&line);
        }
    }

    fn draw(&self) {
        self.screen.show(block(&self.workers, self.screen.columns(), self.screen.rows()));
    }

    fn begin(&mut self, agents: &[AgentId], plan: &Plan) {
        self.agents = agents.to_vec();
        for (worker, agent) in self.workers.iter_mut().zip(agents) {
            worker.id = agent.short();
        }
        let how = match plan.launch {
            _ if agents.len() < 2 => "",
            Launch::Together => "; all start together",
            Launch::LeaderFirst => "; one starts first and fills the cache for the rest",
            Launch::InTurn if plan.at_once == Some(1) => "; one has its turn after the other",
            Launch::InTurn => "; some at a time have their turn",
        };
        let count = plural(agents.len() as u64, "worker");
        self.screen.say(&styled(DIM, &format!("Forked {count}{how}")));
        self.draw();
    }
}

/// Notes a step of a worker. Returns the words that are worth a line of their own where nothing can be redrawn.
fn step_of(
    worker: &mut Worker,
    step: &RunEvent,
    directory: &Path,
    screen: &Screen,
) -> Option<String> {
    match step {
        RunEvent::Waiting => {
            worker.phase = Phase::Waiting;
            None
        }
        RunEvent::Request { .. } => {
            worker.phase = Phase::Running;
            worker.doing = "waits for the model".to_owned();
            None
        }
        RunEvent::Stream(event) => {
            let doing = match event {
                Event::Text { .. } => "writes",
                Event::Thinking { .. } => "thinks",
                _ => return None,
            };
            doing.clone_into(&mut worker.doing);
            None
        }
        RunEvent::Retry { wait, cause, .. } => {
            let wait = span(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
            worker.doing = format!("tries again in {wait}: {}", one_line(cause));
            Some(worker.doing.clone())
        }
        RunEvent::Held { wait, reason } => {
            worker.doing = format!("waits{}: {}", at_least(*wait), reason.as_str());
            Some(worker.doing.clone())
        }
        RunEvent::Paused(reached) => {
            worker.phase = Phase::Waiting;
            worker.doing = paused(reached, &worker.id);
            Some(worker.doing.clone())
        }
        RunEvent::StoreWaits => {
            screen.say(STORE_WAITS);
            None
        }
        RunEvent::Unkept(what) => {
            screen.say(&format!("{}: {what}", worker.id));
            None
        }
        RunEvent::LeftBehind(left) => {
            screen.say(&format!("{}: {}", worker.id, left_behind(left)));
            None
        }
        RunEvent::Dialect(change) => {
            screen.say(&format!("{}: {}", worker.id, one_line(&change.to_string())));
            None
        }
        RunEvent::Shared(neighbours) => {
            // The place of the step that is shown stays; what is to be known is a line of its own.
            screen.say(&format!("{}: {}", worker.id, one_line(&Neighbour::note(neighbours))));
            None
        }
        RunEvent::Answered(record) => {
            worker.turns += 1;
            worker.usage += record.usage;
            None
        }
        RunEvent::ToolStarted { call } => {
            let (tool, rest) = call_line(call, directory);
            worker.doing = format!("{tool} {rest}");
            Some(worker.doing.clone())
        }
        RunEvent::ToolProgress { .. } | RunEvent::ToolFinished { .. } | RunEvent::Message(_) => {
            None
        }
    }
}

fn ended_words(task: &TaskRecord) -> String {
    let took = task.ended_ms.map_or(0, |ended_ms| ended_ms - task.created_ms);
    let time = span(u64::try_from(took).unwrap_or(0));
    match &task.error {
        None => format!("done in {time}"),
        Some(_) if task.status == TaskStatus::Cancelled => format!("cancelled after {time}"),
        Some(why) => format!("{}: {}", task.status.as_str().replace('_', " "), one_line(why)),
    }
}

fn figures(worker: &Worker) -> String {
    let used = worker.usage.prompt() + worker.usage.output;
    format!("{}  {} tokens", plural(u64::from(worker.turns), "turn"), tokens(used))
}

/// The live block: a line for each worker that there is room for, and a foot.
fn block(workers: &[Worker], columns: usize, rows: usize) -> Vec<String> {
    let room = rows.saturating_sub(ROWS_FREE).max(1);
    let shown = chosen(workers, room);
    let title_columns = workers.iter().map(|worker| worker.title.width()).max();
    let mut lines: Vec<String> = workers
        .iter()
        .zip(&shown)
        .filter(|(_, shown)| **shown)
        .map(|(worker, _)| line(worker, columns, title_columns.unwrap_or(0)))
        .collect();
    lines.push(foot(workers, workers.len() - lines.len(), columns));
    lines
}

/// Which workers are shown when there is not room for all: those at work first, then those that wait, then the others.
fn chosen(workers: &[Worker], room: usize) -> Vec<bool> {
    let rank = |worker: &Worker| match worker.phase {
        Phase::Running => 0,
        Phase::Waiting => 1,
        Phase::Queued => 2,
        Phase::Ended(_) => 3,
    };
    let mut order: Vec<usize> = (0..workers.len()).collect();
    order.sort_by_key(|index| workers.get(*index).map_or(usize::MAX, rank));
    let mut shown = vec![false; workers.len()];
    for index in order.into_iter().take(room) {
        if let Some(shown) = shown.get_mut(index) {
            *shown = true;
        }
    }
    shown
}

fn line(worker: &Worker, columns: usize, title_columns: usize) -> String {
    let (style, glyph) = match worker.phase {
        Phase::Queued => (DIM, '·'),
        Phase::Waiting => (DIM, '◌'),
        Phase::Running => (CYAN, '●'),
        Phase::Ended(TaskStatus::Completed) => (GREEN, '✓'),
        Phase::Ended(TaskStatus::Cancelled | TaskStatus::Interrupted | TaskStatus::Lost) => {
            (YELLOW, '■')
        }
        Phase::Ended(_) => (RED, '✗'),
    };
    let doing = match worker.phase {
        Phase::Waiting => "waits for the first",
        _ => &worker.doing,
    };
    // The last column stays free: some terminals wrap when it is written.
    let inner = columns.saturating_sub(3);
    let figures_columns = if columns < COLUMNS_FOR_FIGURES { 0 } else { FIGURES_COLUMNS };
    let text_columns = inner.saturating_sub(figures_columns);
    let title_columns = title_columns.min(text_columns / 2);
    let doing_columns = text_columns.saturating_sub(title_columns + 2);
    let figures = match (figures_columns, worker.turns) {
        (0, _) | (_, 0) => String::new(),
        _ => format!("{:>figures_columns$}", cut(&figures(worker), figures_columns)),
    };
    let doing =
        if figures.is_empty() { cut(doing, doing_columns) } else { fit(doing, doing_columns) };
    format!(
        "{} {}  {}{}",
        styled(style, &glyph.to_string()),
        styled(BOLD, &fit(&worker.title, title_columns)),
        styled(DIM, &doing),
        styled(DIM, &figures)
    )
}

fn foot(workers: &[Worker], hidden: usize, columns: usize) -> String {
    let ended = workers.iter().filter(|worker| matches!(worker.phase, Phase::Ended(_))).count();
    let mut usage = Usage::default();
    for worker in workers {
        usage += worker.usage;
    }
    let mut text = format!("{ended} of {} ended", workers.len());
    if hidden > 0 {
        text.push_str(&format!(", {hidden} not shown"));
    }
    if usage != Usage::default() {
        text.push_str(&format!(
            " · cache: {} written, {} read · {} uncached · {} output",
            tokens(usage.written()),
            tokens(usage.read.unwrap_or(0)),
            tokens(usage.uncached),
            tokens(usage.output)
        ));
    }
    styled(DIM, &cut(&text, columns.saturating_sub(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worker(title: &str, phase: Phase, doing: &str, turns: u32) -> Worker {
        let usage = match turns {
            0 => Usage::default(),
            _ => Usage { uncached: 12, read: Some(8_000), output: 400, ..Usage::default() },
        };
        Worker {
            title: title.to_owned(),
            id: "1a2b3c4d".to_owned(),
            phase,
            doing: doing.to_owned(),
            turns,
            usage,
        }
    }

    fn workers() -> Vec<Worker> {
        vec![
            worker("count the tests", Phase::Ended(TaskStatus::Completed), "done in 1.2 s", 3),
            worker(
                "find the longest function of the whole project",
                Phase::Running,
                "Bash wc -l src/*.rs",
                1,
            ),
            worker("日本語", Phase::Waiting, "", 0),
            worker("d", Phase::Ended(TaskStatus::Failed), "failed: the provider is overloaded", 1),
        ]
    }

    fn plain(columns: usize, rows: usize) -> String {
        let lines = block(&workers(), columns, rows);
        anstream::adapter::strip_str(&lines.join("\n")).to_string()
    }

    #[test]
    fn a_board_has_a_line_for_each_worker() {
        insta::assert_snapshot!(plain(100, 24), @"
        ✓ count the tests                       done in 1.2 s                          3 turns  8.4k tokens
        ● find the longest function of the wh…  Bash wc -l src/*.rs                     1 turn  8.4k tokens
        ◌ 日本語                                waits for the first
        ✗ d                                     failed: the provider is overloaded      1 turn  8.4k tokens
        2 of 4 ended · cache: 0 written, 24.0k read · 36 uncached · 1.2k output
        ");
    }

    #[test]
    fn a_narrow_board_leaves_the_figures_out() {
        insta::assert_snapshot!(plain(40, 24), @"
        ✓ count the tests     done in 1.2 s
        ● find the longest …  Bash wc -l src/*…
        ◌ 日本語              waits for the fi…
        ✗ d                   failed: the prov…
        2 of 4 ended · cache: 0 written, 24.0k…
        ");
    }

    #[test]
    fn a_low_board_shows_those_at_work() {
        insta::assert_snapshot!(plain(80, 5), @"
        ● find the longest function…  Bash wc -l src/*.rs           1 turn  8.4k tokens
        ◌ 日本語                      waits for the first
        2 of 4 ended, 2 not shown · cache: 0 written, 24.0k read · 36 uncached · 1.2k …
        ");
    }

    #[test]
    fn no_line_is_wider_than_the_screen() {
        for columns in 1..120 {
            for line in block(&workers(), columns, 24) {
                let width = anstream::adapter::strip_str(&line).to_string().width();
                assert!(columns < 8 || width < columns, "{columns}: {line}");
            }
        }
    }
}
