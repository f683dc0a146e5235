//! What comes to the screen, and what it asks for.

use crossterm::event::{KeyEvent, MouseEvent};
use tine_guard::PermissionMode;
use tine_model::{AgentId, AgentRecord, EntryId, PermissionId, TaskRecord};
use tine_runtime::{
    Answer, BudgetRow, FoldedEntry, ForkMade, ForkWords, PermissionRequest, RewindTo, Rewound, Side,
};

use super::command_line::CommandLine;
use super::facts::Fact;
use super::live::Happening;
use super::piece::Tone;
use super::room::Cost;
use super::side::SideEvent;
use super::workers::WorkerLine;
use crate::host::{ModelChoice, Offer};

/// Something that happened.
#[derive(Debug, Clone)]
pub(crate) enum Event {
    /// A key was pressed.
    Key(KeyEvent),
    /// The mouse did something.
    Mouse(MouseEvent),
    /// A text was pasted, or written in an editor.
    Paste(String),
    /// A text written in an editor stands for what was being written.
    Written(String),
    /// The person said this on the command line.
    FirstWords(String),
    /// A command did nothing: what was typed comes back into the line of this agent, if nothing else stands there.
    GivenBack(Option<AgentId>, String),
    /// The terminal came to the front, or something else did.
    Focus(bool),
    /// The terminal has another size.
    Resize,
    /// Time went on.
    Tick,
    /// Something happened in a run of this process.
    Happened(AgentId, Happening),
    /// All agents and tasks, as they are now.
    Registry(Vec<AgentRecord>, Vec<TaskRecord>),
    /// The conversation of an agent: all of it, or, where `after` is given, what was written since that entry.
    Log {
        /// Whose.
        agent: AgentId,
        /// Since when.
        after: Option<EntryId>,
        /// What was written.
        entries: Vec<FoldedEntry>,
    },
    /// Messages that an agent has not read come back to who wrote them.
    TakenBack(AgentId, Vec<String>),
    /// The cost of an agent and its tree so far.
    Cost(AgentId, Cost),
    /// What an agent may use: the budget of its tree, and most tokens that its model reads at once, as far as there is such a thing.
    Means(AgentId, Option<Box<BudgetRow>>, Option<u64>),
    /// An agent was made for what was typed first.
    Made(Box<AgentRecord>),
    /// A fork was made, as it was asked for.
    Forked(Box<(ForkMade, ForkWords)>),
    /// A fork waits until the tools of its parent have completed.
    ForkWaits(AgentId),
    /// A fork was not made.
    NotForked(AgentId, String),
    /// Agents were killed.
    Killed(Vec<AgentId>),
    /// A conversation went back.
    Rewound(AgentId, Rewound),
    /// Words to the person, where the agent is; without one, where the person is.
    Told(Option<AgentId>, Tone, String),
    /// What a command of the command line printed, with its colours.
    Report(String, String),
    /// Something was found out about agents.
    Facts(Box<Fact>),
    /// Files that can be named to an agent.
    Files(Option<AgentId>, Vec<String>),
    /// Something happened to a question beside the conversation.
    Side(SideEvent),
    /// The person's own command is over; what it printed, where no agent was told of it.
    ShellOver(Option<String>),
    /// Somebody asks for permission.
    Asked(Box<PermissionRequest>),
    /// A request needs no answer any more; in what way, where it was answered elsewhere.
    Settled(PermissionId, Option<String>),
    /// All of a question that is to be shown whole.
    Opened(PermissionId, String),
    /// A line was typed, where there is no screen.
    Line(String),
    /// Ctrl+C was pressed there.
    Break,
    /// What can be chosen, before anything is looked for.
    Offered(Box<Offer>),
    /// What a server of this machine serves.
    Found(Vec<ModelChoice>),
    /// All servers that answer have answered.
    Looked,
    /// New agents have this model; what is said to one at once.
    Chosen(String, Option<String>),
}

/// Something that is to be done.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Effect {
    /// Make an agent, and say this to it.
    Begin(String),
    /// Let an agent go on, with these words or, without any, from where it was interrupted.
    Run(AgentId, Option<String>),
    /// Leave words for an agent.
    Send(AgentId, String),
    /// Take back, once the interrupted run of an agent is over, what was sent to it before and it has not read.
    TakeBack(AgentId),
    /// Read the log of an agent: all of it, or what was written since an entry.
    Read(AgentId, Option<EntryId>),
    /// Find out what an agent cost.
    Price(AgentId),
    /// Fork an agent.
    Fork(AgentId, ForkWords),
    /// Give up the fork of an agent that waits for its tools.
    GiveUpFork(AgentId),
    /// Interrupt the turn of an agent.
    Stop(AgentId),
    /// Stop the command of this name that an agent keeps in the background.
    StopCommand(AgentId, String),
    /// End an agent and all below it.
    Kill(AgentId),
    /// Give an agent a name.
    Rename(AgentId, String),
    /// Remember a place.
    Mark(AgentId, Option<String>),
    /// Let what was said behind a place count no more.
    Rewind(AgentId, RewindTo),
    /// Begin the conversation anew.
    Clear(AgentId),
    /// Sum the conversation up; so many tokens of its end stay as they are, or the usual.
    Compact(AgentId, Option<u64>),
    /// Answer a request.
    Answer(PermissionId, Answer),
    /// Read what a question is about, to show it whole.
    Open(Box<PermissionRequest>),
    /// Find out which requests still wait: the deadline of one is past.
    LookAtQueue,
    /// Find an agent by what a person calls it, and send it words.
    SendTo(String, String),
    /// Make an agent, and fork it as these words say.
    BeginFork(ForkWords),
    /// Run a command that starts workers.
    StartWorkers(WorkerLine),
    /// Show what a command of the command line prints.
    Report(CommandLine),
    /// Let a command of the command line have the terminal.
    Lend(CommandLine),
    /// Find the files that can be named to an agent.
    Files(Option<AgentId>),
    /// Look at an agent closely.
    LookAt(AgentId),
    /// Ask an agent's model beside its conversation.
    Side(AgentId, String),
    /// Take that question back.
    EndSide,
    /// Make a fork of question and answer.
    Promote(Box<Side>),
    /// Run a command of the person's, and let the agent know.
    Shell(Option<AgentId>, String),
    /// Stop it.
    EndShell,
    /// Take a dead agent, or all of them, off the lists.
    Reap(Option<AgentId>),
    /// Interrupt an agent and all below it.
    StopAll(AgentId),
    /// Write the text in the person's own editor.
    Edit(String),
    /// Find out which models can be chosen.
    Look,
    /// Give new agents a model.
    Choose(ModelChoice),
    /// Write the model of new agents into the settings.
    KeepModel,
    /// Change the permission mode of the session.
    Mode(PermissionMode),
    /// Draw everything anew.
    Redraw,
    /// Back to the shell for a while.
    Suspend,
    /// Fork an agent without anything that was said to it.
    ForkEmpty(AgentId),
    /// Put a text on the clipboard of the person's terminal.
    Copy(String),
    /// Call the person, who does not look at the terminal; why, on one line.
    Call(String),
    /// Take the mouse, or give it back to the terminal.
    Mouse(bool),
    /// Leave.
    Quit,
}
