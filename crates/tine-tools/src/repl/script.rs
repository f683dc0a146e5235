//! The interpreter, within limits, and its one way out: a call of a tool.

use std::cell::RefCell;
use std::rc::Rc;

use rhai::{Dynamic, Engine, EvalAltResult, ImmutableString, Map, Position};
use tine_model::RawJson;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::bash::excerpt::Excerpt;
use crate::place::Place;
use crate::tool::ToolOutput;

/// What the interpreter may use of the stack: enough for its deepest expression in a build without optimisation.
const STACK_BYTES: usize = 64 * 1024 * 1024;

/// Steps of a script, well under a second of pure computing in an optimised build.
const OPERATIONS_MAX: u64 = 5_000_000;

/// Functions that are open at the same time, and how deep an expression may be nested; both go onto the thread's stack.
const CALL_LEVELS_MAX: usize = 32;
const EXPRESSION_DEPTH_MAX: usize = 64;

/// Bytes of one value's texts, and entries of one value's lists and maps. The text of every tool fits many times.
const STRING_BYTES_MAX: usize = 4 * 1024 * 1024;
const ENTRIES_MAX: usize = 100_000;

/// Variables and functions of a script; with the limit on texts this bounds its memory.
const VARIABLES_MAX: usize = 200;
const FUNCTIONS_MAX: usize = 100;

/// How many steps pass between two looks at whether the script was stopped.
const STEPS_BETWEEN_LOOKS: u64 = 1_024;

/// A call that a script makes.
struct Ask {
    tool: String,
    input: RawJson,
    reply: oneshot::Sender<ToolOutput>,
}

/// What a script has of the world.
struct Host {
    tools: Vec<&'static str>,
    asks: mpsc::Sender<Ask>,
    stop: CancellationToken,
    printed: Excerpt,
}

/// Runs a script, whose calls of these tools are run by the caller of `place`.
///
/// The interpreter has a thread of its own, because it waits for its calls. It ends when `cancel` is cancelled, which dropping this
/// future does too.
pub(super) async fn interpret(
    tools: &[&'static str],
    code: String,
    place: &Place,
    cancel: &CancellationToken,
) -> ToolOutput {
    let stop = cancel.child_token();
    let _stopped_on_drop = stop.clone().drop_guard();
    let (asks, mut asked) = mpsc::channel(1);
    let (done, mut finished) = oneshot::channel();
    let printed = Excerpt::new(place.limits().command_output_characters);
    let host = Host { tools: tools.to_vec(), asks, stop, printed };
    let thread = std::thread::Builder::new().name("repl".to_owned()).stack_size(STACK_BYTES);
    let started = thread.spawn(move || drop(done.send(run(&code, host))));
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

/// Runs a script to its end; blocks the thread. What was printed before a failure is kept.
fn run(code: &str, host: Host) -> ToolOutput {
    let Host { tools, asks, stop, printed } = host;
    let printed = Rc::new(RefCell::new(printed));
    let mut engine = limited(stop.clone());
    let out = Rc::clone(&printed);
    engine.on_print(move |text| print(&out, text));
    let out = Rc::clone(&printed);
    engine.on_debug(move |text, _, _| print(&out, text));
    for tool in tools {
        let asks = asks.clone();
        engine.register_fn(tool, move |arguments: Map| call(tool, arguments, &asks));
    }
    // The interpreter's own would hold the thread whatever happens.
    engine.register_fn("sleep", |_: i64| no_sleep()).register_fn("sleep", |_: f64| no_sleep());
    let result = engine.eval::<Dynamic>(code);
    match &result {
        Ok(value) if value.is_unit() => {}
        Ok(value) => print(&printed, &shown(value)),
        Err(_) if stop.is_cancelled() => print(&printed, "[cancelled; the script was stopped]"),
        Err(error) => print(&printed, &format!("[the script failed: {error}]")),
    }
    let text = printed.replace(Excerpt::new(0)).finish();
    let text = if text.is_empty() { "[the script printed nothing]" } else { text.trim_end() };
    ToolOutput { text: text.to_owned(), is_error: result.is_err() }
}

/// An interpreter without files, modules, time or evaluation of texts, that ends by itself and soon after `stop`.
fn limited(stop: CancellationToken) -> Engine {
    let mut engine = Engine::new();
    engine
        .set_max_operations(OPERATIONS_MAX)
        .set_max_call_levels(CALL_LEVELS_MAX)
        .set_max_expr_depths(EXPRESSION_DEPTH_MAX, EXPRESSION_DEPTH_MAX)
        .set_max_string_size(STRING_BYTES_MAX)
        .set_max_array_size(ENTRIES_MAX)
        .set_max_map_size(ENTRIES_MAX)
        .set_max_variables(VARIABLES_MAX)
        .set_max_functions(FUNCTIONS_MAX)
        .disable_symbol("eval");
    engine.on_progress(move |steps| {
        let stopped = steps % STEPS_BETWEEN_LOOKS == 0 && stop.is_cancelled();
        stopped.then_some(Dynamic::UNIT)
    });
    engine
}

fn no_sleep() -> Result<(), Box<EvalAltResult>> {
    Err(thrown("a script cannot sleep; use the tool Bash to wait".to_owned()))
}

fn thrown(text: String) -> Box<EvalAltResult> {
    EvalAltResult::ErrorRuntime(text.into(), Position::NONE).into()
}

fn print(out: &RefCell<Excerpt>, text: &str) {
    let mut out = out.borrow_mut();
    out.push(text.as_bytes());
    out.push(b"\n");
}

/// Texts as they are, everything else as JSON where it has a form there.
fn shown(value: &Dynamic) -> String {
    match value.as_immutable_string_ref() {
        Ok(text) => text.to_string(),
        Err(_) => serde_json::to_string(value).unwrap_or_else(|_| value.to_string()),
    }
}

/// Asks for a call and waits for its answer.
fn call(
    tool: &str,
    arguments: Map,
    asks: &mpsc::Sender<Ask>,
) -> Result<ImmutableString, Box<EvalAltResult>> {
    let input = serde_json::to_string(&Dynamic::from_map(arguments))
        .ok()
        .and_then(|text| RawJson::parse(&text).ok())
        .ok_or_else(|| thrown(format!("the arguments of {tool} have no form in JSON")))?;
    let (reply, answer) = oneshot::channel();
    let ask = Ask { tool: tool.to_owned(), input, reply };
    let sent = asks.blocking_send(ask).is_ok();
    let output = sent.then(|| answer.blocking_recv().ok()).flatten();
    match output {
        Some(ToolOutput { text, is_error: false }) => Ok(text.into()),
        Some(ToolOutput { text, is_error: true }) => Err(thrown(text)),
        None => Err(thrown("stopped".to_owned())),
    }
}
