//! A connection to the servers, and the streams on them.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::kv::Store;
use async_nats::jetstream::stream::{Config, DiscardPolicy, RetentionPolicy, StorageType, Stream};
use async_nats::jetstream::{Context, ContextBuilder};
use async_nats::{Client, ConnectErrorKind, ConnectOptions, Event, ServerAddr};
use tokio::sync::watch;

use crate::error::ClusterError;

/// Most time that the server may take for one answer. The leader of a stream that dies is replaced within five to eight seconds.
const ANSWER_MAX: Duration = Duration::from_secs(5);

/// Most time for the connection itself.
const CONNECT_MAX: Duration = Duration::from_secs(5);

/// Time for which jobs, events, orders and blobs stay on the server.
pub const KEPT: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Most bytes of each of the streams of events and of blobs. What is oldest goes first.
const STREAM_BYTES_MAX: i64 = 4 << 30;

/// The least that is asked for where a server has not so much.
const STREAM_BYTES_MIN: i64 = 64 << 20;

/// Most jobs that wait.
const JOBS_MAX: i64 = 100_000;

/// Replicas that are asked for where the servers are a cluster of at least so many.
const REPLICAS: usize = 3;

/// The code of JetStream's error where a single server is asked for replicas.
const NOT_CLUSTERED: u64 = 10_074;

/// The code where a cluster has too few servers.
const TOO_FEW_PEERS: u64 = 10_005;

/// The code where a server has not as much on its disk, or an account may not have it.
const NO_STORAGE: u64 = 10_047;

/// The way to the servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Addresses, separated by commas: `nats://host:4222`, or `tls://`. One may hold a user and a password, or a token, for all of
    /// them: `nats://user:password@host`, `nats://token@host`.
    pub url: String,
    /// Credentials file (`.creds`), as NATS' own tools write it.
    pub credentials: Option<PathBuf>,
    /// File with the seed of an NKey.
    pub nkey: Option<PathBuf>,
    /// Certificates (PEM) of the authority that has signed the servers'; without it those of the system.
    pub ca: Option<PathBuf>,
    /// Time after which a job whose worker is not heard of is given to another. In a cluster of servers it should be at least 15 s: so
    /// long a lease may go unrenewed while a leader is elected.
    pub lease: Duration,
}

impl Settings {
    /// The default of [`Self::lease`].
    pub const LEASE: Duration = Duration::from_secs(20);

    /// Servers at this address, without credentials of their own.
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into(), credentials: None, nkey: None, ca: None, lease: Self::LEASE }
    }

    /// The addresses one by one.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = &str> {
        self.url.split(',').map(str::trim).filter(|address| !address.is_empty())
    }

    /// The addresses without what is secret in them.
    pub fn shown(&self) -> String {
        let addresses = self.addresses().map(|address| match address.rsplit_once('@') {
            Some((before, host)) => {
                let scheme = before.split_once("://").map(|(scheme, _)| format!("{scheme}://"));
                format!("{}{host}", scheme.unwrap_or_default())
            }
            None => address.to_owned(),
        });
        addresses.collect::<Vec<_>>().join(",")
    }

    /// Returns true where all addresses are those of this machine to itself.
    pub fn is_loopback(&self) -> bool {
        self.addresses().all(|address| {
            let address: Result<ServerAddr, _> = address.parse();
            address.is_ok_and(|address| match address.host().parse::<IpAddr>() {
                Ok(ip) => ip.is_loopback(),
                Err(_) => address.host() == "localhost",
            })
        })
    }

    /// `connections` counts how often the servers were reached.
    async fn options(
        &self,
        name: &str,
        connections: watch::Sender<u64>,
    ) -> Result<ConnectOptions, ClusterError> {
        let unreadable = |path: &PathBuf| {
            let path = path.clone();
            move |source| ClusterError::Credentials { path, source }
        };
        let mut options = ConnectOptions::new()
            .name(name)
            .connection_timeout(CONNECT_MAX)
            .request_timeout(Some(ANSWER_MAX))
            .event_callback(move |event| {
                tracing::debug!(%event, "the cluster's server");
                if matches!(event, Event::Connected) {
                    connections.send_modify(|count| *count += 1);
                }
                std::future::ready(())
            });
        if let Some(path) = &self.credentials {
            options = options.credentials_file(path).await.map_err(unreadable(path))?;
        }
        if let Some(path) = &self.nkey {
            let seed = tokio::fs::read_to_string(path).await.map_err(unreadable(path))?;
            options = options.nkey(seed.trim().to_owned());
        }
        if let Some(path) = &self.ca {
            tokio::fs::metadata(path).await.map_err(unreadable(path))?;
            options = options.add_root_certificates(path.clone()).require_tls(true);
        }
        Ok(options)
    }
}

/// The servers. Clones are the same connection.
#[derive(Clone)]
pub struct Cluster(Arc<Inner>);

struct Inner {
    settings: Settings,
    /// The lease that the servers keep: that of whoever set them up.
    lease: Duration,
    client: Client,
    /// Counts the times that the servers were reached.
    connections: watch::Receiver<u64>,
    context: Context,
    jobs: Stream,
    forks: Stream,
    blobs: Stream,
    flights: Store,
    workers: Store,
}

/// Names of streams and buckets.
const JOBS: &str = "TINE_JOBS";
const FORKS: &str = "TINE_FORKS";
const BLOBS: &str = "TINE_BLOBS";
const FLIGHTS: &str = "tine_flights";
const WORKERS: &str = "tine_workers";

impl Cluster {
    /// Connects, and makes the streams that are not there. `name` is how the servers' own tools list the connection.
    pub async fn connect(settings: Settings, name: &str) -> Result<Self, ClusterError> {
        let addresses: Result<Vec<ServerAddr>, _> =
            settings.addresses().map(str::parse::<ServerAddr>).collect();
        let addresses =
            addresses.map_err(|source| ClusterError::Url { url: settings.shown(), source })?;
        let (counted, connections) = watch::channel(0);
        let options = settings.options(name, counted).await?;
        // The client passes over what stands in an address.
        let options = match addresses.iter().find_map(user_in) {
            Some((user, Some(password))) => options.user_and_password(user, password),
            Some((token, None)) => options.token(token),
            None => options,
        };
        let client = options.connect(addresses).await.map_err(|source| {
            let url = settings.shown();
            match source.kind() {
                ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation => {
                    ClusterError::Refused { url, source }
                }
                _ => ClusterError::Unreachable { url, source },
            }
        })?;
        let context =
            ContextBuilder::new().timeout(ANSWER_MAX).ack_timeout(ANSWER_MAX).build(client.clone());
        let made = Made { context: &context };
        let jobs = made
            .stream(Config {
                name: JOBS.to_owned(),
                subjects: vec!["agent.job.>".to_owned()],
                retention: RetentionPolicy::WorkQueue,
                discard: DiscardPolicy::New,
                max_messages: JOBS_MAX,
                // Whoever cannot know whether a job was taken in puts it there again.
                duplicate_window: KEPT,
                ..kept(KEPT)
            })
            .await?;
        let forks = made
            .stream(Config {
                name: FORKS.to_owned(),
                subjects: vec!["agent.fork.*.events".to_owned(), "agent.fork.*.orders".to_owned()],
                max_bytes: STREAM_BYTES_MAX,
                ..kept(KEPT)
            })
            .await?;
        let blobs = made
            .stream(Config {
                name: BLOBS.to_owned(),
                subjects: vec!["agent.blob.>".to_owned()],
                max_messages_per_subject: 1,
                max_bytes: STREAM_BYTES_MAX,
                ..kept(KEPT)
            })
            .await?;
        let flights = made.bucket(FLIGHTS, settings.lease).await?;
        let workers = made.bucket(WORKERS, settings.lease).await?;
        let kept = workers.status().await;
        let kept = kept.map_err(|error| ClusterError::server("tell of its leases", error))?;
        let lease = kept.max_age();
        let inner = Inner {
            settings,
            lease,
            client,
            connections,
            context,
            jobs,
            forks,
            blobs,
            flights,
            workers,
        };
        Ok(Self(Arc::new(inner)))
    }

    /// Returns the way to the servers.
    pub fn settings(&self) -> &Settings {
        &self.0.settings
    }

    /// The lease that counts: that of whoever set the servers up, which may be another than in the settings.
    pub fn lease(&self) -> Duration {
        self.0.lease
    }

    /// The version of the server that answers.
    pub fn server_version(&self) -> String {
        self.client().server_info().version
    }

    /// Most bytes of one message.
    pub(crate) fn payload_max(&self) -> usize {
        /// Room for a message's headers, which count.
        const HEADERS: usize = 4 * 1024;
        self.client().server_info().max_payload.saturating_sub(HEADERS).max(HEADERS)
    }

    pub(crate) fn client(&self) -> &Client {
        &self.0.client
    }

    /// Changes each time that the servers are reached again.
    pub(crate) fn connections(&self) -> watch::Receiver<u64> {
        let mut connections = self.0.connections.clone();
        connections.mark_unchanged();
        connections
    }

    pub(crate) fn context(&self) -> &Context {
        &self.0.context
    }

    pub(crate) fn jobs(&self) -> &Stream {
        &self.0.jobs
    }

    pub(crate) fn forks(&self) -> &Stream {
        &self.0.forks
    }

    pub(crate) fn blobs(&self) -> &Stream {
        &self.0.blobs
    }

    pub(crate) fn flights(&self) -> &Store {
        &self.0.flights
    }

    pub(crate) fn workers(&self) -> &Store {
        &self.0.workers
    }
}

/// The user and the password in an address; a user without a password is a token.
fn user_in(address: &ServerAddr) -> Option<(String, Option<String>)> {
    Some((decoded(address.username()?), address.password().map(decoded)))
}

/// A part of an address without its `%` escapes.
fn decoded(part: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), part.as_bytes());
    while let [first, behind @ ..] = rest {
        let escaped = match (first, behind) {
            (b'%', [high, low, ..]) => {
                let digit = |byte: &u8| char::from(*byte).to_digit(16);
                digit(high).zip(digit(low)).map(|(high, low)| (high * 16 + low) as u8)
            }
            _ => None,
        };
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &behind[2..] } else { behind };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A stream on disk that drops what is older.
fn kept(max_age: Duration) -> Config {
    Config { max_age, storage: StorageType::File, allow_direct: true, ..Config::default() }
}

/// Streams that are made where they are not there.
struct Made<'a> {
    context: &'a Context,
}

impl Made<'_> {
    /// The stream as it is, or as it is made: on several servers where there are as many.
    async fn stream(&self, config: Config) -> Result<Stream, ClusterError> {
        let name = config.name.clone();
        if let Ok(found) = self.context.get_stream(&name).await {
            return Ok(found);
        }
        let mut config = Config { num_replicas: REPLICAS, ..config };
        loop {
            match self.context.create_stream(config.clone()).await {
                Ok(made) => return Ok(made),
                Err(error)
                    if config.num_replicas > 1 && is(&error, &[NOT_CLUSTERED, TOO_FEW_PEERS]) =>
                {
                    config.num_replicas = 1;
                }
                // The server sets the whole of it aside at once.
                Err(error) if config.max_bytes > STREAM_BYTES_MIN && is(&error, &[NO_STORAGE]) => {
                    config.max_bytes /= 4;
                }
                Err(error) => return Err(ClusterError::stream(name, error)),
            }
        }
    }

    /// A bucket whose keys go after `ttl`: made as a stream, because servers before 2.10 say less of themselves than the client wants to
    /// hear before it makes one.
    async fn bucket(&self, name: &str, ttl: Duration) -> Result<Store, ClusterError> {
        self.stream(Config {
            name: format!("KV_{name}"),
            subjects: vec![format!("$KV.{name}.>")],
            max_messages_per_subject: 1,
            discard: DiscardPolicy::New,
            allow_rollup: true,
            deny_delete: true,
            ..kept(ttl)
        })
        .await?;
        let found = self.context.get_key_value(name).await;
        found.map_err(|source| ClusterError::server(format!("open the bucket `{name}`"), source))
    }
}

/// Returns true where a stream was refused with one of these codes.
fn is(error: &async_nats::jetstream::context::CreateStreamError, codes: &[u64]) -> bool {
    use async_nats::jetstream::context::CreateStreamErrorKind::JetStream;
    matches!(error.kind(), JetStream(error) if codes.contains(&error.error_code().0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_of_an_address_holds_no_password() {
        let shown = |url: &str| Settings::new(url).shown();
        assert_eq!(shown("nats://ann:secret@a:4222, tls://token@b"), "nats://a:4222,tls://b");
        assert_eq!(shown("ann:secret@a:4222"), "a:4222");
        assert_eq!(shown("nats://a:4222"), "nats://a:4222");
    }

    #[test]
    fn an_address_may_be_this_machine_s_own() {
        let is_own = |url: &str| Settings::new(url).is_loopback();
        assert!(is_own("nats://127.0.0.1:4222, ann:word@localhost:4223,nats://[::1]:4222"));
        assert!(!is_own("nats://127.0.0.1:4222,tls://build1") && !is_own("10.0.0.5"));
    }

    #[test]
    fn an_address_may_hold_a_user_or_a_token() {
        let check = |url: &str, expected: Option<(&str, Option<&str>)>| {
            let found = user_in(&url.parse().unwrap());
            let found = found.as_ref().map(|(user, word)| (user.as_str(), word.as_deref()));
            assert_eq!(found, expected, "{url}");
        };
        check("nats://a:4222", None);
        check("nats://ann:s%40cret%2f%@a:4222", Some(("ann", Some("s@cret/%"))));
        check("tls://t0ken@b", Some(("t0ken", None)));
    }
}
