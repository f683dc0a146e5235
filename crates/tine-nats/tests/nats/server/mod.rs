//! Tests with a server. Those of [`smoke`] take a few seconds together.

mod blobs;
mod errors;
mod flights;
mod forks;
mod jobs;
mod lost_workers;
mod records;
mod smoke;
