//! The simulator's own paths, for people, demos and tests in other processes: the clock and the totals. Nothing here is
//! part of a provider's format, captured, billed or limited.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::exchange::Shared;

/// The body of `POST /sim/clock`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Advance {
    advance_ms: u64,
}

/// `GET /sim/clock`: what the clock shows, and whether it can be moved.
pub(crate) async fn clock(State(shared): State<Arc<Shared>>) -> Response {
    respond(StatusCode::OK, &shown(&shared))
}

/// `POST /sim/clock`: moves a manual clock forward. Any other clock goes by itself, which is a conflict.
pub(crate) async fn advance(State(shared): State<Arc<Shared>>, body: Bytes) -> Response {
    let advance: Advance = match serde_json::from_slice(&body) {
        Ok(advance) => advance,
        Err(error) => {
            let error = format!("expected {{\"advance_ms\": n}}: {error}");
            return respond(StatusCode::BAD_REQUEST, &json!({"error": error}));
        }
    };
    if shared.clock.try_advance(advance.advance_ms) {
        respond(StatusCode::OK, &shown(&shared))
    } else {
        let error = "this server's clock is not a manual one and goes by itself";
        respond(StatusCode::CONFLICT, &json!({"error": error}))
    }
}

/// `GET /sim/usage`: requests and tokens by kind, in all and by model, and the storage of cached contents.
pub(crate) async fn usage(State(shared): State<Arc<Shared>>) -> Response {
    let mut usage = shared.state().totals.to_json();
    // Null beyond 64 bits, which is half a million tokens for a thousand years.
    usage["cached_content_token_ms"] = json!(u64::try_from(shared.storage_token_ms()).ok());
    respond(StatusCode::OK, &usage)
}

fn shown(shared: &Shared) -> Value {
    json!({"now_ms": shared.clock.now_ms(), "manual": shared.clock.try_advance(0)})
}

/// A page of the simulator's that is JSON.
pub(crate) fn respond(status: StatusCode, body: &Value) -> Response {
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}
