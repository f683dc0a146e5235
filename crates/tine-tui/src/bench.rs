//! A screen without a terminal, for the bench of frame times. Nothing else may use it.

use std::time::Instant;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use tine_model::{
    AgentId, AgentRecord, AgentState, Block, ContextMode, Entry, EntryBody, EntryId, Message,
    ModelRef, ModelSettings, Provider, RawJson, Role, Standing, ToolCallId, ToolInput,
};
use tine_runtime::FoldedEntry;

use crate::app::{App, Event, Happening, Scroll};
use crate::draw::{Kept, draw};
use crate::drive::Inbox;

/// Where the work is done.
const DIRECTORY: &str = "/srv/work";

/// What every fifth message of the model says.
const WORDS: &str = "## What I found\n\nThe **parser** reads `src/main.rs` twice, which costs about a third of the time:\n\n- once \
for the *symbols*, and\n- once for the text itself, which nobody needs\n\n```rust\n/// Reads it once.\npub fn read(path: &Path) -> \
io::Result<Source> {\n    let text = fs::read_to_string(path)?; // all of it\n    Ok(Source { symbols: symbols(&text), text })\n}\n\
```\n\n| file | lines | time |\n|---|---|---|\n| main.rs | 1,204 | 12 ms |\n| parse.rs | 310 | 3 ms |\n\nShall I go on?";

/// A session on a screen that nobody sees.
pub struct Stage {
    app: App,
    kept: Kept,
    inbox: Inbox,
    terminal: Terminal<TestBackend>,
    agents: Vec<AgentRecord>,
    streaming: u16,
    last: i64,
    next: usize,
}

impl Stage {
    /// A conversation of so many messages on a screen of this size, so many agents that stream, the one in front among them, and as
    /// many that do nothing. Returns the milliseconds that reading the conversation took, too.
    pub fn new(
        messages: i64,
        (streaming, idle): (u16, u16),
        (width, height): (u16, u16),
    ) -> (Self, f64) {
        let agents: Vec<AgentRecord> = (0..streaming + idle).map(agent).collect();
        let terminal = match Terminal::new(TestBackend::new(width, height)) {
            Ok(terminal) => terminal,
            Err(never) => match never {},
        };
        let (app, kept, inbox) = (App::at(0), Kept::default(), Inbox::default());
        let mut stage =
            Self { app, kept, inbox, terminal, agents, streaming, last: messages, next: 0 };
        stage.app.update(Event::Registry(stage.agents.clone(), Vec::new()));
        let front = id(0);
        stage.app.go(front);
        let entries = (1..=messages).map(entry).collect();
        let began = Instant::now();
        stage.app.update(Event::Log { agent: front, after: None, entries });
        let read_ms = began.elapsed().as_secs_f64() * 1e3;
        for number in 0..streaming {
            for happening in [Happening::Began, Happening::Request] {
                stage.app.update(Event::Happened(id(number), happening));
            }
        }
        (stage, read_ms)
    }

    /// So many deltas come in, from one agent after the other.
    pub fn stream(&mut self, deltas: usize) {
        for _ in 0..deltas {
            let words = WORDS
                .split_inclusive(' ')
                .cycle()
                .nth(self.next / usize::from(self.streaming) % 97);
            let words = words.unwrap_or_default().to_owned();
            let number = self.next % usize::from(self.streaming);
            let agent = id(u16::try_from(number).unwrap_or(0));
            self.inbox.push(Event::Happened(agent, Happening::Text(words)));
            self.next += 1;
        }
    }

    /// The agent in front has said so much in this turn.
    pub fn said(&mut self, characters: usize) {
        let text = WORDS.repeat(characters / WORDS.len() + 1);
        for happening in [Happening::Request, Happening::Text(text)] {
            self.inbox.push(Event::Happened(id(0), happening));
        }
    }

    /// A message is written to the log, and all agents are read anew.
    pub fn write(&mut self) {
        self.last += 1;
        let after = Some(EntryId(self.last - 1));
        self.inbox.push(Event::Log { agent: id(0), after, entries: vec![entry(self.last)] });
        self.inbox.push(Event::Registry(self.agents.clone(), Vec::new()));
    }

    /// A key that writes.
    pub fn key(&mut self, letter: char) {
        self.press(KeyCode::Char(letter));
    }

    /// A key.
    pub fn press(&mut self, code: KeyCode) {
        self.inbox.push(Event::Key(KeyEvent::new(code, KeyModifiers::NONE)));
    }

    /// The picker of conversations.
    pub fn picker(&mut self) {
        self.app.open_picker();
    }

    /// The tree of all agents, or no longer.
    pub fn tree(&mut self) {
        let key = KeyEvent::new(KeyCode::Char('t'), KeyModifiers::CONTROL);
        self.inbox.push(Event::Key(key));
    }

    /// The person goes to the middle of the conversation, or to its end.
    pub fn middle(&mut self, is_middle: bool) {
        let middle = Scroll::At { piece: usize::try_from(self.last / 2).unwrap_or(0), line: 0 };
        let scroll = if is_middle { middle } else { Scroll::Bottom };
        self.app.room_mut().into_iter().for_each(|room| room.scroll = scroll);
    }

    /// Scrolls by so many lines.
    pub fn scroll(&mut self, lines: i32) {
        self.app.move_lines += lines;
    }

    /// The screen has another size.
    pub fn resize(&mut self, width: u16, height: u16) {
        self.terminal.backend_mut().resize(width, height);
        self.inbox.push(Event::Resize);
    }

    /// Takes in what waits and draws a frame, as the loop of the terminal does. How long both took, in milliseconds.
    pub fn frame(&mut self) -> f64 {
        let began = Instant::now();
        for event in self.inbox.take() {
            self.app.update(event);
        }
        let drawn = self.terminal.draw(|frame| draw(&mut self.app, &mut self.kept, frame));
        let took = began.elapsed().as_secs_f64() * 1e3;
        match drawn {
            Ok(_) => took,
            Err(never) => match never {},
        }
    }
}

fn id(number: u16) -> AgentId {
    let [high, low] = number.to_be_bytes();
    let mut bytes = [0; 16];
    (bytes[0], bytes[1]) = (high, low);
    AgentId::from_random(bytes)
}

fn agent(number: u16) -> AgentRecord {
    AgentRecord {
        id: id(number),
        name: None,
        title: Some(format!("Look at part number {number} and say what it does")),
        parent: (number > 0).then(|| id(number / 8)),
        fork_point: None,
        standing: if number == 0 { Standing::Root } else { Standing::Peer },
        state: AgentState::Idle,
        failure: None,
        context: ContextMode::Full,
        settings: ModelSettings {
            model: ModelRef { provider: Provider::Sim, name: "echo".to_owned() },
            max_tokens: 1,
            thinking: None,
            effort: None,
        },
        head: [0; 32],
        directory: DIRECTORY.into(),
        reach: tine_model::Reach::open(),
        depth: 0,
        stop: None,
        created_ms: 0,
        updated_ms: 0,
    }
}

/// Prompts, replies, calls and results in turn.
fn entry(number: i64) -> FoldedEntry {
    let call = |number: i64| ToolCallId(format!("t{number}"));
    let message = match number % 5 {
        1 => Message::user(format!("Please look at place {number}, and say what is slow there.")),
        2 | 4 => Message::new(
            Role::Assistant,
            vec![
                Block::Thinking { text: "I should look first.\nThen say.".into(), signature: None },
                Block::ToolUse {
                    id: call(number),
                    name: "Bash".into(),
                    input: RawJson::parse(r#"{"command":"rg -n read src | head"}"#).map_or_else(
                        |error| ToolInput::Invalid(error.to_string()),
                        ToolInput::Valid,
                    ),
                },
            ],
        ),
        3 => Message::new(
            Role::User,
            vec![Block::result(call(number - 1), "src/main.rs:12: read\n".repeat(20), false)],
        ),
        _ => Message::new(Role::Assistant, vec![Block::Text(WORDS.into())]),
    };
    let body = EntryBody::Message(message.into());
    FoldedEntry {
        entry: Entry { id: EntryId(number), agent: id(0), at_ms: 0, body },
        effective: true,
    }
}
