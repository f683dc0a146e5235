//! Tests with a server. Those of [`smoke`] take a few seconds together.

mod blobs;
mod errors;
mod flights;
mod jobs;
mod records;
mod smoke;
