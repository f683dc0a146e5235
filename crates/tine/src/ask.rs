//! The answering of questions for permission: by the person at the terminal, or by nobody.

mod person;
mod reply;

use std::io::{self, IsTerminal};
use std::sync::Arc;

use tine_model::{AgentId, Decision, PermissionState, RawJson};
use tine_runtime::{
    EventFilter, EventKind, Heard, PermissionFilter, PermissionRow, Runtime, Subscription,
};
use tine_tui::words::one_line;

use crate::fail::Failure;
use crate::inside;
use crate::output;
use crate::render::screen::Screen;
use person::Person;

/// Most refused calls that are remembered for the closing words.
const REFUSALS_MAX: usize = 100;

/// True where questions reach a person: at a terminal that no agent's command has made for itself.
pub(crate) fn a_person_is_there() -> bool {
    !inside::is_inside()
        && !output::is_caught()
        && io::stdin().is_terminal()
        && io::stderr().is_terminal()
}

/// Asks a person whether to go on; only a yes is one.
pub(crate) fn agrees(question: &str) -> bool {
    output::prompt(&format!("{question} Go on? [y/N]: "));
    let mut answer = String::new();
    let read = io::stdin().read_line(&mut answer);
    read.is_ok() && matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
}

/// A call that was refused because nobody could be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) agent: AgentId,
    pub(crate) tool: String,
    /// The call on one line.
    pub(crate) call: String,
    pub(crate) input: RawJson,
    pub(crate) directory: String,
    pub(crate) why: String,
}

impl Refusal {
    /// The call of a request, where it was refused for want of an answer.
    fn of(row: PermissionRow) -> Option<Self> {
        let is_one =
            row.state == PermissionState::Expired && row.decision() == Some(Decision::Deny);
        let input = RawJson::parse(&row.input).ok().filter(|_| is_one)?;
        let PermissionRow { agent, tool, what: call, directory, why, .. } = row;
        Some(Self { agent, tool, call, input, directory, why })
    }
}

/// The one who answers the questions of a command's runs.
pub(crate) enum Asked {
    /// The person at the terminal of this process.
    Person(Arc<Screen>),
    /// Somebody who reads the runs' events elsewhere in this process.
    Elsewhere,
    /// Nobody. Where a screen is given, the runs wait for another process, and it says for what.
    Nobody(Option<Arc<Screen>>),
}

impl Asked {
    /// The calls of this process that were refused because nobody could be asked, in the tree of this agent.
    pub(crate) async fn refused(
        &self,
        runtime: &Runtime,
        agent: AgentId,
    ) -> Result<Vec<Refusal>, Failure> {
        if !matches!(self, Self::Nobody(_)) {
            return Ok(Vec::new());
        }
        let rows = runtime.request_rows(Some(agent), PermissionFilter::All).await?;
        let own = rows.into_iter().filter(|row| runtime.is_own(&row.owner));
        Ok(own.filter_map(Refusal::of).take(REFUSALS_MAX).collect())
    }

    /// Reads from now on what the runs of this process do.
    pub(crate) fn reader(&self, runtime: &Arc<Runtime>, whose: EventFilter) -> Reader {
        let subscribe = || runtime.subscribe(whose);
        let (mut person, mut waits) = (None, None);
        match self {
            Self::Person(screen) => {
                person = Some((Person::new(Arc::clone(screen)), subscribe()));
            }
            Self::Elsewhere => {}
            Self::Nobody(screen) => waits.clone_from(screen),
        }
        Reader { runtime: Arc::clone(runtime), steps: subscribe(), person, waits }
    }
}

/// Reads what the runs of this process do: puts their questions, and hands everything on.
pub(crate) struct Reader {
    runtime: Arc<Runtime>,
    steps: Subscription,
    person: Option<(Person, Subscription)>,
    waits: Option<Arc<Screen>>,
}

impl Reader {
    /// Does the work, and hands over what happens meanwhile: all of it before this returns.
    pub(crate) async fn during<T>(
        self,
        work: impl Future<Output = T>,
        mut read: impl FnMut(&Heard),
    ) -> T {
        let Self { runtime, steps, person, waits } = self;
        let working = steps.during(work, |heard| {
            if let (Some(screen), Heard::Event(event)) = (&waits, &heard)
                && let EventKind::Asked(request) = &event.kind
            {
                let (what, id) = (one_line(&request.what), request.id.short());
                screen.say(&format!("waits for permission: {what} (`tine permission allow {id}`)"));
            }
            read(&heard);
        });
        let Some((person, questions)) = person else { return working.await };
        tokio::select! {
            biased;
            done = working => done,
            // Never ends; a question that it puts is nobody's any more.
            never = person.answer_all(&runtime, questions) => match never {},
        }
    }
}
