//! Servers of models on this machine, found by the ports that they usually have. Only loopback is asked, by a socket of our own, so that no
//! proxy hears of it; no key is sent.

use std::net::Ipv4Addr;
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt};
use serde_json::Value;
use tine_model::Engine;
use tine_tui::ModelChoice;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// How long a server may take: it is on this machine, and a person waits.
const PATIENCE: Duration = Duration::from_millis(1_500);

/// How long one that a test names may take: only one that hangs takes longer.
const PATIENCE_NAMED: Duration = Duration::from_secs(60);

/// Most bytes of an answer. A list of models is a few kilobytes.
const ANSWER_BYTES_MAX: u64 = 1024 * 1024;

/// Most models of one server that are taken; a list that is longer is read by nobody.
const MODELS_MAX: usize = 100;

/// Longest name of a model, in bytes. Some servers name a model by the path of its file.
const NAME_BYTES_MAX: usize = 300;

/// Names other ports than the usual ones, as in `ollama=11434,vllm=8000`; empty for none. For tests, and not documented.
const PORTS_VARIABLE: &str = "TINE_LOCAL_PORTS";

/// A kind of server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Ollama,
    LlamaServer,
    Vllm,
    LmStudio,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Ollama, Self::LlamaServer, Self::Vllm, Self::LmStudio];

    fn as_str(self) -> &'static str {
        match self {
            Self::Ollama => "Ollama",
            Self::LlamaServer => "llama-server",
            Self::Vllm => "vLLM",
            Self::LmStudio => "LM Studio",
        }
    }

    /// Its name in [`PORTS_VARIABLE`].
    fn key(self) -> &'static str {
        match self {
            Self::Ollama => "ollama",
            Self::LlamaServer => "llama-server",
            Self::Vllm => "vllm",
            Self::LmStudio => "lm-studio",
        }
    }

    fn usual_port(self) -> u16 {
        match self {
            Self::Ollama => 11434,
            Self::LlamaServer => 8080,
            Self::Vllm => 8000,
            Self::LmStudio => 1234,
        }
    }

    /// Where it lists what it serves.
    fn path(self) -> &'static str {
        match self {
            Self::Ollama => "/api/tags",
            Self::LlamaServer | Self::Vllm | Self::LmStudio => "/v1/models",
        }
    }

    /// The names in its list.
    fn names(self, list: &Value) -> Vec<String> {
        let (models, name) = match self {
            Self::Ollama => ("models", "name"),
            Self::LlamaServer | Self::Vllm | Self::LmStudio => ("data", "id"),
        };
        let listed = list.get(models).and_then(Value::as_array).into_iter().flatten();
        let names = listed.filter_map(|model| model.get(name)?.as_str());
        let is_name = |name: &&str| {
            !name.is_empty()
                && name.len() <= NAME_BYTES_MAX
                && !name.contains(|c: char| c.is_whitespace() || tine_guard::is_unseen(c))
        };
        names.filter(is_name).take(MODELS_MAX).map(str::to_owned).collect()
    }
}

/// A place where a server may listen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    kind: Kind,
    port: u16,
    patience: Duration,
}

impl Place {
    /// What people are told of it.
    pub(crate) fn told(&self) -> String {
        format!("{} at port {}", self.kind.as_str(), self.port)
    }

    /// Returns what people are told of a server there that gave this list: what it calls itself comes before whose port it is.
    fn told_by(&self, list: &Value) -> String {
        let served = tine_wire::read_models(list.to_string().as_bytes(), "");
        let engine = served.and_then(|served| served.engine);
        let name = engine.map_or(self.kind.as_str(), Engine::title);
        format!("{name} at port {}", self.port)
    }
}

/// Where servers are looked for.
pub(crate) fn places(variable: &dyn Fn(&str) -> Option<String>) -> Vec<Place> {
    let Some(text) = variable(PORTS_VARIABLE) else {
        let usual = |kind: Kind| Place { kind, port: kind.usual_port(), patience: PATIENCE };
        return Kind::ALL.map(usual).to_vec();
    };
    let place = |part: &str| {
        let (name, port) = part.trim().split_once('=')?;
        let kind = Kind::ALL.into_iter().find(|kind| kind.key() == name)?;
        Some(Place { kind, port: port.parse().ok()?, patience: PATIENCE_NAMED })
    };
    text.split(',').filter_map(place).collect()
}

/// Asks all places at once, and gives what each one serves as it answers. What does not answer soon, or with something else, is no server.
pub(crate) async fn look(places: &[Place], found: &(dyn Fn(Vec<ModelChoice>) + Send + Sync)) {
    let mut asked: FuturesUnordered<_> = places.iter().map(|place| served(*place)).collect();
    while let Some(choices) = asked.next().await {
        if !choices.is_empty() {
            found(choices);
        }
    }
}

async fn served(place: Place) -> Vec<ModelChoice> {
    let list = tokio::time::timeout(place.patience, get(place.port, place.kind.path())).await;
    let Ok(Some(list)) = list else { return Vec::new() };
    let choice = |name: String| ModelChoice {
        model: format!("openai-compat/{name}"),
        origin: place.told_by(&list),
        base_url: Some(format!("http://{}:{}/v1", Ipv4Addr::LOCALHOST, place.port)),
        first_words: None,
    };
    place.kind.names(&list).into_iter().map(choice).collect()
}

/// The JSON at a path of a port; `None` for everything else.
async fn get(port: u16, path: &str) -> Option<Value> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.ok()?;
    // The older version has no chunks, and ends with the connection.
    let request = format!(
        "GET {path} HTTP/1.0\r\nHost: localhost:{port}\r\nAccept: application/json\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut answer = Vec::new();
    stream.take(ANSWER_BYTES_MAX).read_to_end(&mut answer).await.ok()?;
    body(&answer)
}

/// The JSON of an answer that succeeded.
fn body(answer: &[u8]) -> Option<Value> {
    let text = std::str::from_utf8(answer).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    let (version, rest) = head.split_once(' ')?;
    let is_good = version.starts_with("HTTP/1.") && rest.starts_with("200");
    is_good.then(|| serde_json::from_str(body).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use tokio::net::TcpListener;

    use super::*;

    #[test]
    fn places_are_the_usual_ones_or_those_that_are_named() {
        let told = |value: Option<&str>| {
            let places = places(&|_| value.map(str::to_owned));
            places.iter().map(Place::told).collect::<Vec<_>>().join(", ")
        };
        assert_eq!(
            told(None),
            "Ollama at port 11434, llama-server at port 8080, vLLM at port 8000, LM Studio at port 1234"
        );
        assert_eq!(
            told(Some("vllm=7, ollama=8,what=9,ollama=x")),
            "vLLM at port 7, Ollama at port 8"
        );
        assert_eq!(told(Some("")), "");
    }

    #[test]
    fn only_a_list_of_names_is_taken() {
        let good = "HTTP/1.1 200 OK\r\nA: b\r\n\r\n{\"data\":[{\"id\":\"a\"},{\"id\":\"b c\"},{}]}";
        let list = body(good.as_bytes()).unwrap();
        assert_eq!(Kind::Vllm.names(&list), ["a"]);
        assert!(Kind::Ollama.names(&list).is_empty());
        for bad in
            ["", "SSH-2.0-x\r\n", "HTTP/1.1 404 no\r\n\r\n{}", "HTTP/1.1 200 OK\r\n\r\n<html>"]
        {
            assert_eq!(body(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn a_server_at_anothers_port_is_called_by_its_own_name() {
        let place = Place { kind: Kind::Vllm, port: 8000, patience: PATIENCE };
        let told = |list: &str| place.told_by(&serde_json::from_str(list).unwrap());
        let list = |owner: &str| format!(r#"{{"data":[{{"id":"m","owned_by":"{owner}"}}]}}"#);
        assert_eq!(told(&list("sglang")), "SGLang at port 8000");
        assert_eq!(told(&list("llamacpp")), "llama-server at port 8000");
        assert_eq!(told(&list("me")), "vLLM at port 8000");
    }

    /// Answers one request with this text, or never.
    async fn server(answer: Option<&'static str>) -> (u16, impl Future<Output = String>) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let serve = async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = vec![0; 1024];
            let length = stream.read(&mut request).await.unwrap();
            match answer {
                Some(answer) => stream.write_all(answer.as_bytes()).await.unwrap(),
                None => std::future::pending().await,
            }
            String::from_utf8_lossy(&request[..length]).into_owned()
        };
        (port, serve)
    }

    #[tokio::test]
    async fn servers_that_answer_are_found_and_the_others_hold_nobody_up() {
        let list =
            "HTTP/1.0 200 OK\r\n\r\n{\"models\":[{\"name\":\"llama3:8b\"},{\"name\":\"qwen\"}]}";
        let (good, serve) = server(Some(list)).await;
        let (silent, hang) = server(None).await;
        let (closed, gone) = server(None).await;
        drop(gone);
        let found = Mutex::new(Vec::new());
        let mut places =
            places(&|_| Some(format!("vllm={silent},ollama={good},lm-studio={closed}")));
        // No limit is too short for one that never answers.
        places
            .iter_mut()
            .filter(|place| place.port == silent)
            .for_each(|place| place.patience = Duration::ZERO);
        let take = |choices: Vec<ModelChoice>| found.lock().unwrap().extend(choices);
        let asked = tokio::select! {
            (asked, ()) = async { tokio::join!(serve, look(&places, &take)) } => asked,
            _ = hang => unreachable!(),
        };
        assert!(asked.starts_with("GET /api/tags HTTP/1.0\r\n"), "{asked}");
        let found = found.into_inner().unwrap();
        let told: Vec<_> = found
            .iter()
            .map(|choice| (choice.model.as_str(), choice.base_url.clone().unwrap()))
            .collect();
        let url = format!("http://127.0.0.1:{good}/v1");
        assert_eq!(told, [("openai-compat/llama3:8b", url.clone()), ("openai-compat/qwen", url)]);
    }
}
