//! Commands of runs that may only read.

use super::denial::{Denial, DenialCode};
use super::fields::Fields;
use super::reads::{Reads, secret};
use crate::command::command_reads;
use crate::shell::{reach, shell_verdict};

/// The fields that the Bash tool takes. Anything else, such as a wish to run in the background, is not
/// known to the tool that would run it, so nobody has judged it.
pub(super) const FIELDS: [&str; 4] = ["command", "timeout_ms", "timeout", "description"];

/// Allows a command that only reads, and reads no secret that it names.
pub(super) fn judge(fields: Fields, reads: &Reads) -> Result<(), Denial> {
    let fields = fields.only("Bash", &FIELDS)?;
    let command = fields.required("command")?;
    let directory = reads.directory().unwrap_or_default();
    let verdict = shell_verdict(command);
    if !verdict.read_only {
        return Err(Denial::new(
            DenialCode::NotReadOnly,
            verdict.reason,
            "Use a command that only reads, or FileRead, Glob and Grep.",
        ));
    }
    if let Some(path) = reach::secret(&directory, &verdict.paths) {
        return Err(secret(path));
    }
    let named = command_reads(&directory, command);
    named.iter().try_for_each(|path| reads.is_plain(&path.to_string_lossy()))
}
