//! The one thing that Esc does, in every state: as the screen says it, and as it happens.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use tine_model::{
    AgentRecord, AgentState, Entry, EntryBody, EntryId, Message, PermissionScope, ToolCallId,
};
use tine_runtime::FoldedEntry;

use super::{Kept, draw};
use crate::app::fixture::{agent, id, request};
use crate::app::{App, Event, Happening, SideEvent};

/// Makes a state of a session that begins at an idle agent with a fork.
type State = fn(&mut App);

fn key(app: &mut App, code: KeyCode) {
    app.update(Event::Key(KeyEvent::new(code, KeyModifiers::NONE)));
}

fn control(app: &mut App, letter: char) {
    app.update(Event::Key(KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL)));
}

fn say(app: &mut App, text: &str) {
    app.input().set(text);
    app.offers = None;
    key(app, KeyCode::Enter);
}

fn happens(app: &mut App, byte: u8, happening: Happening) {
    app.update(Event::Happened(id(byte), happening));
}

fn runs(app: &mut App) {
    happens(app, 1, Happening::Began);
}

fn tool_runs(app: &mut App) {
    runs(app);
    let (tool, line) = ("Bash".to_owned(), "make".to_owned());
    happens(app, 1, Happening::ToolStarted { id: ToolCallId("t1".into()), tool, line });
}

fn asked(app: &mut App) {
    runs(app);
    app.update(Event::Asked(Box::new(request(1, 1, PermissionScope::Tree))));
    shown(app);
    app.now_ms += 1_000;
    shown(app);
}

fn below_runs(app: &mut App) {
    runs(app);
    happens(app, 2, Happening::Began);
    key(app, KeyCode::Esc);
    happens(app, 1, Happening::Ended);
    app.word = None;
}

const STATES: &[(&str, State)] = &[
    ("nothing", |_| {}),
    ("a line is begun", |app| app.input().set("hello")),
    ("the agent runs", runs),
    ("it runs, and a line is begun", |app| {
        runs(app);
        app.input().set("hello");
    }),
    ("it was interrupted, and is stopping", |app| {
        runs(app);
        key(app, KeyCode::Esc);
        app.word = None;
    }),
    ("it runs in another process", |app| {
        let running = AgentRecord { state: AgentState::Running, ..agent(1, None) };
        app.update(Event::Registry(vec![running, agent(2, Some(1))], Vec::new()));
    }),
    ("it was interrupted, and its fork runs", below_runs),
    ("a fork waits", |app| {
        tool_runs(app);
        say(app, "/fork");
        app.update(Event::ForkWaits(id(1)));
    }),
    ("the fork of another agent waits", |app| {
        tool_runs(app);
        say(app, "/fork");
        app.update(Event::ForkWaits(id(1)));
        app.go(id(2));
    }),
    ("the person waits", |app| {
        happens(app, 2, Happening::Began);
        say(app, "/wait");
    }),
    ("a command of the person runs, beside the agent", |app| {
        runs(app);
        say(app, "!make");
    }),
    ("the person points at a message", |app| {
        let body = EntryBody::Message(Message::user("hello").into());
        let entry = Entry { id: EntryId(1), agent: id(1), at_ms: 0, body };
        let entries = vec![FoldedEntry { entry, effective: true }];
        app.update(Event::Log { agent: id(1), after: None, entries });
        shown(app);
        app.update(Event::Key(KeyEvent::new(KeyCode::Up, KeyModifiers::CONTROL)));
    }),
    ("something is offered", |app| "/fo".chars().for_each(|c| key(app, KeyCode::Char(c)))),
    ("a question has just come", |app| {
        runs(app);
        app.update(Event::Asked(Box::new(request(1, 1, PermissionScope::Tree))));
    }),
    ("a question waits for an answer", asked),
    ("words are typed at it", |app| {
        asked(app);
        app.input().set("use make check");
    }),
    ("a yes is typed at it", |app| {
        asked(app);
        app.input().set("y");
    }),
    ("a question came to a line that was begun", |app| {
        app.input().set("hello");
        asked(app);
    }),
    ("the reach of a yes is chosen", |app| {
        asked(app);
        key(app, KeyCode::Down);
        key(app, KeyCode::Enter);
        shown(app);
        app.now_ms += 1_000;
    }),
    ("a question was left for later", |app| {
        asked(app);
        key(app, KeyCode::Esc);
    }),
    ("the tree", |app| control(app, 't')),
    ("the tree, a part of which is shown", |app| {
        control(app, 't');
        "/01".chars().for_each(|c| key(app, KeyCode::Char(c)));
        key(app, KeyCode::Up);
    }),
    ("something is looked for in the tree", |app| {
        control(app, 't');
        "/01".chars().for_each(|c| key(app, KeyCode::Char(c)));
    }),
    ("a name is written in the tree", |app| {
        control(app, 't');
        key(app, KeyCode::Char('r'));
    }),
    ("a kill is asked about in the tree", |app| {
        control(app, 't');
        key(app, KeyCode::Down);
        key(app, KeyCode::Char('x'));
    }),
    ("help", |app| key(app, KeyCode::F(1))),
    ("a page over the tree", |app| {
        control(app, 't');
        app.update(Event::Report("tine cost".into(), "$1".into()));
    }),
    ("a question beside the conversation is asked", |app| say(app, "/side why?")),
    ("it has failed", |app| {
        say(app, "/side why?");
        app.update(Event::Side(SideEvent::Failed("no answer".into())));
    }),
];

fn begin() -> App {
    let mut app = App::at(1_000_000);
    app.update(Event::Registry(vec![agent(1, None), agent(2, Some(1))], Vec::new()));
    app.go(id(1));
    app
}

fn shown(app: &mut App) -> String {
    let mut terminal = Terminal::new(TestBackend::new(120, 24)).unwrap();
    terminal.draw(|frame| draw(app, &mut Kept::default(), frame)).unwrap();
    terminal.backend().to_string()
}

/// What the screen says of Esc, wherever it does.
fn said_of_esc(screen: &str) -> Vec<String> {
    let lines = screen.lines().map(|line| line.trim_matches(['"', ' ']));
    let parts = lines.flat_map(|line| line.split(['·', '?'])).flat_map(|part| part.split("  "));
    let parts = parts
        .map(str::trim)
        .filter(|part| part.starts_with("Esc ") || part.contains("any other key"));
    parts.map(str::to_owned).collect()
}

#[test]
fn esc_does_one_thing_in_every_state_and_the_screen_says_which() {
    let mut table = String::new();
    for (name, make) in STATES {
        let mut app = begin();
        make(&mut app);
        let screen = shown(&mut app);
        let (escape, said) = (app.escape(), said_of_esc(&screen));
        let is_said = said.len() == usize::from(app.escape_hint().is_some());
        assert!(is_said, "{name}: {escape:?}, but the screen says {said:?}\n{screen}");
        app.word = None;
        let effects = app.update(Event::Key(KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE)));
        let word = app.word.as_ref().map(|(word, _)| word.as_str()).unwrap_or_default();
        let done = format!("{effects:?} {word}").replace(&id(1).to_string(), "1");
        let done = done.trim_end();
        let said = said.first().map_or("–", String::as_str);
        table.push_str(&format!("{name}\n    {escape:?}: {said} -> {done}\n"));
    }
    insta::assert_snapshot!(table, @"
    nothing
        Nothing: – -> []
    a line is begun
        Nothing: – -> []
    the agent runs
        Interrupt: Esc interrupts -> [Stop(AgentId(1))] interrupting 01010101
    it runs, and a line is begun
        Interrupt: Esc interrupts -> [Stop(AgentId(1))] interrupting 01010101
    it was interrupted, and is stopping
        Nothing: – -> []
    it runs in another process
        Interrupt: Esc interrupts -> [Stop(AgentId(1))] interrupting 01010101
    it was interrupted, and its fork runs
        StopBelow: Esc stops what runs below, too -> [StopAll(AgentId(1))] interrupting 1 agent below as well
    a fork waits
        GiveUpFork: Esc gives the fork up -> [GiveUpFork(AgentId(1))] the fork is given up; nothing has changed
    the fork of another agent waits
        Nothing: – -> []
    the person waits
        WaitNoMore: Esc waits no more -> [] you wait no more; nothing was stopped
    a command of the person runs, beside the agent
        StopCommand: Esc stops it -> [EndShell] stopping `make`
    the person points at a message
        PointNoMore: Esc done -> []
    something is offered
        NoOffers: Esc closes the offers -> []
    a question has just come
        AnswerLater: Esc answers later -> []
    a question waits for an answer
        AnswerLater: Esc answers later -> []
    words are typed at it
        AnswerLater: Esc answers later -> []
    a yes is typed at it
        AnswerLater: Esc answers later -> []
    a question came to a line that was begun
        AnswerLater: Esc answers later -> []
    the reach of a yes is chosen
        AnswerAnew: Esc goes back -> []
    a question was left for later
        Interrupt: Esc interrupts -> [Stop(AgentId(1))] interrupting 01010101
    the tree
        Close: Esc close -> []
    the tree, a part of which is shown
        ShowAll: Esc show all -> []
    something is looked for in the tree
        ShowAll: Esc shows all -> []
    a name is written in the tree
        LeaveFoot: Esc gives up -> []
    a kill is asked about in the tree
        LeaveFoot: Esc gives up -> [] nobody was killed
    help
        Close: ↑↓ PageUp PageDown scroll; any other key closes -> []
    a page over the tree
        Close: ↑↓ PageUp PageDown scroll; any other key closes -> []
    a question beside the conversation is asked
        TakeBack: Esc takes the question back -> [EndSide] the question is taken back
    it has failed
        Close: Esc closes -> []
    ");
}
