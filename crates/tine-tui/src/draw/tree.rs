//! The picture of all agents: a line for each in columns, the marked one closely, and at the foot the keys or what is asked.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use tine_model::{AgentId, AgentRecord, TaskStatus};
use unicode_width::UnicodeWidthStr;

use super::peek;
use super::{BOLD, CYAN, DIM, GREEN, RED, YELLOW};
use crate::age::age;
use crate::app::{App, Asks, Doing, Escape, PICKER_KEYS, Row, TREE_KEYS, Tree, called};
use crate::figures::{grouped, plural};
use crate::words::{cut, fit, one_line};

/// Columns before the branches: the marks.
const MARKS: usize = 3;

/// What stands between two columns.
const BETWEEN: &str = "  ";

/// What stands between two keys at the foot.
const BETWEEN_KEYS: &str = "  ";

/// Fewest columns of names.
const NAME_COLUMNS_MIN: usize = 12;

/// Fewest columns of what an agent was asked first.
const TITLE_COLUMNS_MIN: usize = 12;

/// The same in the picker, where people look for it.
const PICKER_TITLE_COLUMNS_MIN: usize = 26;

/// Fewest rows of agents that a look at one of them leaves.
const ROWS_MIN: u16 = 6;

/// Something that is known of each agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Column {
    Kind,
    State,
    Point,
    Cost,
    Cache,
    Files,
    Model,
    Age,
    Forks,
    Place,
    Title,
}

/// In the order in which they stand: the head, the columns, and which of them goes first where there is too little room (the last).
const COLUMNS: [(Column, &str, usize, u8); 10] = [
    (Column::Kind, "kind", 10, 6),
    (Column::State, "state", 13, 0),
    (Column::Point, "fork", 6, 7),
    (Column::Cost, "cost", 8, 2),
    (Column::Cache, "cache", 5, 3),
    (Column::Files, "files", 5, 5),
    (Column::Model, "model", 22, 9),
    (Column::Age, "used", 4, 4),
    (Column::Place, "directory", 20, 8),
    (Column::Title, "title", TITLE_COLUMNS_MIN, 1),
];

/// The same of the picker, where what was said counts more than what is done.
const PICKER_COLUMNS: [(Column, &str, usize, u8); 7] = [
    (Column::Age, "used", 4, 1),
    (Column::Forks, "forks", 5, 2),
    (Column::State, "state", 13, 4),
    (Column::Cost, "cost", 8, 5),
    (Column::Model, "model", 22, 6),
    (Column::Place, "directory", 20, 3),
    (Column::Title, "title", PICKER_TITLE_COLUMNS_MIN, 0),
];

/// Draws it over an area. What is learned of its size goes back into the tree.
pub(super) fn draw(app: &App, tree: &mut Tree, frame: &mut Frame<'_>, area: Rect) {
    let width = usize::from(area.width);
    let peek = match tree.marked {
        Some(marked) if tree.peeks => peek::lines(app, marked, width),
        Some(_) | None => Vec::new(),
    };
    let room = area.height.saturating_sub(3 + ROWS_MIN);
    let peek_rows = u16::try_from(peek.len()).unwrap_or(u16::MAX).min(room);
    let [head, body, below, foot] = Layout::vertical([
        Constraint::Length(2),
        Constraint::Min(1),
        Constraint::Length(peek_rows),
        Constraint::Length(1),
    ])
    .areas(area);
    tree.seen = (body.y, body.height);
    let height = usize::from(body.height);
    tree.scroll(height, |agent| app.runs(agent));
    let shown = tree.rows.iter().enumerate().skip(tree.first).take(height);
    let names = shown.clone().filter_map(|(_, row)| Some((row, app.record(row.agent)?)));
    let name = name_columns(names, width);
    let known = if tree.is_picker { &PICKER_COLUMNS[..] } else { &COLUMNS[..] };
    let columns = columns(known, width.saturating_sub(MARKS + name));
    let heads = Paragraph::new(vec![counts(app, tree, width), heads(&columns, name)]);
    frame.render_widget(heads, head);
    let lines: Vec<Line<'static>> = shown
        .filter_map(|(number, row)| {
            let agent = app.record(row.agent)?;
            Some(line(app, agent, row, number == tree.at, (name, &columns)))
        })
        .collect();
    let lines =
        if lines.is_empty() { vec![Line::from(Span::styled("   none", DIM))] } else { lines };
    frame.render_widget(Paragraph::new(lines), body);
    frame.render_widget(Paragraph::new(peek), below);
    frame.render_widget(at_foot(app, tree, usize::from(foot.width)), foot);
}

fn counts(app: &App, tree: &Tree, width: usize) -> Line<'static> {
    if tree.is_picker {
        return picker_counts(app, tree, width);
    }
    let running = app.at_work().count();
    let mut counts = format!(
        "  {}, {running} running, {} dead",
        plural(app.agents.len() as u64, "agent"),
        app.agents.dead(),
    );
    if !tree.filter.is_empty() {
        counts.push_str(&format!(" · with `{}`: {}", one_line(&tree.filter), tree.rows.len()));
    }
    counts.push_str(" · cost and cache of all requests");
    let room = width.saturating_sub("Agents".len());
    Line::from(vec![Span::styled("Agents", BOLD), Span::styled(cut(&counts, room), DIM)])
}

fn picker_counts(app: &App, tree: &Tree, width: usize) -> Line<'static> {
    let of = if tree.filter.is_empty() {
        plural(tree.rows.len() as u64, "row")
    } else {
        format!("{} found", grouped(tree.rows.len() as u64))
    };
    let all = plural(app.agents.len() as u64, "agent");
    let counts = format!("  {of}, {all} · this directory first, the last used first");
    let head = "Conversations";
    let room = width.saturating_sub(head.len());
    Line::from(vec![Span::styled(head, BOLD), Span::styled(cut(&counts, room), DIM)])
}

/// Columns of the names that are seen, their branches with them.
fn name_columns<'a>(
    shown: impl Iterator<Item = (&'a Row, &'a AgentRecord)>,
    width: usize,
) -> usize {
    let widest = shown.map(|(row, agent)| row.branch.width() + one_line(&called(agent)).width());
    let most = (width * 3 / 10).max(NAME_COLUMNS_MIN);
    widest.max().unwrap_or(0).clamp(NAME_COLUMNS_MIN, most)
}

/// Those of the known columns that fit, the most important first, each with its width; the title has what is left.
fn columns(
    known: &[(Column, &'static str, usize, u8)],
    width: usize,
) -> Vec<(Column, &'static str, usize)> {
    let mut by_weight = known.to_vec();
    by_weight.sort_by_key(|(.., weight)| *weight);
    let (mut left, mut fitting) = (width, Vec::new());
    for (column, _, columns, _) in by_weight {
        if columns + BETWEEN.len() <= left {
            left -= columns + BETWEEN.len();
            fitting.push(column);
        }
    }
    known
        .iter()
        .filter(|(column, ..)| fitting.contains(column))
        .map(|(column, head, columns, _)| match column {
            Column::Title => (*column, *head, columns + left),
            _ => (*column, *head, *columns),
        })
        .collect()
}

fn heads(columns: &[(Column, &'static str, usize)], name: usize) -> Line<'static> {
    let mut line = format!("{}{}", " ".repeat(MARKS), fit("agent", name));
    for (column, head, width) in columns {
        line.push_str(BETWEEN);
        line.push_str(&placed(*column, head, *width));
    }
    Line::from(Span::styled(line, DIM))
}

fn line(
    app: &App,
    agent: &AgentRecord,
    row: &Row,
    is_marked: bool,
    (name, columns): (usize, &[(Column, &'static str, usize)]),
) -> Line<'static> {
    let doing = app.doing(agent);
    let style = style(doing);
    let here = if app.focus == Some(agent.id) { "* " } else { "  " };
    // Of a long chain the nearest generations are seen.
    let title = one_line(&called(agent));
    let branch_room = name.saturating_sub(title.width().min(name / 2));
    let branch = if row.branch.width() > branch_room {
        let hidden = row.branch.chars().count() + 1 - branch_room.max(1);
        format!("…{}", row.branch.chars().skip(hidden).collect::<String>())
    } else {
        row.branch.clone()
    };
    let title_room = name.saturating_sub(branch.width());
    let is_bold = if is_marked { Modifier::BOLD | Modifier::REVERSED } else { Modifier::BOLD };
    let title = cut(&title, title_room);
    let blank = " ".repeat(title_room.saturating_sub(title.width()));
    let mut spans = vec![
        Span::styled(if is_marked { "▸" } else { " " }, GREEN),
        Span::styled(here, GREEN),
        Span::styled(branch, DIM),
        Span::styled(title, style.add_modifier(is_bold)),
        Span::raw(blank),
    ];
    for (column, _, width) in columns {
        spans.push(Span::raw(BETWEEN));
        let style = match column {
            Column::State => style,
            Column::Title => Style::new(),
            _ => DIM,
        };
        let text = cell(app, (agent, row), *column, doing);
        spans.push(Span::styled(placed(*column, &text, *width), style));
    }
    Line::from(spans)
}

fn cell(app: &App, (agent, row): (&AgentRecord, &Row), column: Column, doing: Doing) -> String {
    let nothing = || "–".to_owned();
    let id: AgentId = agent.id;
    match column {
        Column::Kind => app.kind(agent).to_owned(),
        Column::State => match (doing, app.workers_waited_for(id)) {
            (Doing::Here, workers @ 1..) => format!("{} waits for {workers}", doing.sign()),
            _ => format!("{} {}", doing.sign(), doing.word()),
        },
        Column::Point => app.fork_point(agent),
        Column::Cost => app.facts.cost(id).unwrap_or_else(nothing),
        Column::Cache => app.facts.cached(id).map_or_else(nothing, |share| format!("{share}%")),
        Column::Files => app.facts.files(id).map_or_else(nothing, |files| files.to_string()),
        Column::Model => one_line(&agent.settings.model.to_string()),
        Column::Age => age(app.now_ms, agent.updated_ms),
        Column::Forks if row.folded > 0 => format!("+{}", row.folded),
        Column::Forks => String::new(),
        Column::Place => app.place_of(agent),
        Column::Title => app.title_of(id).unwrap_or_default(),
    }
}

/// Words on the left of their column, figures on the right.
fn placed(column: Column, text: &str, width: usize) -> String {
    match column {
        Column::Cost | Column::Cache | Column::Files | Column::Age | Column::Forks => {
            let text = cut(text, width);
            format!("{}{text}", " ".repeat(width.saturating_sub(text.width())))
        }
        Column::Place => fit(&end_of(text, width), width),
        Column::Kind | Column::State | Column::Point | Column::Model | Column::Title => {
            fit(text, width)
        }
    }
}

/// The colour of what an agent does, beside its sign and its word.
pub(super) fn style(doing: Doing) -> Style {
    match doing {
        Doing::Here | Doing::Elsewhere | Doing::Task(TaskStatus::Running) => CYAN,
        Doing::Asks | Doing::Interrupted | Doing::Task(TaskStatus::Interrupted) => YELLOW,
        Doing::Task(TaskStatus::Completed) => GREEN,
        Doing::Failed
        | Doing::Task(
            TaskStatus::Failed | TaskStatus::Cancelled | TaskStatus::TimedOut | TaskStatus::Lost,
        ) => RED,
        Doing::Dead => DIM,
        Doing::Idle | Doing::Task(TaskStatus::Queued) => Style::new(),
    }
}

fn at_foot(app: &App, tree: &Tree, width: usize) -> Line<'static> {
    let name = |id: AgentId| one_line(&app.record(id).map_or_else(|| id.short(), called));
    let (question, text) = match &tree.asks {
        None if tree.is_picker => ("find: ".to_owned(), tree.filter.as_str()),
        None => return keys(&TREE_KEYS, tree, width),
        Some(Asks::Name(agent, text)) => (format!("new name of {}: ", name(*agent)), text.as_str()),
        Some(Asks::Words(agent, text)) => (format!("to {}: ", name(*agent)), text.as_str()),
        Some(Asks::Filter) => ("find: ".to_owned(), tree.filter.as_str()),
        Some(Asks::Kill(agent, below)) => {
            let them = match below {
                0 => String::new(),
                below => format!(" and {} below", plural(*below as u64, "agent")),
            };
            (format!("kill {}{them}? y/n", name(*agent)), "")
        }
    };
    let escape = format!("  Esc {}", tree.escape().words());
    // The end of what is written is seen.
    let room = width.saturating_sub(question.width() + escape.width() + 1);
    let text = one_line_kept(text);
    let hidden = text.chars().count().saturating_sub(room);
    let cursor = if matches!(tree.asks, Some(Asks::Kill(..))) { "" } else { "▏" };
    let mut line = Line::from(vec![
        Span::styled(cut(&question, width), YELLOW),
        Span::raw(text.chars().skip(hidden).collect::<String>()),
        Span::styled(cursor, CYAN),
        Span::styled(escape, DIM),
    ]);
    if tree.is_picker {
        let room = width.saturating_sub(line.width() + BETWEEN_KEYS.len());
        let keys = keys(&PICKER_KEYS, tree, room);
        if keys.width() > 0 {
            line.push_span(Span::raw(BETWEEN_KEYS));
        }
        line.extend(keys);
    }
    line
}

/// The end of a path that is too long: its last folder says the most.
fn end_of(path: &str, width: usize) -> String {
    let hidden = (path.width() + 1).saturating_sub(width);
    if path.width() > width {
        format!("…{}", path.chars().skip(hidden).collect::<String>())
    } else {
        path.to_owned()
    }
}

/// The text as it is written, blanks at its end with it, on one line and harmless.
fn one_line_kept(text: &str) -> String {
    crate::words::harmless(&text.replace(['\n', '\t'], " "))
}

/// As many keys as fit, whole.
fn keys(known: &[(&'static str, &'static str)], tree: &Tree, width: usize) -> Line<'static> {
    let mut line = Line::default();
    for (key, what) in known {
        let what = match tree.escape() {
            Escape::ShowAll if *key == "Esc" => "show all",
            _ => *what,
        };
        let between = if line.spans.is_empty() { "" } else { BETWEEN_KEYS };
        if line.width() + between.len() + key.width() + 1 + what.width() > width {
            break;
        }
        line.push_span(Span::styled(format!("{between}{key}"), CYAN));
        line.push_span(Span::styled(format!(" {what}"), DIM));
    }
    line
}
