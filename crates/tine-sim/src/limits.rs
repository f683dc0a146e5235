//! The numbers of the formats that are simulated, each with its reason.

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

/// Breakpoints of one OpenAI request that are written; earlier ones are silently left out: the vendor's limit.
pub const BREAKPOINTS_WRITTEN_MAX: usize = 4;

/// Breakpoints of one OpenAI request that are looked up, the latest first: the limit that the vendor's SDK states.
pub const BREAKPOINTS_READ_MAX: usize = 80;

/// Tokens below which the breakpoint cache writes nothing, unless the scenario says otherwise: the vendor's minimum.
pub const BREAKPOINT_MIN_TOKENS: u64 = 1_024;

/// Lifetime of a breakpoint's entry with `"ttl":"30m"`, the default.
pub const SHORT_BREAKPOINT_TTL_MS: u64 = 30 * 60 * 1000;

/// Lifetime of a breakpoint's entry with `"ttl":"12h"`.
pub const LONG_BREAKPOINT_TTL_MS: u64 = 12 * 60 * 60 * 1000;

/// Requests of one prefix and key that one of OpenAI's machines takes in a minute; the vendor says "about".
pub const MACHINE_REQUESTS_MAX: usize = 15;

/// The minute of [`MACHINE_REQUESTS_MAX`].
pub const MACHINE_WINDOW_MS: u64 = 60_000;

/// Tokens at the beginning of a prompt that decide its machine. The vendor does not say how many; these are fewer than
/// any entry has, so that whoever could share an entry is sent the same way.
pub const ROUTE_TOKENS: u64 = 256;

/// Tokens below which the automatic prefix cache of the Chat format serves nothing: the vendor's minimum.
pub const CHAT_MIN_TOKENS: u64 = 1_024;

/// Step of `cached_tokens` in the Chat format: the vendor's granularity.
pub const CHAT_STEP_TOKENS: u64 = 128;

/// Lifetime of an automatic prefix. The vendor says five to ten minutes of inactivity; the shorter end is the
/// one that a client may rely on.
pub const CHAT_TTL_MS: u64 = 5 * 60 * 1000;

/// Lifetime of an automatic prefix with `prompt_cache_retention: "24h"`.
pub const CHAT_RETAINED_TTL_MS: u64 = 24 * 60 * 60 * 1000;

/// Requests that a server remembers for diagnostics; the oldest go first. The vendors keep them for a short while.
pub const REMEMBERED_MAX: usize = 1_000;

/// Tokens below which DeepSeek's units are not kept. The vendor publishes no minimum for its current models; this was the
/// unit of the earlier ones, and keeps the words of a template from counting as a hit.
pub const DEEPSEEK_MIN_TOKENS: u64 = 64;

/// Lifetime of an unused DeepSeek unit. The vendor says hours to days; the shorter end is what a client may rely on.
pub const DEEPSEEK_TTL_MS: u64 = 2 * 60 * 60 * 1000;

/// Tokens of one of Kimi's chunks, as measured by third parties.
pub const KIMI_CHUNK_TOKENS: usize = 256;

/// Tokens of one of vLLM's blocks: the engine's default.
pub const VLLM_BLOCK_TOKENS: usize = 16;

/// SGLang holds a request back when it has at most so many cached tokens and shares at least so many with one that is
/// about to be computed: the engine's default thresholds.
pub const SGLANG_BATCH_TOKENS: usize = 32;

/// The window that a server of one's own says it serves. It is not enforced.
pub const ENGINE_WINDOW_TOKENS: u64 = 131_072;

/// Tokens that the memory of vLLM and SGLang holds unless the scenario says otherwise: a card with room for eight
/// conversations of 128 thousand tokens.
pub const ENGINE_CAPACITY_TOKENS: usize = 1024 * 1024;

/// Lifetime of Gemini's implicit cache. The vendor publishes none; five minutes is what others give.
pub const GEMINI_IMPLICIT_TTL_MS: u64 = 5 * 60 * 1000;

/// Minimum of Gemini's caches for models before the third generation.
pub const GEMINI_2_MIN_TOKENS: u64 = 2_048;

/// Minimum of Gemini's caches for current models.
pub const GEMINI_MIN_TOKENS: u64 = 4_096;

/// Lifetime of a cached content that names none: the vendor's default.
pub const CACHED_CONTENT_TTL_MS: u64 = 60 * 60 * 1000;

/// Tokens below which MiniMax caches nothing: the vendor's minimum for its passive cache, and taken for marks too.
pub const MINIMAX_MIN_TOKENS: u64 = 512;

/// Largest request body: the vendor's limit.
pub const BODY_BYTES_MAX: usize = 32 * 1024 * 1024;

/// How far an oversized body is read and dropped before it is refused, so that a client which writes first and
/// reads later still sees the refusal.
pub const DRAIN_BYTES_MAX: usize = 2 * BODY_BYTES_MAX;

/// Entries that one cache keeps: the oldest use goes first. Far above any test, and bounds the memory of a
/// simulator that is left running (about 100 bytes an entry).
pub const ENTRIES_MAX: usize = 1_000_000;

/// Bytes of requests that a server keeps, if not told otherwise, for [`crate::SimServer::requests`]; the oldest go first. Enough for a
/// hundred requests of a few megabytes.
pub const CAPTURED_BYTES_MAX: usize = 512 * 1024 * 1024;

/// Bytes of text in one streamed delta. Small enough that short answers still arrive in several.
pub const DELTA_BYTES: usize = 24;

/// Tokens of some bytes, rounded up.
pub fn tokens_of(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(BYTES_PER_TOKEN)
}
