//! A fork in the background that keeps a memory directory: it reads everything but secrets, and writes there alone.
//!
//! Run it with `cargo run -p tine-fork --example memory_fork`.

mod simulated {
    pub(crate) mod parent;
    pub(crate) mod provider;
}

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use simulated::parent::{Told, parents_request};
use simulated::provider::provider;
use tine_fork::message::RawJson;
use tine_fork::request::ToolDeclaration;
use tine_fork::tools::{CallContext, ToolAnswer, ToolCall};
use tine_fork::{
    AutoMemFilter, CacheSafeParams, DefaultForkSubagent, DelegateMode, FilesTouched, ForkParams,
    ForkSubagent, ParentContext, QuerySource, ToolDispatcher,
};
use tine_tools::{Effect, Place, Toolbox};

/// tine's built-in tools at one place.
struct BuiltIn {
    toolbox: Toolbox,
    place: Place,
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

/// First it tries to write beside the directory, is refused, and then keeps to it.
const SCENARIO: &str = r#"
name = "memory"
[[turn]]
when = { turn = 0 }
[[turn.tool_calls]]
name = "FileWrite"
input.file_path = "OUTSIDE"
input.content = "x"
[[turn]]
when = { turn = 1 }
[[turn.tool_calls]]
name = "FileWrite"
input.file_path = "INSIDE"
input.content = "Ships come in before noon.\n"
[[turn]]
text = "Noted."
"#;

/// Forks in the background and does something else meanwhile.
pub(crate) async fn run() -> Told {
    let world = tempfile::tempdir()?;
    let memory = world.path().join("memory");
    std::fs::create_dir(&memory)?;
    let (inside, outside) = (memory.join("ships.md"), world.path().join("notes.md"));
    let scenario = SCENARIO
        .replace("INSIDE", &inside.to_string_lossy())
        .replace("OUTSIDE", &outside.to_string_lossy());
    let provider = provider(&scenario).await?;
    let toolbox = Toolbox::built_in();
    let declare = |spec: &tine_tools::ToolSpec| -> Option<ToolDeclaration> {
        let schema = RawJson::parse(spec.schema).ok()?;
        let (name, description) = (spec.name.to_owned(), spec.description.to_owned());
        Some(ToolDeclaration { name, description, schema })
    };
    let declared = toolbox.specs().filter_map(declare).collect();
    let files = FilesTouched::new();
    let tools = BuiltIn { toolbox, place: Place::new(world.path())? };
    let forks = DefaultForkSubagent::new();
    let fork = forks
        .fork(ForkParams {
            tool_filter: Arc::new(AutoMemFilter::new(&memory)?),
            query_source: QuerySource::AutoDream,
            fork_label: "tidy memory".to_owned(),
            mode: DelegateMode::ForkAndForget,
            max_turns: 30,
            timeout: Some(Duration::from_secs(300)),
            on_message: Some(files.clone()),
            skip_transcript: true,
            ..ForkParams::new(
                ParentContext::new("harbour"),
                (provider.llm.clone(), Arc::new(tools)),
                CacheSafeParams::from_parent_request(&parents_request(declared)?),
                "Write down what is worth remembering.",
            )
        })
        .await?;
    // The parent would go on here. `fork.detach()` would let the fork end without anybody waiting.
    let result = fork.join().await?;
    let written = std::fs::read_to_string(&inside)?;
    let escaped = outside.exists();
    provider.server.shutdown().await;
    let (outcome, files) = (result.outcome.as_str().to_owned(), files.files().len());
    let said = result.into_text()?;
    Ok(format!("{outcome}: {files} file written ({}), escaped: {escaped}; {said}", written.trim()))
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "this is what the example shows")]
async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    println!("{}", run().await?);
    Ok(())
}
