//! One server: its settings, its process, and its ports.

use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use serde_json::Value;

use super::monitor;
use crate::until::find_within;

/// The environment variable that names the program.
pub const NATS_SERVER: &str = "TINE_TEST_NATS_SERVER";

/// Only a server that never comes up takes so long: it takes some 20 ms, and a cluster a few seconds.
pub(super) const START_MAX: Duration = Duration::from_secs(60);

/// A line of the log with this says that a port has gone to somebody else.
const PORT_TAKEN: &str = "address already in use";

/// As much of the log's end as a panic shows.
const LOG_LINES_SHOWN: usize = 60;

/// A nats-server with JetStream on loopback. It is killed when it is dropped.
#[derive(Debug)]
pub struct Node {
    settings: Settings,
    directory: PathBuf,
    ports: Ports,
    process: Option<Process>,
}

/// A server's settings but for its ports.
#[derive(Debug)]
pub(super) struct Settings {
    /// Unique in its cluster.
    pub(super) name: String,
    /// Further lines of the configuration file. They win over those above them.
    pub(super) config: String,
}

/// Two ports of a server.
#[derive(Debug, Clone, Copy)]
struct Ports {
    client: SocketAddr,
    monitor: SocketAddr,
}

/// Another process has one of the ports that the server was told to take.
#[derive(Debug)]
pub(super) struct PortTaken;

impl Node {
    /// Starts a server with its store, its settings and its log in `directory`, on a port that it chooses. Waits until it accepts
    /// connections and JetStream is up.
    ///
    /// `config` is text for the configuration file, such as `authorization { … }` or `tls { … }`. It may be empty, and it may set again
    /// what is set before it, such as `max_payload` (8 MB).
    ///
    /// # Panics
    ///
    /// With the end of the server's log where it does not come up within a minute, and where [`NATS_SERVER`] is not set.
    pub fn start(directory: &Path, config: &str) -> Self {
        let settings = Settings { name: "node".to_owned(), config: config.to_owned() };
        let started = Self::try_start(directory, settings);
        started.unwrap_or_else(|PortTaken| panic!("a port that the server chose is taken"))
    }

    /// Starts a server whose settings may name ports, for its routes.
    pub(super) fn try_start(directory: &Path, settings: Settings) -> Result<Self, PortTaken> {
        fs::create_dir_all(directory).unwrap();
        let mut process = spawn(directory, &settings, None);
        let ports = wait_up(directory, &mut process)?;
        Ok(Self { settings, directory: directory.to_owned(), ports, process: Some(process) })
    }

    /// `nats://127.0.0.1:PORT`. It stays the same when the server is started again.
    pub fn url(&self) -> String {
        format!("nats://{}", self.ports.client)
    }

    /// The address of [`Self::url`].
    pub fn address(&self) -> SocketAddr {
        self.ports.client
    }

    /// The server's process.
    ///
    /// # Panics
    ///
    /// Where the server was killed.
    pub fn process_id(&self) -> u32 {
        self.process.as_ref().expect("the server was killed").0.id()
    }

    /// The server's greeting: version, limits, and more. `None` where it does not answer within two seconds.
    pub fn info(&self) -> Option<Value> {
        monitor::info(self.ports.client).ok()
    }

    /// A page of the server's monitoring port, such as `/jsz?consumers=true` or `/connz`, with any status. `None` where it does not
    /// answer within two seconds.
    pub fn page(&self, path: &str) -> Option<Value> {
        monitor::page(self.ports.monitor, path).ok()
    }

    /// All that the server has logged, over all of its starts.
    pub fn log(&self) -> String {
        log(&self.directory)
    }

    /// Kills the server as a power cut would (`SIGKILL`). The kernel still writes what the server has handed to it. Does nothing to one
    /// that was killed.
    pub fn kill(&mut self) {
        self.process = None;
    }

    /// Kills the server if it runs, and starts it with the same ports and the same store. Waits until it accepts connections and
    /// JetStream is up, which in a cluster does not mean that there is a leader: see [`Nodes::wait_for_leader`](super::Nodes::wait_for_leader).
    ///
    /// # Panics
    ///
    /// As [`Self::start`]. A port that somebody else has taken in the meantime is waited for as long.
    pub fn restart(&mut self) {
        self.kill();
        let started = find_within(START_MAX, || {
            let mut process = spawn(&self.directory, &self.settings, Some(self.ports));
            let ports = wait_up(&self.directory, &mut process).ok()?;
            Some((process, ports))
        });
        let Some((process, ports)) = started else {
            panic!("the server's port stays taken: {}", self.shown_log());
        };
        (self.process, self.ports) = (Some(process), ports);
    }

    /// Stops the server's process (`SIGSTOP`): its connections stay, and nothing is answered. Returns once it stands still.
    ///
    /// # Panics
    ///
    /// Where the server does not run.
    pub fn pause(&mut self) {
        let id = self.signal(Signal::STOP);
        // The signal alone takes a moment until each thread has stopped.
        waitid(WaitId::Pid(id), WaitIdOptions::STOPPED).unwrap();
    }

    /// Lets a paused server go on (`SIGCONT`).
    ///
    /// # Panics
    ///
    /// Where the server does not run.
    pub fn resume(&mut self) {
        self.signal(Signal::CONT);
    }

    /// Returns true for a server that was not killed.
    pub(super) fn is_running(&self) -> bool {
        self.process.is_some()
    }

    /// Fails when a running server has ended by itself.
    ///
    /// # Panics
    ///
    /// Where the reason is not a taken port.
    pub(super) fn check_alive(&mut self) -> Result<(), PortTaken> {
        let directory = &self.directory;
        self.process.as_mut().map_or(Ok(()), |process| process.check_alive(directory))
    }

    /// The server's name in its cluster.
    pub(super) fn name(&self) -> &str {
        &self.settings.name
    }

    /// The end of the log, for a panic.
    pub(super) fn shown_log(&self) -> String {
        shown_log(&self.directory)
    }

    fn signal(&self, signal: Signal) -> Pid {
        let id = Pid::from_raw(self.process_id().cast_signed()).unwrap();
        kill_process(id, signal).unwrap();
        id
    }
}

/// A process that ends with this value, and leaves nothing behind.
#[derive(Debug)]
struct Process(Child);

impl Process {
    fn check_alive(&mut self, directory: &Path) -> Result<(), PortTaken> {
        let Some(status) = self.0.try_wait().unwrap() else { return Ok(()) };
        // The log has the ends of earlier starts, too.
        let last = log(directory).lines().last().unwrap_or_default().to_owned();
        if last.contains(PORT_TAKEN) {
            return Err(PortTaken);
        }
        panic!("nats-server has ended ({status}): {}", shown_log(directory));
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts the program with `ports`, or with ports that it chooses.
#[expect(clippy::disallowed_methods, reason = "the server runs beside the test")]
fn spawn(directory: &Path, settings: &Settings, ports: Option<Ports>) -> Process {
    let program = std::env::var_os(NATS_SERVER);
    let program =
        program.unwrap_or_else(|| panic!("{NATS_SERVER} is not set: run cargo xtask hosts nats"));
    let chosen = ports_directory(directory);
    // A server that was killed leaves its file there.
    let _ = fs::remove_dir_all(&chosen);
    fs::create_dir(&chosen).unwrap();
    let file = directory.join("nats.conf");
    fs::write(&file, configuration(directory, settings, ports)).unwrap();
    let log = File::options().create(true).append(true).open(log_file(directory)).unwrap();
    let mut command = Command::new(program);
    command.arg("-c").arg(file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    Process(command.spawn().unwrap())
}

fn configuration(directory: &Path, settings: &Settings, ports: Option<Ports>) -> String {
    let Settings { name, config } = settings;
    let [client, monitor] = match ports {
        Some(ports) => [ports.client, ports.monitor].map(|address| address.to_string()),
        None => ["127.0.0.1:-1", "127.0.0.1:-1"].map(str::to_owned),
    };
    let (store, chosen) = (directory.join("store"), ports_directory(directory));
    format!(
        "server_name: {name:?}\nlisten: {client:?}\nhttp: {monitor:?}\nports_file_dir: {chosen:?}\n\
         jetstream {{ store_dir: {store:?} }}\nmax_payload: 8MB\n{config}\n"
    )
}

/// Waits until the server accepts connections and says in its greeting that JetStream is up.
fn wait_up(directory: &Path, process: &mut Process) -> Result<Ports, PortTaken> {
    let up = find_within(START_MAX, || {
        if let Err(taken) = process.check_alive(directory) {
            return Some(Err(taken));
        }
        let ports = chosen_ports(&ports_directory(directory))?;
        let info = monitor::info(ports.client).ok()?;
        (info["jetstream"] == true).then_some(Ok(ports))
    });
    up.unwrap_or_else(|| panic!("nats-server does not come up: {}", shown_log(directory)))
}

/// Reads the file of the server's ports. `None` as long as it is not there or not whole.
fn chosen_ports(directory: &Path) -> Option<Ports> {
    let file = fs::read_dir(directory).ok()?.next()?.ok()?;
    let chosen: Value = serde_json::from_str(&fs::read_to_string(file.path()).ok()?).ok()?;
    let address = |name: &str| {
        let (_, address) = chosen[name][0].as_str()?.split_once("://")?;
        address.parse().ok()
    };
    Some(Ports { client: address("nats")?, monitor: address("monitoring")? })
}

fn ports_directory(directory: &Path) -> PathBuf {
    directory.join("ports")
}

fn log_file(directory: &Path) -> PathBuf {
    directory.join("log")
}

fn log(directory: &Path) -> String {
    fs::read_to_string(log_file(directory)).unwrap_or_default()
}

fn shown_log(directory: &Path) -> String {
    let log = log(directory);
    let lines: Vec<&str> = log.lines().collect();
    format!("its log ends so:\n{}", lines[lines.len().saturating_sub(LOG_LINES_SHOWN)..].join("\n"))
}
