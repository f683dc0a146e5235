//! `tine import`: an agent from a conversation in a file.

use serde::Serialize;

use crate::cli::{FileFormat, ImportArgs};
use crate::commands::text_file;
use crate::context::Context;
use crate::fail::Failure;
use crate::output;
use crate::render::figures::plural;

/// The JSON shape of an import. Others rely on it: fields are only ever added.
#[derive(Serialize)]
struct ImportedJson {
    agent: String,
    entries: usize,
}

pub(crate) async fn import(context: &Context, args: ImportArgs) -> Result<u8, Failure> {
    let has_system = args.model.system.is_some();
    let root = context.new_root(&args.model, args.name)?;
    let text = text_file::read(&args.file)?;
    let imported = match args.format {
        FileFormat::Messages => context.runtime.import_messages(root, &text).await?,
    };
    if has_system && imported.has_system {
        output::say(
            "note: the file has a system prompt of its own, which is used instead of --system",
        );
    }
    if args.json {
        let agent = imported.agent.to_string();
        output::json(&ImportedJson { agent, entries: imported.entries })?;
    } else {
        let messages = plural(imported.entries as u64, "message");
        let short = imported.agent.short();
        output::line(&format!("{short} has {messages}"))?;
        output::say(&format!(
            "hint: `tine run --resume {short} \"…\"` goes on with it, `tine fork {short}` forks it"
        ));
    }
    Ok(0)
}
