//! A provider that says that it is a simulator, on loopback, without a key. A real one has another address and a key.

use std::error::Error;
use std::sync::Arc;

use tine_fork::client::LlmClient;
use tine_llm::{HttpClient, HttpLimits, HttpOptions, RateGates, Secret};
use tine_sim::{Scenario, SimOptions, SimServer};

/// The provider, and a client that talks to it.
pub(crate) struct Provider {
    pub(crate) server: SimServer,
    pub(crate) llm: Arc<dyn LlmClient>,
}

/// Starts a provider that answers from this scenario.
pub(crate) async fn provider(scenario: &str) -> Result<Provider, Box<dyn Error + Send + Sync>> {
    let server = SimServer::start(SimOptions::new(Scenario::parse(scenario, "example")?)).await?;
    let options = HttpOptions {
        model: "anthropic/claude-opus-5-5".parse()?,
        base_url: server.base_url().to_owned(),
        key: Some(Secret::new("sk-simulated")),
        limits: HttpLimits::default(),
    };
    let llm = Arc::new(HttpClient::new(options, &RateGates::new())?);
    Ok(Provider { server, llm })
}
