//! From a model's name to a client: a provider over HTTP, or the simulator inside this process.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

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

/// Makes clients as the settings say.
pub(crate) struct Models {
    providers: BTreeMap<String, ProviderTable>,
    /// One server a scenario: agents of one process share its cache, as they would share a provider's.
    simulators: Mutex<HashMap<String, SimServer>>,
    /// One rate gate an account and model, for all agents of this process.
    gates: RateGates,
    /// Tells this process's simulators from those of all others: their caches end with it.
    process: String,
}

impl Models {
    pub(crate) fn new(providers: BTreeMap<String, ProviderTable>) -> Self {
        let process = AgentId::from_random(SystemIds.random()).to_string();
        Self { providers, simulators: Mutex::default(), gates: RateGates::default(), process }
    }

    fn options(&self, model: &ModelRef) -> Result<HttpOptions, LlmError> {
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
            let server = SimServer::start(SimOptions::new(loaded)).await;
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
        Ok(Arc::new(HttpClient::new(options, &self.gates)?))
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

/// An environment variable, if it is set and readable.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
