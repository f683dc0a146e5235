//! Commands of runs that may only read.

use super::denial::{Denial, DenialCode};
use super::fields::Fields;
use super::reads::{Reads, secret};
use super::roots;
use crate::shell::{Width, reach, shell_verdict};

/// The fields of a command that is over when its call is.
const FIELDS: [&str; 4] = ["command", "timeout_ms", "timeout", "description"];

/// All fields that the Bash tool takes. Anything else is not known to the tool that would run it, so nobody has judged it.
pub(super) const ALL_FIELDS: [&str; 6] =
    ["command", "timeout_ms", "timeout", "description", "run_in_background", "name"];

/// Allows a command that only reads, and neither reads a secret that it names nor searches where some are known to lie.
pub(super) fn judge(fields: Fields, reads: &Reads) -> Result<(), Denial> {
    let fields = fields.only("Bash", &FIELDS)?;
    let command = fields.required("command")?;
    let directory = reads.directory().unwrap_or_default();
    let verdict = shell_verdict(command, Width::Strict);
    if !verdict.read_only {
        return Err(Denial::new(
            DenialCode::NotReadOnly,
            verdict.reason,
            "Use a command that only reads, or FileRead, Glob and Grep.",
        ));
    }
    let paths = roots::without_tilde(&verdict.paths, reads.home().as_deref())?;
    if let Some(path) = reach::secret(&directory, &paths) {
        return Err(secret(path));
    }
    roots::judge(&directory, &paths, reads)
}
