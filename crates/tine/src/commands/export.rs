//! `tine export`: a conversation as a file for others.

use std::borrow::Cow;

use tine_guard::{redact, redact_json};
use tine_model::AgentId;
use tine_runtime::{ExportShape, ExportSpec};

use crate::cli::{ExportArgs, ExportFormat};
use crate::context::Context;
use crate::fail::Failure;
use crate::output;
use crate::render::markdown::markdown;
use crate::whole_file::write_file;
use tine_tui::age::rfc3339;

pub(crate) async fn export(context: &Context, args: ExportArgs) -> Result<u8, Failure> {
    let agent = context.agent(&args.agent).await?;
    let of_tool = |shape| {
        let spec = ExportSpec { shape, version: env!("CARGO_PKG_VERSION"), time: rfc3339 };
        context.runtime.export(agent, spec)
    };
    let text = match args.format {
        ExportFormat::Messages => context.runtime.export_messages(agent, None).await?,
        ExportFormat::ClaudeCode => of_tool(ExportShape::ClaudeCode).await?,
        ExportFormat::Codex => of_tool(ExportShape::Codex).await?,
        ExportFormat::Markdown => readable(context, agent).await?,
    };
    let text = match (args.raw, args.format) {
        (true, _) => Cow::Borrowed(text.as_str()),
        (false, ExportFormat::Markdown) => redact(&text),
        (false, ExportFormat::Messages | ExportFormat::ClaudeCode | ExportFormat::Codex) => {
            redact_json(&text)
        }
    };
    if matches!(text, Cow::Owned(_)) {
        output::say("note: keys and passwords were taken out; --raw leaves them in");
    }
    match args.output {
        None => output::data(&text)?,
        Some(path) => write_file(&path, &text).map_err(|error| {
            Failure::input(format!("cannot write {}", path.display())).because(&error).hint(
                "check the directory and its rights; without -o the result goes to standard output",
            )
        })?,
    }
    Ok(0)
}

async fn readable(context: &Context, agent: AgentId) -> Result<String, Failure> {
    let record = context.runtime.agent(agent).await?;
    let fold = context.runtime.fold(agent, None).await?;
    let short = record.id.short();
    let title = record.name.as_deref().unwrap_or(&short);
    let model = record.settings.model.to_string();
    let messages: Vec<_> = fold.items().map(|item| item.message).collect();
    Ok(markdown(title, &model, messages.iter().map(AsRef::as_ref)))
}
