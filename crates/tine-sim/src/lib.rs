//! The provider simulator: an HTTP server on loopback that speaks providers' wire formats with exact cache accounting,
//! and says that it is a simulator.
//!
//! | endpoint | format | cache |
//! |---|---|---|
//! | `POST /v1/messages`, `/v1/messages/count_tokens` | Anthropic Messages | marked blocks ([`BlockCache`]) |
//! | `POST /v1/chat/completions` | OpenAI Chat | automatic prefix ([`PrefixCache`]) |
//!
//! It answers from a [`Scenario`]: rules that match on the last user text and on what has happened since, and answer with
//! text, thinking, tool calls and faults. It is an independent reading of the formats and shares no code with the client
//! side. It never contacts anyone, never pretends to be a real model (every reply's model is `sim/SCENARIO`), and its cache
//! knows no time but the [`Clock`] it is given.
//!
//! ```
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use tine_sim::{Scenario, SimOptions, SimServer};
//!
//! let server = SimServer::start(SimOptions::new(Scenario::load("echo")?)).await?;
//! let url = format!("{}/v1/messages", server.base_url());
//! // … send requests to `url` …
//! assert!(server.requests().is_empty());
//! server.shutdown().await;
//! # Ok(())
//! # }
//! ```

mod answer;
mod anthropic;
mod cache;
mod chat;
mod clock;
mod conversation;
mod decide;
mod exchange;
mod fault;
mod log;
mod prefix_cache;
pub mod profile;
mod refusal;
mod scenario;
mod server;
mod stream;
mod template;

pub use cache::{BlockCache, CacheProfile, Digest, Lookup, Position, Prompt, PromptUsage, Ttl};
pub use clock::{Clock, ManualClock, SystemClock};
pub use log::CapturedRequest;
pub use prefix_cache::{PrefixCache, PrefixPrompt};
pub use scenario::{Scenario, ScenarioError};
pub use server::{SimError, SimOptions, SimServer};
