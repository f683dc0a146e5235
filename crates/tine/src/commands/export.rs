//! `tine export`: a conversation as provider messages.

use std::borrow::Cow;

use tine_guard::redact_json;

use crate::cli::{ExportArgs, FileFormat};
use crate::context::Context;
use crate::fail::Failure;
use crate::output;
use crate::whole_file::write_file;

pub(crate) async fn export(context: &Context, args: ExportArgs) -> Result<u8, Failure> {
    let agent = context.agent(&args.agent).await?;
    let text = match args.format {
        FileFormat::Messages => context.runtime.export_messages(agent, None).await?,
    };
    let text = match args.raw {
        true => Cow::Borrowed(text.as_str()),
        false => redact_json(&text),
    };
    if matches!(text, Cow::Owned(_)) {
        output::say("note: keys and passwords were taken out; --raw leaves them in");
    }
    match args.output {
        None => output::write_out(&text)?,
        Some(path) => write_file(&path, &text).map_err(|error| {
            Failure::input(format!("cannot write {}", path.display())).because(&error).hint(
                "check the directory and its rights; without -o the result goes to standard output",
            )
        })?,
    }
    Ok(0)
}
