//! A frame of what is on the screen.

#[cfg(test)]
mod escape_screens;
mod folded;
mod growing;
mod help;
mod highlight;
mod languages;
mod layout;
#[cfg(test)]
mod line_screens;
mod markdown;
mod offers;
mod page;
mod peek;
mod piece;
mod question;
mod result;
mod running;
#[cfg(test)]
mod screens;
mod setup;
mod side;
mod status;
mod strip;
mod tree;
#[cfg(test)]
mod tree_screens;
mod uneven;
mod wrap;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Paragraph};

pub(crate) use layout::Kept;
use layout::{Growth, View};
use piece::Fold;

use crate::app::{Action, App, Overlay, ROWS_MAX, Seen};

/// Lines of a page that are its title and its foot.
const PAGE_FRAME_LINES: u16 = 2;

const DIM: Style = Style::new().add_modifier(Modifier::DIM);
const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);
const CYAN: Style = Style::new().fg(Color::Cyan);
const RED: Style = Style::new().fg(Color::Red);
const GREEN: Style = Style::new().fg(Color::Green);
const YELLOW: Style = Style::new().fg(Color::Yellow);

/// The sign before the line that a person writes.
const SIGN: &str = "❯ ";

/// Columns beside the conversation, for the sign before the message that is pointed at.
const MARGIN: u16 = 2;

/// Columns of that sign.
const SIGN_COLUMNS: u16 = 2;

/// Draws the screen. What is learned of its size goes back into `app`: how much fits, and where the view came to be.
pub(crate) fn draw(app: &mut App, kept: &mut Kept, frame: &mut Frame<'_>) {
    let area = frame.area();
    let input = app.room().map_or(&app.lobby, |room| &room.input);
    let rows = u16::try_from(input.area().screen_cursor().row + 1).unwrap_or(ROWS_MAX);
    let rows = rows.max(u16::try_from(input.area().lines().len()).unwrap_or(ROWS_MAX));
    let strip = strip::lines(app, usize::from(area.width), usize::from(area.height));
    let strip_rows = u16::try_from(strip.len()).unwrap_or(0);
    app.question_is_shown();
    // A question leaves something of the conversation that it comes from.
    let room = usize::from(area.height) * 3 / 5;
    let (question, is_whole) = question::lines(app, usize::from(area.width), room);
    if is_whole && app.overlay.is_none() {
        app.questions.is_seen();
    }
    let question_rows = u16::try_from(question.len()).unwrap_or(u16::MAX);
    let offers = offers::lines(app, usize::from(area.width));
    let offer_rows = u16::try_from(offers.len()).unwrap_or(0);
    let [talk, strip_area, question_area, rule, line, offer_area, status] = Layout::vertical([
        Constraint::Min(1),
        Constraint::Length(strip_rows),
        Constraint::Length(question_rows),
        Constraint::Length(1),
        Constraint::Length(rows.clamp(1, ROWS_MAX)),
        Constraint::Length(offer_rows),
        Constraint::Length(1),
    ])
    .areas(area);
    talk_in(app, kept, frame, talk);
    frame.render_widget(Paragraph::new(strip), strip_area);
    frame.render_widget(Paragraph::new(question), question_area);
    frame.render_widget(status::rule(app, usize::from(rule.width)), rule);
    write_in(app, frame, line);
    frame.render_widget(Paragraph::new(offers), offer_area);
    frame.render_widget(status::line(app, usize::from(status.width)), status);
    let over = Rect { height: area.height.saturating_sub(status.height), ..area };
    // What it shows is all of the screen; it comes back with what it has learned of its size.
    let mut overlay = app.overlay.take();
    if overlay.is_some() {
        app.page = over.height.saturating_sub(PAGE_FRAME_LINES).max(1);
    }
    match &mut overlay {
        None => {}
        Some(Overlay::Help(page)) => {
            frame.render_widget(Clear, over);
            help::draw(&app.keys, page, frame, over);
        }
        Some(Overlay::Page(page)) => {
            frame.render_widget(Clear, over);
            page::draw(page, &mut kept.page, frame, over);
        }
        Some(Overlay::Side(page)) => {
            frame.render_widget(Clear, over);
            side::draw(page, frame, over);
        }
        Some(Overlay::Tree(tree)) => {
            frame.render_widget(Clear, over);
            tree::draw(app, tree, frame, over);
        }
    }
    app.overlay = overlay;
    kept.uneven.rewrite(frame.buffer_mut());
}

/// The conversation.
fn talk_in(app: &mut App, kept: &mut Kept, frame: &mut Frame<'_>, area: Rect) {
    app.page = area.height;
    let by = std::mem::take(&mut app.move_lines);
    let Some(room) = app.room() else {
        app.seen = Seen::default();
        let lines = welcome(app, usize::from(area.width));
        // What was said last is never below the end.
        let from = lines.len().saturating_sub(usize::from(area.height));
        frame.render_widget(Paragraph::new(lines.get(from..).unwrap_or_default().to_vec()), area);
        return;
    };
    let size = (usize::from(area.width.saturating_sub(MARGIN)).max(1), usize::from(area.height));
    let run = app.lives.get(&room.record.id);
    let live = Growth {
        pieces: layout::live_pieces(room, run),
        calls: run.map(|run| run.running.as_slice()).unwrap_or_default(),
        now_ms: app.now_ms,
    };
    kept.open_key = app.keys.hint(Action::Open);
    let view = layout::view(room, &live, size, by, kept);
    // While the person points, the margin is on the left and holds the sign.
    let text = match room.pointed {
        None => area,
        Some(pointed) => {
            let [margin, text] =
                Layout::horizontal([Constraint::Length(MARGIN), Constraint::Min(1)]).areas(area);
            frame.render_widget(Paragraph::new(signs(&view, pointed)), margin);
            text
        }
    };
    frame.render_widget(Paragraph::new(view.lines), text);
    app.seen = Seen { top: area.y, places: view.places };
    if let Some(room) = app.room_mut() {
        (room.scroll, room.seeks) = (view.scroll, false);
    }
}

/// The sign before each line of the piece that the person points at.
fn signs(view: &View, pointed: usize) -> Vec<Line<'static>> {
    let sign = |((piece, number), line): (&(usize, usize), &Line<'_>)| {
        // The blank line before a piece is not the piece.
        if *piece == pointed && (*number > 0 || line.width() > 0) {
            Line::from(Span::styled("┃", YELLOW))
        } else {
            Line::default()
        }
    };
    view.places.iter().zip(&view.lines).map(sign).collect()
}

/// What is shown before there is an agent.
fn welcome(app: &App, width: usize) -> Vec<Line<'static>> {
    let title =
        Line::from(vec![Span::styled("tine", BOLD), Span::styled(": a fork() for agents", DIM)]);
    let mut lines = vec![Line::default(), title, Line::default()];
    if app.setup.is_open {
        lines.extend(setup::lines(app, width));
    } else {
        lines.extend([
            Line::from(Span::raw("Say what is to be done. Then try it another way with /fork.")),
            Line::from(Span::styled(
                format!(
                    "/help has all commands and keys; {} shows all agents.",
                    app.keys.or(Action::Tree, "/tree")
                ),
                DIM,
            )),
        ]);
    }
    for (tone, text) in &app.lobby_words {
        let body = crate::app::Body::Aside(*tone, text.clone());
        lines.extend(piece::lines(&body, width, Fold::Folded { key: None }));
    }
    lines
}

/// The line that the person writes.
fn write_in(app: &App, frame: &mut Frame<'_>, area: Rect) {
    let [sign, text] =
        Layout::horizontal([Constraint::Length(SIGN_COLUMNS), Constraint::Min(1)]).areas(area);
    let style = if app.overlay.is_some() { DIM } else { CYAN };
    frame.render_widget(Span::styled(SIGN, style), sign);
    let input = app.room().map_or(&app.lobby, |room| &room.input);
    frame.render_widget(input.area(), text);
}
