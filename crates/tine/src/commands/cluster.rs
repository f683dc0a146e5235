//! `tine worker` and `tine cluster`.

use std::io::Write as _;
use std::sync::Arc;

use serde::Serialize;
use tine_fork::host::{Ids as _, SystemIds};
use tine_nats::{BlobCache, Present};
use tine_runtime::{RemoteWorker, RuntimeError, WorkerNews};
use tine_tui::figures::{plural, span};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use crate::cli::{ClusterCommand, JsonArgs, LimitArgs, WorkerCommandArgs};
use crate::cluster::{connect, follow, machine};
use crate::commands::doctor;
use crate::confine::of_cluster;
use crate::context::Context;
use crate::fail::Failure;
use crate::limits::rules;
use crate::output;
use crate::render::table::{Align, Table};
use crate::watch::interrupted;
use tine_tui::words::one_line;

/// Most bytes of blobs that a worker keeps on its disk.
const BLOBS_BYTES_MAX: u64 = 2 << 30;

/// News of a worker in JSON, a line each.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum NewsShape<'a> {
    Ready { worker: &'a str, labels: &'a [String], jobs: u16, server: &'a str },
    Began { agent: String, attempt: u32 },
    Ended { agent: String, outcome: &'a str },
    Lost { agent: String, why: &'a str },
    Away { why: &'a str },
}

/// The cluster in JSON. Others rely on it: fields are only ever added.
#[derive(Serialize)]
struct StatusShape<'a> {
    url: &'a str,
    server: &'a str,
    replicas: usize,
    jobs: u64,
    event_bytes: u64,
    blob_bytes: u64,
    workers: &'a [Present],
}

pub(crate) async fn worker(context: &Context, args: WorkerCommandArgs) -> Result<u8, Failure> {
    let [a, b, ..] = SystemIds.random();
    let name = args.name.unwrap_or_else(machine);
    let name = format!("{name}-{a:02x}{b:02x}");
    let cluster = connect(&context.config, &format!("tine worker {name}")).await?;
    let Some(worktrees) = context.runtime.worktrees_made() else {
        return Err(Failure::input("worktrees are turned off")
            .hint("a worker makes one for each run: take `worktree.enabled = false` out of your config.toml"));
    };
    let directory = context.worker.clone();
    let jobs = args.jobs;
    let worker = RemoteWorker {
        name: name.clone(),
        labels: args.labels.clone(),
        jobs: jobs.into(),
        blobs: BlobCache::new(directory.join("blobs"), BLOBS_BYTES_MAX),
        directory: directory.join("runs"),
        ports: context.runtime.ports().clone(),
        worktrees,
        rules: rules(&context.config, &LimitArgs::default())?,
        confinement: of_cluster(context)?,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        fetching: Mutex::default(),
        cluster,
    };
    let server = worker.cluster.server_version();
    let (lease, set) = (worker.cluster.lease(), worker.cluster.settings().lease);
    if lease != set {
        let [lease, set] = [lease, set].map(|lease| span(lease.as_millis() as u64));
        output::say(&format!(
            "note: the servers' lease is {lease}, which counts, and cluster.lease is {set}"
        ));
    }
    let json = args.json.json;
    let ready = NewsShape::Ready { worker: &name, labels: &args.labels, jobs, server: &server };
    if json {
        output::json(&ready)?;
    } else {
        let labels = match args.labels.as_slice() {
            [] => String::new(),
            labels => format!(", labels {}", labels.join(", ")),
        };
        let at = worker.cluster.settings().shown();
        output::say(&format!(
            "worker {name}: {} at a time{labels}; nats-server {server} at {at}. Ctrl+C lets it finish and leave.",
            plural(u64::from(jobs), "run"),
        ));
    }
    let (drain, cancel) = (CancellationToken::new(), CancellationToken::new());
    let tell = Arc::new(move |news: WorkerNews| tell(&news, json));
    let work = Arc::new(worker).work(tell, (drain.clone(), cancel.clone()));
    tokio::pin!(work);
    tokio::select! {
        done = &mut work => return Ok(done.map(|()| 0)?),
        () = interrupted()? => drain.cancel(),
    }
    output::say(
        "finishing; Ctrl+C again leaves at once, and other workers take over what is not done",
    );
    tokio::select! {
        done = &mut work => done?,
        () = interrupted()? => {
            cancel.cancel();
            work.await?;
        }
    }
    Ok(0)
}

fn tell(news: &WorkerNews, json: bool) {
    let shape = match news {
        WorkerNews::Began { agent, attempt } => {
            NewsShape::Began { agent: agent.to_string(), attempt: *attempt }
        }
        WorkerNews::Ended { agent, outcome } => {
            NewsShape::Ended { agent: agent.to_string(), outcome }
        }
        WorkerNews::Lost { agent, why } => NewsShape::Lost { agent: agent.to_string(), why },
        WorkerNews::Away(why) => NewsShape::Away { why },
    };
    if json {
        // A reader that is gone is no reason to end runs.
        let _ = output::json(&shape);
        let _ = std::io::stdout().flush();
        return;
    }
    let line = match news {
        WorkerNews::Began { agent, attempt: 1 } => format!("{} begins", agent.short()),
        WorkerNews::Began { agent, attempt } => {
            format!("{} goes on: worker number {attempt} of this run", agent.short())
        }
        WorkerNews::Ended { agent, outcome } => format!("{} has ended: {outcome}", agent.short()),
        WorkerNews::Lost { agent, why } => {
            format!("{} is another worker's now: {}", agent.short(), one_line(why))
        }
        WorkerNews::Away(why) => format!("the servers hand no jobs over: {}", one_line(why)),
    };
    output::say(&line);
}

pub(crate) async fn cluster(context: &Context, command: ClusterCommand) -> Result<u8, Failure> {
    match command {
        ClusterCommand::Status(args) => status(context, &args).await,
        ClusterCommand::Doctor(args) => doctor::cluster(&context.config, args).await,
        ClusterCommand::Attend => follow(context).await,
    }
}

async fn status(context: &Context, args: &JsonArgs) -> Result<u8, Failure> {
    let cluster = connect(&context.config, "tine cluster status").await?;
    let status = cluster.status().await.map_err(RuntimeError::from)?;
    let url = cluster.settings().shown();
    if args.json {
        output::json(&StatusShape {
            url: &url,
            server: &status.server,
            replicas: status.replicas,
            jobs: status.jobs,
            event_bytes: status.event_bytes,
            blob_bytes: status.blob_bytes,
            workers: &status.workers,
        })?;
        return Ok(0);
    }
    let replicas = plural(status.replicas as u64, "replica");
    output::line(&format!("nats-server {} at {url}, {replicas} of each stream", status.server))?;
    output::line(&format!(
        "{} in the queue or held; {} of events, {} of prefixes and files",
        plural(status.jobs, "job"),
        megabytes(status.event_bytes),
        megabytes(status.blob_bytes),
    ))?;
    if status.workers.is_empty() {
        output::line("no worker is there; `tine worker` starts one")?;
        return Ok(0);
    }
    let mut table = Table::new(&[
        ("WORKER", Align::Left),
        ("RUNS", Align::Right),
        ("AT MOST", Align::Right),
        ("LABELS", Align::Left),
        ("VERSION", Align::Left),
    ]);
    for worker in &status.workers {
        table.row([
            worker.worker.clone().into(),
            worker.running.len().to_string().into(),
            worker.jobs.to_string().into(),
            worker.labels.join(", ").into(),
            worker.version.clone().into(),
        ]);
    }
    output::write_out(&table.to_text())?;
    Ok(0)
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}
