//! Whole screens, as a person sees them.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use tine_guard::PermissionMode;
use tine_model::{
    AgentRecord, AgentState, Block, Entry, EntryBody, EntryId, ForkRole, Message, PermissionScope,
    RawJson, Role, Standing, TaskStatus, ToolCallId, ToolInput, Usage,
};
use tine_runtime::{BudgetRow, Caps, FoldedEntry};

use super::{Kept, draw};
use crate::app::fixture::{agent, id, request, worker};
use crate::app::{App, Cost, Event, Happening, Tone};

fn call(id: &str, name: &str, input: &str) -> Block {
    let input = ToolInput::Valid(RawJson::parse(input).unwrap());
    Block::ToolUse { id: ToolCallId(id.to_owned()), name: name.into(), input }
}

fn result(id: &str, text: &str, is_error: bool) -> Block {
    Block::result(ToolCallId(id.to_owned()), text, is_error)
}

const REPLY: &str = "I found **one** place where `read` is slow:\n\n```rust\nfn read(path: &Path) -> String {\n    fs::read(path) // all of it\n}\n```\n\n| file | lines |\n|---|---|\n| main.rs | 1,204 |\n| parse.rs | 310 |\n\n- first this\n- then that, which takes a sentence that is much longer than a narrow screen";

const CHANGED: &str = "edited `src/main.rs` (1 replacement)\n@@ -11,3 +11,3 @@\n fn read(path: &Path) -> String {\n-    fs::read(path)\n+    fs::read_to_string(path)\n }";

fn conversation() -> Vec<FoldedEntry> {
    let think = Block::Thinking { text: "I should look first.\nThen say.".into(), signature: None };
    let bodies = vec![
        EntryBody::Message(Message::user("What is slow in `src`, and why is it?").into()),
        EntryBody::Message(
            Message::new(
                Role::Assistant,
                vec![think, call("t1", "Grep", r#"{"pattern":"read"}"#), call("t2", "Bash", r#"{"command":"make"}"#)],
            )
            .into(),
        ),
        EntryBody::Message(
            Message::new(
                Role::User,
                vec![
                    result("t1", "src/main.rs\nsrc/parse.rs\n", false),
                    result("t2", "make: *** no targets\n[exit code 2]", true),
                ],
            )
            .into(),
        ),
        EntryBody::Message(Message::new(Role::Assistant, vec![Block::Text(REPLY.into())]).into()),
        EntryBody::Fork { role: ForkRole::Parent, other: id(2), fork_point: None },
        EntryBody::Message(Message::user("Mend it.").into()),
        EntryBody::Message(
            Message::new(
                Role::Assistant,
                vec![call(
                    "t3",
                    "FileEdit",
                    r#"{"file_path":"src/main.rs","old_string":"fs::read(","new_string":"fs::read_to_string("}"#,
                )],
            )
            .into(),
        ),
        EntryBody::Message(Message::new(Role::User, vec![result("t3", CHANGED, false)]).into()),
    ];
    let entry = |(number, body): (i64, EntryBody)| FoldedEntry {
        effective: matches!(body, EntryBody::Message(_)),
        entry: Entry { id: EntryId(number), agent: id(1), at_ms: 0, body },
    };
    (1..).zip(bodies).map(entry).collect()
}

/// A session in which the person sees that conversation.
fn session() -> App {
    let mut app = App::at(0);
    app.update(Event::Registry(vec![agent(1, None), agent(2, Some(1))], Vec::new()));
    app.go(id(1));
    app.update(Event::Log { agent: id(1), after: None, entries: conversation() });
    app
}

fn streaming(app: &mut App) {
    for happening in [
        Happening::Began,
        Happening::Request,
        Happening::Thinking("It is done, so I say it.\n".into()),
        Happening::Text("Done: it reads\n\n1. once, and\n2. **whole".into()),
    ] {
        app.update(Event::Happened(id(1), happening));
    }
    app.update(Event::Happened(id(2), Happening::Began));
}

fn asked(app: &mut App) {
    app.update(Event::Asked(Box::new(request(1, 2, PermissionScope::Once))));
}

/// The screen once the person had the time to read it.
fn read(app: &mut App, size: (u16, u16)) -> String {
    screen(app, size);
    app.now_ms += 500;
    screen(app, size)
}

fn press(app: &mut App, code: KeyCode, modifiers: KeyModifiers) {
    app.update(Event::Key(KeyEvent::new(code, modifiers)));
}

pub(super) fn screen(app: &mut App, (width, height): (u16, u16)) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(app, &mut Kept::default(), frame)).unwrap();
    let buffer = terminal.backend().buffer();
    let row = |y| {
        let cells: String = (0..width).map(|x| buffer[(x, y)].symbol()).collect();
        cells.trim_end().to_owned()
    };
    (0..height).map(row).collect::<Vec<_>>().join("\n")
}

pub(super) const SMALL: (u16, u16) = (80, 24);
pub(super) const LARGE: (u16, u16) = (200, 50);
const NARROW: (u16, u16) = (40, 12);

#[test]
fn a_conversation_on_a_large_screen() {
    let mut app = session();
    streaming(&mut app);
    asked(&mut app);
    insta::assert_snapshot!(screen(&mut app, LARGE), @"
    ∴ I should look first. (+1 line)

    ● Grep read in .
      ⎿ src/main.rs
        src/parse.rs

    ● Bash make
      ⎿ exit code 2: make: *** no targets

    I found one place where read is slow:

    rust
    │ fn read(path: &Path) -> String {
    │     fs::read(path) // all of it
    │ }

    file      lines
    ────────  ─────
    main.rs   1,204
    parse.rs  310

    • first this
    • then that, which takes a sentence that is much longer than a narrow screen
      Forked child 02020202

    ▌ Mend it.

    ● FileEdit src/main.rs
      ⎿ +1 -1

    ∴ It is done, so I say it.

    Done: it reads

    1. once, and
    2. **whole
    … answering · 0.0 s
    ◦ 02020202: asks for permission · 0.0 s
    ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
    ? 02020202 wants to use Bash · fork of 01010101
      make test
      in /srv: no rule allows this command
        1 yes, once
        2 no
      Read it; keys count in a moment
      auto-denied in 1m
    ── 01010101 · 1 fork ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
    ❯
    sim/echo · Esc answers later · 1 question (Ctrl+P) · 2 running · default (Shift+Tab)
    ");
}

#[test]
fn a_reply_with_code_and_a_table_on_a_small_screen() {
    let mut app = session();
    press(&mut app, KeyCode::Home, KeyModifiers::CONTROL);
    insta::assert_snapshot!(screen(&mut app, SMALL), @"
    ▌ What is slow in `src`, and why is it?

    ∴ I should look first. (+1 line)

    ● Grep read in .
      ⎿ src/main.rs
        src/parse.rs

    ● Bash make
      ⎿ exit code 2: make: *** no targets

    I found one place where read is slow:

    rust
    │ fn read(path: &Path) -> String {
    │     fs::read(path) // all of it
    │ }

    file      lines
    ────────  ─────
    ── 01010101 · 1 fork · scrolled back (Ctrl+End) ────────────────────────────────
    ❯
    sim/echo · default (Shift+Tab)
    ");
}

#[test]
fn a_call_that_is_opened_where_one_points() {
    let mut app = session();
    app.say(None, Tone::Error, "error: the provider is not there\nhint: try again".into());
    press(&mut app, KeyCode::Up, KeyModifiers::CONTROL);
    press(&mut app, KeyCode::Enter, KeyModifiers::NONE);
    insta::assert_snapshot!(screen(&mut app, SMALL), @"
      file      lines
      ────────  ─────
      main.rs   1,204
      parse.rs  310

      • first this
      • then that, which takes a sentence that is much longer than a narrow screen
        Forked child 02020202

      ▌ Mend it.

    ┃ ● FileEdit src/main.rs
    ┃     edited `src/main.rs` (1 replacement)
    ┃     @@ -11,3 +11,3 @@
    ┃       11  fn read(path: &Path) -> String {
    ┃       12 -    fs::read(path)
    ┃       12 +    fs::read_to_string(path)
    ┃       13  }

      error: the provider is not there
      hint: try again
    ── 01010101 · 1 fork ───────────────────────────────────────────────────────────
    ❯
    ↑↓ move · f fork from here · r rewind to here · y copy · Enter open · Esc done
    ");
}

#[test]
fn what_is_pointed_at_comes_into_view_and_keeps_its_place() {
    let mut app = session();
    for _ in 0..6 {
        press(&mut app, KeyCode::Up, KeyModifiers::CONTROL);
    }
    let shown = screen(&mut app, NARROW);
    insta::assert_snapshot!(shown, @"
    ┃ ∴ I should look first. (+1 line)

      ● Grep read in .
        ⎿ src/main.rs
          src/parse.rs

      ● Bash make
        ⎿ exit code 2: make: *** no targets
    ── 01010101 · 1 fork · scrolled back… ──
    ❯
    ↑↓ move · f fork from here · r rewind t…
    ");
    app.update(Event::Tick);
    assert_eq!(screen(&mut app, NARROW), shown);
}

#[test]
fn a_narrow_screen_still_shows_a_question_and_the_line() {
    let mut app = session();
    streaming(&mut app);
    asked(&mut app);
    insta::assert_snapshot!(read(&mut app, NARROW), @"
    2. **whole
    … answering · 0.5 s
    ◦ 02020202: asks for permission · 0.5 s
    ────────────────────────────────────────
    ? 02020202 wants to use Bash
      make test
      in /srv: no rule allows this command
      ▸ 1 yes, once  2 no
      Enter confirms · Esc answers later
    ── 01010101 · 1 fork ───────────────────
    ❯
    sim/echo · 1 question (Ctrl+P) · default
    ");
}

#[test]
fn a_question_of_a_dead_run_is_a_number_below() {
    let mut app = session();
    app.update(Event::Asked(Box::new(request(1, 9, PermissionScope::Once))));
    insta::assert_snapshot!(read(&mut app, NARROW), @"
    • then that, which takes a sentence
      that is much longer than a narrow
      screen
      Forked child 02020202

    ▌ Mend it.

    ● FileEdit src/main.rs
      ⎿ +1 -1
    ── 01010101 · 1 fork ───────────────────
    ❯
    sim/echo · 1 question (Ctrl+P) · default
    ");
}

/// Three workers that want the same.
fn three_equal(app: &mut App) {
    let workers = [3, 4, 5].map(|byte| worker(byte, 1, TaskStatus::Running));
    let records = workers.map(|(record, _)| record);
    let known = [agent(1, None)].into_iter().chain(records).collect();
    app.update(Event::Registry(known, Vec::new()));
    for byte in [1, 3, 4, 5] {
        app.update(Event::Happened(id(byte), Happening::Began));
    }
    for byte in [3, 4, 5] {
        app.update(Event::Asked(Box::new(request(byte, byte, PermissionScope::Once))));
    }
}

#[test]
fn equal_questions_are_one_and_a_line_that_is_begun_marks_no_choice() {
    let mut app = session();
    three_equal(&mut app);
    let panel = |app: &mut App| {
        let shown = read(app, SMALL);
        let lines = shown.lines().skip_while(|line| !line.starts_with("? "));
        let lines = lines.take_while(|line| !line.starts_with("  auto-denied"));
        lines.collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(panel(&mut app), @"
    ? 03030303, 04040404 and 05050505 want to use Bash · worker of 01010101
      make test
      in /srv: no rule allows this command
      ▸ 1 yes, once
        2 yes, once, for all 3
        3 no
        4 no, for all 3
      Enter confirms · ↑↓ or a digit chooses · Ctrl+P takes words · Ctrl+O shows all
      · Esc answers later
    ");
    app.input().set("also look at the README");
    insta::assert_snapshot!(panel(&mut app), @"
    ? 03030303, 04040404 and 05050505 want to use Bash · worker of 01010101
      make test
      in /srv: no rule allows this command
        1 yes, once
        2 yes, once, for all 3
        3 no
        4 no, for all 3
      Enter sends your line to 01010101 · Ctrl+P keeps it and answers · Esc answers
      later
    ");
}

/// Three questions, one of them of an agent of another tree, whose command is longer than there is room.
fn three_asked(app: &mut App) {
    let worker =
        AgentRecord { standing: Standing::Worker, state: AgentState::Running, ..agent(4, Some(3)) };
    // A hidden one is nobody's fork.
    let hidden = AgentRecord { standing: Standing::Hidden, ..agent(5, Some(1)) };
    let known = vec![agent(1, None), agent(2, Some(1)), agent(3, None), worker, hidden];
    app.update(Event::Registry(known, Vec::new()));
    app.now_ms = 2_000;
    let mut elsewhere = request(1, 4, PermissionScope::Always);
    let lines: Vec<String> = (1..=20).map(|number| format!("step {number}")).collect();
    elsewhere.input =
        RawJson::parse(&serde_json::json!({ "command": lines.join("\n") }).to_string()).unwrap();
    elsewhere.label = Some("count the words of all chapters".into());
    elsewhere.warning = Some("removes files and does not ask".into());
    elsewhere.rule = Some("Bash(step:*)".into());
    for request in
        [elsewhere, request(2, 2, PermissionScope::Once), request(3, 1, PermissionScope::Tree)]
    {
        app.update(Event::Asked(Box::new(request)));
    }
    press(app, KeyCode::Char('p'), KeyModifiers::CONTROL);
}

#[test]
fn questions_of_agents_of_other_processes_on_a_small_screen() {
    let mut app = session();
    three_asked(&mut app);
    insta::assert_snapshot!(read(&mut app, SMALL), @"
      Forked child 02020202

    ▌ Mend it.

    ● FileEdit src/main.rs
      ⎿ +1 -1
    ◦ 04040404: asks for permission
    ────────────────────────────────────────────────────────────────────────────────
    ? count the words of all chapters (04040404) wants to use Bash · worker of
      03030303 · in another process
      step 1
      step 2
      … 18 more lines: Ctrl+O shows all of it
      warning: removes files and does not ask
      in /srv: no rule allows this command
      ▸ 1 yes, once
        2 yes, and from now on `Bash(step:*)`
        3 no
      Enter confirms · ↑↓ or a digit chooses · or type what to do instead · Ctrl+O
      shows all · Esc answers later
      1 of 3 · auto-denied in 57s · ←→ the others
    ── 01010101 · 1 fork ───────────────────────────────────────────────────────────
    ❯
    03030303 has started the worker 04040404
    ");
    press(&mut app, KeyCode::Right, KeyModifiers::NONE);
    insta::assert_snapshot!(read(&mut app, NARROW), @"
    ● FileEdit src/main.rs
      ⎿ +1 -1
    ◦ 04040404: asks for permission
    ────────────────────────────────────────
    ? 02020202 wants to use Bash
      make test
      in /srv: no rule allows this command
      ▸ 1 yes, once  2 no
      Enter confirms · Esc answers later
    ── 01010101 · 1 fork ───────────────────
    ❯
    03030303 has started the worker 04040404
    ");
}

#[test]
fn questions_of_agents_of_other_processes_on_a_large_screen() {
    let mut app = session();
    three_asked(&mut app);
    insta::assert_snapshot!(read(&mut app, LARGE), @"
    │ fn read(path: &Path) -> String {
    │     fs::read(path) // all of it
    │ }

    file      lines
    ────────  ─────
    main.rs   1,204
    parse.rs  310

    • first this
    • then that, which takes a sentence that is much longer than a narrow screen
      Forked child 02020202

    ▌ Mend it.

    ● FileEdit src/main.rs
      ⎿ +1 -1
    ◦ 04040404: asks for permission
    ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
    ? count the words of all chapters (04040404) wants to use Bash · worker of 03030303 · in another process
      step 1
      step 2
      step 3
      step 4
      step 5
      step 6
      step 7
      step 8
      step 9
      step 10
      step 11
      step 12
      step 13
      step 14
      step 15
      step 16
      step 17
      step 18
      step 19
      step 20
      warning: removes files and does not ask
      in /srv: no rule allows this command
      ▸ 1 yes, once
        2 yes, and from now on `Bash(step:*)`
        3 no
      Enter confirms · ↑↓ or a digit chooses · or type what to do instead · Ctrl+O shows all · Esc answers later
      1 of 3 · auto-denied in 57s · ←→ the others
    ── 01010101 · 1 fork ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
    ❯
    03030303 has started the worker 04040404
    ");
}

/// Workers that run, here and elsewhere, and some that have ended.
fn working(app: &mut App) {
    let with = |last: [TaskStatus; 3]| {
        let (records, tasks): (Vec<_>, Vec<_>) = [
            worker(3, 1, TaskStatus::Running),
            worker(4, 1, last[0]),
            worker(5, 1, last[1]),
            worker(6, 1, last[2]),
        ]
        .into_iter()
        .unzip();
        let elsewhere = AgentRecord { state: AgentState::Running, ..agent(7, None) };
        let known = [agent(1, None), agent(2, Some(1)), elsewhere];
        Event::Registry(known.into_iter().chain(records).collect(), tasks)
    };
    app.update(with([TaskStatus::Running; 3]));
    app.update(Event::Happened(id(3), Happening::Began));
    app.now_ms = 3_000;
    app.update(with([TaskStatus::Running, TaskStatus::Completed, TaskStatus::Failed]));
    app.now_ms = 12_000;
    app.update(Event::Tick);
    let budget = BudgetRow {
        root: id(1),
        caps: Caps { micro_usd: Some(5_000_000), ..Caps::default() },
        tokens: 0,
        micro_usd: 4_200_000,
        unpriced: 0,
        tokens_reserved: 0,
        micro_usd_reserved: 0,
        requests: 0,
        agents: 4,
        running: 2,
        waiting: 0,
        started_ms: 0,
        updated_ms: 0,
    };
    let cost = Cost { own: Some(1.2), tree: Some(4.2), saved: Some(2.0) };
    app.update(Event::Cost(id(1), cost));
    app.update(Event::Means(id(1), Some(Box::new(budget)), Some(200_000)));
    let usage = Usage { uncached: 2_000, read: Some(10_000), ..Usage::default() };
    app.update(Event::Happened(id(1), Happening::Answered { usage, is_expired: false }));
}

#[test]
fn workers_and_a_budget_on_a_small_screen() {
    let mut app = session();
    working(&mut app);
    insta::assert_snapshot!(screen(&mut app, SMALL), @"
    │ fn read(path: &Path) -> String {
    │     fs::read(path) // all of it
    │ }

    file      lines
    ────────  ─────
    main.rs   1,204
    parse.rs  310

    • first this
    • then that, which takes a sentence that is much longer than a narrow screen
      Forked child 02020202

    ▌ Mend it.

    ● FileEdit src/main.rs
      ⎿ +1 -1
    ◦ 03030303 count the words: waiting for the model · 12 s
    ◦ 04040404 count the words: running in another process · 12 s
    ✓ 05050505 count the words: completed: 42 words
      and 2 more (Ctrl+T)
    ── 01010101 · 5 forks ──────────────────────────────────────────────────────────
    ❯
    sim/echo · 3 running · $0.80 left · 12.0k context · 83% cached · $1.20 · default
    ");
}

#[test]
fn the_parent_of_working_workers_waits_for_them_and_not_for_the_model() {
    let mut app = session();
    working(&mut app);
    let answered = Happening::Answered { usage: Usage::default(), is_expired: true };
    for happening in [Happening::Began, Happening::Request, answered, Happening::Written] {
        app.update(Event::Happened(id(1), happening));
    }
    let shown = screen(&mut app, SMALL);
    assert!(shown.contains("… waits for 2 workers · "), "{shown}");
    let press = |app: &mut App, code, modifiers| {
        app.update(Event::Key(KeyEvent::new(code, modifiers)));
    };
    press(&mut app, KeyCode::Char('t'), KeyModifiers::CONTROL);
    let tree = screen(&mut app, SMALL);
    assert!(tree.contains("● waits for 2"), "{tree}");
    press(&mut app, KeyCode::Esc, KeyModifiers::NONE);
    app.update(Event::Happened(id(1), Happening::Request));
    let shown = screen(&mut app, SMALL);
    assert!(shown.contains("… waiting for the model · "), "{shown}");
}

#[test]
fn workers_and_a_budget_on_a_large_screen() {
    let mut app = session();
    working(&mut app);
    insta::assert_snapshot!(screen(&mut app, LARGE), @"
    ▌ What is slow in `src`, and why is it?

    ∴ I should look first. (+1 line)

    ● Grep read in .
      ⎿ src/main.rs
        src/parse.rs

    ● Bash make
      ⎿ exit code 2: make: *** no targets

    I found one place where read is slow:

    rust
    │ fn read(path: &Path) -> String {
    │     fs::read(path) // all of it
    │ }

    file      lines
    ────────  ─────
    main.rs   1,204
    parse.rs  310

    • first this
    • then that, which takes a sentence that is much longer than a narrow screen
      Forked child 02020202

    ▌ Mend it.

    ● FileEdit src/main.rs
      ⎿ +1 -1










    ◦ 03030303 count the words: waiting for the model · 12 s
    ◦ 04040404 count the words: running in another process · 12 s
    ✓ 05050505 count the words: completed: 42 words
    ✗ 06060606 count the words: failed: the turn limit was reached
    ◦ 07070707: running in another process
    ── 01010101 · 5 forks ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
    ❯
    sim/echo · 3 running · $0.80 left · 12.0k of 200k context · last request 83% cached · $1.20 (tree $4.20) · the cache saved $2.00 · default (Shift+Tab)
    ");
}

#[test]
fn no_size_of_a_screen_is_too_small() {
    let mut app = session();
    streaming(&mut app);
    for size in [(1, 1), (2, 3), (5, 4), (12, 2), (3, 40)] {
        for pointed in [None, Some(0)] {
            app.room_mut().unwrap().pointed = pointed;
            screen(&mut app, size);
        }
    }
}

#[test]
fn a_narrow_status_line_keeps_the_mode_and_the_questions() {
    let mut app = session();
    working(&mut app);
    asked(&mut app);
    let mut lines = Vec::new();
    for mode in [PermissionMode::Default, PermissionMode::Bypass] {
        app.mode = mode;
        for width in [20, 40, 60, 80, 100, 120, 160] {
            lines.push(screen(&mut app, (width, 20)).lines().last().unwrap().to_owned());
        }
    }
    insta::assert_snapshot!(lines.join("\n"), @"
    1 question · default
    sim/echo · 1 question (Ctrl+P) · default
    sim/echo · 1 question (Ctrl+P) · 3 running · $1.20 · default
    sim/echo · 1 question (Ctrl+P) · 3 running · $0.80 left · 83% cached · default
    sim/echo · 1 question (Ctrl+P) · 3 running · $0.80 left · 12.0k context · 83% cached · default
    sim/echo · 1 question (Ctrl+P) · 3 running · $0.80 left · 12.0k of 200k context · 83% cached · $1.20 · default
    sim/echo · 1 question (Ctrl+P) · 3 running · $0.80 left · 12.0k of 200k context · last request 83% cached · $1.20 (tree $4.20) · the cache saved $2.00 · default
    bypass · 1 question
    sim/echo · bypass · 1 question (Ctrl+P)
    sim/echo · bypass · 1 question (Ctrl+P) · 3 running · $1.20
    sim/echo · bypass · 1 question (Ctrl+P) · 3 running · $0.80 left · 12.0k context
    sim/echo · bypass · 1 question (Ctrl+P) · 3 running · $0.80 left · 12.0k context · 83% cached
    sim/echo · bypass (Shift+Tab) · 1 question (Ctrl+P) · 3 running · $0.80 left · 12.0k context · 83% cached · $1.20
    sim/echo · bypass (Shift+Tab) · 1 question (Ctrl+P) · 3 running · $0.80 left · 12.0k of 200k context · last request 83% cached · $1.20 · the cache saved $2.00
    ");
}
