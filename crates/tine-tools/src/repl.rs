//! `REPL`: a script that calls other tools.
//!
//! The interpreter has no way to the world but the tools, and those are run by whoever runs this tool: with the same filter and the
//! same permissions as the model's own calls. Nothing is kept between calls, so a fork and a restarted agent know exactly what
//! their conversation says.

mod script;

use async_trait::async_trait;
use tine_model::RawJson;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::arguments::Arguments;
use crate::bash::excerpt::Excerpt;
use crate::place::Place;
use crate::tool::{Effect, Failure, Tool, ToolOutput, ToolSpec};
use script::{Ask, Host};

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

/// What the interpreter may use of the stack: enough for its deepest expression in a build without optimisation.
const STACK_BYTES: usize = 64 * 1024 * 1024;

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
            Ok(code) => self.interpret(code, place, cancel).await,
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

impl Repl {
    /// The interpreter has a thread of its own, because it waits for its calls. It ends when `stop` is cancelled, which
    /// dropping this future does too.
    async fn interpret(
        &self,
        code: String,
        place: &Place,
        cancel: &CancellationToken,
    ) -> ToolOutput {
        let stop = cancel.child_token();
        let _stopped_on_drop = stop.clone().drop_guard();
        let (asks, mut asked) = mpsc::channel(1);
        let (done, mut finished) = oneshot::channel();
        let host = Host {
            tools: self.tools.clone(),
            asks,
            stop,
            printed: Excerpt::new(place.limits().command_output_characters),
        };
        let thread = std::thread::Builder::new().name("repl".to_owned()).stack_size(STACK_BYTES);
        let started = thread.spawn(move || drop(done.send(script::run(&code, host))));
        if let Err(error) = started {
            return ToolOutput::failed(format!("the script could not be started: {error}"));
        }
        loop {
            // Both branches are cancel-safe.
            tokio::select! {
                output = &mut finished => {
                    let lost = |_| ToolOutput::failed("the script stopped unexpectedly");
                    return output.unwrap_or_else(lost);
                }
                Some(Ask { tool, input, reply }) = asked.recv() => {
                    // The thread waits for it, unless it has ended meanwhile.
                    drop(reply.send(place.call(&tool, &input).await));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
