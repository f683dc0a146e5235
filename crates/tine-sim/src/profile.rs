//! The numbers of the formats that are simulated, each with its reason. Nothing here computes.

/// Bytes that count as one token. Any additive counter would do; this one can be checked by hand.
pub const BYTES_PER_TOKEN: u64 = 4;

/// Marked blocks that one Messages request may carry: the vendor's limit.
pub const MARKS_MAX: usize = 4;

/// Positions that a lookup probes for one mark, the marked position included: the vendor's limit.
pub const LOOKBACK_POSITIONS: usize = 20;

/// Tokens below which the Messages profile caches nothing, unless the scenario says otherwise: the
/// minimum of the current generation of models.
pub const CACHE_MIN_TOKENS: u64 = 512;

/// Lifetime of an entry behind a mark without `ttl`, or with `"ttl":"5m"`.
pub const SHORT_TTL_MS: u64 = 5 * 60 * 1000;

/// Lifetime of an entry behind a mark with `"ttl":"1h"`.
pub const LONG_TTL_MS: u64 = 60 * 60 * 1000;

/// Tokens below which the automatic prefix cache of the Chat format serves nothing: the vendor's minimum.
pub const CHAT_MIN_TOKENS: u64 = 1_024;

/// Step of `cached_tokens` in the Chat format: the vendor's granularity.
pub const CHAT_STEP_TOKENS: u64 = 128;

/// Lifetime of an automatic prefix. The vendor says five to ten minutes of inactivity; the shorter end is the
/// one that a client may rely on.
pub const CHAT_TTL_MS: u64 = 5 * 60 * 1000;

/// Largest request body: the vendor's limit.
pub const BODY_BYTES_MAX: usize = 32 * 1024 * 1024;

/// How far an oversized body is read and dropped before it is refused, so that a client which writes first and
/// reads later still sees the refusal.
pub const DRAIN_BYTES_MAX: usize = 2 * BODY_BYTES_MAX;

/// Entries that one cache keeps: the oldest use goes first. Far above any test, and bounds the memory of a
/// simulator that is left running (about 100 bytes an entry).
pub const ENTRIES_MAX: usize = 1_000_000;

/// Bytes of request bodies that a server keeps for [`crate::SimServer::requests`]; the oldest go first. Enough for a
/// hundred requests of a few megabytes.
pub const CAPTURED_BYTES_MAX: usize = 512 * 1024 * 1024;

/// Bytes of text in one streamed delta. Small enough that short answers still arrive in several.
pub const DELTA_BYTES: usize = 24;

/// Tokens of some bytes, rounded up.
pub fn tokens_of(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(BYTES_PER_TOKEN)
}
