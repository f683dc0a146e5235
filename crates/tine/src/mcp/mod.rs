//! `tine mcp`: what tine does, as tools of the Model Context Protocol, on standard input and output.
//!
//! Each call is a command of tine in a process of its own, so a host gets the same rules, limits and errors as a terminal, and work
//! that was begun outlives the connection.

mod call;
mod process;

use std::collections::HashMap;
use std::io::{self, IsTerminal as _};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CancelledNotificationParam,
    ContentBlock, Implementation, ListToolsResult, PaginatedRequestParams,
    ProgressNotificationParam, ProgressToken, RequestId, ServerCapabilities, ServerConfig,
};
use rmcp::service::{NotificationContext, RequestContext, RoleServer, ServiceExt as _};
use rmcp::{ErrorData, ServerHandler};
use tokio::sync::{Semaphore, oneshot};
use tokio_util::sync::CancellationToken;

use self::call::{Pace, Tool};
use self::process::{Ended, Processes};
use crate::context::Context;
use crate::fail::{self, Failure};

/// The longest wait for a call, before it is answered with what is known so far.
struct Patience {
    time: Duration,
    /// The same for `tine task output`.
    option: &'static str,
}

/// Codex gives a call up after 130 s (measured with 0.169); an answer has to come before that.
const PATIENCE: Patience = Patience { time: Duration::from_secs(90), option: "--timeout=90s" };

/// `tine task output --block` whose wait was not long enough.
const TIMED_OUT: i32 = fail::TIMED_OUT as i32;

/// Between two words of progress.
const PROGRESS_EVERY: Duration = Duration::from_secs(5);

/// Commands that run at the same time for one connection. What is asked beyond waits.
const CALLS_MAX: usize = 16;

const INSTRUCTIONS: &str = "tine forks LLM agents. `import` makes an agent of a session file, `tree` lists agents; `fork`, `fan`, \
    `pick` and `task_start` put forks of one to work, which the provider's cache makes cheap. Agents are named by their name or the \
    first characters of their id.";

/// The declarations of the tools, frozen: a change of a word costs every host its cache.
fn declarations() -> &'static [rmcp::model::Tool] {
    static TOOLS: LazyLock<Vec<rmcp::model::Tool>> =
        LazyLock::new(|| serde_json::from_str(include_str!("tools.json")).unwrap_or_default());
    &TOOLS
}

struct Server {
    processes: Processes,
    slots: Semaphore,
    calls: Calls,
}

/// Calls at work, and the tokens that stop them. The SDK's own token of a call will not do: it is cancelled at the end of the connection,
/// too, and that is to stop nothing.
#[derive(Default)]
struct Calls(Mutex<HashMap<RequestId, CancellationToken>>);

impl Calls {
    fn lock(&self) -> MutexGuard<'_, HashMap<RequestId, CancellationToken>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call at work, for as long as it is answered.
struct Call<'a> {
    calls: &'a Calls,
    id: RequestId,
    stop: CancellationToken,
}

impl<'a> Call<'a> {
    fn enter(calls: &'a Calls, context: &RequestContext<RoleServer>) -> Self {
        let (id, stop) = (context.id.clone(), CancellationToken::new());
        if context.ct.is_cancelled() {
            stop.cancel();
        }
        calls.lock().insert(id.clone(), stop.clone());
        Self { calls, id, stop }
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        self.calls.lock().remove(&self.id);
    }
}

/// Serves the client at standard input and output until it closes them.
pub(crate) async fn serve(context: &Context) -> Result<u8, Failure> {
    if io::stdin().is_terminal() {
        return Err(Failure::usage("`tine mcp` speaks to a program, and there is a person")
            .hint("let a host start it, such as with `claude mcp add tine -- tine mcp`"));
    }
    let processes = Processes::new(context)
        .map_err(|error| Failure::failed("cannot find this program").because(&error))?;
    let server = Server { processes, slots: Semaphore::new(CALLS_MAX), calls: Calls::default() };
    let running = match server.serve(rmcp::transport::stdio()).await {
        Ok(running) => running,
        // Nobody has spoken.
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => return Ok(0),
        Err(error) => {
            return Err(Failure::failed("the client does not speak MCP").because(&error).hint(
                "`tine mcp` is started by a host, such as `claude mcp add tine -- tine mcp`",
            ));
        }
    };
    running.waiting().await.map_err(|error| Failure::failed("MCP ended").because(&error))?;
    Ok(0)
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("tine", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn on_cancelled(
        &self,
        cancelled: CancelledNotificationParam,
        _context: NotificationContext<RoleServer>,
    ) {
        if let Some(id) = cancelled.request_id
            && let Some(stop) = self.calls.lock().get(&id)
        {
            stop.cancel();
        }
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(declarations().to_vec()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = Tool::named(&request.name) else {
            let unknown = format!("there is no tool `{}`", request.name);
            return Err(ErrorData::invalid_params(unknown, None));
        };
        let arguments = request.arguments.unwrap_or_default();
        let result = match tool.command_line(&arguments) {
            Ok(line) => self.answered(tool, line, &context).await,
            Err(wrong) => failed(wrong),
        };
        Ok(result.into())
    }
}

impl Server {
    async fn answered(
        &self,
        tool: &Tool,
        line: Vec<String>,
        context: &RequestContext<RoleServer>,
    ) -> CallToolResult {
        let call = Call::enter(&self.calls, context);
        let _slot = tokio::select! {
            slot = self.slots.acquire() => slot,
            () = call.stop.cancelled() => return failed("cancelled".to_owned()),
        };
        let is_long = tool.pace != Pace::Short;
        let operand = line.iter().skip_while(|word| *word != "--").nth(1).cloned();
        let mut end = match self.processes.begin(line, is_long, call.stop.clone()) {
            Ok(end) => end,
            Err(error) => return failed(format!("cannot start tine: {error}")),
        };
        let patience = tokio::time::sleep(PATIENCE.time);
        tokio::pin!(patience);
        let mut progress = Progress::of(context);
        loop {
            tokio::select! {
                ended = &mut end => return result_of(ended),
                () = &mut patience, if is_long => return self.goes_on(tool.pace, operand).await,
                () = progress.tell() => {}
            }
        }
    }

    /// Says where the result of work will be that takes longer than anybody waits.
    async fn goes_on(&self, pace: Pace, operand: Option<String>) -> CallToolResult {
        let mut text = "Still at work, and it goes on without you waiting. task_output with `wait` reads a task, show an agent."
            .to_owned();
        for command in [pace.follow_up(operand), Some(questions())].into_iter().flatten() {
            let Ok(end) = self.processes.begin(command, false, CancellationToken::new()) else {
                continue;
            };
            if let Ok(Ok(seen)) = end.await {
                text.push('\n');
                text.push_str(seen.printed.trim_end());
            }
        }
        CallToolResult::success(vec![ContentBlock::text(text)])
    }
}

/// The command that lists what waits for a person's answer.
fn questions() -> Vec<String> {
    ["permission", "list", "--json"].map(str::to_owned).to_vec()
}

fn failed(text: String) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(text)])
}

/// The output of a command, and its errors where it failed.
fn result_of(ended: Result<io::Result<Ended>, oneshot::error::RecvError>) -> CallToolResult {
    let ended = match ended {
        Ok(Ok(ended)) => ended,
        Ok(Err(error)) => return failed(format!("tine was lost: {error}")),
        Err(_) => return failed("tine was lost".to_owned()),
    };
    // What was waited for goes on, and was printed as it stands.
    if matches!(ended.code, Some(0 | TIMED_OUT)) {
        return CallToolResult::success(vec![ContentBlock::text(ended.printed)]);
    }
    let parts = [ended.printed, ended.errors];
    let parts: Vec<&str> =
        parts.iter().map(|part| part.trim_end()).filter(|part| !part.is_empty()).collect();
    failed(match parts.is_empty() {
        true => "tine was killed".to_owned(),
        false => parts.join("\n"),
    })
}

/// Tells a client that wants to know it that a call is at work.
struct Progress<'a> {
    context: &'a RequestContext<RoleServer>,
    token: Option<ProgressToken>,
    told: u32,
}

impl<'a> Progress<'a> {
    fn of(context: &'a RequestContext<RoleServer>) -> Self {
        Self { context, token: context.meta.get_progress_token(), told: 0 }
    }

    async fn tell(&mut self) {
        tokio::time::sleep(PROGRESS_EVERY).await;
        let Some(token) = self.token.clone() else { return };
        self.told += 1;
        let word = ProgressNotificationParam::new(token, f64::from(self.told));
        // Who has gone needs no word.
        let _ = self.context.peer.notify_progress(word).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_declarations_leave_a_host_its_context() {
        let text = serde_json::to_string(declarations()).unwrap();
        // At three bytes a token, which is more than any tokenizer makes of JSON in English.
        let tokens = (text.len() + INSTRUCTIONS.len()).div_ceil(3);
        assert!(tokens < 2500, "{tokens}");
    }
}
