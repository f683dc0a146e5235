//! The cluster of the settings, and the way to it.

use std::time::Duration;

use tine_guard::{PermissionMode, Rules};
use tine_model::AgentId;
use tine_nats::{Cluster, Settings};
use tine_runtime::{Elsewhere, Permissions, QueuePolicy, RunOptions, RuntimeError};
use tokio::time::Instant;

use crate::cli::On;
use crate::config::{ClusterTable, Config};
use crate::context::Context;
use crate::detached;
use crate::durations::duration;
use crate::environment::variable;
use crate::fail::Failure;
use crate::output;

/// The variable that stands in place of `cluster.url`.
pub(crate) const URL: &str = "TINE_CLUSTER_URL";

/// The way to the servers that the user's settings name; `None` where they name none.
pub(crate) fn settings(config: &Config) -> Result<Option<Settings>, Failure> {
    let ClusterTable { url, credentials, nkey, ca, lease } = config.cluster.clone();
    let from_environment = variable(URL).filter(|url| !url.is_empty());
    let Some(url) = from_environment.or(url) else { return Ok(None) };
    let lease = match lease {
        None => Settings::LEASE,
        Some(text) => duration(&text).ok_or_else(|| {
            Failure::input(format!("cluster.lease is `{text}`"))
                .hint("write it as 20s or 1m; 15s at least where the servers are a cluster")
        })?,
    };
    let path = |text: Option<String>| text.map(Into::into);
    Ok(Some(Settings {
        credentials: path(credentials),
        nkey: path(nkey),
        ca: path(ca),
        lease,
        ..Settings::new(url)
    }))
}

/// Connects to the servers; it is an error where the settings name none.
pub(crate) async fn connect(config: &Config, name: &str) -> Result<Cluster, Failure> {
    let Some(settings) = settings(config)? else {
        return Err(Failure::input("no cluster is set").hint(format!(
            "{URL}=nats://HOST:4222, or `url` in the table [cluster] of your config.toml; docs/cluster.md starts a server"
        )));
    };
    let connected = Cluster::connect(settings, name).await;
    connected.map_err(|error| RuntimeError::from(error).into())
}

/// The place of a run that a command gives away; `None` where it runs here.
pub(crate) async fn elsewhere(
    context: &Context,
    on: Option<&On>,
) -> Result<Option<Elsewhere>, Failure> {
    let Some(on) = on else { return Ok(None) };
    let cluster = connect(&context.config, "tine").await?;
    let has_label = |labels: &[String]| match &on.label {
        Some(label) => labels.contains(label),
        None => true,
    };
    let workers = cluster.present().await.map_err(RuntimeError::from)?;
    if !workers.iter().any(|worker| has_label(&worker.labels)) {
        let which =
            on.label.as_ref().map_or_else(String::new, |label| format!(" with the label {label}"));
        output::say(&format!(
            "note: no worker{which} is there; the job waits for one (`tine worker`)"
        ));
    }
    Ok(Some(Elsewhere::new(cluster, on.label.clone(), machine())))
}

/// The machine's name, as far as it can be part of a worker's.
pub(crate) fn machine() -> String {
    let name = rustix::system::uname().nodename().to_string_lossy().to_ascii_lowercase();
    let plain: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(30).collect();
    let plain = plain.trim_matches('-');
    if plain.is_empty() { "worker".to_owned() } else { plain.to_owned() }
}

/// The longest wait for a process that follows runs on other machines.
const ATTENDED_MAX: Duration = Duration::from_secs(4);

/// The time in which such a process is started once at most: one that cannot reach the servers ends, and the next one would, too.
const ATTENDED_ONCE: Duration = Duration::from_secs(30);

/// The pause between two looks whether it does.
const ATTENDED_LOOK: Duration = Duration::from_millis(50);

/// Has a process in the background follow the runs on other machines that no process here follows, and waits until it does: from then on
/// they are seen, stopped and answered as any run of another process.
pub(crate) async fn attend(context: &Context) -> Result<(), Failure> {
    if context.runtime.unattended_remotes().await?.is_empty()
        || settings(&context.config)?.is_none()
        || context.detached.is_some()
    {
        return Ok(());
    }
    if !context.is_due_to_attend(ATTENDED_ONCE) {
        return Ok(());
    }
    let failed =
        |error| Failure::failed("cannot start a process in the background").because(&error);
    detached::begin(context, &["cluster", "attend"]).map_err(failed)?;
    let until = Instant::now() + ATTENDED_MAX;
    while !context.runtime.unattended_remotes().await?.is_empty() {
        if Instant::now() >= until {
            output::say(
                "note: what runs on other machines cannot be seen now: the servers do not answer",
            );
            break;
        }
        tokio::time::sleep(ATTENDED_LOOK).await;
    }
    Ok(())
}

/// Tells the workers of agents that were killed here; says so where they cannot be told.
pub(crate) async fn let_go(context: &Context, dead: &[AgentId]) -> Result<(), Failure> {
    let away = context.runtime.with_remotes(dead).await?;
    if away.is_empty() {
        return Ok(());
    }
    let told = async {
        let cluster = connect(&context.config, "tine").await?;
        let elsewhere = Elsewhere::new(cluster, None, machine());
        Ok::<_, Failure>(context.runtime.let_go_of(&elsewhere, &away).await?)
    };
    if told.await.is_err() {
        let names: Vec<String> = away.iter().map(AgentId::short).collect();
        output::say(&format!(
            "note: what {} does on other machines goes on for now: the servers do not answer; `tine ps` tells them later",
            names.join(" and ")
        ));
    }
    Ok(())
}

/// `tine cluster attend`: what [`attend`] starts. Questions wait for their answer from other processes.
pub(crate) async fn follow(context: &Context) -> Result<u8, Failure> {
    let cluster = connect(&context.config, "tine cluster attend").await?;
    let permissions = Permissions {
        queue: QueuePolicy { wait: true, ..QueuePolicy::default() },
        ..Permissions::new(PermissionMode::Default, Rules::default())
    };
    let elsewhere = Elsewhere::new(cluster, None, machine());
    context.runtime.attend_remotes(&elsewhere, &RunOptions::new(permissions)).await?;
    Ok(0)
}
