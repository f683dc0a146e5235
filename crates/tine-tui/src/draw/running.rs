//! A call that runs: how long it has, and the last lines that it has printed.

use ratatui::text::{Line, Span};

use super::{CYAN, DIM};
use crate::app::RunningCall;
use crate::figures::span;
use crate::words::{cut, without_tabs};

/// Columns before a line.
const INDENT_COLUMNS: usize = 4;

/// The lines below the call's own; none before its work has begun.
pub(super) fn lines(call: &RunningCall, now_ms: i64, width: usize) -> Vec<Line<'static>> {
    let Some(began_ms) = call.began_ms else { return Vec::new() };
    let room = width.saturating_sub(INDENT_COLUMNS);
    // Whole seconds: it is a clock, and no measurement.
    let since_ms = u64::try_from(now_ms - began_ms).unwrap_or(0) / 1_000 * 1_000;
    let since = span(since_ms).replace(".0 s", " s");
    let clock = cut(&format!("running · {since}"), room);
    let printed = call.printed.iter().map(|line| {
        let text = cut(without_tabs(line).trim_end(), room);
        Line::from(Span::styled(format!("    {text}"), DIM))
    });
    let clock = Line::from(Span::styled(format!("  ⎿ {clock}"), CYAN));
    [clock].into_iter().chain(printed).collect()
}

#[cfg(test)]
mod tests {
    use tine_model::{
        Block, Entry, EntryBody, EntryId, Message, RawJson, Role, ToolCallId, ToolInput,
    };
    use tine_runtime::FoldedEntry;

    use crate::app::fixture::{agent, id};
    use crate::app::{App, Event, Happening};
    use crate::draw::screens::screen;

    fn call_id() -> ToolCallId {
        ToolCallId("t1".into())
    }

    /// A session in which an agent, of this byte, has made a call that is in its log.
    fn session(byte: u8) -> App {
        let mut app = App::at(0);
        app.update(Event::Registry(vec![agent(1, None), agent(2, Some(1))], Vec::new()));
        app.go(id(byte));
        let input = ToolInput::Valid(RawJson::parse(r#"{"command":"make"}"#).unwrap());
        let call = Block::ToolUse { id: call_id(), name: "Bash".into(), input };
        let body = EntryBody::Message(Message::new(Role::Assistant, vec![call]).into());
        let entry = Entry { id: EntryId(1), agent: id(byte), at_ms: 0, body };
        let entries = vec![FoldedEntry { effective: true, entry }];
        app.update(Event::Happened(id(byte), Happening::Began));
        app.update(Event::Happened(id(byte), Happening::Request));
        app.update(Event::Log { agent: id(byte), after: None, entries });
        let (tool, line) = ("Bash".to_owned(), "make".to_owned());
        let started = Happening::ToolStarted { id: call_id(), tool, line };
        app.update(Event::Happened(id(byte), started));
        app
    }

    fn prints(app: &mut App, byte: u8, printed: &[&str]) {
        let printed = printed.iter().map(|line| (*line).to_owned()).collect();
        let progress = Happening::ToolProgress { id: call_id(), printed };
        app.update(Event::Happened(id(byte), progress));
    }

    #[test]
    fn a_running_command_shows_its_last_lines_and_its_own_time() {
        let mut app = session(1);
        app.now_ms = 30_000;
        let waits = screen(&mut app, (50, 10));
        prints(&mut app, 1, &[]);
        app.now_ms = 34_000;
        let begun = screen(&mut app, (50, 10));
        prints(
            &mut app,
            1,
            &["one", "\ttwo, which is longer than the screen has columns", "three"],
        );
        let printed = screen(&mut app, (50, 10));
        app.update(Event::Happened(id(1), Happening::ToolFinished(call_id())));
        let ended = screen(&mut app, (50, 10));
        insta::assert_snapshot!([waits, begun, printed, ended].join("\n==\n"), @"
        ○ Bash make




        … running Bash · 30 s · Esc interrupts
        ── 01010101 · 1 fork ─────────────────────────────
        ❯
        sim/echo · 1 running · default (Shift+Tab)
        ==

        ○ Bash make
          ⎿ running · 4 s



        … running Bash · 34 s · Esc interrupts
        ── 01010101 · 1 fork ─────────────────────────────
        ❯
        sim/echo · 1 running · default (Shift+Tab)
        ==

        ○ Bash make
          ⎿ running · 4 s
            one
                two, which is longer than the screen ha…
            three
        … running Bash · 34 s · Esc interrupts
        ── 01010101 · 1 fork ─────────────────────────────
        ❯
        sim/echo · 1 running · default (Shift+Tab)
        ==

        ○ Bash make




        … waiting for the model · 34 s · Esc interrupts
        ── 01010101 · 1 fork ─────────────────────────────
        ❯
        sim/echo · 1 running · default (Shift+Tab)
        ");
    }

    #[test]
    fn a_worker_on_the_screen_shows_it_too_and_nobody_else_does() {
        let mut app = session(2);
        prints(&mut app, 2, &["of the worker"]);
        assert!(screen(&mut app, (50, 10)).contains("of the worker"));
        app.go(id(1));
        assert!(!screen(&mut app, (50, 10)).contains("of the worker"));
    }
}
