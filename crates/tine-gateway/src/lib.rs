//! A pass-through in front of providers: a host (Claude Code, Codex) sends its requests to an address on loopback, and gets what the
//! provider answers.
//!
//! It is unchanged to the byte, both ways, as it comes. Exceptions are what belongs to one connection (`connection` and its like, chunks'
//! boundaries, `host`), and what is answered here: wrong paths, WebSockets, message threads, an upstream that is not reached.
//!
//! It stores nothing, logs nothing, and knows no agents; an [`Observer`] is told of what passes. What it refuses is worded by `tine-wire`.
//!
//! Forks of a host's conversations come through a socket of its own ([`Lending`]), and go out with the credentials that the host has sent.
//!
//! Limits: a head may have 100 headers and about 400 KiB, a path 64 KiB. A head beyond that is answered with 431 or 414.

mod ahead;
mod coding;
mod connect;
mod gateway;
mod headers;
mod lend;
mod observe;
mod relay;
mod serve;
mod upstream;

pub use coding::decoded;
pub use gateway::{Format, Gateway, GatewayError, Options, Threads};
pub use lend::{Lender, Lending, account_headers, lent_base_url};
pub use observe::{Observer, Passed};
