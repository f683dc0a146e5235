//! Asks a server of one's own what it is: a few short requests without a body, never to a provider on the internet.
//!
//! The answers only help to plan: a server that does not answer, or says nothing that is known, is no error.

use std::net::IpAddr;
use std::time::Duration;

use reqwest::header::HeaderMap;
use reqwest::redirect::Policy;
use reqwest::{Client, Url};
use tine_model::{Engine, Served, WireFormat, is_public};
use tine_wire::{
    LOADED_PATH, MODELS_PATH, PROPS_PATH, VERSION_PATH, is_ollamas_version, read_loaded,
    read_models, read_props,
};

use crate::http::address::Address;
use crate::http::client::{USER_AGENT, headers};
use crate::{HttpOptions, ensure_crypto};

/// Longest time that all questions to one server take together. A server on this machine or network answers within
/// milliseconds; a request behind the probe waits no longer than this, once.
pub const PROBE_WAIT_MAX: Duration = Duration::from_millis(1_500);

/// Most bytes of an answer. Lists of models and settings with a chat template are a few kilobytes.
const ANSWER_BYTES_MAX: usize = 1024 * 1024;

/// Endings of names that only a network of one's own has.
const OWN_NAMES: [&str; 7] =
    [".localhost", ".local", ".lan", ".internal", ".home.arpa", ".home", ".intranet"];

/// Returns true for addresses of this machine and of private networks: the only ones that are asked.
pub fn is_own_server(base_url: &str) -> bool {
    Address::parse(base_url).is_ok_and(|address| is_own(&address))
}

fn is_own(address: &Address) -> bool {
    let host = address.base().host_str().unwrap_or_default().trim_matches(['[', ']']);
    match host.parse::<IpAddr>() {
        Ok(address) => !is_public(address),
        // A name without a dot is one of this machine's or this network's.
        Err(_) => {
            !host.is_empty()
                && (!host.contains('.') || OWN_NAMES.iter().any(|ending| host.ends_with(ending)))
        }
    }
}

/// Asks the server behind these options what it is and how large a prompt of the model may be. `None` when it is not a server of
/// one's own, or does not list its models in time. Takes at most [`PROBE_WAIT_MAX`].
pub async fn probe(options: &HttpOptions) -> Option<Served> {
    let address = Address::parse(&options.base_url).ok().filter(is_own)?;
    ensure_crypto();
    let mut builder = Client::builder()
        .user_agent(USER_AGENT)
        .connect_timeout(PROBE_WAIT_MAX)
        .redirect(Policy::none())
        .referer(false)
        .retry(reqwest::retry::never());
    if address.is_loopback() {
        builder = builder.no_proxy();
    }
    if address.base().scheme() == "http" {
        builder = builder.tls_certs_only([]);
    }
    let headers = headers(WireFormat::OpenAiChat, options.key.as_ref()).ok()?;
    let questions = Questions { client: builder.build().ok()?, headers, address };
    let mut served = None;
    // What is known when the time is over counts.
    let asking = questions.ask(&options.model.name, &mut served);
    if tokio::time::timeout(PROBE_WAIT_MAX, asking).await.is_err() {
        tracing::debug!(base_url = %options.base_url, "the server did not say in time what it is");
    }
    served
}

struct Questions {
    client: Client,
    headers: HeaderMap,
    address: Address,
}

impl Questions {
    async fn ask(&self, model: &str, served: &mut Option<Served>) {
        let Some(list) = self.get(self.address.below(MODELS_PATH)).await else { return };
        let Some(listed) = read_models(&list, model) else { return };
        let known = served.insert(listed);
        match known.engine {
            Some(Engine::LlamaServer) => {
                if let Some(props) = self.get(self.address.beside(PROPS_PATH)).await {
                    read_props(&props, known);
                }
            }
            Some(Engine::Vllm | Engine::Sglang | Engine::Ollama) => {}
            None => {
                let version = self.get(self.address.beside(VERSION_PATH)).await;
                if version.is_some_and(|version| is_ollamas_version(&version)) {
                    known.engine = Some(Engine::Ollama);
                    let loaded = self.get(self.address.beside(LOADED_PATH)).await;
                    known.window_tokens = loaded.and_then(|loaded| read_loaded(&loaded, model));
                }
            }
        }
    }

    /// The body of an answer that succeeded.
    async fn get(&self, url: Url) -> Option<Vec<u8>> {
        let sent = self.client.get(url).headers(self.headers.clone()).send().await;
        let mut answer = sent.ok().filter(|answer| answer.status().is_success())?;
        let mut body = Vec::new();
        while let Some(piece) = answer.chunk().await.ok()? {
            if body.len() + piece.len() > ANSWER_BYTES_MAX {
                return None;
            }
            body.extend_from_slice(&piece);
        }
        Some(body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_and_private_networks_are_asked() {
        let own = [
            "http://127.0.0.1:8080/v1",
            "http://[::1]:8080",
            "http://localhost:11434/v1",
            "http://192.168.1.20:8000/v1",
            "https://10.0.0.3/v1",
            "http://gpu-box:8000/v1",
            "http://gpu.local/v1",
            "http://host.docker.internal:11434/v1",
        ];
        for url in own {
            assert!(is_own_server(url), "{url}");
        }
        let others = [
            "https://api.openai.com/v1",
            "https://openrouter.ai/api/v1",
            "http://8.8.8.8/v1",
            "https://localhost.example.com/v1",
            "not a url",
        ];
        for url in others {
            assert!(!is_own_server(url), "{url}");
        }
    }
}
