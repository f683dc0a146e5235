//! `tine digest`: the conversation of another program as text, for a child that cannot inherit it.
//!
//! The program sends the text to a model itself, so nothing in it is redacted, as in a fork.

use std::collections::BTreeMap;

use serde::Serialize;
use tine_fork::digest::{Digest, DigestProfile};
use tine_model::Message;
use tine_wire::{ImportError, read_opencode_outline};

use crate::cli::{DigestArgs, DigestFormat};
use crate::commands::text_file;
use crate::fail::Failure;
use crate::output;

/// The JSON shape. Others rely on it: fields are only ever added.
#[derive(Serialize)]
struct DigestJson<'a> {
    text: &'a str,
    stats: StatsJson<'a>,
}

#[derive(Serialize)]
struct StatsJson<'a> {
    /// Messages that count, one for each of the other program's.
    messages: usize,
    /// The oldest of them, which are not in the text.
    messages_dropped: usize,
    tokens_dropped: u64,
    /// Whether the oldest message of the text is only the beginning of itself.
    message_cut: bool,
    results: usize,
    results_cut: usize,
    results_cleared: usize,
    arguments_cut: usize,
    /// Messages in the text whose reasoning is not there.
    reasoning_omitted: usize,
    files_omitted: usize,
    characters: usize,
    tokens_estimated: u64,
    from_compaction: bool,
    messages_before_compaction: usize,
    /// What the other program's model was not sent either, by kind.
    left_out: BTreeMap<&'a str, u64>,
}

pub(crate) fn digest(args: &DigestArgs) -> Result<u8, Failure> {
    let text = text_file::read(&args.file)?;
    let outline = match args.format {
        DigestFormat::Opencode => read_opencode_outline(&text).map_err(refused)?,
    };
    let messages: Vec<&Message> = outline.messages.iter().collect();
    let before = outline.before_summary;
    let Digest { text, stats } = Digest::behind_summary(&messages, DigestProfile::Fixed, before);
    let stats = StatsJson {
        messages: stats.messages,
        messages_dropped: stats.dropped,
        tokens_dropped: stats.dropped_tokens,
        message_cut: stats.is_cut,
        results: stats.results,
        results_cut: stats.results_cut,
        results_cleared: stats.results_cleared,
        arguments_cut: stats.calls_cut,
        reasoning_omitted: stats.thinking,
        files_omitted: stats.pictures,
        characters: text.chars().count(),
        tokens_estimated: stats.tokens,
        from_compaction: before.is_some(),
        messages_before_compaction: before.unwrap_or_default(),
        left_out: outline.left_out.iter().collect(),
    };
    output::json(&DigestJson { text: &text, stats })?;
    Ok(0)
}

fn refused(error: ImportError) -> Failure {
    Failure::input("the conversation cannot be read").because(&error).hint(
        "give the answer of OpenCode's `GET /session/{id}/message`, a JSON array of `info` and `parts`, or what `opencode export` prints",
    )
}
