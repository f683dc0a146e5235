//! Bytes of requests and replies, in every format.

#![expect(clippy::unwrap_used, reason = "a step that fails is a failed test")]

mod answers;
mod anthropic;
mod boundaries;
mod cache_key;
mod careless;
mod conversations;
mod custom_calls;
mod decoder_laws;
mod difference;
mod fixtures;
mod gemini;
mod gemini_replies;
mod head_parts;
mod items;
mod messages;
mod openai_requests;
mod read_request;
mod replies;
mod requests;
mod responses;
mod splice;
mod warming;
