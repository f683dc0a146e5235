//! tine's built-in tools at one place, and what a parent declares of them.

use std::path::Path;

use async_trait::async_trait;
use tine_fork::ToolDispatcher;
use tine_fork::message::RawJson;
use tine_fork::request::ToolDeclaration;
use tine_fork::tools::{CallContext, ToolAnswer, ToolCall};
use tine_tools::{Effect, Place, PlaceError, Toolbox};

/// The tools.
pub(crate) struct BuiltIn {
    toolbox: Toolbox,
    place: Place,
}

impl BuiltIn {
    /// At this directory.
    pub(crate) fn at(directory: &Path) -> Result<Self, PlaceError> {
        Ok(Self { toolbox: Toolbox::built_in(), place: Place::new(directory)? })
    }

    /// The tools as the parent has declared them.
    pub(crate) fn declared(&self) -> Vec<ToolDeclaration> {
        let declare = |spec: &tine_tools::ToolSpec| -> Option<ToolDeclaration> {
            let schema = RawJson::parse(spec.schema).ok()?;
            let (name, description) = (spec.name.to_owned(), spec.description.to_owned());
            Some(ToolDeclaration { name, description, schema })
        };
        self.toolbox.specs().filter_map(declare).collect()
    }
}

#[async_trait]
impl ToolDispatcher for BuiltIn {
    fn is_read_only(&self, tool: &str) -> bool {
        self.toolbox.get(tool).is_some_and(|tool| tool.spec().effect == Effect::Reads)
    }

    async fn dispatch(&self, call: &ToolCall, context: &CallContext) -> ToolAnswer {
        let Some(tool) = self.toolbox.get(&call.name) else {
            return ToolAnswer::error(format!("There is no tool `{}`.", call.name));
        };
        let output = tool.run(&self.place, &call.input, &context.cancel).await;
        ToolAnswer { is_error: output.is_error, ..ToolAnswer::ok(output.text) }
    }
}
