//! Owns the terminal: events in, frames out, effects to the hands.

mod attention;
mod begin;
mod errands;
mod feed;
mod hands;
mod inbox;
mod lines;
mod queue;
mod runs;
mod sent;
mod terminal;
mod typed;
mod watch;
mod workers;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use crossterm::event::Event as Input;
use tine_model::AgentId;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

use crate::app::{App, Effect, Event, History, Keys, Tone};
use crate::draw::{Kept, draw};
use crate::host::Host;
use crate::look::Look;
pub use attention::Notify;
use hands::Hands;
pub(crate) use inbox::Inbox;
pub use lines::run_plain;
use terminal::Screen;
use typed::Typed;

/// Shortest time between two frames: 60 in a second are as many as a person sees.
const FRAME: Duration = Duration::from_millis(16);

/// How often the clock on the screen goes on.
const TICK: Duration = Duration::from_millis(250);

/// How a session begins.
#[derive(Debug, Clone, Default)]
pub struct Start {
    /// The agent that is shown; without one, the next words make a new one.
    pub agent: Option<AgentId>,
    /// Whether the person picks the agent first.
    pub picks: bool,
    /// The model that a new agent would have.
    pub model: Option<String>,
    /// What the terminal can show.
    pub look: Look,
    /// What keys mean.
    pub keys: Keys,
    /// True where the screen has the mouse from the start.
    pub mouse: bool,
    /// The way in which the person is called.
    pub notify: Notify,
    /// Lines that the person reads first.
    pub notes: Vec<String>,
    /// Words that the person has said already.
    pub prompt: Option<String>,
}

/// What the loop waits for.
enum Woken {
    Input(Option<io::Result<Input>>),
    Inbox,
    Tick,
    Frame,
    Ended,
}

/// Talks to a person until they leave; then everything that ran here has stopped. Needs a terminal on standard input and output.
///
/// Returns who was looked at last.
pub async fn run(host: Arc<dyn Host>, start: Start) -> io::Result<Option<AgentId>> {
    let mut session = Session::new(host, start.model.clone(), start.look)?;
    session.app.keys = start.keys.clone();
    session.app.has_mouse = start.mouse;
    let history = session.host.history().await;
    session.app.history = History::of(session.app.directory.clone(), history);
    let notify = start.notify;
    session.begin(start).await;
    let mut screen = Screen::take(session.app.has_mouse)?;
    screen.notify = notify;
    let result = session.talk(&mut screen).await;
    drop(screen);
    session.hands.leave().await;
    result.map(|()| session.app.focus)
}

struct Session {
    app: App,
    kept: Kept,
    look: Look,
    host: Arc<dyn Host>,
    hands: Arc<Hands>,
    inbox: Arc<Inbox>,
    ends: [Signal; 2],
}

impl Session {
    fn new(host: Arc<dyn Host>, model: Option<String>, look: Look) -> io::Result<Self> {
        let inbox = Arc::new(Inbox::default());
        let hands = Hands::new(Arc::clone(&host), Arc::clone(&inbox));
        let mut app = App::at(host.runtime().ports().clock.now_ms());
        app.new_model = model;
        app.directory = host.directory().to_string_lossy().into_owned();
        app.worker_words = host.worker_words();
        app.begin_in(host.mode().get());
        let ends = [signal(SignalKind::terminate())?, signal(SignalKind::hangup())?];
        Ok(Self { app, kept: Kept::default(), look, host, hands, inbox, ends })
    }

    async fn begin(&mut self, start: Start) {
        let Start { agent, picks, notes, prompt, .. } = start;
        self.hands.watch().await;
        self.drain();
        let mut effects = Vec::new();
        if agent.is_none() && self.app.new_model.is_none() {
            effects.extend(self.app.open_setup(self.host.offer()));
        }
        if picks {
            effects.extend(self.app.open_picker());
        }
        effects.extend(agent.into_iter().flat_map(|agent| self.app.go(agent)));
        effects.into_iter().for_each(|effect| self.hands.take(effect));
        for note in notes {
            self.app.say(agent, Tone::Warning, note);
        }
        if let Some(prompt) = prompt {
            let effects = self.app.update(Event::FirstWords(prompt));
            effects.into_iter().for_each(|effect| self.hands.take(effect));
        }
    }

    async fn talk(&mut self, screen: &mut Screen) -> io::Result<()> {
        let mut typed = Typed::new()?;
        let mut tick = interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let (mut is_due, mut next_frame) = (true, Instant::now());
        loop {
            let [terminate, hang_up] = &mut self.ends;
            // All branches are cancel-safe: what is not taken stays where it is.
            let woken = tokio::select! {
                input = typed.next() => Woken::Input(input),
                () = self.inbox.ready() => Woken::Inbox,
                _ = tick.tick() => Woken::Tick,
                () = sleep_until(next_frame), if is_due => Woken::Frame,
                _ = terminate.recv() => Woken::Ended,
                _ = hang_up.recv() => Woken::Ended,
            };
            self.app.now_ms = self.host.runtime().ports().clock.now_ms();
            let is_tick = matches!(woken, Woken::Tick);
            let effects = match woken {
                Woken::Frame => {
                    screen.draw(|frame| {
                        draw(&mut self.app, &mut self.kept, frame);
                        self.look.apply(frame.buffer_mut());
                    })?;
                    screen.set_title(self.look.text(self.app.title()))?;
                    (is_due, next_frame) = (false, Instant::now() + FRAME);
                    continue;
                }
                Woken::Input(None) | Woken::Ended => return Ok(()),
                Woken::Input(Some(input)) => self.app.update(event_of(input?)),
                Woken::Inbox => self.drain(),
                Woken::Tick => {
                    // What it finds comes as events. Time alone makes no frame where nothing shows it.
                    let moved = self.app.moves_with_time();
                    let effects = self.app.update(Event::Tick);
                    is_due |= moved || self.app.moves_with_time();
                    effects
                }
            };
            is_due |= !is_tick;
            self.hands.keep_in_history(self.app.history.take_unwritten());
            for effect in effects {
                match effect {
                    Effect::Quit => return Ok(()),
                    Effect::Redraw => screen.clear()?,
                    Effect::Suspend => screen.suspend()?,
                    Effect::Copy(text) => screen.copy(&text)?,
                    Effect::Call(why) => screen.call(&self.look.text(why))?,
                    Effect::Mouse(takes) => screen.take_mouse(takes)?,
                    Effect::Edit(text) => {
                        // The editor has the terminal's keys meanwhile.
                        typed.stand_still();
                        self.edit(screen, &text).await?;
                        typed.go_on();
                    }
                    Effect::Lend(line) => {
                        typed.stand_still();
                        self.lend(screen, &line.words(self.host.as_ref())).await?;
                        typed.go_on();
                    }
                    other => self.hands.take(other),
                }
            }
        }
    }

    /// Takes in what waits.
    fn drain(&mut self) -> Vec<Effect> {
        let events = self.inbox.take();
        events.into_iter().flat_map(|event| self.app.update(event)).collect()
    }

    /// Lets a command have the terminal, and comes back at the person's word.
    async fn lend(&mut self, screen: &mut Screen, words: &[String]) -> io::Result<()> {
        screen.give()?;
        // Ctrl+C is for the command; without this it would end everything here once none listens any more.
        let _interrupts = signal(SignalKind::interrupt())?;
        self.host.lend(words).await;
        screen.take_back()?;
        self.hands.read_anew();
        if let Some(agent) = self.app.focus {
            self.hands.take(Effect::Read(agent, None));
        }
        Ok(())
    }

    async fn edit(&mut self, screen: &mut Screen, text: &str) -> io::Result<()> {
        screen.give()?;
        let edited = self.host.edit(text).await;
        screen.take_back()?;
        match edited {
            Ok(text) => drop(self.app.update(Event::Written(text))),
            Err(told) => self.app.say(None, Tone::Error, told.0),
        }
        Ok(())
    }
}

fn event_of(input: Input) -> Event {
    match input {
        Input::Key(key) => Event::Key(key),
        Input::Mouse(mouse) => Event::Mouse(mouse),
        Input::Paste(text) => Event::Paste(text),
        Input::Resize(..) => Event::Resize,
        Input::FocusGained => Event::Focus(true),
        Input::FocusLost => Event::Focus(false),
    }
}
