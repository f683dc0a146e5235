//! The provider simulator: an HTTP server on loopback that speaks providers' wire formats with exact cache accounting,
//! and says that it is a simulator.
//!
//! | endpoint | format | module |
//! |---|---|---|
//! | `POST /v1/messages`, `/v1/messages/count_tokens` | Anthropic Messages | `anthropic` |
//! | `POST /v1/chat/completions` | OpenAI Chat Completions | `chat` |
//! | `POST /v1/responses` | OpenAI Responses | `responses` |
//! | `POST /v1beta/models/MODEL:generateContent`, `:streamGenerateContent`, `:countTokens` | Gemini | `gemini` |
//! | `/v1beta/cachedContents`: create, list, show, patch, delete | Gemini's cached contents | `gemini` |
//! | `GET /v1/models`, `/props`, `/slots`, `/version`, `/api/version` | what a server of one's own says of itself, where the scenario's `profile` is one | `own_server` |
//! | `GET` and `POST /sim/clock`, `GET /sim/usage` | the simulator's own: a manual clock, and totals | `control` |
//!
//! OpenAI's paths are also served without `/v1`. Whose cache rules apply is not the format's matter but the `profile`'s: the
//! scenario's key, else the model's name (`echo@openai`, `gpt-6.1-sol`), else the endpoint's own vendor.
//!
//! | profile | models | cache |
//! |---|---|---|
//! | `anthropic` | `claude-*` | marked blocks ([`BlockCache`]) |
//! | `minimax` | `minimax-*` | marked blocks, and passive ones where a scenario says so |
//! | `openai`, `openai-chat` | `gpt-5.6` and later | breakpoints on several machines ([`BreakpointCache`]) |
//! | `openai-legacy`, `openai-compat` | other `gpt-*` | automatic prefix ([`PrefixCache`]) |
//! | `deepseek` | `deepseek-*` | saved units |
//! | `kimi` | `kimi-*` | chunks of 256 tokens |
//! | `gemini` | `gemini-*` | any prefix, by chance; cached contents exactly |
//! | `vllm`, `sglang`, `llamacpp`, `ollama` | `anything@vllm` and so on | blocks, tokens, slots: prompts and answers, no key asked |
//!
//! A scenario's `[limits]` are kept by the same clock as lifetimes (`quota`): refusals and headers are the vendors'.
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
mod automatic;
mod block_cache;
mod breakpoint_cache;
mod cache;
mod chat;
mod clock;
mod collect;
mod control;
mod conversation;
mod decide;
mod draw;
mod endpoint;
mod exchange;
mod fault;
mod gemini;
mod kept;
pub mod limits;
mod log;
mod machines;
mod media;
mod memory;
mod openai;
mod own_server;
mod passive;
mod prefix_cache;
mod profile;
mod quota;
mod refusal;
mod responses;
mod scenario;
mod schema;
mod server;
mod stream;
mod template;
mod timestamp;
mod totals;
mod window;

pub use block_cache::BlockCache;
pub use breakpoint_cache::BreakpointCache;
pub use cache::{Cache, Charge, Digest, Position, Prompt, PromptUsage, Ttl};
pub use clock::{Clock, ManualClock, SystemClock};
pub use collect::{CollectedBody, WIRE_BODIES, collect};
pub use log::CapturedRequest;
pub use prefix_cache::PrefixCache;
pub use scenario::{Scenario, ScenarioError};
pub use server::{SimError, SimOptions, SimServer};
