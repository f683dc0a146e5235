//! What OpenAI's two formats share: cache options, breakpoints, how a prompt is rendered, and errors. Knows neither the
//! shape of a request nor of a reply.

mod errors;
mod options;
mod render;

pub(crate) use errors::{error_body, unknown_parameter};
pub(crate) use options::{
    Api, CacheOptions, check_breakpoints, flag, list, missing, object, settings, text,
};
pub(crate) use render::{Rendered, Renderer};
