//! Tool calls of a run: permission first, then the toolbox.

use std::sync::Arc;

use async_trait::async_trait;
use tine_fork::ToolDispatcher;
use tine_fork::tools::{CallContext, InnerCalls, LiveOutput, OpenCall, ToolAnswer, ToolCall};
use tine_guard::{Call, PermissionMode, real_call};
use tine_model::{RawJson, in_full};
use tine_tools::{Caller, Effect, OutputWatcher, Place, Repl, ToolOutput, Toolbox, refuse_unread};

use crate::crew_tools::{CrewTool, CrewTools, spawns};
use crate::guests::{HostDialect, carry_out_patch};
use crate::leftovers::CutOffCalls;
use crate::live::Stop;
use crate::permission::{Permissions, Permit, Unallowed};
use crate::queue::Queue;
use crate::read_wall::{NoReadWall, ReadWalls};
use crate::writers::Writers;

/// The answer to a call that an agent makes after it was asked to stop.
const STOPPING: &str = "Refused: you were asked to stop. Answer with what you have.";

/// The message to the model if the wall of a read cannot be raised.
fn not_run(error: &NoReadWall) -> String {
    format!(
        "Not run: the read-only wall for this command cannot be raised: {}. Try again, or use another tool.",
        in_full(error)
    )
}

/// The built-in tools at one agent's place, behind its permissions.
pub(crate) struct GuardedTools {
    pub(crate) toolbox: Arc<Toolbox>,
    pub(crate) place: Place,
    pub(crate) permissions: Permissions,
    pub(crate) queue: Queue,
    pub(crate) crew: CrewTools,
    pub(crate) stop: Arc<Stop>,
    pub(crate) writers: Writers,
    pub(crate) reads: ReadWalls,
    /// The dialect in which the model calls tools, where it was told of a host's.
    pub(crate) dialect: Option<HostDialect>,
    /// Calls that the run before left open when its process died.
    pub(crate) cut_off: CutOffCalls,
}

#[async_trait]
impl ToolDispatcher for GuardedTools {
    fn is_read_only(&self, tool: &str) -> bool {
        CrewTool::named(tool).map_or_else(
            || self.toolbox.get(tool).is_some_and(|tool| tool.spec().effect == Effect::Reads),
            CrewTool::runs_beside_others,
        )
    }

    fn forks(&self, tool: &str) -> bool {
        // A script may call any of them.
        tool == Repl::NAME || spawns(tool)
    }

    fn own_call(&self, call: &ToolCall) -> Result<ToolCall, ToolAnswer> {
        if let Some(dialect) = self.dialect {
            return dialect.own_call(call, self.place.directory());
        }
        // Conversations that are gone on from as Claude Code sent them call the file tools by its names; their arguments are the same.
        let name = match call.name.as_str() {
            tool if self.toolbox.get(tool).is_some() => tool,
            "Read" => "FileRead",
            "Write" => "FileWrite",
            "Edit" => "FileEdit",
            tool => tool,
        };
        Ok(ToolCall { name: name.to_owned(), ..call.clone() })
    }

    fn told(&self, asked: &ToolCall, own: &ToolCall, answer: ToolAnswer) -> ToolAnswer {
        match self.dialect {
            Some(dialect) => dialect.told(asked, own, answer),
            None => answer,
        }
    }

    fn only_calls(&self, tool: &str) -> bool {
        self.dialect.is_some_and(|dialect| dialect.only_calls(tool))
    }

    async fn open_call(&self, call: &ToolCall) -> OpenCall {
        if self.queue.is_open(&call.id, &call.name, call.input.as_str()).await {
            return OpenCall::NeverBegan;
        }
        let effect = self.toolbox.get(&call.name).map(|tool| tool.spec().effect);
        let runs = matches!(effect, Some(Effect::Runs | Effect::Calls));
        self.cut_off.told(&call.id, runs).map_or(OpenCall::Unknown, OpenCall::CutOff)
    }

    async fn dispatch(&self, call: &ToolCall, context: &CallContext) -> ToolAnswer {
        if self.stop.asked().is_some() && self.crew.journal.has_told_to_stop() {
            return ToolAnswer::error(STOPPING);
        }
        if let Some(dialect) = self.dialect.filter(|dialect| dialect.only_calls(&call.name)) {
            return carry_out_patch(dialect, &self.place, call, &context.calls).await;
        }
        if spawns(&call.name)
            && let Some(refusal) = self.crew.refusal(context)
        {
            return ToolAnswer::error(refusal);
        }
        if let Some(tool) = CrewTool::named(&call.name) {
            return self.dispatch_crew(tool, call, context).await;
        }
        let Some(tool) = self.toolbox.get(&call.name) else {
            let names: Vec<&str> = self.toolbox.specs().map(|spec| spec.name).collect();
            let name = &call.name;
            return ToolAnswer::error(format!(
                "There is no tool `{name}`. The tools are: {}.",
                names.join(", ")
            ));
        };
        let (directory, cancel) = (self.place.directory(), &context.cancel);
        let judged = Call::new(&call.name, &call.input, directory);
        let real = match real_call(&judged, self.place.real_directory()) {
            Ok(real) => real,
            Err(error) => return Unallowed::denied(format!(": {error}."), "").into(),
        };
        // In bypass mode no command is judged as a read.
        let may_be_read =
            call.name == "Bash" && self.permissions.mode.get() != PermissionMode::Bypass;
        let wall = if may_be_read { self.reads.base(&self.place).await } else { None };
        let enclosure = wall.as_ref().map(|wall| wall.enclosure().clone());
        let permissions = self.permissions.clone().behind(enclosure);
        let place = self.place.with_caller(Arc::new(Inner(context.calls.clone())));
        let watcher = Arc::new(Watched(context.output.clone()));
        let place = place.with_output_watcher(watcher).with_call(&call.id.0);
        let place = match &real {
            Some(real) => place.judged(&real.path),
            None => place,
        };
        let unread = refuse_unread(&place, &call.name, &call.input);
        let permit =
            permissions.check(&self.queue, &call.id, &judged, real.as_ref(), unread, cancel);
        let permit = match permit.await {
            Ok(permit) => permit,
            Err(unallowed) => return unallowed.into(),
        };
        let place = match (permit, wall) {
            (Permit::Read { shown }, Some(wall)) => match wall.around(place, shown).await {
                Ok(place) => place,
                Err(error) => return ToolAnswer::error(not_run(&error)),
            },
            // What the strict verdict calls a read needs no wall.
            (Permit::Read { .. }, None) | (Permit::Full, _) => place,
        };
        let before = self.writers.before(&judged).await;
        let output = tool.run(&place, &call.input, cancel).await;
        // What a script's calls saw is not in the conversation.
        let seen_files = if context.calls.are_none() { Vec::new() } else { place.take_seen() };
        let (is_inner, seen) = (context.calls.are_none(), (real.as_ref(), before));
        let output = self.writers.noted(&call.name, seen, output, is_inner).await;
        ToolAnswer { text: output.text, is_error: output.is_error, denied: None, seen: seen_files }
    }
}

impl GuardedTools {
    /// What a worker does is judged call by call; whether there may be one at all, by rules alone.
    async fn dispatch_crew(
        &self,
        tool: CrewTool,
        call: &ToolCall,
        context: &CallContext,
    ) -> ToolAnswer {
        let (directory, cancel) = (self.place.directory(), &context.cancel);
        let nothing = std::future::ready(None);
        let judged = Call::new(&call.name, &call.input, directory);
        let permit = self.permissions.check(&self.queue, &call.id, &judged, None, nothing, cancel);
        if let Err(unallowed) = permit.await {
            return unallowed.into();
        }
        if let Some(why) = self.crew.reason_to_confirm(tool, &call.input, directory).await {
            let asked = self.permissions.confirm(&self.queue, &call.id, &judged, why, cancel);
            if let Err(unallowed) = asked.await {
                return unallowed.into();
            }
        }
        self.crew.dispatch(tool, call, context).await
    }
}

/// What a script calls is filtered and judged like what the model calls.
struct Inner(InnerCalls);

#[async_trait]
impl Caller for Inner {
    async fn call(&self, tool: &str, input: &RawJson) -> ToolOutput {
        let ToolAnswer { text, is_error, .. } = self.0.call(tool, input.clone()).await;
        ToolOutput { text, is_error }
    }
}

/// Hands the output of a command to the observer of the run.
struct Watched(LiveOutput);

impl OutputWatcher for Watched {
    fn started(&self) {
        self.0.begin();
    }

    fn printed(&self, bytes: &[u8]) {
        self.0.print(bytes);
    }
}
