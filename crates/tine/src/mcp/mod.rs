//! `tine mcp`: what tine does, as tools of the Model Context Protocol, on standard input and output.
//!
//! Each call is a command of tine in a process of its own, so a host gets the same rules, limits and errors as a terminal, and work
//! that was begun outlives the connection.

mod asking;
mod call;
mod process;
mod resources;
mod work;

use std::collections::HashMap;
use std::io::{self, IsTerminal as _};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, CancelledNotificationParam,
    CreateTaskResult, GetTaskParams, GetTaskResult, Implementation, InputRequiredResult,
    InputResponses, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, RequestId,
    ServerCapabilities, ServerConfig, SubscribeRequestParams, SubscriptionFilter,
    UnsubscribeRequestParams, UpdateTaskParams,
};
use rmcp::service::{
    NotificationContext, RequestContext, RoleServer, ServiceExt as _, SubscriptionContext,
};
use rmcp::task_manager::{TaskExit, TaskManager, TaskOptions};
use rmcp::{ErrorData, ServerHandler};
use tine_model::PermissionId;
use tokio_util::sync::CancellationToken;

use self::asking::Way;
use self::call::{Pace, Tool};
use self::resources::Notices;
use self::work::{Desk, Progress, Waited, Work, failed};
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

/// Commands of each pace that run at the same time for one connection. More than these wait.
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
    desk: Arc<Desk>,
    calls: Calls,
    /// Calls that have answered with a question, until the client calls again.
    held: Mutex<Vec<(PermissionId, Work)>>,
    tasks: TaskManager,
    notices: Notices,
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
    fn enter(
        calls: &'a Calls,
        context: &RequestContext<RoleServer>,
        stop: CancellationToken,
    ) -> Self {
        let id = context.id.clone();
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
            .hint("a host starts it: `tine mcp install claude-code` tells Claude Code to, and so for codex and opencode"));
    }
    let desk = Desk::new(context)
        .map_err(|error| Failure::failed("cannot find this program").because(&error))?;
    let server = Server {
        desk: Arc::new(desk),
        calls: Calls::default(),
        held: Mutex::default(),
        tasks: TaskManager::new(),
        notices: Notices::default(),
    };
    let running = match server.serve(rmcp::transport::stdio()).await {
        Ok(running) => running,
        // Nobody has spoken.
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => return Ok(0),
        Err(error) => {
            return Err(Failure::failed("the client does not speak MCP")
                .because(&error)
                .hint("`tine mcp` is started by a host: see `tine mcp install --help`"));
        }
    };
    running.waiting().await.map_err(|error| Failure::failed("MCP ended").because(&error))?;
    Ok(0)
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let has = ServerCapabilities::builder()
            .enable_tools()
            .enable_tasks()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_resources_list_changed()
            .build();
        ServerConfig::new(has)
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
        if let Some(state) = request.request_state {
            return Ok(self.again(&state, request.input_responses, &context).await);
        }
        let Some(tool) = Tool::named(&request.name) else {
            let unknown = format!("there is no tool `{}`", request.name);
            return Err(ErrorData::invalid_params(unknown, None));
        };
        let mut arguments = request.arguments.unwrap_or_default();
        if tool.name == "import" && !arguments.contains_key("file") {
            let client = context.client_info().map(|client| client.name).unwrap_or_default();
            match own_session(&client) {
                Some(session) => arguments.insert("file".to_owned(), session.into()),
                None => {
                    return Ok(failed(format!(
                        "name a `file`: the sessions of {client} are not known"
                    ))
                    .into());
                }
            };
        }
        let line = match tool.command_line(&arguments) {
            Ok(line) => line,
            Err(wrong) => return Ok(failed(wrong).into()),
        };
        let way = self.way(&context);
        let call = Call::enter(&self.calls, &context, CancellationToken::new());
        self.make_room();
        let mut work = match self.desk.begin(tool, line, call.stop.clone(), &way).await {
            Ok(work) => work,
            Err(answer) => return Ok(answer.into()),
        };
        let has_tasks = context.client_capabilities().is_some_and(|has| has.supports_tasks());
        if !has_tasks || !matches!(tool.pace, Pace::Long(_)) {
            return Ok(self.answered(work, &way, &context).await);
        }
        Ok(match work.ended_soon().await {
            Some(answer) => answer.into(),
            None => self.as_task(work, way).into(),
        })
    }

    async fn list_resources(
        &self,
        page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        drop(self.notices.wanted(&self.desk, &context.peer));
        resources::list(&self.desk.context, page.and_then(|page| page.cursor)).await
    }

    async fn list_resource_templates(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(resources::templates())
    }

    async fn read_resource(
        &self,
        asked: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        resources::read(&self.desk, asked.uri).await.map(Into::into)
    }

    async fn subscribe(
        &self,
        asked: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.notices.wanted(&self.desk, &context.peer).insert(asked.uri);
        Ok(())
    }

    async fn unsubscribe(
        &self,
        asked: UnsubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.notices.wanted(&self.desk, &context.peer).remove(&asked.uri);
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        // The SDK takes away what was not announced.
        Some(requested.clone())
    }

    async fn listen(&self, subscription: SubscriptionContext) -> Result<(), ErrorData> {
        resources::listen(&self.desk.context, subscription).await;
        Ok(())
    }

    async fn get_task(
        &self,
        asked: GetTaskParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        self.tasks.get_task(&asked.task_id).map(GetTaskResult::new)
    }

    async fn update_task(
        &self,
        told: UpdateTaskParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.tasks.update_task(&told.task_id, told.input_responses)
    }

    async fn cancel_task(
        &self,
        cancelled: CancelTaskParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.tasks.cancel_task(&cancelled.task_id)
    }
}

/// The name of the session that a client is in, for `tine import`. `None` where nobody knows how it keeps them.
fn own_session(client: &str) -> Option<&'static str> {
    let known = [("claude", "claude:last"), ("codex", "codex:last"), ("opencode", "opencode:last")];
    known.into_iter().find(|(name, _)| client.starts_with(name)).map(|(_, session)| session)
}

impl Server {
    fn way(&self, context: &RequestContext<RoleServer>) -> Way {
        Way::of(context, &self.desk.processes.waits)
    }

    /// Waits for a call. Where its answer is a question, the call is held until the client comes back to it.
    async fn answered(
        &self,
        mut work: Work,
        way: &Way,
        context: &RequestContext<RoleServer>,
    ) -> CallToolResponse {
        match self.desk.wait(&mut work, way, Progress::of(context)).await {
            Waited::Answer(answer) => answer.into(),
            Waited::Question(id, question) => self.hold(id, work, *question),
        }
    }

    /// Answers a call with a question, and keeps it until the client comes back.
    fn hold(
        &self,
        id: PermissionId,
        work: Work,
        question: InputRequiredResult,
    ) -> CallToolResponse {
        self.held().push((id, work));
        question.into()
    }

    /// Gives back the places of held calls whose work has ended, once held calls have taken all of them.
    fn make_room(&self) {
        let mut held = self.held();
        if held.len() == CALLS_MAX {
            held.retain(|(_, work)| !work.has_ended());
        }
    }

    fn held(&self) -> MutexGuard<'_, Vec<(PermissionId, Work)>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in the replies that a client brings, and goes on to wait for the call that asked for them.
    async fn again(
        &self,
        state: &str,
        replies: Option<InputResponses>,
        context: &RequestContext<RoleServer>,
    ) -> CallToolResponse {
        let held = {
            let mut held = self.held();
            let found = held.iter().position(|(id, _)| id.to_string() == state);
            found.map(|at| held.remove(at))
        };
        let Some((id, mut work)) = held else {
            let unknown =
                "this call is not known any more; task_list and tree show what became of it";
            return failed(unknown.to_owned()).into();
        };
        let reply = replies.as_ref().and_then(|replies| replies.get(state));
        match self.desk.replied(&mut work, id, reply).await {
            Some(Waited::Question(id, question)) => self.hold(id, work, *question),
            Some(Waited::Answer(answer)) => answer.into(),
            None => {
                let _call = Call::enter(&self.calls, context, work.stop.clone());
                self.answered(work, &self.way(context), context).await
            }
        }
    }

    /// Makes a task of a call: the client looks after it when it likes.
    fn as_task(&self, mut work: Work, way: Way) -> CreateTaskResult {
        let desk = Arc::clone(&self.desk);
        let task = self.tasks.spawn(TaskOptions::new().with_ttl_ms(None), |task| {
            let way = match way {
                Way::Queue => Way::Queue,
                _ => Way::Task(task.clone()),
            };
            Box::pin(async move {
                match desk.wait(&mut work, &way, Progress::Task(task)).await {
                    Waited::Answer(answer) if !work.stop.is_cancelled() => Ok(answer),
                    // By its own answer a task asks nothing.
                    Waited::Answer(_) | Waited::Question(..) => Err(TaskExit::Cancelled),
                }
            })
        });
        CreateTaskResult::new(task)
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
