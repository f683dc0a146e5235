//! The tree of all agents: keys in, marks and effects out.

use crossterm::event::{MouseEvent, MouseEventKind};

use super::fixture::{agent, busy, id};
use super::tests::{key, press, said};
use super::*;
use crossterm::event::{KeyCode, KeyModifiers};
use tine_runtime::ForkWords;

/// The time of the session.
const NOW_MS: i64 = 3_600_000;

/// The busy session with its tree open.
fn open() -> App {
    let mut app = busy(NOW_MS);
    press(&mut app, KeyCode::Char('t'), KeyModifiers::CONTROL);
    app
}

fn tree(app: &App) -> &Tree {
    match &app.overlay {
        Some(Overlay::Tree(tree)) => tree,
        other => panic!("{other:?}"),
    }
}

/// The number of the agent that is marked.
fn marked(app: &App) -> Option<u8> {
    let marked = tree(app).marked?;
    (0..=u8::MAX).find(|byte| id(*byte) == marked)
}

fn keys(app: &mut App, letters: &str) -> Vec<Effect> {
    letters.chars().flat_map(|letter| key(app, KeyCode::Char(letter))).collect()
}

/// Marks the agent of this number.
fn go_to(app: &mut App, byte: u8) {
    key(app, KeyCode::Home);
    while marked(app) != Some(byte) {
        key(app, KeyCode::Down);
    }
}

#[test]
fn arrows_and_pages_move_the_mark_and_stop_at_the_ends() {
    let mut app = open();
    if let Some(Overlay::Tree(tree)) = &mut app.overlay {
        tree.seen = (2, 4);
    }
    let mut marks = Vec::new();
    for code in [
        KeyCode::Up,
        KeyCode::Down,
        KeyCode::PageDown,
        KeyCode::End,
        KeyCode::Down,
        KeyCode::PageUp,
        KeyCode::Home,
    ] {
        key(&mut app, code);
        marks.push(marked(&app).unwrap());
    }
    assert_eq!(marks, [1, 2, 5, 9, 9, 5, 1]);
}

#[test]
fn a_tree_that_opens_shows_the_agent_on_screen_with_its_running_workers() {
    // Forty conversations from before, and below the last one four workers, of which two run.
    let mut agents: Vec<_> = (1..=40).map(|byte| agent(byte, None)).collect();
    agents.extend((41..=44).map(|byte| agent(byte, Some(40))));
    agents.extend((50..=60).map(|byte| agent(byte, None)));
    for record in agents.iter_mut().filter(|record| [id(41), id(43)].contains(&record.id)) {
        record.state = AgentState::Running;
    }
    let mut app = super::tests::session(&agents);
    app.go(id(40));
    press(&mut app, KeyCode::Char('t'), KeyModifiers::CONTROL);
    let runs = |agent: AgentId| [id(41), id(43)].contains(&agent);
    let Some(Overlay::Tree(tree)) = &mut app.overlay else { panic!() };
    tree.scroll(10, runs);
    assert_eq!((tree.at, tree.first), (39, 33), "the last that runs is on the last row");
    // From then on the picture moves no more than the mark takes.
    tree.mark(35);
    tree.scroll(10, runs);
    assert_eq!(tree.first, 33);
    // Where not all have room, the agent is the first row.
    app.open_tree();
    app.refresh_tree();
    let Some(Overlay::Tree(tree)) = &mut app.overlay else { panic!() };
    tree.scroll(3, runs);
    assert_eq!((tree.at, tree.first), (39, 39));
}

#[test]
fn parents_children_and_siblings_are_one_key_away() {
    let mut app = open();
    let mut marks = Vec::new();
    for letter in ['c', 'c', ']', ']', ']', '[', 'p', ']', 'p', 'p'] {
        keys(&mut app, &letter.to_string());
        marks.push(marked(&app).unwrap());
    }
    assert_eq!(marks, [2, 3, 4, 5, 5, 4, 2, 6, 1, 1]);
    key(&mut app, KeyCode::Right);
    assert_eq!(marked(&app), Some(9), "roots are siblings");
    key(&mut app, KeyCode::Left);
    assert_eq!(marked(&app), Some(1));
}

#[test]
fn enter_goes_there_and_backspace_comes_back() {
    let mut app = open();
    go_to(&mut app, 6);
    key(&mut app, KeyCode::Enter);
    assert_eq!((app.focus, app.overlay.is_none()), (Some(id(6)), true));
    press(&mut app, KeyCode::Char('t'), KeyModifiers::CONTROL);
    key(&mut app, KeyCode::Backspace);
    assert_eq!((app.focus, app.overlay.is_none()), (Some(id(1)), true));
}

#[test]
fn the_way_back_leads_past_the_dead_and_ends_at_the_parent() {
    let mut app = busy(NOW_MS);
    app.go(id(6));
    app.go(id(7));
    app.go(id(2));
    app.update(Event::Killed(vec![id(7)]));
    key(&mut app, KeyCode::F(4));
    assert_eq!(app.focus, Some(id(6)));
    app.command(command::Verb::Back, "");
    assert_eq!(app.focus, Some(id(1)));
    app.command(command::Verb::Back, "");
    assert_eq!(said(&app), ["this agent has no parent"]);
}

#[test]
fn space_looks_closely_and_again_when_something_changed_but_not_too_often() {
    let mut app = open();
    go_to(&mut app, 2);
    assert_eq!(keys(&mut app, " "), [Effect::LookAt(id(2))]);
    assert_eq!(app.update(Event::Tick), []);
    app.update(Event::Facts(Box::new(Fact::Looked(id(2), Peek::default()))));
    assert_eq!(app.update(Event::Tick), [], "it was looked at just now");
    app.now_ms += 1_000;
    assert_eq!(app.update(Event::Tick), [Effect::LookAt(id(2))]);
    assert_eq!(key(&mut app, KeyCode::Down), [Effect::LookAt(id(3))]);
    assert_eq!(keys(&mut app, " "), []);
    assert_eq!(key(&mut app, KeyCode::Down), []);
}

#[test]
fn r_asks_for_a_name_at_the_foot_and_esc_gives_it_up() {
    let mut app = open();
    go_to(&mut app, 6);
    keys(&mut app, "r");
    press(&mut app, KeyCode::Char('u'), KeyModifiers::CONTROL);
    keys(&mut app, "tinyx");
    key(&mut app, KeyCode::Backspace);
    assert_eq!(key(&mut app, KeyCode::Enter), [Effect::Rename(id(6), "tiny".into())]);
    keys(&mut app, "rq");
    key(&mut app, KeyCode::Esc);
    assert_eq!((marked(&app), &tree(&app).asks), (Some(6), &None));
}

#[test]
fn m_sends_words_that_may_be_pasted() {
    let mut app = open();
    go_to(&mut app, 2);
    keys(&mut app, "m");
    app.update(Event::Paste("go on\n".into()));
    assert_eq!(key(&mut app, KeyCode::Enter), [Effect::Send(id(2), "go on".into())]);
    go_to(&mut app, 9);
    keys(&mut app, "mhi");
    assert_eq!(key(&mut app, KeyCode::Enter), [Effect::Run(id(9), Some("hi".into()))]);
    keys(&mut app, "m");
    assert_eq!(key(&mut app, KeyCode::Enter), [], "nothing was said");
}

#[test]
fn x_asks_once_and_says_how_many_go_with_it() {
    let mut app = open();
    assert_eq!(keys(&mut app, "x"), []);
    assert!(said(&app)[0].starts_with("Cannot kill root agent; in a shell, tine kill --root"));
    go_to(&mut app, 2);
    keys(&mut app, "x");
    assert_eq!(tree(&app).asks, Some(Asks::Kill(id(2), 3)));
    assert_eq!(keys(&mut app, "n"), []);
    assert_eq!(said(&app), ["nobody was killed"]);
    assert_eq!(keys(&mut app, "xy"), [Effect::Kill(id(2))]);
    app.update(Event::Killed([2, 3, 4, 5].map(id).to_vec()));
    assert_eq!(marked(&app), Some(6), "the mark stays at its place");
    assert_eq!(keys(&mut app, "d"), []);
    go_to(&mut app, 8);
    keys(&mut app, "x");
    assert_eq!(said(&app), ["it is dead already"]);
}

#[test]
fn s_stops_f_forks_and_d_and_a_say_what_changed() {
    let mut app = open();
    go_to(&mut app, 6);
    assert_eq!(keys(&mut app, "s"), [Effect::Stop(id(6))]);
    let words = ForkWords { background: true, ..ForkWords::default() };
    assert_eq!(keys(&mut app, "f"), [Effect::Fork(id(6), words)]);
    let report =
        |command: &str| Effect::Report(CommandLine::of(&[command], vec![id(6).to_string()]));
    assert_eq!(keys(&mut app, "DA"), [report("diff"), report("apply")]);
    // The page closes, and the tree is there again.
    app.update(Event::Report("tine diff".into(), "+ a line".into()));
    assert!(matches!(app.overlay, Some(Overlay::Page(..))));
    key(&mut app, KeyCode::Esc);
    assert_eq!(marked(&app), Some(6));
}

#[test]
fn a_slash_finds_by_name_and_task_and_esc_shows_all_again() {
    let mut app = open();
    let found = |app: &App| tree(app).rows.len();
    keys(&mut app, "/LEXER");
    assert_eq!((found(&app), marked(&app)), (1, Some(5)));
    key(&mut app, KeyCode::Enter);
    assert_eq!(found(&app), 1);
    key(&mut app, KeyCode::Esc);
    assert_eq!((found(&app), marked(&app)), (8, Some(5)));
    keys(&mut app, "/nobody at all");
    assert_eq!((found(&app), marked(&app)), (0, None));
    assert_eq!(key(&mut app, KeyCode::Esc), []);
    assert_eq!(found(&app), 8);
}

#[test]
fn keys_without_a_meaning_do_nothing_and_four_close() {
    let mut app = open();
    for code in [KeyCode::Char('z'), KeyCode::Tab, KeyCode::Insert, KeyCode::F(9)] {
        assert_eq!(key(&mut app, code), []);
    }
    assert_eq!(marked(&app), Some(1));
    for (code, modifiers) in [
        (KeyCode::Esc, KeyModifiers::NONE),
        (KeyCode::Char('?'), KeyModifiers::SHIFT),
        (KeyCode::Char('q'), KeyModifiers::NONE),
        (KeyCode::Char('t'), KeyModifiers::CONTROL),
    ] {
        let mut app = open();
        press(&mut app, code, modifiers);
        assert!(app.overlay.is_none(), "{code:?}");
    }
}

#[test]
fn the_mouse_marks_goes_and_scrolls() {
    let mut app = open();
    if let Some(Overlay::Tree(tree)) = &mut app.overlay {
        tree.seen = (2, 20);
    }
    let mouse = |app: &mut App, kind, row| {
        let modifiers = KeyModifiers::NONE;
        app.update(Event::Mouse(MouseEvent { kind, column: 5, row, modifiers }))
    };
    let click = MouseEventKind::Down(MouseButton::Left);
    mouse(&mut app, click, 3);
    assert_eq!(marked(&app), Some(2));
    mouse(&mut app, MouseEventKind::ScrollDown, 3);
    assert_eq!(marked(&app), Some(5));
    mouse(&mut app, click, 0);
    mouse(&mut app, click, 15);
    assert_eq!(marked(&app), Some(5), "nobody stands there");
    mouse(&mut app, click, 6);
    assert_eq!((app.focus, app.overlay.is_none()), (Some(id(5)), true));
}

#[test]
fn the_mark_stays_on_its_agent_when_others_come_and_go() {
    let mut app = open();
    go_to(&mut app, 6);
    let mut agents = app.agents.to_vec();
    agents.insert(0, fixture::agent(20, None));
    agents.retain(|agent| agent.id != id(2));
    app.update(Event::Registry(agents, Vec::new()));
    assert_eq!(marked(&app), Some(6));
}

/// The busy session at its picker.
fn picker() -> App {
    let mut app = busy(NOW_MS);
    app.directory = "/srv".to_owned();
    app.open_picker();
    app
}

/// The numbers of the agents that are shown, and how many are folded below each.
fn shown(app: &App) -> Vec<(u8, usize)> {
    let number = |agent| (0..=u8::MAX).find(|byte| id(*byte) == agent).unwrap();
    tree(app).rows.iter().map(|row| (number(row.agent), row.folded)).collect()
}

#[test]
fn the_picker_folds_forks_and_shows_them_a_generation_at_a_time() {
    let mut app = picker();
    assert_eq!(shown(&app), [(1, 6), (9, 0)]);
    key(&mut app, KeyCode::Right);
    assert_eq!(shown(&app), [(1, 0), (2, 3), (6, 0), (7, 0), (9, 0)], "the last used first");
    key(&mut app, KeyCode::Right);
    assert_eq!(marked(&app), Some(2));
    key(&mut app, KeyCode::Right);
    assert_eq!(shown(&app)[..3], [(1, 0), (2, 0), (3, 0)]);
    key(&mut app, KeyCode::Left);
    assert_eq!((shown(&app)[1], marked(&app)), ((2, 3), Some(2)));
    key(&mut app, KeyCode::Left);
    assert_eq!(marked(&app), Some(1));
    key(&mut app, KeyCode::Left);
    assert_eq!(shown(&app), [(1, 6), (9, 0)]);
    key(&mut app, KeyCode::Esc);
    assert!(app.overlay.is_none());
}

#[test]
fn letters_search_titles_tasks_names_and_directories_in_the_picker() {
    let mut app = picker();
    for (letters, found) in [
        ("LEXER", vec![5]),
        ("slow", vec![1]),
        ("projects/w", vec![9]),
        ("measure", vec![4]),
        ("e", vec![1, 2, 3, 4, 5, 6, 7, 9]),
        ("nothing of it", vec![]),
    ] {
        keys(&mut app, letters);
        assert_eq!(
            shown(&app).iter().map(|(byte, _)| *byte).collect::<Vec<_>>(),
            found,
            "{letters}"
        );
        key(&mut app, KeyCode::Esc);
    }
    keys(&mut app, "lexer");
    key(&mut app, KeyCode::Enter);
    assert_eq!((app.focus, app.overlay.is_none()), (Some(id(5)), true));
}

#[test]
fn what_was_used_here_comes_first_however_old_it_is() {
    let mut app = picker();
    app.directory = "/home/user/projects/web".to_owned();
    key(&mut app, KeyCode::Right);
    key(&mut app, KeyCode::Left);
    assert_eq!(shown(&app), [(9, 0), (1, 6)]);
}

#[test]
fn resume_opens_the_picker_where_nothing_was_cut_off() {
    let mut app = busy(NOW_MS);
    app.update(Event::Happened(id(1), Happening::Ended));
    app.go(id(9));
    app.update(Event::Log { agent: id(9), after: None, entries: Vec::new() });
    app.command(command::Verb::Resume, "");
    assert!(tree(&app).is_picker);
    let mut nobody = App::at(NOW_MS);
    nobody.command(command::Verb::Resume, "");
    assert_eq!(
        nobody.word.map(|(word, _)| word).as_deref(),
        Some("there is no earlier conversation")
    );
}
