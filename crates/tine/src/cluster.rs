//! The cluster of the settings, and the way to it.

use tine_guard::{PermissionMode, Rules};
use tine_nats::{Cluster, Settings};
use tine_runtime::{Elsewhere, Permissions, RunOptions, RuntimeError};

use crate::cli::On;
use crate::config::{ClusterTable, Config};
use crate::context::Context;
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
    Ok(Some(Elsewhere { cluster, label: on.label.clone() }))
}

/// Looks after runs on other machines that no process here waits for: what has come back of those that have ended is written down now.
pub(crate) async fn attend(context: &Context) -> Result<(), Failure> {
    if !context.runtime.has_open_remotes().await? || settings(&context.config)?.is_none() {
        return Ok(());
    }
    let attended = async {
        let cluster = connect(&context.config, "tine").await?;
        let elsewhere = Elsewhere { cluster, label: None };
        let options = RunOptions::new(Permissions::new(PermissionMode::Default, Rules::default()));
        Ok::<_, Failure>(context.runtime.attend_remotes(&elsewhere, &options, false).await?)
    };
    if let Err(failure) = attended.await {
        output::say(&format!(
            "note: what runs on other machines cannot be seen now: {}",
            failure.message()
        ));
    }
    Ok(())
}
