//! Does what the screen asks for, on tasks of its own, and tells the screen what came of it.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tine_model::{AgentId, EntryBody, EntryId, Outcome};
use tine_runtime::{
    CompactOptions, FoldedEntry, ForkMade, ForkSpec, ForkWords, Inherit, KillSpec, Listening,
    QuietWait, Runtime, RuntimeError, Said, TOOLS_WAIT, UserCommand,
};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::errands::Stops;
use super::feed::CaughtUp;
use super::inbox::Inbox;
use super::queue::Queue;
use super::runs::Runs;
use super::sent::Outbox;
use super::terminal;
use super::watch::Found;
use crate::app::{Cost, Effect, Event, Happening, Tone};
use crate::figures::grouped;
use crate::host::{Host, ModelChoice};
use crate::question::whole;
use crate::words::{STORE_WAITS, one_line};

/// How long an agent of another process may take to stop before the screen says no more of it.
pub(super) const STOP_PATIENCE: Duration = Duration::from_secs(10);

/// How long runs of this process may take to stop when the person leaves. What is not written by then was not acknowledged either.
const LEAVE_PATIENCE: Duration = Duration::from_secs(5);

/// Columns of a terminal that does not say how many it has.
pub(super) const COLUMNS_USUAL: u16 = 80;

/// Does something on a task of its own. A panic is a bug of tine, and ends nothing else; what it said is the error.
async fn unless_it_panics<T: Send + 'static>(
    tasks: &TaskTracker,
    work: impl Future<Output = T> + Send + 'static,
) -> Result<T, String> {
    tasks.spawn(work).await.map_err(|error| {
        let why = terminal::last_panic().unwrap_or_else(|| error.to_string());
        format!("this is a bug of tine, and what was under way here has ended: {}", one_line(&why))
    })
}

/// What does the screen's bidding.
pub(super) struct Hands {
    pub(super) host: Arc<dyn Host>,
    pub(super) inbox: Arc<Inbox>,
    /// Asks whoever hands events to the screen to say when it has caught up.
    pub(super) catching_up: mpsc::UnboundedSender<CaughtUp>,
    pub(super) queue: Queue,
    tasks: TaskTracker,
    /// Ends everything that runs here.
    pub(super) end: CancellationToken,
    /// What lasts as long as the session, and is nothing that anybody waits for.
    pub(super) standing: TaskTracker,
    /// What was found out of agents.
    pub(super) found: Mutex<Found>,
    forks: Mutex<HashMap<AgentId, CancellationToken>>,
    /// Ends errands.
    pub(super) stops: Mutex<Stops>,
    /// Commands of the person's that no agent knows of, since there was none: the next one that begins here is told.
    pub(super) untold: Mutex<Vec<UserCommand>>,
    pub(super) runs: Runs,
    pub(super) outbox: Outbox,
    /// Hears of writes that wait.
    _listening: Listening,
}

impl Hands {
    pub(super) fn new(host: Arc<dyn Host>, inbox: Arc<Inbox>) -> Arc<Self> {
        let (catching_up, asked) = mpsc::unbounded_channel();
        let told = Arc::clone(&inbox);
        let say_wait = move || told.push(Event::Told(None, Tone::Warning, STORE_WAITS.to_owned()));
        let listening = host.runtime().store_waits().listen(Arc::new(say_wait));
        let hands = Arc::new(Self {
            host,
            inbox,
            catching_up,
            queue: Queue::default(),
            tasks: TaskTracker::new(),
            end: CancellationToken::new(),
            standing: TaskTracker::new(),
            found: Mutex::default(),
            forks: Mutex::default(),
            stops: Mutex::default(),
            untold: Mutex::default(),
            runs: Runs::default(),
            outbox: Outbox::default(),
            _listening: listening,
        });
        hands.read_events(asked);
        hands
    }

    pub(super) fn runtime(&self) -> &Arc<Runtime> {
        self.host.runtime()
    }

    /// Begins to do something. What the terminal itself does is done by whoever owns it.
    pub(super) fn take(self: &Arc<Self>, effect: Effect) {
        let hands = Arc::clone(self);
        match effect {
            Effect::Answer(id, answer) => {
                self.try_go(None, async move { hands.answer(id, answer).await })
            }
            Effect::Open(request) => self.go(async move {
                let preview = request.preview().await;
                let text = whole(&(&*request).into(), preview.as_ref());
                hands.inbox.push(Event::Opened(request.id, text));
            }),
            Effect::LookAtQueue => self.try_go(None, async move { hands.look_at_queue().await }),
            Effect::Run(agent, prompt) => {
                // It is known to run before anything else is done: who writes to it meanwhile starts no second run.
                self.runs.begin(agent, self.end.child_token());
                self.go(async move { hands.run(agent, prompt).await });
            }
            Effect::Begin(prompt) => self.go(async move { hands.begin(prompt).await }),
            Effect::BeginFork(words) => self.go(async move { hands.begin_fork(words).await }),
            Effect::StartWorkers(line) => self.go(async move { hands.start_workers(line).await }),
            Effect::Read(agent, after) => self.try_go(Some(agent), async move {
                let read = hands.read(agent, after).await;
                if read.is_err() {
                    // Nobody waits for it any longer.
                    let (after, entries) = (Some(EntryId(i64::MAX)), Vec::new());
                    hands.inbox.push(Event::Log { agent, after, entries });
                }
                read
            }),
            Effect::Price(agent) => {
                self.try_go(Some(agent), async move { hands.price(agent).await })
            }
            Effect::Fork(parent, words) => {
                self.go(async move { hands.fork(parent, words, false).await })
            }
            Effect::ForkEmpty(parent) => {
                self.go(async move { hands.fork(parent, ForkWords::default(), true).await })
            }
            Effect::GiveUpFork(parent) => {
                let waits = self.waiting_forks().remove(&parent);
                waits.into_iter().for_each(|cancel| cancel.cancel());
            }
            Effect::Stop(agent) => {
                self.runs.stop(agent);
                self.try_go(Some(agent), async move { hands.stop(agent, false).await })
            }
            Effect::StopCommand(agent, name) => self.go(async move {
                let text = if hands.runtime().stop_background_command(agent, &name).await {
                    format!("`{name}` has ended")
                } else {
                    format!("`{name}` does not run any more")
                };
                hands.tell(Some(agent), Tone::Plain, text);
                hands.look_at_background();
            }),
            Effect::StopAll(agent) => {
                self.try_go(Some(agent), async move { hands.stop(agent, true).await })
            }
            Effect::Side(agent, question) => {
                self.go(async move { hands.side(agent, &question).await })
            }
            Effect::EndSide => self.end_errand(|stops| &mut stops.side),
            Effect::Promote(side) => self.go(async move { hands.promote(&side).await }),
            Effect::Shell(agent, command) => {
                self.go(async move { hands.shell(agent, &command).await })
            }
            Effect::EndShell => self.end_errand(|stops| &mut stops.shell),
            Effect::Files(agent) => self.try_go(agent, async move { hands.files(agent).await }),
            Effect::Reap(agent) => self.try_go(None, async move { hands.reap(agent).await }),
            Effect::Kill(agent) => self.try_go(None, async move {
                let spec = KillSpec { agent, roots: false };
                let killed = hands.runtime().kill(spec).await?;
                killed.iter().for_each(|id| hands.runs.cancel(*id));
                hands.inbox.push(Event::Killed(killed));
                Ok(())
            }),
            Effect::Send(agent, text) => {
                self.try_go(Some(agent), async move { hands.send(agent, text).await })
            }
            Effect::TakeBack(agent) => self.outbox.recall(agent),
            Effect::SendTo(to, text) => self.try_go(None, async move {
                let agent = hands.runtime().resolve(&to).await?;
                hands.runtime().send(agent, text).await?;
                hands.tell(None, Tone::Plain, format!("Sent to {}", agent.short()));
                Ok(())
            }),
            Effect::LookAt(agent) => self.go(async move { hands.look_at(agent).await }),
            Effect::Report(line) => self.go(async move {
                hands.report(&line.words(hands.host.as_ref())).await;
            }),
            Effect::Rename(..)
            | Effect::Mark(..)
            | Effect::Rewind(..)
            | Effect::Clear(_)
            | Effect::Compact(..) => self.change(effect),
            Effect::Look => self.go(async move { hands.look_for_models().await }),
            Effect::Choose(choice) => self.go(async move { hands.choose(choice).await }),
            Effect::KeepModel => self.tell(None, Tone::Plain, self.host.keep_model().0),
            Effect::Mode(mode) => self.host.mode().set(mode),
            Effect::Edit(_)
            | Effect::Lend(_)
            | Effect::Redraw
            | Effect::Suspend
            | Effect::Copy(_)
            | Effect::Mouse(_)
            | Effect::Call(_)
            | Effect::Quit => {}
        }
    }

    /// Changes an agent's log or row, and reads it anew.
    fn change(self: &Arc<Self>, effect: Effect) {
        let hands = Arc::clone(self);
        let agent = match &effect {
            Effect::Rename(agent, _)
            | Effect::Mark(agent, _)
            | Effect::Rewind(agent, ..)
            | Effect::Clear(agent)
            | Effect::Compact(agent, _) => *agent,
            _ => return,
        };
        self.try_go(Some(agent), async move {
            let runtime = hands.runtime();
            let mut rewound = None;
            match effect {
                Effect::Rename(agent, name) => runtime.rename(agent, Some(name)).await?,
                Effect::Mark(agent, label) => runtime.mark_place(agent, label).await.map(drop)?,
                Effect::Rewind(agent, to) => rewound = Some(runtime.rewind(agent, to).await?),
                Effect::Clear(agent) => runtime.clear(agent).await.map(drop)?,
                Effect::Compact(agent, keep_tokens) => {
                    hands.tell(Some(agent), Tone::Plain, "Summing the conversation up...".into());
                    let cancel = hands.end.child_token();
                    let usual = CompactOptions::default();
                    let keep_tokens = keep_tokens.unwrap_or(usual.keep_tokens);
                    let options = CompactOptions { cancel, keep_tokens, ..usual };
                    let done = runtime.compact(agent, &options).await?;
                    let [before, after] = [done.tokens_before, done.tokens_after].map(grouped);
                    let text = format!("About {before} tokens became about {after}");
                    hands.tell(Some(agent), Tone::Plain, text);
                }
                _ => {}
            }
            hands.read(agent, None).await?;
            let rewound = rewound.map(|rewound| Event::Rewound(agent, rewound));
            rewound.into_iter().for_each(|event| hands.inbox.push(event));
            hands.registry().await
        });
    }

    pub(super) fn go(self: &Arc<Self>, work: impl Future<Output = ()> + Send + 'static) {
        let hands = Arc::clone(self);
        self.tasks.spawn(async move {
            if let Err(bug) = unless_it_panics(&hands.tasks, work).await {
                hands.tell(None, Tone::Error, bug);
            }
        });
    }

    /// Does something whose failure is told where the agent is.
    fn try_go(
        self: &Arc<Self>,
        agent: Option<AgentId>,
        work: impl Future<Output = Result<(), RuntimeError>> + Send + 'static,
    ) {
        let hands = Arc::clone(self);
        self.go(async move {
            if let Err(error) = work.await {
                hands.tell(agent, Tone::Error, hands.host.told(error).0);
            }
        });
    }

    pub(super) fn tell(&self, agent: Option<AgentId>, tone: Tone, text: String) {
        self.inbox.push(Event::Told(agent, tone, text));
    }

    pub(super) async fn run(self: &Arc<Self>, agent: AgentId, prompt: Option<String>) {
        let mut prompt = prompt;
        if prompt.is_some() {
            let show = |text: &str| self.tell(Some(agent), Tone::Plain, text.to_owned());
            if let Some(written) =
                self.host.before_prompt(agent, &show, self.end.child_token()).await
            {
                let hands = Arc::clone(self);
                self.go(async move {
                    if let Some(text) = written.await {
                        hands.tell(Some(agent), Tone::Plain, text);
                    }
                });
            }
        }
        loop {
            let cancel = self.runs.begin(agent, self.end.child_token());
            self.inbox.push(Event::Happened(agent, Happening::Began));
            let hands = Arc::clone(self);
            let prompt = prompt.take();
            let (words, since_ms) = (prompt.clone(), self.runtime().ports().clock.now_ms());
            let run = async move { hands.run_to_its_end(agent, prompt, cancel).await };
            let ended = unless_it_panics(&self.tasks, run)
                .await
                .unwrap_or_else(|bug| Err((Tone::Error, bug)));
            self.catch_up().await;
            if let (Err((Tone::Error, _)), Some(words)) = (&ended, words)
                && !self.has_heard(agent, &words, since_ms).await
            {
                self.inbox.push(Event::TakenBack(agent, vec![words]));
            }
            if self.runs.was_stopped(agent) {
                self.give_back_unread(agent).await;
            }
            let meanwhile = self.runs.end(agent);
            self.inbox.push(Event::Happened(agent, Happening::Ended));
            let is_over = ended.is_err();
            if let Err((tone, text)) = ended {
                // Whoever answers it with /resume must find the agent as it is now.
                self.registry().await.ok();
                self.tell(Some(agent), tone, text);
            }
            // What was written behind its last turn is read now, and not with the next words.
            let goes_on = meanwhile.was_written_to && (!is_over || meanwhile.was_stopped);
            let has_mail = self.has_mail(agent).await;
            if !has_mail {
                self.outbox.forget(agent);
            }
            if !goes_on || !has_mail {
                break;
            }
        }
        self.registry().await.ok();
        self.host.turn_ended(agent).await;
    }

    async fn run_to_its_end(
        &self,
        agent: AgentId,
        prompt: Option<String>,
        cancel: CancellationToken,
    ) -> Result<(), (Tone, String)> {
        let wrong = |error: RuntimeError| (Tone::Error, self.host.told(error).0);
        let runtime = self.runtime();
        let record = runtime.agent(agent).await.map_err(wrong)?;
        let options = self.host.options(&record, cancel).map_err(|told| (Tone::Error, told.0))?;
        let prompt = match prompt {
            None => None,
            Some(text) => {
                let (prompt, left_out) = runtime.attach(agent, text).await.map_err(wrong)?;
                for left_out in left_out {
                    self.tell(Some(agent), Tone::Warning, left_out.to_string());
                }
                Some(prompt)
            }
        };
        let ran = match prompt {
            Some(prompt) => Box::pin(runtime.say(agent, prompt, &options)).await.map_err(wrong)?,
            None => {
                let ran = Box::pin(runtime.run_with(agent, None, &options)).await;
                Said::Ran(Box::new(ran.map_err(wrong)?))
            }
        };
        let report = match ran {
            Said::Ran(ran) => ran.report,
            Said::Mailed(_) => {
                let text = "another process runs it; your words are read at its next turn";
                return Err((Tone::Warning, text.to_owned()));
            }
        };
        match ending(&report.outcome) {
            None => Ok(()),
            Some(ending) => Err(ending),
        }
    }

    /// Returns true if words that were said to an agent are in its log.
    async fn has_heard(&self, agent: AgentId, words: &str, since_ms: i64) -> bool {
        let Ok(log) = self.runtime().log(agent, None).await else { return false };
        let mut new = log.iter().rev().take_while(|entry| entry.at_ms >= since_ms);
        new.any(|entry| match &entry.body {
            EntryBody::Message(message) => {
                message.blocks().iter().any(|block| block.as_text() == Some(words))
            }
            _ => false,
        })
    }

    pub(super) async fn read(
        &self,
        agent: AgentId,
        after: Option<EntryId>,
    ) -> Result<(), RuntimeError> {
        let runtime = self.runtime();
        if after.is_some() {
            let entries = runtime.log(agent, after).await?;
            let whole = |entry: &tine_model::Entry| {
                use tine_model::EntryBody;
                match entry.body {
                    EntryBody::Clear | EntryBody::Rewind { .. } | EntryBody::Compact { .. } => true,
                    EntryBody::Message(_)
                    | EntryBody::Fork { .. }
                    | EntryBody::Mark { .. }
                    | EntryBody::Notice(_)
                    | EntryBody::Dialect(_) => false,
                }
            };
            if !entries.iter().any(whole) {
                let entries = entries
                    .into_iter()
                    .map(|entry| FoldedEntry { entry, effective: true })
                    .collect();
                self.inbox.push(Event::Log { agent, after, entries });
                return Ok(());
            }
        }
        let fold = runtime.fold(agent, None).await?;
        let entries = fold.entries().to_vec();
        self.inbox.push(Event::Log { agent, after: None, entries });
        Ok(())
    }

    async fn price(&self, agent: AgentId) -> Result<(), RuntimeError> {
        let report = self.runtime().cost(agent).await?;
        let sum = |lines: &[tine_runtime::CostLine]| {
            lines.iter().map(|line| line.dollars).sum::<Option<f64>>()
        };
        let (own, tree) = (sum(&report.own), sum(&report.subtree));
        let uncached = report.own.iter().map(|line| line.dollars_uncached).sum::<Option<f64>>();
        let saved = uncached.zip(own).map(|(uncached, own)| uncached - own);
        self.inbox.push(Event::Cost(agent, Cost { own, tree, saved }));
        let runtime = self.runtime();
        let budget = runtime.budget(agent).await?.map(Box::new);
        let model = runtime.agent(agent).await?.settings.model;
        let window = runtime.window(&model).await?;
        self.inbox.push(Event::Means(agent, budget, window));
        Ok(())
    }

    pub(super) async fn fork(&self, parent: AgentId, words: ForkWords, fresh: bool) {
        let forked = self.fork_as(parent, &words, fresh).await;
        self.waiting_forks().remove(&parent);
        match forked {
            Ok(made) => {
                self.inbox.push(Event::Forked(Box::new((made, words))));
                self.read(parent, None).await.ok();
                self.registry().await.ok();
            }
            // Whoever gave it up knows why there is none.
            Err(RuntimeError::ForkGivenUp) => {}
            Err(error) => {
                self.inbox.push(Event::NotForked(parent, self.host.told(error).0));
            }
        }
    }

    /// The forks that may wait for the tools of their parents, with what gives them up.
    pub(super) fn waiting_forks(&self) -> MutexGuard<'_, HashMap<AgentId, CancellationToken>> {
        self.forks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn fork_as(
        &self,
        parent: AgentId,
        words: &ForkWords,
        fresh: bool,
    ) -> Result<ForkMade, RuntimeError> {
        let runtime = self.runtime();
        let at = match words.at {
            // What stood before its tools began does not wait for them.
            Some(at) => Some(at),
            None => {
                let cancel = self.end.child_token();
                self.waiting_forks().insert(parent, cancel.clone());
                let on_wait = || self.inbox.push(Event::ForkWaits(parent));
                let wait = QuietWait { patience: TOOLS_WAIT, cancel: &cancel, on_wait: &on_wait };
                runtime.when_quiet(parent, wait).await?
            }
        };
        let inherit = if fresh { Inherit::Fresh } else { words.inherit };
        runtime.fork(ForkSpec { at, inherit, ..words.fork_of(parent) }).await
    }

    async fn report(&self, words: &[String]) {
        let columns = crossterm::terminal::size().map_or(COLUMNS_USUAL, |(columns, _)| columns);
        match self.host.report(words, usize::from(columns)).await {
            Ok(text) if text.trim().is_empty() => {
                self.tell(None, Tone::Plain, format!("Done: {}", told(words)));
            }
            Ok(text) => self.inbox.push(Event::Report(told(words), text)),
            Err(told) => self.tell(None, Tone::Error, told.0),
        }
        // It may have changed something.
        self.registry().await.ok();
    }

    /// Finds out what can be chosen.
    async fn look_for_models(&self) {
        self.inbox.push(Event::Offered(Box::new(self.host.offer())));
        self.host.find_local(&|choices| self.inbox.push(Event::Found(choices))).await;
        self.inbox.push(Event::Looked);
    }

    async fn choose(&self, choice: ModelChoice) {
        match self.host.use_model(&choice).await {
            Ok(model) => self.inbox.push(Event::Chosen(model, choice.first_words)),
            Err(told) => self.tell(None, Tone::Error, told.0),
        }
    }

    /// Whether nothing is under way but runs of agents that the person does not see.
    pub(super) fn is_at_rest(&self, seen: Option<AgentId>) -> bool {
        self.tasks.len() <= self.runs.beside(seen)
    }

    /// Whether nothing is under way at all.
    pub(super) fn is_done(&self) -> bool {
        self.tasks.is_empty()
    }

    /// Stops what runs here, and waits for it a while; how many would not end.
    pub(super) async fn leave(&self) -> usize {
        self.end.cancel();
        self.tasks.close();
        self.standing.close();
        drop(tokio::time::timeout(LEAVE_PATIENCE, self.tasks.wait()).await);
        drop(tokio::time::timeout(LEAVE_PATIENCE, self.standing.wait()).await);
        drop(tokio::time::timeout(LEAVE_PATIENCE, self.runtime().end_all_background()).await);
        self.tasks.len()
    }
}

/// A command of the command line as people type it, with short ids.
fn told(words: &[String]) -> String {
    let word = |word: &String| word.parse().map_or_else(|_| word.clone(), |id: AgentId| id.short());
    let words: Vec<String> = words.iter().map(word).collect();
    format!("tine {}", words.join(" "))
}

/// What is said of an end that is not as it should be.
fn ending(outcome: &Outcome) -> Option<(Tone, String)> {
    let (tone, text) = match outcome {
        Outcome::Completed => return None,
        Outcome::Aborted => {
            (Tone::Warning, "Interrupted. What was done is kept; say what comes next.")
        }
        Outcome::TurnLimit => {
            (Tone::Warning, "Stopped at the turn limit. Say `go on`, and it does.")
        }
        Outcome::LengthCut => {
            (Tone::Warning, "The reply was cut at its longest. Say `go on`, and it does.")
        }
        Outcome::Refused => {
            (Tone::Warning, "The model refused. /rewind takes the last words back.")
        }
        Outcome::TimedOut => {
            (Tone::Warning, "Stopped at the time limit. Say `go on`, and it does.")
        }
        Outcome::BudgetExhausted => {
            (Tone::Warning, "The budget of this tree is used up. `tine budget` raises it.")
        }
        Outcome::Failed(why) => return Some((Tone::Error, format!("Error: {why}"))),
    };
    Some((tone, text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_task_that_panics_is_an_error_and_ends_nothing_else() {
        let tasks = TaskTracker::new();
        assert_eq!(unless_it_panics(&tasks, async { 7 }).await, Ok(7));
        let bug: Result<(), String> = unless_it_panics(&tasks, async { panic!("boom") }).await;
        let error = bug.unwrap_err();
        assert!(error.starts_with("this is a bug of tine") && error.contains("boom"), "{error}");
    }
}
