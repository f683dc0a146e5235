//! Conversations from files and to files.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::ModelArgs;

/// The shape of a file that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum ImportFormat {
    /// Found out by looking
    #[default]
    Auto,
    /// A JSON array, or JSONL, of messages in a provider's shape
    Messages,
    /// A transcript of Claude Code (JSONL)
    ClaudeCode,
    /// A rollout of Codex (JSONL)
    Codex,
    /// An export of OpenCode (JSON)
    Opencode,
}

/// How messages become a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImportWith {
    /// Message by message
    Full,
    /// As one text that tells of them
    Digest,
}

/// The shape of a file that is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum ExportFormat {
    /// A JSON array of messages in the provider's shape
    #[default]
    Messages,
    /// A transcript of Claude Code (JSONL)
    ClaudeCode,
    /// A rollout of Codex (JSONL)
    Codex,
    /// A text for people
    Markdown,
}

/// `tine import`
#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// The file; `-` for standard input; `claude:last` for the last session of Claude Code here
    pub(crate) file: PathBuf,
    /// Its shape
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: ImportFormat,
    /// How its messages are taken; without it in full, where the file allows that
    #[arg(long, value_enum)]
    pub(crate) context: Option<ImportWith>,
    /// Take its last request over as it was sent: system prompt, tools and settings are those of the file (Claude Code)
    #[arg(long, conflicts_with_all = ["context", "system"])]
    pub(crate) as_sent: bool,
    /// Name the new agent
    #[arg(short, long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Whose messages are told as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DigestFormat {
    /// The answer of OpenCode's `GET /session/{id}/message`, or what `opencode export` prints
    Opencode,
}

/// `tine digest`
#[derive(Debug, Args)]
pub(crate) struct DigestArgs {
    /// The file; `-` for standard input
    #[arg(default_value = "-")]
    pub(crate) file: PathBuf,
    /// Its shape
    #[arg(long, value_enum)]
    pub(crate) format: DigestFormat,
}

/// `tine export`
#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// The agent: its name, or the first characters of its id
    pub(crate) agent: String,
    /// The shape
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: ExportFormat,
    /// Leave keys and passwords in
    #[arg(long)]
    pub(crate) raw: bool,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}
