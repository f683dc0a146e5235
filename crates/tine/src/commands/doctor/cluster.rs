//! Checks of the cluster: the way to its servers, what they are set to, and who works there.

use std::time::Duration;

use tine_nats::{ANY, Examination, Present, Settings};
use tine_runtime::{RemoteWorker, RuntimeError};

use super::{Check, Status};
use crate::cluster::{connect, settings};
use crate::config::Config;
use crate::fail::Failure;
use tine_tui::figures::{bytes, plural, span};

/// The servers that a cluster needs so that one may die.
const SERVERS_MIN: usize = 3;

/// The least lease where the servers are a cluster: so long it may take until another one leads.
const CLUSTER_LEASE_MIN: Duration = Duration::from_secs(15);

/// Most bytes that both streams, of events and of blobs, take.
const STREAMS_BYTES_MAX: u64 = 8 << 30;

/// Clocks that are further apart let caches seem alive that are not.
const CLOCKS_APART_MAX: Duration = Duration::from_secs(10);

/// All checks. One that nothing else can be seen without ends them.
pub(super) async fn checks(config: &Config) -> Result<Vec<Check>, Failure> {
    let cluster = match connect(config, "tine cluster doctor").await {
        Ok(cluster) => cluster,
        // A mistake in the settings is no illness of the cluster.
        Err(failure) if settings(config)?.is_none() => return Err(failure),
        Err(failure) => return Ok(vec![Check::failure("servers", &failure)]),
    };
    let set = cluster.settings();
    Ok(match cluster.examine(RemoteWorker::KIND).await {
        Err(error) => {
            vec![Check::failure("servers", &Failure::from(RuntimeError::from(error)))]
        }
        Ok(found) => [
            vec![servers(&found, set), access(&found, set), copies(&found), lease(&found, set)],
            space(&found),
            vec![blobs(&found), clocks(&found), workers(&found), queue(&found)],
        ]
        .concat(),
    })
}

fn servers(found: &Examination, set: &Settings) -> Check {
    let (version, shown) = (&found.status.server, set.shown());
    let within = span(millis(found.answered_in));
    Check::ok("servers", format!("nats-server {version} at {shown} answers in {within}"))
}

/// Whoever can write to the servers can have a worker run tools.
fn access(found: &Examination, set: &Settings) -> Check {
    let missing: Vec<&str> = [(found.has_login, "credentials"), (found.is_encrypted, "encryption")]
        .into_iter()
        .filter_map(|(is_there, what)| (!is_there).then_some(what))
        .collect();
    let name = "access";
    if missing.is_empty() {
        return Check::ok(name, "with credentials, and encrypted");
    }
    let without = format!("without {}", missing.join(" and "));
    if set.is_loopback() {
        return Check::ok(name, format!("{without}, on this machine only"));
    }
    let why = format!("{without}: whoever can write to the servers can have a worker run tools");
    Check::warning(name, why).hint("docs/cluster.md has credentials and TLS")
}

fn copies(found: &Examination) -> Check {
    let replicas = found.status.replicas;
    let name = "copies";
    match &found.name {
        None => Check::ok(name, "a single server: what it holds goes with its disk"),
        Some(cluster) if replicas >= SERVERS_MIN => {
            Check::ok(name, format!("{replicas} of each stream in the cluster `{cluster}`"))
        }
        Some(cluster) => Check::warning(
            name,
            format!("{replicas} of each stream, although the servers are the cluster `{cluster}`"),
        )
        .hint("the streams were made before there were three servers: `nats stream edit TINE_JOBS --replicas 3`, and so TINE_FORKS, TINE_BLOBS, KV_tine_flights, KV_tine_workers"),
    }
}

fn lease(found: &Examination, set: &Settings) -> Check {
    let shown = |lease: Duration| span(millis(lease));
    let (name, own) = ("lease", set.lease);
    if found.lease != own {
        let there = shown(found.lease);
        return Check::warning(name, format!("{} here, and {there} on the servers", shown(own)))
            .hint("the servers' counts, which is that of whoever set them up; set cluster.lease to the same");
    }
    if found.status.replicas > 1 && own < CLUSTER_LEASE_MIN {
        return Check::warning(
            name,
            format!("{}, which is short for a cluster of servers", shown(own)),
        )
        .hint(
            "cluster.lease = \"15s\" or more: until another server leads, nobody hears a worker",
        );
    }
    Check::ok(name, format!("{}: a silent worker's runs go to others after it", shown(own)))
}

fn space(found: &Examination) -> Vec<Check> {
    let (events, blobs) = (found.status.event_bytes, found.status.blob_bytes);
    let used = format!("{} of events, {} of prefixes and files", bytes(events), bytes(blobs));
    let mut checks = vec![Check::ok("space", used)];
    if let Some(most) = found.storage_bytes_max.filter(|most| *most < STREAMS_BYTES_MAX) {
        let text = format!("the servers give this account {} on disk", bytes(most));
        let hint = format!(
            "forks use up to {} before the oldest goes; a full disk refuses new jobs",
            bytes(STREAMS_BYTES_MAX)
        );
        checks.push(Check::warning("space", text).hint(hint));
    }
    checks
}

fn blobs(found: &Examination) -> Check {
    let (time, most) = (span(millis(found.blob_in)), bytes(found.payload_bytes_max as u64));
    Check::ok("blobs", format!("64 KiB went there and back in {time}; messages of {most} at most"))
}

fn clocks(found: &Examination) -> Check {
    let apart = found.clocks_apart;
    if apart <= CLOCKS_APART_MAX {
        return Check::ok("clocks", "the servers' and this machine's agree");
    }
    Check::warning("clocks", format!("the servers' is {} apart", span(millis(apart))))
        .hint("set both by NTP: what a cache still holds is reckoned by the clock")
}

fn workers(found: &Examination) -> Check {
    let workers = &found.status.workers;
    let own = env!("CARGO_PKG_VERSION");
    let others: Vec<String> = workers
        .iter()
        .filter(|worker| worker.version != own)
        .map(|worker| format!("{} ({})", worker.worker, worker.version))
        .collect();
    let name = "workers";
    if workers.is_empty() {
        return Check::warning(name, "none is there: jobs wait")
            .hint("`tine worker` on any machine that reaches the servers");
    }
    if !others.is_empty() {
        return Check::warning(
            name,
            format!("of another version than {own}: {}", others.join(", ")),
        )
        .hint("a worker may refuse the rows of another version: install the same everywhere");
    }
    let places: usize = workers.iter().map(|worker| worker.jobs).sum();
    let running: usize = workers.iter().map(|worker| worker.running.len()).sum();
    let count = plural(workers.len() as u64, "worker");
    let places = plural(places as u64, "run");
    Check::ok(name, format!("{count} for {places} at the same time, {running} under way"))
}

/// Jobs that wait for a worker that is not there.
fn queue(found: &Examination) -> Check {
    let serves = |worker: &Present, label: &str| {
        label == ANY || worker.labels.iter().any(|own| own == label)
    };
    let waiting = found
        .waiting
        .iter()
        .filter(|(label, _)| !found.status.workers.iter().any(|worker| serves(worker, label)));
    let unserved: Vec<String> = waiting
        .map(|(label, count)| match label == ANY {
            true => plural(*count, "job"),
            false => format!("{} with the label {label}", plural(*count, "job")),
        })
        .collect();
    if unserved.is_empty() {
        let held: u64 = found.waiting.values().sum();
        return Check::ok("queue", format!("{} in the queue or held", plural(held, "job")));
    }
    Check::new("queue", Status::Failure, format!("no worker is there for {}", unserved.join(", ")))
        .hint("`tine worker`, with `--labels` for those with a label; `tine stop AGENT` ends a run that waits")
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
