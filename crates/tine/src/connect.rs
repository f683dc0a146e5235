//! From a model's name to a client: a provider over HTTP, or the simulator inside this process.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex as StdMutex, PoisonError, RwLock};

use async_trait::async_trait;
use tine_llm::{
    HttpClient, HttpLimits, HttpOptions, HttpOverrides, LlmClient, LlmError, RateGates, Secret,
};
use tine_model::{AgentId, ModelRef, Provider};
use tine_runtime::{ConnectError, Connector, Ids};
use tine_sim::{Scenario, SimOptions, SimServer};
use tokio::sync::Mutex;

use crate::config::ProviderTable;
use tine_fork::SystemIds;

/// Most clients that are kept for the next run.
const CLIENTS_MAX: usize = 64;

/// Makes clients as the settings say.
pub(crate) struct Models {
    providers: BTreeMap<String, ProviderTable>,
    /// Where models of this machine are served, as it was found out.
    found: RwLock<HashMap<ModelRef, String>>,
    /// One server a scenario: agents of one process share its cache, as they would share a provider's.
    simulators: Mutex<HashMap<String, SimServer>>,
    /// One rate gate an account and model, for all agents of this process.
    gates: RateGates,
    /// One client a model: runs that follow each other share its connections.
    clients: StdMutex<HashMap<ModelRef, Arc<HttpClient>>>,
    /// Tells this process's simulators from those of all others: their caches end with it.
    process: String,
}

impl Models {
    pub(crate) fn new(providers: BTreeMap<String, ProviderTable>) -> Self {
        let process = AgentId::from_random(SystemIds.random()).to_string();
        Self {
            providers,
            found: RwLock::default(),
            simulators: Mutex::default(),
            gates: RateGates::default(),
            clients: StdMutex::default(),
            process,
        }
    }

    /// From now on, requests for this model go to this address, without a key: those that are set belong to somebody else.
    pub(crate) fn found_at(&self, model: ModelRef, base_url: String) {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner).remove(&model);
        self.found.write().unwrap_or_else(PoisonError::into_inner).insert(model, base_url);
    }

    fn found(&self, model: &ModelRef) -> Option<String> {
        self.found.read().unwrap_or_else(PoisonError::into_inner).get(model).cloned()
    }

    fn options(&self, model: &ModelRef) -> Result<HttpOptions, LlmError> {
        if let Some(base_url) = self.found(model) {
            let overrides = HttpOverrides { base_url: Some(base_url), ..HttpOverrides::default() };
            return HttpOptions::from_environment(model, &|_| None, overrides);
        }
        let table = self.providers.get(model.provider.as_str()).cloned().unwrap_or_default();
        let key = table.key_variable.as_deref().and_then(variable).map(|key| Secret::new(&key));
        let overrides = HttpOverrides { base_url: table.base_url, key, limits: None };
        HttpOptions::from_environment(model, &variable, overrides)
    }

    /// The options for the simulator of a model's scenario, which is started if need be.
    async fn simulator(&self, model: &ModelRef) -> Result<HttpOptions, ConnectError> {
        let (scenario, _) = model.scenario();
        let failed = |source: Box<dyn std::error::Error + Send + Sync>| ConnectError::Scenario {
            name: scenario.to_owned(),
            source,
        };
        let mut simulators = self.simulators.lock().await;
        if !simulators.contains_key(scenario) {
            let loaded = Scenario::load(scenario).map_err(|error| failed(Box::new(error)))?;
            // Nobody here asks what was requested.
            let options = SimOptions { requests_bytes_max: 0, ..SimOptions::new(loaded) };
            let server = SimServer::start(options).await;
            let server = server.map_err(|error| failed(Box::new(error)))?;
            simulators.insert(scenario.to_owned(), server);
        }
        let base_url = simulators.get(scenario).map(|server| server.base_url().to_owned());
        Ok(HttpOptions {
            model: model.clone(),
            base_url: base_url.unwrap_or_default(),
            key: Some(Secret::new("sim")),
            limits: HttpLimits::default(),
        })
    }
}

#[async_trait]
impl Connector for Models {
    async fn connect(&self, model: &ModelRef) -> Result<Arc<dyn LlmClient>, ConnectError> {
        let options = match model.provider {
            Provider::Sim => self.simulator(model).await?,
            _ => self.options(model)?,
        };
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get(model) {
            return Ok(Arc::clone(client) as Arc<dyn LlmClient>);
        }
        let client = Arc::new(HttpClient::new(options, &self.gates)?);
        if clients.len() >= CLIENTS_MAX {
            clients.clear();
        }
        clients.insert(model.clone(), Arc::clone(&client));
        Ok(client)
    }

    fn account(&self, model: &ModelRef) -> String {
        match (model.provider, self.options(model)) {
            (Provider::Sim, _) => self.process.clone(),
            (_, Ok(options)) => options.account(),
            // Nothing can be sent, and so nothing is in any cache.
            (_, Err(_)) => String::new(),
        }
    }
}

/// Looks environment variables up.
pub(crate) type Variable<'a> = &'a dyn Fn(&str) -> Option<String>;

/// An environment variable, if it is set and readable.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
