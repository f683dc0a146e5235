//! Commands of runs that may only read.

use std::path::{Path, PathBuf};

use super::denial::{Denial, DenialCode};
use super::fields::Fields;
use super::reads::Reads;

/// The fields that the Bash tool takes. Anything else, such as a wish to run in the background, is not
/// known to the tool that would run it, so nobody has judged it.
pub(super) const FIELDS: [&str; 4] = ["command", "timeout_ms", "timeout", "description"];

/// Allows a command that only reads, and reads no secret that it names.
pub(super) fn judge(fields: Fields, reads: &Reads) -> Result<(), Denial> {
    let fields = fields.only("Bash", &FIELDS)?;
    let command = fields.required("command")?;
    let directory = reads.directory().unwrap_or_default();
    let named = only_reads(&directory, command).map_err(|reason| {
        Denial::new(
            DenialCode::NotReadOnly,
            reason,
            "Use a command that only reads, or FileRead, Glob and Grep.",
        )
    })?;
    named.iter().try_for_each(|path| reads.is_plain(&path.to_string_lossy()))
}

/// The files that a command names, if it only reads; otherwise why that is not known. No command is
/// recognised as one that only reads, so each is refused: in doubt a command changes something.
fn only_reads(_directory: &Path, _command: &str) -> Result<Vec<PathBuf>, String> {
    Err("this command is not known to only read".to_owned())
}
