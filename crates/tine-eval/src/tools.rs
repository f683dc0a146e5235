//! The tools of a case: ours at the run's own copy, and stand-ins.
//!
//! There is nobody to ask, and nothing to lose: in its copy a run may read and write what it likes, and nothing outside. Commands
//! run behind a wall that lets them read programs and the copy, write in the copy, and reach no network.

use std::sync::Arc;

use async_trait::async_trait;
use tempfile::TempDir;
use tine_fork::ToolDispatcher;
use tine_fork::tools::{CallContext, InnerCalls, ToolAnswer, ToolCall};
use tine_guard::filter::{AllowAllFilter, AutoMemFilter, FilterError, ReadOnlyFilter, ToolFilter};
use tine_guard::{Call, PermissionMode, Rules, Verdict, Width, judge, real_call};
use tine_model::RawJson;
use tine_tools::{
    Caller, Effect, Ground, Place, RootError, ToolOutput, Toolbox, Wall, WallError, Withheld,
};
use tine_wire::ToolDeclaration;

use crate::suite::{Case, FilterKind, StandIn};
use crate::work::{Work, WorkError};

/// The directory of a case's notes.
pub(crate) const MEMORY: &str = "memory";

/// Why a run's tools are not there.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ToolsError {
    #[error(transparent)]
    Work(#[from] WorkError),
    #[error("Bash needs a wall around its commands")]
    Wall(#[from] WallError),
    #[error(transparent)]
    Root(#[from] RootError),
    #[error(transparent)]
    Place(#[from] tine_tools::PlaceError),
}

/// What answers the calls of one run.
pub(crate) struct CaseTools {
    toolbox: Toolbox,
    declared: Vec<String>,
    stand_ins: Vec<StandIn>,
    place: Place,
    rules: Rules,
    pub(crate) work: Work,
}

impl CaseTools {
    /// Copies the fixture, and raises the wall where the case has commands. The copy goes with the second value. Blocks.
    pub(crate) fn make(case: &Case) -> Result<(Self, TempDir), ToolsError> {
        let (work, copy) = Work::make(
            case.fixture.as_deref(),
            (case.filter == FilterKind::Memory).then_some(MEMORY),
        )?;
        let directory = work.path().to_owned();
        let place = Place::new(&directory)?.with_write_roots(std::slice::from_ref(&directory))?;
        let secrets: Withheld = Arc::new(tine_guard::is_secret);
        let place = place.with_secrets_refused(Arc::clone(&secrets));
        let toolbox = Toolbox::built_in();
        let runs = |name: &String| {
            toolbox.get(name).is_some_and(|tool| tool.spec().effect == Effect::Runs)
        };
        let place = if case.tools.iter().any(runs) {
            let wall = Wall::maintenance(vec![directory.clone()]);
            place.with_enclosure(wall.raise(&directory, &Ground::here(secrets))?)
        } else {
            place
        };
        let tools = Self {
            toolbox,
            declared: case.tools.clone(),
            stand_ins: case.stand_ins.clone(),
            place,
            rules: Rules::default(),
            work,
        };
        Ok((tools, copy))
    }

    /// Which calls are refused before they get here.
    pub(crate) fn filter(
        self: &Arc<Self>,
        case: &Case,
    ) -> Result<Arc<dyn ToolFilter>, FilterError> {
        let directory = self.place.directory();
        Ok(match case.filter {
            FilterKind::All => Arc::new(AllowAllFilter),
            FilterKind::ReadOnly => Arc::new(Placed {
                filter: ReadOnlyFilter::new().in_directory(directory),
                tools: Arc::clone(self),
            }),
            FilterKind::Memory => Arc::new(Placed {
                filter: AutoMemFilter::new(directory.join(MEMORY))?.in_directory(directory),
                tools: Arc::clone(self),
            }),
        })
    }

    /// Whether a call may run here; otherwise what the model is told.
    fn judged(
        &self,
        call: &ToolCall,
        input: &RawJson,
        context: &CallContext,
    ) -> Result<Place, String> {
        let denied = |why: &dyn std::fmt::Display| format!("Denied: {why}.");
        let (directory, real_directory) = (self.place.directory(), self.place.real_directory());
        let written = Call::new(&call.name, input, directory);
        let real = real_call(&written, real_directory).map_err(|error| denied(&error))?;
        let followed = real.as_ref().and_then(|real| {
            let input = real.input.as_ref()?;
            Some(Call::new(&call.name, input, &real.directory))
        });
        for call in [Some(written), followed].into_iter().flatten() {
            match judge(&call, PermissionMode::AcceptEdits, Width::Strict, &self.rules) {
                Verdict::Allow | Verdict::Read => {}
                // Whatever a command does, it does behind the wall.
                Verdict::Ask(_) if self.place.enclosure().is_some() && call.tool == "Bash" => {}
                Verdict::Ask(why) | Verdict::Deny(why) => return Err(denied(&why)),
            }
        }
        let place = self.place.with_caller(Arc::new(Inner(context.calls.clone())));
        Ok(match real {
            Some(real) => place.judged(&real.path),
            None => place,
        })
    }
}

/// A call of a call.
struct Inner(InnerCalls);

#[async_trait]
impl Caller for Inner {
    async fn call(&self, tool: &str, input: &RawJson) -> ToolOutput {
        let ToolAnswer { text, is_error, .. } = self.0.call(tool, input.clone()).await;
        ToolOutput { text, is_error }
    }
}

/// A filter that is told real paths and tells none.
struct Placed<F> {
    filter: F,
    tools: Arc<CaseTools>,
}

impl<F: ToolFilter> ToolFilter for Placed<F> {
    fn allows(&self, tool: &str, input: &RawJson) -> bool {
        self.filter.allows(tool, &self.tools.work.input(input))
    }

    fn denial_message(&self, tool: &str, input: &RawJson) -> String {
        let work = &self.tools.work;
        work.answer(self.filter.denial_message(tool, &work.input(input)), None)
    }
}

/// What the parent of a case's forks declared.
pub(crate) fn declarations(case: &Case) -> Result<Vec<ToolDeclaration>, tine_model::RawJsonError> {
    let toolbox = Toolbox::built_in();
    let ours = case.tools.iter().filter_map(|name| toolbox.get(name));
    let mut declared = Vec::new();
    for tool in ours {
        let spec = tool.spec();
        declared.push(ToolDeclaration {
            name: spec.name.to_owned(),
            description: spec.description.to_owned(),
            schema: RawJson::parse(spec.schema)?,
        });
    }
    declared.extend(case.stand_ins.iter().map(|tool| ToolDeclaration {
        name: tool.name.clone(),
        description: tool.description.clone(),
        schema: tool.schema.clone(),
    }));
    Ok(declared)
}

#[async_trait]
impl ToolDispatcher for CaseTools {
    fn is_read_only(&self, tool: &str) -> bool {
        self.toolbox.get(tool).is_some_and(|tool| tool.spec().effect == Effect::Reads)
    }

    async fn dispatch(&self, call: &ToolCall, context: &CallContext) -> ToolAnswer {
        if let Some(tool) = self.stand_ins.iter().find(|tool| tool.name == call.name) {
            return ToolAnswer::ok(tool.answer.clone());
        }
        let tool = self.toolbox.get(&call.name).filter(|_| self.declared.contains(&call.name));
        let Some(tool) = tool else {
            return ToolAnswer::error(format!("There is no tool `{}`.", call.name));
        };
        let input = self.work.input(&call.input);
        let output = match self.judged(call, &input, context) {
            Ok(place) => tool.run(&place, &input, &context.cancel).await,
            Err(told) => ToolOutput::failed(told),
        };
        let temporary = self.place.enclosure().map(|wall| wall.temporary());
        let text = self.work.answer(output.text, temporary);
        ToolAnswer { is_error: output.is_error, ..ToolAnswer::ok(text) }
    }
}
