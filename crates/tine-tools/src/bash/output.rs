//! `BashOutput`: what commands in the background print, and the way to stop them.

use std::time::Duration;

use async_trait::async_trait;
use tine_model::RawJson;
use tokio_util::sync::CancellationToken;

use crate::arguments::Arguments;
use crate::place::Place;
use crate::tool::{Effect, Failure, Tool, ToolOutput, ToolSpec};

static SPEC: ToolSpec = ToolSpec {
    name: BashOutput::NAME,
    description: "Reads what a command that Bash started with `run_in_background` has printed since it was \
        read last, and says whether it is still running. With `wait_ms` it waits for output where there is \
        none. With `stop` it ends the command. Without a name it lists the commands.",
    schema: include_str!("../schemas/BashOutput.json"),
    effect: Effect::Reads,
};

/// Reads and stops commands in the background.
#[derive(Clone, Copy, Debug, Default)]
pub struct BashOutput;

impl BashOutput {
    /// Its name.
    pub const NAME: &'static str = "BashOutput";
}

#[async_trait]
impl Tool for BashOutput {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    async fn run(&self, place: &Place, input: &RawJson, cancel: &CancellationToken) -> ToolOutput {
        match read(place, input, cancel).await {
            Ok(output) => output,
            Err(failure) => failure.into(),
        }
    }
}

async fn read(
    place: &Place,
    input: &RawJson,
    cancel: &CancellationToken,
) -> Result<ToolOutput, Failure> {
    let arguments = Arguments::parse(SPEC.name, &["name", "wait_ms", "stop"], input)?;
    let wait = Duration::from_millis(arguments.count("wait_ms", 0)?.unwrap_or(0));
    let max = place.limits().command_max;
    if wait > max {
        return Err(Failure::new(format!("`wait_ms` must be at most {}", max.as_millis())));
    }
    let stops = arguments.flag("stop", false)?;
    let background = place.background().ok_or_else(Failure::no_background)?;
    match (arguments.text("name")?, stops) {
        (Some(name), true) => Ok(background.stop(name, cancel).await),
        (Some(name), false) => Ok(background.read(name, wait, cancel).await),
        (None, true) => Err(Failure::new("`stop` needs the `name` of a command")),
        (None, false) => Ok(ToolOutput::done(background.list())),
    }
}
