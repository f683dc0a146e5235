//! `tine import`: an agent from a conversation in a file.

use std::collections::BTreeMap;

use serde::Serialize;
use tine_model::WireFormat;
use tine_runtime::{FirstFork, ImportContext, ImportSpec, Imported};
use tine_wire::{ConversationFormat, Counts};

use crate::budget;
use crate::cli::{ImportArgs, ImportFormat, ImportWith, ModelArgs};
use crate::commands::last_session::{host_named, last_session};
use crate::commands::text_file;
use crate::context::Context;
use crate::fail::Failure;
use crate::model::default_model;
use crate::output;
use crate::prompt::fill_from_stdin;
use tine_tui::age::rfc3339;
use tine_tui::figures::plural;
use tine_tui::words::one_line;

/// The JSON shape of an import. Others rely on it: fields are only ever added.
#[derive(Serialize)]
struct ImportedJson<'a> {
    agent: String,
    entries: usize,
    format: &'static str,
    context: &'static str,
    model: Option<&'a str>,
    left_out: BTreeMap<&'a str, u64>,
    rewritten: BTreeMap<&'a str, u64>,
    damaged_lines: &'a [usize],
    /// Why it is a digest, where nobody asked for one.
    reason: Option<&'a str>,
    /// True if the last request was taken over as it was sent.
    as_sent: bool,
    first_fork: FirstForkJson<'a>,
}

#[derive(Serialize)]
struct FirstForkJson<'a> {
    /// `cold`, or `uncertain`.
    cache: &'static str,
    why: &'a str,
    /// Until when it is not cold.
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<String>,
}

impl<'a> FirstForkJson<'a> {
    fn of(first: &'a FirstFork) -> Self {
        match first {
            FirstFork::Cold { reason } => Self { cache: "cold", why: reason, until: None },
            FirstFork::Uncertain { reason, until_ms } => {
                Self { cache: "uncertain", why: reason, until: Some(rfc3339(*until_ms)) }
            }
        }
    }
}

impl<'a> ImportedJson<'a> {
    fn of(imported: &'a Imported) -> Self {
        Self {
            agent: imported.agent.to_string(),
            entries: imported.entries,
            format: imported.format.as_str(),
            context: imported.context.as_str(),
            model: imported.model.as_deref(),
            left_out: imported.left_out.iter().collect(),
            rewritten: imported.rewritten.iter().collect(),
            damaged_lines: &imported.damaged_lines,
            reason: imported.reason.as_deref(),
            as_sent: imported.as_sent,
            first_fork: FirstForkJson::of(&imported.first_fork),
        }
    }
}

pub(crate) async fn import(context: &Context, mut args: ImportArgs) -> Result<u8, Failure> {
    fill_from_stdin(&mut args.model.system)?;
    let has_system = args.model.system.is_some();
    let caps = budget::of_new_tree(&context.config, Vec::new())?;
    let text = match host_named(&args.file) {
        Some(host) => last_session(host, &context.directory).await?,
        None => text_file::read(&args.file)?,
    };
    let spec = ImportSpec {
        format: format(args.format),
        context: args.context.map(taken),
        as_sent: args.as_sent,
    };
    let model = model(context, args.model, (&text, spec));
    let root = context.new_root(&model, args.name)?;
    let imported = context.runtime.import(root, &text, spec).await?;
    budget::begin(context, imported.agent, caps).await?;
    if has_system && imported.has_system {
        output::say(
            "note: the file has a system prompt of its own, which is used instead of --system",
        );
    }
    if let [first, ..] = imported.damaged_lines.as_slice() {
        output::say(&format!(
            "note: line {first} is damaged, as by a crash while it was written, and was left out"
        ));
    }
    if args.json {
        output::json(&ImportedJson::of(&imported))?;
    } else {
        output::line(&summary(&imported))?;
        let short = imported.agent.short();
        output::say(&format!(
            "hint: `tine run --resume {short} \"…\"` goes on with it, `tine fork {short}` forks it"
        ));
    }
    Ok(0)
}

/// The settings with the file's own model where nothing else names one, so that nobody needs a key to import; and where the last
/// request is taken over, which asks that one.
fn model(context: &Context, args: ModelArgs, (text, spec): (&str, ImportSpec)) -> ModelArgs {
    let is_set =
        args.model.is_some() || (!spec.as_sent && default_model(&context.config).is_some());
    if is_set {
        return args;
    }
    let format = spec.format.unwrap_or_else(|| tine_wire::conversation_format(text));
    // What cannot be read is said when it is imported.
    let read = tine_wire::read_conversation(format, text, WireFormat::Anthropic).ok();
    let named = read.and_then(|read| read.model_ref());
    ModelArgs { model: named.map(|model| model.to_string()), ..args }
}

/// The agent and what became of the file.
fn summary(imported: &Imported) -> String {
    let messages = plural(imported.entries as u64, "message");
    let mut text = format!("{} has {messages}", imported.agent.short());
    match imported.format {
        ConversationFormat::Messages => {}
        ConversationFormat::ClaudeCode
        | ConversationFormat::Codex
        | ConversationFormat::OpenCode => {
            let how = match imported.context {
                ImportContext::Full => "in full",
                ImportContext::Digest => "as a digest",
            };
            text.push_str(&format!(" from {}, {how}", imported.format.as_str()));
            if let Some(model) = &imported.model {
                text.push_str(&format!("; they were held with {}", one_line(model)));
            }
        }
    }
    if let Some(reason) = &imported.reason {
        text.push_str(&format!("\n  not in full: {}", one_line(reason)));
    }
    for (word, counts) in [("left out", &imported.left_out), ("written anew", &imported.rewritten)]
    {
        if !counts.is_empty() {
            text.push_str(&format!("\n  {word}: {}", listed(counts)));
        }
    }
    let (word, why) = match &imported.first_fork {
        FirstFork::Cold { reason } => ("cold", reason),
        FirstFork::Uncertain { reason, .. } => ("warm or cold", reason),
    };
    if imported.as_sent {
        text.push_str("\n  the last request was taken over as it was sent: system prompt and tools are its own");
    }
    if imported.format != ConversationFormat::Messages {
        text.push_str(&format!("\n  first fork: {word}: {}", one_line(why)));
    }
    text
}

fn listed(counts: &Counts) -> String {
    let counts: Vec<String> =
        counts.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    counts.join(", ")
}

fn format(given: ImportFormat) -> Option<ConversationFormat> {
    match given {
        ImportFormat::Auto => None,
        ImportFormat::Messages => Some(ConversationFormat::Messages),
        ImportFormat::ClaudeCode => Some(ConversationFormat::ClaudeCode),
        ImportFormat::Codex => Some(ConversationFormat::Codex),
        ImportFormat::Opencode => Some(ConversationFormat::OpenCode),
    }
}

fn taken(given: ImportWith) -> ImportContext {
    match given {
        ImportWith::Full => ImportContext::Full,
        ImportWith::Digest => ImportContext::Digest,
    }
}
