//! The pages on which servers of one's own describe themselves: lists of models, and pages that only one kind of server has. Where the
//! scenario's profile is no such server, these paths are not served. Nothing here is captured, billed or limited.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Value, json};

use crate::control::respond;
use crate::exchange::Shared;
use crate::limits::ENGINE_WINDOW_TOKENS;
use crate::profile::Profile;

/// `GET /v1/models`.
pub(crate) async fn models(State(shared): State<Arc<Shared>>) -> Response {
    let id = format!("sim/{}", shared.scenario.name());
    let card = match shared.scenario.profile {
        Some(Profile::LlamaCpp) => json!({
            "id": id, "aliases": [], "tags": [], "object": "model", "created": 0, "owned_by": "llamacpp",
            "meta": {"n_ctx": ENGINE_WINDOW_TOKENS, "n_ctx_train": ENGINE_WINDOW_TOKENS},
        }),
        Some(Profile::Vllm) => json!({
            "id": id, "object": "model", "created": 0, "owned_by": "vllm", "root": id, "parent": null,
            "max_model_len": ENGINE_WINDOW_TOKENS,
        }),
        Some(Profile::Sglang) => json!({
            "id": id, "object": "model", "created": 0, "owned_by": "sglang", "root": id,
            "max_model_len": ENGINE_WINDOW_TOKENS,
        }),
        Some(Profile::Ollama) => {
            json!({"id": id, "object": "model", "created": 0, "owned_by": "library"})
        }
        _ => return absent(),
    };
    page(&json!({"object": "list", "data": [card]}))
}

/// `GET /props`: llama.cpp's settings.
pub(crate) async fn props(State(shared): State<Arc<Shared>>) -> Response {
    match shared.scenario.profile {
        Some(Profile::LlamaCpp) => page(&json!({
            "default_generation_settings": {"n_ctx": ENGINE_WINDOW_TOKENS},
            "total_slots": shared.scenario.slots(Profile::LlamaCpp),
            "endpoint_slots": true,
        })),
        _ => absent(),
    }
}

/// `GET /slots`: which of llama.cpp's slots are at work.
pub(crate) async fn slots(State(shared): State<Arc<Shared>>) -> Response {
    if shared.scenario.profile != Some(Profile::LlamaCpp) {
        return absent();
    }
    let busy = shared.state().cache(Profile::LlamaCpp, &shared.scenario).busy_slots();
    let slot = |(id, is_processing): (usize, bool)| json!({"id": id, "n_ctx": ENGINE_WINDOW_TOKENS, "speculative": false, "is_processing": is_processing});
    page(&busy.into_iter().enumerate().map(slot).collect())
}

/// `GET /version`, which vLLM has, and `GET /api/version`, which Ollama has.
pub(crate) async fn version(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let path = match shared.scenario.profile {
        Some(Profile::Vllm) => "/version",
        Some(Profile::Ollama) => "/api/version",
        _ => "",
    };
    if request.uri().path() != path {
        return absent();
    }
    page(&json!({"version": "0.0.0-sim"}))
}

/// A question to a server that is none of these. It is not noted, so that a log of bodies begins with the first request.
fn absent() -> Response {
    let error = json!({"error": {"message": "not found", "type": "not_found_error"}});
    respond(StatusCode::NOT_FOUND, &error)
}

fn page(body: &Value) -> Response {
    respond(StatusCode::OK, body)
}
