//! From a model's name to a client: a provider over HTTP, or the simulator inside this process.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use tine_llm::{HttpClient, HttpLimits, HttpOptions, HttpOverrides, LlmClient, Secret};
use tine_model::{ModelRef, Provider};
use tine_runtime::{Clock, ConnectError, Connector};
use tine_sim::{Scenario, SimOptions, SimServer};
use tokio::sync::Mutex;

use crate::config::ProviderTable;
use crate::system::SystemClock;

/// Makes clients as the settings say.
pub(crate) struct Models {
    providers: std::collections::BTreeMap<String, ProviderTable>,
    /// One server a scenario: agents of one process share its cache, as they would share a provider's.
    simulators: Mutex<HashMap<String, SimServer>>,
    /// Older than any simulator of this process, and so than its cache.
    made_ms: i64,
}

impl Models {
    pub(crate) fn new(providers: std::collections::BTreeMap<String, ProviderTable>) -> Self {
        Self { providers, simulators: Mutex::default(), made_ms: SystemClock.now_ms() }
    }

    fn overrides(&self, provider: Provider) -> HttpOverrides {
        let Some(table) = self.providers.get(provider.as_str()) else {
            return HttpOverrides::default();
        };
        let key = table.key_variable.as_deref().and_then(variable).map(|key| Secret::new(&key));
        HttpOverrides { base_url: table.base_url.clone(), key, limits: None }
    }

    async fn simulator(&self, name: &str) -> Result<Arc<dyn LlmClient>, ConnectError> {
        let failed = |source: Box<dyn std::error::Error + Send + Sync>| ConnectError::Scenario {
            name: name.to_owned(),
            source,
        };
        let mut simulators = self.simulators.lock().await;
        if !simulators.contains_key(name) {
            let scenario = Scenario::load(name).map_err(|error| failed(Box::new(error)))?;
            let server = SimServer::start(SimOptions::new(scenario)).await;
            let server = server.map_err(|error| failed(Box::new(error)))?;
            simulators.insert(name.to_owned(), server);
        }
        let base_url = simulators.get(name).map(|server| server.base_url().to_owned());
        let options = HttpOptions {
            format: Provider::Sim.format(),
            base_url: base_url.unwrap_or_default(),
            key: Some(Secret::new("sim")),
            limits: HttpLimits::default(),
        };
        Ok(Arc::new(HttpClient::new(options)?))
    }
}

#[async_trait]
impl Connector for Models {
    async fn connect(&self, model: &ModelRef) -> Result<Arc<dyn LlmClient>, ConnectError> {
        if model.provider == Provider::Sim {
            return self.simulator(&model.name).await;
        }
        let overrides = self.overrides(model.provider);
        let options = HttpOptions::from_environment(model.provider, &variable, overrides)?;
        Ok(Arc::new(HttpClient::new(options)?))
    }

    fn cache_since_ms(&self, model: &ModelRef) -> Option<i64> {
        // A simulator's cache is gone with its process.
        (model.provider == Provider::Sim).then_some(self.made_ms)
    }
}

/// An environment variable, if it is set and readable.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
