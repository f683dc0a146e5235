//! The two lines around the line that is written: where one is among the agents, and what it costs.

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use tine_guard::PermissionMode;
use tine_model::{AgentState, Cap, Standing};
use tine_runtime::BudgetRow;
use unicode_width::UnicodeWidthStr;

use super::{BOLD, CYAN, DIM, RED, YELLOW};
use crate::app::{
    Action, App, Escape, LastRequest, POINT_KEYS, Scroll, Standby, called, is_command, mode_word,
};
use crate::figures::{money, plural, span, tokens};
use crate::question::{Said, said};
use crate::words::{cut, fit};

/// A budget with less than this share left is shown before what costs nothing, in percent.
const LOW_PERCENT: u64 = 20;

/// Millionths of a USD in one.
const MICRO: f64 = 1_000_000.0;

/// Millionths of a USD in a cent.
const CENT: u64 = 10_000;

/// Fewest dollars that are called saved.
const SAVED_MIN: f64 = 0.0001;

/// What stands between two parts of a line.
const BETWEEN: &str = " · ";

/// Where the agent stands: its name, its parent, its siblings and forks.
pub(super) fn rule(app: &App, width: usize) -> Line<'static> {
    let Some(room) = app.room() else {
        return Line::from(Span::styled("─".repeat(width), DIM));
    };
    let record = &room.record;
    let mut parts = vec![room.called()];
    if let Some(parent) = record.parent {
        parts.push(format!("↑ {}", app.record(parent).map_or_else(|| parent.short(), called)));
    }
    let lives = |agent: &&tine_model::AgentRecord| {
        agent.state != AgentState::Dead && agent.standing != Standing::Hidden
    };
    let beside = app.agents.iter().filter(lives).filter(|agent| agent.parent == record.parent);
    let beside = beside.filter(|agent| agent.id != record.id).count();
    if record.parent.is_some() && beside > 0 {
        parts.push(plural(beside as u64, "sibling"));
    }
    let below = app.agents.iter().filter(lives).filter(|agent| agent.parent == Some(record.id));
    match below.count() {
        0 => {}
        forks => parts.push(plural(forks as u64, "fork")),
    }
    if record.state == AgentState::Dead {
        parts.push("dead".to_owned());
    }
    if record.state == AgentState::Interrupted && !app.runs(record.id) {
        let how = if record.failure.is_some() { "failed" } else { "interrupted" };
        parts.push(format!("{how}: /resume goes on"));
    }
    if room.scroll != Scroll::Bottom {
        let key = app.keys.hint(Action::Bottom).map(|key| format!(" ({key})"));
        parts.push(format!("scrolled back{}", key.unwrap_or_default()));
    }
    let text = cut(&parts.join(" · "), width.saturating_sub(6));
    let line = "─".repeat(width.saturating_sub(text.chars().count() + 4));
    Line::from(vec![
        Span::styled("── ", DIM),
        Span::styled(text, BOLD),
        Span::styled(format!(" {line}"), DIM),
    ])
}

/// Model, questions, agents, context, cache, money, budget, the most urgent first; or the word of the moment.
pub(super) fn line(app: &App, width: usize) -> Line<'static> {
    if let Some((word, _)) = &app.word {
        return Line::from(Span::styled(fit(word, width), YELLOW));
    }
    if app.is_pointing() {
        return Line::from(Span::styled(cut(POINT_KEYS, width), CYAN));
    }
    fitted(parts(app), width)
}

/// A part of the status line.
struct Part {
    rank: Rank,
    text: String,
    /// Stands for the text where that does not fit.
    short: Option<String>,
    style: Style,
}

/// How early a part has its place. Of equal ones the first is earlier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rank {
    /// What happens without a question. It always stays.
    Mode,
    /// That there is a question. It always stays.
    Question,
    /// What the next key does.
    Key,
    /// All else.
    Usual,
    /// The words that short texts leave out.
    Words,
}

impl Rank {
    /// All of them, the most important first.
    const ALL: [Self; 5] = [Self::Mode, Self::Question, Self::Key, Self::Usual, Self::Words];

    /// The rank of the words that the short text of a part leaves out.
    fn of_words(self) -> Self {
        match self {
            // The key that leads to it.
            Self::Question => Self::Key,
            Self::Mode | Self::Key | Self::Usual | Self::Words => Self::Words,
        }
    }
}

/// The parts that fit, in the order in which they are given. What does not fit is short, or left out whole, the least important first.
fn fitted(parts: Vec<Part>, width: usize) -> Line<'static> {
    let mut room = width + BETWEEN.width();
    let mut shown: Vec<Option<&String>> = vec![None; parts.len()];
    for rank in Rank::ALL {
        for (part, shown) in parts.iter().zip(&mut shown).filter(|(part, _)| part.rank == rank) {
            let text = part.short.as_ref().unwrap_or(&part.text);
            if let Some(left) = room.checked_sub(text.width() + BETWEEN.width()) {
                (room, *shown) = (left, Some(text));
            }
        }
        let grow = |(part, _): &(&Part, _)| part.rank.of_words() == rank;
        for (part, shown) in parts.iter().zip(&mut shown).filter(grow) {
            let Some(short) = *shown else { continue };
            if let Some(left) = (room + short.width()).checked_sub(part.text.width()) {
                (room, *shown) = (left, Some(&part.text));
            }
        }
    }
    let mut line = Line::default();
    for (part, text) in parts.iter().zip(shown) {
        let Some(text) = text else { continue };
        let between = if line.spans.is_empty() { "" } else { BETWEEN };
        line.push_span(Span::styled(between, DIM));
        line.push_span(Span::styled(text.clone(), part.style));
    }
    line
}

fn parts(app: &App) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut add = |rank, text: String, short: Option<String>, style| {
        parts.push(Part { rank, text, short, style });
    };
    let model = app.room().map(|room| room.record.settings.model.to_string());
    let model = model.or_else(|| app.new_model.clone());
    add(Rank::Usual, model.unwrap_or_else(|| "no model".to_owned()), None, CYAN);
    let word = mode_word(app.mode).to_owned();
    let key = app.keys.hint(Action::Mode).map(|key| format!(" ({key})")).unwrap_or_default();
    let mode = format!("{word}{key}");
    let style = match app.mode {
        PermissionMode::Bypass => Some(RED),
        PermissionMode::AcceptEdits | PermissionMode::ReadOnly => Some(YELLOW),
        PermissionMode::Default => None,
    };
    if let Some(style) = style {
        add(Rank::Mode, mode.clone(), Some(word.clone()), style);
    }
    let escape = app.escape_hint().filter(|_| is_said_here(app));
    escape.into_iter().for_each(|hint| add(Rank::Key, hint, None, CYAN));
    match app.question_place().1 {
        0 => {}
        count => {
            let key = app.keys.or(Action::Answer, "/answer");
            let questions = plural(count as u64, "question");
            add(Rank::Question, format!("{questions} ({key})"), Some(questions), YELLOW);
        }
    }
    let running = app.at_work().count();
    if running > 0 {
        add(Rank::Usual, format!("{running} running"), None, CYAN);
    }
    let left = app.room().and_then(|room| budget_left(room.budget.as_ref()?, app.now_ms));
    let (short, left) = match left {
        Some((text, style)) if style != DIM => (Some((text, style)), None),
        left => (None, left),
    };
    short.into_iter().for_each(|(text, style)| add(Rank::Usual, text, None, style));
    if let Some((room, last)) = app.room().and_then(|room| Some((room, room.last_request?))) {
        let LastRequest { read, prompt, is_expired } = last;
        let used = format!("{} context", tokens(prompt));
        match room.window.filter(|window| *window > 0) {
            Some(window) => {
                let window = tokens(window).replace(".0", "");
                let text = format!("{} of {window} context", tokens(prompt));
                add(Rank::Usual, text, Some(used), DIM);
            }
            None => add(Rank::Usual, used, None, DIM),
        }
        if let (Some(read), true) = (read, prompt > 0) {
            let share = read.min(prompt) * 100 / prompt;
            let text = format!("last request {share}% cached");
            if is_expired {
                let long = format!("{text}, the rest had expired");
                add(Rank::Usual, long, Some(text), DIM);
            } else {
                add(Rank::Usual, text, Some(format!("{share}% cached")), DIM)
            }
        }
    }
    if let Some(cost) = app.room().and_then(|room| room.cost) {
        match (cost.own, cost.tree) {
            (Some(own), Some(tree)) if tree > own => {
                let text = format!("{} (tree {})", money(own), money(tree));
                add(Rank::Usual, text, Some(money(own)), DIM);
            }
            (Some(own), _) => add(Rank::Usual, money(own), None, DIM),
            (None, _) => {}
        }
        let saved = cost.saved.filter(|saved| *saved >= SAVED_MIN);
        let saved = saved.map(|saved| format!("the cache saved {}", money(saved)));
        saved.into_iter().for_each(|saved| add(Rank::Usual, saved, None, DIM));
    }
    left.into_iter().for_each(|(text, style)| add(Rank::Usual, text, None, style));
    if app.mode == PermissionMode::Default {
        add(Rank::Mode, mode, Some(word), DIM);
    }
    parts
}

/// Returns true if what Esc does stands nowhere else on the screen.
fn is_said_here(app: &App) -> bool {
    match app.escape() {
        Escape::NoOffers => true,
        // The panel says it where Enter would confirm, or tell what to do instead.
        Escape::AnswerAnew | Escape::AnswerLater => {
            let text = app.line().text();
            let is_instead = !is_command(&text) && matches!(said(&text), Said::Instead(_));
            let is_word = !text.trim().is_empty() && !is_instead;
            app.standby() != Standby::Armed || is_word
        }
        // The strip, the foot of the tree or page, or the keys of the pointing.
        Escape::LeaveFoot
        | Escape::LeaveSearch
        | Escape::ShowAll
        | Escape::Close
        | Escape::TakeBack
        | Escape::PointNoMore
        | Escape::GiveUpFork
        | Escape::WaitNoMore
        | Escape::StopCommand
        | Escape::StopBelow
        | Escape::Interrupt
        | Escape::Nothing => false,
    }
}

/// What is left of the cap of a tree that is nearest to its end; nothing where no cap holds its requests back.
fn budget_left(budget: &BudgetRow, now_ms: i64) -> Option<(String, Style)> {
    let left = |cap: Cap| {
        let most = budget.caps.get(cap)?;
        let left = most.saturating_sub(budget.used(cap, now_ms));
        // A cap of nothing is used up.
        let percent = left.saturating_mul(100).checked_div(most).unwrap_or(0);
        Some((percent, cap, left))
    };
    let caps = [Cap::Money, Cap::Tokens, Cap::Time].into_iter().filter_map(left);
    let (percent, cap, left) = caps.min_by_key(|(percent, ..)| *percent)?;
    let text = match cap {
        _ if left == 0 => "budget used up".to_owned(),
        Cap::Money if left >= CENT => format!("${:.2} left", left as f64 / MICRO),
        Cap::Money => "less than a cent left".to_owned(),
        Cap::Time => format!("{} left", span(left)),
        Cap::Tokens | Cap::Agents | Cap::Running => format!("{} tokens left", tokens(left)),
    };
    let style = match percent {
        _ if left == 0 => RED,
        0..LOW_PERCENT => YELLOW,
        _ => DIM,
    };
    Some((text, style))
}
