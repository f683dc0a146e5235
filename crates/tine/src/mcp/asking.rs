//! Questions of workers, put to the person at the client. A question that nobody answers stays in the queue: nothing is granted by
//! silence.

use std::collections::HashSet;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::{
    CancelledNotificationParam, ClientResult, ElicitRequest, ElicitRequestParams, ElicitResult,
    ElicitationAction, ElicitationSchema, EnumSchema, InputRequest, PrimitiveSchemaDefinition,
    ProtocolVersion, RequestId, ServerRequest, StringSchema,
};
use rmcp::service::{Peer, PeerRequestOptions, RequestContext, RoleServer};
use rmcp::task_manager::TaskContext;
use serde_json::Value;
use tine_model::{AgentId, PermissionId, PermissionScope};
use tine_runtime::{Answer, ChangeWatch, PermissionFilter, PermissionRow, REASON_BYTES_MAX};
use tokio_util::task::TaskTracker;

use crate::context::Context;
use crate::fail::Failure;
use crate::inside;
use crate::render::question::{Shown, question};

/// The name under which an answer is kept, for those who ask later who gave it.
const BY: &str = "tine mcp";

/// The answers of the form, and how far a yes reaches. A rule for every later session is written in a terminal.
const ALLOW: [(&str, PermissionScope); 3] = [
    ("allow this call", PermissionScope::Once),
    ("allow it to this worker", PermissionScope::Agent),
    ("allow it to all workers of the tree", PermissionScope::Tree),
];
const DENY: &str = "deny";

/// The way by which the person at a client is asked.
#[derive(Clone)]
pub(super) enum Way {
    /// None: a question waits in the queue.
    Queue,
    /// A form beside the call, as the protocol has it before 2026-07-28; forms that are taken away again are this tracker's.
    Form(Peer<RoleServer>, TaskTracker),
    /// The call's own answer, upon which the client calls again: 2026-07-28.
    Return,
    /// The task that the call has become.
    Task(TaskContext),
}

impl Way {
    /// The way that the client of this request offers. An agent of tine that is the client answers nothing: it would allow itself
    /// whatever it asks for.
    pub(super) fn of(context: &RequestContext<RoleServer>, tracker: &TaskTracker) -> Self {
        let declared = context.client_capabilities().and_then(|declared| declared.elicitation);
        // Who names no mode means the form.
        let has_form = declared.is_some_and(|has| has.form.is_some() || has.url.is_none());
        if !has_form || inside::is_inside() {
            return Self::Queue;
        }
        let is_newest = |version: ProtocolVersion| version >= ProtocolVersion::V_2026_07_28;
        match context.protocol_version().is_some_and(is_newest) {
            true => Self::Return,
            false => Self::Form(context.peer.clone(), tracker.clone()),
        }
    }

    pub(super) fn asks(&self) -> bool {
        !matches!(self, Self::Queue)
    }

    /// Puts a form; the future is the reply. `None`: nobody answered. Dropping the future takes the form away.
    pub(super) fn put(&self, id: PermissionId, form: ElicitRequest) -> Option<Reply> {
        match self.clone() {
            Self::Queue | Self::Return => None,
            Self::Form(peer, tracker) => Some(Box::pin(by_form(peer, tracker, form))),
            Self::Task(task) => Some(Box::pin(by_task(task, id, form))),
        }
    }
}

/// The reply to a form that was put.
pub(super) type Reply = Pin<Box<dyn Future<Output = Option<Answer>> + Send>>;

async fn by_form(
    peer: Peer<RoleServer>,
    tracker: TaskTracker,
    form: ElicitRequest,
) -> Option<Answer> {
    let (request, options) = (ServerRequest::ElicitRequest(form), PeerRequestOptions::no_options());
    let handle = peer.send_cancellable_request(request, options).await.ok()?;
    let mut open = OpenForm { peer, tracker, id: Some(handle.id.clone()) };
    let replied = handle.await_response().await;
    open.id = None;
    match replied {
        Ok(ClientResult::ElicitResult(result)) => answer_of(result),
        _ => None,
    }
}

async fn by_task(task: TaskContext, id: PermissionId, form: ElicitRequest) -> Option<Answer> {
    let mut key = id.to_string();
    loop {
        let request = InputRequest::Elicitation(form.clone());
        match heard(&task.request_input(key.clone(), request).await.ok()?) {
            Heard::Answer(answer) => return Some(answer),
            Heard::Silence => return None,
            // A key is used once.
            Heard::Nothing => key.push('+'),
        }
    }
}

/// A form that the client shows. Dropping it tells the client to take it away.
struct OpenForm {
    peer: Peer<RoleServer>,
    tracker: TaskTracker,
    id: Option<RequestId>,
}

impl Drop for OpenForm {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        let peer = self.peer.clone();
        let why = Some("it is answered elsewhere, or waits in tine's queue".to_owned());
        let gone = CancelledNotificationParam::new(Some(id), why);
        self.tracker.spawn(async move { peer.notify_cancelled(gone).await });
    }
}

/// The form of a question.
pub(super) async fn form(context: &Context, row: &PermissionRow) -> Result<ElicitRequest, Failure> {
    let label = context.runtime.asker_label(row.agent).await?;
    let (text, _) = question("", &Shown::of(row, label.as_deref()), usize::MAX);
    let message = anstream::adapter::strip_str(text.trim_start()).to_string();
    let reached = ALLOW.iter().filter(|(_, scope)| scope.is_within(row.widest));
    let words = reached.map(|(word, _)| (*word).to_owned()).chain([DENY.to_owned()]).collect();
    let answer = EnumSchema::builder(words).title("Answer").build();
    let reason = StringSchema::new().title("If not: why, or what to do instead");
    let requested_schema = ElicitationSchema::builder()
        .required_property("answer", PrimitiveSchemaDefinition::Enum(answer))
        .property("reason", PrimitiveSchemaDefinition::String(reason))
        .build()
        .map_err(|why| Failure::failed(format!("cannot make a form: {why}")))?;
    let form = ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema };
    Ok(ElicitRequest::new(form))
}

/// The contents of a reply that tasks and repeated calls bring.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Heard {
    Answer(Answer),
    /// The form was put away.
    Silence,
    /// It is no reply to the form, and the question is put again.
    Nothing,
}

/// Reads a reply in JSON.
pub(super) fn heard(reply: &Value) -> Heard {
    let Ok(result) = serde_json::from_value::<ElicitResult>(reply.clone()) else {
        return Heard::Nothing;
    };
    match (result.action.clone(), answer_of(result)) {
        (_, Some(answer)) => Heard::Answer(answer),
        (ElicitationAction::Decline | ElicitationAction::Cancel, None) => Heard::Silence,
        (_, None) => Heard::Nothing,
    }
}

/// `None` where no answer was chosen: a form that was put away, or that a host without a person declined by itself, is no word of a
/// person.
fn answer_of(result: ElicitResult) -> Option<Answer> {
    let content = result.content.filter(|_| result.action == ElicitationAction::Accept)?;
    let chosen = content.get("answer")?.as_str()?;
    if let Some((_, scope)) = ALLOW.iter().find(|(word, _)| *word == chosen) {
        return Some(Answer::Allow(*scope));
    }
    let reason = content.get("reason").and_then(Value::as_str).map(str::trim).unwrap_or_default();
    match (chosen == DENY, reason) {
        (false, _) => None,
        (true, "") => Some(Answer::Deny(PermissionScope::Once)),
        (true, reason) => {
            let end = reason.floor_char_boundary(REASON_BYTES_MAX);
            Some(Answer::DenyBecause(PermissionScope::Once, reason[..end].to_owned()))
        }
    }
}

/// Answers a request for permission. One that is answered already stays as it is.
pub(super) async fn answer(context: &Context, id: PermissionId, answer: Answer) {
    let _ = context.runtime.answer_request(id, answer, BY).await;
}

/// The questions that were put to this client, and not taken away again.
#[derive(Clone, Default)]
pub(super) struct Put(Arc<Mutex<HashSet<PermissionId>>>);

impl Put {
    fn lock(&self) -> MutexGuard<'_, HashSet<PermissionId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The questions of a tree of agents, one at a time.
pub(super) struct Questions {
    context: Context,
    tree: AgentId,
    changes: ChangeWatch,
    put: Put,
    open: Option<PermissionId>,
}

impl Questions {
    /// Those of the tree of the agent that a call names. `None` where it names none.
    pub(super) async fn of(context: &Context, agent: &str, put: Put) -> Option<Self> {
        let (tree, _) = context.agent_at(agent).await.ok()?;
        let changes = ChangeWatch::begin(&context.runtime).await.ok()?;
        Some(Self { context: context.clone(), tree, changes, put, open: None })
    }

    /// Returns the next question, which counts as put; `None` once the one that is put is answered. May be dropped at any time.
    pub(super) async fn next(&mut self) -> Option<PermissionRow> {
        loop {
            let runtime = &self.context.runtime;
            let rows = runtime.request_rows(Some(self.tree), PermissionFilter::Pending).await;
            match (self.open, rows) {
                (Some(open), Ok(rows)) if rows.iter().all(|row| row.id != open) => {
                    self.open = None;
                    return None;
                }
                (None, Ok(rows)) => {
                    let mut put = self.put.lock();
                    if let Some(row) = rows.into_iter().find(|row| !put.contains(&row.id)) {
                        put.insert(row.id);
                        self.open = Some(row.id);
                        return Some(row);
                    }
                }
                // It still waits; or the store cannot be read for a moment, and the next look is another.
                (Some(_), Ok(_)) | (_, Err(_)) => {}
            }
            if self.changes.next(runtime).await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// The client has replied to the open question. It is not put again.
    pub(super) fn replied(&mut self) -> Option<PermissionId> {
        self.open.take()
    }
}

impl Drop for Questions {
    /// A question that was taken away without a reply may be put by another call.
    fn drop(&mut self) {
        if let Some(open) = self.open {
            self.put.lock().remove(&open);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_a_chosen_answer_is_one() {
        for (reply, expected) in [
            (
                json!({"action": "decline", "content": {"answer": "allow this call"}}),
                Heard::Silence,
            ),
            (json!({"action": "cancel"}), Heard::Silence),
            (json!({"action": "accept"}), Heard::Nothing),
            (json!({"action": "accept", "content": {}}), Heard::Nothing),
            (json!({"action": "accept", "content": {"answer": "Allow this call"}}), Heard::Nothing),
            (json!({"action": "accept", "content": {"answer": true}}), Heard::Nothing),
            (json!({"action": "accept", "content": ["deny"]}), Heard::Nothing),
            (json!({"action": "allow this call"}), Heard::Nothing),
            (json!("allow this call"), Heard::Nothing),
        ] {
            assert_eq!(heard(&reply), expected, "{reply}");
        }
        let chosen = |answer: &str, reason: &str| {
            let content = json!({"answer": answer, "reason": reason});
            match heard(&json!({"action": "accept", "content": content})) {
                Heard::Answer(answer) => answer,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(chosen("allow this call", "since"), Answer::Allow(PermissionScope::Once));
        assert_eq!(chosen("deny", " "), Answer::Deny(PermissionScope::Once));
        let long = chosen("deny", &"é".repeat(REASON_BYTES_MAX));
        let Answer::DenyBecause(PermissionScope::Once, reason) = long else {
            panic!("{long:?}");
        };
        assert!(reason.len() <= REASON_BYTES_MAX, "{}", reason.len());
    }
}
