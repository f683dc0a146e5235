//! A session as events in and effects out.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use tine_model::{Entry, EntryBody, EntryId, Message, PermissionScope, Role, ToolCallId};
use tine_runtime::{FoldedEntry, ForkMade, ForkWords, RewindTo, Rewound};

use super::fixture::{agent, id, request};
use super::*;

/// The time at which every session here begins.
pub(super) const NOW_MS: i64 = 1_000_000;

/// A session in which the person sees the first of these agents.
pub(super) fn session(agents: &[AgentRecord]) -> App {
    let mut app = App::at(NOW_MS);
    app.update(Event::Registry(agents.to_vec(), Vec::new()));
    app.go(agents[0].id);
    app
}

pub(super) fn press(app: &mut App, code: KeyCode, modifiers: KeyModifiers) -> Vec<Effect> {
    app.update(Event::Key(KeyEvent::new(code, modifiers)))
}

pub(super) fn key(app: &mut App, code: KeyCode) -> Vec<Effect> {
    press(app, code, KeyModifiers::NONE)
}

pub(super) fn control(app: &mut App, letter: char) -> Vec<Effect> {
    press(app, KeyCode::Char(letter), KeyModifiers::CONTROL)
}

pub(super) fn type_in(app: &mut App, text: &str) -> Vec<Effect> {
    app.input().set(text);
    key(app, KeyCode::Enter)
}

/// What the terminal has said where the person is.
pub(super) fn said(app: &App) -> Vec<String> {
    let pieces = app.room().map(|room| room.pieces.as_slice()).unwrap_or_default();
    let asides = pieces.iter().filter_map(|piece| match &piece.body {
        Body::Aside(_, text) => Some(text.clone()),
        _ => None,
    });
    asides.chain(app.word.iter().map(|(word, _)| word.clone())).collect()
}

pub(super) fn forked(parent: u8, child: u8, words: ForkWords) -> Event {
    let made = ForkMade {
        child: id(child),
        parent: id(parent),
        fork_point: Some(EntryId(1)),
        moved_from: None,
        record: agent(child, Some(parent)),
        digest: None,
        worktree: None,
        open_calls: Vec::new(),
    };
    Event::Forked(Box::new((made, words)))
}

pub(super) fn tool(app: &mut App, begins: bool) -> Vec<Effect> {
    let id_of = || ToolCallId("t1".to_owned());
    let happening = if begins {
        Happening::ToolStarted { id: id_of(), tool: "Bash".into(), line: "ls".into() }
    } else {
        Happening::ToolFinished(id_of())
    };
    app.update(Event::Happened(id(1), happening))
}

#[test]
fn the_first_words_make_an_agent_and_later_ones_run_it() {
    let mut app = App::at(NOW_MS);
    assert_eq!(type_in(&mut app, "hello"), [Effect::Begin("hello".into())]);
    let effects = app.update(Event::Made(Box::new(agent(1, None))));
    assert_eq!(effects, [Effect::Read(id(1), None), Effect::Price(id(1))]);
    let effects = type_in(&mut app, "again");
    assert_eq!(effects, [Effect::Run(id(1), Some("again".into()))]);
    assert_eq!(app.room().unwrap().sent.as_deref(), Some("again"));
    assert!(app.input().is_empty());
}

#[test]
fn words_to_a_running_agent_wait_for_its_next_turn() {
    let mut app = session(&[agent(1, None)]);
    app.update(Event::Happened(id(1), Happening::Began));
    assert_eq!(type_in(&mut app, "also this"), [Effect::Send(id(1), "also this".into())]);
}

#[test]
fn escape_interrupts_the_visible_turn_alone() {
    let mut app = session(&[agent(1, None), agent(2, Some(1))]);
    app.update(Event::Happened(id(2), Happening::Began));
    assert_eq!(key(&mut app, KeyCode::Esc), [], "the other one runs");
    app.go(id(2));
    assert_eq!(key(&mut app, KeyCode::Esc), [Effect::Stop(id(2))]);
    assert!(app.lives[&id(2)].stopping);
}

#[test]
fn control_c_empties_the_line_then_interrupts_and_then_leaves() {
    let mut app = session(&[agent(1, None)]);
    app.update(Event::Happened(id(1), Happening::Began));
    app.input().set("also this");
    assert_eq!(control(&mut app, 'c'), []);
    assert!(app.line().is_empty());
    assert_eq!(control(&mut app, 'c'), [Effect::Stop(id(1))]);
    app.update(Event::Happened(id(1), Happening::Ended));
    assert_eq!(control(&mut app, 'c'), []);
    assert_eq!(control(&mut app, 'c'), [Effect::Quit]);
}

#[test]
fn siblings_go_round_and_the_root_has_no_parent() {
    let mut app = session(&[agent(1, None), agent(2, Some(1)), agent(3, Some(1))]);
    press(&mut app, KeyCode::Left, KeyModifiers::ALT);
    insta::assert_snapshot!(said(&app).join("\n"), @"this agent has no parent");
    press(&mut app, KeyCode::Right, KeyModifiers::ALT);
    assert_eq!(app.focus, Some(id(3)), "the last fork");
    press(&mut app, KeyCode::Down, KeyModifiers::ALT);
    assert_eq!(app.focus, Some(id(2)));
    press(&mut app, KeyCode::Up, KeyModifiers::ALT);
    assert_eq!(app.focus, Some(id(3)));
}

#[test]
fn the_root_cannot_be_killed_and_focus_goes_to_the_parent_of_the_dead() {
    let mut app = session(&[agent(1, None), agent(2, Some(1)), agent(3, Some(2))]);
    assert_eq!(type_in(&mut app, "/kill"), []);
    insta::assert_snapshot!(said(&app).join("\n"), @"Error: Cannot kill root agent; in a shell, tine kill --root 01010101 does");
    app.go(id(3));
    assert_eq!(type_in(&mut app, "/kill 02020202"), [], "it asks first");
    assert_eq!(key(&mut app, KeyCode::Char('n')), []);
    assert_eq!(
        (app.word.as_ref().unwrap().0.as_str(), app.focus),
        ("nobody was killed", Some(id(3)))
    );
    assert!(app.overlay.is_none(), "the question has gone with its answer");
    type_in(&mut app, "/kill 02020202");
    assert_eq!(key(&mut app, KeyCode::Char('y')), [Effect::Kill(id(2))]);
    app.update(Event::Killed(vec![id(2), id(3)]));
    assert_eq!(app.focus, Some(id(1)));
    assert_eq!(app.word.as_ref().unwrap().0, "Killed 2 agents");
}

#[test]
fn without_a_screen_a_kill_is_meant_by_a_word_and_a_program_means_it_at_once() {
    let mut app = session(&[agent(1, None), agent(2, Some(1)), agent(3, Some(2))]);
    app.face = Face::Lines;
    assert_eq!(type_in(&mut app, "/kill 0202"), []);
    insta::assert_snapshot!(said(&app).join("\n"), @"Error: this ends 02020202 and 1 agent below it for good; /kill --yes 02020202 does it");
    assert_eq!(type_in(&mut app, "/kill --yes 0202"), [Effect::Kill(id(2))]);
    app.face = Face::Pipe;
    assert_eq!(type_in(&mut app, "/kill 0202"), [Effect::Kill(id(2))]);
}

#[test]
fn a_word_that_could_mean_two_agents_does_nothing_and_names_them() {
    // An earlier version took such a name.
    let named = AgentRecord { name: Some("0202".into()), ..agent(3, Some(1)) };
    let mut app = session(&[agent(1, None), agent(2, Some(1)), named]);
    for line in ["/kill 0202", "/stop 0202", "/resume 0202", "/wait 5 0202", "/reap 0202"] {
        assert_eq!(type_in(&mut app, line), []);
        insta::allow_duplicates! {
            insta::assert_snapshot!(said(&app).last().unwrap(), @"Error: `0202` names more than one agent; give more characters of an id: 02020202-0202-4202-8202-020202020202, 03030303-0303-4303-8303-030303030303 (0202)");
        }
    }
    assert_eq!(app.focus, Some(id(1)));
    assert_eq!(type_in(&mut app, "/kill 020202-y"), [], "a name that ends so is no yes");
    assert_eq!(type_in(&mut app, "/kill 020202 -y"), [Effect::Kill(id(2))]);
}

#[test]
fn unknown_commands_suggest_and_keep_what_was_typed() {
    let mut app = session(&[agent(1, None)]);
    assert_eq!(type_in(&mut app, "/frok \"a\""), []);
    assert_eq!(app.input().text(), "/frok \"a\"");
    insta::assert_snapshot!(said(&app).join("\n"), @"there is no command /frok; did you mean /fork?");
}

#[test]
fn commands_of_other_programs_are_answered_with_what_does_it_here() {
    let mut app = session(&[agent(1, None)]);
    for line in ["/undo", "/init", "/copy", "/context"] {
        assert_eq!(type_in(&mut app, line), []);
        assert!(app.input().is_empty());
    }
    insta::assert_snapshot!(said(&app).join("\n"), @"
    There is no command /undo: /rewind takes the last prompt back, and leaves files as they are. `git diff` shows what differs from the last commit, and `git restore FILE` takes it back; `/apply --undo AGENT` takes back what was applied.
    There is no command /init: tine reads AGENTS.md or CLAUDE.md. Say `Write an AGENTS.md for this project`, and an agent makes one.
    There is no command /copy: y copies the message that you point at, /help copy names the keys; /export FILE writes all.
    There is no command /context: the foot of the screen says how much of the model's window is full, /cache which parts it has; /compact makes room.
    ");
}

fn entry(number: i64, text: &str) -> FoldedEntry {
    let body = EntryBody::Message(Message::user(text).into());
    let entry = Entry { id: EntryId(number), agent: id(1), at_ms: 0, body };
    FoldedEntry { entry, effective: true }
}

#[test]
fn rewind_takes_the_last_words_back_into_the_line() {
    let mut app = session(&[agent(1, None)]);
    let entries = vec![entry(4, "first"), entry(6, "second")];
    app.update(Event::Log { agent: id(1), after: None, entries });
    assert_eq!(type_in(&mut app, "/rewind"), [Effect::Rewind(id(1), RewindTo::LastPrompt)]);
    let prompt = Some("second".to_owned());
    let rewound = Rewound { to: Some(EntryId(4)), prompt, changes: 0, commands: 0 };
    app.update(Event::Rewound(id(1), rewound));
    assert_eq!(app.input().text(), "second");
    control(&mut app, 'u');
    let mark = RewindTo::Mark("a  b".to_owned());
    assert_eq!(type_in(&mut app, "/rewind a  b"), [Effect::Rewind(id(1), mark)]);
}

#[test]
fn a_rewind_says_that_files_stay_as_calls_have_left_them() {
    let mut app = session(&[agent(1, None)]);
    let rewound = Rewound { to: Some(EntryId(1)), prompt: None, changes: 2, commands: 1 };
    app.update(Event::Rewound(id(1), Rewound { changes: 0, commands: 0, ..rewound.clone() }));
    assert_eq!(said(&app), [""; 0], "nothing was done behind it");
    app.update(Event::Rewound(id(1), rewound));
    insta::assert_snapshot!(said(&app).join("\n"), @"Files stay as they are; behind this place stood 2 calls that changed some and 1 command that may have. `git diff` shows what differs from the last commit, and `git restore FILE` takes it back; `/apply --undo AGENT` takes back what was applied.");
}

#[test]
fn a_conversation_that_is_begun_anew_leaves_nothing_of_the_old_one_but_a_rewind_brings_back() {
    let mut app = session(&[agent(1, None)]);
    let happened = |number, body| {
        let entry = Entry { id: EntryId(number), agent: id(1), at_ms: 0, body };
        FoldedEntry { entry, effective: false }
    };
    let cleared = |effective| FoldedEntry { effective, ..entry(1, "first") };
    let shown = |app: &App| -> Vec<i64> {
        app.room().unwrap().pieces.iter().map(|piece| piece.entry.0).collect()
    };
    let mark = happened(2, EntryBody::Mark { label: Some("here".to_owned()) });
    let anew = [happened(3, EntryBody::Clear), happened(4, EntryBody::Clear), entry(5, "second")];
    let mut entries = vec![cleared(false), mark];
    app.update(Event::Log { agent: id(1), after: None, entries: entries.clone() });
    type_in(&mut app, "/kill");
    assert_eq!(shown(&app), [2, 2]);
    entries.extend(anew);
    app.update(Event::Log { agent: id(1), after: None, entries: entries.clone() });
    assert_eq!((shown(&app), said(&app)), (vec![4, 5], vec![]));
    entries[0] = cleared(true);
    app.update(Event::Log { agent: id(1), after: None, entries });
    assert_eq!(shown(&app), [1, 2, 3, 4, 5]);
}

#[test]
fn who_has_ended_here_does_not_run_whatever_its_row_still_says() {
    let running = AgentRecord { state: AgentState::Running, ..agent(1, None) };
    let mut app = session(std::slice::from_ref(&running));
    app.update(Event::Happened(id(1), Happening::Began));
    type_in(&mut app, "/clear");
    assert_eq!(said(&app), ["Error: the agent runs; Esc interrupts it first"]);
    app.update(Event::Happened(id(1), Happening::Ended));
    assert_eq!((app.runs(id(1)), app.at_work().count()), (false, 0));
    assert_eq!(type_in(&mut app, "/clear"), [Effect::Clear(id(1))]);
    // Somebody else takes it up.
    app.update(Event::Registry(vec![agent(1, None)], Vec::new()));
    app.update(Event::Registry(vec![running], Vec::new()));
    assert!(app.runs(id(1)));
}

#[test]
fn an_interruption_is_over_once_the_agent_has_gone_on() {
    let interrupted = AgentRecord { state: AgentState::Interrupted, ..agent(1, None) };
    let mut app = session(&[interrupted]);
    let block = tine_model::Block::Text("so far".to_owned());
    let body = EntryBody::Message(Message::new(Role::Assistant, vec![block]).into());
    let answer = Entry { id: EntryId(5), agent: id(1), at_ms: 0, body };
    let entries = vec![entry(4, "first"), FoldedEntry { entry: answer, effective: true }];
    app.update(Event::Log { agent: id(1), after: None, entries });
    assert_eq!(type_in(&mut app, "/resume").len(), 1);
    app.update(Event::Happened(id(1), Happening::Began));
    app.update(Event::Happened(id(1), Happening::Ended));
    // No later row was read yet.
    assert!(!type_in(&mut app, "/resume").iter().any(|effect| matches!(effect, Effect::Run(..))));
    assert!(matches!(&app.overlay, Some(Overlay::Tree(tree)) if tree.is_picker));
}

#[test]
fn what_was_said_shows_at_once_and_once_only() {
    let mut app = session(&[agent(1, None)]);
    app.update(Event::Log { agent: id(1), after: None, entries: vec![entry(4, "first")] });
    type_in(&mut app, "second");
    app.update(Event::Happened(id(1), Happening::Began));
    let effects = app.update(Event::Happened(id(1), Happening::Written));
    assert_eq!(effects, [Effect::Read(id(1), Some(EntryId(4)))]);
    let entries = vec![entry(6, "second")];
    app.update(Event::Log { agent: id(1), after: Some(EntryId(4)), entries: entries.clone() });
    // Two reads may cross.
    app.update(Event::Log { agent: id(1), after: Some(EntryId(4)), entries });
    let room = app.room().unwrap();
    assert_eq!((room.sent.as_deref(), room.pieces.len()), (None, 2));
}

#[test]
fn ctrl_c_empties_the_line_and_leaves_only_twice() {
    let mut app = session(&[agent(1, None)]);
    app.input().set("half a thought");
    assert_eq!(control(&mut app, 'c'), []);
    assert!(app.input().is_empty());
    assert_eq!(control(&mut app, 'c'), []);
    app.now_ms += LEAVE_MS + 1;
    assert_eq!(control(&mut app, 'c'), [], "too late for the second");
    assert_eq!(control(&mut app, 'c'), [Effect::Quit]);
    key(&mut app, KeyCode::Up);
    assert_eq!(app.input().text(), "half a thought");
}

#[test]
fn the_tree_goes_to_whom_it_marks() {
    let mut app = session(&[agent(1, None), agent(2, Some(1))]);
    control(&mut app, 't');
    key(&mut app, KeyCode::Down);
    key(&mut app, KeyCode::Enter);
    assert_eq!((app.focus, app.overlay.is_none()), (Some(id(2)), true));
}

#[test]
fn words_that_come_in_stay_until_their_own_message_is_read() {
    let mut app = session(&[agent(1, None)]);
    let happened = |app: &mut App, happening| app.update(Event::Happened(id(1), happening));
    let log = |app: &mut App, number, role| {
        let body = EntryBody::Message(Message::new(role, Vec::new()).into());
        let entry = Entry { id: EntryId(number), agent: id(1), at_ms: 0, body };
        let entries = vec![FoldedEntry { entry, effective: true }];
        app.update(Event::Log { agent: id(1), after: Some(EntryId(number - 1)), entries });
    };
    for happening in [Happening::Began, Happening::Written, Happening::Request] {
        happened(&mut app, happening);
    }
    happened(&mut app, Happening::Text("one".into()));
    // The prompt is read only now.
    log(&mut app, 1, Role::User);
    assert_eq!(app.lives[&id(1)].text, "one");
    for happening in [Happening::Written, Happening::Request, Happening::Text("two".into())] {
        happened(&mut app, happening);
    }
    assert_eq!(
        (app.lives[&id(1)].said.1.as_str(), app.lives[&id(1)].text.as_str()),
        ("one", "two")
    );
    log(&mut app, 2, Role::Assistant);
    assert_eq!((app.lives[&id(1)].said.1.as_str(), app.lives[&id(1)].text.as_str()), ("", "two"));
}

#[test]
fn a_letter_closes_a_page_and_begins_a_line() {
    let mut app = session(&[agent(1, None)]);
    for (letter, text) in [('/', "/"), ('q', "")] {
        app.show_page("a page".to_owned(), "text".to_owned());
        key(&mut app, KeyCode::Char(letter));
        assert_eq!((app.overlay.is_none(), app.input().text().as_str()), (true, text));
        app.input().set("");
    }
}

#[test]
fn all_words_that_wait_for_the_next_turn_are_shown_until_they_are_read() {
    let mut app = session(&[agent(1, None)]);
    app.update(Event::Happened(id(1), Happening::Began));
    type_in(&mut app, "first");
    type_in(&mut app, "second");
    let body = EntryBody::Message(Message::new(Role::Assistant, Vec::new()).into());
    let answer = Entry { id: EntryId(5), agent: id(1), at_ms: 0, body };
    let entries = vec![FoldedEntry { entry: answer, effective: true }];
    app.update(Event::Log { agent: id(1), after: None, entries });
    app.update(Event::Happened(id(1), Happening::Ended));
    assert_eq!(app.room().unwrap().queued, ["first", "second"]);
    let after = Some(EntryId(5));
    app.update(Event::Log { agent: id(1), after, entries: vec![entry(6, "first")] });
    // The same words of an earlier turn are no sign that these were read.
    type_in(&mut app, "first");
    app.update(Event::Log { agent: id(1), after, entries: vec![entry(6, "first")] });
    assert_eq!(
        (&app.room().unwrap().queued[..], app.room().unwrap().sent.as_deref()),
        (&["second".to_owned()][..], Some("first"))
    );
}

#[test]
fn an_interruption_takes_back_what_was_not_read_before_what_stands_in_the_line() {
    let mut app = session(&[agent(1, None)]);
    app.update(Event::Happened(id(1), Happening::Began));
    type_in(&mut app, "first");
    type_in(&mut app, "second");
    app.input().set("draft");
    assert_eq!(key(&mut app, KeyCode::Esc), [Effect::TakeBack(id(1)), Effect::Stop(id(1))]);
    // The agent has read the first one already.
    app.update(Event::Log { agent: id(1), after: None, entries: vec![entry(6, "first")] });
    app.update(Event::TakenBack(id(1), vec!["second".to_owned()]));
    assert_eq!(app.input().text(), "second\ndraft");
    assert!(app.room().unwrap().queued.is_empty());
    // Whoever has recalled it has it once.
    app.input().set("third");
    app.update(Event::TakenBack(id(1), vec!["third".to_owned()]));
    assert_eq!(app.input().text(), "third");
}

#[test]
fn no_key_of_the_tree_kills_a_root_and_a_question_holds_nobody() {
    let mut app = session(&[agent(1, None), agent(2, Some(1))]);
    control(&mut app, 't');
    assert_eq!(key(&mut app, KeyCode::Char('x')), []);
    key(&mut app, KeyCode::Down);
    assert_eq!(key(&mut app, KeyCode::Char('x')), []);
    assert_eq!(key(&mut app, KeyCode::Char('y')), [Effect::Kill(id(2))]);
    key(&mut app, KeyCode::Esc);
    app.update(Event::Happened(id(1), Happening::Began));
    app.update(Event::Asked(Box::new(request(1, 1, PermissionScope::Once))));
    app.now_ms += 1_000;
    assert_eq!(control(&mut app, 'c'), [Effect::Stop(id(1))]);
    assert_eq!(control(&mut app, 'c'), []);
    assert_eq!(control(&mut app, 'c'), [Effect::Quit]);
}

pub(super) fn write(app: &mut App, text: &str) -> Vec<Effect> {
    text.chars().flat_map(|letter| key(app, KeyCode::Char(letter))).collect()
}

#[test]
fn a_line_with_a_bang_is_a_command_of_the_persons_own() {
    let mut app = session(&[agent(1, None)]);
    assert_eq!(
        type_in(&mut app, "! git status"),
        [Effect::Shell(Some(id(1)), "git status".into())]
    );
    assert_eq!(type_in(&mut app, "!ls"), []);
    assert_eq!(app.input().text(), "!ls", "one at a time");
    assert_eq!(key(&mut app, KeyCode::Esc), [Effect::EndShell]);
    app.update(Event::ShellOver(None));
    assert_eq!(key(&mut app, KeyCode::Enter), [Effect::Shell(Some(id(1)), "ls".into())]);
}

#[test]
fn wait_ends_when_all_are_done_and_says_what_they_did() {
    let mut app = session(&[agent(1, None), agent(2, Some(1)), agent(3, Some(1))]);
    type_in(&mut app, "/wait");
    for worker in [2, 3] {
        app.update(Event::Happened(id(worker), Happening::Began));
    }
    type_in(&mut app, "/wait");
    assert_eq!(app.waiting_for().as_deref(), Some("waiting for 2 of 2 agents"));
    app.update(Event::Happened(id(2), Happening::Ended));
    app.update(Event::Tick);
    assert_eq!(app.waiting_for().as_deref(), Some("waiting for 1 of 2 agents"));
    app.update(Event::Happened(id(3), Happening::Ended));
    app.update(Event::Tick);
    assert!(app.wait.is_none());
    insta::assert_snapshot!(said(&app).join("\n"), @"
    Error: nobody below this agent has anything to do
    02020202: idle
    03030303: idle
    ");
}

#[test]
fn wait_is_partial_when_its_time_is_up_and_escape_gives_it_up() {
    let mut app = session(&[agent(1, None), agent(2, Some(1))]);
    app.update(Event::Happened(id(2), Happening::Began));
    type_in(&mut app, "/wait 0 02020202");
    type_in(&mut app, "/wait 5");
    app.now_ms += 5_000;
    app.update(Event::Tick);
    type_in(&mut app, "/wait 99 nobody");
    type_in(&mut app, "/wait");
    assert_eq!(key(&mut app, KeyCode::Esc), []);
    assert!(app.wait.is_none());
    insta::assert_snapshot!(said(&app).join("\n"), @"
    02020202: running
    time is up; 1 of 1 not finished
    02020202: running
    time is up; 1 of 1 not finished
    Error: Agent not found: nobody
    you wait no more; nothing was stopped
    ");
}

#[test]
fn leaving_is_asked_twice_where_something_runs_here() {
    let mut app = session(&[agent(1, None)]);
    app.update(Event::Happened(id(1), Happening::Began));
    assert_eq!(type_in(&mut app, "/quit"), []);
    insta::assert_snapshot!(said(&app).join("\n"), @"leaving stops 1 agent; once more leaves, and /resume takes them up");
    assert_eq!(type_in(&mut app, "/quit"), [Effect::Quit]);
    app.update(Event::Happened(id(1), Happening::Ended));
    app.now_ms += LEAVE_MS + 1;
    assert_eq!(control(&mut app, 'd'), [Effect::Quit]);
}

#[test]
fn stopping_a_parent_asks_about_its_children() {
    let mut app = session(&[agent(1, None), agent(2, Some(1))]);
    for agent in [1, 2] {
        app.update(Event::Happened(id(agent), Happening::Began));
    }
    assert_eq!(key(&mut app, KeyCode::Esc), [Effect::Stop(id(1))]);
    insta::assert_snapshot!(said(&app).join("\n"), @"interrupting 01010101; what runs below it (1 agent) goes on; Esc again stops that, too");
    assert_eq!(key(&mut app, KeyCode::Esc), [Effect::StopAll(id(1))]);
}

#[test]
fn whose_run_waits_for_what_runs_below_can_stop_it_at_any_time() {
    let mut app = session(&[agent(1, None), agent(2, Some(1))]);
    for agent in [1, 2] {
        app.update(Event::Happened(id(agent), Happening::Began));
    }
    key(&mut app, KeyCode::Esc);
    app.now_ms += 60_000;
    assert_eq!(app.escape_hint().as_deref(), Some("Esc stops what runs below, too"));
    assert_eq!(key(&mut app, KeyCode::Esc), [Effect::StopAll(id(1))]);
    app.update(Event::Happened(id(2), Happening::Ended));
    assert_eq!(app.escape_hint(), None);
}

#[test]
fn a_side_question_leaves_nothing_unless_it_becomes_a_fork() {
    let mut app = session(&[agent(1, None)]);
    assert_eq!(type_in(&mut app, "/side why?"), [Effect::Side(id(1), "why?".into())]);
    app.update(Event::Side(SideEvent::Said("Beca".into())));
    assert_eq!(key(&mut app, KeyCode::Char('f')), [], "there is no answer yet");
    assert_eq!(key(&mut app, KeyCode::Esc), [Effect::EndSide]);
    app.update(Event::Side(SideEvent::Said("use".into())));
    assert!(app.overlay.is_none() && app.room().unwrap().pieces.is_empty());
    type_in(&mut app, "/btw why?");
    let side = Box::new(tine_runtime::Side {
        agent: id(1),
        at: None,
        question: Message::user("why?"),
        answer: Message::new(Role::Assistant, vec![tine_model::Block::Text("Because.".into())]),
        usage: tine_model::Usage::default(),
    });
    app.update(Event::Side(SideEvent::Done(side.clone())));
    assert_eq!(key(&mut app, KeyCode::Char('f')), [Effect::Promote(side)]);
    let effects = app.update(forked(1, 2, ForkWords::default()));
    assert_eq!((effects[0].clone(), app.focus), (Effect::Read(id(2), None), Some(id(2))));
}

#[test]
fn commands_that_ask_have_the_terminal_and_quotes_keep_words_together() {
    let mut app = session(&[agent(1, None), agent(2, Some(1))]);
    let mut asked = |typed: &str| match type_in(&mut app, typed).as_slice() {
        [Effect::Lend(line)] => format!("lend {}", line.shown()),
        [Effect::Report(line)] => format!("page {}", line.shown()),
        effects => format!("{effects:?}"),
    };
    let asked = [
        "/pick -d \"try this\" -n 2",
        "/merge-back 02020202",
        "/apply --undo 02020202",
        "/export a.md",
        "/pick -d \"open",
    ]
    .map(|typed| asked(typed).replace(&id(1).to_string(), "IT"));
    insta::assert_snapshot!(asked.join("\n"), @"
    lend pick|-d|try this|-n|2 (of IT, or who is named)
    lend merge-back|02020202 (of IT, or who is named)
    page apply|--undo|02020202 (of IT, or who is named)
    page export|IT|--format|markdown|--output|a.md
    []
    ");
    insta::assert_snapshot!(said(&app).join("\n"), @"Error: Unterminated quoted string");
}

#[test]
fn before_there_is_an_agent_a_command_may_name_one() {
    let mut app = App::default();
    assert_eq!(type_in(&mut app, "/diff"), []);
    let line = CommandLine::of(&["diff"], vec!["--stat".into(), "regex".into()]);
    assert_eq!(type_in(&mut app, "/diff --stat regex"), [Effect::Report(line)]);
}
