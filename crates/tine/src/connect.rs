//! From a model's name to a client: a provider over HTTP, or the simulator inside this process.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex as StdMutex, PoisonError, RwLock};
use std::time::Duration;

use async_trait::async_trait;
use tine_gateway::{Format, lent_base_url};
use tine_llm::{
    HttpClient, HttpLimits, HttpOptions, HttpOverrides, LlmClient, LlmError, RateGates, Secret,
};
use tine_model::{AgentId, ModelRef, Provider, Served, WireFormat};
use tine_runtime::{ConnectError, Connector, GuestRow, Ids, Lent, Ports};
use tine_sim::{Scenario, SimOptions, SimServer};
use tokio::sync::Mutex;

use crate::borrow::{Borrowing, LentClient, is_agreed, is_listening};
use crate::config::{Config, ProviderTable, Setting};
use crate::credentials::Credentials;
use crate::durations::duration;
use crate::environment::variable;
use crate::fail::Failure;
use crate::output;
use crate::servers::Servers;
use tine_fork::host::{SystemClock, SystemIds};

/// Most clients that are kept for the next run.
const CLIENTS_MAX: usize = 64;

/// The ports of a runtime that has no settings, for the simulator's models alone.
pub(crate) fn ports_without_settings() -> Ports {
    Ports {
        clock: Arc::new(SystemClock),
        ids: Arc::new(SystemIds),
        models: Arc::new(Models::new(BTreeMap::new(), HttpLimits::default())),
        facts: Arc::new(tine_cache::Models::bundled()),
    }
}

/// Makes clients as the settings say.
pub(crate) struct Models {
    providers: BTreeMap<String, ProviderTable>,
    limits: HttpLimits,
    /// Keys that `tine login` has stored.
    credentials: Credentials,
    /// Where models of this machine are served, as it was found out.
    found: RwLock<HashMap<ModelRef, String>>,
    /// One server a scenario: agents of one process share its cache, as they would share a provider's.
    simulators: Mutex<HashMap<String, SimServer>>,
    /// One rate gate an account and model, for all agents of this process.
    gates: RateGates,
    /// One client a model and way: runs that follow each other share its connections. The way is the account of another program whose
    /// gateway is used, and empty for tine's own.
    clients: StdMutex<HashMap<(ModelRef, String), Arc<HttpClient>>>,
    borrowing: Borrowing,
    /// The word of the user's own servers on themselves.
    servers: Servers,
    /// The addresses at which the simulators listen, by scenario.
    simulated: StdMutex<HashMap<String, String>>,
    /// Tells this process's simulators from those of all others, for caches that end with it.
    process: String,
    /// Where simulators keep their caches beyond the process, and by scenario and model whether they can.
    kept_entries: Option<PathBuf>,
    keeps: StdMutex<HashMap<String, bool>>,
}

impl Models {
    /// Clients as these settings say.
    pub(crate) fn of(config: &Config) -> Result<Self, Failure> {
        let models = Self::new(config.providers.clone(), limits(config)?);
        let borrowing = Borrowing::of(config.borrow_credentials.as_ref())?;
        Ok(Self { credentials: config.credentials.clone(), borrowing, ..models })
    }

    pub(crate) fn new(providers: BTreeMap<String, ProviderTable>, limits: HttpLimits) -> Self {
        let process = AgentId::from_random(SystemIds.random()).to_string();
        Self {
            providers,
            limits,
            credentials: Credentials::default(),
            found: RwLock::default(),
            simulators: Mutex::default(),
            gates: RateGates::default(),
            clients: StdMutex::default(),
            borrowing: Borrowing::default(),
            servers: Servers::default(),
            simulated: StdMutex::default(),
            process,
            kept_entries: None,
            keeps: StdMutex::default(),
        }
    }

    /// Makes it know what earlier processes have learnt of servers, and keep what it learns in the first file. Simulators keep their
    /// caches in the second one, for as long as providers would.
    pub(crate) fn remembering(self, servers: PathBuf, entries: PathBuf) -> Self {
        Self { servers: Servers::open(servers), kept_entries: Some(entries), ..self }
    }

    /// Returns true where the cache of a simulated model outlives this process.
    fn keeps_entries(&self, model: &ModelRef) -> bool {
        let scenario = model.scenario().0;
        let loaded = || Scenario::load(scenario).is_ok_and(|it| it.keeps_entries(&model.name));
        let mut keeps = self.keeps.lock().unwrap_or_else(PoisonError::into_inner);
        self.kept_entries.is_some() && *keeps.entry(model.name.clone()).or_insert_with(loaded)
    }

    /// From now on, requests for this model go to this address, without a key: those that are set belong to somebody else.
    pub(crate) fn found_at(&self, model: ModelRef, base_url: String) {
        let own = (model.clone(), String::new());
        self.clients.lock().unwrap_or_else(PoisonError::into_inner).remove(&own);
        self.found.write().unwrap_or_else(PoisonError::into_inner).insert(model, base_url);
    }

    /// Returns true where tine has a key of its own for the server that answers a guest.
    fn has_own_key(&self, model: &ModelRef, guest: &GuestRow) -> bool {
        let same =
            |base_url: &str| base_url.trim_end_matches('/') == guest.upstream.trim_end_matches('/');
        let own = self.options(model);
        own.is_ok_and(|options| options.key.is_some() && same(&options.base_url))
    }

    fn kept(
        &self,
        options: HttpOptions,
        way: (&str, Option<&Path>),
    ) -> Result<Arc<dyn LlmClient>, ConnectError> {
        let key = (options.model.clone(), way.0.to_owned());
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get(&key) {
            return Ok(Arc::clone(client) as Arc<dyn LlmClient>);
        }
        let client = Arc::new(HttpClient::through(options, &self.gates, way.1)?);
        if clients.len() >= CLIENTS_MAX {
            clients.clear();
        }
        clients.insert(key, Arc::clone(&client));
        Ok(client)
    }

    /// What is wrong with the address of a provider, as the settings and the environment have it. Nobody is asked.
    pub(crate) fn wrong_address(&self, provider: Provider) -> Option<LlmError> {
        let model = ModelRef { provider, name: "any".to_owned() };
        let made = self.options(&model).and_then(|options| HttpClient::new(options, &self.gates));
        made.err().filter(|error| matches!(error, LlmError::BadBaseUrl { .. }))
    }

    fn found(&self, model: &ModelRef) -> Option<String> {
        self.found.read().unwrap_or_else(PoisonError::into_inner).get(model).cloned()
    }

    /// The options that tell an account from others. Nothing is sent with them: in the place of a key that a command prints stands the
    /// command.
    fn options(&self, model: &ModelRef) -> Result<HttpOptions, LlmError> {
        let own = self.options_with(model, None);
        match self.credentials.account_key(model.provider) {
            Some(key) if lacks_key(&own) => self.options_with(model, Some(key)),
            Some(_) | None => own,
        }
    }

    /// The options of requests. What the environment says comes before a stored key, whose command runs only where it is needed.
    async fn ready_options(&self, model: &ModelRef) -> Result<HttpOptions, ConnectError> {
        let own = self.options_with(model, None);
        if !lacks_key(&own) || self.found(model).is_some() {
            return Ok(own?);
        }
        match self.credentials.key(model.provider).await? {
            Some(key) => Ok(self.options_with(model, Some(key))?),
            None => Ok(own?),
        }
    }

    fn options_with(
        &self,
        model: &ModelRef,
        stored: Option<Secret>,
    ) -> Result<HttpOptions, LlmError> {
        if let Some(base_url) = self.found(model) {
            let limits = Some(self.limits.clone());
            let overrides = HttpOverrides { base_url: Some(base_url), key: None, limits };
            return HttpOptions::from_environment(model, &|_| None, overrides);
        }
        let table = self.providers.get(model.provider.as_str()).cloned().unwrap_or_default();
        let set = table.key_variable.as_deref().and_then(variable).map(|key| Secret::new(&key));
        let key = stored.or(set);
        let limits = Some(self.limits.clone());
        let overrides = HttpOverrides { base_url: table.base_url, key, limits };
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
            let options = SimOptions {
                requests_bytes_max: 0,
                kept_entries: self.kept_entries.clone(),
                ..SimOptions::new(loaded)
            };
            let server = SimServer::start(options).await;
            let server = server.map_err(|error| failed(Box::new(error)))?;
            let mut simulated = self.simulated.lock().unwrap_or_else(PoisonError::into_inner);
            simulated.insert(scenario.to_owned(), server.base_url().to_owned());
            drop(simulated);
            simulators.insert(scenario.to_owned(), server);
        }
        let base_url = simulators.get(scenario).map(|server| server.base_url().to_owned());
        Ok(HttpOptions {
            model: model.clone(),
            base_url: base_url.unwrap_or_default(),
            key: Some(Secret::new("sim")),
            limits: self.limits.clone(),
        })
    }
}

#[async_trait]
impl Connector for Models {
    async fn connect(&self, model: &ModelRef) -> Result<Arc<dyn LlmClient>, ConnectError> {
        let options = match model.provider {
            Provider::Sim => self.simulator(model).await?,
            _ => self.ready_options(model).await?,
        };
        self.kept(options, ("", None))
    }

    async fn connect_guest(
        &self,
        model: &ModelRef,
        guest: &GuestRow,
    ) -> Result<Arc<dyn LlmClient>, ConnectError> {
        if self.has_own_key(model, guest) {
            return self.connect(model).await;
        }
        let GuestRow { host, upstream, account, gateway, .. } = guest.clone();
        let lent = Lent { host, upstream, account, gateway: gateway.unwrap_or_default() };
        let socket = Path::new(&lent.gateway);
        if !is_listening(socket).await {
            return Err(ConnectError::NoGateway(lent));
        }
        match self.borrowing {
            Borrowing::Always => {}
            Borrowing::Never => return Err(ConnectError::NeverLent(lent)),
            Borrowing::Ask if is_agreed(&lent) => {}
            Borrowing::Ask => return Err(ConnectError::NotLent(lent)),
        }
        let format = match model.provider.format() {
            WireFormat::Anthropic => Format::Anthropic,
            WireFormat::OpenAiChat
            | WireFormat::OpenAiChatParts
            | WireFormat::OpenAiResponses
            | WireFormat::Gemini => Format::OpenAi,
        };
        let base_url = lent_base_url(&lent.account, format);
        let limits = self.limits.clone();
        let options = HttpOptions { model: model.clone(), base_url, key: None, limits };
        let client = self.kept(options, (&lent.account, Some(socket)))?;
        Ok(Arc::new(LentClient { client, lent }))
    }

    fn guest_account(&self, model: &ModelRef, guest: &GuestRow) -> String {
        if self.has_own_key(model, guest) { self.account(model) } else { guest.account.clone() }
    }

    fn account(&self, model: &ModelRef) -> String {
        match (model.provider, self.options(model)) {
            (Provider::Sim, _) if self.keeps_entries(model) => "sim".to_owned(),
            (Provider::Sim, _) => self.process.clone(),
            (_, Ok(options)) => options.account(),
            // Nothing can be sent, and so nothing is in any cache.
            (_, Err(_)) => String::new(),
        }
    }

    fn host(&self, model: &ModelRef) -> Option<String> {
        match model.provider {
            // Its port is another one in each process.
            Provider::Sim => Some(format!("sim/{}", model.name)),
            _ => self.options(model).ok()?.host(),
        }
    }

    async fn ask_server(&self, model: &ModelRef) {
        if !is_asked(model) {
            return;
        }
        match model.provider {
            // Where it listens is chance: nobody finds it again.
            Provider::Sim => {
                if let Ok(options) = self.simulator(model).await {
                    self.servers.ask(&options, false).await;
                }
            }
            _ => {
                if let Ok(options) = self.ready_options(model).await {
                    self.servers.ask(&options, true).await;
                }
            }
        }
    }

    fn served(&self, model: &ModelRef) -> Option<Served> {
        if !is_asked(model) {
            return None;
        }
        let base_url = match model.provider {
            Provider::Sim => {
                let simulated = self.simulated.lock().unwrap_or_else(PoisonError::into_inner);
                simulated.get(model.scenario().0)?.clone()
            }
            _ => self.options(model).ok()?.base_url,
        };
        self.servers.known(&base_url, &model.name)
    }
}

/// Returns true where requests would have no key.
fn lacks_key(options: &Result<HttpOptions, LlmError>) -> bool {
    match options {
        Ok(options) => options.key.is_none(),
        Err(error) => matches!(error, LlmError::MissingKey { .. }),
    }
}

/// Returns true if a model may be served by a program of the user's own.
fn is_asked(model: &ModelRef) -> bool {
    match model.provider {
        Provider::OpenAiCompat => true,
        Provider::Sim => model.scenario().1 == Provider::OpenAiCompat,
        Provider::Anthropic
        | Provider::OpenAi
        | Provider::OpenAiChat
        | Provider::Gemini
        | Provider::DeepSeek
        | Provider::MiniMax => false,
    }
}

/// The patience at a terminal: a person who waits wants to know sooner.
const PATIENCE_AT_TERMINAL: Duration = Duration::from_secs(120);

/// How patient requests are.
fn limits(config: &Config) -> Result<HttpLimits, Failure> {
    let mut limits = HttpLimits::default();
    let at_terminal = output::stderr_is_terminal();
    limits.retry.patience = match &config.patience {
        Some(setting) => time("requests.patience", setting)?,
        None if at_terminal => PATIENCE_AT_TERMINAL,
        None => limits.retry.patience,
    };
    if let Some(setting) = &config.reply_time {
        limits.reply = time("requests.reply_time", setting)?;
    }
    Ok(limits)
}

/// A time among the settings.
fn time(name: &str, setting: &Setting<String>) -> Result<Duration, Failure> {
    let Setting { value, origin } = setting;
    duration(value).ok_or_else(|| {
        Failure::input(format!("{name} from {origin} cannot be `{value}`"))
            .hint("it is a number and a unit, such as 90s, 30m or 1h")
    })
}
