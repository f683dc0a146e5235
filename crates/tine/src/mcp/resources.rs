//! Agents and reports as resources, and notices of their changes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use rmcp::ErrorData;
use rmcp::model::{
    ListResourceTemplatesResult, ListResourcesResult, ReadResourceResult, Resource,
    ResourceContents, ResourceListChangedNotification, ResourceTemplate,
    ResourceUpdatedNotification, ResourceUpdatedNotificationParam, ServerNotification,
};
use rmcp::service::{Peer, RoleServer, SubscriptionContext, SubscriptionSink};
use tine_model::{AgentRecord, TaskRecord};
use tine_runtime::{AgentFilter, ChangeWatch, RuntimeError};
use tine_tui::words::one_line;
use tokio_util::sync::CancellationToken;

use super::work::Desk;
use crate::context::Context;

const AGENT: &str = "tine://agent/";
const REPORT: &str = "tine://report/";
const TEXT: &str = "text/plain";

/// Resources in one page of the list.
const PAGE: usize = 100;

/// The shortest time between two looks for changes.
const NOTICE_EVERY: Duration = Duration::from_secs(1);

/// One page of the agents that are alive and the reports that came, the newest first.
pub(super) async fn list(
    context: &Context,
    cursor: Option<String>,
) -> Result<ListResourcesResult, ErrorData> {
    let from = match cursor {
        None => 0,
        Some(cursor) => cursor
            .parse::<usize>()
            .map_err(|_| ErrorData::invalid_params("there is no such page", None))?,
    };
    let (agents, tasks) = rows(context).await.map_err(lost)?;
    let agents = agents.iter().map(|agent| (agent.created_ms, of_agent(agent)));
    let reports = tasks.iter().filter_map(|task| Some((task.ended_ms?, of_report(task)?)));
    let mut all: Vec<(i64, Resource)> = agents.chain(reports).collect();
    all.sort_by_key(|(made_ms, _)| std::cmp::Reverse(*made_ms));
    let rest = all.len().saturating_sub(from);
    let page = all.into_iter().skip(from).take(PAGE).map(|(_, resource)| resource).collect();
    let mut listed = ListResourcesResult::with_all_items(page);
    listed.next_cursor = (rest > PAGE).then(|| (from + PAGE).to_string());
    Ok(listed)
}

/// The shapes of all addresses.
pub(super) fn templates() -> ListResourceTemplatesResult {
    let of = |address: &str, name: &str, about: &str| {
        ResourceTemplate::new(address, name).with_description(about).with_mime_type(TEXT)
    };
    ListResourceTemplatesResult::with_all_items(vec![
        of("tine://agent/{agent}", "agent", "An agent and its conversation, by its name or id"),
        of("tine://report/{task}", "report", "The report of a worker that has ended"),
    ])
}

/// The text of a resource.
///
/// # Errors
///
/// *Not found* where no agent has the name, or a worker has not reported; and what the store says.
pub(super) async fn read(desk: &Desk, uri: String) -> Result<ReadResourceResult, ErrorData> {
    let missing = |why: String| ErrorData::resource_not_found(why, None);
    let text = if let Some(agent) = uri.strip_prefix(AGENT) {
        let line = ["show", "--", agent].map(str::to_owned).to_vec();
        let begun = desk.processes.begin(line, false, CancellationToken::new());
        let ended = begun.map_err(lost)?.end.await.map_err(lost)?.map_err(lost)?;
        match ended.code {
            Some(0) => ended.printed,
            _ => return Err(missing(ended.errors.trim_end().to_owned())),
        }
    } else if let Some(task) = uri.strip_prefix(REPORT) {
        let runtime = &desk.context.runtime;
        let agent = runtime.resolve(task).await.map_err(|error| missing(error.to_string()))?;
        let record = runtime.task_record(agent).await.map_err(lost)?;
        let report = record.and_then(|record| record.report);
        report.ok_or_else(|| missing(format!("{} has not reported", agent.short())))?
    } else {
        return Err(missing(format!("no resource has the address {}", one_line(&uri))));
    };
    Ok(ReadResourceResult::new(vec![ResourceContents::text(text, uri)]))
}

async fn rows(context: &Context) -> Result<(Vec<AgentRecord>, Vec<TaskRecord>), RuntimeError> {
    let agents = context.runtime.agents(AgentFilter::Listed).await?;
    Ok((agents, context.runtime.task_records().await?))
}

fn of_agent(agent: &AgentRecord) -> Resource {
    let id = agent.id;
    let name = agent.name.clone().unwrap_or_else(|| id.short());
    let title = agent.title.as_deref().map(|title| format!(": {title}")).unwrap_or_default();
    let about = format!("{}{title}", agent.state.as_str());
    Resource::new(format!("{AGENT}{id}"), name).with_description(about).with_mime_type(TEXT)
}

/// `None` where there is none.
fn of_report(task: &TaskRecord) -> Option<Resource> {
    task.report.as_ref()?;
    let about = one_line(task.description.as_ref().unwrap_or(&task.directive));
    let name = format!("report of {}", task.agent.short());
    let report = Resource::new(format!("{REPORT}{}", task.agent), name);
    Some(report.with_description(about).with_mime_type(TEXT))
}

fn lost(error: impl std::fmt::Display) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}

/// The notices that a client of a protocol before 2026-07-28 has asked for.
#[derive(Default)]
pub(super) struct Notices(OnceLock<Arc<Mutex<BTreeSet<String>>>>);

impl Notices {
    /// The addresses that the client wants to hear of. The first look at resources begins the notices, those of the list as well.
    pub(super) fn wanted(
        &self,
        desk: &Desk,
        peer: &Peer<RoleServer>,
    ) -> MutexGuard<'_, BTreeSet<String>> {
        let begun = self.0.get_or_init(|| {
            let wanted = Arc::<Mutex<BTreeSet<String>>>::default();
            let (ear, context) =
                (Ear::Client(peer.clone(), Arc::clone(&wanted)), desk.context.clone());
            desk.processes.waits.spawn(async move { ear.keep_informed(&context).await });
            wanted
        });
        lock(begun)
    }
}

fn lock<T>(held: &Mutex<T>) -> MutexGuard<'_, T> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sends the notices of a subscription, as 2026-07-28 has them, until it is cancelled.
pub(super) async fn listen(context: &Context, subscription: SubscriptionContext) {
    let ear = Ear::Subscription(subscription.sink().clone());
    tokio::select! {
        () = ear.keep_informed(context) => {}
        () = subscription.cancelled() => {}
    }
}

/// A client that wants to hear of changes.
enum Ear {
    Client(Peer<RoleServer>, Arc<Mutex<BTreeSet<String>>>),
    Subscription(SubscriptionSink),
}

impl Ear {
    fn wants(&self, uri: &String) -> bool {
        match self {
            Self::Client(_, wanted) => lock(wanted).contains(uri),
            Self::Subscription(sink) => {
                sink.accepted().resource_subscriptions.iter().flatten().any(|one| one == uri)
            }
        }
    }

    fn wants_list(&self) -> bool {
        match self {
            Self::Client(..) => true,
            Self::Subscription(sink) => sink.accepted().resources_list_changed == Some(true),
        }
    }

    /// False where nobody hears it any more.
    async fn tell(&self, notice: ServerNotification) -> bool {
        match self {
            Self::Client(peer, _) => peer.send_notification(notice).await.is_ok(),
            Self::Subscription(sink) => sink.send(notice).await.is_ok(),
        }
    }

    /// Tells of changes until nobody hears it.
    async fn keep_informed(&self, context: &Context) {
        let Ok(mut changes) = ChangeWatch::begin(&context.runtime).await else { return };
        let mut before = stamps(context).await.unwrap_or_default();
        while changes.next(&context.runtime).await.is_ok() {
            // A store that cannot be read for a moment: the next look is another.
            let Ok(now) = stamps(context).await else { continue };
            let mut news = Vec::new();
            if self.wants_list() && now.keys().ne(before.keys()) {
                let notice = ResourceListChangedNotification::default();
                news.push(ServerNotification::ResourceListChangedNotification(notice));
            }
            let all: BTreeSet<&String> = now.keys().chain(before.keys()).collect();
            let changed = all.into_iter().filter(|uri| now.get(*uri) != before.get(*uri));
            news.extend(changed.filter(|uri| self.wants(uri)).map(|uri| {
                let notice = ResourceUpdatedNotificationParam::new(uri);
                let notice = ResourceUpdatedNotification::new(notice);
                ServerNotification::ResourceUpdatedNotification(notice)
            }));
            for notice in news {
                if !self.tell(notice).await {
                    return;
                }
            }
            before = now;
            tokio::time::sleep(NOTICE_EVERY).await;
        }
    }
}

/// All addresses, each with a number that changes with its text.
async fn stamps(context: &Context) -> Result<BTreeMap<String, i64>, RuntimeError> {
    let (agents, tasks) = rows(context).await?;
    let agents = agents.iter().map(|agent| (format!("{AGENT}{}", agent.id), agent.updated_ms));
    let reports = tasks
        .iter()
        .filter(|task| task.report.is_some())
        .filter_map(|task| Some((format!("{REPORT}{}", task.agent), task.ended_ms?)));
    Ok(agents.chain(reports).collect())
}
