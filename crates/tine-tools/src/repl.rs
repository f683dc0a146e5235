//! `REPL`: a script that calls other tools.
//!
//! The interpreter has no way to the world but the tools, and those are run by whoever runs this tool: with the same filter and the
//! same permissions as the model's own calls. Nothing is kept between calls, so a fork and a restarted agent know exactly what
//! their conversation says.
//!
//! The tool is always declared in the same words, so that an agent keeps its prefix in any build. Only a build with the feature `repl` runs
//! scripts; others answer that they cannot.

#[cfg(feature = "repl")]
mod script;

use async_trait::async_trait;
use tine_model::RawJson;
use tokio_util::sync::CancellationToken;

use crate::arguments::Arguments;
use crate::place::Place;
use crate::tool::{Effect, Failure, Tool, ToolOutput, ToolSpec};

static SPEC: ToolSpec = ToolSpec {
    name: Repl::NAME,
    description: "Runs a script in Rhai (a small language like JavaScript and Rust) and returns what it prints, \
        and the value of its last expression. Every other tool is a function that takes its arguments as a map \
        and returns its text, for example `Grep(#{pattern: \"TODO\"}).split(\"\\n\").len()`; a call that fails or is \
        refused throws its text (`try { … } catch (why) { … }`, a statement). Use it to make many calls at once and to keep \
        only what matters of their results. No files, processes or network but through the tools; at most 256 \
        calls; nothing is kept between scripts.",
    schema: include_str!("schemas/REPL.json"),
    effect: Effect::Calls,
};

/// The longest script. A longer one carries data, which belongs into a file.
const CODE_BYTES_MAX: usize = 256 * 1024;

/// Runs a script.
#[derive(Clone, Debug)]
pub struct Repl {
    tools: Vec<&'static str>,
}

impl Repl {
    /// Its canonical name.
    pub const NAME: &'static str = "REPL";

    /// An interpreter in which the tools of these names are functions.
    pub(crate) fn over(tools: Vec<&'static str>) -> Self {
        Self { tools }
    }
}

#[async_trait]
impl Tool for Repl {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    async fn run(&self, place: &Place, input: &RawJson, cancel: &CancellationToken) -> ToolOutput {
        match parse(input) {
            #[cfg(feature = "repl")]
            Ok(code) => script::interpret(&self.tools, code, place, cancel).await,
            #[cfg(not(feature = "repl"))]
            Ok(_) => {
                let (_, _, tools) = (place, cancel, self.tools.join(", "));
                ToolOutput::failed(format!(
                    "this build of tine runs no scripts; call the tools themselves: {tools}"
                ))
            }
            Err(failure) => failure.into(),
        }
    }
}

fn parse(input: &RawJson) -> Result<String, Failure> {
    let arguments = Arguments::parse(SPEC.name, &["code", "description"], input)?;
    arguments.text("description")?;
    let code = arguments.required_text("code")?;
    if code.len() > CODE_BYTES_MAX {
        return Err(Failure::new(format!("`code` is longer than {CODE_BYTES_MAX} bytes")));
    }
    Ok(code.to_owned())
}

#[cfg(test)]
#[cfg(feature = "repl")]
mod tests;
