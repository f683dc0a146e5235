//! A llama-server on loopback that ends with its guard.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use super::files::Engine;
use crate::process;

/// As the server has it when it is told nothing, and as many as there are children.
const SLOTS: &str = "4";

/// Tokens of all slots together: the model's own window for each of them, because they share it.
const WINDOW: &str = "8192";

/// Longest time until the server answers: it reads weights of 98 MB from the disk.
const START_MAX: Duration = Duration::from_secs(60);

/// Between two looks whether it answers.
const LOOK_EVERY: Duration = Duration::from_millis(100);

pub(super) struct Server {
    child: Child,
    port: u16,
}

impl Server {
    /// Starts it with one thread less than there are processors, and waits until it answers.
    pub(super) fn start(engine: &Engine) -> Result<Self> {
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
        let threads = thread::available_parallelism().map_or(1, |count| count.get().max(2) - 1);
        let directory = engine.program.parent().context("the server lies nowhere")?;
        let log = File::create(directory.with_file_name("server.log"))?;
        let mut command = process::program(&engine.program);
        command.arg("-m").arg(&engine.weights).args(["--host", "127.0.0.1", "--port"]);
        command.arg(port.to_string()).args(["-np", SLOTS, "-c", WINDOW, "--kv-unified"]);
        // The same answers each time.
        command.args(["--temp", "0"]);
        for option in ["-t", "-tb"] {
            command.args([option, &threads.to_string()]);
        }
        command.current_dir(directory).env("LD_LIBRARY_PATH", directory);
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let child = command.spawn().context("the server does not start")?;
        let mut server = Self { child, port };
        server.wait()?;
        println!("llama-server with {SLOTS} slots and {threads} threads at port {port}");
        Ok(server)
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    fn wait(&mut self) -> Result<()> {
        let start = Instant::now();
        while !self.is_up() {
            if let Some(status) = self.child.try_wait()? {
                bail!("the server ended at once ({status}): see server.log");
            }
            if start.elapsed() > START_MAX {
                bail!("the server does not answer");
            }
            thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }

    fn is_up(&self) -> bool {
        let ask = || {
            let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?;
            stream.set_read_timeout(Some(Duration::from_secs(5)))?;
            stream.write_all(
                b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
            )?;
            let mut answer = [0; 15];
            stream.read_exact(&mut answer)?;
            Ok::<_, std::io::Error>(answer)
        };
        ask().is_ok_and(|answer| &answer == b"HTTP/1.1 200 OK")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
