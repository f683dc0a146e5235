//! The word of model servers on themselves: asked for now and then, and kept in a file, so that later processes know it before they
//! ask, and while the server is down.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tine_llm::{HttpOptions, is_own_server, probe};
use tine_model::{Engine, Served};
use tokio::time::Instant;

use crate::whole_file::write_file;

/// A server that answered is asked again after this time: it may have been started anew with other settings.
const ASK_AGAIN: Duration = Duration::from_secs(300);

/// One that did not answer, after this time: it may have been started meanwhile.
const ASK_AGAIN_SILENT: Duration = Duration::from_secs(30);

/// Most models of all servers that are kept.
const KEPT_MAX: usize = 500;

/// Which server and which of its models.
type Key = (String, String);

/// All that is known of servers.
#[derive(Debug, Default)]
pub(crate) struct Servers {
    file: Option<PathBuf>,
    known: Mutex<BTreeMap<Key, Served>>,
    /// From when on each may be asked again.
    next: Mutex<BTreeMap<Key, Instant>>,
    /// Runs that start together ask once.
    asking: tokio::sync::Mutex<()>,
}

/// A line of the file.
#[derive(Debug, Serialize, Deserialize)]
struct Row {
    base_url: String,
    model: String,
    engine: Option<String>,
    slots: Option<u32>,
    window_tokens: Option<u64>,
}

impl Servers {
    /// Takes up what the file holds. One that cannot be read holds nothing: everything in it can be asked for again.
    pub(crate) fn open(file: PathBuf) -> Self {
        let known = read(&file);
        Self { file: Some(file), known: Mutex::new(known), ..Self::default() }
    }

    /// Returns what is known of a server and one of its models.
    pub(crate) fn known(&self, base_url: &str, model: &str) -> Option<Served> {
        lock(&self.known).get(&key(base_url, model)).copied()
    }

    /// Asks a server of the user's own, unless it was asked lately. What it says is kept for later processes if `keep` is set.
    pub(crate) async fn ask(&self, options: &HttpOptions, keep: bool) {
        let key = key(&options.base_url, &options.model.name);
        if !is_own_server(&options.base_url) || self.was_asked(&key) {
            return;
        }
        let _asking = self.asking.lock().await;
        if self.was_asked(&key) {
            return;
        }
        let served = probe(options).await;
        let wait = if served.is_some() { ASK_AGAIN } else { ASK_AGAIN_SILENT };
        lock(&self.next).insert(key.clone(), Instant::now() + wait);
        let Some(served) = served else { return };
        let before = lock(&self.known).insert(key.clone(), served);
        if keep && before != Some(served) {
            self.keep(key, served);
        }
    }

    fn was_asked(&self, key: &Key) -> bool {
        lock(&self.next).get(key).is_some_and(|next| Instant::now() < *next)
    }

    /// Writes what was learnt over what other processes have written meanwhile.
    fn keep(&self, key: Key, served: Served) {
        let Some(file) = &self.file else { return };
        let mut known = read(file);
        if known.len() >= KEPT_MAX {
            known.clear();
        }
        known.insert(key, served);
        let rows: Vec<Row> = known.into_iter().map(row).collect();
        let text = serde_json::to_string_pretty(&rows).unwrap_or_default();
        // Where it cannot be kept, the next process asks again.
        let _ = write_file(file, &text);
    }
}

fn key(base_url: &str, model: &str) -> Key {
    (base_url.trim_end_matches('/').to_owned(), model.to_owned())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn read(file: &PathBuf) -> BTreeMap<Key, Served> {
    let text = fs::read_to_string(file).unwrap_or_default();
    let rows: Vec<Row> = serde_json::from_str(&text).unwrap_or_default();
    let known = |row: Row| {
        let engine = row.engine.as_deref().and_then(Engine::from_name);
        let slots = row.slots.filter(|slots| *slots > 0);
        let served = Served { engine, slots, window_tokens: row.window_tokens };
        (key(&row.base_url, &row.model), served)
    };
    rows.into_iter().map(known).collect()
}

fn row(((base_url, model), served): (Key, Served)) -> Row {
    let engine = served.engine.map(|engine| engine.as_str().to_owned());
    Row { base_url, model, engine, slots: served.slots, window_tokens: served.window_tokens }
}

#[cfg(test)]
mod tests {
    use tine_llm::HttpLimits;
    use tine_sim::{Scenario, SimOptions, SimServer};

    use super::*;

    fn options(base_url: &str) -> HttpOptions {
        HttpOptions {
            model: "openai-compat/m".parse().unwrap(),
            base_url: base_url.to_owned(),
            key: None,
            limits: HttpLimits::default(),
        }
    }

    #[tokio::test]
    async fn what_a_server_says_is_known_to_later_processes_without_asking() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("servers.json");
        let scenario =
            "name = \"own\"\nprofile = \"llamacpp\"\nslots = 3\n[[turn]]\ntext = \"ok\"\n";
        let scenario = Scenario::parse(scenario, "test").unwrap();
        let sim = SimServer::start(SimOptions::new(scenario)).await.unwrap();
        let base_url = format!("{}/v1", sim.base_url());
        let first = Servers::open(file.clone());
        assert_eq!(first.known(&base_url, "m"), None);
        let options = options(&base_url);
        tokio::join!(first.ask(&options, true), first.ask(&options, true));
        let known = first.known(&base_url, "m").unwrap();
        assert_eq!((known.engine, known.slots), (Some(Engine::LlamaServer), Some(3)));
        sim.shutdown().await;

        let second = Servers::open(file.clone());
        assert_eq!(second.known(&format!("{base_url}/"), "m"), Some(known));
        // It is down now: what was known stays.
        second.ask(&options, true).await;
        assert_eq!(second.known(&base_url, "m"), Some(known));
        fs::write(&file, "{broken").unwrap();
        assert_eq!(Servers::open(file).known(&base_url, "m"), None);
    }

    #[tokio::test]
    async fn what_is_not_to_be_kept_is_not_written() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("servers.json");
        let scenario = Scenario::parse(
            "name = \"own\"\nprofile = \"vllm\"\n[[turn]]\ntext = \"ok\"\n",
            "test",
        );
        let sim = SimServer::start(SimOptions::new(scenario.unwrap())).await.unwrap();
        let servers = Servers::open(file.clone());
        servers.ask(&options(sim.base_url()), false).await;
        let known = servers.known(sim.base_url(), "m").unwrap();
        assert_eq!(known.engine, Some(Engine::Vllm));
        assert!(!file.exists());
    }
}
