//! The marked agent of the tree closely: what it does, where it stands, what it last said.

use ratatui::text::{Line, Span};
use tine_model::AgentId;
use unicode_width::UnicodeWidthStr;

use super::{BOLD, DIM, tree};
use crate::app::{App, Doing, called};
use crate::figures::{plural, span};
use crate::words::{cut, folded, harmless, one_line};

/// Most lines of what it last said.
const WORDS_ROWS_MAX: usize = 3;

/// Most characters of that which are looked at.
const WORDS_CHARACTERS_MAX: usize = 2_000;

/// The lines of the box.
pub(super) fn lines(app: &App, agent: AgentId, width: usize) -> Vec<Line<'static>> {
    let Some(record) = app.record(agent) else { return Vec::new() };
    let name = cut(&one_line(&called(record)), width.saturating_sub(8));
    let rule = "─".repeat(width.saturating_sub(name.width() + 4));
    let mut lines = vec![Line::from(vec![
        Span::styled("── ", DIM),
        Span::styled(name, BOLD),
        Span::styled(format!(" {rule}"), DIM),
    ])];
    let doing = app.doing(record);
    let mut does = format!("{} {}", doing.sign(), doing.words());
    if let Some(live) = app.lives.get(&agent) {
        let since = u64::try_from(app.now_ms - live.began_ms).unwrap_or(0);
        does.push_str(&format!(": {}, for {}", app.doing_now(agent, live), span(since)));
        if let Some(call) = live.running.first() {
            does.push_str(&format!(" · {} {}", call.tool, call.line));
        }
    } else if let Some(failure) = &record.failure {
        does.push_str(&format!(": {}", one_line(failure)));
    } else if let Some(request) = app.questions.of(agent) {
        does.push_str(&format!(": {}", one_line(&request.what)));
    }
    lines.push(Line::from(Span::styled(cut(&one_line(&does), width), tree::style(doing))));
    let mut add = |name: &str, text: &str| {
        let text = cut(&one_line(text), width.saturating_sub(name.width() + 1));
        lines.push(Line::from(vec![Span::styled(format!("{name} "), DIM), Span::raw(text)]));
    };
    let point = match record.fork_point {
        Some(entry) => format!(", forked at entry {entry}"),
        None => String::new(),
    };
    add("stands", &format!("{}{point}", app.line_of(agent)));
    add("works in", &record.directory);
    if !record.reach.is_open() {
        add("reach", &record.reach.describe());
    }
    if let Some(worktree) = app.facts.worktree(agent) {
        let files = plural(u64::from(app.facts.files(agent).unwrap_or(0)), "changed file");
        let commits = plural(u64::from(worktree.commits), "commit");
        let gone = if worktree.removed_ms.is_some() { ", removed" } else { "" };
        add("worktree", &format!("{files}, {commits}{gone}"));
    }
    if let Some(asked) = app.title_of(agent) {
        add("asked", &asked);
    }
    lines.extend(words(app, agent, doing, width));
    lines
}

/// What it says now, else what it last said.
fn words(app: &App, agent: AgentId, doing: Doing, width: usize) -> Vec<Line<'static>> {
    let growing = app.lives.get(&agent).map(|live| live.text.as_str());
    let growing = growing.filter(|text| !text.trim().is_empty());
    let said = app.facts.peek(agent).and_then(|peek| peek.words.as_deref());
    let Some(text) = growing.or(said) else {
        let text = match doing {
            Doing::Here | Doing::Elsewhere => "it has said nothing yet",
            _ => "it has said nothing of its own",
        };
        return vec![Line::from(Span::styled(cut(text, width), DIM))];
    };
    // The end of what is long tells how it stands.
    let characters = text.chars().count();
    let tail: String = text.chars().skip(characters.saturating_sub(WORDS_CHARACTERS_MAX)).collect();
    let rows = folded(&one_line(&harmless(&tail)), width.saturating_sub(2));
    let hidden = rows.len().saturating_sub(WORDS_ROWS_MAX);
    let line = |row: &String| {
        Line::from(vec![Span::styled("▌ ", DIM), Span::raw(cut(row, width.saturating_sub(2)))])
    };
    rows.iter().skip(hidden).map(line).collect()
}
