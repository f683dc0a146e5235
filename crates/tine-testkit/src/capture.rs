//! A server on loopback that keeps requests as they came and answers with canned bytes.
//!
//! Tests that compare request bodies do it here: what counts is what left the process, not what was meant to.

use std::collections::VecDeque;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use tine_sim::{CollectedBody, collect};
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use crate::Gate;
use crate::http::{self, HttpRequest};

/// One canned answer. Its pieces are written one by one, each as one chunk, so that a test decides where the reader sees
/// cuts.
#[derive(Debug, Clone)]
pub struct Canned {
    status: u16,
    headers: Vec<(String, String)>,
    steps: Vec<Step>,
}

#[derive(Debug, Clone)]
enum Step {
    Write(Vec<u8>),
    Wait(Gate),
    BreakOff,
}

impl Canned {
    /// An answer without headers or body.
    pub fn new(status: u16) -> Self {
        Self { status, headers: Vec::new(), steps: Vec::new() }
    }

    /// A stream of server-sent events; add its bytes with [`Self::piece`].
    pub fn events() -> Self {
        Self::new(200).header("content-type", "text/event-stream")
    }

    /// A JSON body.
    pub fn json(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self::new(status).header("content-type", "application/json").piece(body)
    }

    /// Adds a header.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Adds a piece of the body.
    pub fn piece(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.steps.push(Step::Write(bytes.into()));
        self
    }

    /// Adds `bytes` in pieces of at most `size` bytes.
    pub fn pieces_of(mut self, size: usize, bytes: &[u8]) -> Self {
        self.steps.extend(bytes.chunks(size.max(1)).map(|piece| Step::Write(piece.to_vec())));
        self
    }

    /// Waits at `gate` before what is added next; at the front it holds back status and headers too.
    pub fn wait(mut self, gate: &Gate) -> Self {
        self.steps.push(Step::Wait(gate.clone()));
        self
    }

    /// Closes the connection here, without the end that a whole body has.
    pub fn break_off(mut self) -> Self {
        self.steps.push(Step::BreakOff);
        self
    }
}

type Script = Box<dyn FnMut(&HttpRequest) -> Option<Canned> + Send>;

struct State {
    script: Script,
    requests: Vec<HttpRequest>,
}

/// The server. It stops, and its connections break, when it is dropped.
pub struct CaptureServer {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
    _stop: DropGuard,
}

impl CaptureServer {
    /// Answers in this order, whoever asks. A request too many gets status 500 and a text that says so.
    pub async fn start(answers: impl IntoIterator<Item = Canned>) -> io::Result<Self> {
        let mut answers: VecDeque<Canned> = answers.into_iter().collect();
        Self::scripted(Box::new(move |_| answers.pop_front())).await
    }

    /// Answers each request by what it says, so that requests may come in any order.
    pub async fn answering(
        mut script: impl FnMut(&HttpRequest) -> Canned + Send + 'static,
    ) -> io::Result<Self> {
        Self::scripted(Box::new(move |request| Some(script(request)))).await
    }

    /// `http://127.0.0.1:PORT`.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Every whole request so far, in the order in which their last bytes came.
    pub fn requests(&self) -> Vec<HttpRequest> {
        lock(&self.state).requests.clone()
    }

    /// The bodies of [`Self::requests`].
    pub fn bodies(&self) -> Vec<Vec<u8>> {
        lock(&self.state).requests.iter().map(|request| request.body.clone()).collect()
    }

    async fn scripted(script: Script) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let state = Arc::new(Mutex::new(State { script, requests: Vec::new() }));
        let stop = CancellationToken::new();
        let tasks = TaskTracker::new();
        tasks.spawn(accept(listener, Arc::clone(&state), tasks.clone(), stop.clone()));
        Ok(Self { address, state, _stop: stop.drop_guard() })
    }
}

/// Takes connections until `stop`. Every task ends with `stop`, so none outlives the server by more than a step.
async fn accept(
    listener: TcpListener,
    state: Arc<Mutex<State>>,
    tasks: TaskTracker,
    stop: CancellationToken,
) {
    while let Some(Ok((stream, _))) = stop.run_until_cancelled(listener.accept()).await {
        let (state, stop) = (Arc::clone(&state), stop.clone());
        tasks.spawn(async move {
            // The client may hang up at any time, which is its right and may be the test.
            let _ = stop.run_until_cancelled(serve(stream, &state)).await;
        });
    }
}

async fn serve(mut stream: TcpStream, state: &Mutex<State>) -> io::Result<()> {
    let answer = match http::read_request(&mut stream).await {
        Ok(request) => next_answer(state, request),
        Err(error) => {
            Canned::new(400).piece(format!("the capturing server cannot read the request: {error}"))
        }
    };
    let mut head = Some(http::answer_head(answer.status, &answer.headers));
    for step in &answer.steps {
        match step {
            Step::Wait(gate) => gate.pass().await,
            Step::BreakOff => {
                stream.write_all(&head.take().unwrap_or_default()).await?;
                return stream.flush().await;
            }
            Step::Write(bytes) => {
                let head = head.take().unwrap_or_default();
                stream.write_all(&[head, http::chunk(bytes)].concat()).await?;
                stream.flush().await?;
            }
        }
    }
    stream.write_all(&head.take().unwrap_or_default()).await?;
    stream.write_all(http::LAST_CHUNK).await?;
    stream.shutdown().await
}

fn next_answer(state: &Mutex<State>, request: HttpRequest) -> Canned {
    let headers: Vec<(&str, &str)> =
        request.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    collect(CollectedBody { path: &request.path, headers: &headers, body: &request.body });
    let mut state = lock(state);
    let answer = (state.script)(&request);
    state.requests.push(request);
    let number = state.requests.len();
    let missing =
        || Canned::new(500).piece(format!("the script has no answer to request {number}"));
    answer.unwrap_or_else(missing)
}

fn lock(state: &Mutex<State>) -> std::sync::MutexGuard<'_, State> {
    // A script that panicked has failed its test already; the requests are still worth reading.
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;

    async fn post(server: &CaptureServer, body: &str) -> String {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        let length = body.len();
        let request =
            format!("POST /v1 HTTP/1.1\r\nX-Key: k\r\nContent-Length: {length}\r\n\r\n{body}");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test]
    async fn bodies_are_kept_as_they_came() {
        let server =
            CaptureServer::start([Canned::json(200, "{}"), Canned::new(204)]).await.unwrap();
        let bodies = ["{ \"b\":1,  \"a\":2 }", "", "third"];
        for body in bodies {
            post(&server, body).await;
        }
        assert_eq!(server.bodies(), bodies.map(|body| body.as_bytes().to_vec()));
        let first = &server.requests()[0];
        assert_eq!((first.method.as_str(), first.path.as_str()), ("POST", "/v1"));
        assert_eq!(first.header("x-key"), Some("k"));
    }

    #[tokio::test]
    async fn each_piece_is_one_chunk() {
        let answer = Canned::events().pieces_of(2, b"abc").piece("d");
        let server = CaptureServer::start([answer]).await.unwrap();
        let expected = "HTTP/1.1 200 Canned\r\ncontent-type: text/event-stream\r\n\
            transfer-encoding: chunked\r\nconnection: close\r\n\r\n\
            2\r\nab\r\n1\r\nc\r\n1\r\nd\r\n0\r\n\r\n";
        assert_eq!(post(&server, "").await, expected);
    }

    #[tokio::test]
    async fn an_answer_waits_for_its_gate_and_may_break_off() {
        let gate = Gate::new();
        let answer = Canned::events().piece("a").wait(&gate).piece("b").break_off();
        let server = CaptureServer::start([answer]).await.unwrap();
        let test = async {
            gate.reached().await;
            gate.open();
        };
        let (answer, ()) = tokio::join!(post(&server, ""), test);
        assert!(answer.ends_with("\r\n\r\n1\r\na\r\n1\r\nb\r\n"), "{answer:?}");
    }

    #[tokio::test]
    async fn a_request_too_many_is_told_so() {
        let server = CaptureServer::start([]).await.unwrap();
        let answer = post(&server, "x").await;
        assert!(answer.contains("the script has no answer to request 1"), "{answer:?}");
    }

    #[tokio::test]
    async fn answers_may_depend_on_the_body() {
        let server =
            CaptureServer::answering(|request| Canned::new(200).piece(request.body.clone()));
        let server = server.await.unwrap();
        assert!(post(&server, "echo").await.contains("4\r\necho\r\n"));
    }
}
