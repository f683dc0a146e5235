//! The time that the gateway adds to a request and to an event of a stream, and its memory at many streams. Run with
//! `cargo xtask bench gateway`.
//!
//! Host, gateway and provider are in this process, and the direct way and the one through the gateway take turns. Nothing here asserts a
//! time: machines differ.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![expect(clippy::expect_used, reason = "a benchmark that cannot be set up has no figures")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use reqwest::{Client, Response};
use tine_gateway::{Format, Gateway, Observer, Options};
use tine_testkit::memory::Memory;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_util::task::TaskTracker;

/// Bytes of a request: a conversation of some 60,000 tokens.
const REQUEST_BYTES: usize = 256 << 10;

/// Requests of each way.
const REQUESTS: usize = 1_000;

/// Events of each way, in so many turns.
const EVENTS: usize = 1_000;
const TURNS: usize = 10;

/// Streams at once.
const STREAMS: usize = 200;

const EVENT: &[u8] = b"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hello\"}}\n\n";

/// Answers a POST with two bytes, and a GET with an event whenever the count changes.
async fn provide(listener: TcpListener, count: watch::Receiver<u64>, tasks: TaskTracker) {
    loop {
        let (socket, _) = listener.accept().await.expect("a connection");
        let count = count.clone();
        // A host that hangs up ends its task.
        tasks.spawn(async move { drop(answer(socket, count).await) });
    }
}

async fn answer(mut socket: TcpStream, mut count: watch::Receiver<u64>) -> std::io::Result<()> {
    socket.set_nodelay(true)?;
    let mut read = Vec::with_capacity(64 << 10);
    loop {
        let head = loop {
            if let Some(at) = read.windows(4).position(|window| window == b"\r\n\r\n") {
                break at + 4;
            }
            if socket.read_buf(&mut read).await? == 0 {
                return Ok(());
            }
        };
        if read.starts_with(b"GET") {
            break;
        }
        while read.len() < head + REQUEST_BYTES {
            socket.read_buf(&mut read).await?;
        }
        read.clear();
        socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}").await?;
    }
    count.mark_changed();
    socket.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").await?;
    let chunk = [format!("{:x}\r\n", EVENT.len()).as_bytes(), EVENT, b"\r\n"].concat();
    while count.changed().await.is_ok() {
        socket.write_all(&chunk).await?;
    }
    Ok(())
}

/// One way to the provider.
struct Way {
    name: &'static str,
    base_url: String,
    requests: Vec<Duration>,
    events: Vec<Duration>,
}

impl Way {
    fn new(name: &'static str, base_url: String) -> Self {
        Self { name, base_url, requests: Vec::new(), events: Vec::new() }
    }

    async fn request(&mut self, client: &Client, body: &'static [u8]) {
        let began = Instant::now();
        let post = client.post(format!("{}/v1/messages", self.base_url)).body(body);
        let reply = post.send().await.expect("a reply");
        assert_eq!(reply.bytes().await.expect("its body").len(), 2);
        self.requests.push(began.elapsed());
    }

    /// A stream whose first event has arrived.
    async fn stream(&self, client: &Client) -> Response {
        let get = client.get(format!("{}/stream", self.base_url));
        let mut stream = get.send().await.expect("a reply");
        event(&mut stream).await;
        stream
    }

    async fn turn(&mut self, client: &Client, count: &watch::Sender<u64>) {
        let mut stream = self.stream(client).await;
        for _ in 0..EVENTS / TURNS {
            let began = Instant::now();
            count.send_modify(|count| *count += 1);
            event(&mut stream).await;
            self.events.push(began.elapsed());
        }
    }
}

/// One event, whole.
async fn event(stream: &mut Response) {
    let mut length = 0;
    while length < EVENT.len() {
        length += stream.chunk().await.expect("a stream").expect("an event").len();
    }
    assert_eq!(length, EVENT.len());
}

/// Median and 99th percentile in microseconds.
fn figures(times: &mut [Duration]) -> (f64, f64) {
    times.sort_unstable();
    let at = |percent: usize| times[(times.len() - 1) * percent / 100].as_secs_f64() * 1e6;
    (at(50), at(99))
}

fn compare(what: &str, direct: &mut [Duration], gateway: &mut [Duration]) {
    let (direct, through) = (figures(direct), figures(gateway));
    println!("{:<19} {:>8} {:>8}", format!("{what}, µs"), "median", "p99");
    println!("  direct            {:>8.0} {:>8.0}", direct.0, direct.1);
    println!("  through           {:>8.0} {:>8.0}", through.0, through.1);
    println!("  added             {:>8.0} {:>8.0}", through.0 - direct.0, through.1 - direct.1);
    println!("  ratio             {:>8.2} {:>8.2}", through.0 / direct.0, through.1 / direct.1);
}

fn resident() -> f64 {
    Memory::of(std::process::id()).map_or(f64::NAN, |memory| memory.rss_mib)
}

/// Opens all streams, sends events through them, and says what is resident before, with them, and after.
async fn memory(way: &Way, client: &Client, count: &watch::Sender<u64>) {
    let before = resident();
    let mut streams = Vec::new();
    for _ in 0..STREAMS {
        let stream = way.stream(client).await;
        streams.push(stream);
    }
    let open = resident();
    let began = Instant::now();
    for _ in 0..EVENTS {
        count.send_modify(|count| *count += 1);
        for stream in &mut streams {
            event(stream).await;
        }
    }
    let per_event = began.elapsed().as_secs_f64() * 1e6 / (EVENTS * STREAMS) as f64;
    let after = resident();
    println!(
        "  {:<9} {before:>6.1} before, {open:>6.1} with {STREAMS} streams, {after:>6.1} after {EVENTS} events of each ({per_event:.1} µs an event)",
        way.name
    );
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(run());
}

async fn run() {
    // An error means that there is a provider of cryptography already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let (count, changes) = watch::channel(0);
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let tasks = TaskTracker::new();
    tasks.spawn(provide(listener, changes, tasks.clone()));
    // Whoever records takes what passes, and lets go of it later.
    let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
    tasks.spawn(async move { while receiver.recv().await.is_some() {} });
    let observer: Observer = Arc::new(move |passed| drop(sender.send(passed)));
    let (anthropic, openai, observer) = (url.clone(), url.clone(), Some(observer));
    let options = Options { anthropic, openai, observer, ..Options::new([1; 16]) };
    let gateway = Gateway::start(options).await.expect("a gateway");
    let client = Client::builder().no_proxy().tls_certs_only([]).build().expect("a client");
    let body: &'static [u8] = conversation().leak();

    let mut direct = Way::new("direct", url);
    let mut through = Way::new("through", gateway.base_url(Format::Anthropic));
    for _ in 0..REQUESTS {
        direct.request(&client, body).await;
        through.request(&client, body).await;
    }
    for _ in 0..TURNS {
        direct.turn(&client, &count).await;
        through.turn(&client, &count).await;
    }
    let kib = REQUEST_BYTES >> 10;
    compare(&format!("request of {kib} KiB"), &mut direct.requests, &mut through.requests);
    compare("event of a stream", &mut direct.events, &mut through.events);
    println!("resident memory of host, provider and gateway together, MiB");
    memory(&direct, &client, &count).await;
    memory(&through, &client, &count).await;
    println!("  when all streams are closed {:>6.1}", resident());
    gateway.stop().await;
}

/// A request's body in the provider's shape, so that what looks into it has to read it.
fn conversation() -> Vec<u8> {
    let (head, tail) = (r#"{"model":"m","messages":["#, r#"{}],"stream":true}"#);
    let message = r#"{"role":"user","content":"x \"quoted\" and a line\n"},"#;
    let room = REQUEST_BYTES - head.len() - tail.len();
    let messages = message.repeat(room / message.len());
    let blanks = " ".repeat(room - messages.len());
    format!("{head}{messages}{blanks}{tail}").into_bytes()
}
