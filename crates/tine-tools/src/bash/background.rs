//! Commands that go on in the background: an agent starts one by name, reads on in what it prints, and stops it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::excerpt::Excerpt;
use super::process::Process;
use super::{Order, conclude};
use crate::place::Place;
use crate::tool::{Failure, ToolOutput};
use crate::wall::Network;

/// Most commands of one agent that run at the same time.
pub(super) const RUNNING_MAX: usize = 16;

/// Longest name, in characters.
const NAME_CHARACTERS_MAX: usize = 40;

/// The commands in the background of one agent. They end when this is dropped, and with this process, however that ends.
pub struct Background {
    pub(super) commands: Mutex<BTreeMap<String, Arc<Command>>>,
    /// What is left of the agents that this one was forked from. Their commands are not its own.
    above: Vec<Weak<Self>>,
    tasks: Mutex<JoinSet<()>>,
    /// The network of those behind a wall.
    network: Mutex<Weak<Network>>,
    /// What commands print that nobody has read, in characters, of each.
    unread_max: usize,
}

/// One of them, running or ended.
pub(super) struct Command {
    line: String,
    unread: Mutex<Excerpt>,
    /// How it ended; `None` while it runs. A change of either is told.
    pub(super) end: watch::Sender<Option<End>>,
    stop: CancellationToken,
}

#[derive(Clone)]
pub(super) struct End {
    /// The last line of the output, in brackets.
    note: String,
    /// True once the agent was told.
    is_told: bool,
}

impl Background {
    /// None yet. `above` are those of the agents that this one was forked from.
    pub fn new(above: impl IntoIterator<Item = Arc<Self>>, unread_max: usize) -> Self {
        Self {
            commands: Mutex::default(),
            above: above.into_iter().map(|above| Arc::downgrade(&above)).collect(),
            tasks: Mutex::default(),
            network: Mutex::default(),
            unread_max,
        }
    }

    /// Stops all, and waits until nothing of them is left.
    pub async fn end(&self) {
        let mut tasks = std::mem::take(&mut *lock(&self.tasks));
        lock(&self.commands).values().for_each(|command| command.stop.cancel());
        while tasks.join_next().await.is_some() {}
    }

    /// Stops one, and waits until nothing of it is left. Returns false if none of that name runs.
    pub async fn end_one(&self, name: &str) -> bool {
        let Ok(command) = self.find(name) else { return false };
        if command.end.borrow().is_some() {
            return false;
        }
        command.stop.cancel();
        let _ = command.end.subscribe().wait_for(Option::is_some).await;
        true
    }

    /// The commands that run: name and text.
    pub fn running(&self) -> Vec<(String, String)> {
        let commands = lock(&self.commands);
        let running = commands.iter().filter(|(_, command)| command.end.borrow().is_none());
        running.map(|(name, command)| (name.clone(), command.line.clone())).collect()
    }

    /// The network that commands in the background are in, behind a wall.
    pub(super) fn network(&self) -> Option<Arc<Network>> {
        lock(&self.network).upgrade()
    }

    /// Reserves a name, and makes sure that one more command may run.
    pub(super) fn name(&self, wanted: Option<&str>) -> Result<String, Failure> {
        let running = self.running();
        if running.len() >= RUNNING_MAX {
            return Err(Failure::new(format!(
                "{RUNNING_MAX} commands run in the background; stop one with BashOutput first"
            )));
        }
        let Some(name) = wanted else {
            let taken = lock(&self.commands);
            let free = (1_u32..).map(|number| format!("command-{number}"));
            let name = free.into_iter().find(|name| !taken.contains_key(name));
            return name.ok_or_else(|| Failure::new("no name is left"));
        };
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
        if name.is_empty() || name.len() > NAME_CHARACTERS_MAX || !name.chars().all(is_plain) {
            return Err(Failure::new(format!(
                "`name` must be 1 to {NAME_CHARACTERS_MAX} letters, digits, `-`, `_` or `.`"
            )));
        }
        match running.iter().find(|(taken, _)| taken == name) {
            Some((_, line)) => Err(Failure::new(format!(
                "`{name}` runs already: {line}\nstop it with BashOutput, or choose another name"
            ))),
            None => Ok(name.to_owned()),
        }
    }

    /// Lets a command that was started go on, and says how it does after a moment.
    pub(super) async fn keep(
        &self,
        name: &str,
        (place, order): (Place, &Order),
        process: Process,
        cancel: &CancellationToken,
    ) -> ToolOutput {
        let command = Arc::new(Command {
            line: order.command.clone(),
            unread: Mutex::new(Excerpt::new(self.unread_max)),
            end: watch::Sender::new(None),
            stop: CancellationToken::new(),
        });
        let (kept, limit) = (Arc::clone(&command), order.limit_in_background());
        let (grace, first_look) = (place.limits().command_grace, place.limits().background_look);
        let refusals = process.refusals();
        if let Some(network) = process.network() {
            *lock(&self.network) = Arc::downgrade(network);
        }
        lock(&self.tasks).spawn(async move {
            let printed = |bytes: &[u8]| {
                lock(&kept.unread).push(bytes);
                kept.end.send_modify(|_| {});
            };
            let ending = process.run(limit, grace, &kept.stop, printed).await;
            let (note, _) = conclude(&place, (&ending, limit), &refusals, (&kept.line, "")).await;
            kept.end.send_replace(Some(End { note, is_told: false }));
        });
        let before = lock(&self.commands).insert(name.to_owned(), Arc::clone(&command));
        command.until(first_look, cancel, |end| end.is_some()).await;
        let has_ended = command.end.borrow().is_some();
        let mut output = command.read(name);
        output.is_error &= has_ended;
        // What an earlier command of the name has printed last, and nobody has read.
        if let Some(before) = before.filter(|before| !lock(&before.unread).is_empty()) {
            output.text = format!("{}\n{}", before.read(name).text, output.text);
        }
        if !has_ended {
            output.text.push_str(
                " BashOutput reads on, and stops it. It ends at the latest with the session that this agent runs in.",
            );
        }
        output
    }

    /// What a command has printed since it was read last. Where it has printed nothing, waits for that or for its end.
    pub(super) async fn read(
        &self,
        name: &str,
        wait: Duration,
        cancel: &CancellationToken,
    ) -> ToolOutput {
        let command = match self.find(name) {
            Ok(command) => command,
            Err(failure) => return failure.into(),
        };
        let has_news = |end: &Option<End>| end.is_some() || !lock(&command.unread).is_empty();
        command.until(wait, cancel, has_news).await;
        command.read(name)
    }

    /// Stops a command, and tells what it had printed.
    pub(super) async fn stop(&self, name: &str, cancel: &CancellationToken) -> ToolOutput {
        let command = match self.find(name) {
            Ok(command) => command,
            Err(failure) => return failure.into(),
        };
        command.stop.cancel();
        command.until(Duration::MAX, cancel, Option::is_some).await;
        ToolOutput { is_error: false, ..command.read(name) }
    }

    /// All of them in lines.
    pub(super) fn list(&self) -> String {
        let commands = lock(&self.commands);
        let own = commands.iter().map(|(name, command)| {
            let end = command.end.borrow();
            let state = end.as_ref().map_or("[running]", |end| end.note.as_str());
            format!("{name}  {state}  {}", command.line)
        });
        let above = self.above().map(|(name, line)| {
            format!("{name}  [running; of the agent that this one was forked from]  {line}")
        });
        let lines: Vec<String> = own.chain(above).collect();
        if lines.is_empty() {
            "no command of this agent runs in the background".to_owned()
        } else {
            lines.join("\n")
        }
    }

    /// Lines about commands that have ended by themselves since the agent heard of them last.
    pub(super) fn news(&self) -> String {
        let mut news = String::new();
        for (name, command) in &*lock(&self.commands) {
            command.end.send_if_modified(|end| {
                if let Some(end) = end.as_mut().filter(|end| !end.is_told) {
                    end.is_told = true;
                    news.push_str(&format!(
                        "\n[`{name}` in the background has ended: {}]",
                        bare(&end.note)
                    ));
                }
                false
            });
        }
        news
    }

    fn above(&self) -> impl Iterator<Item = (String, String)> {
        self.above.iter().filter_map(Weak::upgrade).flat_map(|above| above.running())
    }

    fn find(&self, name: &str) -> Result<Arc<Command>, Failure> {
        if let Some(command) = lock(&self.commands).get(name) {
            return Ok(Arc::clone(command));
        }
        Err(Failure::new(if self.above().any(|(above, _)| above == name) {
            format!(
                "`{name}` is a command of the agent that this one was forked from: use what it serves; only that agent reads and stops it"
            )
        } else {
            format!(
                "no command in the background is named `{name}`; those of an earlier session have ended with it\n{}",
                self.list()
            )
        }))
    }
}

impl Command {
    /// Waits until `is_met`, at most for `time`, and not beyond `cancel`.
    async fn until(
        &self,
        time: Duration,
        cancel: &CancellationToken,
        is_met: impl FnMut(&Option<End>) -> bool,
    ) {
        let mut end = self.end.subscribe();
        tokio::select! {
            _ = end.wait_for(is_met) => {}
            () = cancel.cancelled() => {}
            () = tokio::time::sleep(time) => {}
        }
    }

    fn read(&self, name: &str) -> ToolOutput {
        let mut output = lock(&self.unread).take().finish();
        let mut end = None;
        self.end.send_if_modified(|ended| {
            if let Some(ended) = ended {
                ended.is_told = true;
                end = Some(ended.note.clone());
            }
            false
        });
        if !output.is_empty() && !output.ends_with('\n') {
            output.push('\n');
        }
        let (note, is_error) = match &end {
            Some(note) => (format!("`{name}` has ended: {}", bare(note)), note != "[exit code 0]"),
            None => (format!("`{name}` is running in the background"), false),
        };
        ToolOutput { text: format!("{output}[{note}.]"), is_error }
    }
}

/// A note without its brackets.
fn bare(note: &str) -> &str {
    note.strip_prefix('[').and_then(|note| note.strip_suffix(']')).unwrap_or(note)
}

impl fmt::Debug for Background {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.running()).finish()
    }
}

/// Every change under a lock is one step, so a panic elsewhere cannot have left it half done.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
